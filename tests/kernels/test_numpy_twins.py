from __future__ import annotations

import numpy as np
import pytest

from headway import functions
from headway.errors import OptionError, ShapeError
from headway.kernels import numpy_twins, operations

RANDOM = np.random.default_rng(0)


@pytest.mark.parametrize("leading", [(), (5,), (2, 5), (3, 2, 5), (0, 5), (2, 0)])
@pytest.mark.parametrize("has_bias", [True, False])
def test_rows_at_once_equal_the_definition(leading, has_bias):
    x, weight = RANDOM.standard_normal((*leading, 7)), RANDOM.standard_normal((11, 7))
    bias = RANDOM.standard_normal(11) if has_bias else None
    np.testing.assert_allclose(numpy_twins.linear(x, weight, bias), functions.linear(x, weight, bias), atol=1e-12)
    np.testing.assert_allclose(numpy_twins.unembed(x, weight), functions.unembed(x, weight), atol=1e-12)


@pytest.mark.parametrize("dtype", ["float16", "float32", "int64"])
def test_the_dtype_is_the_definitions(dtype):
    x, weight = np.ones((2, 3, 7), dtype), np.ones((5, 7), "float32" if dtype == "int64" else dtype)
    assert numpy_twins.linear(x, weight).dtype == functions.linear(x, weight).dtype


def test_a_wrong_width_is_the_definitions_error():
    with pytest.raises(ShapeError, match="expected x"):
        numpy_twins.linear(np.ones((2, 3, 6)), np.ones((5, 7)))


def test_they_are_what_numpy_runs_on():
    assert operations("numpy").linear is numpy_twins.linear


@pytest.mark.parametrize("spread", [0.01, 1.0, 4.0])
@pytest.mark.parametrize("vocab_size", [7, 3000, 20000])
def test_the_tokens_kept_are_those_of_the_definitions(vocab_size, spread):
    for dtype in ("float32", "float64", "float16"):
        logits = (RANDOM.standard_normal(vocab_size) * spread).astype(dtype)
        logits[RANDOM.integers(0, vocab_size, vocab_size // 3)] = logits[0]  # ties
        logits[1] = -np.inf
        for top_p in (0.01, 0.3, 0.9, 0.999999, 1.0):
            np.testing.assert_array_equal(numpy_twins.keep_top_p(logits, top_p), functions.keep_top_p(logits, top_p))
        for top_k in (1, 5, 2999, 10**6):
            mine = numpy_twins.keep_top_k(logits, top_k)
            np.testing.assert_array_equal(mine, functions.keep_top_k(logits, top_k))
            assert mine.dtype == logits.dtype


@pytest.mark.parametrize("shape", [(7,), (3000,), (5, 300), (2, 3, 11)])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_sampled_tokens_and_kept_ones_are_those_of_the_definitions_bit_for_bit(shape, dtype):
    logits = (RANDOM.standard_normal(shape) * 3).astype(dtype)
    logits[..., 1] = -np.inf
    for min_p in (1e-6, 0.05, 0.6, 1.0):
        kept = numpy_twins.keep_min_p(logits, min_p)
        np.testing.assert_array_equal(kept, functions.keep_min_p(logits, min_p))
        assert kept.dtype == logits.dtype
        for random in (0.0, 0.3, 0.999999, RANDOM.random()):
            draws = np.full(shape[:-1], random)
            np.testing.assert_array_equal(numpy_twins.sample(kept, draws), functions.sample(kept, draws))
    nothing = np.full(shape, -np.inf, dtype)
    np.testing.assert_array_equal(numpy_twins.sample(nothing, np.zeros(shape[:-1])), functions.sample(nothing, np.zeros(shape[:-1])))


@pytest.mark.parametrize("name", ["keep_min_p", "keep_top_k", "keep_top_p"])
def test_what_cannot_be_kept_is_the_definitions_error(name):
    with pytest.raises(OptionError, match=f"got {name[5:]}="):
        getattr(numpy_twins, name)(np.zeros(5000), 0)


@pytest.mark.parametrize("top_p", [0.5, 0.999])
def test_top_p_keeps_as_many_of_a_large_vocabulary_as_in_float64(top_p):
    logits = np.random.default_rng(0).normal(size=151_936).astype(np.float32)
    weights = np.exp(logits.astype(np.float64))
    descending = -np.sort(-weights / weights.sum())
    expected = int((np.cumsum(descending) - descending < top_p).sum())
    assert np.isfinite(numpy_twins.keep_top_p(logits, top_p)).sum() == expected
