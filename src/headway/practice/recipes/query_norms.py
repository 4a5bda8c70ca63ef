"""Norms of queries and keys inside an attention that a function computes, without weights; a layer for it is left out by the diagnosis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from headway.practice.exercise import Convention, Inputs, optional
from headway.practice.recipes.projection_scale import slope
from headway.practice.texts import Texts

TEXTS = Texts("shared/query_norms")

SOURCE = (
    r"norm\w*\(\s*(self\.)?x?q(uer(y|ies))?(_\w+)?\b"  # norm(q)
    r"[\s\S]{1,120}?norm\w*\(\s*(self\.)?x?k(eys?)?(_\w+)?\b"  # norm(k)
)
"""Pattern of the source of an attention that normalizes its queries and its keys."""


def unit_rms(vectors: Any) -> Any:
    """Return vectors divided by the root of the mean of their squares."""
    return vectors / numpy.sqrt((vectors * vectors).mean(-1, keepdims=True) + 1e-7)


def _operands(query: Any, key: Any, value: Any) -> tuple[Any, Any, Any]:
    return unit_rms(query), unit_rms(key), value


def _measured(ask: Callable[[Inputs], Any]) -> Sequence[Convention]:
    """Return the convention with the scale that the outputs show: the usual one, or a constant, which vectors of a fixed length allow."""
    for heads, is_grouped in ((None, None), False), ((2, 3), False), ((2, 3), True):
        measured = slope(heads, is_grouped=is_grouped, before=unit_rms)(lambda inputs: _first(ask(inputs | {"x": inputs["query"]})))
        numbers = [number for _, number in measured]
        if numbers and numpy.ptp(numbers) < 1e-3 * abs(numbers[0]) and abs(numbers[0] - 1) > 1e-3:
            return [_scaled(float(f"{numbers[0]:.3g}"))]
        if numbers:
            break
    return [Convention(TEXTS["normed"], steps={"operands": _operands})]


def _scaled(scale: float) -> Convention:
    return Convention(TEXTS["normed_and_scaled"].format(scale=scale), steps={"operands": _operands, "scale": lambda inputs: scale})


def _first(answer: Any) -> Any:
    return answer[0] if isinstance(answer, tuple) and answer else answer


NORMED = optional(Convention(reads=_measured, source=SOURCE))
"""Attention that divides queries and keys by their root mean square."""
