"""Stacks and models that make parts which are wrong."""

from __future__ import annotations

import pytest

from headway.practice.diagnosis.sandbox import check_file

STACK = """
import torch
from torch import nn

class LayerNorm(nn.Module):
    def __init__(self, width, eps=1e-5):
        super().__init__()
        self.gain, self.shift, self.eps = nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width)), eps

    def forward(self, x):
        centred = x - x.mean(-1, keepdim=True)
        return self.gain * centred / torch.sqrt(x.var(-1, keepdim=True, unbiased=False) + self.eps) + self.shift

class Encoder(nn.Module):
    def __init__(self, width, heads, hidden, num_layers, is_own=False):
        super().__init__()
        self.layers = nn.ModuleList([nn.TransformerEncoderLayer(width, heads, hidden, batch_first=True) for _ in range(num_layers)])
        self.norm = LayerNorm(width)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.norm(x)
"""
BIASED = ("unbiased=False", "unbiased=True")


def causes_of(tmp_path, *changes):
    pytest.importorskip("torch")
    path, text = tmp_path / "mine.py", STACK
    for right, wrong in changes:
        assert text.count(right) == 1
        text = text.replace(right, wrong)
    path.write_text(text)
    found = {each.subject: each for each in check_file(path)}
    return found["LayerNorm"].status, [cause.name for cause in found["Encoder"].causes], found["Encoder"].status


def test_a_stack_of_right_parts_is_right(tmp_path):
    assert causes_of(tmp_path) == ("correct", [], "correct")


SHIFTED = ("torch.sqrt(x.var(-1, keepdim=True, unbiased=False) + self.eps)", "(x.std(-1, keepdim=True, unbiased=False) + self.shift)")


@pytest.mark.parametrize("change", [BIASED, SHIFTED])
def test_a_stack_that_makes_a_wrong_norm_is_wrong_because_of_it(tmp_path, change):
    assert causes_of(tmp_path, change) == ("wrong", ["because_of_LayerNorm"], "wrong")


LINEAR = """
from torch import nn

class FeedForward(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.up, self.down = nn.Linear(width, hidden), nn.Linear(hidden, width)

    def forward(self, x):
        return self.down(self.up(x))

class EncoderLayer(nn.Module):
    def __init__(self, width, heads, hidden):
        super().__init__()
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.feed_forward = FeedForward(width, hidden)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x):
        x = self.norm1(x + self.attention(x, x, x)[0])
        return self.norm2(x + self.feed_forward(x))
"""


def test_a_layer_that_makes_a_feed_forward_without_an_activation_is_wrong_because_of_it(tmp_path):
    pytest.importorskip("torch")
    path = tmp_path / "mine.py"
    path.write_text(LINEAR)
    found = {each.subject: [cause.name for cause in each.causes] for each in check_file(path)}
    assert found == {"FeedForward": ["activation_missing"], "EncoderLayer": ["because_of_FeedForward"]}


def test_a_wrong_norm_that_a_stack_makes_only_on_demand_is_no_mistake_of_it(tmp_path):
    on_demand = ("self.norm = LayerNorm(width)", "self.norm = LayerNorm(width) if is_own else nn.LayerNorm(width)")
    assert causes_of(tmp_path, BIASED, on_demand)[1:] == ([], "correct")


UNDEFINED = """
import numpy as np

class Layer:
    def forward(self, x):
        return np.tanh(x)

class BertModel:
    def __init__(self, width, num_layers):
        self.layers = [Layer() for _ in range(num_layers)]
        MADE

    def forward(self, x):
        for layer in self.layers:
            x = layer.forward(x)
        return x
"""


@pytest.mark.parametrize(
    ("made", "is_wrong"), [("self.pooler = nn.Dense(width)", True), ("self.pooler = nn.Dense(width) if width < 0 else None", False)]
)
def test_a_model_whose_constructor_always_reads_an_undefined_name_is_wrong(tmp_path, made, is_wrong):
    path = tmp_path / "mine.py"
    path.write_text(UNDEFINED.replace("MADE", made))
    causes = [(cause.name, cause.line) for each in check_file(path) if each.subject == "BertModel" for cause in each.causes]
    assert (("raises_NameError", 11) in causes) == is_wrong


TURNED = """
import torch
from torch import nn

WIDTH = 8

class RoPE(nn.Module):
    def __init__(self):
        super().__init__()
        angles = torch.outer(torch.arange(64).float(), 10000.0 ** (-torch.arange(0, WIDTH, 2) / WIDTH))
        angles = torch.stack([angles, angles], dim=STACKED).flatten(1)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def forward(self, x):
        _, _, width = x.shape
        assert width == WIDTH
        first, second = x.chunk(2, -1)
        return x * self.cos[: x.shape[-2]] + torch.cat([-second, first], -1) * self.sin[: x.shape[-2]]

class VisionTransformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(3, WIDTH, 4, 4)
        self.rope = RoPE()
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, images):
        assert images.ndim == 4
        x = self.rope(self.patches(images).flatten(2).mT)
        return x + self.out(nn.functional.scaled_dot_product_attention(*self.qkv(x).split(WIDTH, dim=2)))
"""


@pytest.mark.parametrize(("axis", "statuses"), [(1, ["correct"]), (-1, ["wrong", "wrong"])])
def test_a_model_that_makes_a_part_which_a_change_makes_right_is_wrong_because_of_it(tmp_path, axis, statuses):
    pytest.importorskip("torch")
    path = tmp_path / "mine.py"
    path.write_text(TURNED.replace("STACKED", str(axis)))
    found = check_file(path)
    assert [each.status for each in found] == statuses
    assert [cause.name for each in found[1:] for cause in each.causes] == ["because_of_RoPE"] * (axis < 0)


READ_FIRST = """
import torch
from torch import nn
from parts import Encoder

class Transformer(nn.Module):
    def __init__(self, vocab_size, width):
        super().__init__()
        self.encoder, self.head = Encoder(vocab_size, width), nn.Linear(width, vocab_size)

    def forward(self, src_seq):
        BEFORE
        src_mask = (src_mask != 0).unsqueeze(-2)
        return self.head(self.encoder(src_seq, src_mask))
"""


@pytest.mark.parametrize(("before", "is_wrong"), [("src_seq = src_seq.long()", True), ("src_mask = src_seq", False)])
def test_a_model_whose_call_reads_a_variable_before_it_is_assigned_is_wrong(tmp_path, before, is_wrong):
    pytest.importorskip("torch")
    path = tmp_path / "mine.py"
    path.write_text(READ_FIRST.replace("BEFORE", before))
    causes = [(cause.name, cause.line) for each in check_file(path) for cause in each.causes]
    assert (("raises_UnboundLocalError", 13) in causes) == is_wrong


UNMADE = """
import torch
from torch import nn

class FeedForward(nn.Module):
    def __init__(self, width, hidden):
        super(CLASS).__init__()
        self.up, self.down = nn.Linear(width, hidden), nn.Linear(hidden, width)

    def forward(self, x):
        return self.down(torch.relu(self.up(x)))

class Mixing(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.mix, self.feed_forward = nn.Conv1d(width, width, 3, padding=1), FeedForward(width, 4 * width)

    def forward(self, x):
        return self.feed_forward(x + self.mix(x.mT).mT)

class MixingEncoder(nn.Module):
    def __init__(self, width, num_layers):
        super().__init__()
        self.layers = nn.ModuleList([Mixing(width) for _ in range(num_layers)])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
"""


@pytest.mark.parametrize(("classes", "is_wrong"), [("FeedForward", True), ("FeedForward, self", False)])
def test_an_encoder_whose_layers_make_a_part_that_cannot_be_made_is_wrong(tmp_path, classes, is_wrong):
    pytest.importorskip("torch")
    path = tmp_path / "mine.py"
    path.write_text(UNMADE.replace("CLASS", classes))
    causes = [cause.name for each in check_file(path) if each.subject == "MixingEncoder" for cause in each.causes]
    assert ("because_of_FeedForward" in causes) == is_wrong


OF_NNX = """
import jax
from flax import nnx

class FeedForward(nnx.Module):
    def __init__(self, width: int, hidden: int, rngs: nnx.Rngs = None):
        self.up = nnx.Linear(WIDTH, hidden, rngs=rngs)
        self.down = nnx.Linear(hidden, width, rngs=rngs)

    def __call__(self, x):
        return self.down(jax.nn.relu(self.up(x)))
"""


@pytest.mark.parametrize(("width", "is_wrong"), [("self.width", True), ("width", False)])
def test_a_module_of_nnx_that_reads_an_attribute_which_nothing_sets_is_wrong(tmp_path, width, is_wrong):
    pytest.importorskip("flax")
    path = tmp_path / "mine.py"
    path.write_text(OF_NNX.replace("WIDTH", width))
    (verdict,) = check_file(path)
    assert verdict.is_correct != is_wrong
    assert [cause.name for cause in verdict.causes if verdict.status == "wrong"] == (["raises_AttributeError"] if is_wrong else [])
