"""Descents on what is given, losses with smoothed targets, rates that an optimizer's method sets, and parts that a text chooses."""

from __future__ import annotations

from tests.practice.public.program import Program

PROGRAMS = (
    Program(
        "gradient_descent",
        "linear_regression",
        """
import numpy as np

def gradient_descent(X, y, weights, learning_rate, n_iterations, batch_size=1, method="batch"):
    count = len(X) if method == "batch" else batch_size
    for _ in range(n_iterations):
        for first in range(0, len(X), count):
            rows, wanted = X[first : first + count], y[first : first + count]
            error = rows @ weights - wanted
            weights = weights - learning_rate * rows.T @ error / len(rows)
    return np.round(weights, 4)
""",
        (("weights - learning_rate", "weights + learning_rate"), ("error / len(rows)", "error"), ("weights, 4", "weights, 0")),
    ),
    Program(
        "CosineRateScheduler",
        "cosine_schedule",
        """
import math

class CosineRateScheduler:
    def __init__(self, optimizer, max_lr, min_lr, warmup_steps, total_steps):
        self.optimizer = optimizer
        self.max_lr, self.min_lr, self.warmup_steps, self.total_steps = max_lr, min_lr, warmup_steps, total_steps
        self.step_count = 0

    def step(self):
        self.step_count += 1
        if self.step_count <= self.warmup_steps:
            rate = self.max_lr * self.step_count / self.warmup_steps
        else:
            share = (self.step_count - self.warmup_steps) / max(1, self.total_steps - self.warmup_steps)
            rate = self.min_lr + 0.5 * (self.max_lr - self.min_lr) * (1 + math.cos(math.pi * share))
        self.optimizer.set_lr(rate)
""",
        (("set_lr(rate)", "set_lr(self.max_lr)"), ("max(1, self.total_steps - self.warmup_steps)", "self.total_steps")),
    ),
    Program(
        "smoothed_cross_entropy",
        "cross_entropy",
        """
import torch
import torch.nn.functional as F

def smoothed_cross_entropy(scores, labels, eps=0.1, pad=0):
    size = scores.shape[-1]
    wanted = (1 - eps) * F.one_hot(labels, size) + eps / size
    wanted = wanted.masked_fill((labels == pad).unsqueeze(-1), 0)
    return -(wanted * F.log_softmax(scores, -1)).sum() / (labels != pad).sum()
""",
        (("eps / size", "eps"), ("(1 - eps) * F", "F"), (" / (labels != pad).sum()", " / len(labels)")),
    ),
    Program(
        "label_smoothing_cross_entropy",
        "cross_entropy",
        """
import torch

def label_smoothing_cross_entropy(logits, targets, smoothing=0.1):
    log_probs = torch.log_softmax(logits, dim=-1)
    wanted = torch.full_like(log_probs, smoothing / (logits.size(-1) - 1))
    wanted.scatter_(-1, targets.unsqueeze(-1), 1.0 - smoothing)
    return -(wanted * log_probs).sum(-1).mean()
""",
        (("1.0 - smoothing", "1.0"), ("size(-1) - 1)", "size(-1) - 2)")),
    ),
    Program(
        "SlidingKV",
        "kv_cache",
        """
import torch

class SlidingKV:
    def __init__(self, window):
        self.window, self.k, self.v = window, None, None

    def step(self, k_new, v_new):
        self.k = k_new if self.k is None else torch.cat([self.k, k_new], dim=2)
        self.v = v_new if self.v is None else torch.cat([self.v, v_new], dim=2)
        self.k, self.v = self.k[:, :, -self.window :], self.v[:, :, -self.window :]
        return self.k, self.v
""",
        (("[self.v, v_new]", "[v_new, self.v]"), ("return self.k, self.v", "return self.v, self.k")),
    ),
    Program(
        "DecoderBlock",
        "transformer_block",
        """
import torch
from torch import nn

def chosen_norm(kind: str, width: int):
    if kind.lower() == "rms":
        return nn.RMSNorm(width)
    if kind.lower() == "layernorm":
        return nn.LayerNorm(width)
    raise ValueError(kind)

class CausalSelfAttention(nn.Module):
    def __init__(self, d_model, n_head):
        super().__init__()
        self.n_head = n_head
        self.qkv = nn.Linear(d_model, 3 * d_model)
        self.proj = nn.Linear(d_model, d_model)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (each.view(batch, length, self.n_head, -1).transpose(1, 2) for each in self.qkv(x).chunk(3, -1))
        scores = q @ k.transpose(-2, -1) / (width // self.n_head) ** 0.5
        hidden = torch.ones(length, length, dtype=torch.bool).triu(1)
        mixed = scores.masked_fill(hidden, float("-inf")).softmax(-1) @ v
        return self.proj(mixed.transpose(1, 2).reshape(batch, length, width))

class DecoderBlock(nn.Module):
    def __init__(self, d_model: int, n_head: int, norm_kind: str):
        super().__init__()
        self.ln1, self.ln2 = chosen_norm(norm_kind, d_model), chosen_norm(norm_kind, d_model)
        self.attn = CausalSelfAttention(d_model, n_head)
        self.mlp = nn.Sequential(nn.Linear(d_model, 4 * d_model), nn.GELU(), nn.Linear(4 * d_model, d_model))

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.mlp(self.ln2(x))
""",
        (("return x + self.mlp", "return self.mlp"), ("self.attn(self.ln1(x))", "self.attn(x)")),
    ),
    Program(
        "layer_norm",
        "layer_norm",
        """
import numpy as np

def softmax(x):
    powers = np.exp(x - x.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)

def layer_norm(x, eps):
    mean, variance = np.mean(x, axis=1, keepdims=True), np.var(x, axis=1, keepdims=True)
    return (x - mean) / (variance + eps) ** 0.5, mean, variance
""",
        (("np.mean(x, axis=1", "np.mean(x, axis=0"), ("(variance + eps) ** 0.5", "(variance + eps)")),
    ),
)
