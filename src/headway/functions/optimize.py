"""Walking downhill."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from headway.arrays import Array, array_namespace, as_floating, cast, widen
from headway.errors import DivergenceError, OptionError


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


def _norm(x: Array) -> float:
    xp, x = array_namespace(x), widen(x)
    largest = float(xp.max(xp.abs(x)))  # scaled, so that a long but finite gradient does not overflow when squared
    return largest * math.sqrt(float(xp.sum((x / largest) ** 2))) if 0 < largest < math.inf else largest
