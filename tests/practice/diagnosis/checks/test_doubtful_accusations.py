"""Parts that are not accused because of another: a method of a right class, tables next to a wrong rotation, and a dropout of 0."""

from __future__ import annotations

import re

import pytest

from headway.practice.diagnosis.checks.repeating import DROPS_NOTHING
from headway.practice.diagnosis.doubt import settled
from headway.practice.diagnosis.files import load_module, with_exercises
from headway.practice.diagnosis.nested import verdicts
from headway.practice.diagnosis.sandbox import check_file

ATTENTION = """
import torch
from torch import nn

class MultiHeadAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.share = heads, width // heads
        self.q, self.k, self.v, self.out = (nn.Linear(width, width) for _ in range(4))

    def attention(self, q, k, v):
        weights = (q @ k.transpose(-2, -1) / self.share**0.5).softmax(-1)
        return (weights @ v).transpose(1, 2).contiguous().view(q.shape[0], -1, self.heads * self.share)

    def forward(self, x):
        q, k, v = (each(x).view(*x.shape[:2], self.heads, self.share).transpose(1, 2) for each in (self.q, self.k, self.v))
        return self.out(self.attention(q, k, v))
"""


def test_a_method_that_its_right_class_calls_is_not_wrong(tmp_path):
    pytest.importorskip("torch")
    path = tmp_path / "mine.py"
    path.write_text(ATTENTION)
    found = {each.subject: each.status for each in check_file(path)}
    assert found["MultiHeadAttention"] == "correct"
    assert found.get("MultiHeadAttention.attention") != "wrong"


ROTATION = """
import torch

def build_rope_cache(seq_len, dim, theta=10000.0):
    angles = torch.outer(torch.arange(seq_len).float(), theta ** (-torch.arange(0, dim, 2).float() / dim))
    return angles.cos().repeat_interleave(2, -1), angles.sin().repeat_interleave(2, -1)

def rotate_half(x):
    even, odd = x[..., 0::2], x[..., 1::2]
    return JOINED

def apply_rotary_emb(x, cos, sin):
    return x * cos + rotate_half(x) * sin
"""


@pytest.mark.parametrize(
    ("joined", "is_right"), [("torch.stack((-odd, even), -1).flatten(-2)", True), ("torch.cat((-odd, even), -1)", False)]
)
def test_tables_are_not_accused_because_of_a_rotation_that_is_not_right(tmp_path, joined, is_right):
    pytest.importorskip("torch")
    path, text = tmp_path / "mine.py", ROTATION.replace("JOINED", joined)
    path.write_text(text)
    found = {each.subject: each for each in settled(verdicts(list(with_exercises(load_module(path, text), text))))}
    assert found["build_rope_cache"].is_correct
    assert found["apply_rotary_emb"].is_correct == is_right


@pytest.mark.parametrize(
    ("setting", "drops"), [("attention_dropout = 0.0", False), ("attention_dropout: float = 0", False), ("dropout = 0.1", True)]
)
def test_a_setting_by_which_nothing_is_dropped_explains_no_variation(setting, drops):
    text = re.sub(DROPS_NOTHING, "", f"class Config:\n    hidden_size = 8\n    {setting}\n")
    assert ("drop" in text) == drops
