"""Mistakes that a program can make only with an operand that it takes."""

from __future__ import annotations

import pytest

from tests.practice.diagnosis.checks.judging import verdict_on

DECODER_LAYER = """
import torch
from torch import nn

class DecoderLayer(nn.Module):
    def __init__(self, d_model, num_heads, d_ff):
        super().__init__()
        self.own = nn.MultiheadAttention(d_model, num_heads, batch_first=True)
        self.other = nn.MultiheadAttention(d_model, num_heads, batch_first=True)
        self.ff = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
        self.norm1, self.norm2, self.norm3 = (nn.LayerNorm(d_model) for _ in range(3))

    def forward(self, tgt, memory):
        tgt = self.norm1(tgt + self.own(tgt, tgt, tgt)[0])
        tgt = self.norm2(tgt + self.other(tgt, memory, memory)[0])
        return self.norm3(tgt + self.ff(tgt))
"""


@pytest.mark.slow
def test_a_decoder_layer_without_masks_exchanges_none(tmp_path):
    verdict = verdict_on(tmp_path, DECODER_LAYER, "DecoderLayer")
    assert [cause.name for cause in verdict.causes] == ["later_positions_visible"]
