"""PyTorch's fused operations against the definitions whose names they carry."""

from __future__ import annotations

import inspect

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headway import functions
from headway.kernels import operations, torch_twins

TOLERANCE = {torch.float32: 1e-5, torch.bfloat16: 3e-2}


def draw(*shape: int, dtype: torch.dtype = torch.float32, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def close(mine: torch.Tensor, theirs: torch.Tensor) -> None:
    assert mine.dtype == theirs.dtype
    torch.testing.assert_close(mine, theirs, atol=TOLERANCE[mine.dtype], rtol=TOLERANCE[mine.dtype])


@pytest.mark.parametrize("name", torch_twins.__all__)
def test_a_twin_has_its_definitions_signature(name):
    mine, theirs = inspect.signature(getattr(torch_twins, name)), inspect.signature(getattr(functions, name))
    assert mine.parameters.keys() == theirs.parameters.keys()
    assert [p.default for p in mine.parameters.values()] == [p.default for p in theirs.parameters.values()]


def test_operations_are_the_definitions_where_there_is_no_twin():
    assert operations("numpy").softmax is functions.softmax
    assert operations("torch").softmax is torch_twins.softmax
    assert operations("torch").rotary is functions.rotary


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("name", ["softmax", "silu", "gelu", "gelu_tanh", "layer_norm", "rms_norm"])
def test_elementwise_twins_equal_their_definitions(name, dtype):
    x = draw(2, 3, 7, dtype=dtype)
    close(getattr(torch_twins, name)(x), getattr(functions, name)(x))


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_twins_with_weights_equal_their_definitions(dtype):
    x, table, bias = draw(2, 3, 7, dtype=dtype), draw(11, 7, dtype=dtype, seed=1), draw(11, dtype=dtype, seed=2)
    scale, shift = draw(7, dtype=dtype, seed=3), draw(7, dtype=dtype, seed=4)
    close(torch_twins.linear(x, table, bias), functions.linear(x, table, bias))
    close(torch_twins.unembed(x, table), functions.unembed(x, table))
    close(torch_twins.layer_norm(x, scale, shift, eps=1e-3), functions.layer_norm(x, scale, shift, eps=1e-3))
    close(torch_twins.rms_norm(x, scale, eps=1e-3), functions.rms_norm(x, scale, eps=1e-3))
    ids = torch.tensor([[3, 10], [0, 5]])
    close(torch_twins.embed(ids, table), functions.embed(ids, table))


def test_a_norm_with_a_weight_in_float32_keeps_the_dtype_of_its_input():
    x, weight = draw(2, 3, 7, dtype=torch.bfloat16), 1 + draw(7, dtype=torch.float32, seed=1)
    close(torch_twins.rms_norm(x, weight), functions.rms_norm(x, weight))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    batch=st.integers(1, 2),
    kv_heads=st.integers(1, 3),
    group=st.integers(1, 3),
    query_len=st.integers(1, 6),
    past=st.integers(0, 5),
    mask=st.sampled_from(["none", "boolean", "additive"]),
    is_causal=st.booleans(),
    scale=st.sampled_from([None, 0.0, 0.3]),
    dtype=st.sampled_from(list(TOLERANCE)),
)
def test_attention_equals_its_definition(batch, kv_heads, group, query_len, past, mask, is_causal, scale, dtype):
    key_len = query_len + past
    q = draw(batch, kv_heads * group, query_len, 8, dtype=dtype)
    k, v = draw(batch, kv_heads, key_len, 8, dtype=dtype, seed=1), draw(batch, kv_heads, key_len, 5, dtype=dtype, seed=2)
    given_mask = {
        "none": None,
        "boolean": (draw(query_len, key_len, seed=3) > -0.5),
        "additive": draw(query_len, key_len, dtype=dtype, seed=3),
    }[mask]
    options = {"is_causal": is_causal, "scale": scale}
    close(
        torch_twins.scaled_dot_product_attention(q, k, v, given_mask, **options),
        functions.scaled_dot_product_attention(q, k, v, given_mask, **options),
    )


@pytest.mark.parametrize("heads", [1, 6])
@pytest.mark.parametrize("dtype", TOLERANCE)
def test_a_single_grouped_query_behind_a_mask_of_its_row_equals_its_definition(heads, dtype):
    q, k, v = draw(3, 6, 1, 8, dtype=dtype), draw(3, 2, 9, 8, dtype=dtype, seed=1), draw(3, 2, 9, 5, dtype=dtype, seed=2)
    mask = draw(3, heads, 1, 9, seed=3) > -0.5
    close(torch_twins.scaled_dot_product_attention(q, k, v, mask), functions.scaled_dot_product_attention(q, k, v, mask))


def test_a_query_that_may_attend_to_nothing_gets_zeros():
    q = draw(1, 2, 3, 4)
    mask = torch.tensor([[True, True, True], [False, False, False], [True, False, True]])
    out = torch_twins.scaled_dot_product_attention(q, q, q, mask)
    assert not out[..., 1, :].any()
    close(out, functions.scaled_dot_product_attention(q, q, q, mask))


@pytest.mark.parametrize("ignored", [None, -100])
def test_cross_entropy_equals_its_definition(ignored):
    logits, targets = draw(3, 5, 7), torch.tensor([[0, 6, 2, 3, 1], [1, 1, 5, 4, 0], [2, 2, 2, 2, 2]])
    if ignored is not None:
        targets[1, 2:] = ignored
    close(torch_twins.cross_entropy(logits, targets, ignored=ignored), functions.cross_entropy(logits, targets, ignored=ignored))


def test_cross_entropy_is_zero_where_every_target_is_ignored():
    logits, targets = draw(2, 7), torch.tensor([-100, -100])
    assert torch_twins.cross_entropy(logits, targets, ignored=-100) == functions.cross_entropy(logits, targets, ignored=-100) == 0
