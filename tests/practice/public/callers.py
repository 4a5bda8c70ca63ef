"""Functions that only what calls them explains, and operands that need not be given: programs in conventions of public code."""

from __future__ import annotations

from tests.practice.public.program import Program

PROGRAMS = (
    Program(
        "row_softmax",
        "softmax",
        """
import numpy as np

def row_softmax(values):
    powers = np.exp(values - values.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)

def attention(q, k, v):
    return row_softmax(q @ k.T / np.sqrt(k.shape[1])) @ v

def multi_head_attention(q, k, v, count):
    q, k, v = (each.reshape(len(each), count, -1).transpose(1, 0, 2) for each in (q, k, v))
    return np.concatenate([attention(*each) for each in zip(q, k, v)], axis=-1)
""",
        (("powers.sum(axis=1, keepdims=True)", "powers.sum(axis=0, keepdims=True)"),),
    ),
    Program(
        "sample_token",
        "sample",
        """
import jax
import jax.numpy as jnp

def sample_token(logits, key, temperature=1.0, top_k=None):
    scaled = logits / jnp.maximum(1e-8, temperature)
    if top_k is not None:
        scaled = jnp.where(scaled < jnp.sort(scaled)[-top_k], -jnp.inf, scaled)
    return jax.random.choice(key, scaled.shape[-1], p=jax.nn.softmax(scaled))
""",
        (("-jnp.inf, scaled)", "0.0, scaled)"),),
    ),
    Program(
        "FixedKVCache",
        "kv_cache",
        """
from dataclasses import dataclass
import torch
from torch import nn

@dataclass
class Limits:
    rows: int = 32
    max_batch_size: int = 32
    max_seq_len: int = 4096
    n_heads: int = 32
    head_dim: int = 128
    n_kv_heads: int | None = None

class FixedKVCache(nn.Module):
    def __init__(self, config: Limits):
        super().__init__()
        shape = config.max_batch_size, config.max_seq_len, config.n_kv_heads or config.n_heads, config.head_dim
        self.register_buffer("cache_k", torch.zeros(shape))
        self.register_buffer("cache_v", torch.zeros(shape))
        self.filled = 0

    def update(self, key, value):
        batch, length = key.shape[:2]
        self.cache_k[:batch, self.filled : self.filled + length] = key
        self.cache_v[:batch, self.filled : self.filled + length] = value
        self.filled += length
        return self.cache_k[:batch, : self.filled], self.cache_v[:batch, : self.filled]

    def reset(self):
        self.filled = 0
""",
        (("self.filled += length", "self.filled += 1"),),
    ),
    Program(
        "MultiHeadAttention",
        "multi_head_attention",
        """
import torch
from torch import nn

class MultiHeadAttention(nn.Module):
    def __init__(self, dim, n_heads, max_batch=16, max_len=64):
        super().__init__()
        self.n_heads = n_heads
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(dim, dim, bias=False) for _ in range(4))
        self.register_buffer("cache_k", torch.zeros(max_batch, max_len, n_heads, dim // n_heads))
        self.register_buffer("cache_v", torch.zeros(max_batch, max_len, n_heads, dim // n_heads))

    def forward(self, x, start_pos=0, mask=None):
        batch, length, dim = x.shape
        q, k, v = (w(x).view(batch, length, self.n_heads, -1) for w in (self.wq, self.wk, self.wv))
        end = start_pos + length
        self.cache_k[:batch, start_pos:end] = k
        self.cache_v[:batch, start_pos:end] = v
        q, k, v = (each.transpose(1, 2) for each in (q, self.cache_k[:batch, :end], self.cache_v[:batch, :end]))
        scores = q @ k.transpose(2, 3) / (dim // self.n_heads) ** 0.5
        if mask is not None:
            scores = scores + mask
        return self.wo((scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, length, dim))
""",
        (("/ (dim // self.n_heads)", "/ dim"),),
    ),
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
        "softmax",
        "softmax",
        """
import numpy as np

def softmax(x, axis: int = 1):
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)
""",
        (("np.sum(e, axis=axis, keepdims=True)", "np.sum(e, axis=1, keepdims=True)"),),
    ),
    Program(
        "CausalSelfAttention",
        "causal_self_attention",
        """
from torch import nn
import torch.nn.functional as F

class CausalSelfAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads, self.qkv, self.proj = n_heads, nn.Linear(d_model, 3 * d_model), nn.Linear(d_model, d_model)

    def forward(self, x, mask=None):
        q, k, v = (each.unflatten(-1, (self.n_heads, -1)).transpose(1, 2) for each in self.qkv(x).chunk(3, dim=-1))
        causal = True
        if mask is not None:
            causal = False
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal)
        return self.proj(mixed.transpose(1, 2).flatten(2))
""",
        (("mixed.transpose(1, 2).flatten(2)", "mixed.reshape(x.shape)"),),
    ),
    Program(
        "precompute_freqs",
        "rotary_tables",
        """
import torch

def precompute_freqs(head_dim, seq_len, theta=10000.0):
    freqs = 1.0 / theta ** (torch.arange(0, head_dim, 2).float() / head_dim)
    angles = torch.outer(torch.arange(seq_len).float(), freqs).repeat_interleave(2, dim=-1)
    return torch.stack((angles.cos(), angles.sin()), dim=-1)
""",
        (("torch.arange(seq_len)", "torch.arange(1, seq_len + 1)"),),
    ),
    Program(
        "AdamW",
        "adamw",
        """
import torch

class AdamW(torch.optim.Optimizer):
    def __init__(self, params, alpha=1e-3, beta1=0.9, beta2=0.999, eps=1e-8, lbd=0.01):
        super().__init__(params, {"alpha": alpha, "beta1": beta1, "beta2": beta2, "eps": eps, "lambda": lbd})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            alpha, beta1, beta2 = group["alpha"], group["beta1"], group["beta2"]
            for p in group["params"]:
                state = self.state[p]
                t = state["t"] = state.get("t", 0) + 1
                m = state["m"] = beta1 * state.get("m", 0) + (1 - beta1) * p.grad
                v = state["v"] = beta2 * state.get("v", 0) + (1 - beta2) * p.grad**2
                p -= alpha * group["lambda"] * p
                p -= alpha * m / (1 - beta1**t) / ((v / (1 - beta2**t)).sqrt() + group["eps"])
""",
        (("p -= alpha * group", "p += alpha * group"),),
    ),
    Program(
        "GPT",
        "gpt2",
        """
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        width, heads = config["n_embd"], config["n_head"]
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn = nn.MultiheadAttention(width, heads, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        hidden = torch.ones(x.size(1), x.size(1), dtype=torch.bool).triu(1)
        y = self.ln_1(x)
        x = x + self.attn(y, y, y, attn_mask=hidden, need_weights=False)[0]
        return x + self.mlp(self.ln_2(x))

class GPT(nn.Module):
    def __init__(self, config):
        super().__init__()
        kind = config["model_type"]
        if kind in config["models"]:
            config["n_embd"] = config["models"][kind]["n_embd"]
        self.wte = nn.Embedding(config["vocab_size"], config["n_embd"])
        self.wpe = nn.Embedding(config["context_size"], config["n_embd"])
        self.h = nn.ModuleList(Block(config) for _ in range(config["n_layer"]))
        self.ln_f = nn.LayerNorm(config["n_embd"])
        self.head = nn.Linear(config["n_embd"], config["vocab_size"], bias=False)

    def forward(self, idx):
        x = self.wte(idx) + self.wpe(torch.arange(idx.size(1)))
        for block in self.h:
            x = block(x)
        return self.head(self.ln_f(x))
""",
        (("x = block(x)", "x = self.h[0](x)"),),
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
    Program(
        "MultHeadCausalAttention",
        "stacked_heads_attention",
        """
import torch
from torch import nn

class CausalAttention(nn.Module):
    def __init__(self, d_in, d_out, length, dropout):
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(d_in, d_out, bias=False) for _ in range(3))
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("hidden", torch.ones(length, length).triu(1).bool())

    def forward(self, x):
        scores = self.query(x) @ self.key(x).transpose(1, 2)
        scores = scores.masked_fill(self.hidden[: x.shape[1], : x.shape[1]], float("-inf"))
        return self.dropout(torch.softmax(scores / scores.new_tensor(self.key.out_features).sqrt(), dim=-1)) @ self.value(x)

class MultHeadCausalAttention(nn.Module):
    def __init__(self, d_in, d_out, length, num_heads=8, dropout=0.5):
        super().__init__()
        self.heads = nn.ModuleList([CausalAttention(d_in, d_out, length, dropout) for _ in range(num_heads)])

    def forward(self, x):
        return torch.cat([head(x) for head in self.heads], dim=-1)
""",
        (("triu(1)", "tril(1)"),),
    ),
    Program(
        "MultiHeadAttentionNumpy",
        "multi_head_attention",
        """
import numpy as np
import torch
from torch import nn

class Projection(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layer = nn.Linear(width, width)

    def forward(self, x):
        return self.layer(x)

def softmax(x):
    powers = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return powers / np.sum(powers, axis=-1, keepdims=True)

class MultiHeadAttentionNumpy:
    def __init__(self, d_model, n_heads):
        self.n_heads = n_heads
        self.W_q = np.random.randn(d_model, d_model)
        self.W_k = np.random.randn(d_model, d_model)
        self.W_v = np.random.randn(d_model, d_model)
        self.W_o = np.random.randn(d_model, d_model)

    def forward(self, q, k, v, mask=None):
        batch, length, width = q.shape
        shape = batch, length, self.n_heads, width // self.n_heads
        q, k, v = (np.dot(x, w).reshape(shape).swapaxes(1, 2) for x, w in ((q, self.W_q), (k, self.W_k), (v, self.W_v)))
        scores = np.matmul(q, k.swapaxes(-2, -1)) / np.sqrt(shape[-1])
        if mask is not None:
            scores += mask * -1e9
        weights = softmax(scores)
        return np.dot(np.matmul(weights, v).swapaxes(1, 2).reshape(batch, length, width), self.W_o), weights
""",
        (("np.sqrt(shape[-1])", "np.sqrt(width)"),),
    ),
    Program(
        "precompute_pos_cis",
        "rotary_tables",
        """
import torch

def precompute_pos_cis(dim, end, theta=10000.0):
    rates = theta ** (-torch.arange(0, dim, 2).float() / dim)
    angles = torch.outer(torch.arange(end).float(), rates)
    return torch.polar(torch.ones_like(angles), angles)
""",
        (("torch.ones_like(angles)", "angles"),),
    ),
    Program(
        "sample_ids",
        "sample",
        """
import numpy as np

def softmax(x):
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)

def sample_ids(scores, count):
    sums = np.cumsum(softmax(scores), axis=-1)
    sums[..., -1] = 1.0
    drawn = [(sums < np.random.uniform(0, 1, scores.shape[:-1] + (1,))).sum(axis=-1) for _ in range(count)]
    return np.stack(drawn, axis=-1)
""",
        (("softmax(scores), axis", "softmax(scores) ** 2, axis"),),
    ),
    Program(
        "scaled_dot_product_attention",
        "scaled_dot_product_attention",
        """
import torch

def scaled_dot_product_attention(Q, K, V, mask=None):
    scores = Q @ K.transpose(-2, -1) / Q.shape[-1] ** 0.5
    scores[..., ~mask] = scores[..., ~mask] - torch.inf
    return torch.softmax(scores, dim=-1) @ V

def attend(q, k, v):
    visible = torch.tril(torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool))
    return scaled_dot_product_attention(q, k, v, visible)
""",
        (("softmax(scores, dim=-1)", "softmax(scores, dim=-2)"), ("Q.shape[-1] ** 0.5", "Q.shape[-1]")),
    ),
)
