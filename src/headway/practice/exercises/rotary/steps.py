"""The steps of rotary positions: the layout of the pairs, their rotation, and the position of each row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from headway.practice.exercise import Step


def halves(x: Any) -> tuple[Any, Any]:
    """Return the first and the second half of the coordinates."""
    return x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]


def even_and_odd(x: Any) -> tuple[Any, Any]:
    """Return the even and the odd coordinates."""
    return x[..., 0::2], x[..., 1::2]


def interleave(a: Any, b: Any) -> Any:
    """Invert even_and_odd."""
    return numpy.stack([a, b], axis=-1).reshape(*a.shape[:-1], -1)


def concatenate(a: Any, b: Any) -> Any:
    """Invert halves."""
    return numpy.concatenate([a, b], axis=-1)


def exponents(width: int) -> Any:
    """Return 2i / head_dim, one exponent per pair."""
    return numpy.arange(0, width, 2) / width


def powers(share: Callable[[int], Any]) -> Step:
    """Return a step that computes frequencies with other exponents."""
    return lambda width, theta: float(theta) ** -share(width)


WRONG_FREQUENCIES: dict[str, Step] = {
    "exponent_not_doubled": powers(lambda width: numpy.arange(width // 2) / width),
    "exponent_doubled_twice": powers(lambda width: 2 * exponents(width)),
    "exponent_counts_from_one": powers(lambda width: exponents(width) + 2 / width),
    "last_exponent_is_one": powers(lambda width: numpy.arange(width // 2) / max(width // 2 - 1, 1)),
    "exponent_is_zero": powers(lambda width: 0 * exponents(width)),
    "multiplied_by_power": powers(lambda width: -exponents(width)),
    "theta_ignored": lambda width, theta: 10000.0 ** -exponents(width),
}
"""Frequencies with a mistake, by its name."""


def counted(x: Any, positions: Any, offset: int) -> Any:
    """Return the given positions, or one per row starting at the offset."""
    return numpy.arange(x.shape[-2]) + offset if positions is None else numpy.asarray(positions)


def along_first_axis(x: Any, positions: Any, offset: int) -> Any:
    """Return positions that run along the first axis, whatever its meaning."""
    if positions is not None or x.ndim < 3:
        return counted(x, positions, offset)
    return (numpy.arange(x.shape[0]) + offset).reshape(-1, *[1] * (x.ndim - 2))


STEPS: dict[str, Step] = {
    "positions": counted,
    "frequencies": powers(exponents),
    "split": halves,
    "widen": lambda numbers: (numbers, numbers),
    "turn": lambda a, b, cos_a, cos_b, sin_a, sin_b: (a * cos_a - b * sin_a, b * cos_b + a * sin_b),
    "join": concatenate,
    "both": lambda rotated, query, key: (rotated(query), rotated(key)),
}
