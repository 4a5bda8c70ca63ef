"""Branches of an attention for masks of three axes."""

from __future__ import annotations

import pytest

from headway.practice.diagnosis.sandbox import check_file

ATTENTION = """
from torch import nn

class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.q, self.k, self.v, self.o = (nn.Linear(d_model, d_model) for _ in range(4))

    def split(self, x):
        return x.view(x.size(0), x.size(1), self.num_heads, -1).transpose(1, 2)

    def forward(self, query, key, value, mask=None):
        q, k, v = self.split(self.q(query)), self.split(self.k(key)), self.split(self.v(value))
        scores = q @ k.mT / q.size(-1) ** 0.5
        if mask is not None:
            if mask.dim() == 3:
                mask = {mask}
            scores = scores.masked_fill(mask == 0, float("-inf"))
        return self.o((scores.softmax(-1) @ v).transpose(1, 2).reshape(query.shape))
"""


@pytest.mark.parametrize(("mask", "status"), [("mask.unsqueeze(1)", "correct"), ("mask[0].unsqueeze(0)", "wrong")])
def test_the_mask_of_the_first_sequence_is_not_that_of_all(tmp_path, mask, status):
    path = tmp_path / "attention.py"
    path.write_text(ATTENTION.format(mask=mask))
    (verdict,) = check_file(path)
    assert verdict.status == status
    assert [cause.name for cause in verdict.causes] == ([] if status == "correct" else ["mask_of_axes_wrong"])


EXPANDED = ATTENTION.replace(
    "            if mask.dim() == 3:\n                mask = {mask}\n",
    "            assert 3 <= mask.dim() <= 4\n            mask = {mask}\n",
).replace(
    'scores = scores.masked_fill(mask == 0, float("-inf"))',
    'scores = scores if mask is None else scores.masked_fill(mask == 0, float("-inf"))',
)


@pytest.mark.parametrize(
    ("mask", "status"),
    [("mask.unsqueeze(1) if mask.dim() < 4 else mask", "correct"), ("mask.unsqueeze(1) if mask.dim() < 4 else None", "wrong")],
)
def test_a_mask_that_is_accepted_and_dropped_is_wrong(tmp_path, mask, status):
    path = tmp_path / "attention.py"
    path.write_text(EXPANDED.format(mask=mask))
    (verdict,) = check_file(path)
    assert verdict.status == status, verdict
    assert [cause.name for cause in verdict.causes] == ([] if status == "correct" else ["mask_of_axes_wrong"])
