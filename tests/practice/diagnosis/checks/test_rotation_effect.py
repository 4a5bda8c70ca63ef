"""Rotary positions that turn all positions alike."""

from __future__ import annotations

import pytest

from headway.practice.diagnosis.sandbox import check_file
from tests.practice.diagnosis.checks.judging import verdict_on

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


ROTATES_VALUES = """
import torch
from torch import nn

def apply_rope(x):
    half = x.shape[-1] // 2
    angles = torch.arange(x.shape[-2])[:, None] * 10000.0 ** (-torch.arange(half) / half)
    one, other = x[..., :half], x[..., half:]
    return torch.cat((one * angles.cos() - other * angles.sin(), other * angles.cos() + one * angles.sin()), -1)

class CausalSelfAttention(nn.Module):
    def __init__(self, hidden_size, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.q_proj = nn.Linear(hidden_size, hidden_size, bias=False)
        self.k_proj = nn.Linear(hidden_size, hidden_size, bias=False)
        self.v_proj = nn.Linear(hidden_size, hidden_size, bias=False)
        self.o_proj = nn.Linear(hidden_size, hidden_size, bias=False)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (f(x).view(batch, length, self.num_heads, -1).transpose(1, 2) for f in (self.q_proj, self.k_proj, self.v_proj))
        q = apply_rope(q)
        k = apply_rope(k)
        v = apply_rope(v)
        scores = (q @ k.transpose(-1, -2)) * q.shape[-1] ** -0.5
        scores = scores.masked_fill(torch.ones(length, length, dtype=torch.bool).triu(1), -torch.inf)
        return self.o_proj((scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, length, width))
"""


def test_rotated_values_are_named(tmp_path):
    verdict = verdict_on(tmp_path, ROTATES_VALUES, "CausalSelfAttention")
    assert (verdict.status, [each.name for each in verdict.causes]) == ("wrong", ["rotates_values"])
    right = verdict_on(tmp_path, ROTATES_VALUES.replace("        v = apply_rope(v)\n", ""), "CausalSelfAttention")
    assert right.is_correct
