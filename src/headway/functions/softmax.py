"""Softmax and log-softmax."""

from __future__ import annotations

from headway.arrays import ArrayT, array_namespace, as_floating, at_least_float32, cast


def softmax(x: ArrayT, *, axis: int = -1) -> ArrayT:
    """Softmax: map scores to non-negative weights that sum to 1 along an axis.

        exp(x - max x) / Σ exp(x - max x)

    Shapes
        x       (..., size)
        return  (..., size)

    axis     the axis along which the weights sum to 1; the last by default

    Subtracting the maximum does not change the result. It makes every exponent at most 0, so exp cannot overflow.
    float16 and bfloat16 are computed in float32. If all scores along the axis are -inf, the weights are zeros.

    >>> import numpy as np
    >>> softmax(np.log([1.0, 2.0, 5.0])).round(3).tolist()
    [0.125, 0.25, 0.625]

    Source   Bridle 1990; the shift: Goodfellow et al. 2016, section 4.1
    """
    xp = array_namespace(x)
    upcast = at_least_float32(x)
    weights = xp.exp(upcast - _finite_max(upcast, axis))
    total = xp.sum(weights, axis=axis, keepdims=True)
    return cast(weights / xp.where(total == 0, xp.ones_like(total), total), as_floating(x).dtype)


def log_softmax(x: ArrayT, *, axis: int = -1) -> ArrayT:
    """Logarithm of softmax, accurate even if a probability underflows to 0.

        x - max x - log Σ exp(x - max x)

    Shapes
        x       (..., size)
        return  (..., size)

    axis     the axis along which the exponentials of the result sum to 1; the last by default

    float16 and bfloat16 are computed in float32. If all scores along the axis are -inf, the result is -inf.

    >>> import numpy as np
    >>> log_softmax(np.array([0.0, 1000.0])).tolist()
    [-1000.0, 0.0]

    Source   Goodfellow et al. 2016, section 4.1
    """
    xp = array_namespace(x)
    upcast = at_least_float32(x)
    shifted = upcast - _finite_max(upcast, axis)
    total = xp.sum(xp.exp(shifted), axis=axis, keepdims=True)
    return cast(shifted - xp.log(xp.where(total == 0, xp.ones_like(total), total)), as_floating(x).dtype)


def _finite_max(x: ArrayT, axis: int) -> ArrayT:
    """Return the maximum, or 0 if it is -inf, because -inf minus -inf is NaN."""
    xp = array_namespace(x)
    largest = xp.max(x, axis=axis, keepdims=True)
    return xp.where(largest == -float("inf"), xp.zeros_like(largest), largest)
