from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from headway.errors import ShapeError
from headway.functions import apply_mask, attention_with_sinks, causal_mask, scaled_dot_product_attention
from headway.kernels import operations
from tests.functions.close import assert_close

RANDOM = np.random.default_rng(0)
QUERY = RANDOM.standard_normal((2, 6, 5, 4)).astype(np.float32)
KEY, VALUE = RANDOM.standard_normal((2, 2, 3, 7, 4)).astype(np.float32)
SINKS = RANDOM.standard_normal(6).astype(np.float32)
PADDING = np.arange(7)[None, None, None] >= np.array([0, 2])[:, None, None, None]


def theirs(mask):
    from transformers.models.gpt_oss.modeling_gpt_oss import eager_attention_forward

    module = SimpleNamespace(sinks=torch.from_numpy(SINKS), num_key_value_groups=2, training=False)
    arrays = (torch.from_numpy(each) for each in (QUERY, KEY, VALUE))
    added = torch.from_numpy(apply_mask(np.zeros((2, 1, 5, 7), np.float32), mask))
    return eager_attention_forward(module, *arrays, added, scaling=0.4)[0].transpose(1, 2).numpy()


def test_it_is_that_of_transformers():
    mask = causal_mask(5, 7)
    assert_close(attention_with_sinks(QUERY, KEY, VALUE, SINKS, is_causal=True, scale=0.4), theirs(mask))
    assert_close(attention_with_sinks(QUERY, KEY, VALUE, SINKS, PADDING, is_causal=True, scale=0.4), theirs(mask & PADDING))


def test_it_is_the_same_on_the_fused_operation_of_torch():
    arrays = [torch.from_numpy(each) for each in (QUERY, KEY, VALUE, SINKS)]
    came = attention_with_sinks(*arrays, is_causal=True, ops=operations("torch"))
    assert_close(came, attention_with_sinks(QUERY, KEY, VALUE, SINKS, is_causal=True))


def test_a_sink_of_minus_infinity_is_no_sink():
    none = np.full(6, -np.inf, np.float32)
    assert_close(attention_with_sinks(QUERY, KEY, VALUE, none), scaled_dot_product_attention(QUERY, KEY, VALUE))


def test_a_query_that_may_attend_to_nothing_gets_zeros():
    came = attention_with_sinks(QUERY, KEY, VALUE, SINKS, np.zeros((5, 7), bool))
    np.testing.assert_array_equal(came, np.zeros((2, 6, 5, 4)))


def test_another_number_of_sinks_is_an_error():
    with pytest.raises(ShapeError, match="expected one sink for each of 6 heads"):
        attention_with_sinks(QUERY, KEY, VALUE, SINKS[:3])
