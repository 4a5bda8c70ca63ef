"""Repairs with what the program has elsewhere: arrays of the same shape, statements written alike, parts that it makes but does not call."""

from __future__ import annotations

import pytest

from headway.practice.diagnosis.sandbox import check_file
from tests.practice.test_repair import repaired, with_slips

ADAM = """
import numpy as np

class Adam:
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8):
        self.params = list(params)
        self.lr, self.eps = lr, eps
        self.beta1, self.beta2 = betas
        self.mean = [np.zeros_like(p.data) for p in self.params]
        self.square = [np.zeros_like(p.data) for p in self.params]
        self.count = 0

    def step(self):
        self.count += 1
        for i, p in enumerate(self.params):
            g = p.grad
            self.mean[i] = self.beta1 * self.mean[i] + (1 - self.beta1) * g
            self.square[i] = self.beta2 * self.square[i] + (1 - self.beta2) * g**2
            mean = self.mean[i] / (1 - self.beta1**self.count)
            square = self.square[i] / (1 - self.beta2**self.count)
            p.data -= self.lr * mean / (np.sqrt(square) + self.eps)
"""

HEADS = """
import numpy as np

def multi_head_attention(query, key, value, W_q, W_k, W_v, W_o, num_heads):
    batch, length, width = query.shape
    size = width // num_heads
    Q = (query @ W_q.T).reshape(batch, length, num_heads, size).transpose(0, 2, 1, 3)
    K = (key @ W_k.T).reshape(batch, key.shape[1], num_heads, size).transpose(0, 2, 1, 3)
    V = (value @ W_v.T).reshape(batch, key.shape[1], num_heads, size).transpose(0, 2, 1, 3)
    scores = Q @ K.transpose(0, 1, 3, 2) / np.sqrt(size)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    return (weights @ V).transpose(0, 2, 1, 3).reshape(batch, length, width) @ W_o.T
"""

CACHE = """
import torch

class KVCache:
    def __init__(self, batch_size, max_seq_len, num_heads, head_dim):
        self.k = torch.zeros(batch_size, num_heads, max_seq_len, head_dim)
        self.v = torch.zeros(batch_size, num_heads, max_seq_len, head_dim)

    def update(self, start_pos, k_new, v_new):
        end = start_pos + k_new.shape[2]
        self.k[:, :, start_pos:end] = k_new
        self.v[:, :, start_pos:end] = v_new
        return self.k[:, :, :end], self.v[:, :, :end]
"""

ROTARY = """
import torch
from torch import nn

class RotaryEmbedding(nn.Module):
    def __init__(self, head_dim, max_position_embeddings=2048):
        super().__init__()
        self.register_buffer("rates", 1.0 / 10000 ** (torch.arange(0, head_dim, 2) / head_dim))
        self.register_buffer("places", torch.arange(max_position_embeddings))

    def forward(self, x):
        batch, heads, seq_len, head_dim = x.shape
        places = self.places[:seq_len]
        angles = torch.outer(places, self.rates)
        cos, sin = angles.cos(), angles.sin()
        x1, x2 = x[..., : head_dim // 2], x[..., head_dim // 2 :]
        return torch.cat([x1 * cos - x2 * sin, x2 * cos + x1 * sin], dim=-1)
"""

PAIRS = """
def get_stats(ids):
    counts = {}
    for pair in zip(ids, ids[1:]):
        counts[pair] = counts.get(pair, 0) + 1
    return counts
"""

RMS_NORM = """
import torch
from torch import nn

class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        root = (x.pow(2).mean(dim=-1, keepdim=True) + self.eps).sqrt()
        return self.weight * x / root
"""

BLOCK = """
import torch
from torch import nn

class Attention(nn.Module):
    def __init__(self, width, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        q, k, v = (each.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for each in self.qkv(x).chunk(3, dim=-1))
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(mixed.transpose(1, 2).flatten(2))

class TransformerBlock(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.attention = Attention(d_model, num_heads)
        self.ff = nn.Sequential(nn.Linear(d_model, 4 * d_model), nn.GELU(), nn.Linear(4 * d_model, d_model))
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        x = x + self.ff(self.norm2(x))
        return x
"""

SEPARATE = BLOCK.replace("x = x + self.attention(self.norm1(x))", "mixed = self.attention(self.norm1(x))\n        x = x + mixed")

GATED = """
from torch import nn

class SwiGLU(nn.Module):
    def __init__(self, width, inner):
        super().__init__()
        self.gate_proj = nn.Linear(width, inner, bias=False)
        self.up_proj = nn.Linear(width, inner, bias=False)
        self.down_proj = nn.Linear(inner, width, bias=False)

    def forward(self, x):
        return self.down_proj(nn.functional.silu(self.gate_proj(x)) * self.up_proj(x))
"""

ADAMW = """
import math
import torch

class AdamW(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
        super().__init__(params, {"lr": lr, "beta1": betas[0], "beta2": betas[1], "eps": eps, "weight_decay": weight_decay})

    def step(self):
        for group in self.param_groups:
            lr, beta1, beta2 = group["lr"], group["beta1"], group["beta2"]
            for p in group["params"]:
                state = self.state[p]
                if not state:
                    state["t"] = 1
                    state["mean"] = torch.zeros_like(p)
                    state["square"] = torch.zeros_like(p)
                t, mean, square = state["t"], state["mean"], state["square"]
                mean = beta1 * mean + (1 - beta1) * p.grad.data
                square = beta2 * square + (1 - beta2) * p.grad.data**2
                rate = lr * math.sqrt(1 - beta2**t) / (1 - beta1**t)
                p.data -= rate * mean / (square.sqrt() + group["eps"])
                p.data -= lr * group["weight_decay"] * p.data
                state["t"] = t + 1
                state["mean"] = mean
                state["square"] = square
"""

FUSED = """
import torch
from torch import nn

class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.heads, self.width = num_heads, d_model
        self.qkv, self.out = nn.Linear(d_model, 3 * d_model), nn.Linear(d_model, d_model)

    def forward(self, x):
        batch, length, width = x.shape
        qkv = self.qkv(x)
        q = qkv[:, :, : self.width]
        k = qkv[:, :, self.width : self.width + self.width]
        v = qkv[:, :, self.width + self.width :]
        q, k, v = (each.view(batch, length, self.heads, -1).transpose(1, 2) for each in (q, k, v))
        weights = torch.softmax(q @ k.transpose(2, 3) / q.shape[-1] ** 0.5, dim=-1)
        return self.out((weights @ v).transpose(1, 2).reshape(batch, length, width))
"""

MERGES = """
def train_bpe(text, num_merges):
    ids, merges = list(text.encode("utf-8")), []
    tokens = {byte: bytes([byte]) for byte in range(256)}
    for step in range(num_merges):
        counts = {}
        for pair in zip(ids, ids[1:]):
            counts[pair] = counts.get(pair, 0) + 1
        best = max(counts, key=counts.get)
        merges.append((tokens[best[0]], tokens[best[1]]))
        tokens[256 + step] = tokens[best[0]] + tokens[best[1]]
        merged, place = [], 0
        while place < len(ids):
            is_best = tuple(ids[place : place + 2]) == best
            merged.append(256 + step if is_best else ids[place])
            place += 2 if is_best else 1
        ids = merged
    return merges
"""

HEADS_IN_A_LIST = """
import torch
from torch import nn

class Head(nn.Module):
    def __init__(self, d_model, d_k, d_v):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(d_model, width, bias=False) for width in (d_k, d_k, d_v))

    def forward(self, q, k, v):
        q, k, v = self.q(q), self.k(k), self.v(v)
        return torch.softmax(q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5, dim=-1) @ v

class MultiHeadAttention(nn.Module):
    def __init__(self, h, d_model, d_k, d_v):
        super().__init__()
        self.heads = nn.ModuleList([Head(d_model, d_k, d_v) for _ in range(h)])
        self.W_O = nn.Linear(h * d_v, d_model, bias=False)

    def forward(self, q, k, v):
        return self.W_O(torch.cat([head(q, k, v) for head in self.heads], dim=-1))
"""

WEIGHTS_IN_A_DICT = """
import jax
import jax.numpy as jnp

def feed_forward(params, x):
    hidden = jax.nn.relu(jnp.matmul(x, params["w1"]) + params["b1"])
    return jnp.matmul(hidden, params["w2"]) + params["b2"]
"""

FLAX = """
import flax.linen as nn

class MLP(nn.Module):
    d_model: int
    d_ff: int

    @nn.compact
    def __call__(self, x):
        hidden = nn.relu(nn.Dense(self.d_ff)(x))
        hidden = nn.Dense(self.d_model)(hidden)
        return -hidden
"""

SQUARES = """
import numpy as np

def rms_norm(x, weight, eps=1e-6):
    return weight * x / np.sqrt(np.mean(np.square(x), axis=-1, keepdims=True) + eps)
"""

ROTATED = """
import torch
from torch import nn

class RoPE(nn.Module):
    def __init__(self, head_dim, max_len=64):
        super().__init__()
        angles = torch.outer(torch.arange(max_len), 10000.0 ** (-torch.arange(0, head_dim, 2) / head_dim))
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def forward(self, x, positions):
        cos, sin = self.cos[positions], self.sin[positions]
        even, odd = x[..., 0::2], x[..., 1::2]
        return torch.stack((even * cos - odd * sin, even * sin + odd * cos), dim=-1).flatten(-2)

class CausalSelfAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads, self.rope = num_heads, RoPE(d_model // num_heads)
        self.W_q, self.W_k, self.W_v, self.W_o = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (each(x).view(batch, length, self.num_heads, -1).transpose(1, 2) for each in (self.W_q, self.W_k, self.W_v))
        positions = torch.arange(length)
        q = self.rope(q, positions)
        k = self.rope(k, positions)
        scores = q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5
        scores = scores.masked_fill(torch.ones(length, length).triu(1).bool(), float("-inf"))
        return self.W_o((torch.softmax(scores, dim=-1) @ v).transpose(1, 2).reshape(batch, length, width))
"""

HEAD = """
import torch
import torch.nn as nn

class Head(nn.Module):
    def __init__(self, width, head_size, context):
        super().__init__()
        self.query = nn.Linear(width, head_size, bias=False)
        self.key = nn.Linear(width, head_size, bias=False)
        self.value = nn.Linear(width, head_size, bias=False)
        self.register_buffer("mask", torch.tril(torch.ones(context, context)))

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = self.query(x), self.key(x), self.value(x)
        scores = q @ k.transpose(-2, -1) * k.shape[-1] ** -0.5
        scores = scores.masked_fill(self.mask[:T, :T] == 0, float("-inf"))
        return torch.softmax(scores, dim=-1) @ v
"""

LOSS = """
import torch

def cross_entropy(logits, targets):
    logits, targets = logits.reshape(-1, logits.shape[-1]), targets.reshape(-1)
    score = logits[torch.arange(len(targets)), targets]
    top = logits.max(dim=-1).values
    total = torch.exp(logits - top.unsqueeze(-1)).sum(dim=-1)
    return (torch.log(total) + top - score).mean()
"""

NUCLEUS = """
import torch

def sample_token(logits, temperature=1.0, top_p=None):
    probs = torch.softmax(logits / temperature, dim=-1)
    if top_p is None:
        return torch.multinomial(probs, 1)
    ordered, tokens = torch.sort(probs, dim=-1, descending=True)
    ordered[torch.cumsum(ordered, dim=-1) - ordered > top_p] = 0.0
    rank = torch.multinomial(ordered / ordered.sum(dim=-1, keepdim=True), 1)
    return tokens.gather(-1, rank)
"""

SLIPS = [
    ("adam_optimizer", ADAM, "g**2", "self.mean[i]**2"),
    (
        "multi_head_attention",
        HEADS,
        "@ W_v.T).reshape(batch, key.shape[1], num_heads, size).transpose(0, 2, 1, 3)",
        "@ W_v.T).reshape(batch, num_heads, key.shape[1], size)",
    ),
    ("kv_cache", CACHE, "self.v[:, :, start_pos:end] = v_new", "self.v[:, :, : v_new.shape[2]] = v_new"),
    ("rotary", ROTARY, "self.places[:seq_len]", "self.places[-seq_len:]"),
    ("pair_counts", PAIRS, "zip(ids, ids[1:])", "zip(ids[:-1], ids)"),
    ("rms_norm", RMS_NORM, "x.pow(2).mean(dim=-1, keepdim=True)", "x.pow(2)"),
    ("transformer_block", BLOCK, "x = x + self.attention(self.norm1(x))", "x = x"),
    ("transformer_block", SEPARATE, "x = x + self.ff(self.norm2(x))", "pass"),
    (
        "gated_feed_forward",
        GATED,
        "self.down_proj(nn.functional.silu(self.gate_proj(x)) * self.up_proj(x))",
        "nn.functional.silu(self.gate_proj(x)) * self.up_proj(x)",
    ),
    ("adamw", ADAMW, 'state["t"] = t + 1', 'state["t"] = t'),
    ("adamw", ADAMW, "math.sqrt(1 - beta2**t) / (1 - beta1**t)", "math.sqrt(1 - beta1**t) / (1 - beta2**t)"),
    ("multi_head_attention", FUSED, "v = qkv[:, :, self.width + self.width :]", "v = qkv[:, :, self.width : self.width + self.width]"),
    ("bpe_train", MERGES, "max(counts, key=counts.get)", "max(counts)"),
    ("adamw", ADAMW, 'state["square"] = square', "pass"),
    ("multi_head_attention", HEADS_IN_A_LIST, "[Head(d_model, d_k, d_v) for _ in range(h)]", "[Head(d_model, d_k, d_v)] * h"),
    ("rms_norm", SQUARES, "np.mean(np.square(x), axis=-1, keepdims=True)", "np.square(np.mean(x, axis=-1, keepdims=True))"),
    ("causal_self_attention", ROTATED, "k = self.rope(k, positions)", "pass"),
    ("causal_self_attention", HEAD, "k.shape[-1] ** -0.5", "C ** -0.5"),
    ("cross_entropy", LOSS, "torch.log(total) + top", "torch.log(total)"),
    ("sample", NUCLEUS, "tokens.gather(-1, rank)", "rank"),
    ("causal_self_attention", ROTATED, "@ v).transpose(1, 2).reshape(batch", "@ v).view(batch"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "program", "right", "wrong"), SLIPS, ids=[f"{name}-{place}" for place, (name, *_) in enumerate(SLIPS)])
def test_a_mistake_is_repaired_with_what_the_program_has_elsewhere(name, program, right, wrong):
    text, lines = with_slips(program, [(right, wrong)])
    repair, is_right = repaired(name, text)
    assert is_right, repair
    assert abs(repair.edits[0].line - lines[0]) <= 2, repair


@pytest.mark.slow
def test_a_function_that_takes_its_weights_in_a_dict_is_repaired(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(WEIGHTS_IN_A_DICT.replace('x, params["w1"]) +', 'x, params["w1"]) -'))
    (verdict,) = check_file(path)
    assert verdict.status == "wrong"
    assert verdict.repair is not None
    assert verdict.repair.edits[0].line == 6


@pytest.mark.slow
def test_a_module_of_flax_whose_weights_fit_two_orders_is_repaired(tmp_path):
    pytest.importorskip("flax")
    path = tmp_path / "mine.py"
    path.write_text(FLAX)
    (verdict,) = check_file(path)
    assert [cause.name for cause in verdict.causes] == ["scale"]
    assert verdict.repair is not None
    assert verdict.repair.edits[0].line == 12
