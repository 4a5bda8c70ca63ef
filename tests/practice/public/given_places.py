"""Masks of a square shape, positions inside of the attention, axes in letters, and layers on a base of the author's: programs in conventions of public code."""

from __future__ import annotations

from tests.practice.public.program import Program

PROGRAMS = (
    Program(
        "mask",
        "causal_mask",
        """
import numpy as np

def mask(shape):
    rows, columns = shape[-2:]
    assert rows == columns, "queries and keys have one length"
    places = np.arange(rows)
    hidden = places[None] > places[:, None]
    return hidden.reshape(*[1 for _ in shape[:-2]], rows, columns)
""",
        (("places[None] > places[:, None]", "places[None] >= places[:, None]"),),
    ),
    Program(
        "causal_window_attention_bias",
        "sliding_window_mask",
        """
import torch

def causal_window_attention_bias(seq_len: int, window: int | None, *, dtype: torch.dtype, device: torch.device):
    distance = torch.arange(seq_len, device=device)[:, None] - torch.arange(seq_len, device=device)
    hidden = distance < 0
    if window is not None:
        hidden = hidden | (distance >= window)
    return torch.zeros(seq_len, seq_len, dtype=dtype, device=device).masked_fill(hidden, torch.finfo(dtype).min)[None, None]
""",
        (("distance >= window", "distance > window"),),
    ),
    Program(
        "mha",
        "scaled_dot_product_attention",
        """
import numpy as np

def mha(queries_BLHK, keys_BLHK, values_BLHK, mask_BLL, head_dim):
    scores = np.einsum("blhk,bmhk->bhlm", queries_BLHK, keys_BLHK) / head_dim**0.5
    scores = np.where(mask_BLL[:, np.newaxis, :, :], scores, -1e30)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return np.einsum("bhlm,bmhk->blhk", weights / weights.sum(-1, keepdims=True), values_BLHK)
""",
        (("head_dim**0.5", "head_dim"),),
    ),
    Program(
        "gqa",
        "grouped_query_attention",
        """
import numpy as np

def turned(x, cos, sin):
    first, second = np.split(x, 2, -1)
    cos, sin = cos[: x.shape[1], None], sin[: x.shape[1], None]
    return np.concatenate([first * cos - second * sin, first * sin + second * cos], -1)

def gqa(x_BLD, wq_DHK, wk_DHK, wv_DHK, wo_HDK, freqs_cis_LK2, head_dim: int, n_heads: int, n_kv_heads: int, sliding_window: int):
    batch, length, _ = x_BLD.shape
    q = (x_BLD @ wq_DHK).reshape(batch, length, n_heads, head_dim)
    k, v = ((x_BLD @ each).reshape(batch, length, n_kv_heads, head_dim) for each in (wk_DHK, wv_DHK))
    cos, sin = freqs_cis_LK2
    q, k = turned(q, cos, sin), turned(k, cos, sin)
    k, v = (np.repeat(each, n_heads // n_kv_heads, axis=2) for each in (k, v))
    distance = np.arange(length)[:, None] - np.arange(length)
    scores = np.einsum("blhk,bmhk->bhlm", q, k) / head_dim**0.5
    scores = np.where((distance >= 0) & (distance < sliding_window), scores, -1e30)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    heads = np.einsum("bhlm,bmhk->blhk", weights / weights.sum(-1, keepdims=True), v)
    return heads.reshape(batch, length, n_heads * head_dim) @ wo_HDK
""",
        (("np.repeat(each, n_heads // n_kv_heads, axis=2)", "np.tile(each, (1, 1, n_heads // n_kv_heads, 1))"),),
    ),
    Program(
        "GPTModel",
        "gpt2",
        """
import torch
from torch import nn

def alibi_bias(heads, length):
    slopes = torch.tensor([2 ** (-8 * (each + 1) / heads) for each in range(heads)])
    places = torch.arange(length)
    return slopes[:, None, None] * (places[None] - places[:, None])

class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.norm_1, self.norm_2 = heads, nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.ffn = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x, bias):
        batch, length, width = x.shape
        q, k, v = (each.view(batch, length, self.heads, -1).transpose(1, 2) for each in self.qkv(self.norm_1(x)).chunk(3, -1))
        scores = q @ k.transpose(-2, -1) / (width // self.heads) ** 0.5 + bias
        hidden = torch.ones(length, length).triu(1).bool()
        weights = scores.masked_fill(hidden, float("-inf")).softmax(-1)
        x = x + self.out((weights @ v).transpose(1, 2).reshape(batch, length, width))
        return x + self.ffn(self.norm_2(x))

class GPTModel(nn.Module):
    def __init__(self, vocab_size, width, heads, layers, length):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, width)
        self.blocks = nn.ModuleList([Block(width, heads) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocab_size, bias=False)
        self.head.weight = self.embedding.weight
        self.register_buffer("bias", alibi_bias(heads, length), persistent=False)

    def forward(self, ids):
        x = self.embedding(ids)
        bias = self.bias[:, : ids.size(1), : ids.size(1)]
        for block in self.blocks:
            x = block(x, bias)
        return self.head(self.norm(x))
""",
        (("self.head(self.norm(x))", "self.head(x)"),),
    ),
    Program(
        "FeedForward",
        "feed_forward",
        """
import jax
from flax import nnx

class FeedForward(nnx.Module):
    def __init__(self, embed_dim: int, ffn_dim: int, rngs: nnx.Rngs = None):
        self.fc1 = nnx.Linear(embed_dim, ffn_dim, rngs=rngs)
        self.fc2 = nnx.Linear(ffn_dim, embed_dim, rngs=rngs)

    def __call__(self, x, deterministic: bool = True):
        return self.fc2(jax.nn.gelu(self.fc1(x), approximate=False))
""",
        (("self.fc2(jax", "x + self.fc2(0 * jax"),),
    ),
    Program(
        "Linear",
        "linear",
        """
import numpy as np
from modules.base import BaseModule

class Linear(BaseModule):
    def __init__(self, input_dim: int, output_dim: int):
        super().__init__()
        self.w = np.random.uniform(-0.1, 0.1, (input_dim, output_dim))
        self.b = np.zeros(output_dim)

    def forward(self, x):
        return np.dot(x, self.w) + self.b
""",
        (("+ self.b", "- self.b"),),
    ),
)
