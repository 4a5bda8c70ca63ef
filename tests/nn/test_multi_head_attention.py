from __future__ import annotations

import pytest
import torch

from headway import functions
from headway.errors import OptionError, ShapeError
from headway.nn import CausalSelfAttention, CrossAttention, MultiHeadAttention, SelfAttention
from tests.functions.close import assert_close
from tests.functions.oracles import randomized
from tests.nn.cases import HEADS, HIDDEN, SEQ, SOURCE, SOURCE_LENGTHS, SOURCE_TOKENS, SOURCE_WIDTH, WIDE_SOURCE, X_TOKENS, X, Y, draw


def test_one_state_dict_fits_every_way_to_attend():
    state = randomized(MultiHeadAttention(HIDDEN, HEADS)).state_dict()
    for kind in (MultiHeadAttention, SelfAttention, CausalSelfAttention, CrossAttention):
        module = kind(HIDDEN, HEADS).double().eval()
        module.load_state_dict(state)
        assert list(module.state_dict()) == list(state)


def test_self_and_cross_attention_are_multi_head_attention_of_one_and_two_sequences():
    module = randomized(MultiHeadAttention(HIDDEN, HEADS))
    alone, other = SelfAttention(HIDDEN, HEADS).double(), CrossAttention(HIDDEN, HEADS).double()
    causal = CausalSelfAttention(HIDDEN, HEADS).double()
    for each in (alone, other, causal):
        each.load_state_dict(module.state_dict())
    assert torch.equal(alone(X), module(X, X, X))
    assert torch.equal(causal(X), module(X, X, X, is_causal=True))
    assert torch.equal(other(X, WIDE_SOURCE), module(X, WIDE_SOURCE, WIDE_SOURCE))


@pytest.mark.parametrize("has_mask", [False, True], ids=["bare", "masked"])
def test_future_tokens_never_change_a_past_one(has_mask):
    module, masks = randomized(CausalSelfAttention(HIDDEN, HEADS, num_kv_heads=1)), {"attention_mask": X_TOKENS} if has_mask else {}
    changed = X.clone()
    changed[:, 3:] += 100
    whole, other = module(X, **masks), module(changed, **masks)
    assert torch.equal(whole[:, :3], other[:, :3])
    assert not torch.equal(whole[:, 3:], other[:, 3:])


def test_padding_never_changes_what_a_query_reads():
    module, noisy = randomized(CrossAttention(HIDDEN, HEADS, source_width=SOURCE_WIDTH)), Y.clone()
    noisy[SOURCE_TOKENS == 0] += 100
    came = module(X, noisy, attention_mask=SOURCE_TOKENS)
    assert torch.equal(came, module(X, Y, attention_mask=SOURCE_TOKENS))
    assert_close(came[1], module(X[1], Y[1, : SOURCE_LENGTHS[1]]))


def test_the_newest_query_sits_at_the_newest_key():
    module = randomized(MultiHeadAttention(HIDDEN, HEADS))
    whole = module(X, X, X, is_causal=True)
    assert_close(module(X[:, -2:], X, X, is_causal=True), whole[:, -2:])


def test_rotary_positions_are_those_of_the_definition():
    module = randomized(SelfAttention(HIDDEN, HEADS))
    rotary = functions.rotary_cos_sin(torch.arange(SEQ), functions.rotary_frequencies(HIDDEN // HEADS, like=X))
    expected = functions.multi_head_attention(X, X, X, module.weights(), num_heads=HEADS, rotary=rotary)
    assert_close(module(X, rotary=rotary), expected)
    assert not torch.allclose(module(X), expected)


def test_an_empty_batch_comes_back_empty():
    assert SelfAttention(HIDDEN, HEADS).double()(X[:0]).shape == (0, SEQ, HIDDEN)


def test_a_new_attention_starts_with_matrices_of_the_same_size_and_no_bias():
    module = MultiHeadAttention(400, 4, num_kv_heads=1)
    assert all((module.get_parameter(f"{name}.bias") == 0).all() for name in ("query", "key", "value", "output"))
    assert module.query.weight.std().item() == pytest.approx((2 / 800) ** 0.5, rel=0.02)  # Glorot: √(2 / (in + out))
    assert module.key.weight.std().item() == pytest.approx((2 / 500) ** 0.5, rel=0.02)


def test_widths_that_do_not_divide_are_errors():
    with pytest.raises(ShapeError, match=r"got hidden_size=12 and num_heads=5, expected hidden_size to be a multiple of num_heads"):
        SelfAttention(HIDDEN, 5)
    with pytest.raises(ShapeError, match=r"got num_heads=3 and num_kv_heads=2, expected num_heads to be a multiple of num_kv_heads"):
        MultiHeadAttention(HIDDEN, HEADS, num_kv_heads=2)
    for heads in ({"num_heads": 0}, {"num_heads": 3, "num_kv_heads": 0}):
        with pytest.raises(ShapeError, match="multiple of"):
            CrossAttention(HIDDEN, **heads)


@pytest.mark.parametrize("rate", [-0.5, 1.0])
def test_a_rate_outside_its_range_is_an_error(rate):
    with pytest.raises(OptionError, match=f"got attention={rate}, expected at least 0 and below 1"):
        MultiHeadAttention(HIDDEN, HEADS, dropout=rate)


def test_what_print_shows_names_the_heads():
    assert "num_heads=3, num_kv_heads=1" in repr(MultiHeadAttention(HIDDEN, HEADS, num_kv_heads=1))


def test_two_sequences_of_different_lengths_and_widths_meet():
    module = CrossAttention(HIDDEN, HEADS, source_width=SOURCE_WIDTH, num_kv_heads=1).double()
    assert module(X, draw(2, SOURCE + 4, SOURCE_WIDTH)).shape == X.shape
