from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from headway import functions
from headway.errors import OptionError
from headway.functions import attention_weights, gelu, gelu_tanh, relu, sigmoid, silu, soft_cap, softmax
from headway.functions.activations import _erf_numpy
from tests.functions.close import assert_close

ORACLES = {
    "relu": torch.nn.functional.relu,
    "sigmoid": torch.sigmoid,
    "silu": torch.nn.functional.silu,
    "gelu": torch.nn.functional.gelu,
    "gelu_tanh": lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
}


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name", ORACLES)
def test_torch_computes_the_same(name, dtype):
    x = torch.linspace(-30, 30, 1009, dtype=torch.float64).to(dtype)
    assert_close(getattr(functions, name)(x), ORACLES[name](x))


@pytest.mark.parametrize("name", ORACLES)
def test_numpy_computes_the_same_as_torch(name):
    x = np.linspace(-9, 9, 509)
    assert_close(getattr(functions, name)(x), ORACLES[name](torch.from_numpy(x)).numpy())


@pytest.mark.parametrize("name", ORACLES)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_the_largest_half_precision_numbers_do_not_overflow(name, dtype):
    largest = float(np.finfo(np.float16).max)
    expected = [0.0, 1.0] if name == "sigmoid" else [0.0, largest]
    assert getattr(functions, name)(np.array([-largest, largest], dtype)).tolist() == expected


@pytest.mark.parametrize("name", ORACLES)
def test_nan_is_never_hidden(name):
    assert np.isnan(getattr(functions, name)(np.array([np.nan, 1.0]))).tolist() == [True, False]


@pytest.mark.parametrize("name", ORACLES)
def test_an_empty_array_stays_empty(name):
    assert getattr(functions, name)(np.zeros((3, 0))).shape == (3, 0)


@pytest.mark.parametrize("name", ["silu", "gelu", "gelu_tanh", "relu"])
def test_zero_stays_zero_and_large_numbers_pass(name):
    assert_close(getattr(functions, name)(np.array([0.0, 40.0, -40.0])), [0.0, 40.0, 0.0])


def test_relu_keeps_the_positive_and_drops_the_rest():
    assert relu(np.array([-2.0, -0.0, 0.0, 3.0])).tolist() == [0.0, 0.0, 0.0, 3.0]


def test_relu_has_no_slope_at_zero():
    x = torch.zeros(1, requires_grad=True)
    relu(x).backward()
    assert x.grad.item() == 0


def test_sigmoid_of_minus_x_is_one_minus_sigmoid_of_x():
    x = np.linspace(-11, 11, 101)
    assert_close(sigmoid(-x), 1 - sigmoid(x))


def test_sigmoid_of_log_three_is_three_quarters():
    assert_close(sigmoid(np.array([math.log(3)])), [0.75])  # odds of 3 to 1


def test_sigmoid_of_ten_thousand_does_not_overflow_half_precision():
    assert sigmoid(np.array([-1e4, 1e4], np.float16)).tolist() == [0.0, 1.0]


def test_silu_of_log_three():
    assert_close(silu(np.array([math.log(3)])), [0.75 * math.log(3)])


def test_gelu_is_x_times_the_normal_distribution_function():
    assert_close(gelu(np.array([1.959963984540054])), [1.959963984540054 * 0.975])  # 97.5 % of draws are below 1.96


def test_numpys_error_function_in_float32_is_the_exact_one_or_its_neighbour():
    exponents = np.array([sign * 2.0**power for sign in (-1, 1) for power in range(-149, 128)])
    x = np.concatenate([exponents, np.linspace(-6, 6, 120_001), [0.0, -0.0, np.inf, -np.inf]]).astype(np.float32)
    exact = np.array([math.erf(value) for value in x]).astype(np.float32)
    actual = _erf_numpy(x)
    assert actual.dtype == np.float32
    assert (np.abs(actual - exact) <= np.spacing(np.abs(exact))).all()
    assert np.mean(actual == exact) > 0.97
    assert (np.abs(actual) <= 1).all()
    assert np.array_equal(np.signbit(actual), np.signbit(x))


def test_numpys_error_function_in_float64_is_maths_own():
    x = np.linspace(-6, 6, 1009).reshape(1, 1009)
    assert _erf_numpy(x).tolist() == [[math.erf(value) for value in x[0]]]


@pytest.mark.parametrize("shape", [(), (1,), (3, 0), (7, 11), (2, 16384), (3, 16385)])
def test_numpys_error_function_keeps_the_shape_whatever_its_chunks(shape):
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    for values in (np.asarray(x), np.transpose(x)):
        assert_close(_erf_numpy(values), torch.erf(torch.from_numpy(values)))


@pytest.mark.parametrize("function", [gelu, silu])
def test_x_minus_its_mirror_image_is_x(function):
    """f(x) - f(-x) = x, because Φ and sigmoid satisfy s(x) + s(-x) = 1."""
    x = np.linspace(-5, 5, 103)
    assert_close(function(x) - function(-x), x)


def test_the_tanh_approximation_is_near_gelu_but_not_gelu():
    x = np.linspace(-5, 5, 1009)
    distance = np.abs(gelu_tanh(x) - gelu(x)).max()
    assert 1e-4 < distance < 1e-3


def test_a_soft_cap_keeps_small_numbers_and_bounds_large_ones():
    x = np.array([-1e9, -1e-5, 0.0, 1e-5, 50.0, np.inf])
    assert_close(soft_cap(x, 50.0), np.array([-50.0, -1e-5, 0.0, 1e-5, 50 * np.tanh(1.0), 50.0]))
    with pytest.raises(OptionError, match="got limit=0, expected above 0"):
        soft_cap(x, 0)


def test_a_soft_cap_of_the_scores_is_the_one_of_attention():
    random = np.random.default_rng(1)
    query, key = random.standard_normal((2, 3, 5)), random.standard_normal((2, 4, 5))
    scores = query @ np.swapaxes(key, -1, -2) * 5**-0.5
    assert_close(attention_weights(query, key, soft_cap=0.3), softmax(soft_cap(scores, 0.3)))


def test_clamped_swiglu_is_that_of_transformers():
    from transformers.models.gpt_oss.modeling_gpt_oss import GptOssExperts

    gate, up = np.random.default_rng(0).normal(0, 6, (2, 5, 40))
    theirs = GptOssExperts._apply_gate(SimpleNamespace(alpha=1.3, limit=4.0), torch.from_numpy(np.stack([gate, up], -1).reshape(5, 80)))
    assert_close(functions.clamped_swiglu(gate, up, limit=4.0, slope=1.3), theirs.numpy())
