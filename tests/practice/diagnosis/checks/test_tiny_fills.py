"""Masked scores that a class fills with a number near 0, although nothing else of it is understood."""

from __future__ import annotations

import pytest

from headway.practice.diagnosis.sandbox import check_file

ATTENTION = """
import torch
from torch import nn

class MultiHeadAttention(nn.Module):  # without an output layer
    def __init__(self, d_model=12, num_heads=3):
        super().__init__()
        self.num_heads, self.width = num_heads, d_model // num_heads
        self.q, self.k, self.v = (nn.Linear(d_model, d_model) for _ in range(3))

    def forward(self, query, key, value, mask=None):
        batch, shape = len(query), (len(query), -1, self.num_heads, self.width)
        q, k, v = (
            layer(x).view(shape).transpose(1, 2) for layer, x in ((self.q, query), (self.k, key), (self.v, value))
        )
        scores = q @ k.mT / self.width**0.5
        if mask is not None:
            {masking}
        weights = torch.softmax(scores, dim=-1)
        return (weights @ v).transpose(1, 2).reshape(batch, -1, self.num_heads * self.width)
"""


def _checked(tmp_path, masking):
    path = tmp_path / "attention.py"
    path.write_text(ATTENTION.format(masking=masking))
    (verdict,) = check_file(path)
    return verdict


@pytest.mark.parametrize(
    "masking",
    [
        "scores = scores.masked_fill(mask == 0, torch.tensor(1e-16))",
        'scores.masked_fill_(mask == 0, float("-1e-20"))',
        "scores += mask * -1e-9",
    ],
)
def test_scores_filled_with_a_number_near_zero_are_a_mistake_with_its_line(tmp_path, masking):
    verdict = _checked(tmp_path, masking)
    assert verdict.status == "wrong"
    assert [(cause.name, cause.line) for cause in verdict.causes] == [("hidden_score_is_zero", 18)]


def test_scores_filled_with_infinity_are_a_mistake_with_its_line(tmp_path):
    verdict = _checked(tmp_path, 'scores = scores.masked_fill(mask == 0, float("inf"))')
    assert verdict.status == "wrong"
    assert [(cause.name, cause.line) for cause in verdict.causes] == [("hidden_score_is_large", 18)]


def test_scores_filled_with_a_large_negative_number_are_not(tmp_path):
    masking = "scores = scores.masked_fill(scores == 0, 1e-9).masked_fill(mask == 0, -1e9)"
    assert all(cause.name != "hidden_score_is_zero" for cause in _checked(tmp_path, masking).causes)
