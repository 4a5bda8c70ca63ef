from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from headway.errors import OptionError, ShapeError
from headway.functions import (
    HeadWeights,
    KVCache,
    LinearWeights,
    MultiHeadAttentionWeights,
    NormWeights,
    cross_attention,
    merge_heads,
    multi_head_attention,
    padding_mask,
    project_keys_and_values,
    rms_norm,
    rotary_cos_sin,
    rotary_frequencies,
    scaled_dot_product_attention,
    split_heads,
    stack_heads,
    stacked_heads_attention,
    unstack_heads,
)
from headway.functions import rotary as rotary_turn
from headway.trees import leaves
from tests.functions import oracles
from tests.functions.close import assert_close

BATCH, QUERY_LEN, KEY_LEN, QUERY_WIDTH, KEY_WIDTH, VALUE_WIDTH, OUTPUT_WIDTH, HEAD_DIM = 2, 5, 7, 11, 13, 17, 19, 4
RANDOM = np.random.default_rng(0)
QUERY = RANDOM.standard_normal((BATCH, QUERY_LEN, QUERY_WIDTH))
KEY = RANDOM.standard_normal((BATCH, KEY_LEN, KEY_WIDTH))
VALUE = RANDOM.standard_normal((BATCH, KEY_LEN, VALUE_WIDTH))


def linear_weights(out_features, in_features, *, has_bias=True, seed=0):
    random = np.random.default_rng([seed, out_features, in_features])
    weight = random.standard_normal((out_features, in_features)) / in_features**0.5
    return LinearWeights(weight, random.standard_normal(out_features) if has_bias else None)


def attention_weights(num_heads=6, num_kv_heads=3, *, widths=(QUERY_WIDTH, KEY_WIDTH, VALUE_WIDTH), has_bias=True, has_norm=False):
    norms = [NormWeights(RANDOM.standard_normal(HEAD_DIM)) for _ in range(2)] if has_norm else [None, None]
    return MultiHeadAttentionWeights(
        linear_weights(num_heads * HEAD_DIM, widths[0], has_bias=has_bias, seed=1),
        linear_weights(num_kv_heads * HEAD_DIM, widths[1], has_bias=has_bias, seed=2),
        linear_weights(num_kv_heads * HEAD_DIM, widths[2], has_bias=has_bias, seed=3),
        linear_weights(OUTPUT_WIDTH, num_heads * HEAD_DIM, has_bias=has_bias, seed=4),
        *norms,
    )


def single_heads(num_heads=3, *, has_bias=True):
    widths = (QUERY_WIDTH, KEY_WIDTH, VALUE_WIDTH)
    return tuple(
        HeadWeights(*(linear_weights(HEAD_DIM, w, has_bias=has_bias, seed=10 * head + i) for i, w in enumerate(widths)))
        for head in range(num_heads)
    )


def test_heads_are_neighbouring_columns():
    x = np.arange(6).reshape(1, 6)
    assert split_heads(x, 2).tolist() == [[[0, 1, 2]], [[3, 4, 5]]]
    assert split_heads(x, 3).tolist() == [[[0, 1]], [[2, 3]], [[4, 5]]]


@pytest.mark.parametrize("leading", [(), (2,), (2, 5)])
def test_merging_undoes_splitting(leading):
    x = RANDOM.standard_normal((*leading, 7, 6))
    heads = split_heads(x, 3)
    assert heads.shape == (*leading, 3, 7, 2)
    np.testing.assert_array_equal(merge_heads(heads), x)


@pytest.mark.parametrize("num_heads", [4, 7, 0, -1])
def test_a_width_that_is_no_multiple_of_the_heads_is_an_error(num_heads):
    with pytest.raises(ShapeError, match=rf"got x \(5, 6\) and num_heads={num_heads}, expected a last axis that is a multiple"):
        split_heads(np.ones((5, 6)), num_heads)


def test_it_is_projections_attention_and_a_projection():
    weights = attention_weights()
    q, k, v = (
        split_heads(x @ part.weight.T + part.bias, heads)
        for x, part, heads in ((QUERY, weights.query, 6), (KEY, weights.key, 3), (VALUE, weights.value, 3))
    )
    expected = merge_heads(scaled_dot_product_attention(q, k, v)) @ weights.output.weight.T + weights.output.bias
    assert_close(multi_head_attention(QUERY, KEY, VALUE, weights, num_heads=6), expected)


@pytest.mark.parametrize("has_bias", [True, False])
@pytest.mark.parametrize("is_causal", [True, False])
def test_torch_self_attention_computes_the_same(has_bias, is_causal):
    module = oracles.randomized(torch.nn.MultiheadAttention(12, 3, bias=has_bias, batch_first=True))
    x = torch.from_numpy(RANDOM.standard_normal((BATCH, QUERY_LEN, 12)))
    hidden = torch.ones(QUERY_LEN, QUERY_LEN, dtype=torch.bool).triu(1) if is_causal else None  # in torch, True means hidden
    expected, _ = module(x, x, x, attn_mask=hidden, need_weights=False)
    x = x.numpy()
    came = multi_head_attention(x, x, x, oracles.attention_weights(module), num_heads=3, is_causal=is_causal)
    assert_close(came, expected.detach().numpy())


def test_torch_cross_attention_with_other_widths_and_padding_computes_the_same():
    module = oracles.randomized(torch.nn.MultiheadAttention(12, 3, kdim=KEY_WIDTH, vdim=VALUE_WIDTH, batch_first=True))
    query, lengths = RANDOM.standard_normal((BATCH, QUERY_LEN, 12)), np.array([3, KEY_LEN])
    hidden = torch.from_numpy(np.arange(KEY_LEN) >= lengths[:, None])
    expected, _ = module(*map(torch.from_numpy, (query, KEY, VALUE)), key_padding_mask=hidden, need_weights=False)
    came = multi_head_attention(query, KEY, VALUE, oracles.attention_weights(module), num_heads=3, mask=padding_mask(lengths, KEY_LEN))
    assert_close(came, expected.detach().numpy())


@pytest.mark.parametrize("has_bias", [True, False])
@pytest.mark.parametrize("is_causal", [True, False])
def test_a_list_of_heads_is_multi_head_attention_with_stacked_weights(has_bias, is_causal):
    heads, output = single_heads(has_bias=has_bias), linear_weights(OUTPUT_WIDTH, 3 * HEAD_DIM, has_bias=has_bias)
    mask = RANDOM.random((QUERY_LEN, KEY_LEN)) < 0.7
    listed = stacked_heads_attention(QUERY, KEY, VALUE, heads, output, mask=mask, is_causal=is_causal)
    assert_close(multi_head_attention(QUERY, KEY, VALUE, stack_heads(heads, output), num_heads=3, mask=mask, is_causal=is_causal), listed)


def test_stacking_and_unstacking_round_trip_both_ways():
    heads, output = single_heads(), linear_weights(OUTPUT_WIDTH, 3 * HEAD_DIM)
    assert_same_tree(unstack_heads(stack_heads(heads, output), 3), heads)
    weights = attention_weights(num_heads=3, num_kv_heads=3)
    assert_same_tree(stack_heads(unstack_heads(weights, 3), weights.output), weights)


def test_unstacked_grouped_heads_compute_the_same():
    weights = attention_weights(num_heads=6, num_kv_heads=3)
    heads = unstack_heads(weights, 6)
    assert len(heads) == 6
    np.testing.assert_array_equal(heads[2].key.weight, heads[3].key.weight)  # 2 // 2 = 3 // 2
    listed = stacked_heads_attention(QUERY, KEY, VALUE, heads, weights.output)
    assert_close(multi_head_attention(QUERY, KEY, VALUE, weights, num_heads=6), listed)
    assert_close(multi_head_attention(QUERY, KEY, VALUE, stack_heads(heads, weights.output), num_heads=6), listed)


def test_query_and_key_norms_are_rms_norms_of_every_head():
    weights = attention_weights(has_norm=True)
    q, k, v = (
        split_heads(x @ part.weight.T + part.bias, heads)
        for x, part, heads in ((QUERY, weights.query, 6), (KEY, weights.key, 3), (VALUE, weights.value, 3))
    )
    q, k = rms_norm(q, weights.query_norm.weight, eps=0.1), rms_norm(k, weights.key_norm.weight, eps=0.1)
    expected = merge_heads(scaled_dot_product_attention(q, k, v)) @ weights.output.weight.T + weights.output.bias
    assert_close(multi_head_attention(QUERY, KEY, VALUE, weights, num_heads=6, eps=0.1), expected)


def test_rotary_turns_queries_and_keys_after_their_norms_and_never_values():
    weights = attention_weights(widths=(QUERY_WIDTH,) * 3, has_norm=True)
    angles = rotary_cos_sin(np.arange(3, 3 + QUERY_LEN), rotary_frequencies(HEAD_DIM))
    q, k, v = (split_heads(QUERY @ p.weight.T + p.bias, n) for p, n in ((weights.query, 6), (weights.key, 3), (weights.value, 3)))
    q = rotary_turn(rms_norm(q, weights.query_norm.weight), *angles)
    k = rotary_turn(rms_norm(k, weights.key_norm.weight), *angles)
    expected = merge_heads(scaled_dot_product_attention(q, k, v)) @ weights.output.weight.T + weights.output.bias
    assert_close(multi_head_attention(QUERY, QUERY, QUERY, weights, num_heads=6, rotary=angles), expected)


@pytest.mark.parametrize("chunks", [[1] * 5, [3, 2], [2, 1, 2]])
def test_decoding_with_a_cache_equals_one_pass(chunks):
    weights = attention_weights(widths=(QUERY_WIDTH,) * 3, has_norm=True)
    frequencies = rotary_frequencies(HEAD_DIM)
    whole = multi_head_attention(
        QUERY, QUERY, QUERY, weights, num_heads=6, is_causal=True, rotary=rotary_cos_sin(np.arange(QUERY_LEN), frequencies)
    )
    cache, parts = KVCache.empty((BATCH, 3, 7, HEAD_DIM), QUERY), []
    for size in chunks:
        x = QUERY[:, cache.length : cache.length + size]
        angles = rotary_cos_sin(np.arange(cache.length, cache.length + size), frequencies)
        parts.append(multi_head_attention(x, x, x, weights, num_heads=6, is_causal=True, rotary=angles, kv_cache=cache))
    assert_close(np.concatenate(parts, axis=1), whole)


def test_one_mask_per_head_reaches_its_head():
    weights = attention_weights(num_heads=3, num_kv_heads=3)
    mask = RANDOM.random((3, QUERY_LEN, KEY_LEN)) < 0.7
    parts = [
        stacked_heads_attention(QUERY, KEY, VALUE, (head,), LinearWeights(np.eye(HEAD_DIM)), mask=mask[number])
        for number, head in enumerate(unstack_heads(weights, 3))
    ]
    expected = np.concatenate(parts, axis=-1) @ weights.output.weight.T + weights.output.bias
    assert_close(multi_head_attention(QUERY, KEY, VALUE, weights, num_heads=3, mask=mask), expected)


def test_scale_and_soft_cap_reach_attention():
    weights = attention_weights(num_heads=3, num_kv_heads=3)
    plain = multi_head_attention(QUERY, KEY, VALUE, weights, num_heads=3)
    assert np.abs(multi_head_attention(QUERY, KEY, VALUE, weights, num_heads=3, scale=2.0) - plain).max() > 0.01
    assert np.abs(multi_head_attention(QUERY, KEY, VALUE, weights, num_heads=3, soft_cap=0.3) - plain).max() > 0.01


def test_a_number_of_heads_that_does_not_fit_the_weights_is_an_error():
    with pytest.raises(ShapeError, match=r"num_heads=5, expected a last axis that is a multiple"):
        multi_head_attention(QUERY, KEY, VALUE, attention_weights(), num_heads=5)
    with pytest.raises(ShapeError, match=r"(?s)key weight \(12, 13\) with head_dim 8 .*check num_heads"):
        multi_head_attention(QUERY, KEY, VALUE, attention_weights(), num_heads=3)


def test_key_heads_that_do_not_divide_the_query_heads_are_an_error():
    with pytest.raises(ShapeError, match="with 5 heads and key .* with 3, expected num_heads to be a multiple of num_kv_heads"):
        multi_head_attention(QUERY, KEY, VALUE, attention_weights(num_heads=5, num_kv_heads=3), num_heads=5)


def test_an_input_of_the_wrong_width_is_an_error():
    with pytest.raises(ShapeError, match=r"got x \(2, 7, 17\) and weight \(12, 13\)"):
        multi_head_attention(QUERY, VALUE, VALUE, attention_weights(), num_heads=6)


@pytest.mark.parametrize("has_norm", [False, True])
def test_keys_and_values_projected_before_give_the_same(has_norm):
    weights = attention_weights(has_norm=has_norm)
    mask = np.arange(VALUE.shape[-2]) < 3
    whole = multi_head_attention(QUERY, KEY, VALUE, weights, num_heads=6, mask=mask, scale=0.3)
    keys, values = project_keys_and_values(KEY, VALUE, weights, num_heads=6)
    np.testing.assert_array_equal(cross_attention(QUERY, keys, values, weights, num_heads=6, mask=mask, scale=0.3), whole)


def test_unstacking_weights_that_hold_norms_or_sinks_is_an_error():
    with pytest.raises(OptionError, match="got weights with query_norm, key_norm or sinks, expected weights without them"):
        unstack_heads(attention_weights(has_norm=True), 6)
    for also in ({"key_norm": NormWeights(np.ones(HEAD_DIM))}, {"sinks": np.zeros(6)}):
        with pytest.raises(OptionError, match="query_norm, key_norm or sinks"):
            unstack_heads(dataclasses.replace(attention_weights(), **also), 6)


@pytest.mark.parametrize(
    ("num_heads", "num_kv_heads", "asked", "said"),
    [
        pytest.param(
            6,
            3,
            5,
            r"query weight \(24, 11\) and num_heads=5, expected a number of rows that is a multiple of num_heads",
            id="rows_do_not_divide",
        ),
        pytest.param(
            6,
            3,
            3,
            r"key weight \(12, 13\) with head_dim 8 .*, expected a number of rows that is a multiple of head_dim",
            id="key_rows_do_not_divide",
        ),
        pytest.param(
            5, 3, 5, "num_heads=5 and num_kv_heads=3 with head_dim 4, expected num_heads to be a multiple", id="groups_do_not_divide"
        ),
        pytest.param(
            2, 6, 2, "num_heads=2 and num_kv_heads=6 with head_dim 4, expected num_heads to be a multiple", id="more_key_heads_than_heads"
        ),
        pytest.param(6, 3, 0, r"num_heads=0, expected a number of rows that is a multiple of num_heads", id="no_heads"),
    ],
)
def test_unstacking_into_heads_that_do_not_divide_is_an_error(num_heads, num_kv_heads, asked, said):
    with pytest.raises(ShapeError, match=said):
        unstack_heads(attention_weights(num_heads=num_heads, num_kv_heads=num_kv_heads), asked)


def test_stacking_heads_of_which_only_some_have_a_bias_is_an_error():
    heads = (*single_heads(2), *single_heads(1, has_bias=False))
    with pytest.raises(ShapeError, match="got 2 of 3 heads with a bias, expected all or none"):
        stack_heads(heads, linear_weights(OUTPUT_WIDTH, 3 * HEAD_DIM))


def assert_same_tree(came, expected):
    came, expected = dict(leaves(came)), dict(leaves(expected))
    assert came.keys() == expected.keys()
    for path in came:
        np.testing.assert_array_equal(came[path], expected[path], err_msg=path)
