"""Operands under names and in forms of their author's own: keys without values, lengths of data, dropout that is given, outputs in a dict."""

from __future__ import annotations

from tests.practice.public.program import Program

QUERIES_AND_KEYS = """
import torch
from torch import nn

class MultiHeadAttention(nn.Module):
    def __init__(self, width, num_heads, rate=0.1):
        super().__init__()
        self.num_heads, self.dropout = num_heads, nn.Dropout(rate)
        self.to_queries, self.to_keys, self.to_values = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)

    def heads(self, x):
        return torch.cat(x.chunk(self.num_heads, dim=-1), dim=0)

    def forward(self, queries, keys, causality=False):
        query, key, value = self.heads(self.to_queries(queries)), self.heads(self.to_keys(keys)), self.heads(self.to_values(keys))
        scores = query @ key.transpose(1, 2) / key.shape[-1] ** 0.5
        if causality:
            scores = scores.masked_fill(torch.ones_like(scores[0]).tril() == 0, float("-inf"))
        mixed = self.dropout(scores.softmax(dim=-1)) @ value
        return torch.cat(mixed.chunk(self.num_heads, dim=0), dim=-1)
"""
"""Keys and values are computed from the same operand, which is named after the keys."""

LENGTH_OF_DATA = """
import math
import torch
from torch import nn

class PositionalEncoding(nn.Module):
    def __init__(self, hp):
        super().__init__()
        self.dropout = nn.Dropout(hp.model.dropout)
        self.register_buffer("table", self.rows(hp.data.data_length, hp.model.d_model))

    def rows(self, length, width):
        angles = torch.arange(length).unsqueeze(1) * torch.exp(torch.arange(0, width, 2) * -math.log(10000) / width)
        table = torch.zeros(1, length, width)
        table[..., 0::2], table[..., 1::2] = angles.sin(), angles.cos()
        return table

    def forward(self, x):
        return self.dropout(x + self.table[:, : x.shape[1]])
"""
"""The length is a field of the settings of the data, under a name that no part lists."""

SCALED_LENGTH = """
import torch
from torch import nn

class RotaryEmbedding(nn.Module):
    def __init__(self, dim, seq_len_scale_factor=1.0):
        super().__init__()
        self.factor = seq_len_scale_factor
        self.register_buffer("steps", 1.0 / 10000 ** (torch.arange(0, dim, 2).float() / dim))

    def forward(self, x):
        angles = torch.outer(torch.arange(x.shape[1]) / self.factor, self.steps).repeat(1, 2)
        first, second = x.chunk(2, dim=-1)
        return x * angles.cos() + torch.cat([-second, first], dim=-1) * angles.sin()
"""
"""A factor of lengths is no length."""

DROPOUT_GIVEN = """
import math
import torch

def scaled_dot_product_attention(query, key, value, mask=None, dropout=None):
    scores = torch.bmm(query, key.transpose(1, 2)) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores + mask
    return torch.bmm(dropout(scores.softmax(dim=-1)), value)
"""
"""Every caller gives the layer of dropout, although it is None by default."""

SCALE_WITH_AXES = """
import torch

def rotate_half(x):
    first, second = x.chunk(2, dim=-1)
    return torch.cat([-second, first], dim=-1)

def apply_rotary_pos_emb(q, k, angles, scale=1):
    last = angles[..., -q.shape[-2] :, :]
    if scale.ndim == 2:
        scale = scale[-q.shape[-2] :]
    q = (q * last.cos() + rotate_half(q) * last.sin()) * scale
    return q, (k * angles.cos() + rotate_half(k) * angles.sin()) / scale
"""
"""Every caller gives an array, although the default is a number."""

TABLES_GIVEN = """
import torch

def rotate_half(x):
    first, second = x.chunk(2, dim=-1)
    return torch.cat([-second, first], dim=-1)

def attention(q, k, v, cos, sin):
    q, k = q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin
    return torch.softmax(q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5, dim=-1) @ v
"""
"""A function of attention that rotates by the tables that it is given."""

GATE_SECOND = """
import torch
from torch import nn
from torch.nn import functional as F

class GEGLU(nn.Module):
    def forward(self, x):
        values, gates = x.chunk(2, dim=-1)
        return values * F.gelu(gates)
"""
"""Its float32 numbers are compared as such, although the last projection is computed outside of it."""

IN_A_DICT = """
import numpy as np

def multi_head_attention(Q, K, V, W_q, W_k, W_v, W_o, num_heads):
    def heads(x, weight):
        return (x @ weight.T).reshape(len(x), num_heads, -1).swapaxes(0, 1)

    queries, keys, values = heads(Q, W_q), heads(K, W_k), heads(V, W_v)
    scores = queries @ keys.swapaxes(1, 2) / np.sqrt(queries.shape[-1])
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights = weights / weights.sum(-1, keepdims=True)
    mixed = (weights @ values).swapaxes(0, 1).reshape(len(Q), -1)
    return {"output": np.round(mixed @ W_o.T, 4).tolist(), "attention_weights": np.round(weights, 4).tolist()}
"""
"""The output and the weights are named, and rounded."""

GAIN_AROUND_ZERO = """
import torch
from torch import nn
from torch.nn import functional as F

class LayerNorm(nn.Module):
    def __init__(self, width, eps=1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(width))
        self.bias = nn.Parameter(torch.zeros(width))
        self.eps = eps

    def forward(self, x):
        return F.layer_norm(x, x.shape[-1:], 1.0 + self.weight, self.bias, self.eps)
"""
"""The gain is stored as its difference from 1."""

OF_ONE_ROW = """
import numpy as np

def apply_top_p(logits, top_p):
    '''Keep the most likely tokens of logits (vocab_size,).'''
    probs = np.exp(logits - np.max(logits)) / np.sum(np.exp(logits - np.max(logits)))
    order = np.argsort(probs)[::-1]
    before = np.cumsum(probs[order]) - probs[order]
    kept = np.empty(len(logits), bool)
    kept[order] = before < top_p
    return np.where(kept, logits, -np.inf)
"""
"""Its documentation says that it takes one distribution."""

OF_TIME = """
import math
import torch
from torch import nn

class SinusoidalPositionEmbeddings(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.half = width // 2

    def forward(self, time):
        steps = torch.exp(torch.arange(self.half) * -math.log(10000) / (self.half - 1))
        angles = time[:, None] * steps
        return torch.cat([angles.sin(), angles.cos()], dim=-1)
"""
"""As in models of diffusion, the positions are points in time."""

WITH_A_GATE = """
import torch

def swish(x, beta=1.0):
    return x * torch.sigmoid(beta * x)

def glu(x, gate=torch.sigmoid):
    first, second = x.chunk(2, dim=-1)
    return first * gate(second)

def swiglu(x):
    return glu(x, gate=swish)
"""
"""The function that splits takes the activation, and another one passes it."""

SAYS_GREEDY = """
import numpy as np

def sample_token(logits):
    return np.argmax(logits, axis=-1)  # greedy
"""
"""Its comment says that nothing is sampled."""

PROGRAMS = (
    Program(
        "MultiHeadAttention",
        "cross_attention",
        QUERIES_AND_KEYS,
        (
            ("self.heads(self.to_values(keys))", "self.heads(self.to_values(queries))"),
            ("key.shape[-1] ** 0.5", "keys.shape[-1] ** 0.5"),
            ("scores.softmax(dim=-1)", "scores.softmax(dim=1)"),
        ),
    ),
    Program(
        "PositionalEncoding",
        "sinusoidal_positions",
        LENGTH_OF_DATA,
        (("math.log(10000)", "math.log(1000)"), ("angles.cos()", "angles.sin()"), (": x.shape[1]]", "1 : x.shape[1] + 1]")),
    ),
    Program(
        "RotaryEmbedding",
        "rotary",
        SCALED_LENGTH,
        (("10000 **", "1000 **"), ("[-second, first]", "[second, first]"), ("self.factor = seq_len_scale_factor", "self.factor = 2.0")),
    ),
    Program(
        "scaled_dot_product_attention",
        "scaled_dot_product_attention",
        DROPOUT_GIVEN,
        (("softmax(dim=-1)", "softmax(dim=1)"), ("scores + mask", "scores"), ("math.sqrt(query.shape[-1])", "query.shape[-1]")),
    ),
    Program(
        "apply_rotary_pos_emb",
        "rotary",
        SCALE_WITH_AXES,
        (
            ("q * last.cos()", "q * last.sin()"),
            ("(k * angles.cos() + rotate_half(k)", "(k * angles.cos() - rotate_half(k)"),
            ("return q, (k", "return q, (q"),
        ),
    ),
    Program(
        "attention",
        "self_attention",
        TABLES_GIVEN,
        (("dim=-1) @ v", "dim=-2) @ v"), (" / q.shape[-1] ** 0.5", ""), (" @ v", " @ k")),
    ),
    Program("GEGLU", "gated_feed_forward", GATE_SECOND, (("F.gelu(gates)", "gates"), ("F.gelu(gates)", "torch.tanh(gates)"))),
    Program(
        "multi_head_attention",
        "multi_head_attention",
        IN_A_DICT,
        (
            ("/ np.sqrt(queries.shape[-1])", ""),
            ("mixed @ W_o.T", "mixed"),
            ('"output": np.round(mixed @ W_o.T, 4)', '"output": np.round(mixed @ W_v.T, 4)'),
        ),
    ),
    Program(
        "LayerNorm",
        "layer_norm",
        GAIN_AROUND_ZERO,
        (
            ("self.weight = nn.Parameter(torch.zeros(width))", "self.weight = nn.Parameter(torch.zeros(width) + 1)"),
            ("1.0 + self.weight", "2.0 + self.weight"),
        ),
    ),
    Program(
        "apply_top_p",
        "top_p",
        OF_ONE_ROW,
        (("before < top_p", "before + probs[order] < top_p"), ("[::-1]", ""), ("kept[order] = ", "kept = ")),
    ),
    Program(
        "SinusoidalPositionEmbeddings",
        "sinusoidal_positions",
        OF_TIME,
        (("angles.cos()", "angles.sin()"), ("math.log(10000)", "math.log(1000)"), ("time[:, None] * steps", "time[:, None] + steps")),
    ),
    Program("glu", "gated_feed_forward", WITH_A_GATE, (("gate(second)", "second"), ("first * gate", "first + gate"))),
    Program("swiglu", "gated_feed_forward", WITH_A_GATE, (("gate(second)", "second"), ("gate=swish", "gate=torch.tanh"))),
    Program("sample_token", "sample", SAYS_GREEDY, (("argmax", "argmin"), ("  # greedy", ""))),
)
