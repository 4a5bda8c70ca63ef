"""Mistakes in attention itself: scores, scale, softmax, and the weighted sum of values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from headway.practice.exercise import Mistake, Step, unchanged
from headway.practice.recipes.activations import softmax as naive_softmax
from headway.practice.recipes.attention import given_or, right_scale, softmax, transposed
from headway.practice.texts import Texts

TEXTS = Texts("shared/attention_mistakes")


def without(mistakes: Sequence[Mistake], *names: str) -> tuple[Mistake, ...]:
    """Return the mistakes without those that do not apply to an exercise."""
    return tuple(each for each in mistakes if each.name not in names)


POSITION_BY_POSITION: dict[str, Any] = {
    "scores": lambda query, key: (query * key).sum(-1)[..., None],
    "mix": lambda weights, value: weights * value,
}

SCORES = (
    TEXTS.mistake("scale_missing", scale=given_or(lambda inputs: 1.0), said_as="scale"),
    TEXTS.mistake("keys_not_transposed", scores=lambda query, key: query @ key),
    TEXTS.mistake("all_axes_transposed", scores=lambda query, key: query @ key.T),
    TEXTS.mistake("heads_and_width_exchanged", scores=lambda query, key: query @ numpy.swapaxes(key, -1, -3)),
    TEXTS.mistake("key_not_used", scores=lambda query, key: query @ transposed(query)),
    TEXTS.mistake("scores_of_keys_with_keys", scores=lambda query, key: key @ transposed(key)),
    TEXTS.mistake("scores_transposed", scores=lambda query, key: key @ transposed(query)),
    TEXTS.mistake("scores_normalised", scores=lambda query, key: _unit(query) @ transposed(_unit(key))),
    TEXTS.mistake("position_meets_itself_only", **POSITION_BY_POSITION),
    TEXTS.mistake(
        "position_meets_itself_only_over_positions",
        **POSITION_BY_POSITION,
        normalise=lambda scores: naive_softmax(scores, -2),
        pattern=r"einsum|sum\(|\*",
        said_as="position_meets_itself_only",
    ),
    TEXTS.mistake(
        "keys_cut_to_the_queries",
        operands=lambda query, key, value: (query, key[..., : query.shape[-2], :], value[..., : query.shape[-2], :]),
    ),
    TEXTS.mistake("given_scale_ignored", scale=lambda inputs: inputs["query"].shape[-1] ** -0.5),
    TEXTS.mistake("scale_after_softmax", scale=lambda inputs: 1.0, late_scale=right_scale),
)


def _unit(x: Any) -> Any:
    return x / numpy.linalg.norm(x, axis=-1, keepdims=True)


def _softmax_over(*axes: int) -> Step:
    def normalise(scores: Any) -> Any:
        powers = numpy.exp(scores - scores.max())
        return powers / powers.sum(axes or None, keepdims=True)

    return normalise


SOFTMAXES = (
    TEXTS.mistake("softmax_over_queries", normalise=lambda scores: naive_softmax(scores, -2)),
    TEXTS.mistake("softmax_over_axis_one", normalise=lambda scores: naive_softmax(scores, 1)),
    TEXTS.mistake("softmax_over_first_axis", normalise=lambda scores: naive_softmax(scores, 0)),
    TEXTS.mistake("softmax_over_everything", normalise=_softmax_over()),
    TEXTS.mistake("softmax_missing", normalise=unchanged),
    TEXTS.mistake("softmax_twice", normalise=lambda scores: softmax(softmax(scores))),
    TEXTS.mistake("sigmoid_for_softmax", normalise=lambda scores: 1 / (1 + numpy.exp(-scores))),
    TEXTS.mistake("exponentials_not_divided", normalise=numpy.exp),
    TEXTS.mistake("divided_without_keepdims", normalise=lambda scores: numpy.exp(scores) / numpy.exp(scores).sum(-1)),
    TEXTS.mistake("logarithm_of_weights", normalise=lambda scores: numpy.log(softmax(scores))),
    TEXTS.mistake("hardest_key_only", normalise=lambda scores: (scores == scores.max(-1, keepdims=True)).astype(scores.dtype)),
)

MIXING = (
    TEXTS.mistake("weights_transposed", mix=lambda weights, value: transposed(weights) @ value),
    TEXTS.mistake("weights_returned", mix=unchanged),
    TEXTS.mistake("value_is_key", operands=lambda query, key, value: (query, key, key)),
    TEXTS.mistake("value_is_query", operands=lambda query, key, value: (query, key, query)),
    TEXTS.mistake("key_and_value_exchanged", operands=lambda query, key, value: (query, value, key)),
    TEXTS.mistake(
        "last_row_everywhere",
        mix=lambda weights, value: numpy.broadcast_to((weights @ value)[..., -1:, :], (*weights.shape[:-1], value.shape[-1])),
    ),
    TEXTS.mistake("rows_add_up", mix=lambda weights, value: numpy.cumsum(weights @ value, axis=-2)),
    TEXTS.mistake(
        "whole_numbers_out",
        mix=lambda weights, value: weights @ value if value.dtype.kind == "f" else numpy.trunc(weights @ value),
        written=r"_like\b|dtype|\bcopy\b|\bclone\(|type_as|\bint(\(|32|64)|\blong\b|trunc|floor|round",
    ),
)
