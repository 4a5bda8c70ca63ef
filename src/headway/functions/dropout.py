"""Forgetting at random, while training."""

from __future__ import annotations

from headway.arrays import Array, array_namespace, as_floating, at_least_float32, cast
from headway.errors import OptionError, ShapeError


def dropout(x: Array, random: Array, *, rate: float) -> Array:
    """Set numbers to zero at random, and enlarge the others so that the mean stays.

        x / (1 - rate) where random ≥ rate, else 0

    Shapes
        x       (..., size)
        random  (..., size)
        return  (..., size)

    random   uniform draws from [0, 1), one per number: whoever calls owns the randomness
    rate     the share to set to zero, at least 0 and below 1

    Only for training: a model that answers leaves this out.

    Errors   OptionError for a rate outside [0, 1); ShapeError where random is not of x's shape.

    >>> import numpy as np
    >>> dropout(np.array([1.0, 2.0, 3.0]), np.array([0.7, 0.1, 0.5]), rate=0.5).tolist()
    [2.0, 0.0, 6.0]

    Source   Srivastava et al. 2014, section 10 (the variant that scales while training)
    """
    xp = array_namespace(x, random)
    check_rate("rate", rate)
    if tuple(random.shape) != tuple(x.shape):
        raise ShapeError(f"came: x {tuple(x.shape)} and random {tuple(random.shape)}; expected: one draw per number, {tuple(x.shape)}")
    wide = at_least_float32(x)
    kept = xp.where(at_least_float32(random) >= rate, wide / (1 - rate), xp.zeros_like(wide))
    return cast(kept, as_floating(x).dtype)


def check_rate(name: str, rate: float) -> None:
    """Raise OptionError unless the rate is a share that leaves something over."""
    if not 0 <= rate < 1:
        raise OptionError(f"came: {name}={rate}; expected: at least 0 and below 1, the share of numbers to drop; 0 drops none")
