from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from headway.errors import ShapeError
from headway.functions import layer_norm, rms_norm
from tests.functions.close import assert_close

X = np.random.default_rng(0).standard_normal((2, 5, 7))
WEIGHT, BIAS = np.random.default_rng(1).standard_normal((2, 7))
ARRAYS = hnp.arrays(np.float64, st.tuples(st.integers(1, 5), st.integers(2, 7)), elements=st.floats(-100, 100))


def test_layer_norm_divides_the_variance_by_the_width():
    # mean 2, deviations -2 0 2, variance 8/3 (not 4)
    assert_close(layer_norm(np.array([0.0, 2.0, 4.0]), eps=0.0), [-2 / math.sqrt(8 / 3), 0.0, 2 / math.sqrt(8 / 3)])


def test_layer_norm_adds_eps_inside_the_root():
    assert_close(layer_norm(np.array([-1.0, 1.0]), eps=3.0), [-0.5, 0.5])  # √(1 + 3) = 2


def test_rms_norm_does_not_subtract_the_mean():
    assert_close(rms_norm(np.array([3.0, 4.0]), eps=0.0), [3 / math.sqrt(12.5), 4 / math.sqrt(12.5)])  # mean square 25/2


def test_rms_norm_adds_eps_inside_the_root():
    assert_close(rms_norm(np.array([1.0, 1.0]), eps=3.0), [0.5, 0.5])


def test_weight_and_bias_come_after_the_norm():
    assert_close(layer_norm(np.array([-1.0, 1.0]), np.array([2.0, 3.0]), np.array([10.0, 20.0]), eps=0.0), [8.0, 23.0])


@settings(deadline=None, derandomize=True, max_examples=40)
@given(ARRAYS, st.floats(-100, 100), st.floats(0.5, 50))
def test_layer_norm_does_not_see_shift_or_scale(x, shift, scale):
    x = x + np.linspace(0, 10, x.shape[-1])  # a large variance, so that eps has no effect
    if (x.std(axis=-1) > 0.1).all():
        np.testing.assert_allclose(layer_norm(scale * x + shift, eps=0.0), layer_norm(x, eps=0.0), atol=1e-9)


@settings(deadline=None, derandomize=True, max_examples=40)
@given(ARRAYS, st.floats(0.5, 50))
def test_rms_norm_does_not_see_scale(x, scale):
    x = np.where(np.abs(x) < 0.1, 1.0, x)
    np.testing.assert_allclose(rms_norm(scale * x, eps=0.0), rms_norm(x, eps=0.0), atol=1e-9)


def test_normed_vectors_have_mean_zero_and_mean_square_one():
    normed = layer_norm(X, eps=0.0)
    assert_close(normed.mean(axis=-1), np.zeros((2, 5)))
    assert_close((normed**2).mean(axis=-1), np.ones((2, 5)))
    assert_close((rms_norm(X, eps=0.0) ** 2).mean(axis=-1), np.ones((2, 5)))


def test_rms_norm_of_centred_vectors_is_layer_norm():
    centred = X - X.mean(axis=-1, keepdims=True)
    assert_close(rms_norm(centred, WEIGHT, eps=1e-5), layer_norm(X, WEIGHT))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("parameters", [(), (WEIGHT,), (WEIGHT, BIAS)], ids=["plain", "weight", "weight_and_bias"])
def test_torch_computes_the_same_layer_norm(dtype, parameters):
    x, *parameters = (torch.from_numpy(array).to(dtype) for array in (X, *parameters))
    assert_close(layer_norm(x, *parameters, eps=1e-3), torch.nn.functional.layer_norm(x, (7,), *parameters, eps=1e-3))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("parameters", [(), (WEIGHT,)], ids=["plain", "weight"])
def test_torch_computes_the_same_rms_norm(dtype, parameters):
    x, *parameters = (torch.from_numpy(array).to(dtype) for array in (X, *parameters))
    assert_close(rms_norm(x, *parameters, eps=1e-3), torch.nn.functional.rms_norm(x, (7,), *parameters, eps=1e-3))


def test_the_default_eps_are_torchs_for_layers_and_llamas_for_rms():
    tiny = np.array([1e-3, -1e-3])
    assert_close(layer_norm(tiny), tiny / math.sqrt(1e-6 + 1e-5))
    assert_close(rms_norm(tiny), tiny / math.sqrt(1e-6 + 1e-6))


@pytest.mark.parametrize("norm", [layer_norm, rms_norm])
def test_half_precision_does_not_overflow_when_squaring(norm):
    x = np.array([3e4, -3e4, 3e4, -3e4], np.float16)  # the square, 9e8, is beyond 65504
    assert_close(norm(x), np.array([1.0, -1.0, 1.0, -1.0]))


@pytest.mark.parametrize("norm", [layer_norm, rms_norm])
def test_a_constant_zero_vector_stays_zero(norm):
    assert norm(np.zeros((3, 5), np.float32)).tolist() == [[0.0] * 5] * 3


def test_layer_norm_of_a_constant_far_from_zero_is_zero_despite_cancellation():
    x = np.full((2, 7), 1e4, np.float32)  # E[x²] - E[x]² loses all digits
    assert_close(layer_norm(x), np.zeros((2, 7)))


@pytest.mark.parametrize("width", [1, 5, 8])
@pytest.mark.parametrize("norm", [layer_norm, rms_norm])
def test_a_weight_of_another_width_is_an_error_even_where_it_would_broadcast(norm, width):
    with pytest.raises(ShapeError, match=rf"x \(2, 5, 7\) and a weight or bias \({width},\), expected a weight and bias \(7,\)"):
        norm(X, np.ones(width))


def test_a_bias_of_another_width_is_an_error():
    with pytest.raises(ShapeError, match=r"weight or bias \(5,\), expected a weight and bias \(7,\)"):
        layer_norm(X, np.ones(7), np.ones(5))
