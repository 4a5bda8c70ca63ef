"""Attentions and layers whose masks concern queries as well, with mistakes as replacements in their text."""

from __future__ import annotations

from tests.practice.public.program import Program

PADDED_QUERIES = """
import torch
from torch import nn

class Head(nn.Module):
    def __init__(self, width, head_width):
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(width, head_width, bias=False) for _ in range(3))

    def forward(self, x, pad_mask=None):
        length = x.shape[1]
        q, k, v = self.query(x), self.key(x), self.value(x)
        scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
        later = torch.ones(length, length, dtype=torch.bool).triu(1)
        scores = scores.masked_fill(later, float("-inf"))
        if pad_mask is not None:
            scores = scores.masked_fill(pad_mask[:, None, :] == 0, float("-inf"))
        out = scores.softmax(-1) @ v
        if pad_mask is not None:
            out = out * pad_mask[:, :, None].to(out.dtype)
        return out

class MultiHeadAttention(nn.Module):
    def __init__(self, num_heads, width):
        super().__init__()
        self.heads = nn.ModuleList([Head(width, width // num_heads) for _ in range(num_heads)])
        self.out = nn.Linear(width, width)

    def forward(self, x, pad_mask=None):
        return self.out(torch.cat([head(x, pad_mask=pad_mask) for head in self.heads], dim=-1))

class Block(nn.Module):
    def __init__(self, width, num_heads):
        super().__init__()
        self.attention = MultiHeadAttention(num_heads, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.ReLU(), nn.Linear(4 * width, width))
        self.norm_1, self.norm_2 = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x, pad_mask=None):
        x = x + self.attention(self.norm_1(x), pad_mask=pad_mask)
        return x + self.mlp(self.norm_2(x))
"""

CAUSAL_BY_FLAG = """
import torch
from torch import nn

class Attention(nn.Module):
    def __init__(self, width, num_heads):
        super().__init__()
        self.num_heads, self.head_width = num_heads, width // num_heads
        self.q, self.k, self.v, self.out = (nn.Linear(width, width) for _ in range(4))

    def split(self, x):
        return x.view(*x.shape[:2], self.num_heads, self.head_width).transpose(1, 2)

    def forward(self, x, context, causal=False):
        q, k, v = self.split(self.q(x)), self.split(self.k(context)), self.split(self.v(context))
        scores = q @ k.transpose(-2, -1) / self.head_width ** 0.5
        if causal:
            later = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(diagonal=1)
            scores = scores.masked_fill(later, float("-inf"))
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))

class DecoderLayer(nn.Module):
    def __init__(self, width, num_heads, inner):
        super().__init__()
        self.attention, self.cross = Attention(width, num_heads), Attention(width, num_heads)
        self.mlp = nn.Sequential(nn.Linear(width, inner), nn.GELU(), nn.Linear(inner, width))
        self.norm_1, self.norm_2, self.norm_3 = nn.LayerNorm(width), nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, memory, y, causal=False):
        normed = self.norm_1(y)
        y = y + self.attention(normed, normed, causal)
        y = y + self.cross(self.norm_2(y), memory)
        return y + self.mlp(self.norm_3(y))
"""

ONE_SEQUENCE = """
import numpy as np

def norm(x, weight, bias):
    return weight * (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) + bias

class EncoderLayer:
    def __init__(self, width, num_heads, inner, rng=np.random.default_rng(0)):
        self.num_heads = num_heads
        self.w_q, self.w_k, self.w_v, self.w_o = rng.normal(size=(4, width, width))
        self.w_1, self.b_1 = rng.normal(size=(width, inner)), np.zeros(inner)
        self.w_2, self.b_2 = rng.normal(size=(inner, width)), np.zeros(width)
        self.gamma_1, self.beta_1 = np.ones(width), np.zeros(width)
        self.gamma_2, self.beta_2 = np.ones(width), np.zeros(width)

    def heads(self, x):
        length, width = x.shape
        return x.reshape(length, self.num_heads, width // self.num_heads).transpose(1, 0, 2)

    def forward(self, x, mask):
        normed = norm(x, self.gamma_1, self.beta_1)
        q, k, v = (self.heads(normed @ weight) for weight in (self.w_q, self.w_k, self.w_v))
        scores = np.where(mask, q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1]), -1e9)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        x = x + (weights @ v).transpose(1, 0, 2).reshape(x.shape) @ self.w_o
        inner = norm(x, self.gamma_2, self.beta_2) @ self.w_1 + self.b_1
        inner = 0.5 * inner * (1 + np.tanh(np.sqrt(2 / np.pi) * (inner + 0.044715 * inner**3)))
        return x + inner @ self.w_2 + self.b_2
"""

SOME_BIASES = """
import torch
from torch import nn

class Attention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.query, self.key, self.value, self.out = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
    def forward(self, q, k, v, mask):
        q, k, v = (x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for x in (self.query(q), self.key(k), self.value(v)))
        scores = (q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5).masked_fill(mask, -1e9)
        weights = scores.softmax(-1)
        return self.out((weights @ v).transpose(1, 2).flatten(2)), weights

class EncoderBlock(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, layer_norm_eps=1e-5, bias=True):
        super().__init__()
        self.norm1, self.norm2 = (nn.LayerNorm(d_model, eps=layer_norm_eps, bias=bias) for _ in range(2))
        self.attention = Attention(d_model, num_heads)
        self.ffn = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
    def forward(self, x, self_attn_mask):
        x = self.norm1(x + self.attention(x, x, x, self_attn_mask)[0])
        return self.norm2(x + self.ffn(x))
"""

TRAINED_BY_THE_CLASS = """
from collections import Counter

class BPETrainer:
    @classmethod
    def train(cls, text: str, vocab_size: int):
        ids = list(text.encode("utf-8"))
        vocab, merges = {byte: bytes([byte]) for byte in range(256)}, []
        while len(vocab) < vocab_size:
            counts = Counter(zip(ids, ids[1:]))
            if not counts:
                break
            pair = max(counts, key=lambda each: (counts[each], vocab[each[0]], vocab[each[1]]))
            merges.append((vocab[pair[0]], vocab[pair[1]]))
            out, place = [], 0
            while place < len(ids):
                is_pair = tuple(ids[place : place + 2]) == pair
                out.append(len(vocab) if is_pair else ids[place])
                place += 2 if is_pair else 1
            ids = out
            vocab[len(vocab)] = b"".join(merges[-1])
        return vocab, merges
"""

STATISTICS = """
def get_statistics(ids: list) -> dict:
    counts = {}
    for pair in zip(ids, ids[1:]):
        counts[pair] = counts.get(pair, 0) + 1
    return counts
"""

OF_ELEMENTS = """
def rmsnorm(x):
    ms = sum(xi * xi for xi in x) / len(x)
    scale = (ms + 1e-5) ** -0.5
    return [xi * scale for xi in x]
"""

OF_QUERIES = """
import numpy as np

class Linear:
    def __init__(self, input_d, output_d):
        self.weights, self.biases = np.random.randn(input_d, output_d) * 0.1, np.zeros(output_d)

    def __call__(self, x):
        return x @ self.weights + self.biases

class LayerNorm:
    def __init__(self, model_d):
        self.gamma, self.beta = np.ones(model_d), np.zeros(model_d)

    def __call__(self, x):
        return self.gamma * (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-10) + self.beta

class FFN:
    def __init__(self, input_d=64, hidden_d=256):
        self.widen, self.narrow = Linear(input_d, hidden_d), Linear(hidden_d, input_d)

    def __call__(self, x):
        return self.narrow(np.maximum(self.widen(x), 0))

class MultiHeadAttention:
    def __init__(self, input_d, heads_num):
        self.heads_num = heads_num
        self.w_q, self.w_k, self.w_v, self.w_o = (Linear(input_d, input_d) for _ in range(4))

    def heads(self, x):
        return x.reshape(len(x), x.shape[1], self.heads_num, -1).transpose(0, 2, 1, 3)

    def __call__(self, query, key, value, mask=None):
        q, k, v = self.heads(self.w_q(query)), self.heads(self.w_k(key)), self.heads(self.w_v(value))
        scores = q @ k.transpose(0, 1, 3, 2) / np.sqrt(q.shape[-1])
        if mask is not None:
            scores = np.where(mask[:, None] == 0, -1e9, scores)
        e = np.exp(scores - scores.max(-1, keepdims=True))
        return self.w_o((e / e.sum(-1, keepdims=True) @ v).transpose(0, 2, 1, 3).reshape(query.shape))

class EncoderLayer:
    def __init__(self, input_d, ffn_d, heads_num=8):
        self.attention, self.ffn = MultiHeadAttention(input_d, heads_num), FFN(input_d, ffn_d)
        self.norm_1, self.norm_2 = LayerNorm(input_d), LayerNorm(input_d)

    def __call__(self, query, mask=None, training=True):
        query = self.norm_1(query + self.attention(query, query, query, mask))
        _query = self.ffn(query)
        return self.norm_2(query + _query)

class DecoderLayer:
    def __init__(self, input_d, heads_num, ffn_d):
        self.attention, self.cross = MultiHeadAttention(input_d, heads_num), MultiHeadAttention(input_d, heads_num)
        self.ffn = FFN(input_d, ffn_d)
        self.norm_3, self.norm_4, self.norm_5 = LayerNorm(input_d), LayerNorm(input_d), LayerNorm(input_d)

    def __call__(self, query, key, query_mask=None, key_mask=None, training=True):
        query = self.norm_3(query + self.attention(query, query, query, query_mask))
        query = self.norm_4(query + self.cross(query, key, key, key_mask))
        _query = self.ffn(query)
        return self.norm_5(query + _query)
"""

NESTED = """
import torch
from torch import nn

class Layer(nn.Module):
    class MultiHeadedSelfAttention(nn.Module):
        class Head(nn.Module):
            def __init__(self, model_width, width):
                super().__init__()
                self.width = width
                self.queries, self.keys, self.values = (nn.Linear(model_width, width, bias=False) for _ in range(3))

            def forward(self, x):
                scores = self.queries(x) @ self.keys(x).transpose(1, 2) / self.width**0.5
                later = torch.ones(x.shape[1], x.shape[1]).triu(1) == 1
                return scores.masked_fill(later, -torch.inf).softmax(-1) @ self.values(x)

        def __init__(self, model_width, num_heads):
            super().__init__()
            self.heads = nn.ModuleList()
            for _ in range(num_heads):
                self.heads.append(self.Head(model_width, model_width // num_heads))

        def forward(self, x):
            outputs = [head(x) for head in self.heads]
            return torch.cat(outputs, -1)

    class Wide(nn.Module):
        def __init__(self, model_width):
            super().__init__()
            self.up, self.down = nn.Linear(model_width, 4 * model_width), nn.Linear(4 * model_width, model_width)

        def forward(self, x):
            return self.down(self.up(x).relu())
"""

PROGRAMS = (
    Program(
        "EncoderLayer",
        "encoder_layer",
        OF_QUERIES,
        (("self.norm_2(query + _query)", "self.norm_2(_query)"), ("np.sqrt(q.shape[-1])", "np.sqrt(query.shape[-1])")),
    ),
    Program(
        "DecoderLayer",
        "decoder_layer",
        OF_QUERIES,
        (
            ("self.cross(query, key, key, key_mask)", "self.cross(query, query, query, query_mask)"),
            ("self.norm_5(query + _query)", "self.norm_5(_query)"),
        ),
    ),
    Program(
        "FFN",
        "feed_forward",
        OF_QUERIES,
        (("np.maximum(self.widen(x), 0)", "self.widen(np.maximum(x, 0))"),),
    ),
    Program(
        "transformer_block_forward",
        "encoder_layer",
        """
import numpy as np

def init_dense(fan_in, fan_out):
    return {"W": np.random.randn(fan_in, fan_out) / np.sqrt(fan_in), "b": np.zeros(fan_out)}

def init_block_params(width, inner):
    return {
        "ln1": {"gamma": np.ones(width), "beta": np.zeros(width)},
        "attn": {name: init_dense(width, width) for name in "qkvo"},
        "ln2": {"gamma": np.ones(width), "beta": np.zeros(width)},
        "mlp": {"fc1": init_dense(width, inner), "fc2": init_dense(inner, width)},
    }

def dense(x, p):
    return x @ p["W"] + p["b"]

def normalized(x, p):
    return p["gamma"] * (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) + p["beta"]

def attend(x, p, hidden):
    q, k, v = (dense(x, p[name]) for name in "qkv")
    scores = np.where(hidden, -1e9, q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]))
    e = np.exp(scores - scores.max(-1, keepdims=True))
    return dense(e / e.sum(-1, keepdims=True) @ v, p["o"])

def transformer_block_forward(x, block_params, mask):
    h = x + attend(normalized(x, block_params["ln1"]), block_params["attn"], mask)
    inner = np.maximum(dense(normalized(h, block_params["ln2"]), block_params["mlp"]["fc1"]), 0)
    return h + dense(inner, block_params["mlp"]["fc2"]), {"x": x, "h": h, "inner": inner}
""",
        (
            ("return h + dense(inner", "return x + dense(inner"),
            ("np.where(hidden, -1e9", "np.where(hidden, -1"),
            ("dense(normalized(h, ", "dense(normalized(x, "),
        ),
    ),
    Program("rmsnorm", "rms_norm", OF_ELEMENTS, ((" / len(x)", ""), ("** -0.5", "** -1"), ("xi * xi", "xi"))),
    Program(
        "Head",
        "causal_self_attention",
        PADDED_QUERIES,
        (
            ("== 0, float", "== 1, float"),
            ("* pad_mask[:, :, None]", "* (1 - pad_mask[:, :, None])"),
            (".triu(1)", ".triu(2)"),
        ),
    ),
    Program(
        "DecoderLayer",
        "decoder_layer",
        CAUSAL_BY_FLAG,
        (
            ("y = y + self.cross(self.norm_2(y)", "y = self.cross(self.norm_2(y)"),
            ("if causal:", "if not causal:"),
            ("diagonal=1", "diagonal=0"),
        ),
    ),
    Program("MultiHeadAttention", "multi_head_attention", PADDED_QUERIES, ((".triu(1)", ".triu(0)"),)),
    Program("Block", "encoder_layer", PADDED_QUERIES, (("x = x + self.attention(self.norm_1(x)", "x = self.attention(self.norm_1(x)"),)),
    Program(
        "EncoderLayer",
        "encoder_layer",
        ONE_SEQUENCE,
        (("np.sqrt(q.shape[-1])", "np.sqrt(q.shape[0])"), ("mask, q", "mask.T, q"), ("return x + inner @", "return inner @")),
    ),
    Program("EncoderBlock", "encoder_layer", SOME_BIASES, (("q.shape[-1] **", "q.shape[1] **"), ("x + self.ffn(x)", "self.ffn(x)"))),
    Program("BPETrainer", "bpe_train", TRAINED_BY_THE_CLASS, (("place += 2 if", "place += 3 if"),)),
    Program("get_statistics", "pair_counts", STATISTICS, (("counts.get(pair, 0) + 1", "1"),)),
    Program(
        "PreNormBlock",
        "transformer_block",
        """
import torch
from torch import nn

class PreNormBlock(nn.Module):
    '''Norms before the parts, GPT-2 style.'''
    def __init__(self, width, heads):
        super().__init__()
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.norm_1, self.norm_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
    def forward(self, x):
        y = self.norm_1(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        return x + self.mlp(self.norm_2(x))
""",
        (("self.mlp(self.norm_2(x))", "self.mlp(x)"),),
    ),
    Program(
        "EncoderLayer",
        "encoder_layer",
        """
import math
from torch import nn

class Attention(nn.Module):
    def __init__(self, width, args):
        super().__init__()
        self.heads = args["n_head"]
        self.q, self.k, self.v, self.out = (nn.Linear(width, width) for _ in range(4))
    def forward(self, x):
        q, k, v = (each(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for each in (self.q, self.k, self.v))
        return self.out(((q @ k.transpose(2, 3) / math.sqrt(q.size(-1))).softmax(-1) @ v).transpose(1, 2).flatten(2))

class EncoderLayer(nn.Module):
    def __init__(self, width, encoder_args):
        super().__init__()
        self.attention = Attention(width, encoder_args["self_attention"])
        self.norm_1, self.norm_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.dropout = nn.Dropout(encoder_args["dropout"])
        self.ffn = nn.Sequential(nn.Linear(width, 4 * width), nn.ReLU(), nn.Linear(4 * width, width))
    def forward(self, x):
        x = self.norm_1(x + self.dropout(self.attention(x)))
        return self.norm_2(x + self.dropout(self.ffn(x)))
""",
        (("self.norm_2(x + self.dropout(self.ffn(x)))", "x + self.dropout(self.ffn(self.norm_2(x)))[:1]"),),
    ),
    Program(
        "TransformerBlock",
        "transformer_block",
        """
import math
import torch
from torch import nn

class RotaryPositionalEmbedding(nn.Module):
    def __init__(self, theta, d_k, max_seq_len):
        super().__init__()
        angles = torch.arange(max_seq_len)[:, None] / theta ** (torch.arange(0, d_k, 2) / d_k)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())
    def forward(self, x):
        cos, sin = self.cos[: x.size(-2)], self.sin[: x.size(-2)]
        even, odd = x[..., ::2], x[..., 1::2]
        return torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1).flatten(-2)

class Attention(nn.Module):
    def __init__(self, d_model, num_heads, RoPE):
        super().__init__()
        self.heads, self.RoPE = num_heads, RoPE
        self.qkv, self.out = nn.Linear(d_model, 3 * d_model), nn.Linear(d_model, d_model)
    def forward(self, x):
        q, k, v = (each.unflatten(-1, (self.heads, -1)).transpose(1, 2) for each in self.qkv(x).chunk(3, dim=-1))
        scores = self.RoPE(q) @ self.RoPE(k).transpose(2, 3) / math.sqrt(q.size(-1))
        scores = scores.masked_fill(torch.ones_like(scores).triu(1).bool(), float("-inf"))
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))

class TransformerBlock(nn.Module):
    def __init__(self, d_model: int, num_heads: int, d_ff: int, RoPE: RotaryPositionalEmbedding):
        super().__init__()
        self.attn = Attention(d_model, num_heads, RoPE)
        self.ffn = nn.Sequential(nn.Linear(d_model, d_ff), nn.GELU(), nn.Linear(d_ff, d_model))
        self.ln1, self.ln2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.ffn(self.ln2(x))

class Model(nn.Module):
    def __init__(self, vocab_size, context_length, d_model, num_layers, num_heads, d_ff, rope_theta):
        super().__init__()
        self.embed = nn.Embedding(vocab_size, d_model)
        rope = RotaryPositionalEmbedding(rope_theta, d_model // num_heads, context_length)
        self.layers = nn.ModuleList(TransformerBlock(d_model, num_heads, d_ff, rope) for _ in range(num_layers))
    def forward(self, x):
        x = self.embed(x)
        for layer in self.layers:
            x = layer(x)
        return x
""",
        (("self.ffn(self.ln2(x))", "self.ffn(x)"),),
    ),
    Program(
        "GPTBlock",
        "transformer_block",
        """
import math
import torch
from torch import nn

class RoPE(nn.Module):
    def __init__(self, theta, d_k, max_seq_len):
        super().__init__()
        self.angles = torch.arange(max_seq_len)[:, None] / theta ** (torch.arange(0, d_k, 2) / d_k)
    def forward(self, x, positions):
        cos, sin = self.angles[positions].cos(), self.angles[positions].sin()
        even, odd = x[..., ::2], x[..., 1::2]
        return torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1).flatten(-2)

class RMSNorm(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))
    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * self.weight

class MultiheadSelfAttention(nn.Module):
    def __init__(self, d_model, num_heads, max_seq_len, theta):
        super().__init__()
        self.heads, self.rope = num_heads, RoPE(theta, d_model // num_heads, max_seq_len)
        self.q, self.k, self.v, self.out = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
    def forward(self, x, token_positions):
        q, k, v = (each(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for each in (self.q, self.k, self.v))
        at = token_positions.unsqueeze(1)
        scores = self.rope(q, at) @ self.rope(k, at).transpose(2, 3) / math.sqrt(q.size(-1))
        scores = scores.masked_fill(torch.ones_like(scores).triu(1).bool(), float("-inf"))
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))

class SwiGLU(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.w1, self.w2, self.w3 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model), nn.Linear(d_model, d_ff)
    def forward(self, x):
        return self.w2(nn.functional.silu(self.w1(x)) * self.w3(x))

class GPTBlock(nn.Module):
    def __init__(self, d_model, num_heads, d_ff, *, max_seq_len, theta):
        super().__init__()
        self.norm_1, self.norm_2 = RMSNorm(d_model), RMSNorm(d_model)
        self.attn = MultiheadSelfAttention(d_model, num_heads, max_seq_len, theta)
        self.ffn = SwiGLU(d_model, d_ff)
    def forward(self, x, token_positions=None):
        batch, length, _ = x.shape
        if token_positions is None:
            token_positions = torch.arange(length).unsqueeze(0).expand(batch, -1)
        x = x + self.attn(self.norm_1(x), token_positions=token_positions)
        return x + self.ffn(self.norm_2(x))
""",
        (("x + self.attn(self.norm_1(x)", "self.attn(self.norm_1(x)"),),
    ),
    Program(
        "DecoderBlock",
        "decoder_layer",
        """
from torch import nn

class DecoderBlock(nn.Module):
    def __init__(self, d_model, num_heads, d_hidden):
        super().__init__()
        self.own, self.cross = (nn.MultiheadAttention(d_model, num_heads, batch_first=True, bias=False) for _ in range(2))
        self.ff = nn.Sequential(nn.Linear(d_model, d_hidden), nn.ReLU(), nn.Linear(d_hidden, d_model))
        self.norm1, self.norm2, self.norm3 = (nn.LayerNorm(d_model) for _ in range(3))

    def forward(self, x, enc_k, enc_v, dec_mask):
        x = self.norm1(x + self.own(x, x, x, attn_mask=~dec_mask)[0])
        x = self.norm2(x + self.cross(x, enc_k, enc_v)[0])
        return self.norm3(x + self.ff(x))
""",
        (("self.cross(x, enc_k, enc_v)", "self.cross(x, enc_k, x)"), ("x = self.norm2(x +", "x = self.norm2(")),
    ),
    Program(
        "DecoderLayer",
        "decoder_layer",
        """
from torch import nn
import torch

class Attention(nn.Module):
    def __init__(self, width, num_heads, is_causal=False):
        super().__init__()
        self.num_heads, self.is_causal = num_heads, is_causal
        self.query, self.key, self.value, self.out = (nn.Linear(width, width, bias=False) for _ in range(4))

    def split(self, x):
        return x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)

    def forward(self, x, context, padding_mask=None):
        q, k, v = self.split(self.query(x)), self.split(self.key(context)), self.split(self.value(context))
        scores = q @ k.mT / q.size(-1) ** 0.5
        if padding_mask is not None:
            scores = scores.masked_fill(padding_mask[:, None, None] == 0, float("-inf"))
        if self.is_causal:
            scores = scores.masked_fill(torch.ones_like(scores).triu(1).bool(), float("-inf"))
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))

class DecoderLayer(nn.Module):
    def __init__(self, width, num_heads):
        super().__init__()
        self.masked_self_attention = Attention(width, num_heads, is_causal=True)
        self.cross_attention = Attention(width, num_heads)
        self.feed_forward = nn.Sequential(nn.Linear(width, 4 * width), nn.ReLU(), nn.Linear(4 * width, width))
        self.norm1, self.norm2, self.norm3 = (nn.LayerNorm(width) for _ in range(3))

    def forward(self, labels, image_encodings, padding_mask):
        x = self.norm1(labels + self.masked_self_attention(labels, labels, padding_mask))
        x = self.norm2(x + self.cross_attention(x, image_encodings))
        return self.norm3(x + self.feed_forward(x))
""",
        (("self.norm2(x + self.cross", "self.norm2(labels + self.cross"), ("(x, image_encodings)", "(x, x)")),
    ),
    Program(
        "DecoderBlock",
        "decoder_layer",
        """
from torch import nn

class Sublayer(nn.Module):
    def __init__(self, num_heads, d_model):
        super().__init__()
        self.attention = nn.MultiheadAttention(d_model, num_heads, batch_first=True, bias=False)
        self.norm = nn.LayerNorm(d_model)

    def forward(self, query, key, value, mask=None):
        hidden = None if mask is None else mask.logical_not()
        return self.norm(query + self.attention(query, key, value, attn_mask=hidden)[0])

class DecoderBlock(nn.Module):
    def __init__(self, num_heads, d_model, d_ff):
        super().__init__()
        self.own, self.cross = Sublayer(num_heads, d_model), Sublayer(num_heads, d_model)
        self.ff = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
        self.norm = nn.LayerNorm(d_model)

    def forward(self, src_x, tgt_x, joint_tgtpad_mask=None):
        x = self.own(tgt_x, tgt_x, tgt_x, joint_tgtpad_mask)
        x = self.cross(x, src_x, src_x)
        return self.norm(x + self.ff(x))
""",
        (("self.cross(x, src_x, src_x)", "self.cross(src_x, x, x)"), ("self.norm(x + self.ff(x))", "self.norm(tgt_x + self.ff(x))")),
    ),
    Program(
        "LayerAddNorm",
        "residual",
        """
from torch import nn

class LayerAddNorm(nn.Module):
    def __init__(self, d_model, dropout):
        super().__init__()
        self.norm, self.dropout = nn.LayerNorm(d_model), nn.Dropout(dropout)

    def forward(self, x, residual_connection):
        return self.dropout(self.norm(x + residual_connection))
""",
        (("x + residual_connection", "x - residual_connection"),),
    ),
    Program(
        "encoder_block",
        "encoder_layer",
        """
import numpy as np

def norm(x, eps=1e-6):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + eps)

def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))

def encoder_block(x, embed_dim, num_heads, mlp_ratio, Wq, Wk, Wv, Wo, W1, W2):
    B, N, D = x.shape
    def heads(y):
        return y.reshape(B, N, num_heads, D // num_heads).transpose(0, 2, 1, 3)
    y = norm(x)
    q, k, v = heads(y @ Wq), heads(y @ Wk), heads(y @ Wv)
    scores = q @ k.transpose(0, 1, 3, 2) / np.sqrt(D // num_heads)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights = weights / weights.sum(-1, keepdims=True)
    x = x + (weights @ v).transpose(0, 2, 1, 3).reshape(B, N, D) @ Wo
    return x + gelu(norm(x) @ W1) @ W2
""",
        (("gelu(norm(x) @ W1)", "gelu(x @ W1)"),),
    ),
    Program(
        "DecoderBlock",
        "decoder_layer",
        """
import torch
from torch import nn

class SelfAttention(nn.Module):
    def __init__(self, embed_size, heads):
        super().__init__()
        self.heads, self.head_dim = heads, embed_size // heads
        self.values, self.keys, self.queries = (nn.Linear(self.head_dim, self.head_dim, bias=False) for _ in range(3))
        self.fc_out = nn.Linear(embed_size, embed_size)

    def forward(self, values, keys, query, mask):
        n, length = query.shape[:2]
        def split(x, layer):
            return layer(x.reshape(n, -1, self.heads, self.head_dim))
        v, k, q = split(values, self.values), split(keys, self.keys), split(query, self.queries)
        energy = torch.einsum("nqhd,nkhd->nhqk", q, k)
        if mask is not None:
            energy = energy.masked_fill(mask == 0, float("-1e20"))
        weights = torch.softmax(energy / self.head_dim**0.5, dim=3)
        return self.fc_out(torch.einsum("nhql,nlhd->nqhd", weights, v).reshape(n, length, -1))

class TransformerBlock(nn.Module):
    def __init__(self, embed_size, heads, dropout, forward_expansion):
        super().__init__()
        self.attention = SelfAttention(embed_size, heads)
        self.norm1, self.norm2 = nn.LayerNorm(embed_size), nn.LayerNorm(embed_size)
        inner = forward_expansion * embed_size
        self.feed_forward = nn.Sequential(nn.Linear(embed_size, inner), nn.ReLU(), nn.Linear(inner, embed_size))
        self.dropout = nn.Dropout(dropout)

    def forward(self, value, key, query, mask):
        x = self.dropout(self.norm1(self.attention(value, key, query, mask) + query))
        return self.dropout(self.norm2(self.feed_forward(x) + x))

class DecoderBlock(nn.Module):
    def __init__(self, embed_size, heads, forward_expansion, dropout, device):
        super().__init__()
        self.attention, self.norm = SelfAttention(embed_size, heads), nn.LayerNorm(embed_size)
        self.transformer_block = TransformerBlock(embed_size, heads, dropout, forward_expansion)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, value, key, src_mask, trg_mask):
        query = self.dropout(self.norm(self.attention(x, x, x, trg_mask) + x))
        return self.transformer_block(value, key, query, src_mask)
""",
        (("transformer_block(value, key, query, src_mask)", "transformer_block(query, key, value, src_mask)"),),
    ),
    Program(
        "TransformerBlock",
        "encoder_layer",
        """
import torch
from torch import nn

class TransformerBlock(nn.Module):  # Takes its attention, which returns the weights as well
    def __init__(self, config, attention: nn.Module):
        super().__init__()
        self.attention_norm, self.attention = nn.LayerNorm(config.embedding_dim), attention
        self.ff_norm = nn.LayerNorm(config.embedding_dim)
        self.ff = nn.Sequential(
            nn.Linear(config.embedding_dim, config.ff_dim), nn.GELU(), nn.Linear(config.ff_dim, config.embedding_dim)
        )

    def forward(self, hidden, attention_mask=None):
        attended, weights = self.attention(self.attention_norm(hidden), attention_mask)
        hidden = hidden + attended
        return hidden + self.ff(self.ff_norm(hidden)), weights
""",
        (("hidden + self.ff(self.ff_norm(hidden))", "hidden + self.ff(hidden)"),),
    ),
    Program(
        "EncoderLayer",
        "encoder_layer",
        """
import torch
from torch import nn

d_model = 512
d_ff = 2048
d_k = d_v = 64
n_heads = 8

class MultiHeadAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.W_Q, self.W_K = nn.Linear(d_model, d_k * n_heads, bias=False), nn.Linear(d_model, d_k * n_heads, bias=False)
        self.W_V, self.fc = nn.Linear(d_model, d_v * n_heads, bias=False), nn.Linear(n_heads * d_v, d_model, bias=False)

    def forward(self, input_Q, input_K, input_V, attn_mask):
        batch = input_Q.size(0)
        Q = self.W_Q(input_Q).view(batch, -1, n_heads, d_k).transpose(1, 2)
        K = self.W_K(input_K).view(batch, -1, n_heads, d_k).transpose(1, 2)
        V = self.W_V(input_V).view(batch, -1, n_heads, d_v).transpose(1, 2)
        attn_mask = attn_mask.unsqueeze(1).repeat(1, n_heads, 1, 1)
        attn = (Q @ K.transpose(-1, -2) / d_k**0.5).masked_fill(attn_mask, -1e9).softmax(-1)
        output = self.fc((attn @ V).transpose(1, 2).reshape(batch, -1, n_heads * d_v))
        return nn.LayerNorm(d_model)(output + input_Q), attn

class FeedForward(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Sequential(nn.Linear(d_model, d_ff, bias=False), nn.ReLU(), nn.Linear(d_ff, d_model, bias=False))

    def forward(self, inputs):
        return nn.LayerNorm(d_model)(self.fc(inputs) + inputs)

class EncoderLayer(nn.Module):  # Its norms are made in each call
    def __init__(self):
        super().__init__()
        self.attention, self.ffn = MultiHeadAttention(), FeedForward()

    def forward(self, enc_inputs, enc_self_attn_mask):
        outputs, attn = self.attention(enc_inputs, enc_inputs, enc_inputs, enc_self_attn_mask)
        return self.ffn(outputs), attn
""",
        (("self.fc(inputs) + inputs", "self.fc(inputs)"),),
    ),
    Program(
        "Decoder",
        "decoder_stack",
        """
import torch
from torch import nn

class EncoderBlock(nn.Module):
    def __init__(self, width, heads, factor):
        super().__init__()
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.feed_forward = nn.Sequential(nn.Linear(width, factor * width), nn.ReLU(), nn.Linear(factor * width, width))

    def forward(self, values, keys, queries, mask):
        x = self.norm1(self.attention(queries, keys, values, key_padding_mask=~mask[:, 0, 0])[0] + queries)
        return self.norm2(self.feed_forward(x) + x)

class DecoderBlock(nn.Module):
    def __init__(self, width, heads, factor):
        super().__init__()
        self.attention, self.norm = nn.MultiheadAttention(width, heads, batch_first=True), nn.LayerNorm(width)
        self.encoder_block = EncoderBlock(width, heads, factor)

    def forward(self, x, values, keys, src_mask, trg_mask):
        queries = self.norm(self.attention(x, x, x, attn_mask=~trg_mask[0, 0])[0] + x)
        return self.encoder_block(values, keys, queries, src_mask)

class Decoder(nn.Module):  # Its layers hold a block of the encoder
    def __init__(self, trg_vocab_size, max_length, embed_size, num_heads, num_layers, forward_expansion, device):
        super().__init__()
        self.device = device
        self.words, self.positions = nn.Embedding(trg_vocab_size, embed_size), nn.Embedding(max_length, embed_size)
        self.layers = nn.ModuleList([DecoderBlock(embed_size, num_heads, forward_expansion) for _ in range(num_layers)])
        self.fc_out = nn.Linear(embed_size, trg_vocab_size)

    def forward(self, x, enc_out, src_mask, trg_mask):
        positions = torch.arange(0, x.shape[1]).expand(x.shape).to(self.device)
        out = self.words(x) + self.positions(positions)
        for layer in self.layers:
            out = layer(out, enc_out, enc_out, src_mask, trg_mask)
        return self.fc_out(out)
""",
        (("self.words(x) + self.positions(positions)", "self.words(x)"),),
    ),
    Program(
        "TransformerBlock",
        "encoder_layer",
        """
import numpy as np

def layer_norm(x, gamma, beta, eps=1e-5):
    return gamma * (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + eps) + beta

class Attention:
    def __init__(self, d_model, num_heads, use_rope=False):
        self.num_heads, self.d_k, self.use_rope = num_heads, d_model // num_heads, use_rope
        self.W_q, self.W_k, self.W_v, self.W_o = (np.random.normal(0, 0.02, (d_model, d_model)) for _ in range(4))

    def forward(self, x, mask=None, positions=None):
        heads = (*x.shape[:2], self.num_heads, self.d_k)
        q, k, v = ((x @ w).reshape(heads).transpose(0, 2, 1, 3) for w in (self.W_q, self.W_k, self.W_v))
        scores = q @ k.transpose(0, 1, 3, 2) / np.sqrt(self.d_k)
        scores = scores if mask is None else np.where(mask[np.newaxis, np.newaxis, :, :], -1e9, scores)  # of all sequences
        e = np.exp(scores - scores.max(-1, keepdims=True))
        return (e / e.sum(-1, keepdims=True) @ v).transpose(0, 2, 1, 3).reshape(x.shape) @ self.W_o

class FeedForward:
    def __init__(self, d_model, d_ff):
        self.W1, self.b1 = np.random.normal(0, 0.02, (d_model, d_ff)), np.zeros(d_ff)
        self.W2, self.b2 = np.random.normal(0, 0.02, (d_ff, d_model)), np.zeros(d_model)

    def forward(self, x):
        return np.maximum(x @ self.W1 + self.b1, 0) @ self.W2 + self.b2

class TransformerBlock:
    def __init__(self, d_model, num_heads, d_ff, use_rope=False):
        self.attention, self.ffn = Attention(d_model, num_heads, use_rope), FeedForward(d_model, d_ff)
        self.ln1_gamma, self.ln1_beta = np.ones(d_model), np.zeros(d_model)
        self.ln2_gamma, self.ln2_beta = np.ones(d_model), np.zeros(d_model)

    def forward(self, x, mask=None, positions=None):
        x = x + self.attention.forward(layer_norm(x, self.ln1_gamma, self.ln1_beta), mask, positions)
        return x + self.ffn.forward(layer_norm(x, self.ln2_gamma, self.ln2_beta))
""",
        (("self.ln2_gamma, self.ln2_beta))", "self.ln1_gamma, self.ln1_beta))"),),
    ),
    Program(
        "BertLayer",
        "encoder_layer",
        """
import torch
from torch import nn

class SelfAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.num_heads, self.width = config.num_attention_heads, config.hidden_size
        self.query, self.key, self.value = (nn.Linear(self.width, self.width) for _ in range(3))

    def forward(self, x, attention_mask):
        q, k, v = (f(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for f in (self.query, self.key, self.value))
        scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
        weights = scores.masked_fill(attention_mask < -1000, -1e9).softmax(-1)  # 0 to attend, a large negative number to mask
        return (weights @ v).transpose(1, 2).flatten(2)

class BertLayer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.attention, self.dense = SelfAttention(config), nn.Linear(config.hidden_size, config.hidden_size)
        self.up = nn.Linear(config.hidden_size, config.intermediate_size)
        self.down = nn.Linear(config.intermediate_size, config.hidden_size)
        self.norm_1, self.norm_2 = nn.LayerNorm(config.hidden_size), nn.LayerNorm(config.hidden_size)

    def forward(self, hidden_states, attention_mask):
        x = self.norm_1(hidden_states + self.dense(self.attention(hidden_states, attention_mask)))
        return self.norm_2(x + self.down(nn.functional.gelu(self.up(x))))
""",
        (
            ("attention_mask < -1000", "attention_mask > 1000"),
            ("self.norm_2(x +", "self.norm_2("),
            (" / q.shape[-1] ** 0.5", ""),
        ),
    ),
    Program(
        "TransformerBlock",
        "transformer_block",
        """
import torch
from torch import nn

class LayerNorm(nn.Module):
    def __init__(self, emb_dim):
        super().__init__()
        self.scale, self.shift = nn.Parameter(torch.ones(emb_dim)), nn.Parameter(torch.zeros(emb_dim))
    def forward(self, x):
        return self.scale * (x - x.mean(-1, keepdim=True)) / torch.sqrt(x.var(-1, keepdim=True, unbiased=False) + 1e-5) + self.shift

class FeedForward(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(cfg["emb_dim"], 4 * cfg["emb_dim"]), nn.GELU(), nn.Linear(4 * cfg["emb_dim"], cfg["emb_dim"]))
    def forward(self, x):
        return self.layers(x)

class MultiHeadAttention(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.heads, self.qkv = cfg["n_heads"], nn.Linear(cfg["emb_dim"], 3 * cfg["emb_dim"])
        self.out = nn.Linear(cfg["emb_dim"], cfg["emb_dim"])
    def forward(self, x):
        q, k, v = (each.unflatten(-1, (self.heads, -1)).transpose(1, 2) for each in self.qkv(x).chunk(3, -1))
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(mixed.transpose(1, 2).flatten(2))

class Experts(FeedForward):
    pass

class TransformerBlock(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.att = MultiHeadAttention(cfg)
        self.ff = Experts(cfg) if cfg["num_experts"] > 0 else FeedForward(cfg)
        self.norm1, self.norm2 = LayerNorm(cfg["emb_dim"]), LayerNorm(cfg["emb_dim"])
        self.shortcut = nn.Dropout(0.1)
    def forward(self, x):
        x = x + self.shortcut(self.att(self.norm1(x)))
        return x + self.shortcut(self.ff(self.norm2(x)))
""",
        (("x + self.shortcut(self.ff", "self.shortcut(self.ff"), ("self.att(self.norm1(x))", "self.att(x)")),
    ),
    Program(
        "DecoderBlock",
        "decoder_layer",
        """
import torch
from torch import nn

class Attention(nn.Module):
    def __init__(self, width, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.q, self.k, self.v, self.o = (nn.Linear(width, width) for _ in range(4))
    def forward(self, idx, mask, enc_idx=None):
        other = idx if enc_idx is None else enc_idx
        q, k, v = (each.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for each in (self.q(idx), self.k(other), self.v(other)))
        scores = (q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5).masked_fill(mask == 0, float("-inf"))
        return self.o((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))

class DecoderBlock(nn.Module):
    def __init__(self, width, num_heads):
        super().__init__()
        self.masked_attention, self.attention = Attention(width, num_heads), Attention(width, num_heads)
        self.feed_forward = nn.Sequential(nn.Linear(width, 4 * width), nn.ReLU(), nn.Linear(4 * width, width))
        self.norm = nn.ModuleList([nn.LayerNorm(width) for _ in range(3)])
    def forward(self, idx, mask, enc_idx, enc_mask):
        x = self.norm[0](idx + self.masked_attention(idx, mask))
        x = self.norm[1](x + self.attention(x, enc_mask, enc_idx))
        return self.norm[2](x + self.feed_forward(x))
""",
        (("self.attention(x, enc", "self.attention(idx, enc"), ("enc_mask, enc_idx)", "enc_mask)"), ("(idx + self.masked", "(self.masked")),
    ),
    Program(
        "Block",
        "transformer_block",
        """
import torch
from torch import nn

class Conv1D(nn.Module):
    def __init__(self, nx, nf):
        super().__init__()
        self.w, self.b = nn.Parameter(torch.randn(1, nx, nf)), nn.Parameter(torch.zeros(nf))
    def forward(self, x):
        return x @ self.w[0] + self.b

class Attention(nn.Module):
    def __init__(self, width, num_heads):
        super().__init__()
        self.num_heads, self.c_attn, self.c_proj = num_heads, Conv1D(width, 3 * width), Conv1D(width, width)
    def forward(self, x):
        q, k, v = (each.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for each in self.c_attn(x).chunk(3, dim=-1))
        seen = torch.ones(x.shape[1], x.shape[1]).tril()
        scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(seen == 0, float("-inf"))
        return self.c_proj((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))

class Block(nn.Module):
    def __init__(self, width, num_heads):
        super().__init__()
        self.ln_1, self.ln_2, self.attn = nn.LayerNorm(width), nn.LayerNorm(width), Attention(width, num_heads)
        self.c_fc, self.c_proj, self.act = Conv1D(width, 4 * width), Conv1D(4 * width, width), nn.GELU(approximate="tanh")
    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.c_proj(self.act(self.c_fc(self.ln_2(x))))
""",
        (("self.ln_2(x)", "self.ln_1(x)"), ("self.w[0] + self.b", "self.w[0]"), ("seen == 0", "seen == 1")),
    ),
    Program(
        "EncoderLayer",
        "encoder_layer",
        """
import torch
from torch import nn

class Mlp(nn.Module):
    def __init__(self, width, inner):
        super().__init__()
        self.up = nn.Linear(width, inner, bias=False)
        self.down = nn.Linear(inner, width, bias=False)

    def forward(self, x):
        return self.down(torch.relu(self.up(x)))

class Norm(nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(hidden_size))
        self.eps = eps

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps))

class SelfAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.d_model, self.n_heads, self.d_k = d_model, n_heads, d_model // n_heads
        self.w_q = nn.Linear(d_model, d_model, bias=False)
        self.w_k = nn.Linear(d_model, d_model, bias=False)
        self.w_v = nn.Linear(d_model, d_model, bias=False)
        self.w_o = nn.Linear(d_model, d_model, bias=False)

    def split(self, x):
        return x.view(x.shape[0], x.shape[1], self.n_heads, self.d_k).transpose(1, 2)

    def forward(self, x, position_bias):
        q, k, v = self.split(self.w_q(x)), self.split(self.w_k(x)), self.split(self.w_v(x))
        scores = q @ k.transpose(-1, -2) + position_bias
        out = scores.softmax(-1) @ v
        return self.w_o(out.transpose(1, 2).reshape(x.shape[0], x.shape[1], self.d_model))

class EncoderLayer(nn.Module):
    def __init__(self, d_model, d_ff, n_heads):
        super().__init__()
        self.self_attention = SelfAttention(d_model, n_heads)
        self.norm1 = Norm(d_model)
        self.mlp = Mlp(d_model, d_ff)
        self.norm2 = Norm(d_model)

    def forward(self, x, position_bias):
        x = x + self.self_attention(self.norm1(x), position_bias=position_bias)
        return x + self.mlp(self.norm2(x))
""",
        (("self.mlp(self.norm2(x))", "self.mlp(self.norm1(x))"), ("return x + self.mlp", "return self.mlp")),
    ),
    Program(
        "Layer.MultiHeadedSelfAttention",
        "stacked_heads_attention",
        NESTED,
        (("triu(1)", "tril(-1)"),),
    ),
    Program(
        "Layer.MultiHeadedSelfAttention.Head",
        "causal_self_attention",
        NESTED,
        (("self.width**0.5", "self.width"),),
    ),
    Program(
        "Layer.Wide",
        "feed_forward",
        NESTED,
        (("self.down(self.up(x).relu())", "self.down(self.up(x)).relu()"),),
    ),
    Program(
        "TransformerLayer",
        "transformer_block",
        """
import torch
import torch.nn.functional as F
from torch import nn

class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.rates = 10000.0 ** (-torch.arange(0, self.size, 2) / self.size)

    def turn(self, x, positions):
        angles = positions[:, None] * self.rates
        first, second = x.chunk(2, dim=-1)
        cos, sin = angles.cos(), angles.sin()
        return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)

    def forward(self, positions, hidden_states):
        batch, length, width = hidden_states.shape
        q, k, v = (each.view(batch, length, self.heads, self.size).transpose(1, 2) for each in self.qkv(hidden_states).chunk(3, dim=-1))
        y = F.scaled_dot_product_attention(self.turn(q, positions), self.turn(k, positions), v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(batch, length, width))

class MLP(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        return self.down(F.gelu(self.up(x)))

class TransformerLayer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.self_attn, self.mlp = Attention(width, heads), MLP(width)
        self.input_layernorm, self.post_attention_layernorm = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, positions, hidden_states):
        hidden_states = hidden_states + self.self_attn(positions, self.input_layernorm(hidden_states))
        return hidden_states + self.mlp(self.post_attention_layernorm(hidden_states))
""",
        (("hidden_states + self.self_attn", "self.self_attn"), ("self.post_attention_layernorm(hidden_states)", "hidden_states")),
    ),
)
