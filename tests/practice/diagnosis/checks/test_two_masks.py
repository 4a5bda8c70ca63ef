"""Attention that takes two masks and applies one of them only if both are given."""

from __future__ import annotations

import pytest

from headway.practice.diagnosis.sandbox import check_file

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
