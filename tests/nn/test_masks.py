from __future__ import annotations

import pytest
import torch

from headway.errors import DtypeError, OptionError, ShapeError
from headway.nn import CausalSelfAttention, DecoderLayer, MultiHeadAttention, SelfAttention, StackedHeads
from headway.nn.masks import combined_mask
from tests.functions.oracles import randomized
from tests.nn.cases import BATCH, HEADS, HIDDEN, INNER, SEQ, SOURCE, SOURCE_TOKENS, SOURCE_WIDTH, X_TOKENS, X, Y, draw

SCORES = (BATCH, HEADS, SEQ, SOURCE)
BOOLEAN = draw(SEQ, SOURCE, seed=5) > -1
PADDING = (SOURCE_TOKENS != 0)[:, None, None]


def attention():
    return randomized(MultiHeadAttention(HIDDEN, HEADS, key_width=SOURCE_WIDTH))


def test_no_mask_is_no_mask():
    assert combined_mask(None, None, scores=SCORES, key=Y) is None


def test_masks_hide_what_any_of_them_hides():
    assert torch.equal(combined_mask(BOOLEAN, SOURCE_TOKENS, scores=SCORES, key=Y), BOOLEAN & PADDING)
    added = combined_mask(BOOLEAN.double(), SOURCE_TOKENS, scores=SCORES, key=Y)
    assert torch.equal(added, torch.where(PADDING, BOOLEAN.double(), -torch.inf))


@pytest.mark.parametrize("dtype", [torch.bool, torch.int64, torch.int32, torch.uint8])
def test_an_attention_mask_may_be_of_any_whole_numbers_or_booleans(dtype):
    assert torch.equal(combined_mask(None, SOURCE_TOKENS.to(dtype), scores=SCORES, key=Y), PADDING)


def test_boolean_floating_and_attention_masks_say_the_same():
    module = attention()
    expected = module(X, Y, Y, mask=PADDING)
    torch.testing.assert_close(module(X, Y, Y, mask=torch.where(PADDING, 0.0, -torch.inf)), expected)  # a float32 mask with float64 inputs
    torch.testing.assert_close(module(X, Y, Y, attention_mask=SOURCE_TOKENS), expected)
    torch.testing.assert_close(module(X, Y, Y, mask=PADDING.expand(SCORES)), expected)


def test_a_floating_mask_is_added_to_the_scores():
    module, bias = attention(), draw(HEADS, SEQ, SOURCE, seed=6)
    biased = module(X, Y, Y, mask=bias)
    torch.testing.assert_close(module(X, Y, Y, mask=bias + 3), biased)  # adding a constant does not change the softmax
    assert not torch.allclose(biased, module(X, Y, Y))


@pytest.mark.parametrize("is_training", [False, True], ids=["eval", "train"])
def test_under_autocast_masks_may_stay_in_float32(is_training):
    module, bias = attention().float().train(is_training), draw(HEADS, SEQ, SOURCE, seed=6).float()
    expected = module(X.float(), Y.float(), Y.float(), mask=bias, attention_mask=SOURCE_TOKENS)
    with torch.autocast("cpu", torch.bfloat16):
        came = module(X.float(), Y.float(), Y.float(), mask=bias, attention_mask=SOURCE_TOKENS)
    torch.testing.assert_close(came.float(), expected, atol=0.1, rtol=0)


@pytest.mark.parametrize("mask_name", ["mask", "attention_mask"])
@pytest.mark.parametrize("kind", [SelfAttention, CausalSelfAttention])
@pytest.mark.parametrize("is_training", [False, True], ids=["eval", "train"])
def test_a_sequence_of_padding_alone_attends_to_zeros_and_never_to_nan(kind, mask_name, is_training):
    module = randomized(kind(HIDDEN, HEADS, dropout=0.1 if is_training else 0.0)).train(is_training)
    module.output.bias.data.zero_()
    tokens = X_TOKENS.clone()
    tokens[0] = 0
    x = X.clone().requires_grad_()
    came = module(x, **{mask_name: tokens if mask_name == "attention_mask" else (tokens != 0)[:, None, None]})
    assert (came[0] == 0).all()
    assert (came[1] != 0).any()
    gradients = torch.autograd.grad(came.square().sum(), [x, *module.parameters()])
    assert all(gradient.isfinite().all() for gradient in gradients)
    assert (gradients[0][0] == 0).all()


def test_a_floating_mask_that_hides_a_whole_row_gives_zeros_and_never_nan():
    module = attention()
    module.output.bias.data.zero_()
    mask = torch.zeros(SEQ, SOURCE)
    mask[3] = -torch.inf
    query = X.clone().requires_grad_()
    came = module(query, Y, Y, mask=mask)
    assert (came[:, 3] == 0).all()
    gradients = torch.autograd.grad(came.square().sum(), [query, *module.parameters()])
    assert all(gradient.isfinite().all() for gradient in gradients)


@pytest.mark.parametrize("is_training", [False, True], ids=["eval", "train"])
def test_a_mask_of_whole_numbers_is_an_error_that_names_the_other_argument(is_training):
    module = attention().train(is_training)
    with pytest.raises(DtypeError, match=r"(?s)got a mask of dtype torch.int64, expected boolean .* or floating-point .*attention_mask="):
        module(X, Y, Y, mask=torch.ones(SEQ, SOURCE, dtype=torch.int64))
    layer = DecoderLayer(HIDDEN, HEADS, INNER).double()
    with pytest.raises(DtypeError, match="attention_mask="):
        layer(X, X, encoder_mask=torch.ones(SEQ, SEQ, dtype=torch.int32))


def test_a_floating_attention_mask_is_an_error_that_names_the_other_argument():
    with pytest.raises(DtypeError, match=r"(?s)got an attention_mask of dtype torch.float64, .* as mask="):
        attention()(X, Y, Y, attention_mask=SOURCE_TOKENS.double())


def test_an_attention_mask_of_other_numbers_is_an_error():
    with pytest.raises(OptionError, match=r"got an attention_mask with values from 0 to 2, expected 0 \(padding\) and 1 \(token\)"):
        attention()(X, Y, Y, attention_mask=2 * SOURCE_TOKENS)


def test_an_attention_mask_of_another_length_is_an_error():
    with pytest.raises(ShapeError, match=r"got an attention_mask \(2, 5\) for keys \(2, 7, 8\), expected \(2, 7\)"):
        attention()(X, Y, Y, attention_mask=X_TOKENS)


def test_a_mask_per_sequence_without_an_axis_for_heads_is_an_error_that_says_so():
    mask = BOOLEAN.expand(BATCH, SEQ, SOURCE)
    with pytest.raises(ShapeError, match=r"(?s)got a mask \(2, 5, 7\) for scores \(2, 3, 5, 7\), .*mask\[:, None\]"):
        attention()(X, Y, Y, mask=mask)
    attention()(X, Y, Y, mask=mask[:, None])
    heads = StackedHeads(HIDDEN, HEADS, key_width=SOURCE_WIDTH).double()
    assert heads(X, Y, Y, mask=mask).shape == X.shape


def test_a_mask_that_does_not_broadcast_is_an_error():
    with pytest.raises(ShapeError, match=r"got a mask \(7, 5\) for scores \(2, 3, 5, 7\), expected a shape that broadcasts"):
        attention()(X, Y, Y, mask=BOOLEAN.T)
