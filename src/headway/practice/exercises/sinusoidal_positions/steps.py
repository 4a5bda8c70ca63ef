"""The steps of sinusoidal positions."""

from __future__ import annotations

from typing import Any

import numpy

from headway.practice.exercise import Step


def alternate(even: Any, odd: Any) -> Any:
    """Take the even columns of one array and the odd columns of another."""
    return numpy.where(numpy.arange(even.shape[1]) % 2 == 0, even, odd)


def halves(table: Any, interleaved: bool = False) -> Any:
    """Move all even columns before all odd ones."""
    return table if interleaved else numpy.concatenate([table[:, ::2], table[:, 1::2]], axis=1)


def columns(width: int) -> Any:
    """Return the column numbers 0, 1, 2, …."""
    return numpy.arange(width)


def pairs(width: int) -> Any:
    """Return the number of the pair of each column: 0, 0, 1, 1, 2, …."""
    return numpy.arange(width) // 2


STEPS: dict[str, Step] = {
    "positions": lambda length, offset: numpy.arange(length) + offset,
    "exponents": lambda width: 2 * pairs(width) / width,
    "angles": lambda positions, exponents, base: positions[:, None] / base**exponents,
    "waves": lambda angles: alternate(numpy.sin(angles), numpy.cos(angles)),
    "arrange": halves,
    "finish": lambda table: table,
    "scale": lambda x: x,
    "add": lambda x, table: x + table(x.shape[-2]),
}
