"""Layers that a loop goes through without a call, and outputs of layers that are overwritten."""

from __future__ import annotations

import pytest

from headway.practice.diagnosis.checks.unused_layers import unused_layers_cause, unused_projection_cause
from headway.practice.diagnosis.checks.unused_values import unused_value_cause
from headway.practice.diagnosis.files import load_definitions
from headway.practice.diagnosis.reading.subject import subjects_of

TEXT = """
class Layer:
    def __call__(self, x):
        return 2 * x

class Model:
    def __init__(self, num_layers):
        self.layers = [Layer() for _ in range(num_layers)]

    def forward(self, x):
        LOOP
        return x
"""


@pytest.mark.parametrize(
    ("loop", "is_unused"),
    [
        ("for layer in self.layers:\n            x = x + 1", True),
        ("for i, layer in enumerate(self.layers):\n            x = x + i", True),
        ("for layer in self.layers:\n            x = layer(x)", False),
        ("for i, layer in enumerate(self.layers):\n            x = self.layers[i](x)", False),
        ("for _ in self.layers:\n            x = x + 1", False),
        ("for layer in self.layers:\n            pass\n        x = layer(x)", False),
    ],
)
def test_layers_that_a_loop_does_not_read_are_unused(tmp_path, loop, is_unused):
    text = TEXT.replace("LOOP", loop)
    model = next(each for each in subjects_of(load_definitions(tmp_path / "mine.py", text), text) if each.name == "Model")
    assert (unused_layers_cause(model) is not None) == is_unused


PROJECTIONS = """
from torch import nn

class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.w_q = nn.Linear(width, width)
        self.w_k = nn.Linear(width, width)

    def forward(self, x):
        q = self.w_q(x)
        k = CALL
        return q @ k.mT
"""


@pytest.mark.parametrize(
    ("call", "is_unused"),
    [("self.w_q(x)", True), ("self.w_k(x)", False), ("self.w_q(x + 1)", False), ("self.w_q(x) + self.w_k.bias", False)],
)
def test_projections_in_whose_place_another_is_called_are_unused(tmp_path, call, is_unused):
    pytest.importorskip("torch")
    text = PROJECTIONS.replace("CALL", call)
    attention = next(each for each in subjects_of(load_definitions(tmp_path / "mine.py", text), text) if each.name == "Attention")
    assert (unused_projection_cause(attention) is not None) == is_unused


OVERWRITTEN = """
import torch.nn as nn

class Net(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.first, self.second = nn.Linear(d, d), nn.Linear(d, d)

    def forward(self, x):
        BODY
        return h
"""


@pytest.mark.parametrize(
    ("body", "is_unused"),
    [
        ("h = self.first(x).relu()\n        h = self.second(x)", True),
        ("h = self.first(x)\n        h = h.relu()\n        h = self.second(x)", True),
        ("h = self.first(x).relu()\n        h = self.second(h)", False),
        ("h = self.first(x)\n        if x.ndim > 2:\n            x = h + x\n        h = self.second(x)", False),
        ("h = 2 * x\n        h = self.second(x)", False),
        ("h = self.first(x)\n        h += x\n        h = self.second(h)", False),
    ],
)
def test_the_output_of_a_layer_that_is_overwritten_unread_is_unused(tmp_path, body, is_unused):
    text = OVERWRITTEN.replace("BODY", body)
    (net,) = subjects_of(load_definitions(tmp_path / "mine.py", text), text)
    assert (unused_value_cause(net) is not None) == is_unused
