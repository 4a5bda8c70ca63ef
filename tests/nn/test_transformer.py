from __future__ import annotations

import pytest
import torch

from headway.nn import SinusoidalPositions, Transformer
from tests.functions.close import assert_close
from tests.nn.cases import BY_NAME, HEADS, HIDDEN, INNER, LAYERS, SEQ, SOURCE, SOURCE_LENGTHS, SOURCE_TOKENS, WIDE_SOURCE, X

both_norms = pytest.mark.parametrize("name", ["transformer", "pre_norm_transformer"])


@both_norms
def test_padding_of_the_source_never_changes_the_target(name):
    module, noisy = BY_NAME[name].module(), WIDE_SOURCE.clone()
    noisy[SOURCE_TOKENS == 0] += 100
    came = module(WIDE_SOURCE, X, source_attention_mask=SOURCE_TOKENS)
    assert torch.equal(came, module(noisy, X, source_attention_mask=SOURCE_TOKENS))
    assert_close(came[1:], module(WIDE_SOURCE[1:, : SOURCE_LENGTHS[1]], X[1:]))


@both_norms
def test_the_encoder_and_the_decoder_alone_compute_the_same(name):
    module = BY_NAME[name].module()
    assert torch.equal(module.decoder(X, module.encoder(WIDE_SOURCE)), module(WIDE_SOURCE, X))


@both_norms
def test_masks_of_other_shapes_say_the_same(name):
    module = BY_NAME[name].module()
    expected = module(WIDE_SOURCE, X, source_attention_mask=SOURCE_TOKENS)
    assert_close(module(WIDE_SOURCE, X, source_mask=(SOURCE_TOKENS != 0)[:, None, None]), expected)
    own = torch.eye(SEQ, dtype=torch.bool)
    changed = X.clone()
    changed[:, 1] += 100
    assert torch.equal(module(WIDE_SOURCE, X, target_mask=own)[:, 2:], module(WIDE_SOURCE, changed, target_mask=own)[:, 2:])


def test_a_new_model_starts_with_matrices_as_glorot_has_them():
    module = Transformer(60, 3, 200, 1)
    assert module.encoder.layers[0].feed_forward.up.weight.std().item() == pytest.approx((2 / 260) ** 0.5, rel=0.05)
    assert module.decoder.layers[0].cross_attention.key.weight.std().item() == pytest.approx((2 / 120) ** 0.5, rel=0.05)


def test_with_positions_the_order_of_the_source_matters():
    module, positions = BY_NAME["transformer"].module(), SinusoidalPositions(SOURCE, HIDDEN).double()
    flipped = WIDE_SOURCE.flip(1)
    assert_close(module(flipped, X), module(WIDE_SOURCE, X))
    assert not torch.allclose(module(positions(flipped), X), module(positions(WIDE_SOURCE), X))


def test_the_decoder_may_have_another_number_of_layers():
    module = Transformer(HIDDEN, HEADS, INNER, LAYERS, num_decoder_layers=LAYERS + 1)
    assert (len(module.encoder.layers), len(module.decoder.layers)) == (LAYERS, LAYERS + 1)
