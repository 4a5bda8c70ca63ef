from __future__ import annotations

import numpy as np
import pytest
import torch

from headway.errors import ShapeError
from headway.functions import FeedForwardWeights, GatedFeedForwardWeights, LinearWeights, feed_forward, gated_feed_forward, gelu, relu, silu
from tests.functions.close import assert_close

RANDOM = np.random.default_rng(0)
UP, GATE, DOWN = (LinearWeights(RANDOM.standard_normal((a, b)), RANDOM.standard_normal(a)) for a, b in ((13, 7), (13, 7), (7, 13)))
X = RANDOM.standard_normal((2, 5, 7))


def test_a_hidden_unit_below_zero_is_shut():
    up = LinearWeights(np.array([[1.0], [-1.0]]))  # one unit for each sign
    down = LinearWeights(np.array([[10.0, 100.0]]))
    assert feed_forward(np.array([[2.0], [-3.0]]), FeedForwardWeights(up, down)).tolist() == [[20.0], [300.0]]


def test_the_gate_decides_how_much_of_the_other_passes():
    one = LinearWeights(np.array([[1.0]]))
    came = gated_feed_forward(
        np.array([[3.0]]), GatedFeedForwardWeights(gate=one, up=LinearWeights(np.array([[10.0]])), down=one), activation=relu
    )
    assert came.tolist() == [[90.0]]  # relu(3) · 30


@pytest.mark.parametrize("activation", [relu, gelu])
def test_a_torch_module_of_two_linear_maps_computes_the_same(activation):
    tensors = [torch.from_numpy(array) for array in (X, UP.weight, UP.bias, DOWN.weight, DOWN.bias)]
    x, *(up, up_bias, down, down_bias) = tensors
    oracle = getattr(torch.nn.functional, activation.__name__)(torch.nn.functional.linear(x, up, up_bias))
    expected = torch.nn.functional.linear(oracle, down, down_bias)
    assert_close(feed_forward(X, FeedForwardWeights(UP, DOWN), activation=activation), expected.numpy())


def test_transformers_llama_mlp_computes_the_same():
    from transformers import LlamaConfig
    from transformers.models.llama.modeling_llama import LlamaMLP

    module = LlamaMLP(LlamaConfig(hidden_size=7, intermediate_size=13, mlp_bias=True, num_attention_heads=1, head_dim=2)).double()
    for name, weights in (("gate_proj", GATE), ("up_proj", UP), ("down_proj", DOWN)):
        getattr(module, name).load_state_dict({"weight": torch.from_numpy(weights.weight), "bias": torch.from_numpy(weights.bias)})
    expected = module(torch.from_numpy(X)).detach().numpy()
    assert_close(gated_feed_forward(X, GatedFeedForwardWeights(GATE, UP, DOWN)), expected)


def test_silu_is_the_default_gate_and_relu_the_default_bend():
    gated, plain = GatedFeedForwardWeights(GATE, UP, DOWN), FeedForwardWeights(UP, DOWN)
    assert_close(gated_feed_forward(X, gated), gated_feed_forward(X, gated, activation=silu))
    assert_close(feed_forward(X, plain), feed_forward(X, plain, activation=relu))


@pytest.mark.parametrize(
    "function_and_weights", [(feed_forward, FeedForwardWeights(UP, DOWN)), (gated_feed_forward, GatedFeedForwardWeights(GATE, UP, DOWN))]
)
def test_every_position_is_worked_on_alone(function_and_weights):
    function, weights = function_and_weights
    changed = X.copy()
    changed[:, 3] += 1
    moved = np.abs(function(changed, weights) - function(X, weights)).max(axis=(0, 2)) > 1e-9
    assert moved.tolist() == [False, False, False, True, False]


def test_weights_of_the_wrong_width_are_an_error():
    with pytest.raises(ShapeError, match=r"got x \(2, 5, 13\) and weight \(13, 7\)"):
        feed_forward(X, FeedForwardWeights(UP, UP))
