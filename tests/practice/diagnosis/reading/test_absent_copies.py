"""Functions of missing files that copy a layer."""

from __future__ import annotations

import pytest

from headway.practice.diagnosis.sandbox import check_file

CLONED = """
from torch import nn
from .utils import clones

class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.maps = clones(nn.Linear(d_model, d_model), 4)

    def split(self, x):
        return x.view(x.size(0), x.size(1), self.num_heads, -1).transpose(1, 2)

    def forward(self, query, key, value):
        q, k, v = (self.split(each(x)) for each, x in zip(self.maps, (query, key, value)))
        scores = q @ k.mT / q.size(-1) ** 0.5
        return self.maps[-1]((scores.softmax(-1) @ v).transpose(1, 2).reshape(query.shape))
"""


@pytest.mark.parametrize(("right", "wrong", "status"), [("", "", "correct"), ("scores.softmax(-1)", "scores.softmax(-2)", "wrong")])
def test_a_missing_function_that_copies_layers_is_replaced(tmp_path, right, wrong, status):
    pytest.importorskip("torch")
    path = tmp_path / "mine.py"
    path.write_text(CLONED.replace(right, wrong) if right else CLONED)
    (verdict,) = check_file(path)
    assert verdict.status == status, verdict


ROTATED = """
import math
import torch
from torch import nn
from rope import RotaryPositionalEmbedding

class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, max_len=64):
        super().__init__()
        self.num_heads, self.num_kv_heads, self.head_dim = num_heads, num_kv_heads, d_model // num_heads
        self.q = nn.Linear(d_model, d_model)
        self.k = nn.Linear(d_model, num_kv_heads * self.head_dim)
        self.v = nn.Linear(d_model, num_kv_heads * self.head_dim)
        self.o = nn.Linear(d_model, d_model)
        self.rope = RotaryPositionalEmbedding(self.head_dim, max_len)

    def split(self, x, heads):
        return x.view(x.size(0), x.size(1), heads, self.head_dim).transpose(1, 2)

    def forward(self, x):
        q, k = self.rope(self.split(self.q(x), self.num_heads), self.split(self.k(x), self.num_kv_heads), start=0)
        v = self.split(self.v(x), self.num_kv_heads)
        k, v = (each.repeat_interleave(self.num_heads // self.num_kv_heads, dim=1) for each in (k, v))
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.head_dim)
        return self.o((torch.softmax(scores, dim=-1) @ v).transpose(1, 2).reshape(x.shape))
"""


@pytest.mark.parametrize(("right", "wrong", "status"), [("dim=-1) @", "dim=-1) @", "correct"), ("dim=-1) @", "dim=-2) @", "wrong")])
def test_attention_is_judged_without_a_missing_rotation(tmp_path, right, wrong, status):
    pytest.importorskip("torch")
    path = tmp_path / "mine.py"
    path.write_text(ROTATED.replace(right, wrong))
    (verdict,) = check_file(path)
    assert verdict.status == status, verdict
