"""Expressions that raise however a program is called, and similar ones that may run."""

from __future__ import annotations

import ast
import textwrap

import pytest

from headway.practice.diagnosis.classes.flax_modules import subjects_in
from headway.practice.diagnosis.explain.impossible import impossibles, raises_in_call
from headway.practice.diagnosis.files import load_definitions

TORCH = """
import torch
from torch import nn

class Attention(nn.Module):
    def __init__(self, dim, dropout=0.1):
        super().__init__()
        self.table = torch.ones(4, dim)
        self.flags = {}

    def forward(self, x, mask=None):
        if hasattr(torch, "compiles"):
            x = torch.compiles(x)
        hidden = torch.tril(torch.ones(x.shape[0], x.shape[0]))
        return x + self.table.requires_grad_(False) + hidden

class Layer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.own = Attention(dim)
        self.other = Attention(dim, dropout=0.0)

    def forward(self, x, memory, mask=None):
        options = {"mask": mask}
        x = self.own(x, **options)
        return x + self.other(memory, mask)
"""


def subject_of(tmp_path, text, name):
    path = tmp_path / "learner.py"
    path.write_text(textwrap.dedent(text))
    module = load_definitions(path, path.read_text())
    (subject,) = [each for each in subjects_in(module, path.read_text()) if each.name == name]
    return subject


def found_in(tmp_path, text, name):
    return impossibles(subject_of(tmp_path, text, name))


@pytest.mark.parametrize("name", ["Attention", "Layer"])
def test_a_program_that_runs_has_none(tmp_path, name):
    pytest.importorskip("torch")
    assert not found_in(tmp_path, TORCH, name)


MISTAKES = [
    ("Attention", "torch.tril(", "torch.trill(", "torch.tril"),
    ("Attention", "self.table = torch.ones", "self.table = torch.oness", "torch.ones"),
    ("Attention", "self.table = torch.ones(4, dim)", "self.table = torch.ones.like(dim)", "torch.ones_like"),
    ("Attention", "super().__init__()", "super().__init()", "super().__init__"),
    ("Attention", "requires_grad_(", "requires_grad(", "self.table.requires_grad_(False)"),
    ("Attention", "torch.ones(x.shape[0]", "torch.ones(x.shape(0)", "x.shape[0]"),
    ("Layer", "self.other(memory, mask)", "self.other(x, memory, mask)", ""),
    ("Layer", "self.other(memory, mask)", "self.other()", ""),
    ("Layer", "dropout=0.0", "rate=0.0", ""),
]


@pytest.mark.parametrize(("name", "right", "wrong", "written"), MISTAKES, ids=lambda each: str(each))
def test_what_always_raises_is_found_with_what_is_meant(tmp_path, name, right, wrong, written):
    pytest.importorskip("torch")
    (found,) = found_in(tmp_path, TORCH.replace(right, wrong, 1), name)
    assert found.written == written


ORDERS = """
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self, width, hidden, layer=None):
        super().__init__()
        self.first = nn.Linear(width, hidden)
        self.norm_1, self.norm_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.layer, self.width = layer, width

    def forward(self, x, mask):
        scores = torch.einsum("bid,bjd->bij", x, x).masked_fill(mask, -1e9)
        x = self.layer(self.norm_1(x)) / self.width**0.5
        return self.norm_2(torch.softmax(scores, -1) @ x)
"""
EXCHANGED = [
    ('torch.einsum("bid,bjd->bij", x, x)', 'torch.einsum(x, "bid,bjd->bij", x)', "torch.einsum('bid,bjd->bij', x, x)"),
    ("torch.softmax(scores, -1)", "torch.softmax(-1, scores)", "torch.softmax(scores, -1)"),
    ("(mask, -1e9)", "(-1e9, mask)", "torch.einsum('bid,bjd->bij', x, x).masked_fill(mask, -1000000000.0)"),
    ("nn.LayerNorm(width), nn.LayerNorm(width)", "nn.LayerNorm(width), width", "nn.LayerNorm(width)"),
]


@pytest.mark.parametrize(("right", "wrong", "written"), EXCHANGED, ids=lambda each: str(each))
def test_exchanged_arguments_and_calls_of_sizes_always_raise(tmp_path, right, wrong, written):
    pytest.importorskip("torch")
    assert not found_in(tmp_path, ORDERS, "Block")
    (found,) = found_in(tmp_path, ORDERS.replace(right, wrong, 1), "Block")
    assert found.written == written


UNSURE = [
    ("self.other = Attention(dim, dropout=0.0)", "self.other = nn.Identity() if dim else Attention(dim)"),
    ("class Layer", "def Attention(*given, **named):\n    return nn.Identity()\n\nclass Layer"),
    ("        return x + self.other", "        self.other = memory\n        return x + self.other"),
    ("class Attention(nn.Module):", "class Attention(nn.Module):\n    def __call__(self, *given):\n        return given[0]\n"),
]


@pytest.mark.parametrize(("right", "other"), UNSURE, ids=range(len(UNSURE)))
def test_what_may_be_another_function_is_not_accused(tmp_path, right, other):
    pytest.importorskip("torch")
    text = TORCH.replace("self.other(memory, mask)", "self.other(x, memory, mask)")
    assert found_in(tmp_path, text, "Layer")
    assert not found_in(tmp_path, text.replace(right, other, 1), "Layer")


def test_a_name_that_another_version_has_is_not_accused(tmp_path):
    text = "import numpy as np\n\ndef softmax(x):\n    return np.exp(x) / np.round_(np.exp(x).sum()) + np.trapezia(x)\n"
    assert not found_in(tmp_path, text, "softmax")


FLAX = """
from flax import linen as nn

class FeedForward(nn.Module):
    width = int
    layers = 2

    @nn.compact
    def __call__(self, x):
        for _ in range(self.layers):
            x = nn.Dense(self.width)(x)
        return x
"""


def test_a_field_of_flax_without_an_annotation_is_a_mistake(tmp_path):
    pytest.importorskip("flax")
    (found,) = found_in(tmp_path, FLAX, "FeedForward")
    assert (found.written, found.cause.line) == ("width: int", 5)
    assert not found_in(tmp_path, FLAX.replace("width = int", "width: int"), "FeedForward")


@pytest.mark.parametrize("name", ["__init", "_init_", "__int__", "init"])
def test_a_slip_in_the_name_of_the_constructor_is_a_mistake(tmp_path, name):
    pytest.importorskip("torch")
    text = TORCH.replace("def __init__(self, dim, dropout=0.1)", f"def {name}(self, dim, dropout=0.1)")
    text += "\n\ndef initialize(layer):\n    torch.nn.init.zeros_(layer.weight)\n"
    (found,) = [each for each in found_in(tmp_path, text, "Attention") if isinstance(each.node, ast.stmt)]
    assert found.cause.line == 6
    assert not found_in(tmp_path, text.replace("super().__init__()", "self.dim = dim", 1), "Attention")


OF_KINDS = """
import math
import numpy as np
import torch

def mask(seq):
    length = seq.size(1)
    return 1 - torch.triu(torch.ones(length, length), diagonal=1).bool()

def table(length, width):
    found = torch.zeros(length, width)
    for position in range(length):
        for place in range(width):
            found[position, place] = torch.cos(position * place * 0.01)
    return found

class Momentum:
    def __init__(self, lr=0.01):
        self.lr, self.v = lr, {}

    def update(self, params, grads):
        for key in params:
            if key not in self.v:
                self.v[key] = np.zeros_like
            self.v[key] = 0.9 * self.v[key] - self.lr * grads[key]
            params[key] += self.v[key]
"""


@pytest.mark.parametrize(
    ("name", "right", "wrong", "written"),
    [
        ("mask", "(1 - torch.triu(torch.ones(length, length), diagonal=1)).bool()", "1 - torch.triu(", "~torch.triu("),
        ("table", "math.cos(position * place * 0.01)", "torch.cos(position * place * 0.01)", "math.cos(position * place * 0.01)"),
        ("Momentum", "np.zeros_like(params[key])", "np.zeros_like", "np.zeros_like("),
    ],
)
def test_kinds_of_values_that_no_function_takes_are_found(tmp_path, name, right, wrong, written):
    (found,) = found_in(tmp_path, OF_KINDS, name)
    assert found.written.startswith(written)
    line = next(each for each in OF_KINDS.splitlines() if wrong in each)
    corrected = OF_KINDS.replace(line, line[: line.index(wrong)] + right)
    assert found_in(tmp_path, corrected, name) == []


def test_a_tensor_that_a_name_of_a_loop_may_hold_is_not_accused(tmp_path):
    text = OF_KINDS.replace("for position in range(length)", "for position in torch.arange(length)")
    assert found_in(tmp_path, text, "table") == []


OF_TENSORS = """
import torch

def attention(q, k, v, mask, cache):
    scores = torch.matmul(q, k.transpose(-2, -1)) / q.shape[-1] ** 0.5
    scores = scores.masked_fill(mask, -1e9)
    cache.updates(k)
    return torch.softmax(scores, dim=-1) @ v
"""


def test_a_slip_in_a_method_of_a_tensor_is_found(tmp_path):
    pytest.importorskip("torch")
    assert not found_in(tmp_path, OF_TENSORS, "attention")
    (found,) = found_in(tmp_path, OF_TENSORS.replace("scores.masked_fill", "scores.mask_fill"), "attention")
    assert found.written == "scores.masked_fill(mask, -1000000000.0)"
    assert not found_in(tmp_path, OF_TENSORS.replace("scores.masked_fill", "cache.mask_fill"), "attention")
    other = OF_TENSORS.replace("scores = torch.matmul", "scores = cache.scores(mask)\n    scores = torch.matmul")
    assert not found_in(tmp_path, other.replace("scores.masked_fill", "scores.mask_fill"), "attention")


UNCALLED = """
import torch
from torch import nn

class Joined(nn.Module):
    def forward(self, x, flag=False):
        if flag:
            x = x.relu()
        y = x.transpose(1, 2).contiguous().view(len(x), -1)
        return y
"""


def test_a_method_that_is_not_called_raises_in_every_call(tmp_path):
    pytest.importorskip("torch")
    assert not found_in(tmp_path, UNCALLED, "Joined")
    wrong = UNCALLED.replace("contiguous()", "contiguous")
    (found,) = found_in(tmp_path, wrong, "Joined")
    assert found.written == "x.transpose(1, 2).contiguous().view"
    assert raises_in_call(subject_of(tmp_path, wrong, "Joined")) == found.cause
    assert raises_in_call(subject_of(tmp_path, UNCALLED.replace("x.relu()", "x.relu.view(1)"), "Joined")) is None
    assert raises_in_call(subject_of(tmp_path, wrong.replace("x = x.relu()", "return x"), "Joined")) is None
