"""Repairs of attention that never moves its heads before the positions: query, key and value need the same change."""

from __future__ import annotations

import pytest

from tests.practice.test_repair import repaired, with_slips

FUSED = """
import torch
import torch.nn.functional as F
from torch import nn

class CausalSelfAttention(nn.Module):
    def __init__(self, width, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.query, self.key, self.value = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)
        self.project = nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        sizes = batch, length, self.num_heads, width // self.num_heads
        q, k, v = self.query(x).view(sizes), self.key(x).view(sizes), self.value(x).view(sizes)
        q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.project(y.transpose(1, 2).reshape(batch, length, width))
"""
ON_NUMPY = """
import numpy as np

def multi_head_attention(query, key, value, w_q, w_k, w_v, w_o, num_heads):
    batch, length, width = query.shape
    d = width // num_heads
    q = (query @ w_q).reshape(batch, -1, num_heads, d)
    k = (key @ w_k).reshape(batch, -1, num_heads, d)
    v = (value @ w_v).reshape(batch, -1, num_heads, d)
    q, k, v = q.swapaxes(1, 2), k.swapaxes(1, 2), v.swapaxes(1, 2)
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(d)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights = weights / weights.sum(-1, keepdims=True)
    return (weights @ v).swapaxes(1, 2).reshape(batch, length, width) @ w_o
"""
PROGRAMS = [
    ("causal_self_attention", FUSED, "        q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)\n"),
    ("multi_head_attention", ON_NUMPY, "    q, k, v = q.swapaxes(1, 2), k.swapaxes(1, 2), v.swapaxes(1, 2)\n"),
]


@pytest.mark.parametrize(("part", "program", "line"), PROGRAMS, ids=("torch", "numpy"))
def test_heads_that_are_never_moved_are_repaired(part, program, line):
    text, _ = with_slips(program, [(line, "")])
    repair, is_right = repaired(part, text)
    assert is_right, repair
