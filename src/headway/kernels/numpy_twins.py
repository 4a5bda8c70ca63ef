"""What NumPy does faster in another form, under the definitions' names and signatures."""

from __future__ import annotations

import math

from headway import functions
from headway.arrays import Array

__all__ = ["linear", "unembed"]


def linear(x: Array, weight: Array, bias: Array | None = None) -> Array:
    """Twin of functions.linear: NumPy multiplies a stack of matrices one by one, and all their rows at once in half the time."""
    if x.ndim < 3:
        return functions.linear(x, weight, bias)
    rows = x.reshape(math.prod(x.shape[:-1]), x.shape[-1])
    return functions.linear(rows, weight, bias).reshape(*x.shape[:-1], weight.shape[0])


def unembed(x: Array, table: Array) -> Array:
    """Twin of functions.unembed."""
    return linear(x, table)
