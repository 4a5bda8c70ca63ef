"""Masks by lengths of one of two sequences, parts that their structure shows, settings in Chinese, heads that a function splits."""

from __future__ import annotations

from tests.practice.public.program import Program

LENGTHS_OF_MEMORY = """
import torch
from torch import nn

class CrossAttention(nn.Module):
    def __init__(self, dim, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.q, self.k, self.v, self.out = (nn.Linear(dim, dim) for _ in range(4))

    def heads(self, x):
        return x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)

    def forward(self, x, memory, memory_lengths=None):
        q, k, v = self.heads(self.q(x)), self.heads(self.k(memory)), self.heads(self.v(memory))
        scores = q @ k.mT * q.shape[-1] ** -0.5
        if memory_lengths is not None:
            is_late = torch.arange(memory.shape[1])[None] >= memory_lengths[:, None]
            scores = scores.masked_fill(is_late[:, None, None], float("-inf"))
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))
"""
"""Lengths of the second sequence, under a name that no part lists."""

EMBEDDING = """
from torch import nn

class TokenEmbedding(nn.Module):
    def __init__(self, vocab_size: int, emb: int):
        super().__init__()
        self.table, self.width = nn.Embedding(vocab_size, emb), emb

    def forward(self, tokens):
        return self.table(tokens) * self.width**0.5
"""
"""A width under the name of a table, `emb`."""

AROUND = """
from torch import nn

class Wrapped(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)

    def forward(self, x, layer):
        branch = layer(self.norm(x))
        return x + branch
"""
"""A residual connection under a name that does not say so."""

SEVERAL = """
import torch
from torch import nn

class SingleHead(nn.Module):
    def __init__(self, width, head_dim):
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(width, head_dim, bias=False) for _ in range(3))

    def forward(self, x):
        weights = (self.query(x) @ self.key(x).mT / self.key(x).shape[-1] ** 0.5).softmax(-1)
        return weights @ self.value(x)

class Several(nn.Module):
    def __init__(self, width, num_heads):
        super().__init__()
        self.heads = nn.ModuleList([SingleHead(width, width // num_heads) for _ in range(num_heads)])
        self.out = nn.Linear(width, width)

    def forward(self, x):
        return self.out(torch.cat([head(x) for head in self.heads], dim=-1))
"""
"""Heads that are concatenated, in a class of another name."""

CHINESE = """
from dataclasses import dataclass
from torch import nn

@dataclass
class Config:
    模型维度: int = 16
    前馈维度: int = 32
    丢弃率: float = 0.1

class FeedForward(nn.Module):
    def __init__(self, config: Config):
        super().__init__()
        self.up, self.down = nn.Linear(config.模型维度, config.前馈维度), nn.Linear(config.前馈维度, config.模型维度)
        self.dropout = nn.Dropout(config.丢弃率)

    def forward(self, x):
        return self.dropout(self.down(self.up(x).relu()))
"""
"""Settings whose names are Chinese."""

ALL_HEADS = """
import torch

def attend(q, k, v, num_heads, bias=None):
    q, k, v = (x.unflatten(-1, (num_heads, -1)).transpose(1, 2) for x in (q, k, v))
    scores = q @ k.mT / q.shape[-1] ** 0.5
    scores = scores if bias is None else scores + bias
    return (scores.softmax(-1) @ v).transpose(1, 2).flatten(2)
"""
"""Attention of projected sequences, which the function splits into heads."""

PROGRAMS = (
    Program("CrossAttention", "cross_attention", LENGTHS_OF_MEMORY, ((">= memory_lengths", "> memory_lengths"),)),
    Program("TokenEmbedding", "embed", EMBEDDING),
    Program("Wrapped", "residual", AROUND, (("x + branch", "self.norm(x) + branch"),)),
    Program(
        "Several",
        "stacked_heads_attention",
        SEVERAL,
        (("[SingleHead(width, width // num_heads) for _ in range(num_heads)]", "[SingleHead(width, width // num_heads)] * num_heads"),),
    ),
    Program("FeedForward", "feed_forward", CHINESE, ((".relu()", ""),)),
    Program("attend", "multi_head_attention", ALL_HEADS, ((".softmax(-1)", ".softmax(-2)"),)),
)
