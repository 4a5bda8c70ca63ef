"""Programs that normalize queries and keys, ask for a kind by its name, or return the rates of steps from a class, with mistakes in their text."""

from __future__ import annotations

from tests.practice.public.program import Program

NORMED = """
import torch
from torch import nn
import torch.nn.functional as F

def rms_norm(x):
    return F.rms_norm(x, (x.size(-1),))

class CausalSelfAttention(nn.Module):
    def __init__(self, width, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.mix = nn.Linear(width, width, bias=False)

    def forward(self, x):
        rows, length, width = x.shape
        split = (rows, length, 3, self.num_heads, width // self.num_heads)
        q, k, v = self.qkv(x).view(split).permute(2, 0, 3, 1, 4)
        q, k = rms_norm(q), rms_norm(k)
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=0.3)
        return self.mix(attended.transpose(1, 2).reshape(rows, length, width))
"""

SCHEDULE = """
from math import cos, pi

class WarmupCosineSchedule:
    def __init__(self, max_lr, min_lr, warmup_steps, total_steps):
        assert 0 < warmup_steps < total_steps, "a warmup is needed"
        self.high, self.low, self.warmup_steps, self.total_steps = max_lr, min_lr, warmup_steps, total_steps

    def __call__(self, step):
        if step < self.warmup_steps:
            return self.high * step / self.warmup_steps
        if step > self.total_steps:
            return self.low
        share = (step - self.warmup_steps) / (self.total_steps - self.warmup_steps)
        return self.low + 0.5 * (1 + cos(pi * share)) * (self.high - self.low)
"""

KIND = """
import torch
from torch import nn

class SelfAttention(nn.Module):
    def __init__(self, width, heads, family: str, kind: str):
        super().__init__()
        if kind not in {"banded", "exact"}:
            raise ValueError(kind)
        self.heads, self.kind = heads, kind
        self.q, self.k, self.v, self.out = (nn.Linear(width, width) for _ in range(4))

    def forward(self, x):
        q, k, v = (part(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in (self.q, self.k, self.v))
        scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
        if self.kind == "banded":
            places = torch.arange(x.shape[1])
            scores = scores.masked_fill((places[:, None] - places).abs() > 1, float("-inf"))
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))
"""

EXPERT = """
import torch
from torch import nn

class SharedExpert(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.open, self.lift = (nn.Linear(config.d_model, config.d_ff, bias=False) for _ in range(2))
        self.lower = nn.Linear(config.d_ff, config.d_model, bias=False)

    def forward(self, x):
        return self.lower(torch.nn.functional.silu(self.open(x)) * self.lift(x))
"""

PROGRAMS = (
    Program(
        "CausalSelfAttention",
        "causal_self_attention",
        NORMED,
        (("is_causal=True", "is_causal=False"), ("rms_norm(q), rms_norm(k)", "rms_norm(q), k + 0 * rms_norm(k)")),
    ),
    Program("WarmupCosineSchedule", "cosine_schedule", SCHEDULE, (("share = (step - self.warmup_steps)", "share = step"),)),
    Program("SelfAttention", "self_attention", KIND, (("** 0.5", "** 1.0"),)),
    Program("SharedExpert", "gated_feed_forward", EXPERT, (("silu(self.open(x)) * self.lift(x)", "silu(self.open(x) * self.lift(x))"),)),
)
