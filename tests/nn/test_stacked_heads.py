from __future__ import annotations

import pytest
import torch

from headway.errors import ShapeError
from headway.nn import CausalSelfAttention, DropoutRates, MultiHeadAttention, StackedHeads
from tests.functions.close import assert_close
from tests.functions.oracles import randomized
from tests.nn.cases import HEADS, HIDDEN, SOURCE_TOKENS, SOURCE_WIDTH, VALUE_WIDTH, X, Y, Z

WIDTHS = {"key_width": SOURCE_WIDTH, "value_width": VALUE_WIDTH}


@pytest.mark.parametrize("has_bias", [True, False])
@pytest.mark.parametrize("masks", [{}, {"attention_mask": SOURCE_TOKENS}, {"is_causal": True}], ids=["bare", "padded", "causal"])
def test_both_forms_give_the_same_numbers_whichever_comes_first(has_bias, masks):
    heads = randomized(StackedHeads(HIDDEN, HEADS, has_bias=has_bias, **WIDTHS))
    assert_close(heads.to_multi_head()(X, Y, Z, **masks), heads(X, Y, Z, **masks))
    module = randomized(MultiHeadAttention(HIDDEN, HEADS, has_bias=has_bias, **WIDTHS))
    assert_close(StackedHeads.from_multi_head(module)(X, Y, Z, **masks), module(X, Y, Z, **masks))


def test_there_and_back_is_the_same_state():
    module = randomized(MultiHeadAttention(HIDDEN, HEADS, **WIDTHS))
    back = StackedHeads.from_multi_head(module).to_multi_head()
    assert all(torch.equal(back.state_dict()[name], tensor) for name, tensor in module.state_dict().items())
    assert len(back.state_dict()) == len(module.state_dict()) == 8


def test_grouped_heads_each_get_the_key_they_share():
    module = randomized(MultiHeadAttention(HIDDEN, HEADS, num_kv_heads=1, **WIDTHS))
    heads = StackedHeads.from_multi_head(module)
    assert torch.equal(heads.heads[0].key.weight, heads.heads[2].key.weight)
    assert_close(heads(X, Y, Z), module(X, Y, Z))


def test_a_conversion_copies_and_keeps_dtype_and_mode():
    module = CausalSelfAttention(HIDDEN, HEADS).to(torch.bfloat16).eval()
    heads = StackedHeads.from_multi_head(module)
    assert not heads.training
    assert heads.output.weight.dtype == torch.bfloat16
    before = heads.heads[1].query.weight.clone()
    module.query.weight.data.zero_()
    assert torch.equal(heads.heads[1].query.weight, before)


def test_a_conversion_keeps_the_rates_of_dropout():
    rates = DropoutRates(attention=0.2, output=0.3)
    heads = StackedHeads.from_multi_head(MultiHeadAttention(HIDDEN, HEADS, dropout=rates))
    assert heads.dropout == heads.to_multi_head().dropout == rates


def test_what_the_heads_return_together_is_dropped_and_the_rest_grows():
    heads = randomized(StackedHeads(HIDDEN, HEADS, dropout=DropoutRates(output=0.5), **WIDTHS))
    whole, came = heads(X, Y, Z), heads.train()(X, Y, Z)
    assert_close(came, torch.where(came == 0, 0, 2 * whole))
    assert 0 < (came == 0).sum() < came.numel()


def test_the_attention_weights_of_every_head_are_dropped():
    heads = randomized(StackedHeads(HIDDEN, HEADS, dropout=DropoutRates(attention=0.5), **WIDTHS)).train()
    torch.nn.init.eye_(heads.output.weight)
    first, second = heads(X, Y, Z), heads(X, Y, Z)
    assert (first != second).unflatten(-1, (HEADS, -1)).any(dim=-1).float().mean() > 0.9


def test_a_width_that_does_not_divide_is_an_error():
    with pytest.raises(ShapeError, match="got hidden_size=12 and num_heads=5"):
        StackedHeads(HIDDEN, 5)
