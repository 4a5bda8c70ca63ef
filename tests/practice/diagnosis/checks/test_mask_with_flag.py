"""Causal attention of torch with an optional mask, and `is_causal=True` for the same call."""

from __future__ import annotations

import pytest

from tests.practice.diagnosis.checks.judging import verdict_on

pytest.importorskip("torch")

MODULE = """
import torch
import torch.nn.functional as F
from torch import nn

class MultiHeadAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))

    def forward(self, x, mask=None):
        q, k, v = (layer(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for layer in (self.query, self.key, self.value))
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal={flag})
        return self.out(y.transpose(1, 2).flatten(2))
"""

FUNCTION = """
import torch.nn.functional as F

def causal_attention(query, key, value, attn_mask=None, is_causal=True):
    return F.scaled_dot_product_attention(query, key, value, attn_mask, is_causal=is_causal)
"""


@pytest.mark.parametrize(("flag", "causes"), [("mask is None", []), ("True", [("mask_with_flag", 14)])])
def test_a_mask_with_the_flag_is_a_mistake(tmp_path, flag, causes):
    verdict = verdict_on(tmp_path, MODULE.format(flag=flag))
    assert [(cause.name, cause.line) for cause in verdict.causes] == causes


def test_a_function_that_leaves_the_flag_to_its_caller_is_right(tmp_path):
    assert verdict_on(tmp_path, FUNCTION).is_correct
