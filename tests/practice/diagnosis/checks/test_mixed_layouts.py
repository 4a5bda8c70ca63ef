"""Angles that are doubled for pairs of neighbours and turn pairs of halves, in a class that could not be called, and neighbours exchanged as halves."""

from __future__ import annotations

import pytest

from headway.practice.diagnosis.doubt import settled
from headway.practice.diagnosis.files import load_module, with_exercises
from headway.practice.diagnosis.inherited import with_inherited
from headway.practice.diagnosis.nested import verdicts
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


ROTATION = """
import torch
from torch import nn

class Rotary(nn.Module):
    def __init__(self, dim, max_len):
        super().__init__()
        angles = torch.outer(torch.arange(max_len).float(), 10000.0 ** (-torch.arange(0, dim, 2) / dim)).repeat_interleave(2, -1)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def exchanged(self, x):
        even, odd = x[..., ::2], x[..., 1::2]
        return EXCHANGED

    def forward(self, x, seq_len):
        return x * self.cos[:seq_len] + self.exchanged(x) * self.sin[:seq_len]

class GQA(nn.Module):
    def __init__(self, d_model, n_head, n_kv_head, max_len):
        super().__init__()
        self.n_head, self.n_kv_head, self.d_k = n_head, n_kv_head, d_model // n_head
        self.q, self.o = nn.Linear(d_model, d_model, bias=False), nn.Linear(d_model, d_model, bias=False)
        self.k, self.v = (nn.Linear(d_model, n_kv_head * self.d_k, bias=False) for _ in range(2))
        self.rope = Rotary(self.d_k, max_len)

    def forward(self, x):
        batch, length, _ = x.shape
        q, k, v = (layer(x).view(batch, length, -1, self.d_k).transpose(1, 2) for layer in (self.q, self.k, self.v))
        k, v = (each.repeat_interleave(self.n_head // self.n_kv_head, dim=1) for each in (k, v))
        weights = (self.rope(q, length) @ self.rope(k, length).mT / self.d_k**0.5).softmax(-1)
        return self.o((weights @ v).transpose(1, 2).reshape(batch, length, -1))
"""


def _settled(tmp_path, exchanged):
    pytest.importorskip("torch")
    path, text = tmp_path / "rotary.py", ROTATION.replace("EXCHANGED", exchanged)
    path.write_text(text)
    return {each.subject: each for each in with_inherited(settled(verdicts(list(with_exercises(load_module(path, text), text)))))}


def test_neighbours_exchanged_as_halves_are_wrong_and_so_is_the_attention_that_makes_them(tmp_path):
    found = _settled(tmp_path, "torch.cat([-odd, even], dim=-1)")
    assert [(cause.name, cause.line) for cause in found["Rotary"].causes] == [("layouts_differ", 14)]
    assert [cause.name for cause in found["GQA"].causes] == ["because_of_Rotary"]


def test_neighbours_exchanged_by_turns_are_right(tmp_path):
    found = _settled(tmp_path, "torch.stack([-odd, even], dim=-1).flatten(-2)")
    assert found["Rotary"].is_correct
    assert found["GQA"].is_correct
