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
