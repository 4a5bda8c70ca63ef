"""Mistakes in attention masks, causal or given as an argument."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy

from headway.practice.exercise import Mistake, Step, unchanged
from headway.practice.recipes.activations import softmax as naive_softmax
from headway.practice.recipes.attention import both, hidden, transposed, triangle
from headway.practice.texts import Texts

TEXTS = Texts("shared/mask_mistakes")


def _added(scores: Any, allowed: Any) -> Any:
    return scores if allowed is None else scores + numpy.where(allowed, 0, -1e9).astype(scores.dtype)


WAYS: Mapping[str, dict[str, Any]] = {
    "": {"normalise": naive_softmax},
    "_by_a_large_number": {"hide": lambda scores, allowed: hidden(scores, allowed, -1e9)},
    "_by_adding_a_large_number": {"hide": _added},
}
"""Ways to mask scores, on which the weights of rows that are hidden as a whole depend."""


def _in_three_ways(name: str, pattern: str, **steps: Any) -> tuple[Mistake, ...]:
    """Return the variants of a mask that hides whole rows."""
    return tuple(TEXTS.mistake(name + suffix, **steps, **way, pattern=pattern, said_as=name) for suffix, way in WAYS.items())


def _below(shift: int) -> Step:
    return lambda query_len, key_len: triangle(query_len, key_len, shift)


CAUSAL = (
    *_in_three_ways("diagonal_hidden", r"tri[lu]|causal|mask", triangle=_below(-1)),
    TEXTS.mistake("sees_one_ahead", triangle=_below(1)),
    TEXTS.mistake("causal_upside_down", triangle=lambda query_len, key_len: triangle(query_len, key_len, -1) == 0),
    *_in_three_ways("sees_the_future_alone", r"tri[lu]|causal|mask|==", triangle=lambda query_len, key_len: ~triangle(query_len, key_len)),
    TEXTS.mistake("causal_ignored", is_causal=lambda given: False),
)


def _after_softmax(fill: float) -> dict[str, Any]:
    return {"hide": unchanged, "after": lambda weights, allowed: hidden(weights, allowed, fill)}


MASKS = (
    TEXTS.mistake("mask_ignored", combine=lambda mask, lower: lower),
    *_in_three_ways("mask_on_rows", "mask", combine=lambda mask, lower: both(None if mask is None else transposed(mask), lower)),
    TEXTS.mistake("causal_replaces_the_mask", combine=lambda mask, lower: mask if lower is None else lower),
    TEXTS.mistake("mask_replaces_the_causal", combine=lambda mask, lower: lower if mask is None else mask),
    TEXTS.mistake("either_mask_allows", combine=lambda mask, lower: both(mask, lower) if mask is None or lower is None else mask | lower),
    TEXTS.mistake("mask_after_softmax", **_after_softmax(0.0)),
    TEXTS.mistake("minus_infinity_after_softmax", **_after_softmax(-numpy.inf)),
    TEXTS.mistake("large_number_after_softmax", **_after_softmax(-1e9)),
    TEXTS.mistake("mask_added_as_zero_and_one", hide=lambda scores, allowed: scores if allowed is None else scores + allowed),
    TEXTS.mistake("hidden_score_is_zero", hide=lambda scores, allowed: scores if allowed is None else scores * allowed),
    TEXTS.mistake("hidden_score_is_large", hide=lambda scores, allowed: hidden(scores, allowed, 1e9)),
    TEXTS.mistake(
        "zero_times_infinity",
        hide=lambda scores, allowed: scores if allowed is None else scores + numpy.where(allowed, 0.0, 1.0) * -numpy.inf,
    ),
)
