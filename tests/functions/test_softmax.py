from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from headway.functions import log_softmax, softmax
from tests.functions.close import assert_close

ARRAYS = hnp.arrays(np.float64, hnp.array_shapes(max_dims=4, max_side=7), elements=st.floats(-50, 50))


def test_odds_of_one_to_three_become_quarters():
    assert_close(softmax(np.array([0.0, math.log(3)])), [0.25, 0.75])  # e^0 : e^ln3 = 1 : 3


def test_log_softmax_of_odds_of_one_to_three():
    assert_close(log_softmax(np.array([0.0, math.log(3)])), [math.log(0.25), math.log(0.75)])


@settings(deadline=None, derandomize=True, max_examples=40)
@given(ARRAYS)
def test_weights_are_positive_and_sum_to_one(x):
    weights = softmax(x)
    assert (weights >= 0).all()
    np.testing.assert_allclose(weights.sum(axis=-1), 1, rtol=1e-12)


@settings(deadline=None, derandomize=True, max_examples=40)
@given(ARRAYS, st.floats(-1000, 1000))
def test_shifting_all_scores_changes_nothing(x, shift):
    np.testing.assert_allclose(softmax(x + shift), softmax(x), atol=1e-11)
    np.testing.assert_allclose(log_softmax(x + shift), log_softmax(x), atol=1e-10)


@settings(deadline=None, derandomize=True, max_examples=40)
@given(ARRAYS, st.randoms(use_true_random=False))
def test_every_axis_can_be_the_one_that_sums_to_one(x, random):
    axis = random.randrange(-x.ndim, x.ndim)
    moved = np.moveaxis(softmax(np.moveaxis(x, axis, -1)), -1, axis)
    np.testing.assert_allclose(softmax(x, axis=axis), moved, rtol=1e-12)
    np.testing.assert_allclose(log_softmax(x, axis=axis), np.moveaxis(log_softmax(np.moveaxis(x, axis, -1)), -1, axis), rtol=1e-12)


def test_permuting_the_scores_permutes_the_weights():
    x, order = np.random.default_rng(0).standard_normal((3, 7)), [4, 2, 0, 6, 1, 5, 3]
    assert_close(softmax(x[:, order]), softmax(x)[:, order])


@pytest.mark.parametrize("function", [softmax, log_softmax])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_torch_computes_the_same(function, dtype, axis):
    x = torch.from_numpy(5 * np.random.default_rng(1).standard_normal((3, 5, 7))).to(dtype)
    came = function(x, axis=axis)
    assert came.dtype == dtype
    assert_close(came, getattr(torch, function.__name__)(x, dim=axis))


def test_scores_of_ten_thousand_do_not_overflow_half_precision():
    x = np.array([1e4, 1e4, -1e4], np.float16)
    assert softmax(x).tolist() == [0.5, 0.5, 0.0]
    assert_close(log_softmax(x), np.array([-math.log(2), -math.log(2), -2e4 - math.log(2)]))


def test_half_precision_sums_many_small_weights_without_losing_them():
    weights = softmax(np.zeros(5003, np.float16))
    assert_close(weights, np.full(5003, 1 / 5003))
    assert abs(weights.astype(np.float64).sum() - 1) < 2e-3  # a float16 sum stops at 2048


def test_a_score_of_minus_infinity_gets_no_weight():
    assert softmax(np.array([0.0, -np.inf, 0.0])).tolist() == [0.5, 0.0, 0.5]
    assert log_softmax(np.array([0.0, -np.inf])).tolist() == [0.0, -np.inf]


def test_nothing_but_minus_infinity_gives_zeros_and_no_warning():
    x = np.full((2, 3), -np.inf, np.float32)
    assert softmax(x).tolist() == [[0.0] * 3] * 2
    assert log_softmax(x).tolist() == [[-np.inf] * 3] * 2


def test_log_softmax_keeps_what_softmax_rounds_to_zero():
    x = np.array([0.0, -200.0], np.float32)
    assert softmax(x)[1] == 0
    assert log_softmax(x)[1] == -200


def test_the_exponential_of_log_softmax_is_softmax():
    x = np.random.default_rng(2).standard_normal((5, 11))
    assert_close(np.exp(log_softmax(x)), softmax(x))
