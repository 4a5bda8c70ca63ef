"""A layer with one norm in the places of two, and a parallel one that needs a single norm."""

from __future__ import annotations

import pytest

from headway.practice.diagnosis.checks.repeated_norms import repeated_norm_cause
from headway.practice.diagnosis.files import load_module, subjects_in

LAYER = """
from torch import nn

class EncoderLayer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x):
        hidden = self.norm1(x)
        x = x + self.attention(hidden, hidden, hidden)[0]
        return x + self.mlp(self.norm1(x))
"""


@pytest.mark.parametrize(
    ("right", "wrong", "lines"),
    [
        ("", "", [14]),
        ("self.mlp(self.norm1(x))", "self.mlp(hidden)", []),
        ("self.norm1 = nn.LayerNorm(width)", "self.norm1 = nn.LayerNorm(width, elementwise_affine=False)", []),
        ("        self.attention =", "        self.norm2 = nn.LayerNorm(width)\n        self.attention =", []),
    ],
)
def test_only_one_norm_with_weights_for_two_parts_is_a_mistake(tmp_path, right, wrong, lines):
    pytest.importorskip("torch")
    path, text = tmp_path / "layer.py", LAYER.replace(right, wrong) if right else LAYER
    path.write_text(text)
    (subject,) = subjects_in(load_module(path, text), text)
    cause = repeated_norm_cause(subject, "encoder_layer")
    assert [cause.line] == lines if cause is not None else lines == []
