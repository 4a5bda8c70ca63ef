"""Programs whose constructors switch something on, or name their sizes by use, with mistakes as replacements in their text."""

from __future__ import annotations

from tests.practice.public.program import Program

HEADS = """
import math
import torch
from torch import nn

class Rotary(nn.Module):
    def __init__(self, width, longest, base):
        super().__init__()
        angles = torch.arange(longest)[:, None] / base ** (torch.arange(0, width, 2) / width)
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)
    def forward(self, x, positions=None):
        positions = torch.arange(x.shape[-2]) if positions is None else positions
        cos, sin = self.cos[positions], self.sin[positions]
        even, odd = x[..., 0::2], x[..., 1::2]
        return torch.stack((even * cos - odd * sin, even * sin + odd * cos), -1).flatten(-2)

class MultiHeadSelfAttention(nn.Module):
    def __init__(self, d_model, n_heads, SWITCH):
        super().__init__()
        self.n_heads, self.head_dim = n_heads, d_model // n_heads
        self.q, self.k, self.v, self.o = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
        STORED
    def heads(self, x):
        return x.unflatten(-1, (self.n_heads, self.head_dim)).transpose(-2, -3)
    def forward(self, x, positions=None):
        q, k, v = self.heads(self.q(x)), self.heads(self.k(x)), self.heads(self.v(x))
        if self.rope TEST:
            q = self.rope(q, positions)
            k = self.rope(k, positions)
        length = x.shape[-2]
        hidden = torch.ones(length, length, dtype=torch.bool).triu(1)
        scores = (q @ k.transpose(-1, -2) / math.sqrt(self.head_dim)).masked_fill(hidden, -torch.inf)
        return self.o((scores.softmax(-1) @ v).transpose(-2, -3).flatten(-2))
"""

ROTATED = (("k = self.rope(k", "v = self.rope(v"), ("k = self.rope(k, positions)", "pass"))

PROGRAMS = (
    Program(
        "MultiHeadSelfAttention",
        "multi_head_attention",
        HEADS.replace("SWITCH", "rope: nn.Module | None = None").replace("STORED", "self.rope = rope").replace(" TEST", " is not None"),
        ROTATED,
    ),
    Program(
        "MultiHeadSelfAttention",
        "multi_head_attention",
        HEADS.replace("SWITCH", "use_rope=False, max_seq_len=None, theta=None")
        .replace(
            "STORED", "self.use_rope = use_rope\n        if use_rope:\n            self.rope = Rotary(self.head_dim, max_seq_len, theta)"
        )
        .replace("self.rope TEST", "self.use_rope"),
        ROTATED,
    ),
    Program(
        "AddPositionalEncoding",
        "sinusoidal_positions",
        """
import math
import torch
from torch import nn

class AddPositionalEncoding(nn.Module):
    def __init__(self, len_max):
        super().__init__()
        self.len_max = len_max
    def forward(self, x):
        position = torch.arange(x.size(1))[:, None]
        column = torch.arange(x.size(2))[None, :]
        odd = column % 2
        return x + torch.sin(position / self.len_max ** ((column - odd) / x.size(2)) + math.pi / 2 * odd)

model = nn.Sequential(AddPositionalEncoding(1e5))
""",
        (("column - odd", "column"), ("x.size(1)", "x.size(0)"), ("math.pi / 2 * odd", "math.pi * odd")),
    ),
    Program(
        "SiLU",
        "feed_forward",
        """
import torch
from torch import nn

class SiLU(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.w1_weight = nn.Parameter(torch.randn(d_ff, d_model))
        self.w2_weight = nn.Parameter(torch.randn(d_model, d_ff))
    def forward(self, x):
        inner = torch.einsum("fd,...d->...f", self.w1_weight, x)
        return torch.einsum("df,...f->...d", self.w2_weight, inner * torch.sigmoid(inner))
""",
        (("inner * torch.sigmoid(inner)", "torch.sigmoid(inner)"),),
    ),
    Program(
        "multi_head_attention",
        "multi_head_attention",
        """
import numpy as np

def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)

def multi_head_attention(x, c_attn_w, c_attn_b, c_proj_w, c_proj_b, n_head, mask=None):
    q, k, v = np.split(x @ c_attn_w + c_attn_b, 3, axis=-1)
    found = []
    for one, other, value in zip(*(np.split(each, n_head, axis=-1) for each in (q, k, v))):
        scores = one @ other.T / np.sqrt(one.shape[-1])
        found.append(softmax(scores if mask is None else scores + mask) @ value)
    return np.concatenate(found, axis=-1) @ c_proj_w + c_proj_b
""",
        (("np.sqrt(one.shape[-1])", "np.sqrt(x.shape[-1])"), ("@ c_proj_w + c_proj_b", "@ c_proj_w")),
    ),
    Program(
        "MultiHeadAttention",
        "multi_head_attention",
        """
import numpy as np
import torch
from torch import nn

class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, d_hidden, num_heads):
        super().__init__()
        self.num_heads, self.d_key = num_heads, d_hidden // num_heads
        self.Wq, self.Wk, self.Wv = (nn.Linear(d_model, d_hidden) for _ in range(3))
        self.Wo = nn.Linear(d_hidden, d_model)
    def forward(self, x):
        size = x.size(0)
        q, k, v = (w(x).view(size, -1, self.num_heads, self.d_key).permute(0, 2, 1, 3) for w in (self.Wq, self.Wk, self.Wv))
        shares = torch.softmax(q @ k.permute(0, 1, 3, 2) / np.sqrt(self.d_key), -1)
        mixed = (shares @ v).permute(0, 2, 1, 3).contiguous().view(size, -1, self.num_heads * self.d_key)
        return self.Wo(mixed), shares
""",
        (("/ np.sqrt(self.d_key)", "/ self.d_key"),),
    ),
    Program(
        "AttentionHead",
        "causal_self_attention",
        """
import torch
from torch import nn

class AttentionHead(nn.Module):
    def __init__(self, d_model, head_size, masking=False):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(d_model, head_size) for _ in range(3))
        self.masking, self.head_size = masking, head_size
    def forward(self, x):
        scores = self.q(x) @ self.k(x).transpose(-2, -1) / self.head_size**0.5
        if self.masking:
            tril = torch.tril(torch.ones(x.shape[1], x.shape[1]))
            scores = scores.masked_fill(tril == 0, float("-inf"))
        return scores.softmax(-1) @ self.v(x)
""",
        (("tril == 0", "tril == 1"), ("head_size**0.5", "head_size")),
    ),
    Program(
        "MultiHeadAttention",
        "multi_head_attention",
        """
import jax
import jax.numpy as jnp
from flax import linen as nn

class MultiHeadAttention(nn.Module):
    num_heads: int = 12
    @nn.compact
    def __call__(self, x, mask):
        B, T, C = x.shape
        width = C // self.num_heads
        qkv = nn.Dense(3 * C, name="qkv")(x).reshape(B, T, 3 * self.num_heads, width)
        k, q, v = jnp.split(qkv, 3, axis=2)
        scores = jnp.where(mask, jnp.einsum("bthd,bThd->bhtT", q, k) / jnp.sqrt(width), -1e30)
        mixed = jnp.einsum("bhtT,bThd->bthd", jax.nn.softmax(scores, axis=-1), v).reshape(B, T, C)
        return nn.Dense(C, name="out_proj")(mixed)
""",
    ),
    Program(
        "AttentionHead",
        "self_attention",
        """
import torch
from torch import nn

class AttentionHead(nn.Module):
    def __init__(self, width, head_dim, max_len):
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(width, head_dim, bias=False) for _ in range(3))
        self.register_buffer("tril", torch.tril(torch.ones(max_len, max_len)))
    def forward(self, query_input, key_input, value_input, padding_mask=None, masked_attention=False):
        q, k, v = self.query(query_input), self.key(key_input), self.value(value_input)
        scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
        if padding_mask is not None:
            scores = scores.masked_fill(padding_mask, float("-inf"))
        if masked_attention:
            scores = scores.masked_fill(self.tril[: q.shape[1], : q.shape[1]] == 0, float("-inf"))
        return scores.softmax(-1) @ v
""",
        (("/ q.shape[-1] ** 0.5", "/ query_input.shape[-1] ** 0.5"), ("== 0", "== 1")),
    ),
    Program(
        "scaled_dot_product_attention",
        "scaled_dot_product_attention",
        """
import math

import torch


def scaled_dot_product_attention(q, k, v, mask):
    scores = q.matmul(k.transpose(-1, -2)) / math.sqrt(q.shape[-1])
    if mask:
        mask = torch.ones(1, 1, *scores.shape[-2:], device=scores.device).tril().bool()
        scores = scores.masked_fill(~mask, -torch.inf)
    return scores.softmax(dim=-1).matmul(v)
""",
        (("tril()", "tril(1)"), ("math.sqrt(q.shape[-1])", "q.shape[-1]")),
    ),
    Program(
        "ScaledDotProductAttention",
        "scaled_dot_product_attention",
        """
import torch
from torch import nn

class ScaledDotProductAttention(nn.Module):
    def __init__(self, width, mask=False):
        super().__init__()
        self.width, self.mask = width, mask
    def forward(self, q, k, v):
        scores = torch.einsum("bhqd,bhkd->bhqk", q, k) / self.width**0.5
        if self.mask:
            scores = scores + torch.full(scores.shape[-2:], -1e9).triu(1)
        return scores.softmax(-1) @ v
""",
        (("triu(1)", "triu()"), ("triu(1)", "tril(-1)"), ("self.width**0.5", "self.width")),
    ),
    Program(
        "ScaledDotProductAttention",
        "scaled_dot_product_attention",
        """
import torch
from torch import nn

class ScaledDotProductAttention(nn.Module):
    def __init__(self, use_mask: bool):
        super().__init__()
        self.use_mask = use_mask
    def forward(self, queries, keys, values):
        scores = queries.matmul(keys.transpose(-2, -1)).div(keys.shape[-1] ** 0.5)
        if self.use_mask:
            hidden = torch.ones_like(scores).tril() == 0
            scores = scores.masked_fill(hidden, -torch.inf)
        return scores.softmax(-1).matmul(values)
""",
        (("tril() == 0", "triu() == 0"), ("tril() == 0", "tril() == 1"), ("tril()", "tril(1)")),
    ),
)
