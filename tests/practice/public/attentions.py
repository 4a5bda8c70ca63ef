"""Attentions and layers in conventions of public code, with mistakes as replacements in their text."""

from __future__ import annotations

from tests.practice.public.program import Program

VARIABLES = """
merges = {(116, 104): 256, (256, 101): 257}
vocab = {byte: bytes([byte]) for byte in range(256)} | {256: b"th", 257: b"the"}

def merge(ids, pair, new_id):
    out, place = [], 0
    while place < len(ids):
        is_pair = tuple(ids[place : place + 2]) == pair
        out.append(new_id if is_pair else ids[place])
        place += 2 if is_pair else 1
    return out

def encode(text):
    ids = list(text.encode("utf-8"))
    while len(ids) > 1:
        pair = min(zip(ids, ids[1:]), key=lambda each: merges.get(each, float("inf")))
        if pair not in merges:
            break
        ids = merge(ids, pair, merges[pair])
    return ids

def decode(ids):
    return b"".join(vocab[each] for each in ids).decode("utf-8", errors="replace")
"""

BRANCHES = """
import numpy as np

def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)

class DotProductAttention:
    def forward(self, Q, K, V, mask=None):
        size = Q.shape[-1]
        if len(Q.shape) == 4:
            scores = Q @ K.transpose(0, 1, 3, 2) / np.sqrt(size)
        else:
            scores = Q @ K.transpose(0, 2, 1) / np.sqrt(size)
        if mask is not None:
            scores = np.where(mask == 0, -1e9, scores)
        weights = softmax(scores)
        return weights @ V, weights
"""

ASSERTION = 'assert mask.device == x.device, "the mask is on another device"'
ASSERTED_MASK = """
import torch
from torch import nn

class MultiHeadAttention(nn.Module):
    def __init__(self, width, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.q, self.k, self.v, self.o = (nn.Linear(width, width) for _ in range(4))
    def split(self, x):
        return x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
    def forward(self, x, mask, enc_data=None):
        if mask is not None:
            assert mask.device == x.device, "the mask is on another device"
        enc_data = x if enc_data is None else enc_data
        q, k, v = self.split(self.q(x)), self.split(self.k(enc_data)), self.split(self.v(enc_data))
        scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
        scores = scores.masked_fill(mask == 0, float("-inf"))
        return self.o((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))
"""

CAUSAL_OVER_CONTEXT = """
import torch
from torch import nn

class CausalCrossAttention(nn.Module):
    def __init__(self, width, num_heads, max_len=128):
        super().__init__()
        self.num_heads = num_heads
        self.query, self.key, self.value, self.proj = (nn.Linear(width, width) for _ in range(4))
        self.register_buffer("mask", torch.tril(torch.ones(max_len, max_len)))

    def split(self, x):
        return x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)

    def forward(self, context, x):
        q, k, v = self.split(self.query(x)), self.split(self.key(context)), self.split(self.value(context))
        scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
        scores = scores.masked_fill(self.mask[: q.shape[2], : k.shape[2]] == 0, -1e9)
        return self.proj((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))
"""

STACKED = """
import torch
from torch import nn

class CausalSelfAttention(nn.Module):
    def __init__(self, width, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.c_attn, self.c_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def split(self, x):
        return x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)

    def forward(self, x, past=None):
        q, k, v = map(self.split, self.c_attn(x).chunk(3, dim=-1))
        if past is not None:
            old_k, old_v = past.unbind(1)
            k, v = torch.cat([old_k, k], dim=-2), torch.cat([old_v, v], dim=-2)
        nd, ns = q.shape[-2], k.shape[-2]
        seen = torch.ones(nd, ns, dtype=torch.bool).tril(ns - nd)
        scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~seen, float("-inf"))
        return self.c_proj((scores.softmax(-1) @ v).transpose(1, 2).flatten(2)), torch.stack((k, v), dim=1)

class Block(nn.Module):
    def __init__(self, width, num_heads):
        super().__init__()
        self.ln_1, self.ln_2, self.attn = nn.LayerNorm(width), nn.LayerNorm(width), CausalSelfAttention(width, num_heads)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x, past=None):
        mixed, present = self.attn(self.ln_1(x), past)
        x = x + mixed
        return x + self.mlp(self.ln_2(x)), present
"""

GIVEN_MASK = """
import math
import torch
from torch import nn

class CausalSelfAttention(nn.Module):
    def __init__(self, width, num_heads):
        super().__init__()
        self.num_heads, self.qkv, self.out = num_heads, nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x, mask=None):
        b, t, c = x.shape
        q, k, v = (each.view(b, t, self.num_heads, -1).transpose(1, 2) for each in self.qkv(x).split(c, dim=2))
        scores = q @ k.transpose(-2, -1) / math.sqrt(k.shape[-1])
        if mask is not None:
            scores = scores + mask
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(b, t, c))

class Model(nn.Module):
    def __init__(self, width, num_heads):
        super().__init__()
        self.attention = CausalSelfAttention(width, num_heads)

    def causal_mask(self, length):
        return torch.full((length, length), float("-inf")).triu(1)

    def forward(self, x):
        return self.attention(x, self.causal_mask(x.shape[1]))
"""

NAMED_TREES = """
from typing import NamedTuple
import numpy as np

class MlpParams(NamedTuple):
    w_in: np.ndarray
    b_in: np.ndarray
    w_out: np.ndarray
    b_out: np.ndarray

def init_model(cfg, rng):
    size, inner = cfg.model_dim, cfg.ff_dim
    layers = []
    for _ in range(cfg.n_layers):
        attention = {name: rng.normal(size=(size, size)) for name in ("W_q", "W_k", "W_v", "W_o")}
        first, second = rng.normal(size=(size, inner)), rng.normal(size=(inner, size))
        layers.append({**attention, "mlp": MlpParams(first, np.zeros(inner), second, np.zeros(size))})
    return {"wte": rng.normal(size=(cfg.vocab_size, size)), "layers": layers}

def multi_head_attention(cfg, block_params, x, mask):
    num_rows, size = x.shape
    def heads(weight):
        return (x @ weight).reshape(num_rows, cfg.n_heads, cfg.head_dim).transpose(1, 0, 2)
    q, k, v = heads(block_params["W_q"]), heads(block_params["W_k"]), heads(block_params["W_v"])
    scores = np.where(mask, q @ k.transpose(0, 2, 1) / np.sqrt(cfg.head_dim), -1e9)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    return (weights @ v).transpose(1, 0, 2).reshape(num_rows, size) @ block_params["W_o"]

def mlp(mlp_params, x):
    return np.maximum(x @ mlp_params.w_in + mlp_params.b_in, 0) @ mlp_params.w_out + mlp_params.b_out
"""

TREES = """
import numpy as np

def make_params(rng, dim, inner):
    def matrix(*shape):
        return rng.normal(0, 0.02, shape)
    return {
        "attention": {name: matrix(dim, dim) for name in ("wq", "wk", "wv", "wo")},
        "mlp": {"w_in": matrix(dim, inner), "b_in": np.zeros(inner), "w_out": matrix(inner, dim), "b_out": np.zeros(dim)},
        "first": {"gain": np.ones(dim), "shift": np.zeros(dim)},
        "second": {"gain": np.ones(dim), "shift": np.zeros(dim)},
    }

def normed(x, gain, shift):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * gain + shift

def multi_head_attention(params, x, n_heads):
    batch, length, width = x.shape
    heads = (batch, length, n_heads, width // n_heads)
    q, k, v = ((x @ params[name]).reshape(heads).transpose(0, 2, 1, 3) for name in ("wq", "wk", "wv"))
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(width // n_heads)
    scores = np.where(np.tri(length, dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    return (weights @ v).transpose(0, 2, 1, 3).reshape(x.shape) @ params["wo"]

def mlp(params, x):
    return np.maximum(x @ params["w_in"] + params["b_in"], 0) @ params["w_out"] + params["b_out"]

def transformer_block(params, x, n_heads):
    x = x + multi_head_attention(params["attention"], normed(x, **params["first"]), n_heads)
    return x + mlp(params["mlp"], normed(x, **params["second"]))
"""

PROGRAMS = (
    Program(
        "MultiHeadAttention",
        "stacked_heads_attention",
        """
import torch
import torch.nn as nn

class SelfAttention(nn.Module):
    def __init__(self, dims, d_model):
        super().__init__()
        self.Wq, self.Wk, self.Wv = nn.Linear(d_model, dims), nn.Linear(d_model, dims), nn.Linear(d_model, dims)
        self.dims = dims

    def forward(self, x):
        weights = torch.softmax(self.Wq(x) @ self.Wk(x).transpose(1, 2) * self.dims**-0.5, dim=-1)
        return weights @ self.Wv(x)

class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.heads = nn.ModuleList([SelfAttention(d_model // num_heads, d_model) for _ in range(num_heads)])

    def forward(self, x):
        for place, head in enumerate(self.heads):
            if not place:
                found = head(x)
            else:
                found = torch.cat((found, head(x)), 2)
        return found
""",
        (
            ("torch.cat((found, head(x)), 2)", "torch.cat((found, self.heads[0](x)), 2)"),
            ("self.dims**-0.5, dim=-1", "self.dims**-0.5, dim=1"),
            ("@ self.Wv(x)", "@ self.Wk(x)"),
        ),
    ),
    Program(
        "CausalSelfAttention",
        "self_attention",
        GIVEN_MASK,
        (("scores = scores + mask", "pass"),),
    ),
    Program(
        "DotProductAttention",
        "scaled_dot_product_attention",
        BRANCHES,
        (
            ("K.transpose(0, 1, 3, 2) / np.sqrt(size)", "K.transpose(0, 1, 3, 2)"),
            ("K.transpose(0, 2, 1) / np.sqrt(size)", "K.transpose(0, 2, 1)"),
        ),
    ),
    Program("encode", "bpe_encode", VARIABLES, (("pair = min(", "pair = max("), ('list(text.encode("utf-8"))', "list(map(ord, text))"))),
    Program("decode", "bpe_decode", VARIABLES, (('errors="replace"', 'errors="ignore"'), ("for each in ids)", "for each in ids[1:])"))),
    Program(
        "multi_head_attention",
        "multi_head_attention",
        NAMED_TREES,
        (("np.sqrt(cfg.head_dim)", "np.sqrt(cfg.model_dim)"), (".transpose(1, 0, 2).reshape(num_rows, size)", ".reshape(num_rows, size)")),
    ),
    Program(
        "mlp",
        "feed_forward",
        NAMED_TREES,
        (("@ mlp_params.w_out +", "@ mlp_params.w_out * 2 +"), ("x @ mlp_params.w_in +", "x @ mlp_params.w_in -")),
    ),
    Program(
        "multi_head_attention",
        "multi_head_attention",
        TREES,
        (
            ("np.sqrt(width // n_heads)", "np.sqrt(width)"),
            (".transpose(0, 2, 1, 3).reshape(x.shape)", ".reshape(x.shape)"),
        ),
    ),
    Program(
        "mlp", "feed_forward", TREES, (('@ params["w_out"]', '@ params["w_out"] * 2'), ('x @ params["w_in"] +', 'x @ params["w_in"] -'))
    ),
    Program(
        "transformer_block",
        "transformer_block",
        TREES,
        (("return x + mlp", "return mlp"), ('normed(x, **params["second"])', "x")),
    ),
    Program(
        "EncoderLayer",
        "encoder_layer",
        """
import copy
from torch import nn

class Residual(nn.Module):
    def __init__(self, width, rate):
        super().__init__()
        self.norm, self.dropout = nn.LayerNorm(width), nn.Dropout(rate)
    def forward(self, x, inner):
        return x + self.dropout(inner(self.norm(x)))

class EncoderLayer(nn.Module):
    def __init__(self, width, rate, multi_headed_attention, pointwise_network):
        super().__init__()
        residual = Residual(width, rate)
        self.residuals = nn.ModuleList([copy.deepcopy(residual) for _ in range(2)])
        self.multi_headed_attention = multi_headed_attention
        self.pointwise_network = pointwise_network
    def forward(self, x, src_mask):
        x = self.residuals[0](x, lambda y: self.multi_headed_attention(query=y, key=y, value=y, mask=src_mask))
        return self.residuals[1](x, self.pointwise_network)
""",
        (("return x + self.dropout", "return self.dropout"), ("mask=src_mask", "mask=None")),
    ),
    Program(
        "BertSelfAttention",
        "self_attention",
        """
import torch
from torch import nn

class BertSelfAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.heads, self.width = config.num_attention_heads, config.hidden_size // config.num_attention_heads
        self.query = nn.Linear(config.hidden_size, self.heads * self.width)
        self.key = nn.Linear(config.hidden_size, self.heads * self.width)
        self.value = nn.Linear(config.hidden_size, self.heads * self.width)
        self.dropout = nn.Dropout(config.attention_probs_dropout_prob)
    def apart(self, x):
        return x.view(*x.shape[:-1], self.heads, self.width).permute(0, 2, 1, 3)
    def forward(self, hidden_states, attention_mask):
        query, key, value = (self.apart(layer(hidden_states)) for layer in (self.query, self.key, self.value))
        scores = query @ key.transpose(-1, -2) / self.width**0.5 + attention_mask
        return (self.dropout(scores.softmax(-1)) @ value).permute(0, 2, 1, 3).flatten(2)
""",
        (("/ self.width**0.5", "* self.width**0.5"), (".permute(0, 2, 1, 3).flatten(2)", ".reshape(hidden_states.shape)")),
    ),
    Program(
        "TransformerBlock",
        "encoder_layer",
        """
from torch import nn

class TransformerBlock(nn.Module):
    def __init__(self, embed_dim, num_heads, ff_dim, rate=0.1):
        super().__init__()
        self.att = nn.MultiheadAttention(embed_dim, num_heads, dropout=rate, batch_first=True)
        self.ffn = nn.Sequential(nn.Linear(embed_dim, ff_dim), nn.ReLU(), nn.Linear(ff_dim, embed_dim))
        self.norm1, self.norm2 = nn.LayerNorm(embed_dim), nn.LayerNorm(embed_dim)
        self.dropout = nn.Dropout(rate)
    def forward(self, inputs):
        x = self.norm1(inputs + self.dropout(self.att(inputs, inputs, inputs)[0]))
        return self.norm2(x + self.dropout(self.ffn(x)))

class DecoderLayer(nn.Module):
    pass
""",
        (("self.norm1(inputs + ", "self.norm1("), ("self.norm2(x + ", "self.norm2(inputs + ")),
    ),
    Program(
        "create_window_mask",
        "sliding_window_mask",
        """
import torch

def create_window_mask(seq_len, window_size):
    place = torch.arange(seq_len)
    distance = place[:, None] - place[None, :]
    return (distance >= 0) & (distance < window_size)
""",
        (
            ("distance < window_size", "distance <= window_size"),
            ("distance >= 0", "distance > 0"),
            ("(distance >= 0) & ", ""),
            ("place[:, None] - place[None, :]", "place[None, :] - place[:, None]"),
            ("(distance >= 0) &", "(distance >= 0) |"),
            ("distance < window_size", "distance < seq_len"),
        ),
    ),
    Program(
        "MultiheadAttention",
        "multi_head_attention",
        """
import math
import torch
from torch import nn

class MultiheadAttention(nn.Module):
    def __init__(self, width, args):
        super().__init__()
        self.heads, self.size = args["n_head"], args["d_k"]
        self.q, self.k, self.v = (nn.Linear(width, self.size * self.heads) for _ in range(3))
        self.out = nn.Linear(self.size * self.heads, width)
    def split(self, x):
        return x.view(x.size(0), x.size(1), self.heads, self.size).transpose(1, 2)
    def forward(self, query, key, value, q_padding_mask=None, v_padding_mask=None, masked=False):
        q, k, v = self.split(self.q(query)), self.split(self.k(key)), self.split(self.v(value))
        scores = q @ k.transpose(2, 3) / math.sqrt(self.size)
        if masked:
            scores = scores.masked_fill(torch.ones_like(scores).triu(1).bool(), float("-inf"))
        if v_padding_mask is not None:
            scores = scores.masked_fill(~v_padding_mask[:, None, None], float("-inf"))
        y = (scores.softmax(-1) @ v).transpose(1, 2)
        return self.out(y.reshape(query.size(0), query.size(1), -1))

class Layer(nn.Module):
    def __init__(self, width, settings):
        super().__init__()
        self.attention = MultiheadAttention(width, settings["self_attention"])
    def forward(self, x, mask=None):
        return self.attention(x, x, x, mask, mask)
""",
        (("triu(1)", "triu(0)"), (" / math.sqrt(self.size)", " / self.size")),
    ),
    Program(
        "DotProductAttention",
        "scaled_dot_product_attention",
        """
import math
import torch
from torch import nn

class DotProductAttention(nn.Module):
    def forward(self, query, key, value):
        return torch.softmax(query @ key.transpose(-2, -1), dim=-1) @ value

class ScaledDotProductAttention(nn.Module):
    def forward(self, query, key, value):
        return torch.softmax(query @ key.transpose(-2, -1) / math.sqrt(query.size(-1)), dim=-1) @ value
""",
        (("torch.softmax(query @ key.transpose(-2, -1), dim=-1)", "torch.softmax(query @ key.transpose(-2, -1), dim=-2)"),),
    ),
    Program(
        "SelfAttentionHead",
        "causal_self_attention",
        """
import torch
from torch import nn

class SelfAttentionHead(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.key = nn.Linear(config.n_embd, config.head_size, bias=False)
        self.query = nn.Linear(config.n_embd, config.head_size, bias=False)
        self.value = nn.Linear(config.n_embd, config.head_size, bias=False)
        self.register_buffer("seen", torch.tril(torch.ones(config.n_positions, config.n_positions)))
    def forward(self, x):
        B, T, C = x.shape
        scores = self.query(x) @ self.key(x).transpose(1, 2) / self.config.head_size**0.5
        scores = scores.masked_fill(self.seen[:T, :T] == 0, float("-inf"))
        return torch.softmax(scores, dim=-1) @ self.value(x)
""",
        (("self.config.head_size**0.5", "self.config.n_embd"), ("dim=-1) @", "dim=-2) @")),
    ),
    Program(
        "MultiHeadSelfAttention",
        "multi_head_attention",
        """
import torch
from torch import nn

n_emb = 128
head_size = 128
n_heads = 4

class MultiHeadSelfAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(n_emb, head_size, bias=False) for _ in range(3))
        self.out = nn.Linear(head_size, n_emb)
    def forward(self, x):
        B, T, _ = x.shape
        q, k, v = (each(x).view(B, T, n_heads, head_size // n_heads).transpose(1, 2) for each in (self.q, self.k, self.v))
        scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(B, T, head_size))
""",
        (("q.shape[-1] ** 0.5", "n_emb**0.5"), ("@ v).transpose(1, 2).reshape", "@ v).reshape")),
    ),
    Program(
        "Multi_Head_Attention",
        "multi_head_attention",
        """
import torch
from torch import nn

def attend(Q, K, V, masking_minus_inf, masked):
    scores = torch.matmul(Q, torch.transpose(K, -2, -1)) / K.shape[-1] ** 0.5
    if masked:
        scores = scores + masking_minus_inf * torch.triu(torch.ones((1, scores.shape[1], scores.shape[2])), diagonal=1)
    return torch.matmul(nn.functional.softmax(scores, dim=-1), V)

class Multi_Head_Attention(nn.Module):
    def __init__(self, d_model, h, d_k, d_v, masking_minus_inf=None, masked=False):
        super().__init__()
        self.h, self.masked, self.masking_minus_inf = h, masked, masking_minus_inf
        for i in range(self.h):
            setattr(self, "Q_h" + str(i), nn.Linear(d_model, d_k, bias=False))
            setattr(self, "K_h" + str(i), nn.Linear(d_model, d_k, bias=False))
            setattr(self, "V_h" + str(i), nn.Linear(d_model, d_v, bias=False))
        self.after = nn.Linear(d_v * h, d_model, bias=False)
    def forward(self, Q, K, V):
        found = []
        for i in range(self.h):
            q, k, v = (getattr(self, f"{name}_h{i}")(x) for name, x in zip("QKV", (Q, K, V)))
            found.append(attend(q, k, v, self.masking_minus_inf, self.masked))
        return self.after(torch.cat(found, dim=-1))
""",
        (('zip("QKV", (Q, K, V))', 'zip("QKV", (Q, K, K))'), ("torch.ones((1, scores", "torch.zeros((1, scores")),
    ),
    Program(
        "scaled_dot_product_attention",
        "scaled_dot_product_attention",
        """
import torch
from torch import nn

def scaled_dot_product_attention(Q, K, V, device, neg_inf, masked):
    scores = torch.matmul(Q, torch.transpose(K, -2, -1)) / K.shape[-1] ** 0.5
    if masked:
        scores = scores + neg_inf * torch.triu(torch.ones((1, scores.shape[1], scores.shape[2])).to(device), diagonal=1)
    return torch.matmul(nn.functional.softmax(scores, dim=-1), V)
""",
        (("diagonal=1", "diagonal=0"), ("scores + neg_inf", "scores - neg_inf")),
    ),
    Program(
        "AttentionHead",
        "causal_self_attention",
        """
import torch
from torch import nn

class AttentionHead(nn.Module):
    def __init__(self, dim_embedding, dim_head, dropout):
        super().__init__()
        self.dim_head = dim_head
        self.key = nn.Linear(dim_embedding, dim_head, bias=False)
        self.query = nn.Linear(dim_embedding, dim_head, bias=False)
        self.value = nn.Linear(dim_embedding, dim_head, bias=False)
        self.dropout = nn.Dropout(dropout)
    def forward(self, x):
        scores = self.query(x) @ self.key(x).transpose(-2, -1) / self.dim_head**0.5
        scores = scores.masked_fill(torch.tril(torch.ones_like(scores)) == 0, float("-inf"))
        return self.dropout(torch.softmax(scores, dim=-1)) @ self.value(x)
""",
        (("torch.tril(torch.ones_like(scores))", "torch.tril(scores)"),),
    ),
    Program(
        "MultiHeadAttention",
        "self_attention",
        """
import torch
from torch import nn

class MultiHeadAttention(nn.Module):
    def __init__(self, k, heads):
        super().__init__()
        self.heads = heads
        self.to_queries = nn.Linear(k, k * heads, bias=False)
        self.to_keys = nn.Linear(k, k * heads, bias=False)
        self.to_values = nn.Linear(k, k * heads, bias=False)
        self.unify = nn.Linear(k * heads, k)

    def forward(self, x):
        b, t, k = x.shape
        q, keys, v = (part(x).view(b, t, self.heads, k).transpose(1, 2) for part in (self.to_queries, self.to_keys, self.to_values))
        weights = (q @ keys.transpose(-2, -1) / k**0.5).softmax(-1)
        return self.unify((weights @ v).transpose(1, 2).reshape(b, t, k * self.heads))
""",
        (("k**0.5", "(k / self.heads) ** 0.5"), ("(weights @ v).transpose(1, 2)", "(weights @ v)")),
    ),
    Program(
        "scaled_dot_product_attention",
        "scaled_dot_product_attention",
        """
import torch

def scaled_dot_product_attention(q, k, v, causal=False, attn_mask=None):
    scores = q @ k.transpose(-1, -2)
    if causal:
        hidden = torch.ones(k.shape[-2], k.shape[-2]).triu(1)[-q.shape[-2] :].bool()
        scores = scores.masked_fill(hidden, float("-inf"))
    if attn_mask is not None:
        scores = scores.masked_fill(attn_mask.unsqueeze(-2).logical_not(), float("-inf"))
    return torch.softmax(scores / k.shape[-1] ** 0.5, dim=-1) @ v
""",
        (("k.shape[-1] ** 0.5", "k.shape[-2] ** 0.5"), ("triu(1)", "triu(2)")),
    ),
    Program(
        "self_attention",
        "causal_self_attention",
        """
import math
import torch

N_HEADS = 4

def self_attention(x, Wq, Wk, Wv, Wo):
    B, T, D = x.shape
    q, k, v = ((x @ w).view(B, T, N_HEADS, D // N_HEADS).transpose(1, 2) for w in (Wq, Wk, Wv))
    scores = q @ k.transpose(-2, -1) / math.sqrt(D // N_HEADS)
    scores = scores.masked_fill(torch.ones(T, T).triu(1).bool(), float("-inf"))
    return (scores.softmax(-1) @ v).transpose(1, 2).reshape(B, T, D) @ Wo
""",
        (("math.sqrt(D // N_HEADS)", "math.sqrt(D)"), ("triu(1)", "triu(0)")),
    ),
    Program(
        "Attention",
        "scaled_dot_product_attention",
        """
import math
import torch
from torch import nn

class Attention(nn.Module):
    def forward(self, query, key, value, mask=None):
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
        if mask is not None:  # (batch, keys)
            scores = scores.masked_fill(mask.unsqueeze(1).expand(scores.shape) == 0, -1e9)
        return torch.softmax(scores, dim=-1) @ value
""",
        (("mask.unsqueeze(1)", "mask.unsqueeze(-1)"), ("query.size(-1)", "key.size(-2)")),
    ),
    Program(
        "MultiHeadAttention",
        "multi_head_attention",
        """
import torch
from torch import nn

class MultiHeadAttention(nn.Module):
    def __init__(self, h, d_model):
        super().__init__()
        self.h = h
        self.W_q, self.W_k, self.W_v, self.W_o = (nn.Linear(d_model, d_model) for _ in range(4))

    def split(self, x):
        return x.view(x.size(0), x.size(1), self.h, -1).transpose(1, 2)

    def forward(self, query_X, key_X, value_X, mask=None):
        q, k, v = self.split(self.W_q(query_X)), self.split(self.W_k(key_X)), self.split(self.W_v(value_X))
        scores = q @ k.transpose(-2, -1) / q.size(-1) ** 0.5
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        return self.W_o((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))
""",
        (("self.W_k(key_X)", "self.W_k(value_X)"), ("self.W_q(query_X)", "self.W_k(query_X)")),
    ),
    Program(
        "self_attention",
        "scaled_dot_product_attention",
        """
import numpy as np

def self_attention(Q, K, V):  # (batch, heads, length, width)
    scores = Q @ K.transpose(0, 1, 3, 2) / K.shape[-1] ** 0.5
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True) @ V
""",
        (("K.shape[-1]", "K.shape[-2]"), ("powers.sum(axis=-1", "powers.sum(axis=-2")),
    ),
    Program(
        "repeat_kv",
        "repeat_kv",
        """
import torch

def repeat_kv(keys: torch.Tensor, values: torch.Tensor, repeats: int, dim: int):
    keys = torch.repeat_interleave(keys, repeats, dim=dim)
    values = torch.repeat_interleave(values, repeats, dim=dim)
    return keys, values
""",
        (("torch.repeat_interleave(values, repeats, dim=dim)", "torch.cat([values] * repeats, dim=dim)"),),
    ),
    Program(
        "repeat_kv",
        "repeat_kv",
        """
import torch

def repeat_kv(x, n_rep):  # (batch, positions, heads, width)
    return torch.repeat_interleave(x, n_rep, dim=2)
""",
        (("dim=2", "dim=3"),),
    ),
    Program(
        "ScaledDotProductAttention",
        "scaled_dot_product_attention",
        """
import torch
from torch import nn

class ScaledDotProductAttention(nn.Module):
    def __init__(self, dropout=None):
        super().__init__()
        self.dropout = dropout

    def forward(self, q, k, v, scale, attn_mask=None):
        attention = torch.matmul(q, torch.transpose(k, -1, -2)) / scale  # scale is √k_dim
        if attn_mask is not None:
            attention = attention.masked_fill(attn_mask, float("-inf"))
        attention = torch.softmax(attention, dim=-1)
        if self.dropout is not None:
            attention = self.dropout(attention)
        return torch.matmul(attention, v), attention
""",
        (("torch.softmax(attention, dim=-1)", "torch.softmax(attention, dim=0)"),),
    ),
    Program(
        "SelfAttention",
        "grouped_query_attention",
        """
import math

import torch
from torch import nn

class SelfAttention(nn.Module):
    def __init__(self, dim, n_heads, n_kv_heads):
        super().__init__()
        self.n_heads, self.n_kv_heads, self.head_dim = n_heads, n_kv_heads, dim // n_heads
        self.wq, self.wo = nn.Linear(dim, dim, bias=False), nn.Linear(dim, dim, bias=False)
        self.wk, self.wv = (nn.Linear(dim, n_kv_heads * self.head_dim, bias=False) for _ in range(2))

    def forward(self, x, mask=None):
        batch, length, _ = x.shape
        q = self.wq(x).view(batch, length, self.n_heads, self.head_dim).transpose(1, 2)
        k = self.wk(x).view(batch, length, self.n_kv_heads, self.head_dim).transpose(1, 2).unsqueeze(2)
        v = self.wv(x).view(batch, length, self.n_kv_heads, self.head_dim).transpose(1, 2).unsqueeze(2)
        q = q.reshape(batch, self.n_kv_heads, self.n_heads // self.n_kv_heads, length, self.head_dim)
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.head_dim)
        scores = scores if mask is None else scores + mask  # (batch, kv heads, groups, queries, keys)
        out = (scores.softmax(-1) @ v).reshape(batch, self.n_heads, length, self.head_dim)
        return self.wo(out.transpose(1, 2).reshape(batch, length, -1))
""",
        (("scores + mask", "scores * mask"), ("math.sqrt(self.head_dim)", "self.head_dim")),
    ),
    Program(
        "SelfAttention",
        "self_attention",
        """
import torch
from torch import nn

class SelfAttention(nn.Module):
    def __init__(self, dim, num_heads):
        super().__init__()
        self.query, self.key, self.value = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.num_heads = num_heads

    def forward(self, x, mask=None):
        q, k, v = (f(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for f in (self.query, self.key, self.value))
        scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
        if mask is not None:
            mask = mask[:, None, None, :].float()
            scores = scores - 1e12 * (1.0 - mask)
        return (torch.softmax(scores, -1) @ v).transpose(1, 2).flatten(2)
""",
        (("scores - 1e12", "scores - 1e-12"), ("scores - 1e12", "scores + 1e12")),
    ),
    Program(
        "multi_head_attention",
        "self_attention",
        """
import jax
import jax.numpy as jnp

def multi_head_attention(q, k, v, W_o, mask=None, rate=0.0, key=None, training=False):
    # W_o is applied by the caller after the heads are joined again
    scores = q @ jnp.swapaxes(k, -1, -2) / jnp.sqrt(q.shape[-1])
    if mask is not None:
        scores = jnp.where(mask, scores, -1e9)
    weights = jax.nn.softmax(scores, axis=-1)
    if training and key is not None:
        weights = weights * jax.random.bernoulli(key, 1 - rate, weights.shape) / (1 - rate)
    return weights @ v, weights
""",
        (("jnp.sqrt(q.shape[-1])", "q.shape[-1]"), ("axis=-1", "axis=-2")),
    ),
    Program(
        "CausalAttention",
        "causal_self_attention",
        """
import torch
from torch import nn

class CausalAttention(nn.Module):
    def __init__(self, width, num_heads):
        super().__init__()
        self.num_heads, self.size, self.kv_cache = num_heads, width // num_heads, None
        self.fused, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        q, k, v = self.fused(x).chunk(3, dim=-1)
        is_first = self.kv_cache is None
        if not is_first:
            old_k, old_v = self.kv_cache
            k, v = torch.cat([old_k, k], dim=1), torch.cat([old_v, v], dim=1)
        self.kv_cache = (k, v)
        q, k, v = (each.unflatten(-1, (self.num_heads, self.size)).transpose(1, 2) for each in (q, k, v))
        scores = q @ k.transpose(-2, -1) / self.size**0.5
        if is_first:
            scores = scores.masked_fill(torch.ones_like(scores).triu(1).bool(), float("-inf"))
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))
""",
        (
            ("self.size**0.5", "self.size"),
            ("triu(1)", "triu(2)"),
            ("torch.cat([old_v, v], dim=1)", "torch.cat([v, old_v], dim=1)"),
        ),
    ),
    Program(
        "multi_head_attention",
        "scaled_dot_product_attention",
        """
import numpy as np

def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)

def multi_head_attention(q, k, v, unmasked=True):
    s = q @ np.swapaxes(k, -2, -1) / np.sqrt(q.shape[-1])
    if not unmasked:
        s = np.where(np.tri(s.shape[-2], dtype=bool), s, -np.inf)
    return softmax(s) @ v
""",
        ((" / np.sqrt(q.shape[-1])", ""), ("softmax(s) @ v", "softmax(s)")),
    ),
    Program(
        "dot_product_attention",
        "scaled_dot_product_attention",
        """
import torch
from torch import nn

def dot_product_attention(query, key, value, scaling=1.0, mask=None):
    scores = torch.bmm(query, key.mT) * scaling
    if mask is not None:
        scores = scores.masked_fill(mask, float("-inf"))
    weights = scores.softmax(-1)
    return torch.bmm(weights, value), weights

class Head(nn.Module):
    def __init__(self, width, size):
        super().__init__()
        self.size, self.to_qkv = size, nn.Linear(width, 3 * size)

    def forward(self, x, mask=None):
        return dot_product_attention(*self.to_qkv(x).chunk(3, -1), scaling=self.size**-0.5, mask=mask)[0]
""",
        ((", scaling=self.size**-0.5", ""), ('float("-inf")', "1e-9"), ("softmax(-1)", "softmax(-2)")),
    ),
    Program(
        "Mixer.attention_values",
        "scaled_dot_product_attention",
        """
import torch
from torch import nn

class Mixer(nn.Module):
    def __init__(self, width, num_heads, rate, device, dtype):
        super().__init__()
        self.root, self.num_heads, self.rate = (width // num_heads) ** 0.5, num_heads, rate
        self.to_qkv = nn.Linear(width, 3 * width, device=device, dtype=dtype)

    def attention_values(self, query, key, value, mask=None):
        scores = query @ key.mT / self.root
        if mask is not None:
            scores = scores + mask
        weights = nn.functional.dropout(scores.softmax(-1), self.rate, self.training)
        return weights @ value

    def forward(self, x, mask=None):
        heads = [each.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for each in self.to_qkv(x).chunk(3, -1)]
        return self.attention_values(*heads, mask=mask).transpose(1, 2).flatten(2)
""",
        ((") ** 0.5, num", "), num"), ("softmax(-1)", "softmax(-2)")),
    ),
    Program(
        "attention",
        "scaled_dot_product_attention",
        """
import torch

def attention(query, key, value, scale, mask=None):
    batch, heads = query.shape[:2]
    q, k, v = (each.reshape(batch * heads, *each.shape[2:]) for each in (query, key, value))
    scores = torch.bmm(q, k.mT) * scale
    if mask is not None:
        scores = scores.reshape(batch, heads, *scores.shape[1:]).masked_fill(mask == 0, -1e9).flatten(0, 1)
    weights = scores.softmax(-1)
    return torch.bmm(weights, v), weights
""",
        ((" * scale", ""), ("-1e9", "-1e-9")),
    ),
    Program(
        "CausalSelfAttention",
        "causal_self_attention",
        STACKED,
        ((".tril(ns - nd)", ".tril()"), ("torch.cat([old_v, v], dim=-2)", "v"), ("([old_k, k]", "([k, old_k]")),
    ),
    Program("Block", "transformer_block", STACKED, ((".tril(ns - nd)", ".tril()"), ("x = x + mixed", "x = mixed"))),
    Program(
        "MultiHeadedAttention",
        "multi_head_attention",
        """
from torch import nn
from torch.nn.functional import scaled_dot_product_attention

class MultiHeadedAttention(nn.Module):
    def __init__(self, width, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.to_q, self.to_k, self.to_v, self.to_out = (nn.Linear(width, width) for _ in range(4))

    def split(self, x):
        return x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)

    def forward(self, queries, keys, values):
        q, k, v = self.split(self.to_q(queries)), self.split(self.to_k(keys)), self.split(self.to_v(values))
        mixed = scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.to_out(mixed.transpose(1, 2).flatten(2))
""",
        (("mixed.transpose(1, 2).flatten(2)", "mixed.reshape(queries.shape)"), ("self.to_v(values)", "self.to_v(keys)")),
    ),
    Program(
        "attention",
        "scaled_dot_product_attention",
        """
import torch
from einops import rearrange

def attention(q, k, v, mask=None):
    scores = torch.einsum("... q d, ... k d -> ... q k", q / q.shape[-1] ** 0.5, k)
    key_mask = rearrange(mask, "b k -> b 1 1 k")
    return torch.where(key_mask > 0, scores, -1e10).softmax(-1) @ v
""",
        (("** 0.5", "** 0.25"), ("-1e10", "1e-10")),
    ),
    Program(
        "SharedHeadsAttention",
        "grouped_query_attention",
        """
import torch
from torch import nn

def rotate(x, cos, sin, first=0):
    b, h, t, d = x.shape
    even, odd = x.reshape(b, h, t, d // 2, 2).unbind(-1)
    cos, sin = cos[first : first + t][None, None], sin[first : first + t][None, None]
    return torch.stack([even * cos - odd * sin, odd * cos + even * sin], dim=-1).reshape(b, h, t, d)

class SharedHeadsAttention(nn.Module):
    def __init__(self, d_in, d_out, num_heads, num_kv_groups):
        super().__init__()
        self.d_out, self.num_heads, self.num_kv_groups = d_out, num_heads, num_kv_groups
        self.head_dim = d_out // num_heads
        self.to_q = nn.Linear(d_in, d_out, bias=False)
        self.to_k = nn.Linear(d_in, num_kv_groups * self.head_dim, bias=False)
        self.to_v = nn.Linear(d_in, num_kv_groups * self.head_dim, bias=False)
        self.to_out = nn.Linear(d_out, d_out, bias=False)

    def forward(self, x, mask, cos, sin, start_pos=0, cache=None):
        b, t, _ = x.shape
        q = self.to_q(x).view(b, t, self.num_heads, self.head_dim).transpose(1, 2)
        k = self.to_k(x).view(b, t, self.num_kv_groups, self.head_dim).transpose(1, 2)
        v = self.to_v(x).view(b, t, self.num_kv_groups, self.head_dim).transpose(1, 2)
        q, k = rotate(q, cos, sin, start_pos), rotate(k, cos, sin, start_pos)
        if cache is not None:
            k, v = torch.cat([cache[0], k], dim=2), torch.cat([cache[1], v], dim=2)
        kept = (k, v)
        times = self.num_heads // self.num_kv_groups
        k, v = k.repeat_interleave(times, dim=1), v.repeat_interleave(times, dim=1)
        scores = (q @ k.transpose(2, 3) / self.head_dim**0.5).masked_fill(mask, -torch.inf)
        out = (torch.softmax(scores, dim=-1) @ v).transpose(1, 2).reshape(b, t, self.d_out)
        return self.to_out(out), kept
""",
        (
            (
                "k, v = k.repeat_interleave(times, dim=1), v.repeat_interleave(times, dim=1)",
                "k, v = k.repeat(1, times, 1, 1), v.repeat(1, times, 1, 1)",
            ),
            ("self.head_dim**0.5", "self.d_out**0.5"),
            (".transpose(1, 2).reshape(b, t, self.d_out)", ".reshape(b, t, self.d_out)"),
        ),
    ),
    Program(
        "GroupedQueryAttentionFast",
        "grouped_query_attention",
        """
import torch
from torch import nn

def rotate(x, cos, sin):
    half = x.shape[-1] // 2
    turned = torch.cat((-x[..., half:], x[..., :half]), dim=-1)
    return x * cos[: x.shape[2]] + turned * sin[: x.shape[2]]

class GroupedQueryAttentionFast(nn.Module):
    def __init__(self, d_in, d_out, num_heads, num_kv_groups):
        super().__init__()
        self.num_heads, self.num_kv_groups, self.head_dim = num_heads, num_kv_groups, d_out // num_heads
        self.wk = nn.Linear(d_in, num_kv_groups * self.head_dim, bias=False)
        self.wv = nn.Linear(d_in, num_kv_groups * self.head_dim, bias=False)
        self.wq, self.wo = nn.Linear(d_in, d_out, bias=False), nn.Linear(d_out, d_out, bias=False)

    def forward(self, x, cos, sin):
        batch, length, _ = x.shape
        q = self.wq(x).view(batch, length, self.num_heads, self.head_dim).transpose(1, 2)
        k = self.wk(x).view(batch, length, self.num_kv_groups, self.head_dim).transpose(1, 2)
        v = self.wv(x).view(batch, length, self.num_kv_groups, self.head_dim).transpose(1, 2)
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        k = k.repeat_interleave(self.num_heads // self.num_kv_groups, dim=1)
        v = v.repeat_interleave(self.num_heads // self.num_kv_groups, dim=1)
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.wo(mixed.transpose(1, 2).reshape(batch, length, -1))
""",
        (("(q, k, v, is_causal", "(q, v, k, is_causal"), ("mixed.transpose(1, 2).reshape", "mixed.reshape")),
    ),
    Program(
        "MaskedAttention",
        "scaled_dot_product_attention",
        """
import torch
from torch import nn

class MaskedAttention(nn.Module):
    def forward(self, q, k, v, mask=None):
        assert q.dim() == k.dim() == v.dim() == 3
        scores = q @ k.mT / q.shape[-1] ** 0.5
        if mask is not None:
            if mask.dim() == 2:
                mask = mask[:, None, :].expand(-1, q.shape[1], -1)
            scores = scores.masked_fill(mask == 0, -1e9)
        return scores.softmax(-1) @ v
""",
        (
            ("mask[:, None, :].expand(-1, q.shape[1], -1)", "mask[:, :, None].expand(-1, -1, k.shape[1])"),
            ("mask[:, None, :].expand(-1, q.shape[1], -1)", "mask[:, :1, None].expand(-1, q.shape[1], k.shape[1])"),
        ),
    ),
    Program(
        "MultiHeadAttention",
        "multi_head_attention",
        """
import torch
from torch import nn

class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.q, self.k, self.v, self.o = (nn.Linear(d_model, d_model) for _ in range(4))
    def split(self, x):
        return x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
    def forward(self, x, mask=None):
        q, k, v = self.split(self.q(x)), self.split(self.k(x)), self.split(self.v(x))
        scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
        if mask is not None:
            if mask.ndim == 2:
                mask = mask[:, None, None, :]
            elif mask.ndim == 3:
                mask = mask[:, None]
            scores = scores.masked_fill(~mask, float("-inf"))
        return self.o((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))
""",
        (("mask[:, None, None, :]", "mask[:, None, :, None]"), ("mask[:, None]\n", "mask[:, None].mT\n")),
    ),
    Program(
        "MultiHeadAttention",
        "multi_head_attention",
        ASSERTED_MASK,
        (("q.shape[-1] ** 0.5", "q.shape[-2] ** 0.5"), ("mask == 0", "mask.mT == 0")),
    ),
    Program(
        "MultiHeadAttention",
        "multi_head_attention",
        ASSERTED_MASK.replace(ASSERTION, "print(mask.shape)\n            assert mask.ndim > 1"),
        (("q.shape[-1] ** 0.5", "q.shape[-2] ** 0.5"), ("mask == 0", "mask.mT == 0")),
    ),
    Program(
        "CausalCrossAttention",
        "cross_attention",
        CAUSAL_OVER_CONTEXT,
        (("== 0", "== 1"), ("/ q.shape[-1] ** 0.5", ""), ("self.value(context)", "self.value(self.key(context))")),
    ),
    Program(
        "MultiHeadAttention",
        "multi_head_attention",
        """
import math

import torch
from torch import nn

class Projection(nn.Module):  # its weights are plain tensors with a gradient, under private names
    def __init__(self, n_in, n_out):
        super().__init__()
        self._weights = torch.normal(mean=0.0, std=1.0, size=(n_in, n_out), requires_grad=True)
        self._bias = torch.zeros(size=(1, n_out), requires_grad=True)

    def forward(self, x):
        return x @ self._weights + self._bias

class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.q_proj, self.k_proj, self.v_proj, self.out_proj = (Projection(d_model, d_model) for _ in range(4))

    def heads(self, x):
        return x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)

    def forward(self, query, key, value):
        q, k, v = self.heads(self.q_proj(query)), self.heads(self.k_proj(key)), self.heads(self.v_proj(value))
        weights = torch.softmax(q @ k.mT / math.sqrt(q.shape[-1]), dim=-1)
        return self.out_proj((weights @ v).transpose(1, 2).flatten(2))
""",
        (("math.sqrt(q.shape[-1])", "q.shape[-1]"), ("(weights @ v).transpose(1, 2)", "(weights @ v)")),
    ),
)
