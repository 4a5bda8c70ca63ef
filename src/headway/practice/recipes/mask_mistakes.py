"""Mistakes in attention masks, causal or given as an argument."""

from __future__ import annotations

import numpy

from headway.practice.exercise import Mistake, Step
from headway.practice.recipes.attention import both, hidden, naive_softmax, transposed, triangle
from headway.practice.texts import Texts

TEXTS = Texts("shared/mask_mistakes")


def _in_three_ways(name: str, steps: dict[str, Step], pattern: str = "") -> tuple[Mistake, ...]:
    """Return the variants of a mask that hides whole rows: their weights depend on how scores are masked (-inf, -1e9, or added -1e9)."""
    added: Step = lambda scores, allowed: scores if allowed is None else scores + numpy.where(allowed, 0, -1e9).astype(scores.dtype)  # noqa: E731
    ways: dict[str, dict[str, Step]] = {
        "": {"normalise": naive_softmax},
        "_by_a_large_number": {"hide": lambda scores, allowed: hidden(scores, allowed, -1e9)},
        "_by_adding_a_large_number": {"hide": added},
    }
    return tuple(TEXTS.mistake(name + suffix, steps | more, pattern=pattern, said_as=name) for suffix, more in ways.items())


def _below(shift: int) -> Step:
    return lambda query_len, key_len: triangle(query_len, key_len, shift)


CAUSAL = (
    *_in_three_ways("diagonal_hidden", {"triangle": _below(-1)}, pattern=r"tri[lu]|causal|mask"),
    TEXTS.mistake("sees_one_ahead", {"triangle": _below(1)}),
    TEXTS.mistake("causal_upside_down", {"triangle": lambda query_len, key_len: triangle(query_len, key_len, -1) == 0}),
    *_in_three_ways(
        "sees_the_future_alone", {"triangle": lambda query_len, key_len: ~triangle(query_len, key_len)}, pattern=r"tri[lu]|causal|mask|=="
    ),
    TEXTS.mistake("causal_ignored", {"is_causal": lambda given: False}),
)

MASKS = (
    TEXTS.mistake("mask_ignored", {"combine": lambda mask, lower: lower}),
    *_in_three_ways(
        "mask_on_rows", {"combine": lambda mask, lower: both(None if mask is None else transposed(mask), lower)}, pattern=r"mask"
    ),
    TEXTS.mistake("causal_replaces_the_mask", {"combine": lambda mask, lower: mask if lower is None else lower}),
    TEXTS.mistake("mask_replaces_the_causal", {"combine": lambda mask, lower: lower if mask is None else mask}),
    TEXTS.mistake(
        "either_mask_allows", {"combine": lambda mask, lower: both(mask, lower) if mask is None or lower is None else mask | lower}
    ),
    TEXTS.mistake(
        "mask_after_softmax",
        {
            "hide": lambda scores, allowed: scores,
            "after": lambda weights, allowed: weights if allowed is None else numpy.where(allowed, weights, 0),
        },
    ),
    TEXTS.mistake(
        "minus_infinity_after_softmax",
        {
            "hide": lambda scores, allowed: scores,
            "after": lambda weights, allowed: (
                weights if allowed is None else numpy.where(allowed, weights, numpy.asarray(-numpy.inf, weights.dtype))
            ),
        },
    ),
    TEXTS.mistake(
        "large_number_after_softmax",
        {
            "hide": lambda scores, allowed: scores,
            "after": lambda weights, allowed: (
                weights if allowed is None else numpy.where(allowed, weights, numpy.asarray(-1e9, weights.dtype))
            ),
        },
    ),
    TEXTS.mistake("mask_added_as_zero_and_one", {"hide": lambda scores, allowed: scores if allowed is None else scores + allowed}),
    TEXTS.mistake("hidden_score_is_zero", {"hide": lambda scores, allowed: scores if allowed is None else scores * allowed}),
    TEXTS.mistake("hidden_score_is_large", {"hide": lambda scores, allowed: hidden(scores, allowed, 1e9)}),
    TEXTS.mistake(
        "zero_times_infinity",
        {"hide": lambda scores, allowed: scores if allowed is None else scores + numpy.where(allowed, 0.0, 1.0) * -numpy.inf},
    ),
)
