"""Probes of self-, cross- and multi-head attention: sequences, weights and masks of numbers with few bits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from headway.practice.exercise import Inputs
from headway.practice.recipes.attention import few_bits
from headway.practice.texts import Texts

TEXTS = Texts("shared/sequences")

SINGLE = TEXTS["single"]
MATRICES = TEXTS["matrices"]
BATCH = TEXTS["batch"]
PADDED = TEXTS["padded"]
LENGTHS = TEXTS["lengths"]
WIDTHS = TEXTS["widths"]
NARROWER = TEXTS["narrower"]
OF_OTHER_HEADS = TEXTS["of_other_heads"]
ONE_OF_HEADS = TEXTS["one_of_heads"]
WHOLE = TEXTS["whole"]
UNBATCHED = TEXTS["unbatched"]

MASK = numpy.array([[1, 0, 1, 1, 0], [0, 1, 0, 0, 1], [1, 1, 0, 0, 1], [0, 0, 1, 1, 0], [1, 1, 1, 1, 1]], bool)
"""Mask of shape (queries, keys), not symmetric; every row allows a key on or below the diagonal, the last row all keys."""

PADDING = numpy.arange(5) < numpy.array([3, 5])[:, None]
"""Padding mask of shape (batch, keys)."""


def with_zero(inputs: Inputs) -> Inputs:
    """Return one sequence for query, key and value with zeros at a position: its scores are 0 and yet not hidden."""
    x = numpy.where(numpy.arange(inputs["query"].shape[-2])[:, None] == 3, 0.0, inputs["query"])
    return dict.fromkeys(inputs, x)


class Draw:
    """Random sequences and weights."""

    def __init__(self, seed: int) -> None:
        self.random = numpy.random.default_rng(seed)

    def numbers(self, *shape: int, scale: float = 1.0) -> Any:
        """Return an array of numbers with few bits."""
        return few_bits(self.random.standard_normal(shape) * scale)

    def itself(self, *shape: int) -> Inputs:
        """Return one sequence for query, key and value."""
        x = self.numbers(*shape)
        return {"query": x, "key": x, "value": x}

    def three(self, query_len: int, key_len: int, width: int, leading: Sequence[int] = (2,)) -> Inputs:
        """Return three sequences."""
        lengths = {"query": query_len, "key": key_len, "value": key_len}
        return {name: self.numbers(*leading, length, width) for name, length in lengths.items()}

    def two(self, query_len: int, key_len: int, width: int, context_width: int, leading: Sequence[int] = (2,)) -> Inputs:
        """Return one sequence for the query, and another for key and value."""
        context = self.numbers(*leading, key_len, context_width)
        return {"query": self.numbers(*leading, query_len, width), "key": context, "value": context}

    def weights(
        self,
        d_in: int,
        d_out: int,
        *,
        biases: Sequence[str] = (),
        output: int | None = None,
        value_dim: int | None = None,
        context_width: int | None = None,
    ) -> Inputs:
        """Return projections (d_out, d_in), all different, with an output projection to `output` columns and biases on request."""
        shapes = {"query": (d_out, d_in), "key": (d_out, context_width or d_in), "value": (value_dim or d_out, context_width or d_in)}
        shapes |= {} if output is None else {"output": (output, value_dim or d_out)}
        held = {f"{part}_weight": self.numbers(*shape, scale=0.5) for part, shape in shapes.items()}
        return held | {f"{part}_bias": self.numbers(shapes[part][0]) for part in biases if part in shapes}


def whole(inputs: Inputs) -> Inputs:
    """Return the sequences as integers."""
    return {name: numpy.round(value * 2).astype(int) for name, value in inputs.items()}


def with_biases(held: Inputs, *parts: str) -> Inputs:
    """Return weights with the biases of these projections alone."""
    return {name: value for name, value in held.items() if not name.endswith("_bias") or name.removesuffix("_bias") in parts}
