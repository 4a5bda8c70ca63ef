"""Rotary positions that turn all positions alike."""

from __future__ import annotations

import pytest

from headway.practice.diagnosis.sandbox import check_file

ATTENTION = """
import torch
from torch import nn

def apply_rope(q, k):
    length, width = q.shape[-2:]
    angles = torch.arange(length)[:, None] * 10000.0 ** (-torch.arange(0, width, 2) / width)
    cos, sin = angles.cos(), angles.sin()
    def rotated(x):
        even, odd = x[..., ::2], x[..., 1::2]
        return torch.stack((even * cos - odd * sin, even * sin + odd * cos), -1).flatten(-2)
    return rotated(q), rotated(k)

class CausalSelfAttention(nn.Module):
    def __init__(self, n_embd, n_head):
        super().__init__()
        self.n_head = n_head
        self.qkv = nn.Linear(n_embd, 3 * n_embd)
        self.proj = nn.Linear(n_embd, n_embd)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (each.view(batch, length, self.n_head, -1) for each in self.qkv(x).chunk(3, -1))
        {rotation}
        scores = q @ k.mT / q.shape[-1] ** 0.5
        scores = scores.masked_fill(torch.ones(length, length).triu(1).bool(), -torch.inf)
        return self.proj((scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, length, width))
"""
FORWARD = "q, k, v = (each.transpose(1, 2) for each in (q, k, v))"
ROTATED = "q, k = apply_rope(q, k)"


def checked(tmp_path, *lines):
    path = tmp_path / "attention.py"
    path.write_text(ATTENTION.format(rotation="\n        ".join(lines)))
    return next(each for each in check_file(path) if each.subject == "CausalSelfAttention")


@pytest.mark.parametrize("lines", [(FORWARD, ROTATED), (FORWARD,)])
def test_attention_with_rotary_positions_and_without_is_right(tmp_path, lines):
    assert checked(tmp_path, *lines).is_correct


@pytest.mark.parametrize("lines", [(ROTATED, FORWARD), (FORWARD, "apply_rope(q, k)")])
def test_rotations_by_the_index_of_the_head_or_whose_result_is_dropped_have_no_effect(tmp_path, lines):
    verdict = checked(tmp_path, *lines)
    assert verdict.status == "wrong"
    assert [cause.name for cause in verdict.causes] == ["rotation_without_effect"]
