"""Rotary positions inside an attention: accepted forms of the rotation, and tables that do not rotate."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy

from headway.practice.exercise import Convention, Inputs
from headway.practice.message import Message

SOURCE = r"rope|rotary|rotat|freqs"
"""Pattern of the source of an attention with rotary positions."""


def rotated(x: Any, *, is_interleaved: bool, base: float = 10000.0) -> Any:
    """Rotate the pairs of the last axis by angles that grow with the position, counted from 0 along the second-last axis."""
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


ROTATED = (
    Convention(),
    Convention(
        Message("rotates queries and keys by their positions (RoPE, halves)", "按位置旋转 query 与 key（RoPE，前后两半配对）"),
        steps={"operands": _step(False)},
        source=SOURCE,
    ),
    Convention(
        Message("rotates queries and keys by their positions (RoPE, neighbouring pairs)", "按位置旋转 query 与 key（RoPE，相邻两维配对）"),
        steps={"operands": _step(True)},
        source=SOURCE,
    ),
)
"""Rotary positions inside an attention."""


def head_dim(inputs: Inputs) -> int | None:
    """Return the width of one head, if the inputs have it."""
    weight, heads = inputs.get("query_weight"), int(inputs.get("num_heads") or 1)
    sequence = next((inputs[name] for name in ("query", "x") if inputs.get(name) is not None), None)
    if weight is None and sequence is None:
        return None
    return int((weight.shape[0] if weight is not None else sequence.shape[-1]) // heads)


def _length(inputs: Inputs) -> int:
    sequence = next(inputs[name] for name in ("query", "x") if inputs.get(name) is not None)
    return int(sequence.shape[-2])


TABLES: tuple[tuple[str, Callable[[Inputs], Any]], ...] = (
    (r"^(freqs?|freqs?_?cis|freqs?_?complex)$", lambda inputs: numpy.ones((_length(inputs), (head_dim(inputs) or 0) // 2), numpy.complex128)),
    (r"^cos(ine)?s?$", lambda inputs: numpy.ones((_length(inputs), head_dim(inputs) or 0))),
    (r"^sin(e)?s?$", lambda inputs: numpy.zeros((_length(inputs), head_dim(inputs) or 0))),
    (
        r"position_?embeddings?|^rope$|rotary_?emb",
        lambda inputs: (numpy.ones((1, _length(inputs), head_dim(inputs) or 0)), numpy.zeros((1, _length(inputs), head_dim(inputs) or 0))),
    ),
    (r"position_?ids", lambda inputs: numpy.arange(_length(inputs))[None]),
)  # fmt: skip
"""Tables of angles 0, by the names of parameters for them: they leave queries and keys as they are."""


def table_for(name: str) -> Callable[[Inputs], Any] | None:
    """Return the function that computes a parameter's table of angles 0, or None."""
    return next((table for pattern, table in TABLES if re.search(pattern, name.lower().strip("_"))), None)
