from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.arrays import dtype_name, from_numpy, to_numpy
from headway.errors import DivergenceError, OptionError
from headway.functions import gradient_descent


def test_one_step_goes_against_the_gradient():
    result = gradient_descent(lambda x: 2 * x, np.array([1.0, -2.0]), learning_rate=0.25, max_steps=1)
    assert result.point.tolist() == [0.5, -1.0]  # x - 0.25 · 2x
    assert result.num_steps == 1
    assert result.has_converged is False
    assert result.gradient_norm == pytest.approx(np.sqrt(5))  # at the point returned: (1, -2)


@settings(deadline=None, derandomize=True, max_examples=30)
@given(st.lists(st.floats(-100, 100), min_size=1, max_size=5), st.floats(0.05, 0.9))
def test_a_bowl_is_descended_to_its_lowest_point(lowest, learning_rate):
    lowest = np.array(lowest)
    result = gradient_descent(lambda x: x - lowest, np.zeros(len(lowest)), learning_rate=learning_rate)
    assert result.has_converged
    np.testing.assert_allclose(result.point, lowest, atol=1e-6)


def test_the_error_shrinks_by_one_minus_the_learning_rate_per_step():
    result = gradient_descent(lambda x: x, np.array(1.0), learning_rate=0.5, tolerance=0.0, max_steps=10)
    assert float(result.point) == 2**-10


def test_at_the_lowest_point_no_step_is_taken():
    result = gradient_descent(lambda x: 0 * x, np.ones(3), learning_rate=0.1)
    assert (result.num_steps, result.has_converged, result.gradient_norm) == (0, True, 0.0)


def test_a_tolerance_of_zero_is_met_where_the_gradient_is_zero():
    assert gradient_descent(lambda x: 0 * x, np.ones(3), learning_rate=0.1, tolerance=0.0).has_converged


def test_no_steps_allowed_says_where_it_stands():
    result = gradient_descent(lambda x: x, np.array([3.0, 4.0]), learning_rate=0.1, max_steps=0)
    assert (result.num_steps, result.has_converged, result.gradient_norm) == (0, False, 5.0)


def test_linear_regression_is_the_least_squares_solution():
    random = np.random.default_rng(0)
    a, b = random.standard_normal((11, 3)), random.standard_normal(11)
    result = gradient_descent(lambda x: a.T @ (a @ x - b), np.zeros(3), learning_rate=0.02, tolerance=1e-10, max_steps=5000)
    np.testing.assert_allclose(result.point, np.linalg.lstsq(a, b)[0], atol=1e-8)


def test_the_start_is_not_changed_and_whole_numbers_become_floating():
    start = np.array([3, 4])
    result = gradient_descent(lambda x: x, start, learning_rate=0.5)
    assert start.tolist() == [3, 4]
    assert result.point.dtype == np.float32


@pytest.mark.parametrize("library", ["numpy", "torch", "jax", "mlx"])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_the_point_keeps_its_dtype_in_every_library(library, dtype):
    result = gradient_descent(lambda x: x, from_numpy(np.array([1.0, -2.0], dtype), library), learning_rate=0.5)
    assert result.has_converged
    assert dtype_name(result.point.dtype) == dtype
    assert np.abs(to_numpy(result.point)).max() < 1e-5


def test_a_long_but_finite_gradient_is_no_divergence():
    result = gradient_descent(lambda x: x, np.array([1e200, 1e200]), learning_rate=0.5, max_steps=1)  # squared: beyond float64
    assert result.gradient_norm == pytest.approx(np.sqrt(2) * 0.5e200)


def test_too_long_steps_diverge_and_the_message_says_what_to_do():
    with (
        pytest.raises(DivergenceError, match=r"came: a gradient of length inf .*after \d+ steps; expected: .*learning_rate below 3"),
        np.errstate(all="ignore"),
    ):
        gradient_descent(lambda x: 2 * x, np.array([1.0]), learning_rate=3.0, max_steps=2000)


def test_a_gradient_of_nan_is_a_divergence():
    with pytest.raises(DivergenceError, match="a gradient of length nan .*after 0 steps"):
        gradient_descent(lambda x: x * np.nan, np.array([1.0]), learning_rate=0.1)


@pytest.mark.parametrize("slope", [1e308, 1.0], ids=["a_step_too_long", "a_step_from_the_largest_number"])
def test_a_point_that_leaves_the_finite_numbers_is_a_divergence_even_where_the_gradient_stays(slope):
    with pytest.raises(DivergenceError, match="a point of length inf"), np.errstate(all="ignore"):
        gradient_descent(lambda x: np.full_like(x, slope), np.array([-1.5e308]), learning_rate=1e308 / slope, max_steps=5)


@pytest.mark.parametrize("learning_rate", [0.0, -1.0, float("nan")])
def test_a_learning_rate_not_above_zero_is_an_error(learning_rate):
    with pytest.raises(OptionError, match=f"came: learning_rate={learning_rate}.*expected: learning_rate above 0"):
        gradient_descent(lambda x: x, np.ones(2), learning_rate=learning_rate)


@pytest.mark.parametrize("options", [{"tolerance": -1.0}, {"tolerance": float("nan")}, {"max_steps": -1}])
def test_a_tolerance_or_a_number_of_steps_below_zero_is_an_error(options):
    with pytest.raises(OptionError, match="tolerance and max_steps not below 0"):
        gradient_descent(lambda x: x, np.ones(2), learning_rate=0.1, **options)
