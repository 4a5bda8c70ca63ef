"""Layers that are right with correct parts in place of their own, and raise with these for several sequences."""

from __future__ import annotations

import pytest

from tests.practice.diagnosis.checks.judging import verdict_on

BLOCK = """
import torch
from torch import nn

class Rope(nn.Module):
    def __init__(self, d_k, max_seq_len=64):
        super().__init__()
        angles = torch.outer(torch.arange(max_seq_len).float(), 10000 ** -(torch.arange(0, d_k, 2).float() / d_k))
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def forward(self, x, positions):
        cos, sin = self.cos[positions], self.sin[positions]
        even, odd = x[..., ::2], x[..., 1::2]
        return torch.stack((even * cos - odd * sin, even * sin + odd * cos), dim=-1).flatten(-2)

class Attention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
        self.rope = Rope(d_model // num_heads)

    def forward(self, x, positions):
        q, k, v = (p(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for p in (self.q_proj, self.k_proj, self.v_proj))
        q, k = self.rope(q, positions), self.rope(k, positions)
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o_proj(y.transpose(1, 2).flatten(-2))

class TransformerBlock(nn.Module):
    def __init__(self, d_model, num_heads, d_ff):
        super().__init__()
        self.attn_norm, self.ff_norm = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.attn = Attention(d_model, num_heads)
        self.ff = nn.Sequential(nn.Linear(d_model, d_ff), nn.GELU(), nn.Linear(d_ff, d_model))

    def forward(self, x):
        positions = torch.arange(x.shape[1])
        x = x + self.attn(self.attn_norm(x), positions)
        return x + self.ff(self.ff_norm(x))
"""


def test_blocks_whose_positions_suit_all_batches_are_correct(tmp_path):
    pytest.importorskip("torch")
    assert verdict_on(tmp_path, BLOCK, "TransformerBlock").is_correct


def test_positions_of_each_sequence_without_an_axis_of_heads_are_wrong(tmp_path):
    pytest.importorskip("torch")
    text = BLOCK.replace("torch.arange(x.shape[1])\n", "torch.arange(x.shape[1]).expand(x.shape[0], -1)\n")
    verdict = verdict_on(tmp_path, text, "TransformerBlock")
    assert verdict.status == "wrong"
    assert verdict.causes[0].name == "raises_RuntimeError"
    assert verdict.causes[0].line == text.split("\n").index("        x = x + self.attn(self.attn_norm(x), positions)") + 1
