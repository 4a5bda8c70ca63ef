"""Rotary positions that do not rotate, for attentions that take tables or a part for them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy

from headway.arrays import asarray_like, is_floating
from headway.practice.exercise import Inputs


def head_dim(inputs: Inputs) -> int | None:
    """Return the width of one head, if the inputs have it."""
    weight, heads = inputs.get("query_weight"), int(inputs.get("num_heads") or 1)
    sequence = next((inputs[name] for name in ("query", "x") if inputs.get(name) is not None), None)
    if weight is not None:
        return int(weight.shape[0] // heads)
    return None if sequence is None or not sequence.shape else int(sequence.shape[-1] // heads)


def _length(inputs: Inputs) -> int:
    sequence = next(inputs[name] for name in ("query", "x") if inputs.get(name) is not None)
    return int(sequence.shape[-2])


def _complex(inputs: Inputs, style: int) -> Any:
    """Return unit rotations: complex numbers, pairs of cosine and sine, a tuple of cosines and sines, or all cosines before all sines."""
    length, half = _length(inputs), (head_dim(inputs) or 0) // 2
    if style == 0:
        return numpy.ones((length, half), numpy.complex128)
    parts = [numpy.ones((length, half)), numpy.zeros((length, half))]
    return (numpy.stack(parts, -1), tuple(parts), numpy.concatenate(parts, -1))[style - 1]


def _wave(value: float) -> Callable[[Inputs, int], Any]:
    def table(inputs: Inputs, style: int) -> Any:
        length, width = _length(inputs), head_dim(inputs) or 0
        shapes = ((length, width), (1, length, width), (length, width // 2), (1, 1, length, width))
        return numpy.full(shapes[style], value)

    return table


def _both(first: float, second: float) -> Callable[[Inputs, int], Any]:
    return lambda inputs, style: (_wave(first)(inputs, style), _wave(second)(inputs, style))


NUM_STYLES = 4
"""Number of shapes of such tables that are tried."""

TABLES: tuple[tuple[str, Callable[[Inputs, int], Any]], ...] = (
    (r"position_?embeddings?|rotary_?emb|cos_sin", _both(1.0, 0.0)),
    (r"sin_?cos", _both(0.0, 1.0)),
    (r"pos(ition)?_?(ids|indices)|(^|token_?)positions$", lambda inputs, style: numpy.arange(_length(inputs))[None] if style % 2 else numpy.arange(_length(inputs))),
    (r"(^|_)cos(ine)?s?(_|$)", _wave(1.0)),
    (r"(^|_)sin(e)?s?(_|$)", _wave(0.0)),
    (r"(^|_)(freqs?|freqs?cis|cis|rope|rotary)(_|$)", _complex),
)  # fmt: skip
"""Tables of angles 0, by the names of parameters for them: they leave queries and keys as they are."""


def table_for(name: str, style: int = 0) -> Callable[[Inputs], Any] | None:
    """Return the function that computes a parameter's table of angles 0 in one of NUM_STYLES shapes, or None."""
    table = next((table for pattern, table in TABLES if re.search(pattern, name.lower().strip("_"))), None)
    return None if table is None else lambda inputs: table(inputs, style)


def same(*operands: Any, **named: Any) -> Any:
    """Return the operands of a rotation as they are: the first, or query and key."""
    arrays = [each for each in (*operands, *named.values()) if hasattr(each, "shape") and is_floating(each)]
    query = arrays[0]
    alike = [
        each
        for each in arrays[1:2]
        if each.ndim == query.ndim > 2 and each.shape[0] == query.shape[0] and each.shape[-1] == query.shape[-1]
    ]
    return (query, *alike) if alike else query


class Unrotated:
    """Part for rotary positions that does not rotate, whether it is called or its method is: `rope.forward(query, positions)`."""

    def __call__(self, *operands: Any, **named: Any) -> Any:
        """Return the operands as they are."""
        return same(*operands, **named)

    forward = __call__


UNROTATED = Unrotated()
"""The only such part that is needed."""


def turned(*operands: Any, **named: Any) -> Any:
    """Return the operands of a rotation times a number of each position, so that the order of positions has an effect."""
    kept = same(*operands, **named)
    arrays = kept if isinstance(kept, tuple) else (kept,)
    rows = [asarray_like(1 + numpy.arange(each.shape[-2])[:, None] % 3, each) * each for each in arrays]
    return tuple(rows) if isinstance(kept, tuple) else rows[0]
