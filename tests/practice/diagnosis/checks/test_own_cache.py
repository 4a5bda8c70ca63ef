"""An attention that writes keys and values into its own cache, from a first position on."""

from __future__ import annotations

import pytest

from tests.practice.diagnosis.checks.judging import verdict_on

KEPT = """
import torch
from torch import nn

class CausalAttention(nn.Module):
    def __init__(self, width, num_heads, max_len=64):
        super().__init__()
        self.num_heads, self.max_len = num_heads, max_len
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        for name in ("cache_k", "cache_v"):
            self.register_buffer(name, torch.zeros(8, num_heads, max_len, width // num_heads), persistent=False)

    def forward(self, x, start_pos):
        batch, length, width = x.shape
        q, k, v = (part.view(batch, length, self.num_heads, -1).transpose(1, 2) for part in self.qkv(x).chunk(3, dim=-1))
        end = start_pos + length
        self.cache_k[:batch, :, start_pos:end], self.cache_v[:batch, :, start_pos:end] = k, v
        k, v = self.cache_k[:batch, :, :end], self.cache_v[:batch, :, :end]
        scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
        if length > 1:
            scores = scores.masked_fill(torch.ones(length, end, dtype=torch.bool).triu(1 + start_pos), float("-inf"))
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, length, width))
"""
STARTS = ("start_pos", "start_pos=0")


@pytest.mark.parametrize("start", STARTS)
def test_an_attention_that_writes_into_its_own_cache_is_correct(tmp_path, start):
    assert verdict_on(tmp_path, KEPT.replace("x, start_pos)", f"x, {start})")).is_correct


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("k, v = self.cache_k[:batch, :, :end]", "k, v = self.cache_k[:batch, :, start_pos:end]"),
        ("self.cache_v[:batch, :, :end]", "self.cache_k[:batch, :, :end]"),
        ("self.cache_k[:batch, :, start_pos:end], self.cache_v", "self.cache_k[:batch, :, :length], self.cache_v"),
    ],
)
def test_a_mistake_that_shows_only_after_a_first_pass_is_found(tmp_path, start, right, wrong):
    assert KEPT.count(right) == 1
    assert verdict_on(tmp_path, KEPT.replace("x, start_pos)", f"x, {start})").replace(right, wrong)).status == "wrong"
