"""Attention under the name of a block, and other parts of the thirty-second sample, with mistakes as replacements in their text."""

from __future__ import annotations

from tests.practice.public.program import Program

BLOCK = """
import math

from torch import nn


class MultiHeadAttentionBlock(nn.Module):
    def __init__(self, d_model, h, dropout):
        super().__init__()
        assert d_model % h == 0
        self.h, self.d_k = h, d_model // h
        self.w_q = nn.Linear(d_model, d_model)
        self.w_k = nn.Linear(d_model, d_model)
        self.w_v = nn.Linear(d_model, d_model)
        self.w_o = nn.Linear(d_model, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, q, k, v, mask):
        query, key, value = self.w_q(q), self.w_k(k), self.w_v(v)
        query = query.view(len(query), query.shape[1], self.h, self.d_k).transpose(1, 2)
        key, value = (each.view(len(each), each.shape[1], self.h, self.d_k).transpose(1, 2) for each in (key, value))
        scores = query @ key.mT / math.sqrt(self.d_k)
        if mask is not None:
            scores.masked_fill_(mask == 0, -1e9)
        return self.w_o((self.dropout(scores.softmax(dim=-1)) @ value).transpose(1, 2).flatten(2))
"""

PROGRAMS = (
    Program(
        "MultiHeadAttentionBlock",
        "multi_head_attention",
        BLOCK,
        ((" / math.sqrt(self.d_k)", ""), (".transpose(1, 2).flatten(2)", ".flatten(1, 2).unflatten(1, (-1, self.h)).flatten(2)")),
    ),
)
