"""Attention that takes two masks and applies one of them only if both are given."""

from __future__ import annotations

import pytest

from headway.practice.diagnosis.sandbox import check_file
from tests.practice.diagnosis.checks.judging import verdict_on

FUNCTION = """
import numpy as np

def scaled_dot_product_attention(query, key, value, attn_mask=None, key_padding_mask=None):
    scores = query @ key.swapaxes(-1, -2) / np.sqrt(query.shape[-1])
    if key_padding_mask is not None:
        scores = np.where(key_padding_mask[:, None, None, :], scores, -1e9)
    {second} attn_mask is not None:
        scores = np.where(attn_mask, scores, -1e9)
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True) @ value
"""

MODULE = """
import torch
from torch import nn

class MultiHeadAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.q_proj, self.k_proj, self.v_proj, self.out = (nn.Linear(width, width) for _ in range(4))

    def forward(self, query, key, value, mask=None, padding_mask=None):
        split = lambda x: x.unflatten(-1, (self.heads, -1)).transpose(1, 2)
        q, k, v = split(self.q_proj(query)), split(self.k_proj(key)), split(self.v_proj(value))
        scores = q @ k.mT / q.size(-1) ** 0.5
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        {second} padding_mask is not None:
            scores = scores.masked_fill(padding_mask == 0, float("-inf"))
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))
"""


JOINED = """
import torch
from torch import nn

class DecoderLayer(nn.Module):
    def __init__(self, width, heads, hidden):
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.feed_forward = nn.Sequential(nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, width))
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x, causal_mask=None, padding_mask=None):
        q, k, v = (each.unflatten(-1, (self.heads, -1)).transpose(1, 2) for each in self.qkv(self.norm1(x)).chunk(3, -1))
        mask = causal_mask
        if padding_mask is not None:
            padding_mask = padding_mask[:, None, None, :]
            mask = padding_mask if mask is None else mask {join} padding_mask
        scores = q @ k.mT / q.size(-1) ** 0.5
        if mask is not None:
            scores = scores.masked_fill(mask, -1e9)
        x = x + self.out((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))
        return x + self.feed_forward(self.norm2(x))
"""


@pytest.mark.parametrize(("join", "causes"), [("|", []), ("&", [("masks_intersected", 18)])])
def test_masks_joined_so_that_only_what_both_hide_is_hidden_are_a_mistake(tmp_path, join, causes):
    pytest.importorskip("torch")
    verdict = verdict_on(tmp_path, JOINED.format(join=join))
    assert [(cause.name, cause.line) for cause in verdict.causes] == causes


@pytest.mark.parametrize("text", [FUNCTION, MODULE], ids=["function", "module"])
def test_a_mask_that_another_one_replaces_is_a_mistake(tmp_path, text):
    if text is MODULE:
        pytest.importorskip("torch")
    path = tmp_path / "attention.py"
    path.write_text(text.format(second="elif"))
    (verdict,) = check_file(path)
    assert (verdict.status, [cause.name for cause in verdict.causes]) == ("wrong", ["mask_dropped"])
    path.write_text(text.format(second="if"))
    (verdict,) = check_file(path)
    assert verdict.is_correct
