"""Programs in the conventions of courses and of NumPy projects: CS336's bytes, ARENA's packages, CuPy, layers that know an optimizer."""

from __future__ import annotations

from tests.practice.public.program import Program

PROGRAMS = (
    Program(
        "count_pairs",
        "pair_counts",
        """
import heapq
from collections import defaultdict

def _key(pair: tuple[bytes, bytes]):
    return tuple(bytes(255 - each for each in token) for token in pair)

def count_pairs(pretoken_counts: dict[tuple[bytes, ...], int]):
    counts, places = {}, defaultdict(set)
    for pretoken, count in pretoken_counts.items():
        for i in range(len(pretoken) - 1):
            pair = (pretoken[i], pretoken[i + 1])
            counts[pair] = counts.get(pair, 0) + count
            places[pair].add(pretoken)
    heap = [(-count, _key(pair), pair) for pair, count in counts.items()]
    heapq.heapify(heap)
    return counts, places, heap
""",
        (("+ count\n", "+ 1\n"), ("len(pretoken) - 1", "len(pretoken) - 2")),
    ),
    Program(
        "merge_pair",
        "merge_pair",
        """
def merge_pair(pretoken: tuple[bytes, ...], pair: tuple[bytes, bytes]) -> tuple[bytes, ...]:
    out, i = [], 0
    while i < len(pretoken):
        if i < len(pretoken) - 1 and pretoken[i : i + 2] == pair:
            out.append(b"".join(pair))
            i += 2
        else:
            out.append(pretoken[i])
            i += 1
    return tuple(out)
""",
        (("i += 2", "i += 1"), ("len(pretoken) - 1", "len(pretoken) - 2")),
    ),
    Program(
        "MLP",
        "feed_forward",
        """
import torch as t
from jaxtyping import Float
from torch import Tensor, nn
from transformer_lens.utils import gelu_new

class MLP(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.W_in = nn.Parameter(t.empty((cfg.d_model, cfg.d_mlp)))
        self.W_out = nn.Parameter(t.empty((cfg.d_mlp, cfg.d_model)))
        self.b_in, self.b_out = nn.Parameter(t.zeros(cfg.d_mlp)), nn.Parameter(t.zeros(cfg.d_model))

    def forward(self, normalized_resid_mid: Float[Tensor, "batch posn d_model"]) -> Float[Tensor, "batch posn d_model"]:
        hidden = gelu_new(t.matmul(normalized_resid_mid, self.W_in.unsqueeze(0)) + self.b_in)
        return t.matmul(hidden, self.W_out.unsqueeze(0)) + self.b_out
""",
        ((" + self.b_out", ""), ("hidden = gelu_new(", "hidden = (")),
    ),
    Program(
        "LayerNormalization",
        "layer_norm",
        """
import cupy as cp

class LayerNormalization:
    def __init__(self, optimizer, normalized_shape, eps=1e-5, data_type=cp.float32):
        self.optimizer, self.eps = optimizer, eps
        self.gamma, self.beta = cp.ones(normalized_shape).astype(data_type), cp.zeros(normalized_shape).astype(data_type)
        self.optimizer.register_params(f"norm_{self.optimizer.count_layers('norm') // 2}.gamma", self.gamma)

    def forward(self, x):
        mean, var = x.mean(axis=-1, keepdims=True), x.var(axis=-1, keepdims=True)
        return self.gamma * (x - mean) / cp.sqrt(var + self.eps) + self.beta
""",
        (("cp.sqrt(var + self.eps)", "(var + self.eps)"), ("(x - mean)", "x")),
    ),
    Program(
        "AttentionHead",
        "self_attention",
        """
import numpy as np

class Linear:
    def __init__(self, width, inner):
        self.W = np.random.rand(width, inner)

    def __call__(self, x):
        return x @ self.W

class AttentionHead:
    def __init__(self, d_model, d_hidden):
        self.lin_Q, self.lin_K, self.lin_V = Linear(d_model, d_hidden), Linear(d_model, d_hidden), Linear(d_model, d_hidden)
        self.scale = d_hidden ** 0.5

    def forward(self, inputs):
        Q, K, V = self.lin_Q(inputs[0]), self.lin_K(inputs[1]), self.lin_V(inputs[2])
        scores = Q @ K.swapaxes(-1, -2) / self.scale
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return weights / weights.sum(axis=-1, keepdims=True) @ V
""",
        (("self.lin_K(inputs[1])", "self.lin_K(inputs[0])"), (" / self.scale", "")),
    ),
    Program(
        "SourceTargetAttention",
        "cross_attention",
        """
import torch
from torch import nn

class Attention(nn.Module):
    def __init__(self, width, num_heads):
        super().__init__()
        self.num_heads, self.head_width = num_heads, width // num_heads
        self.q, self.k, self.v, self.out = (nn.Linear(width, width) for _ in range(4))

    def split(self, x):
        return x.view(*x.shape[:2], self.num_heads, self.head_width).transpose(1, 2)

    def forward(self, query, key, value, mask=None):
        scores = self.split(self.q(query)) @ self.split(self.k(key)).transpose(-2, -1) / self.head_width ** 0.5
        if mask is not None:
            scores = scores.masked_fill(mask.unsqueeze(1) == 0, -1e9)
        return self.out((scores.softmax(-1) @ self.split(self.v(value))).transpose(1, 2).flatten(2))

class SourceTargetAttention(nn.Module):
    def __init__(self, num_heads, width):
        super().__init__()
        self.attention, self.norm = Attention(width, num_heads), nn.LayerNorm(width)

    def forward(self, mem, x, source_mask=None):
        out = self.norm(x)
        return self.attention(out, mem, mem, source_mask) + x
""",
        (("+ x", "+ out"), ("(out, mem, mem,", "(x, mem, mem,")),
    ),
    Program(
        "get_1d_sincos_pos_embed_from_grid",
        "sinusoidal_positions",
        """
import jax.numpy as jnp

def get_1d_sincos_pos_embed_from_grid(embed_dim, pos):
    omega = 1.0 / 10000 ** (jnp.arange(embed_dim // 2, dtype=jnp.float32) / (embed_dim / 2.0))
    out = jnp.einsum("m,d->md", pos.reshape(-1), omega)
    return jnp.concatenate([jnp.sin(out), jnp.cos(out)], axis=1)
""",
        (("[jnp.sin(out), jnp.cos(out)]", "[jnp.cos(out), jnp.sin(out)]"), ("(embed_dim / 2.0)", "embed_dim")),
    ),
    Program(
        "generate_tril_mask",
        "causal_mask",
        """
import numpy as np

def generate_tril_mask(shape):
    return np.zeros(shape) + np.tril(np.ones(shape[-2:]))
""",
        (("np.tril", "np.triu"),),
    ),
    Program(
        "PositionalEncoding",
        "sinusoidal_positions",
        """
import torch
from torch import nn

class PositionalEncoding(nn.Module):
    def __init__(self, embedding_dim, max_tokens, scalar=1e4):
        super().__init__()
        angles = torch.arange(max_tokens).unsqueeze(1) / scalar ** (torch.arange(0, embedding_dim, 2) / embedding_dim)
        self.table = nn.Parameter(torch.zeros(max_tokens, embedding_dim))
        self.table.requires_grad = False
        self.table[:, 0::2], self.table[:, 1::2] = torch.sin(angles), torch.cos(angles)

    def forward(self, x):
        return x + self.table[: x.size(1), :]

model = PositionalEncoding(embedding_dim=16, max_tokens=32)
""",
        (("torch.arange(0, embedding_dim, 2) / embedding_dim", "torch.arange(0, embedding_dim, 2) / 10"),),
    ),
)
