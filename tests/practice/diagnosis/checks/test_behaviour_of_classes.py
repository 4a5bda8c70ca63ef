"""Mistakes of right outputs: operands that have no effect, and layers that are made in the call."""

from __future__ import annotations

import pytest

from headway.practice.diagnosis.calls.jax_on_numpy import jax_on_numpy
from headway.practice.diagnosis.doubt import settled
from headway.practice.diagnosis.files import load_module, with_exercises
from headway.practice.diagnosis.nested import verdicts
from headway.practice.diagnosis.sandbox import check_file

SELF_ATTENTION = """
import torch
from torch import nn

class SelfAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.fused, self.out = nn.Linear(d_model, 3 * d_model), nn.Linear(d_model, d_model)

    def forward(self, q, k, v):
        shape = q.shape
        q, k, v = (each.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for each in self.fused(q).chunk(3, -1))
        weights = (q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5).softmax(-1)
        return self.out((weights @ v).transpose(1, 2).reshape(shape))
"""

FEED_FORWARD = """
import torch
from torch import nn

class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
        self.norm = nn.LayerNorm(d_model)

    def forward(self, x):
        return self.norm(self.layers(x) + x)
"""


def causes(tmp_path, text, name):
    pytest.importorskip("torch")
    path = tmp_path / "learner.py"
    path.write_text(text)
    verdict = next(each for each in check_file(path) if each.subject == name)
    return verdict.status, [cause.name for cause in verdict.causes]


@pytest.mark.slow
def test_operands_without_effect_are_named(tmp_path):
    assert causes(tmp_path, SELF_ATTENTION, "SelfAttention") == ("wrong", ["operands_ignored"])


def test_a_single_operand_is_right(tmp_path):
    text = SELF_ATTENTION.replace("forward(self, q, k, v)", "forward(self, q)")
    assert causes(tmp_path, text, "SelfAttention") == ("correct", [])


@pytest.mark.parametrize("moved", ["", ".to(x.device)"])
def test_a_layer_that_is_made_in_the_call_is_named(tmp_path, moved):
    text = FEED_FORWARD.replace("self.norm(self", f"nn.LayerNorm(x.shape[-1]){moved}(self")
    assert causes(tmp_path, text, "FeedForward") == ("wrong", ["layer_made_in_call"])


def test_a_layer_of_the_constructor_is_right(tmp_path):
    assert causes(tmp_path, FEED_FORWARD, "FeedForward") == ("correct", [])


WITH_DROPOUT = """
import torch
from torch import nn

class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.up, self.down = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)

    def forward(self, x):
        return nn.Dropout(0.1)(self.down(torch.relu(self.up(x))))
"""


def test_a_dropout_that_is_made_in_the_call_is_named(tmp_path):
    assert causes(tmp_path, WITH_DROPOUT, "FeedForward") == ("wrong", ["dropout_in_eval"])


IN_FLAX = """
from flax import linen as nn

class FeedForward(nn.Module):
    d_model: int
    d_ff: int

    @nn.compact
    def __call__(self, x):
        x = nn.LayerNorm()(x)
        return nn.Dense(self.d_model)(nn.relu(nn.Dense(self.d_ff)(x)))
"""


def test_a_module_of_flax_makes_its_layers_in_the_call(tmp_path):
    pytest.importorskip("flax")
    assert causes(tmp_path, IN_FLAX, "FeedForward") == ("correct", [])


THREE_LAYERS = """
import jax
from flax import nnx

class MLP(nnx.Module):
    def __init__(self, in_dim, out_dim, rngs, width_size=64, dropout_rate=0.2):
        self.linear1 = nnx.Linear(in_dim, width_size, rngs=rngs)
        self.dropout1 = nnx.Dropout(dropout_rate, rngs=rngs)
        self.linear2 = nnx.Linear(width_size, width_size, rngs=rngs)
        self.dropout2 = nnx.Dropout(dropout_rate, rngs=rngs)
        self.linear3 = nnx.Linear(width_size, out_dim, rngs=rngs)

    def __call__(self, x):
        x = self.dropout1(jax.nn.gelu(self.linear1(x)))
        return self.linear3(self.dropout2(jax.nn.gelu(self.linear2(x))))
"""


@pytest.mark.slow
def test_weights_that_another_reading_has_written_are_no_active_dropout(tmp_path):
    pytest.importorskip("flax")
    path = tmp_path / "learner.py"
    path.write_text(THREE_LAYERS)
    with jax_on_numpy():
        found = settled(verdicts(list(with_exercises(load_module(path, THREE_LAYERS), THREE_LAYERS))))
    assert not [each for each in found if each.status == "wrong"]
