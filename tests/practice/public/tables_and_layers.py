"""Layers that a function is given, inner widths that are rounded down, widths of all heads, and names of wavelengths, with their mistakes."""

from tests.practice.public.program import Program

BY_CHARACTER = """
names = open("names.txt").read()
letters = sorted(set(names))
ids = {letter: place for place, letter in enumerate(letters)}
encode = lambda word: [ids[letter] for letter in word]


def merge(word, pair, number):
    out = []
    for each in word:
        if out and (out[-1], each) == pair:
            out[-1] = number
        else:
            out.append(each)
    return out
"""

MAKES_LAYERS = """
from flax import linen as nn

dense_init = lambda scale: nn.initializers.normal(stddev=scale)
dense_layer = lambda width, scale=0.02: nn.Dense(width, kernel_init=dense_init(scale))


def relu(x):
    return nn.relu(x)
"""

PROGRAMS = (
    Program(
        "embed_words",
        "embed",
        """
import torch
from torch import nn


def embed_words(embedding: nn.Embedding, tokens: torch.Tensor) -> torch.Tensor:
    return embedding(tokens) * embedding.embedding_dim**0.5
""",
        (("embedding(tokens)", "embedding(tokens - 1)"),),
    ),
    Program(
        "SwiGLULayer",
        "gated_feed_forward",
        """
import torch
from torch import nn


class SwiGLULayer(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        inner = 64 * int(8 / 3 * d_model / 64)
        self.gate, self.up = (nn.Parameter(torch.randn(inner, d_model)) for _ in range(2))
        self.down = nn.Parameter(torch.randn(d_model, inner))

    def forward(self, x):
        hidden = nn.functional.silu(x @ self.gate.T) * (x @ self.up.T)
        return hidden @ self.down.T
""",
        (("silu(x @ self.gate.T) * (x @ self.up.T)", "silu((x @ self.gate.T) * (x @ self.up.T))"),),
    ),
    Program(
        "ScaledProductAttention",
        "scaled_dot_product_attention",
        """
import torch
from torch import nn


class ScaledProductAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.width_of_one = d_model // num_heads

    def forward(self, queries, keys, values):
        scores = torch.einsum("bhqd,bhkd->bhqk", queries, keys) / self.width_of_one**0.5
        weights = nn.functional.softmax(scores, dim=-1)
        return torch.einsum("bhqk,bhkd->bhqd", weights, values), weights
""",
        (("d_model // num_heads", "d_model"), ("dim=-1", "dim=-2")),
    ),
    Program(
        "sinusoidal_positions",
        "sinusoidal_positions",
        """
import torch


def sinusoidal_positions(length, width, base_wavelength=1e4):
    rates = base_wavelength ** (-torch.arange(0, width, 2) / width)
    angles = torch.arange(length)[:, None] * rates
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(-2)
""",
        (("(angles.sin(), angles.cos())", "(angles.cos(), angles.sin())"),),
    ),
    Program(
        "multi_query_attention",
        "grouped_query_attention",
        """
import torch
from torch.nn import functional as F


def shared(heads, num_copies):
    batch, num_heads, length, width = heads.shape
    return heads[:, :, None].expand(batch, num_heads, num_copies, length, width).reshape(batch, -1, length, width)


def grouped(q, k, v, n_heads, n_kv_heads, causal=True):
    copies = n_heads // n_kv_heads
    return F.scaled_dot_product_attention(q, shared(k, copies), shared(v, copies), is_causal=causal)


def multi_query_attention(q, k, v, causal=True):
    return grouped(q, k, v, q.shape[1], 1, causal)
""",
        (("shared(v, copies)", "shared(v * 2, copies)"),),
    ),
    Program(
        "grouped_query_attention",
        "grouped_query_attention",
        """
import torch


def grouped_query_attention(q, k, v, n_heads, n_kv_heads):
    copies = n_heads // n_kv_heads
    k, v = k.repeat_interleave(copies, dim=-3), v.repeat_interleave(copies, dim=-3)
    return torch.softmax(q @ k.mT / q.shape[-1] ** 0.5, dim=-1) @ v
""",
        (("v.repeat_interleave(copies, dim=-3)", "v.repeat(1, copies, 1, 1)"),),
    ),
)
