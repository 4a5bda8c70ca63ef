"""Rotary positions inside an attention: accepted forms of the rotation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from headway.practice.exercise import Convention, optional
from headway.practice.texts import Texts

TEXTS = Texts("shared/rotation")

ROPE = r"(?<!p)rope"
"""Pattern of the abbreviation, which "property" and "properly" also hold."""

SOURCE = rf"{ROPE}|rotary|rotat|freqs"
"""Pattern of the source of an attention with rotary positions."""


class OddWidthError(ValueError):
    """Raised for vectors of an odd width, which have no pairs: their rotation is not defined."""


def rotated(x: Any, *, is_interleaved: bool, base: float = 10000.0) -> Any:
    """Rotate the pairs of the last axis by angles that grow with the position, counted from 0 along the second-last axis.

    Errors   OddWidthError
    """
    if x.shape[-1] % 2:
        raise OddWidthError(f"got vectors of width {x.shape[-1]}, expected an even width")
    half = x.shape[-1] // 2
    angles = numpy.arange(x.shape[-2])[:, None] * base ** (-numpy.arange(half) / half)
    cos, sin = numpy.cos(angles), numpy.sin(angles)
    first, second = (x[..., 0::2], x[..., 1::2]) if is_interleaved else (x[..., :half], x[..., half:])
    turned = (first * cos - second * sin, first * sin + second * cos)
    return numpy.stack(turned, -1).reshape(x.shape) if is_interleaved else numpy.concatenate(turned, -1)


def _step(is_interleaved: bool) -> Callable[..., Any]:
    def operands(query: Any, key: Any, value: Any) -> tuple[Any, Any, Any]:
        return rotated(query, is_interleaved=is_interleaved), rotated(key, is_interleaved=is_interleaved), value

    return operands


ROTATED = optional(
    Convention(TEXTS["rotates_halves"], steps={"operands": _step(False)}, source=SOURCE),
    Convention(TEXTS["rotates_neighbours"], steps={"operands": _step(True)}, source=SOURCE),
)
"""Rotary positions inside an attention."""
