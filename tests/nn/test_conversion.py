"""Conversion from and to torch.nn: the outputs are equal."""

from __future__ import annotations

import pytest
import torch

from headway import nn
from headway.errors import OptionError, UnsupportedError
from headway.nn import DropoutRates, from_torch, to_torch
from tests.functions.oracles import randomized
from tests.nn.cases import (
    HEADS,
    HIDDEN,
    INNER,
    LAYERS,
    SEQ,
    SOURCE_TOKENS,
    SOURCE_WIDTH,
    VALUE_WIDTH,
    WIDE_SOURCE,
    X_TOKENS,
    X,
    Y,
    Z,
    draw,
)

X_HIDDEN, SOURCE_HIDDEN = X_TOKENS == 0, SOURCE_TOKENS == 0  # in torch, True means hidden
FUTURE = torch.ones(SEQ, SEQ, dtype=torch.bool).triu(1)
both_ways = pytest.mark.parametrize("way", ["from_torch", "to_torch"])
every_norm = pytest.mark.parametrize("is_pre_norm", [False, True], ids=["post_norm", "pre_norm"])
every_activation = pytest.mark.parametrize("activation", ["relu", "gelu"])
every_bias = pytest.mark.parametrize("has_bias", [True, False], ids=["bias", "no_bias"])


def pair(way, theirs, mine):
    """Return a torch.nn module and the headway.nn module converted from it."""
    if way == "from_torch":
        theirs = randomized(theirs)
        return theirs, from_torch(theirs)
    mine = randomized(mine)
    return to_torch(mine), mine


@both_ways
@every_bias
@pytest.mark.parametrize("widths", [{}, {"kdim": SOURCE_WIDTH, "vdim": VALUE_WIDTH}], ids=["fused", "separate"])
@pytest.mark.parametrize("masked", ["bare", "padding", "boolean", "floating"])
def test_multi_head_attention_computes_the_same(way, has_bias, widths, masked):
    theirs, mine = pair(
        way,
        torch.nn.MultiheadAttention(HIDDEN, HEADS, bias=has_bias, batch_first=True, **widths),
        nn.MultiHeadAttention(HIDDEN, HEADS, key_width=widths.get("kdim"), value_width=widths.get("vdim"), has_bias=has_bias),
    )
    inputs = (X, Y, Z) if widths else (X, WIDE_SOURCE, WIDE_SOURCE)
    bias, visible = draw(SEQ, SOURCE_TOKENS.shape[1], seed=9), draw(SEQ, SOURCE_TOKENS.shape[1], seed=8) > -1
    their_masks, my_masks = {
        "bare": ({}, {}),
        "padding": ({"key_padding_mask": SOURCE_HIDDEN}, {"attention_mask": SOURCE_TOKENS}),
        "boolean": ({"attn_mask": ~visible}, {"mask": visible}),
        "floating": ({"attn_mask": bias}, {"mask": bias}),
    }[masked]
    torch.testing.assert_close(mine(*inputs, **my_masks), theirs(*inputs, **their_masks, need_weights=False)[0])


@both_ways
@every_norm
@every_activation
@every_bias
def test_an_encoder_layer_computes_the_same(way, is_pre_norm, activation, has_bias):
    theirs, mine = pair(
        way,
        torch.nn.TransformerEncoderLayer(
            HIDDEN, HEADS, INNER, activation=activation, norm_first=is_pre_norm, layer_norm_eps=1e-3, bias=has_bias, batch_first=True
        ),
        nn.EncoderLayer(HIDDEN, HEADS, INNER, activation=activation, is_pre_norm=is_pre_norm, eps=1e-3, has_bias=has_bias),
    )
    with torch.enable_grad():
        expected = theirs(X, src_key_padding_mask=X_HIDDEN)
    torch.testing.assert_close(mine(X, attention_mask=X_TOKENS), expected)


@both_ways
@every_norm
@every_activation
def test_a_decoder_layer_computes_the_same(way, is_pre_norm, activation):
    theirs, mine = pair(
        way,
        torch.nn.TransformerDecoderLayer(HIDDEN, HEADS, INNER, activation=activation, norm_first=is_pre_norm, batch_first=True),
        nn.DecoderLayer(HIDDEN, HEADS, INNER, activation=activation, is_pre_norm=is_pre_norm),
    )
    expected = theirs(X, WIDE_SOURCE, tgt_mask=FUTURE, tgt_key_padding_mask=X_HIDDEN, memory_key_padding_mask=SOURCE_HIDDEN)
    actual = mine(X, WIDE_SOURCE, attention_mask=X_TOKENS, encoder_attention_mask=SOURCE_TOKENS)
    torch.testing.assert_close(actual, expected)


@both_ways
@every_norm
@every_activation
@every_bias
@pytest.mark.filterwarnings("ignore:enable_nested_tensor is True")
def test_a_transformer_computes_the_same_with_all_masks(way, is_pre_norm, activation, has_bias):
    theirs, mine = pair(
        way,
        torch.nn.Transformer(
            HIDDEN, HEADS, LAYERS, LAYERS + 1, INNER, activation=activation, norm_first=is_pre_norm, bias=has_bias, batch_first=True
        ),
        nn.Transformer(
            HIDDEN,
            HEADS,
            INNER,
            LAYERS,
            num_decoder_layers=LAYERS + 1,
            activation=activation,
            is_pre_norm=is_pre_norm,
            has_bias=has_bias,
            has_last_norm=True,  # torch.nn.Transformer always has it
        ),
    )
    with torch.enable_grad():
        expected = theirs(
            WIDE_SOURCE,
            X,
            tgt_mask=FUTURE,
            src_key_padding_mask=SOURCE_HIDDEN,
            tgt_key_padding_mask=X_HIDDEN,
            memory_key_padding_mask=SOURCE_HIDDEN,
        )
    actual = mine(WIDE_SOURCE, X, source_attention_mask=SOURCE_TOKENS, target_attention_mask=X_TOKENS)
    torch.testing.assert_close(actual, expected)
    torch.testing.assert_close(mine(WIDE_SOURCE, X), theirs(WIDE_SOURCE, X, tgt_mask=FUTURE))


@pytest.mark.parametrize("has_last_norm", [True, False], ids=["last_norm", "bare"])
def test_stacks_go_there_and_back(has_last_norm):
    encoder = randomized(nn.Encoder(HIDDEN, HEADS, INNER, LAYERS, has_last_norm=has_last_norm))
    decoder = randomized(nn.Decoder(HIDDEN, HEADS, INNER, LAYERS, encoder_width=SOURCE_WIDTH, has_last_norm=has_last_norm))
    torch.testing.assert_close(to_torch(encoder)(X), encoder(X))
    torch.testing.assert_close(to_torch(decoder)(X, Y, tgt_mask=FUTURE), decoder(X, Y))
    assert torch.equal(from_torch(to_torch(encoder))(X), encoder(X))
    assert torch.equal(from_torch(to_torch(decoder))(X, Y), decoder(X, Y))


def test_gradients_are_the_same_too():
    theirs = randomized(torch.nn.TransformerDecoderLayer(HIDDEN, HEADS, INNER, batch_first=True))
    mine, weights = from_torch(theirs), draw(*X.shape, seed=4)
    (theirs(X, WIDE_SOURCE, tgt_mask=FUTURE) * weights).sum().backward()
    (mine(X, WIDE_SOURCE) * weights).sum().backward()
    torch.testing.assert_close(mine.self_attention.query.weight.grad, theirs.self_attn.in_proj_weight.grad[:HIDDEN])
    torch.testing.assert_close(mine.cross_attention.value.bias.grad, theirs.multihead_attn.in_proj_bias.grad[2 * HIDDEN :])
    torch.testing.assert_close(mine.feed_forward_norm.weight.grad, theirs.norm3.weight.grad)


def test_the_sequence_first_layout_of_torch_becomes_batch_first():
    theirs = randomized(torch.nn.MultiheadAttention(HIDDEN, HEADS))
    expected = theirs(X.transpose(0, 1), X.transpose(0, 1), X.transpose(0, 1))[0].transpose(0, 1)
    torch.testing.assert_close(from_torch(theirs)(X, X, X), expected)


def test_a_conversion_copies_and_keeps_dtype_and_mode_and_rates():
    theirs = torch.nn.TransformerEncoderLayer(HIDDEN, HEADS, INNER, dropout=0.2, batch_first=True).bfloat16()
    theirs.self_attn.dropout = 0.3
    mine = from_torch(theirs)
    assert mine.training
    assert mine.dropout == DropoutRates(attention=0.3, output=0.2)
    assert mine.feed_forward.up.weight.dtype == torch.bfloat16
    before = mine.attention.query.weight.clone()
    theirs.self_attn.in_proj_weight.data.zero_()
    assert torch.equal(mine.attention.query.weight, before)
    back = to_torch(mine.eval())
    assert not back.training
    assert (back.self_attn.dropout, back.dropout1.p, back.dropout2.p, back.dropout.p) == (0.3, 0.2, 0.2, 0.0)
    assert back.norm1.weight.data_ptr() != mine.attention_norm.weight.data_ptr()


@pytest.mark.parametrize(("theirs", "mine"), [(torch.nn.ReLU(), "relu"), (torch.nn.GELU(), "gelu"), (torch.nn.GELU("tanh"), "gelu_tanh")])
def test_an_activation_may_be_a_module(theirs, mine):
    layer = randomized(torch.nn.TransformerEncoderLayer(HIDDEN, HEADS, INNER, activation=theirs, batch_first=True))
    converted = from_torch(layer)
    assert converted.feed_forward.activation == mine
    torch.testing.assert_close(converted(X), layer(X))


def test_what_has_no_counterpart_here_is_an_error():
    with pytest.raises(UnsupportedError, match="got a Linear, expected torch.nn's MultiheadAttention, Transformer"):
        from_torch(torch.nn.Linear(3, 5))
    for options in ({"add_bias_kv": True}, {"add_zero_attn": True}):
        with pytest.raises(UnsupportedError, match="got an attention with add_bias_kv or add_zero_attn, expected neither"):
            from_torch(torch.nn.MultiheadAttention(HIDDEN, HEADS, **options))
    with pytest.raises(UnsupportedError, match="got a layer with the activation .*, expected relu or gelu"):
        from_torch(torch.nn.TransformerEncoderLayer(HIDDEN, HEADS, INNER, activation=torch.tanh, batch_first=True))
    stack = torch.nn.TransformerDecoder(torch.nn.TransformerDecoderLayer(HIDDEN, HEADS, INNER, batch_first=True), LAYERS)
    stack.layers[1].norm_first = True
    with pytest.raises(UnsupportedError, match="got a stack of layers with different options"):
        from_torch(stack)


def test_what_torch_does_not_have_is_an_error():
    with pytest.raises(OptionError, match="got a GPT2, expected an attention, a Transformer"):
        to_torch(nn.GPT2(7, 5, HIDDEN, HEADS, LAYERS))
    with pytest.raises(
        OptionError, match="got num_heads=3 and num_kv_heads=1, expected equal numbers, because torch.nn has no grouped heads"
    ):
        to_torch(nn.MultiHeadAttention(HIDDEN, HEADS, num_kv_heads=1))
    with pytest.raises(OptionError, match="got activation='silu', expected relu or gelu"):
        to_torch(nn.EncoderLayer(HIDDEN, HEADS, INNER, activation="silu"))
