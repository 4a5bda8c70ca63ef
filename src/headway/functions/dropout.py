"""Dropout."""

from __future__ import annotations

from headway.arrays import ArrayT, array_namespace, as_floating, at_least_float32, cast
from headway.errors import OptionError, ShapeError


def dropout(x: ArrayT, random: ArrayT, *, rate: float) -> ArrayT:
    """Set random elements to zero, and scale up the others so that the expected value is unchanged.

        x / (1 - rate) where random ≥ rate, else 0

    Shapes
        x       (..., size)
        random  (..., size)
        return  (..., size)

    random   uniform random numbers from [0, 1), one per element; the caller draws them
    rate     probability of setting an element to zero, at least 0 and below 1

    Use it for training only, not for inference.

    Errors   OptionError for a rate outside [0, 1); ShapeError if random does not have the shape of x.

    >>> import numpy as np
    >>> dropout(np.array([1.0, 2.0, 3.0]), np.array([0.7, 0.1, 0.5]), rate=0.5).tolist()
    [2.0, 0.0, 6.0]

    Source   Srivastava et al. 2014, section 10 (the variant that scales during training)
    """
    xp = array_namespace(x, random)
    check_rate("rate", rate)
    if tuple(random.shape) != tuple(x.shape):
        raise ShapeError(f"got x {tuple(x.shape)} and random {tuple(random.shape)}, expected equal shapes")
    upcast = at_least_float32(x)
    kept = xp.where(at_least_float32(random) >= rate, upcast / (1 - rate), xp.zeros_like(upcast))
    return cast(kept, as_floating(x).dtype)


def check_rate(name: str, rate: float) -> None:
    """Raise OptionError unless 0 ≤ rate < 1."""
    if not 0 <= rate < 1:
        raise OptionError(f"got {name}={rate}, expected at least 0 and below 1", hint="it is a probability; 0 turns dropout off")
