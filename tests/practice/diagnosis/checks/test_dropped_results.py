"""Masks that are not applied because the masked scores are dropped, and weights that dropout of the scores replaces."""

from __future__ import annotations

import pytest

from headway.practice.diagnosis.sandbox import check_file

ATTENTION = """
import torch
from torch import nn

class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(width, width, bias=False) for _ in range(3))

    def forward(self, x):
        scores = self.q(x) @ self.k(x).mT / x.size(-1) ** 0.5
        hidden = torch.ones_like(scores).triu(1).bool()
        {masking}
        return scores.softmax(-1) @ self.v(x)
"""


@pytest.mark.parametrize("masking", ["scores.masked_fill(hidden, -1e9)", "torch.where(hidden, -1e9, scores)"])
def test_a_dropped_mask_is_a_mistake_with_its_line(tmp_path, masking):
    path = tmp_path / "attention.py"
    path.write_text(ATTENTION.format(masking=masking))
    (verdict,) = check_file(path)
    assert verdict.status == "wrong"
    assert [(cause.name, cause.line) for cause in verdict.causes] == [("result_dropped", 13)]


@pytest.mark.parametrize("masking", ["scores.masked_fill_(hidden, -1e9)", "scores = torch.where(hidden, -1e9, scores)", "pass"])
def test_an_applied_mask_and_none_are_correct(tmp_path, masking):
    path = tmp_path / "attention.py"
    path.write_text(ATTENTION.format(masking=masking))
    (verdict,) = check_file(path)
    assert verdict.is_correct


OVERWRITTEN = "shown = scores.masked_fill(hidden, -1e9)\n        shown = {scores} * 2\n        scores = shown / 2"


def test_a_masked_result_that_is_overwritten_before_anything_reads_it_is_a_mistake(tmp_path):
    path = tmp_path / "attention.py"
    path.write_text(ATTENTION.format(masking=OVERWRITTEN.format(scores="scores")))
    (verdict,) = check_file(path)
    assert verdict.status == "wrong"
    assert [(cause.name, cause.line) for cause in verdict.causes] == [("result_dropped", 14)]
    path.write_text(ATTENTION.format(masking=OVERWRITTEN.format(scores="shown")))
    (verdict,) = check_file(path)
    assert verdict.is_correct


@pytest.mark.parametrize("dropped", ["scores", "weights"])
def test_dropout_of_the_scores_in_place_of_the_weights_is_a_mistake(tmp_path, dropped):
    path = tmp_path / "attention.py"
    path.write_text(f"""
import torch
from torch import nn

class ScaledDotProductAttention(nn.Module):
    def forward(self, query, key, value, dropout=None):
        scores = query @ key.mT / query.size(-1) ** 0.5
        weights = torch.softmax(scores, dim=-1)
        if dropout is not None:
            weights = dropout({dropped})
        return weights @ value
""")
    (verdict,) = check_file(path)
    assert verdict.is_correct == (dropped == "weights")
    assert [(cause.name, cause.line) for cause in verdict.causes] == ([] if verdict.is_correct else [("result_dropped", 10)])
    assert verdict.repair is None


@pytest.mark.parametrize(("norm", "is_dropped"), [("self.norm(x)", True), ("x = self.norm(x)", False)])
def test_a_dropped_norm_is_a_mistake_with_its_line(tmp_path, norm, is_dropped):
    pytest.importorskip("torch")
    path = tmp_path / "feed_forward.py"
    path.write_text(f"""
import torch
from torch import nn

class FeedForward(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.up, self.down = nn.Linear(width, hidden), nn.Linear(hidden, width)
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        x = x + self.down(torch.relu(self.up(x)))
        {norm}
        return x
""")
    (verdict,) = check_file(path)
    assert verdict.is_correct != is_dropped
    assert [(cause.name, cause.line) for cause in verdict.causes] == ([("result_dropped", 13)] if is_dropped else [])
