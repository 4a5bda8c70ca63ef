"""Operands named after their durations, losses that take the size of the vocabulary, and layers whose attention has a number of heads of its own."""

from __future__ import annotations

from tests.practice.public.program import Program

PROGRAMS = (
    Program(
        "rate_by_cosine_annealing",
        "cosine_schedule",
        """
import math

def rate_by_cosine_annealing(t, alpha_max, alpha_min, T_warmup, T_cosine):
    if t < T_warmup:
        return alpha_max * t / T_warmup
    if t >= T_cosine:
        return alpha_min
    fallen = (t - T_warmup) / (T_cosine - T_warmup)
    return alpha_min + (alpha_max - alpha_min) * (1 + math.cos(math.pi * fallen)) / 2
""",
        (("1 + math.cos", "1 - math.cos"),),
    ),
    Program(
        "token_loss",
        "cross_entropy",
        """
import torch.nn.functional as F

def token_loss(logits, labels, vocab_size, **others):
    flat = logits.reshape(-1, logits.shape[-1])
    return F.cross_entropy(flat, labels.reshape(-1))
""",
        (("labels.reshape(-1))", "labels.reshape(-1), reduction='sum')"),),
    ),
    Program(
        "EncoderLayer",
        "encoder_layer",
        """
from torch import nn

class SelfAttention(nn.Module):
    def __init__(self, width, num_heads=8):
        super().__init__()
        self.num_heads, self.head_dim = num_heads, width // num_heads
        self.to_q, self.to_k = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
        self.to_v, self.to_out = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (to(x).view(batch, length, self.num_heads, self.head_dim).transpose(1, 2) for to in (self.to_q, self.to_k, self.to_v))
        weights = (q @ k.transpose(-2, -1) / self.head_dim**0.5).softmax(-1)
        return self.to_out((weights @ v).transpose(1, 2).reshape(batch, length, width))

class EncoderLayer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.attention = SelfAttention(width)
        self.feed_forward = nn.Sequential(nn.Linear(width, 4 * width), nn.ReLU(), nn.Linear(4 * width, width))
        self.norm_1, self.norm_2 = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x):
        x = self.norm_1(x + self.attention(x))
        return self.norm_2(x + self.feed_forward(x))
""",
        (("self.norm_2(x + self", "self.norm_1(x + self"), ("x + self.attention(x)", "self.attention(x)")),
    ),
    Program(
        "MultiHeadAttention",
        "multi_head_attention",
        """
import torch
from torch import nn

class MultiHeadAttention(nn.Module):
    def __init__(self, width, no_of_heads):
        super().__init__()
        self.no_of_heads = no_of_heads
        self.query, self.key = nn.Linear(width, width), nn.Linear(width, width)
        self.value, self.output = nn.Linear(width, width), nn.Linear(width, width)

    def split(self, x):
        return x.view(x.size(0), x.size(1), self.no_of_heads, -1).transpose(1, 2)

    def forward(self, q, k, v):
        q, k, v = self.split(self.query(q)), self.split(self.key(k)), self.split(self.value(v))
        weights = torch.softmax(q @ k.mT / q.size(-1) ** 0.5, dim=-1)
        return self.output((weights @ v).transpose(1, 2).flatten(2))
""",
        (("q.size(-1) ** 0.5", "q.size(-1)"),),
    ),
)
