"""Walking downhill."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from headway.arrays import Array, array_namespace, as_floating, at_least_float32, cast
from headway.errors import DivergenceError, OptionError, ShapeError


@dataclass(frozen=True)
class GradientDescentResult:
    """Where gradient descent stopped, and whether that is an answer.

    point          the last point
    gradient_norm  the length of the gradient there
    num_steps      how many steps were taken
    has_converged  whether gradient_norm fell to the tolerance within the steps allowed
    """

    point: Array
    gradient_norm: float
    num_steps: int
    has_converged: bool


def gradient_descent(
    gradient: Callable[[Array], Array], start: Array, *, learning_rate: float, tolerance: float = 1e-6, max_steps: int = 1000
) -> GradientDescentResult:
    """Step against the gradient until it is as short as the tolerance.

        x ← x - learning_rate · gradient(x)

    Shapes
        start    (...)

    gradient       the function's gradient: a point in, an array of its shape out
    learning_rate  the length of a step per length of gradient, above 0
    tolerance      the gradient's length at which to stop; 1e-6 by default
    max_steps      how many steps at most; 1000 by default

    Errors   DivergenceError where the point or the gradient leaves the finite numbers; OptionError for a learning rate,
             tolerance or number of steps out of range.

    >>> import numpy as np
    >>> result = gradient_descent(lambda x: 2 * (x - 3), np.array(0.0), learning_rate=0.25)
    >>> round(float(result.point), 4), result.has_converged
    (3.0, True)

    Source   Cauchy 1847; Goodfellow et al. 2016, section 4.3
    """
    if not learning_rate > 0 or not tolerance >= 0 or max_steps < 0:
        raise OptionError(
            f"came: learning_rate={learning_rate}, tolerance={tolerance}, max_steps={max_steps}; "
            "expected: learning_rate above 0, tolerance and max_steps not below 0"
        )
    point = as_floating(start)
    for step in range(max_steps + 1):
        slope = gradient(point)
        norm, distance = _norm(slope), _norm(point)
        if not math.isfinite(norm) or not math.isfinite(distance):
            raise DivergenceError(
                f"came: a gradient of length {norm} at a point of length {distance} after {step} steps; expected: finite ones; "
                f"use a learning_rate below {learning_rate}"
            )
        if norm <= tolerance or step == max_steps:
            return GradientDescentResult(point, norm, step, norm <= tolerance)
        point = cast(point - learning_rate * slope, point.dtype)
    raise AssertionError("the loop returns at max_steps")


def adam_step(
    point: Array,
    gradient: Array,
    moments: tuple[Array, Array] | None = None,
    *,
    step: int,
    learning_rate: float = 0.001,
    betas: tuple[float, float] = (0.9, 0.999),
    eps: float = 1e-8,
) -> tuple[Array, Array, Array]:
    """Step against the mean gradient, each coordinate by its own usual size.

        mean   ← β₁ · mean   + (1 - β₁) · gradient
        square ← β₂ · square + (1 - β₂) · gradient²
        point  ← point - learning_rate · mean / (1 - β₁ᵗ) / (√(square / (1 - β₂ᵗ)) + eps)

    Shapes
        point     (...)
        gradient  (...)
        return    (...), (...), (...)

    moments        mean and square as the step before returned them; zeros for None, where there was none
    step           t: how many steps this makes, 1 for the first
    learning_rate  about how far a coordinate moves in one step; 0.001 by default
    betas          β₁ and β₂: how much of mean and square a step keeps; 0.9 and 0.999 by default
    eps            added to the root of the square; 1e-8 by default

    It returns the point, the mean and the square. The mean starts at zero and would stay too short for 1 / (1 - β₁) steps, and the
    square for 1 / (1 - β₂): dividing by 1 - βᵗ undoes that. Computed in float32 for half precision, moments included.

    Errors   ShapeError where point, gradient and moments differ in shape; OptionError for a step below 1, a learning rate or eps
             not above 0, or a beta outside 0 … 1.

    >>> import numpy as np
    >>> point, mean, square = adam_step(np.array([1.0, 1.0]), np.array([100.0, -0.01]), step=1, learning_rate=0.5)
    >>> point.round(4).tolist()
    [0.5, 1.5]

    Source   Kingma and Ba 2015, algorithm 1 (their α is learning_rate here)
    """
    if step < 1 or not learning_rate > 0 or not eps > 0 or not all(0 <= beta < 1 for beta in betas):
        raise OptionError(
            f"came: step={step}, learning_rate={learning_rate}, betas={betas}, eps={eps}; "
            "expected: a step from 1, learning_rate and eps above 0, betas from 0 to below 1"
        )
    xp, wide = array_namespace(point, gradient), at_least_float32(gradient)
    mean, square = (xp.zeros_like(wide), xp.zeros_like(wide)) if moments is None else map(at_least_float32, moments)
    if len({tuple(each.shape) for each in (point, gradient, mean, square)}) > 1:
        raise ShapeError(
            f"came: point {tuple(point.shape)}, gradient {tuple(gradient.shape)}, moments {tuple(mean.shape)} and {tuple(square.shape)}; "
            "expected: one shape; keep the moments of each weight with that weight"
        )
    mean = betas[0] * mean + (1 - betas[0]) * wide
    square = betas[1] * square + (1 - betas[1]) * wide * wide
    length = xp.sqrt(square / (1 - betas[1] ** step)) + eps
    moved = at_least_float32(point) - learning_rate * (mean / (1 - betas[0] ** step)) / length
    return cast(moved, as_floating(point).dtype), mean, square


def _norm(x: Array) -> float:
    xp, x = array_namespace(x), at_least_float32(x)
    largest = float(xp.max(xp.abs(x)))  # scaled, so that a long but finite gradient does not overflow when squared
    return largest * math.sqrt(float(xp.sum((x / largest) ** 2))) if 0 < largest < math.inf else largest
