"""Tables of rotary positions that do not rotate, for attentions that take such tables."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy

from headway.practice.exercise import Inputs


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
