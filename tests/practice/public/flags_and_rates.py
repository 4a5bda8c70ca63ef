"""Parts whose optional settings are None by default: a flag that turns rotary positions on, and losses with smoothed targets."""

from __future__ import annotations

from tests.practice.public.program import Program

PROGRAMS = (
    Program(
        "CausalMultiHeadAttention",
        "causal_self_attention",
        """
import torch
from torch import nn

class Rotary(nn.Module):
    def __init__(self, width, theta, max_len):
        super().__init__()
        angles = torch.arange(max_len)[:, None] * theta ** (-torch.arange(0, width, 2) / width)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def forward(self, x):
        cos, sin = self.cos[: x.shape[-2]], self.sin[: x.shape[-2]]
        even, odd = x[..., ::2], x[..., 1::2]
        return torch.stack((even * cos - odd * sin, even * sin + odd * cos), -1).flatten(-2)

class CausalMultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, theta=None, max_len=None, use_rope=None):
        super().__init__()
        self.num_heads, self.use_rope = num_heads, use_rope
        if use_rope:
            self.rope = Rotary(d_model // num_heads, theta, max_len)
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (w(x).view(batch, length, self.num_heads, -1).transpose(1, 2) for w in (self.wq, self.wk, self.wv))
        if self.use_rope:
            q, k = self.rope(q), self.rope(k)
        scores = q @ k.mT / q.shape[-1] ** 0.5
        scores = scores.masked_fill(torch.ones(length, length).triu(1).bool(), -torch.inf)
        return self.wo((scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, length, width))
""",
        (("self.rope(q), self.rope(k)", "self.rope(q), k"),),
    ),
    Program(
        "LabelSmoothLoss",
        "cross_entropy",
        """
import torch
from torch import nn

class LabelSmoothLoss(nn.Module):
    def __init__(self, rate=0.0):
        super().__init__()
        self.rate = rate

    def forward(self, prediction, target):
        logs = prediction.log_softmax(-1)
        shares = torch.full_like(logs, self.rate / (logs.shape[-1] - 1))
        shares.scatter_(-1, target[..., None], 1 - self.rate)
        return -(shares * logs).sum(-1).mean()
""",
    ),
)
