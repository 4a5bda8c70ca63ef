from __future__ import annotations

import numpy as np
import pytest
import torch

from headway.functions import (
    DecoderWeights,
    TransformerWeights,
    causal_mask,
    decoder,
    decoder_layer,
    encoder,
    gelu,
    padding_mask,
    relu,
    transformer,
)
from tests.functions import oracles
from tests.functions.close import assert_close

BATCH, SEQ_LEN, SOURCE_LEN, NUM_HEADS, HIDDEN_SIZE, INTERMEDIATE_SIZE = 2, 5, 7, 3, 15, 11
RANDOM = np.random.default_rng(0)
X = RANDOM.standard_normal((BATCH, SEQ_LEN, HIDDEN_SIZE))
SOURCE = RANDOM.standard_normal((BATCH, SOURCE_LEN, HIDDEN_SIZE))
SOURCE_LENGTHS, LENGTHS = np.array([4, SOURCE_LEN]), np.array([SEQ_LEN, 3])
CAUSAL = torch.from_numpy(~causal_mask(SEQ_LEN))  # in torch, True means hidden


def hidden(lengths, seq_len):
    return torch.from_numpy(np.arange(seq_len) >= lengths[:, None])


def torch_layer(**options):
    return oracles.randomized(torch.nn.TransformerDecoderLayer(HIDDEN_SIZE, NUM_HEADS, INTERMEDIATE_SIZE, batch_first=True, **options))


def torch_transformer(**options):
    sizes = {"d_model": HIDDEN_SIZE, "nhead": NUM_HEADS, "dim_feedforward": INTERMEDIATE_SIZE, "batch_first": True, **options}
    layer, norm = torch.nn.TransformerEncoderLayer(**sizes), torch.nn.LayerNorm(HIDDEN_SIZE)
    read = torch.nn.TransformerEncoder(layer, 2, norm, enable_nested_tensor=False)  # the default encoder warns
    return oracles.randomized(torch.nn.Transformer(num_decoder_layers=3, custom_encoder=read, **sizes), seed=1)


@pytest.mark.parametrize("is_pre_norm", [False, True], ids=["post_norm", "pre_norm"])
@pytest.mark.parametrize("activation", [relu, gelu])
@pytest.mark.parametrize("has_padding", [False, True], ids=["whole", "padded"])
def test_a_torch_layer_computes_the_same(is_pre_norm, activation, has_padding):
    module = torch_layer(norm_first=is_pre_norm, activation=activation.__name__)
    torch_masks, masks = {}, {}
    if has_padding:
        torch_masks = {"tgt_key_padding_mask": hidden(LENGTHS, SEQ_LEN), "memory_key_padding_mask": hidden(SOURCE_LENGTHS, SOURCE_LEN)}
        masks = {"mask": padding_mask(LENGTHS, SEQ_LEN), "encoder_mask": padding_mask(SOURCE_LENGTHS, SOURCE_LEN)}
    expected = module(torch.from_numpy(X), torch.from_numpy(SOURCE), tgt_mask=CAUSAL, **torch_masks)
    weights = oracles.decoder_layer_weights(module)
    came = decoder_layer(X, SOURCE, weights, num_heads=NUM_HEADS, is_pre_norm=is_pre_norm, activation=activation, **masks)
    assert_close(came, expected.detach().numpy())


@pytest.mark.parametrize("is_pre_norm", [False, True], ids=["post_norm", "pre_norm"])
@pytest.mark.parametrize("activation", [relu, gelu])
@pytest.mark.parametrize("has_padding", [False, True], ids=["whole", "padded"])
def test_a_torch_transformer_computes_the_same(is_pre_norm, activation, has_padding):
    module = torch_transformer(norm_first=is_pre_norm, activation=activation.__name__)
    torch_masks, masks = {}, {}
    if has_padding:
        source = hidden(SOURCE_LENGTHS, SOURCE_LEN)
        torch_masks = {"src_key_padding_mask": source, "memory_key_padding_mask": source, "tgt_key_padding_mask": hidden(LENGTHS, SEQ_LEN)}
        masks = {"source_mask": padding_mask(SOURCE_LENGTHS, SOURCE_LEN), "target_mask": padding_mask(LENGTHS, SEQ_LEN)}
    expected = module(torch.from_numpy(SOURCE), torch.from_numpy(X), tgt_mask=CAUSAL, **torch_masks)
    weights = oracles.transformer_weights(module)
    came = transformer(SOURCE, X, weights, num_heads=NUM_HEADS, is_pre_norm=is_pre_norm, activation=activation, **masks)
    assert_close(came, expected.detach().numpy())


def test_a_decoder_without_its_last_norm_computes_what_torch_does_without():
    module = torch_transformer()
    layers = module.decoder.layers
    expected = torch.from_numpy(X)
    for layer in layers:
        expected = layer(expected, torch.from_numpy(SOURCE), tgt_mask=CAUSAL)
    weights = DecoderWeights(tuple(map(oracles.decoder_layer_weights, layers)))
    assert_close(decoder(X, SOURCE, weights, num_heads=NUM_HEADS), expected.detach().numpy())


def test_a_transformer_is_a_decoder_over_an_encoder():
    weights = oracles.transformer_weights(torch_transformer())
    read = encoder(SOURCE, weights.encoder, num_heads=NUM_HEADS)
    assert_close(transformer(SOURCE, X, weights, num_heads=NUM_HEADS), decoder(X, read, weights.decoder, num_heads=NUM_HEADS))


def test_no_answer_depends_on_a_later_target_and_every_answer_on_the_whole_source():
    weights = oracles.transformer_weights(torch_transformer())
    answer = transformer(SOURCE, X, weights, num_heads=NUM_HEADS)
    for position in range(SEQ_LEN):
        changed = X.copy()
        changed[:, position] += 1
        moved = np.abs(transformer(SOURCE, changed, weights, num_heads=NUM_HEADS) - answer).max(axis=-1) > 1e-12
        assert (moved == (np.arange(SEQ_LEN) >= position)).all()
    changed = SOURCE.copy()
    changed[:, 2] += 1
    assert (np.abs(transformer(changed, X, weights, num_heads=NUM_HEADS) - answer).max(axis=-1) > 1e-12).all()


def test_padding_of_the_source_never_changes_an_answer():
    weights = oracles.transformer_weights(torch_transformer())
    mask = padding_mask(SOURCE_LENGTHS, SOURCE_LEN)
    noisy = np.where(mask[:, 0, 0, :, None], SOURCE, 99.0)
    answer = transformer(SOURCE, X, weights, num_heads=NUM_HEADS, source_mask=mask)
    np.testing.assert_array_equal(transformer(noisy, X, weights, num_heads=NUM_HEADS, source_mask=mask), answer)
    short = SOURCE_LENGTHS[0]
    assert_close(answer[0], transformer(SOURCE[0, :short], X[0], weights, num_heads=NUM_HEADS))


def test_no_layers_and_no_norms_return_the_target():
    from headway.functions import EncoderWeights

    assert transformer(SOURCE, X, TransformerWeights(EncoderWeights(()), DecoderWeights(())), num_heads=NUM_HEADS) is X
