from __future__ import annotations

import pytest
import torch

from headway.errors import OptionError
from headway.nn import FeedForward, GatedFeedForward
from tests.functions.oracles import randomized
from tests.nn.cases import HIDDEN, INNER, X

TORCHS = {
    "relu": torch.nn.ReLU(),
    "gelu": torch.nn.GELU(),
    "gelu_tanh": torch.nn.GELU(approximate="tanh"),
    "silu": torch.nn.SiLU(),
    "sigmoid": torch.nn.Sigmoid(),
}


@pytest.mark.parametrize("name", TORCHS)
def test_torchs_own_modules_compute_the_same(name):
    module, gated = randomized(FeedForward(HIDDEN, INNER, activation=name)), randomized(GatedFeedForward(HIDDEN, INNER, activation=name))
    torch.testing.assert_close(module(X), torch.nn.Sequential(module.up, TORCHS[name], module.down)(X))
    torch.testing.assert_close(gated(X), gated.down(TORCHS[name](gated.gate(X)) * gated.up(X)))


def test_the_mean_over_many_draws_is_what_eval_gives():
    module = randomized(FeedForward(HIDDEN, INNER, dropout=0.4))
    x, expected = X[0, 0].expand(20_000, HIDDEN), module(X[0, 0])
    torch.manual_seed(0)
    deviation = expected.abs() * (0.4 / 0.6 / 20_000) ** 0.5
    assert ((module.train()(x).mean(dim=0) - expected).abs() < 4 * deviation).all()


@pytest.mark.parametrize("kind", [FeedForward, GatedFeedForward])
def test_an_unknown_activation_is_an_error_that_lists_the_known(kind):
    with pytest.raises(OptionError, match="got activation='swish', expected one of relu, gelu, gelu_tanh, silu, sigmoid"):
        kind(HIDDEN, INNER, activation="swish")


def test_only_the_plain_one_has_a_bias_unless_asked():
    assert "up.bias" in FeedForward(HIDDEN, INNER).state_dict()
    assert "up.bias" not in FeedForward(HIDDEN, INNER, has_bias=False).state_dict()
    assert "up.bias" not in GatedFeedForward(HIDDEN, INNER).state_dict()
    assert "gate.bias" in GatedFeedForward(HIDDEN, INNER, has_bias=True).state_dict()
