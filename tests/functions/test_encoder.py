from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from headway.errors import ShapeError
from headway.functions import EncoderWeights, NormWeights, encoder, encoder_layer, gelu, layer_norm, padding_mask, relu, residual
from tests.functions import oracles
from tests.functions.close import assert_close

BATCH, SEQ_LEN, NUM_HEADS, HIDDEN_SIZE, INTERMEDIATE_SIZE, NUM_LAYERS = 2, 7, 3, 15, 11, 5
X = np.random.default_rng(0).standard_normal((BATCH, SEQ_LEN, HIDDEN_SIZE))
LENGTHS = np.array([4, SEQ_LEN])
HIDDEN = torch.from_numpy(np.arange(SEQ_LEN) >= LENGTHS[:, None])  # in torch, True means padding


def torch_layer(**options):
    return oracles.randomized(torch.nn.TransformerEncoderLayer(HIDDEN_SIZE, NUM_HEADS, INTERMEDIATE_SIZE, batch_first=True, **options))


@pytest.mark.parametrize("is_pre_norm", [False, True], ids=["post_norm", "pre_norm"])
@pytest.mark.parametrize("activation", [relu, gelu])
@pytest.mark.parametrize("has_padding", [False, True], ids=["whole", "padded"])
def test_a_torch_layer_computes_the_same(is_pre_norm, activation, has_padding):
    module = torch_layer(norm_first=is_pre_norm, activation=activation.__name__)
    with torch.enable_grad():  # torch's inference path warns about nested tensors
        expected = module(torch.from_numpy(X), src_key_padding_mask=HIDDEN if has_padding else None)
    mask = padding_mask(LENGTHS, SEQ_LEN) if has_padding else None
    weights = oracles.encoder_layer_weights(module)
    came = encoder_layer(X, weights, num_heads=NUM_HEADS, mask=mask, is_pre_norm=is_pre_norm, activation=activation)
    assert_close(came, expected.detach().numpy())


@pytest.mark.parametrize("is_pre_norm", [False, True], ids=["post_norm", "pre_norm"])
@pytest.mark.parametrize("has_last_norm", [False, True], ids=["bare", "last_norm"])
def test_a_torch_stack_computes_the_same(is_pre_norm, has_last_norm):
    norm = torch.nn.LayerNorm(HIDDEN_SIZE) if has_last_norm else None
    module = torch.nn.TransformerEncoder(torch_layer(norm_first=is_pre_norm), NUM_LAYERS, norm, enable_nested_tensor=False)
    module = oracles.randomized(module, seed=1)
    expected = module(torch.from_numpy(X), src_key_padding_mask=HIDDEN).detach().numpy()
    weights = EncoderWeights(tuple(map(oracles.encoder_layer_weights, module.layers)), oracles.norm_weights(module.norm))
    assert_close(encoder(X, weights, num_heads=NUM_HEADS, mask=padding_mask(LENGTHS, SEQ_LEN), is_pre_norm=is_pre_norm), expected)


def test_another_eps_reaches_both_norms():
    module = torch_layer(layer_norm_eps=0.5)
    expected = module(torch.from_numpy(X)).detach().numpy()
    assert_close(encoder_layer(X, oracles.encoder_layer_weights(module), num_heads=NUM_HEADS, eps=0.5), expected)


def test_padding_never_changes_a_real_token():
    weights = EncoderWeights((oracles.encoder_layer_weights(torch_layer()),) * 2)
    noisy = X.copy()
    noisy[0, LENGTHS[0] :] += 100
    mask = padding_mask(LENGTHS, SEQ_LEN)
    whole, other = (encoder(x, weights, num_heads=NUM_HEADS, mask=mask) for x in (X, noisy))
    np.testing.assert_array_equal(whole[0, : LENGTHS[0]], other[0, : LENGTHS[0]])
    assert_close(whole[0, : LENGTHS[0]], encoder(X[0, : LENGTHS[0]], weights, num_heads=NUM_HEADS))


def test_without_positions_an_encoder_does_not_see_the_order():
    weights, order = oracles.encoder_layer_weights(torch_layer()), np.random.default_rng(1).permutation(SEQ_LEN)
    assert_close(encoder_layer(X[:, order], weights, num_heads=NUM_HEADS), encoder_layer(X, weights, num_heads=NUM_HEADS)[:, order])


def test_every_position_depends_on_every_other():
    weights, changed = oracles.encoder_layer_weights(torch_layer()), X.copy()
    changed[:, 3] += 1
    assert (
        np.abs(encoder_layer(changed, weights, num_heads=NUM_HEADS) - encoder_layer(X, weights, num_heads=NUM_HEADS)).max(axis=-1) > 1e-9
    ).all()


def test_no_layers_and_no_norm_is_the_identity():
    assert encoder(X, EncoderWeights(()), num_heads=NUM_HEADS) is X


def test_a_residual_goes_around_the_part_and_the_norm_stands_where_it_is_asked_for():
    norm = NormWeights(np.array([2.0, 3.0]), np.array([10.0, 20.0]))
    x = np.array([1.0, 5.0])
    assert_close(
        residual(x, lambda x: 10 * x, norm, is_pre_norm=True, eps=0.0), x + 10 * np.array([8.0, 23.0])
    )  # norm(x) = (-1, 1)·weight + bias
    assert_close(residual(x, lambda x: 10 * x, norm, is_pre_norm=False, eps=0.0), layer_norm(11 * x, norm.weight, norm.bias, eps=0.0))


def test_weights_that_do_not_fit_say_so():
    weights = oracles.encoder_layer_weights(torch_layer())
    with pytest.raises(ShapeError, match=r"got x \(2, 7, 14\) and weight \(15, 15\)"):
        encoder_layer(X[..., 1:], weights, num_heads=NUM_HEADS)
    with pytest.raises(ShapeError, match=r"a weight or bias \(14,\), expected a weight and bias \(15,\)"):
        encoder_layer(X, dataclasses.replace(weights, attention_norm=NormWeights(np.ones(14))), num_heads=NUM_HEADS)
