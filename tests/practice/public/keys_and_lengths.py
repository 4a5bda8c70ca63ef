"""Attention that takes queries and keys, and tables of positions whose length is a field of a group of settings."""

from __future__ import annotations

from tests.practice.public.program import Program

QUERIES_AND_KEYS = """
import torch
from torch import nn

class MultiHeadAttention(nn.Module):
    def __init__(self, width, num_heads, rate=0.1):
        super().__init__()
        self.num_heads, self.dropout = num_heads, nn.Dropout(rate)
        self.to_queries, self.to_keys, self.to_values = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)

    def heads(self, x):
        return torch.cat(x.chunk(self.num_heads, dim=-1), dim=0)

    def forward(self, queries, keys, causality=False):
        query, key, value = self.heads(self.to_queries(queries)), self.heads(self.to_keys(keys)), self.heads(self.to_values(keys))
        scores = query @ key.transpose(1, 2) / key.shape[-1] ** 0.5
        if causality:
            scores = scores.masked_fill(torch.ones_like(scores[0]).tril() == 0, float("-inf"))
        mixed = self.dropout(scores.softmax(dim=-1)) @ value
        return torch.cat(mixed.chunk(self.num_heads, dim=0), dim=-1)
"""
"""Keys and values are computed from the same operand, which is named after the keys."""

LENGTH_OF_DATA = """
import math
import torch
from torch import nn

class PositionalEncoding(nn.Module):
    def __init__(self, hp):
        super().__init__()
        self.dropout = nn.Dropout(hp.model.dropout)
        self.register_buffer("table", self.rows(hp.data.data_length, hp.model.d_model))

    def rows(self, length, width):
        angles = torch.arange(length).unsqueeze(1) * torch.exp(torch.arange(0, width, 2) * -math.log(10000) / width)
        table = torch.zeros(1, length, width)
        table[..., 0::2], table[..., 1::2] = angles.sin(), angles.cos()
        return table

    def forward(self, x):
        return self.dropout(x + self.table[:, : x.shape[1]])
"""
"""The length is a field of the settings of the data, under a name that no part lists."""

PROGRAMS = (
    Program(
        "MultiHeadAttention",
        "cross_attention",
        QUERIES_AND_KEYS,
        (
            ("self.heads(self.to_values(keys))", "self.heads(self.to_values(queries))"),
            ("key.shape[-1] ** 0.5", "keys.shape[-1] ** 0.5"),
            ("scores.softmax(dim=-1)", "scores.softmax(dim=1)"),
        ),
    ),
    Program(
        "PositionalEncoding",
        "sinusoidal_positions",
        LENGTH_OF_DATA,
        (("math.log(10000)", "math.log(1000)"), ("angles.cos()", "angles.sin()"), (": x.shape[1]]", "1 : x.shape[1] + 1]")),
    ),
)
