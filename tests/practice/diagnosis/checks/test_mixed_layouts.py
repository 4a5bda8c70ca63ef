"""Angles that are doubled for pairs of neighbours and turn pairs of halves, in a class that could not be called."""

from __future__ import annotations

import pytest

from headway.practice.diagnosis.sandbox import check_file

ATTENTION = """
import torch
from torch import nn
from .kernels import fast_attention

def exchanged(x):
    first, second = x.chunk(2, -1)
    return torch.cat([-second, first], dim=-1)

class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads, self.width = num_heads, d_model // num_heads
        self.q, self.k, self.v, self.o = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))

    def turned(self, x):
        rates = 10000.0 ** (-torch.arange(0, self.width, 2) / self.width)
        angles = torch.outer(torch.arange(x.shape[-2]).float(), rates)
        both = DOUBLED
        return x * both.cos() + exchanged(x) * both.sin()

    def forward(self, x):
        batch, length, width = x.shape
        shape = batch, length, self.num_heads, self.width
        q, k, v = (layer(x).view(shape).transpose(1, 2) for layer in (self.q, self.k, self.v))
        mixed = fast_attention(self.turned(q), self.turned(k), v)
        return self.o(mixed.transpose(1, 2).reshape(batch, length, width))
"""


def _causes(tmp_path, doubled):
    pytest.importorskip("torch")
    path = tmp_path / "attention.py"
    path.write_text(ATTENTION.replace("DOUBLED", doubled))
    found = {each.subject: each for each in check_file(path)}
    return [(cause.name, cause.line) for cause in found["MultiHeadAttention"].causes]


@pytest.mark.parametrize(
    "doubled",
    ["angles.repeat_interleave(2, dim=-1)", "torch.repeat_interleave(angles, 2, -1)", "torch.stack([angles, angles], dim=-1).flatten(1)"],
)
def test_angles_doubled_for_neighbours_do_not_turn_halves(tmp_path, doubled):
    assert _causes(tmp_path, doubled) == [("layouts_differ", 19)]


@pytest.mark.parametrize(
    "doubled", ["torch.cat([angles, angles], dim=-1)", "angles.repeat(1, 2)", "torch.stack([angles, angles], dim=1).flatten(1)"]
)
def test_angles_doubled_for_halves_are_not_accused(tmp_path, doubled):
    assert all(name != "layouts_differ" for name, _ in _causes(tmp_path, doubled))
