"""Parts whose sizes, masks and outputs have forms of their own, with mistakes as replacements in their text."""

from __future__ import annotations

from tests.practice.public.program import Program

EXACT_LENGTH = """
import torch
from torch import nn

class MultiHeadAttention(nn.Module):
    def __init__(self, num_heads, sequence_length, hidden_size):
        super().__init__()
        self.heads, self.width = num_heads, hidden_size
        self.sequence_length = sequence_length
        self.query, self.key, self.value, self.out = (nn.Linear(hidden_size, hidden_size) for _ in range(4))

    def forward(self, x):
        shape = (self.sequence_length, self.heads, self.width // self.heads)
        q, k, v = (each(x).reshape(len(x), self.sequence_length, self.heads, -1).transpose(1, 2) for each in (self.query, self.key, self.value))
        weights = torch.softmax(q @ k.transpose(2, 3) / shape[2] ** 0.5, dim=-1)
        return self.out((weights @ v).transpose(1, 2).reshape(len(x), self.sequence_length, self.width))

class TransformerBlock(nn.Module):
    def __init__(self, num_heads, sequence_length, hidden_size, mlp_size):
        super().__init__()
        self.attention = MultiHeadAttention(
            num_heads, sequence_length, hidden_size
        )
        self.norm1, self.norm2 = nn.LayerNorm(hidden_size), nn.LayerNorm(hidden_size)
        self.mlp = nn.Sequential(nn.Linear(hidden_size, mlp_size), nn.GELU(), nn.Linear(mlp_size, hidden_size))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))
"""

WIDTHS_OF_INPUTS = """
import torch
from torch import nn

class Attention(nn.Module):
    def __init__(self, query_size, key_size, value_size, num_hiddens, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.to_q, self.to_k, self.to_v = (nn.Linear(size, num_hiddens) for size in (query_size, key_size, value_size))
        self.to_out = nn.Linear(num_hiddens, num_hiddens)

    def forward(self, x, lengths):
        q, k, v = (each(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for each in (self.to_q, self.to_k, self.to_v))
        scores = q @ k.mT / q.shape[-1] ** 0.5
        if lengths is not None:
            scores = scores.masked_fill(torch.arange(x.shape[1]) >= lengths[:, None, None, None], -1e6)
        return self.to_out((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))

class FeedForward(nn.Module):
    def __init__(self, ffn_num_input, ffn_num_hiddens, ffn_num_outputs):
        super().__init__()
        self.inner, self.outer = nn.Linear(ffn_num_input, ffn_num_hiddens), nn.Linear(ffn_num_hiddens, ffn_num_outputs)

    def forward(self, x):
        return self.outer(self.inner(x).relu())

class EncoderBlock(nn.Module):
    def __init__(self, query_size, key_size, value_size, num_hiddens, norm_shape, ffn_num_input, ffn_num_hiddens, num_heads):
        super().__init__()
        self.attention = Attention(query_size, key_size, value_size, num_hiddens, num_heads)
        self.ffn = FeedForward(ffn_num_input, ffn_num_hiddens, num_hiddens)
        self.norm1, self.norm2 = nn.LayerNorm(norm_shape), nn.LayerNorm(norm_shape)

    def forward(self, x, valid_lens):
        x = self.norm1(x + self.attention(x, valid_lens))
        return self.norm2(x + self.ffn(x))
"""

FOLDED_HEADS = """
import torch
from torch import nn

class MultiHeadAttention(nn.Module):
    def __init__(self, num_heads, d_model):
        super().__init__()
        self.num_heads, self.d_model = num_heads, d_model
        self.in_proj, self.out_proj = nn.Linear(d_model, 3 * d_model), nn.Linear(d_model, d_model)

    def forward(self, x, attn_mask):
        batch, length, _ = x.shape
        size = self.d_model // self.num_heads
        qkv = self.in_proj(x).view(batch, length, 3, self.num_heads, size).permute(2, 0, 3, 1, 4)
        q, k, v = qkv.reshape(3, batch * self.num_heads, length, size)
        weights = torch.softmax(torch.bmm(q, k.transpose(1, 2)) / size**0.5 + attn_mask, dim=-1)
        out = torch.bmm(weights, v).view(batch, self.num_heads, length, size)
        return self.out_proj(out.transpose(1, 2).reshape(batch, length, self.d_model))
"""

RECORD = """
from dataclasses import dataclass

import torch
from torch import nn

@dataclass
class LayerOutput:
    hidden: torch.Tensor
    keys: torch.Tensor
    values: torch.Tensor

class CachedAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.heads = n_heads
        self.q, self.k, self.v, self.o = (nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, x, mask, cache=None):
        q, k, v = (each(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for each in (self.q, self.k, self.v))
        if cache is not None:
            k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
        scores = q @ k.transpose(2, 3) / q.shape[-1] ** 0.5
        weights = scores.masked_fill(mask == 0, float("-inf")).softmax(-1)
        return self.o((weights @ v).transpose(1, 2).flatten(2)), k, v

class RMSNorm(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight

class SwiGLUFeedForward(nn.Module):
    def __init__(self, d_model, hidden):
        super().__init__()
        self.gate, self.up, self.down = nn.Linear(d_model, hidden), nn.Linear(d_model, hidden), nn.Linear(hidden, d_model)

    def forward(self, x):
        return self.down(nn.functional.silu(self.gate(x)) * self.up(x))

class DecoderLayer(nn.Module):
    def __init__(self, d_model, n_heads, ff_expansion=4, max_sequence_length=64):
        super().__init__()
        self.norm1, self.norm2 = RMSNorm(d_model), RMSNorm(d_model)
        self.attn, self.ff = CachedAttention(d_model, n_heads), SwiGLUFeedForward(d_model, ff_expansion * d_model)
        self.register_buffer("mask", torch.tril(torch.ones(max_sequence_length, max_sequence_length)))

    def forward(self, x, cache=None):
        length = x.shape[1]
        attended, keys, values = self.attn(self.norm1(x), self.mask[:length, :length], cache)
        x = x + attended
        return LayerOutput(x + self.ff(self.norm2(x)), keys, values)
"""

STATIC = """
import numpy as np

class Functions:
    @staticmethod
    def softmax(x):
        shifted = np.exp(x - np.max(x, axis=-1, keepdims=True))
        return shifted / np.sum(shifted, axis=-1, keepdims=True)

    @staticmethod
    def attention(q, k, v):
        return Functions.softmax(q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])) @ v
"""

TWO_WIDTHS = """
import torch
from torch import nn

class AttentionHead(nn.Module):
    def __init__(self, model_dim, embedding_dim):
        super().__init__()
        self.queries = nn.Linear(in_features=model_dim, out_features=embedding_dim)
        self.keys = nn.Linear(in_features=model_dim, out_features=embedding_dim)
        self.values = nn.Linear(in_features=model_dim, out_features=embedding_dim)
        self.root = embedding_dim**0.5

    def forward(self, queries, keys, values):
        q, k, v = self.queries(queries), self.keys(keys), self.values(values)
        return torch.softmax(q @ k.transpose(-2, -1) / self.root, dim=-1) @ v
"""

WIDTH_OF_THE_FILE = """
import torch
from torch import nn

N_EMBD = 32

class AttentionHead(nn.Module):
    def __init__(self, n_embd):
        super().__init__()
        self.key = nn.Linear(N_EMBD, n_embd, bias=False)
        self.query = nn.Linear(N_EMBD, n_embd, bias=False)
        self.value = nn.Linear(N_EMBD, n_embd, bias=False)

    def forward(self, x):
        q, k = self.query(x), self.key(x)
        return torch.softmax(q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5, dim=-1) @ self.value(x)
"""

GIVEN_SCALE = """
import torch
from torch import nn

class ScaledDotProductAttention(nn.Module):
    def __init__(self, d_k):
        super().__init__()
        self.scale = d_k ** -0.5

    def forward(self, q, k, v, mask):
        scores = torch.matmul(q, k.transpose(-2, -1)) * self.scale
        if mask is not None:
            scores = scores.masked_fill(mask, float("-inf"))
        return torch.matmul(torch.softmax(scores, dim=-1), v)
"""

PROJECTED_WIDTH = """
import torch
from torch import nn

class MultiHeadAttention(nn.Module):
    def __init__(self, head_num, emb_dim, proj_dim):
        super().__init__()
        assert proj_dim % head_num == 0
        self.head_num = head_num
        self.q, self.k, self.v = (nn.Linear(emb_dim, proj_dim) for _ in range(3))
        self.out = nn.Linear(proj_dim, emb_dim)

    def forward(self, x):
        q, k, v = (each(x).unflatten(-1, (self.head_num, -1)).transpose(1, 2) for each in (self.q, self.k, self.v))
        return self.out(nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))

class BlockGPT(nn.Module):
    def __init__(self, head_num, emb_dim, proj_dim, ff_dim):
        super().__init__()
        self.mha = MultiHeadAttention(head_num, emb_dim, proj_dim)
        self.ln_in, self.ln_out = nn.LayerNorm(emb_dim), nn.LayerNorm(emb_dim)
        self.ff = nn.Sequential(nn.Linear(emb_dim, ff_dim), nn.GELU(), nn.Linear(ff_dim, emb_dim))

    def forward(self, x):
        x = x + self.mha(self.ln_in(x))
        return x + self.ff(self.ln_out(x))
"""

REQUIRED_PADDING = """
import torch
from torch import nn

class Attention(nn.Module):
    def __init__(self, hidden_size, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.qkv, self.out = nn.Linear(hidden_size, 3 * hidden_size), nn.Linear(hidden_size, hidden_size)

    def forward(self, x, attention_mask):
        q, k, v = (each.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for each in self.qkv(x).chunk(3, dim=-1))
        scores = q @ k.transpose(2, 3) / q.shape[-1] ** 0.5
        scores = scores.masked_fill(attention_mask.unsqueeze(1).unsqueeze(2) == 0, torch.finfo(scores.dtype).min)
        return self.out((torch.softmax(scores, dim=-1) @ v).transpose(1, 2).flatten(2))

class BertBlock(nn.Module):
    def __init__(self, hidden_size, num_heads):
        super().__init__()
        self.attention = Attention(hidden_size, num_heads)
        self.ffn = nn.Sequential(nn.Linear(hidden_size, 4 * hidden_size), nn.GELU(approximate="tanh"), nn.Linear(4 * hidden_size, hidden_size))
        self.ln1, self.ln2 = nn.LayerNorm(hidden_size), nn.LayerNorm(hidden_size)

    def forward(self, x, attention_mask):
        x = self.ln1(x + self.attention(x, attention_mask))
        return self.ln2(x + self.ffn(x))
"""

FACTOR_OF_WIDTH = """
import torch
from torch import nn

class Attention(nn.Module):
    def __init__(self, max_len, width, heads, kind):
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        seen = torch.ones(max_len, max_len)
        self.register_buffer("seen", seen.tril() if kind == "causal" else seen)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (each.view(batch, length, self.heads, -1).transpose(1, 2) for each in self.qkv(x).chunk(3, dim=-1))
        scores = q @ k.mT / (width / self.heads) ** 0.5
        weights = scores.masked_fill(self.seen[:length, :length] == 0, float("-inf")).softmax(-1)
        return self.out((weights @ v).transpose(1, 2).reshape(batch, length, width))

class MLP(nn.Module):
    def __init__(self, width, d_mlp):
        super().__init__()
        self.up, self.down = nn.Linear(width, width * d_mlp), nn.Linear(width * d_mlp, width)

    def forward(self, x):
        return self.down(nn.functional.gelu(self.up(x)))

class Block(nn.Module):
    def __init__(self, max_len, d_mlp, width, heads, kind: str):
        super().__init__()
        self.norm_1, self.attention = nn.LayerNorm(width), Attention(max_len, width, heads, kind)
        self.norm_2, self.mlp = nn.LayerNorm(width), MLP(width, d_mlp)

    def forward(self, x):
        x = x + self.attention(self.norm_1(x))
        return x + self.mlp(self.norm_2(x))
"""

PROGRAMS = (
    Program("AttentionHead", "self_attention", WIDTH_OF_THE_FILE, (("/ q.shape[-1] ** 0.5", "/ x.shape[-1] ** 0.5"),)),
    Program("ScaledDotProductAttention", "scaled_dot_product_attention", GIVEN_SCALE, (("* self.scale", "/ 2"),)),
    Program("BlockGPT", "transformer_block", PROJECTED_WIDTH, (("return x + self.ff", "return self.ff"),)),
    Program("BertBlock", "encoder_layer", REQUIRED_PADDING, (("return self.ln2(x + self.ffn(x))", "return x + self.ln2(self.ffn(x))"),)),
    Program("MultiHeadAttention", "multi_head_attention", EXACT_LENGTH, (("@ v).transpose(1, 2).reshape", "@ v).reshape"),)),
    Program("TransformerBlock", "transformer_block", EXACT_LENGTH, (("return x + self.mlp", "return self.mlp"),)),
    Program("MultiHeadAttention", "multi_head_attention", FOLDED_HEADS, (("/ size**0.5", "/ self.d_model**0.5"),)),
    Program("DecoderLayer", "encoder_layer", RECORD, (("x + self.ff(self.norm2(x)), keys", "x + self.ff(self.norm1(x)), keys"),)),
    Program("Functions.softmax", "softmax", STATIC, (("np.sum(shifted, axis=-1, keepdims=True)", "np.sum(shifted)"),)),
    Program("Functions.attention", "scaled_dot_product_attention", STATIC, (("np.sqrt(q.shape[-1])", "q.shape[-1]"),)),
    Program("AttentionHead", "self_attention", TWO_WIDTHS, (("embedding_dim**0.5", "model_dim**0.5"),)),
    Program("FeedForward", "feed_forward", WIDTHS_OF_INPUTS, (("(self.inner(x).relu())", "(self.inner(x))"),)),
    Program(
        "EncoderBlock",
        "encoder_layer",
        WIDTHS_OF_INPUTS,
        (("norm2(x + ", "norm2("), ("return self.norm2(x + self.ffn(x))", "return x + self.ffn(x)")),
    ),
    Program(
        "AttentionOfCopies",
        "multi_head_attention",
        """
from copy import deepcopy
import torch
from torch import nn

class AttentionOfCopies(nn.Module):
    def __init__(self, d_model, h, qkv_fc, out_fc):
        super().__init__()
        self.h, self.d_model = h, d_model
        self.fc_q = deepcopy(qkv_fc)
        self.fc_k = deepcopy(qkv_fc)
        self.fc_v = deepcopy(qkv_fc)
        self.fc_out = out_fc

    def split(self, x, fc):
        return fc(x).view(x.size(0), -1, self.h, self.d_model // self.h).transpose(1, 2)

    def forward(self, query, key, value, mask=None):
        q, k, v = self.split(query, self.fc_q), self.split(key, self.fc_k), self.split(value, self.fc_v)
        scores = q @ k.transpose(-2, -1) / (self.d_model // self.h) ** 0.5
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -1e9)
        out = (scores.softmax(-1) @ v).transpose(1, 2).reshape(query.size(0), -1, self.d_model)
        return self.fc_out(out)
""",
        (("self.split(key, self.fc_k)", "self.split(key, self.fc_q)"), ("softmax(-1)", "softmax(-2)")),
    ),
    Program(
        "Block",
        "transformer_block",
        FACTOR_OF_WIDTH,
        (("seen.tril()", "seen.triu()"), ("self.mlp(self.norm_2(x))", "self.mlp(self.norm_1(x))"), ("x = x + self.att", "x = self.att")),
    ),
)
