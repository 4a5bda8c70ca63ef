"""Constructors that pass keywords on to a base class, bases that subclasses complete, decorators that count, defaults that options name,
and attention of given queries, keys and values under the name of another part."""

from __future__ import annotations

from tests.practice.public.program import Program

ADAM = """
import numpy as np

class Optimizer:
    def __init__(self, lr=0.001, decay_of_epochs=0.0):
        self.lr = lr
        self.decay_of_epochs = decay_of_epochs

    def next_epoch(self):
        self.lr *= 1 - self.decay_of_epochs

class Adam(Optimizer):
    def __init__(self, beta1=0.9, beta2=0.999, epsilon=1e-8, **kwargs):
        super().__init__(**kwargs)
        self.beta1, self.beta2, self.epsilon = beta1, beta2, epsilon
        self.t, self.m, self.v = 0, None, None

    def update(self, parameters, gradients):
        if self.m is None:
            self.m = [np.zeros_like(each) for each in parameters]
            self.v = [np.zeros_like(each) for each in parameters]
        self.t += 1
        for i, (p, g) in enumerate(zip(parameters, gradients)):
            self.m[i] = self.beta1 * self.m[i] + (1 - self.beta1) * g
            self.v[i] = self.beta2 * self.v[i] + (1 - self.beta2) * g * g
            mean = self.m[i] / (1 - self.beta1**self.t)
            square = self.v[i] / (1 - self.beta2**self.t)
            p -= self.lr * mean / (np.sqrt(square) + self.epsilon)
"""

OF_SHAPES = """
import numpy as np

class AdamState:
    def __init__(self, param_shapes, learning_rate_init=0.001, beta_1=0.9, beta_2=0.999, epsilon=1e-8):
        self.rate, self.beta_1, self.beta_2, self.epsilon = learning_rate_init, beta_1, beta_2, epsilon
        self.count = 0
        self.means = [np.zeros(shape) for shape in param_shapes]
        self.squares = [np.zeros(shape) for shape in param_shapes]

    def update_params(self, params, grads):
        self.count += 1
        self.means = [self.beta_1 * m + (1 - self.beta_1) * g for m, g in zip(self.means, grads)]
        self.squares = [self.beta_2 * v + (1 - self.beta_2) * g**2 for v, g in zip(self.squares, grads)]
        rate = self.rate * np.sqrt(1 - self.beta_2**self.count) / (1 - self.beta_1**self.count)
        return [p - rate * m / (np.sqrt(v) + self.epsilon) for p, m, v in zip(params, self.means, self.squares)]
"""

COUNTED = """
import numpy as np

def counted(label=""):
    def around(function):
        def call(*args, **kwargs):
            call.number += 1
            return function(*args, **kwargs)

        call.number = 0
        return call

    return around

@counted("output")
def softmax(x, axis=-1, prime=False):
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    s = e / np.sum(e, axis=axis, keepdims=True)
    if prime:
        return s * (1 - s)
    return s
"""

POSITIONS = """
import torch
from torch import nn

class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, wavelength: float, max_len: int = 500, batch_first: bool = False):
        super().__init__()
        position = torch.arange(max_len).unsqueeze(1)
        angles = position / wavelength ** (torch.arange(0, d_model, 2) / d_model)
        table = torch.zeros(max_len, d_model)
        table[:, 0::2] = torch.sin(angles)
        table[:, 1::2] = torch.cos(angles)
        self.axis = 1 if batch_first else 0
        self.register_buffer("table", table.unsqueeze(1 - self.axis))

    def forward(self, x):
        return x + self.table.narrow(self.axis, 0, x.size(self.axis))
"""

SUMMED = """
import numpy as np

def categorical_cross_entropy(y_true, y_pred, reduction="sum", epsilon=1e-12):
    losses = -np.sum(y_true * np.log(np.clip(y_pred, epsilon, 1.0)), axis=-1)
    if reduction == "sum":
        return np.sum(losses)
    if reduction == "average":
        return np.mean(losses)
    raise ValueError(reduction)
"""

CONSTRAINED = """
import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec

place = jax.lax.with_sharding_constraint

def rms_norm(x, w, eps=1e-6):
    x = place(x, PartitionSpec())
    return w * (x * jax.lax.rsqrt(jnp.square(x).mean(-1, keepdims=True) + eps))
"""

COMPLETED = """
import torch
from torch import nn

class AttentionBase(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.qkv = nn.Linear(d_model, 3 * d_model)
        self.out = nn.Linear(d_model, d_model)

    def forward(self, x):
        q, k, v = (each.unflatten(-1, (self.n_heads, -1)).transpose(1, 2) for each in self.qkv(x).chunk(3, -1))
        weights = self.weigh(q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5)
        return self.out((weights @ v).transpose(1, 2).flatten(2))

class CausalAttention(AttentionBase):
    def weigh(self, scores):
        hidden = torch.ones(scores.shape[-2:]).triu(1).bool()
        return scores.masked_fill(hidden, float("-inf")).softmax(-1)
"""

BARE = """
import math
import torch
from torch import nn

class SelfAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.softmax = nn.Softmax(dim=-1)

    def forward(self, q, k, v, mask=None, eps=1e-12):
        batch_size, heads, length, width = k.size()
        scores = q @ k.transpose(2, 3) / math.sqrt(width)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -10000)
        weights = self.softmax(scores)
        return weights @ v, weights
"""

OF_IMAGE = """
import torch
from torch import nn

class Attention(nn.Module):
    def __init__(self, dim, num_heads=8, qkv_bias=False, reduction=1):
        super().__init__()
        self.num_heads, self.reduction = num_heads, reduction
        self.q = nn.Linear(dim, dim, bias=qkv_bias)
        self.kv = nn.Linear(dim, 2 * dim, bias=qkv_bias)
        self.proj = nn.Linear(dim, dim)
        if reduction > 1:
            self.reduce = nn.Conv2d(dim, dim, reduction, reduction)

    def forward(self, x, H, W):
        B, N, C = x.shape
        q = self.q(x).reshape(B, N, self.num_heads, -1).transpose(1, 2)
        kept = x if self.reduction == 1 else self.reduce(x.mT.reshape(B, C, H, W)).flatten(2).mT
        k, v = self.kv(kept).reshape(B, -1, 2, self.num_heads, C // self.num_heads).permute(2, 0, 3, 1, 4)
        weights = (q @ k.mT * (C // self.num_heads) ** -0.5).softmax(-1)
        return self.proj((weights @ v).transpose(1, 2).reshape(B, N, C))
"""

LEARNS = """
def merge(vocab: dict[int, bytes], words: dict[tuple[bytes, ...], int], vocab_size: int):
    merges = []
    while len(vocab) < vocab_size:
        counts = {}
        for word, count in words.items():
            for pair in zip(word, word[1:]):
                counts[pair] = counts.get(pair, 0) + count
        best = max(counts, key=lambda pair: (counts[pair], pair))
        merges.append(best)
        vocab[len(vocab)] = best[0] + best[1]
        words = {joined(word, best): count for word, count in words.items()}
    return merges

def joined(word, pair):
    found, place = [], 0
    while place < len(word):
        size = 2 if word[place : place + 2] == pair else 1
        found.append(b"".join(word[place : place + size]))
        place += size
    return tuple(found)
"""

PROGRAMS = (
    Program("Adam", "adam_optimizer", ADAM, (("np.sqrt(square) + self.epsilon", "square + self.epsilon"),)),
    Program("AdamState", "adam_optimizer", OF_SHAPES, (("(1 - self.beta_2) * g**2", "(1 - self.beta_2) * g"),)),
    Program("softmax", "softmax", COUNTED, (("np.sum(e, axis=axis", "np.sum(e, axis=0"),)),
    Program("PositionalEncoding", "sinusoidal_positions", POSITIONS, (("x.size(self.axis)", "x.size(1 - self.axis)"),)),
    Program("categorical_cross_entropy", "cross_entropy", SUMMED, (("np.sum(losses)", "np.sum(losses) / 2"),)),
    Program("rms_norm", "rms_norm", CONSTRAINED, (("jnp.square(x)", "jnp.abs(x)"),)),
    Program("CausalAttention", "causal_self_attention", COMPLETED, ((".triu(1)", ".triu(2)"),)),
    Program("SelfAttention", "scaled_dot_product_attention", BARE, (("math.sqrt(width)", "width"),)),
    Program("Attention", "self_attention", OF_IMAGE, (("self.num_heads) ** -0.5", "self.num_heads) ** 0.5"),)),
)
