"""Gradient descent, Adam, and clipping of gradients."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from headway.arrays import Array, ArrayT, array_namespace, as_floating, at_least_float32, cast
from headway.errors import DivergenceError, OptionError, ShapeError


@dataclass(frozen=True)
class GradientDescentResult:
    """Result of gradient_descent.

    point          the last point
    gradient_norm  Euclidean norm of the gradient at that point
    num_steps      number of steps taken
    has_converged  True if gradient_norm is at most the tolerance
    """

    point: Array
    gradient_norm: float
    num_steps: int
    has_converged: bool


def gradient_descent(
    gradient: Callable[[ArrayT], ArrayT], start: ArrayT, *, learning_rate: float, tolerance: float = 1e-6, max_steps: int = 1000
) -> GradientDescentResult:
    """Gradient descent until the norm of the gradient is at most a tolerance.

        x ← x - learning_rate · gradient(x)

    Shapes
        start    (...)

    gradient       function that returns the gradient at a point, in the shape of the point
    learning_rate  factor of the gradient in each step, above 0
    tolerance      norm of the gradient at which to stop; 1e-6 by default
    max_steps      maximum number of steps; 1000 by default

    Errors   DivergenceError if the point or the gradient becomes NaN or infinite; OptionError for a learning_rate, tolerance
             or max_steps out of range.

    >>> import numpy as np
    >>> result = gradient_descent(lambda x: 2 * (x - 3), np.array(0.0), learning_rate=0.25)
    >>> round(float(result.point), 4), result.has_converged
    (3.0, True)

    Source   Cauchy 1847; Goodfellow et al. 2016, section 4.3
    """
    if not learning_rate > 0 or not tolerance >= 0 or max_steps < 0:
        raise OptionError(
            f"got learning_rate={learning_rate}, tolerance={tolerance}, max_steps={max_steps}, "
            "expected learning_rate above 0, tolerance and max_steps at least 0"
        )
    point = as_floating(start)
    for step in range(max_steps + 1):
        step_gradient = gradient(point)
        norm, point_norm = _norm(step_gradient), _norm(point)
        if not math.isfinite(norm) or not math.isfinite(point_norm):
            raise DivergenceError(
                f"got a gradient with norm {norm} at a point with norm {point_norm} after {step} steps, expected finite norms",
                hint=f"use a learning_rate below {learning_rate}",
            )
        if norm <= tolerance or step == max_steps:
            return GradientDescentResult(point, norm, step, norm <= tolerance)
        point = cast(point - learning_rate * step_gradient, point.dtype)
    raise AssertionError("the loop returns at max_steps")


def adam_step(
    point: ArrayT,
    gradient: ArrayT,
    moments: tuple[ArrayT, ArrayT] | None = None,
    *,
    step: int,
    learning_rate: float = 0.001,
    betas: tuple[float, float] = (0.9, 0.999),
    eps: float = 1e-8,
) -> tuple[ArrayT, ArrayT, ArrayT]:
    """One step of the Adam optimizer; return the next point, mean and square.

        mean   ← β₁ · mean   + (1 - β₁) · gradient
        square ← β₂ · square + (1 - β₂) · gradient²
        point  ← point - learning_rate · mean / (1 - β₁ᵗ) / (√(square / (1 - β₂ᵗ)) + eps)

    Shapes
        point     (...)
        gradient  (...)
        return    (...), (...), (...)

    moments        mean and square from the previous step; None (zeros) for the first step
    step           t in the equation, starting at 1
    learning_rate  approximate change of each coordinate per step; 0.001 by default
    betas          decay rates β₁ of the mean and β₂ of the square; 0.9 and 0.999 by default
    eps            added to the square root; 1e-8 by default

    Mean and square start at zero, so the first steps underestimate them; dividing by 1 - βᵗ corrects this bias.
    float16 and bfloat16 are computed in float32; the moments are returned in float32.

    Errors   ShapeError if point, gradient and moments differ in shape; OptionError for a step below 1, a learning_rate or eps
             not above 0, or a beta outside [0, 1).

    >>> import numpy as np
    >>> point, mean, square = adam_step(np.array([1.0, 1.0]), np.array([100.0, -0.01]), step=1, learning_rate=0.5)
    >>> point.round(4).tolist()
    [0.5, 1.5]

    Source   Kingma and Ba 2015, algorithm 1 (their α is learning_rate here)
    """
    if step < 1 or not learning_rate > 0 or not eps > 0 or not all(0 <= beta < 1 for beta in betas):
        raise OptionError(
            f"got step={step}, learning_rate={learning_rate}, betas={betas}, eps={eps}, "
            "expected step at least 1, learning_rate and eps above 0, betas in [0, 1)"
        )
    xp, gradient = array_namespace(point, gradient), at_least_float32(gradient)
    mean, square = (xp.zeros_like(gradient), xp.zeros_like(gradient)) if moments is None else map(at_least_float32, moments)
    if len({tuple(each.shape) for each in (point, gradient, mean, square)}) > 1:
        raise ShapeError(
            f"got point {tuple(point.shape)}, gradient {tuple(gradient.shape)}, moments {tuple(mean.shape)} and {tuple(square.shape)}, "
            "expected equal shapes",
            hint="keep separate moments for each weight",
        )
    mean = betas[0] * mean + (1 - betas[0]) * gradient
    square = betas[1] * square + (1 - betas[1]) * gradient * gradient
    denominator = xp.sqrt(square / (1 - betas[1] ** step)) + eps
    updated = at_least_float32(point) - learning_rate * (mean / (1 - betas[0] ** step)) / denominator
    return cast(updated, as_floating(point).dtype), mean, square


def clipping_factor(gradients: Sequence[Array], max_norm: float, *, eps: float = 1e-6) -> float:
    """Return the factor that scales gradients down together if their global norm is above a maximum.

        max_norm / (norm + eps) if norm > max_norm else 1   with norm = √(Σ over all gradients of Σ gradient²)

    gradients   arrays of any shapes; each is to be multiplied by the same factor
    max_norm    largest norm of all gradients together, above 0
    eps         added to the norm before the division; 1e-6 by default

    Errors   OptionError for a max_norm not above 0, or a negative eps.

    >>> import numpy as np
    >>> clipping_factor([np.array([3.0]), np.array([[4.0]])], 1.0, eps=0)
    0.2

    Source   Pascanu et al. 2013, algorithm 1; eps as in torch.nn.utils.clip_grad_norm_
    """
    if not max_norm > 0 or not eps >= 0:
        raise OptionError(f"got max_norm={max_norm}, eps={eps}, expected max_norm above 0, eps at least 0")
    norm = math.hypot(*map(_norm, gradients))
    return max_norm / (norm + eps) if norm > max_norm else 1.0


def _norm(x: Array) -> float:
    xp, x = array_namespace(x), at_least_float32(x)
    largest = float(xp.max(xp.abs(x)))  # scaled, because the square of a large finite value overflows
    return largest * math.sqrt(float(xp.sum((x / largest) ** 2))) if 0 < largest < math.inf else largest
