from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.arrays import dtype_name, from_numpy, to_numpy
from headway.errors import DivergenceError, OptionError, ShapeError
from headway.functions import adam_step, clipping_factor, gradient_descent


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
        pytest.raises(
            DivergenceError, match=r"(?s)got a gradient with norm inf .*after \d+ steps, expected finite norms.*learning_rate below 3"
        ),
        np.errstate(all="ignore"),
    ):
        gradient_descent(lambda x: 2 * x, np.array([1.0]), learning_rate=3.0, max_steps=2000)


def test_a_gradient_of_nan_is_a_divergence():
    with pytest.raises(DivergenceError, match="a gradient with norm nan .*after 0 steps"):
        gradient_descent(lambda x: x * np.nan, np.array([1.0]), learning_rate=0.1)


@pytest.mark.parametrize("slope", [1e308, 1.0], ids=["a_step_too_long", "a_step_from_the_largest_number"])
def test_a_point_that_leaves_the_finite_numbers_is_a_divergence_even_where_the_gradient_stays(slope):
    with pytest.raises(DivergenceError, match="a point with norm inf"), np.errstate(all="ignore"):
        gradient_descent(lambda x: np.full_like(x, slope), np.array([-1.5e308]), learning_rate=1e308 / slope, max_steps=5)


@pytest.mark.parametrize("learning_rate", [0.0, -1.0, float("nan")])
def test_a_learning_rate_not_above_zero_is_an_error(learning_rate):
    with pytest.raises(OptionError, match=f"got learning_rate={learning_rate}.*expected learning_rate above 0"):
        gradient_descent(lambda x: x, np.ones(2), learning_rate=learning_rate)


@pytest.mark.parametrize("options", [{"tolerance": -1.0}, {"tolerance": float("nan")}, {"max_steps": -1}])
def test_a_tolerance_or_a_number_of_steps_below_zero_is_an_error(options):
    with pytest.raises(OptionError, match="tolerance and max_steps at least 0"):
        gradient_descent(lambda x: x, np.ones(2), learning_rate=0.1, **options)


def descend(point, gradients, **options):
    """Run Adam with one step per gradient."""
    moments = None
    for step, gradient in enumerate(gradients, 1):
        point, *moments = adam_step(point, gradient, moments, step=step, **options)
    return point, *moments


def test_the_first_step_of_adam_is_the_learning_rate_long_whatever_the_gradient():
    # mean/(1 - β₁) = gradient and √(square/(1 - β₂)) = |gradient|, so their ratio is the sign
    point, mean, square = adam_step(np.array([1.0, 1.0, 1.0]), np.array([1e4, -3.0, 1e-3]), step=1, learning_rate=0.25, eps=1e-12)
    np.testing.assert_allclose(point, [0.75, 1.25, 0.75], atol=1e-8)
    np.testing.assert_allclose(mean, [1e3, -0.3, 1e-4])  # (1 - 0.9) · gradient
    np.testing.assert_allclose(square, [1e5, 0.009, 1e-9])  # (1 - 0.999) · gradient²


@pytest.mark.parametrize("options", [{}, {"learning_rate": 0.1, "betas": (0.8, 0.95), "eps": 1e-3}], ids=["defaults", "given"])
def test_adam_is_torchs(options):
    gradients = np.random.default_rng(0).standard_normal((7, 3, 2)) * [1e-3, 1.0]
    weight = torch.nn.Parameter(torch.ones(3, 2, dtype=torch.float64))
    optimizer = torch.optim.Adam(
        [weight], **{"lr": 0.001, **{{"learning_rate": "lr"}.get(name, name): value for name, value in options.items()}}
    )
    for gradient in gradients:
        weight.grad = torch.from_numpy(gradient)
        optimizer.step()
    point, mean, square = descend(np.ones((3, 2)), gradients, **options)
    np.testing.assert_allclose(point, weight.detach(), rtol=1e-12)
    np.testing.assert_allclose(mean, optimizer.state[weight]["exp_avg"], rtol=1e-12)
    np.testing.assert_allclose(square, optimizer.state[weight]["exp_avg_sq"], rtol=1e-12)


def test_without_moments_a_step_of_adam_begins_at_zeros():
    point, gradient = np.array([1.0, 2.0]), np.array([0.3, -4.0])
    for first, second in zip(
        adam_step(point, gradient, step=1), adam_step(point, gradient, (np.zeros(2), np.zeros(2)), step=1), strict=True
    ):
        np.testing.assert_array_equal(first, second)


def test_adam_does_not_change_with_the_scale_of_the_gradients():
    gradients = np.random.default_rng(1).standard_normal((5, 3))
    one, *_ = descend(np.zeros(3), gradients, eps=1e-30)
    other, *_ = descend(np.zeros(3), 1000 * gradients, eps=1e-30)
    np.testing.assert_allclose(one, other, rtol=1e-12)


def test_adam_descends_a_narrow_valley():
    point, moments = np.array([3.0, -2.0]), None
    for step in range(1, 2001):
        point, *moments = adam_step(point, np.array([1.0, 100.0]) * point, moments, step=step, learning_rate=0.01)
    np.testing.assert_allclose(point, 0, atol=1e-3)


def test_adam_changes_none_of_its_arguments():
    point, gradient, mean, square = (np.ones(3) for _ in range(4))
    adam_step(point, gradient, (mean, square), step=2)
    assert all(each.tolist() == [1, 1, 1] for each in (point, gradient, mean, square))


def test_small_squares_survive_half_precision():
    _, _, square = adam_step(np.ones(2, np.float16), np.full(2, 1e-4, np.float16), step=1)
    np.testing.assert_allclose(square, 1e-11, rtol=1e-2)  # the smallest float16 is 6e-8


def test_moments_of_another_shape_are_an_error():
    with pytest.raises(ShapeError, match=r"got point \(2,\), gradient \(2,\), moments \(3,\) and \(3,\), expected equal shapes"):
        adam_step(np.ones(2), np.ones(2), (np.ones(3), np.ones(3)), step=2)


@pytest.mark.parametrize("options", [{"step": 0}, {"learning_rate": 0.0}, {"eps": 0.0}, {"betas": (1.0, 0.999)}, {"betas": (0.9, -0.1)}])
def test_options_of_adam_out_of_range_are_an_error(options):
    with pytest.raises(OptionError, match=r"expected step at least 1, learning_rate and eps above 0, betas in \[0, 1\)"):
        adam_step(np.ones(2), np.ones(2), **{"step": 1} | options)


@pytest.mark.parametrize("max_norm", [6.5, 100.0])
def test_a_clipping_factor_limits_the_global_norm_as_torch_does(max_norm):
    gradients = [np.array([3.0, -4.0]), np.array([[12.0]])]
    parameters = [torch.nn.Parameter(torch.zeros(each.shape, dtype=torch.float64)) for each in gradients]
    for parameter, gradient in zip(parameters, gradients, strict=True):
        parameter.grad = torch.tensor(gradient)
    torch.nn.utils.clip_grad_norm_(parameters, max_norm)
    factor = clipping_factor(gradients, max_norm)
    for parameter, gradient in zip(parameters, gradients, strict=True):
        np.testing.assert_allclose(factor * gradient, parameter.grad.numpy(), rtol=1e-12)


def test_a_maximum_of_zero_is_an_error():
    with pytest.raises(OptionError, match="got max_norm=0"):
        clipping_factor([np.ones(2)], 0)
