from __future__ import annotations

import pytest
import torch

from headway.errors import OptionError, ShapeError
from headway.nn import Encoder, EncoderLayer
from tests.functions.close import assert_close
from tests.functions.oracles import randomized
from tests.nn.cases import BY_NAME, HEADS, HIDDEN, INNER, LAYERS, TARGET_LENGTHS, X_TOKENS, X


@pytest.mark.parametrize("name", ["encoder_layer", "encoder"])
def test_padding_never_changes_a_real_token(name):
    module, noisy = BY_NAME[name].module(), X.clone()
    noisy[X_TOKENS == 0] += 100
    whole, other = module(X, attention_mask=X_TOKENS), module(noisy, attention_mask=X_TOKENS)
    assert torch.equal(whole[X_TOKENS != 0], other[X_TOKENS != 0])
    assert_close(whole[0, : TARGET_LENGTHS[0]], module(X[0, : TARGET_LENGTHS[0]]))


def test_a_last_norm_is_there_for_pre_norm_unless_said_otherwise():
    for is_pre_norm in (False, True):
        assert (Encoder(HIDDEN, HEADS, INNER, LAYERS, is_pre_norm=is_pre_norm).norm is not None) == is_pre_norm
        for has_last_norm in (False, True):
            module = randomized(Encoder(HIDDEN, HEADS, INNER, LAYERS, is_pre_norm=is_pre_norm, has_last_norm=has_last_norm))
            assert ("norm.weight" in module.state_dict()) == has_last_norm


def test_no_layers_are_the_identity():
    assert Encoder(HIDDEN, HEADS, INNER, 0)(X) is X


def test_options_out_of_range_are_errors():
    with pytest.raises(ShapeError, match="got hidden_size=12 and num_heads=5"):
        EncoderLayer(HIDDEN, 5, INNER)
    with pytest.raises(OptionError, match="got activation='tanh'"):
        EncoderLayer(HIDDEN, HEADS, INNER, activation="tanh")
    with pytest.raises(OptionError, match="got attention=1.5, expected at least 0 and below 1"):
        Encoder(HIDDEN, HEADS, INNER, LAYERS, dropout=1.5)
