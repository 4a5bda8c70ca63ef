"""Softmax and its logarithm."""

from __future__ import annotations

from headway.arrays import Array, array_namespace, as_floating, at_least_float32, cast


def softmax(x: Array, *, axis: int = -1) -> Array:
    """Turn scores into positive weights that sum to one along an axis.

        exp(x - max x) / Σ exp(x - max x)

    Shapes
        x       (..., size)
        return  (..., size)

    axis     the axis that sums to one; the last by default

    Subtracting the maximum changes nothing and keeps every exponent at or below 0, so nothing overflows.
    Computed in float32 for half precision. Where all of x is -inf, the weights are zeros.

    >>> import numpy as np
    >>> softmax(np.log([1.0, 2.0, 5.0])).round(3).tolist()
    [0.125, 0.25, 0.625]

    Source   Bridle 1990; the shift: Goodfellow et al. 2016, section 4.1
    """
    xp = array_namespace(x)
    wide = at_least_float32(x)
    weights = xp.exp(wide - _finite_max(wide, axis))
    total = xp.sum(weights, axis=axis, keepdims=True)
    return cast(weights / xp.where(total == 0, xp.ones_like(total), total), as_floating(x).dtype)


def log_softmax(x: Array, *, axis: int = -1) -> Array:
    """The logarithm of softmax, without ever forming a probability that rounds to zero.

        x - max x - log Σ exp(x - max x)

    Shapes
        x       (..., size)
        return  (..., size)

    axis     the axis whose exponentials sum to one; the last by default

    Computed in float32 for half precision. Where all of x is -inf, so is the result.

    >>> import numpy as np
    >>> log_softmax(np.array([0.0, 1000.0])).tolist()
    [-1000.0, 0.0]

    Source   Goodfellow et al. 2016, section 4.1
    """
    xp = array_namespace(x)
    wide = at_least_float32(x)
    shifted = wide - _finite_max(wide, axis)
    total = xp.sum(xp.exp(shifted), axis=axis, keepdims=True)
    return cast(shifted - xp.log(xp.where(total == 0, xp.ones_like(total), total)), as_floating(x).dtype)


def _finite_max(x: Array, axis: int) -> Array:
    """The maximum, or 0 where it is -inf: -inf minus -inf would be NaN."""
    xp = array_namespace(x)
    largest = xp.max(x, axis=axis, keepdims=True)
    return xp.where(largest == -float("inf"), xp.zeros_like(largest), largest)
