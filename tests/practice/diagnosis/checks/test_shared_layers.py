"""One layer in the places of several."""

from __future__ import annotations

import pytest

from headway.practice.diagnosis.checks.shared_layers import shared_layers_cause
from headway.practice.diagnosis.files import load_definitions
from headway.practice.diagnosis.reading.subject import subjects_of
from headway.practice.diagnosis.sandbox import check_file

TEXT = """
import copy

class Layer:
    def __init__(self, width):
        self.width = width

class Model:
    def __init__(self, width, num_layers):
        self.num_layers = num_layers
        MADE

    def forward(self, x):
        LOOP
        return x

def build_encoder(width, num_layers):
    layer, layers = Layer(width), []
    BUILT
    return layers
"""
APPLIED = "for i in range(self.num_layers):\n            x = self.layer(x)"
MADE, BUILT = "self.layer = Layer(width)", "for _ in range(num_layers):\n        layers.append({})"


def is_shared(tmp_path, name, made=MADE, loop=APPLIED, built=""):
    text = (
        TEXT.replace("MADE", made)
        .replace("LOOP", loop)
        .replace("BUILT", built)
        .replace("layer, layers = Layer(width), []", "layers = []\n    layer = Layer(width)")
    )
    subject = next(each for each in subjects_of(load_definitions(tmp_path / "mine.py", text), text) if each.name == name)
    return shared_layers_cause(subject) is not None


@pytest.mark.parametrize(
    ("made", "loop", "shared"),
    [
        (MADE, APPLIED, True),
        (MADE, APPLIED.replace("range(self.num_layers)", "range(self.num_steps)"), False),
        (MADE, APPLIED.replace("(x)", "(x, i)"), False),
        (MADE, APPLIED.replace("self.layer", "self.layers[i]"), False),
        ("self.layer = Layer(width)  # its weights are shared", APPLIED, False),
        ("self.layer = make(width)", APPLIED, False),
        ("self.layer = Layer(width)\n        self.layer = [Layer(width) for _ in range(3)]", APPLIED, False),
    ],
)
def test_a_layer_that_a_loop_over_the_layers_applies_is_shared(tmp_path, made, loop, shared):
    assert is_shared(tmp_path, "Model", made, loop) == shared


@pytest.mark.parametrize(
    ("built", "shared"),
    [
        (BUILT.format("layer"), True),
        (BUILT.format("copy.deepcopy(layer)"), False),
        (BUILT.format("Layer(width)"), False),
        ("for _ in range(num_layers):\n        layer = Layer(width)\n        layers.append(layer)", False),
        ("layers.append(layer)", False),
    ],
)
def test_a_layer_that_a_loop_adds_is_shared(tmp_path, built, shared):
    assert is_shared(tmp_path, "build_encoder", built=built) == shared


def test_a_model_of_another_name_is_wrong_because_of_its_text(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(TEXT.replace("Model", "ViT").replace("MADE", MADE).replace("LOOP", APPLIED).replace("BUILT", BUILT.format("layer")))
    found = {each.subject: [cause.name for cause in each.causes] for each in check_file(path)}
    assert found["ViT"] == ["layers_shared"]


@pytest.mark.parametrize(
    ("made", "shared"),
    [
        ("self.q = copy.copy(fc)\n        self.k = copy.copy(fc)", True),
        ("self.layers = [copy.copy(layer) for _ in range(num_layers)]", True),
        ("self.q = copy.deepcopy(fc)\n        self.k = copy.deepcopy(fc)", False),
        ("self.q = copy.copy(fc)\n        self.k = fc.inner", False),
        ("self.first = copy.copy(config)\n        self.second = copy.copy(config)", False),
    ],
)
def test_shallow_copies_of_a_layer_are_shared(tmp_path, made, shared):
    assert is_shared(tmp_path, "Model", made, "x = self.layers(x)") == shared
