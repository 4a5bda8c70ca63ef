from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.errors import DtypeError, ShapeError
from headway.functions import attention_weights, causal_mask, padding_mask, scaled_dot_product_attention
from tests.functions.close import assert_close

BATCH, NUM_HEADS, QUERY_LEN, KEY_LEN, HEAD_DIM, VALUE_DIM = 2, 3, 5, 7, 11, 13


def operands(*, num_heads=NUM_HEADS, num_kv_heads=NUM_HEADS, query_len=QUERY_LEN, key_len=KEY_LEN, value_dim=VALUE_DIM, seed=0):
    random = np.random.default_rng(seed)
    query = random.standard_normal((BATCH, num_heads, query_len, HEAD_DIM))
    key = random.standard_normal((BATCH, num_kv_heads, key_len, HEAD_DIM))
    return query, key, random.standard_normal((BATCH, num_kv_heads, key_len, value_dim))


def test_two_keys_with_odds_of_one_to_three():
    query, key = np.array([[1.0, 0.0, 0.0, 0.0]]), np.array([[0.0] * 4, [2 * math.log(3), 0.0, 0.0, 0.0]])
    assert_close(attention_weights(query, key), [[0.25, 0.75]])  # 2 ln 3 / √4 = ln 3
    assert_close(scaled_dot_product_attention(query, key, np.array([[4.0], [8.0]])), [[7.0]])


def test_equal_keys_are_averaged():
    _, key, value = operands()
    query = np.zeros((BATCH, NUM_HEADS, 1, HEAD_DIM))
    assert_close(scaled_dot_product_attention(query, key, value), value.mean(axis=-2, keepdims=True))


def test_the_scale_is_one_over_the_root_of_head_dim():
    query, key, value = operands()
    assert_close(scaled_dot_product_attention(query, key, value, scale=HEAD_DIM**-0.5), scaled_dot_product_attention(query, key, value))


def test_a_scale_of_zero_is_a_scale():
    query, key, value = operands()
    came = scaled_dot_product_attention(query, key, value, scale=0.0)
    assert_close(came, np.broadcast_to(value.mean(axis=-2, keepdims=True), came.shape))


def test_the_identity_as_value_gives_the_weights():
    query, key, _ = operands()
    identity = np.broadcast_to(np.eye(KEY_LEN), (BATCH, NUM_HEADS, KEY_LEN, KEY_LEN))
    assert_close(scaled_dot_product_attention(query, key, identity), attention_weights(query, key))


@settings(deadline=None, derandomize=True, max_examples=30)
@given(st.integers(1, 7), st.integers(1, 7), st.booleans(), st.integers(0, 1000))
def test_weights_are_positive_and_sum_to_one_where_anything_may_be_seen(query_len, key_len, is_causal, seed):
    query, key, _ = operands(query_len=query_len, key_len=key_len, seed=seed)
    weights = attention_weights(query, key, is_causal=is_causal)
    assert (weights >= 0).all()
    sees_something = (causal_mask(query_len, key_len) if is_causal and query_len > 1 else np.ones((query_len, key_len))).any(axis=-1)
    np.testing.assert_allclose(weights.sum(axis=-1), np.broadcast_to(sees_something, weights.shape[:-1]), atol=1e-12)


def test_permuting_keys_and_values_together_changes_nothing():
    query, key, value = operands()
    order = np.random.default_rng(1).permutation(KEY_LEN)
    assert_close(scaled_dot_product_attention(query, key[:, :, order], value[:, :, order]), scaled_dot_product_attention(query, key, value))


def test_permuting_queries_permutes_the_answers():
    query, key, value = operands()
    order = np.random.default_rng(1).permutation(QUERY_LEN)
    assert_close(scaled_dot_product_attention(query[:, :, order], key, value), scaled_dot_product_attention(query, key, value)[:, :, order])


def test_adding_one_vector_to_every_key_changes_nothing():
    query, key, value = operands()
    assert_close(scaled_dot_product_attention(query, key + np.ones(HEAD_DIM), value), scaled_dot_product_attention(query, key, value))


def test_a_causal_answer_depends_on_no_later_position():
    query, key, value = operands(query_len=KEY_LEN)
    answer = scaled_dot_product_attention(query, key, value, is_causal=True)
    for position in range(KEY_LEN):
        later_key, later_value = key.copy(), value.copy()
        later_key[:, :, position + 1 :] = 99.0
        later_value[:, :, position + 1 :] = 1e100
        changed = scaled_dot_product_attention(query, later_key, later_value, is_causal=True)
        np.testing.assert_array_equal(changed[:, :, : position + 1], answer[:, :, : position + 1])


@pytest.mark.parametrize("query_len", [1, 2, 5])
def test_the_newest_queries_of_a_causal_pass_need_not_the_others(query_len):
    query, key, value = operands(query_len=KEY_LEN)
    whole = scaled_dot_product_attention(query, key, value, is_causal=True)
    assert_close(scaled_dot_product_attention(query[:, :, -query_len:], key, value, is_causal=True), whole[:, :, -query_len:])


def test_is_causal_is_the_causal_mask_and_comes_on_top_of_a_mask():
    query, key, value = operands()
    mask = np.random.default_rng(2).random((QUERY_LEN, KEY_LEN)) < 0.7
    assert_close(
        scaled_dot_product_attention(query, key, value, is_causal=True), scaled_dot_product_attention(query, key, value, causal_mask(5, 7))
    )
    assert_close(
        scaled_dot_product_attention(query, key, value, mask, is_causal=True),
        scaled_dot_product_attention(query, key, value, mask & causal_mask(5, 7)),
    )


def test_padding_never_changes_a_real_token():
    query, key, value = operands()
    lengths = np.array([3, KEY_LEN])
    mask = padding_mask(lengths, KEY_LEN)
    padded = scaled_dot_product_attention(query, key, value, mask)
    for row, length in enumerate(lengths):
        assert_close(padded[row], scaled_dot_product_attention(query[row], key[row, :, :length], value[row, :, :length]))
    noise = np.where(mask[..., 0, :, None], 0, 1e3)
    np.testing.assert_array_equal(scaled_dot_product_attention(query, key + noise, value - noise, mask), padded)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_a_query_that_may_attend_to_nothing_gets_zeros(dtype):
    query, key, value = (x.astype(dtype) for x in operands())
    mask = np.ones((QUERY_LEN, KEY_LEN), bool)
    mask[2] = False
    for hiding in (mask, np.where(mask, 0.0, -np.inf)):
        assert (scaled_dot_product_attention(query, key, value, hiding)[:, :, 2] == 0).all()
        assert (attention_weights(query, key, hiding)[:, :, 2] == 0).all()
        assert_close(
            scaled_dot_product_attention(query, key, value, hiding)[:, :, 3:], scaled_dot_product_attention(query, key, value)[:, :, 3:]
        )


def test_causal_queries_before_the_first_key_get_zeros():
    query, key, value = operands(query_len=7, key_len=5)
    answer = scaled_dot_product_attention(query, key, value, is_causal=True)
    assert (answer[:, :, :2] == 0).all()
    assert_close(answer[:, :, 2], value[:, :, 0])  # query 2 is aligned with key 0


def test_no_queries_give_no_answers():
    query, key, value = operands()
    assert scaled_dot_product_attention(query[:, :, :0], key, value).shape == (BATCH, NUM_HEADS, 0, VALUE_DIM)


@pytest.mark.parametrize("num_kv_heads", [1, 2, 3])
def test_grouped_heads_are_repeated_heads(num_kv_heads):
    """Query head h uses key head h // group_size: the order of numpy.repeat, not of numpy.tile."""
    query, key, value = operands(num_heads=6, num_kv_heads=num_kv_heads)
    repeated = [np.repeat(x, 6 // num_kv_heads, axis=1) for x in (key, value)]
    mask = np.random.default_rng(3).random((BATCH, 6, QUERY_LEN, KEY_LEN)) < 0.7
    for options in ({}, {"is_causal": True}, {"mask": mask}, {"soft_cap": 1.5}):
        assert_close(scaled_dot_product_attention(query, key, value, **options), scaled_dot_product_attention(query, *repeated, **options))
        assert_close(attention_weights(query, key, **options), attention_weights(query, repeated[0], **options))


def test_grouped_heads_are_what_torch_calls_gqa():
    query, key, value = (torch.from_numpy(x) for x in operands(num_heads=6, num_kv_heads=2))
    expected = torch.nn.functional.scaled_dot_product_attention(query, key, value, enable_gqa=True)
    assert_close(scaled_dot_product_attention(query, key, value), expected)


def test_there_need_be_no_head_axis_and_no_batch():
    query, key, value = (x[0, 0] for x in operands())
    assert_close(scaled_dot_product_attention(query, key, value), scaled_dot_product_attention(*operands())[0, 0])


def test_soft_cap_keeps_scores_between_plus_and_minus_itself():
    query, key = np.array([[1.0]]), np.array([[1000.0], [-1000.0]])
    odds = math.exp(2 * 0.5)  # scores capped to +0.5 and -0.5
    assert_close(attention_weights(query, key, soft_cap=0.5), [[odds / (1 + odds), 1 / (1 + odds)]])


def test_soft_cap_comes_before_the_mask():
    query, key = np.array([[1.0]]), np.array([[1.0], [1000.0]])
    assert attention_weights(query, key, np.array([[True, False]]), soft_cap=0.5).tolist() == [[1.0, 0.0]]
    odds = math.exp(0.5 * math.tanh(2.0) + 100.0 - 0.5)  # an added 100 is not capped
    assert_close(attention_weights(query, key, np.array([[100.0, 0.0]]), soft_cap=0.5), [[1.0, 1 / (1 + odds)]])


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("mask_kind", ["none", "boolean", "floating", "causal"])
def test_torch_computes_the_same(dtype, mask_kind):
    query, key, value = (torch.from_numpy(x).to(dtype) for x in operands(query_len=7))
    boolean = torch.from_numpy(np.random.default_rng(4).random((7, 7)) < 0.7) | torch.eye(7, dtype=torch.bool)
    mask = {"boolean": boolean, "floating": torch.randn(7, 7, generator=torch.Generator().manual_seed(0)).to(dtype)}.get(mask_kind)
    is_causal = mask_kind == "causal"
    expected = torch.nn.functional.scaled_dot_product_attention(query, key, value, mask, is_causal=is_causal)
    assert_close(scaled_dot_product_attention(query, key, value, mask, is_causal=is_causal), expected)


def test_scores_of_ten_thousand_do_not_overflow_half_precision():
    query = key = np.full((2, 4), 300.0, np.float16)  # 4 · 300² = 360,000 is beyond 65504
    assert_close(scaled_dot_product_attention(query, key, np.array([[2.0], [4.0]], np.float16)), np.array([[3.0], [3.0]]))


def test_the_answer_has_the_dtype_of_the_query():
    query, key, value = operands()
    assert scaled_dot_product_attention(query.astype(np.float16), key, value).dtype == np.float16


def test_another_head_dim_is_an_error():
    query, key, value = operands()
    with pytest.raises(ShapeError, match=r"got query \(2, 3, 5, 11\) and key \(2, 3, 7, 10\), expected .*same head_dim"):
        scaled_dot_product_attention(query, key[..., 1:], value)


def test_another_number_of_values_than_keys_is_an_error():
    query, key, value = operands()
    with pytest.raises(ShapeError, match=r"got key \(2, 3, 7, 11\) and value \(2, 3, 6, 13\), expected equal shapes"):
        scaled_dot_product_attention(query, key, value[:, :, 1:])


@pytest.mark.parametrize(("num_heads", "num_kv_heads"), [(5, 3), (3, 5)])
def test_heads_that_do_not_divide_are_an_error(num_heads, num_kv_heads):
    query, key, value = operands(num_heads=num_heads, num_kv_heads=num_kv_heads)
    with pytest.raises(
        ShapeError, match=f"with {num_heads} heads and key .* with {num_kv_heads}, expected num_heads to be a multiple of num_kv_heads"
    ):
        scaled_dot_product_attention(query, key, value)


def test_vectors_without_positions_are_an_error():
    with pytest.raises(ShapeError, match=r"got query \(3,\) and key \(3,\), expected \(\.\.\., seq_len, head_dim\)"):
        attention_weights(np.ones(3), np.ones(3))


def test_an_integer_mask_is_an_error():
    query, key, value = operands()
    with pytest.raises(DtypeError, match="got a mask of dtype int64, expected boolean"):
        scaled_dot_product_attention(query, key, value, np.ones((QUERY_LEN, KEY_LEN), int))


def test_a_mask_for_other_lengths_is_an_error():
    query, key, value = operands()
    with pytest.raises(ShapeError, match=r"got a mask \(7, 5\) for scores \(2, 3, 5, 7\)"):
        scaled_dot_product_attention(query, key, value, np.ones((KEY_LEN, QUERY_LEN), bool))


def test_arrays_of_two_libraries_are_an_error():
    query, key, value = operands()
    with pytest.raises(DtypeError, match="numpy.ndarray and torch.Tensor, expected arrays of one library"):
        scaled_dot_product_attention(query, torch.from_numpy(key), value)
