"""Functions that only what calls them explains, and operands that need not be given: programs in conventions of public code."""

from __future__ import annotations

from tests.practice.public.program import Program

PROGRAMS = (
    Program(
        "make_pad_mask",
        "padding_mask",
        """
import torch

def make_pad_mask(q, k, q_pad_idx, k_pad_idx):
    of_k = k.ne(k_pad_idx)[:, None, None, :].expand(-1, 1, q.size(1), -1)
    return of_k & q.ne(q_pad_idx)[:, None, :, None]
""",
        (("k.ne(k_pad_idx)", "k.ne(q_pad_idx)"),),
    ),
    Program(
        "make_no_peak_mask",
        "causal_mask",
        """
import torch

def make_no_peak_mask(q, k):
    return torch.ones(q.size(1), k.size(1)).tril().bool()
""",
        (("tril()", "tril(-1)"),),
    ),
    Program(
        "Masking",
        "causal_mask",
        """
import torch
from torch import nn

class Masking(nn.Module):
    def forward(self, tokens, n_dim=4):
        ahead = torch.ones(tokens.size(-1), tokens.size(-1)).triu(1)
        padding = (tokens == 0).float().reshape(len(tokens), *[1] * (n_dim - 2), -1)
        return torch.maximum(ahead, padding)
""",
        (("torch.maximum", "torch.minimum"),),
    ),
    Program(
        "softmax",
        "softmax",
        """
import numpy as np

def softmax(x, axis=None):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)
""",
        (("e.sum(axis=axis, keepdims=True)", "e.sum()"),),
    ),
    Program(
        "log_softmax",
        "log_softmax",
        """
import numpy as np

def log_softmax(x, axis=0):
    shifted = x - x.max(axis=axis, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True))
""",
        (("np.exp(shifted).sum(axis=axis, keepdims=True)", "np.exp(shifted).sum(axis=0)"),),
    ),
    Program(
        "softmax",
        "softmax",
        """
import numpy as np

def softmax(x):
    e = np.exp(x - x.max())
    return e / e.sum()

def next_token(model, ids, rng):
    probs = softmax(model(ids)[-1])
    return rng.choice(len(probs), p=probs)
""",
        (("def next_token(model, ids, rng):", "def attention(model, ids, rng):"),),
    ),
    Program(
        "PositionalEncoder",
        "sinusoidal_positions",
        """
import torch
from torch import nn

class PositionalEncoder(nn.Module):
    def __init__(self, width, most, n_dim):
        super().__init__()
        angles = torch.arange(most)[:, None] / 10000 ** (torch.arange(0, width, 2) / width)
        table = torch.stack([angles.sin(), angles.cos()], -1).flatten(1)
        self.register_buffer("table", table.view(*[1] * (n_dim - 2), most, width))

    def forward(self, x):
        return x + self.table[:, : x.size(-2)]
""",
        (("[angles.sin(), angles.cos()]", "[angles.cos(), angles.sin()]"),),
    ),
    Program(
        "LearnedPositions",
        "learned_positions",
        """
import torch
from torch import nn

class LearnedPositions(nn.Module):
    def __init__(self, n_patches=64, width=32):
        super().__init__()
        self.n_patches, self.positions = n_patches, nn.Parameter(torch.randn(1, n_patches, width))

    def forward(self, x):
        assert x.size(1) == self.n_patches
        return x + self.positions
""",
        (("x + self.positions", "x + self.positions[:, :1]"),),
    ),
    Program(
        "MultiHeadAttention",
        "multi_head_attention",
        """
from torch import nn

class MultiHeadAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.q, self.k, self.v, self.out = (nn.Linear(config.d_model, config.d_model) for _ in range(4))

    def forward(self, x):
        q, k, v = (
            each(x).view(*x.shape[:-1], self.config.n_heads, self.config.d_embedding).transpose(1, 2) for each in (self.q, self.k, self.v)
        )
        weights = (q @ k.mT / self.config.d_embedding**0.5).softmax(-1)
        return self.out((weights @ v).transpose(1, 2).flatten(2))
""",
        (("self.config.d_embedding**0.5", "self.config.d_model**0.5"),),
    ),
    Program(
        "MultiHeadedAttention",
        "multi_head_attention",
        """
from torch import nn

class MultiHeadedAttention(nn.Module):
    def __init__(self, dm, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(dm, dm) for _ in range(4))

    def forward(self, preQ, preK, preV, mask=None):
        q, k, v = (
            each(x).unflatten(-1, (self.n_heads, -1)).transpose(1, 2)
            for each, x in ((self.wq, preQ), (self.wk, preK), (self.wv, preV))
        )
        scores = q @ k.mT / q.size(-1) ** 0.5
        if mask is not None:
            scores = scores.masked_fill(mask.unsqueeze(1) == 0, float("-inf"))
        return self.wo((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))
""",
        (("(self.wk, preK), (self.wv, preV)", "(self.wk, preV), (self.wv, preK)"),),
    ),
    Program(
        "apply_rotary",
        "rotary",
        """
import torch

def apply_rotary(x, cos, sin):
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], -1).flatten(2)

def scores(q, k, cos, sin):
    batch, length, width = q.shape
    return apply_rotary(q, cos, sin) @ apply_rotary(k, cos, sin).mT / width**0.5
""",
        (("batch, length, width", "batch, heads, length, width"),),
    ),
    Program(
        "apply_rotary_emb",
        "rotary",
        """
import torch

def apply_rotary_emb(x, positions, theta=10000.0):
    batch, heads, length, width = x.shape
    frequencies = theta ** (-torch.arange(0, width, 2) / width)
    angles = (positions.reshape(-1, 1) * frequencies).view(batch, 1, length, -1)
    a, b = x.chunk(2, -1)
    return torch.cat([a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()], -1)
""",
        (("b * angles.cos() + a", "b * angles.cos() - a"),),
    ),
    Program(
        "rotate",
        "rotary",
        """
import torch

def rotate(x, positions=None, cos_cache=None, sin_cache=None):
    cos = cos_cache[positions]
    sin = sin_cache[positions]
    a, b = x.chunk(2, -1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)
""",
        (("sin = sin_cache[positions]", "sin = cos_cache[positions]"),),
    ),
    Program(
        "sample",
        "sample",
        """
import torch

def sample(logits, temperature=1.0, top_k=None, top_p=0.9):
    logits = logits / temperature
    if top_k is not None:
        logits = logits.masked_fill(logits < logits.topk(top_k).values[..., -1:], float("-inf"))
    if top_p < 1.0:
        values, order = logits.sort(-1, descending=True)
        before = values.softmax(-1).cumsum(-1) - values.softmax(-1)
        kept = values.masked_fill(before >= top_p, float("-inf"))
        logits = kept.scatter(-1, order, kept)
    return torch.multinomial(logits.softmax(-1), 1)
""",
        (("logits / temperature", "logits * temperature"),),
    ),
)
