"""Mistakes around attention: mixed-up weights, splitting and merging of heads, and the output."""

from __future__ import annotations

from typing import Any

import numpy

from headway.practice.exercise import unchanged
from headway.practice.recipes.attention import given_or
from headway.practice.recipes.projections import PARTS, interleaved, interleaved_again, merge, project, split
from headway.practice.texts import Texts

TEXTS = Texts("shared/projection_mistakes")


def _instead(**parts: str) -> Any:
    """Return a change of weights: the part to use in place of each named part."""

    def weights(held: dict[str, Any]) -> dict[str, Any]:
        return held | {f"{part}_{kind}": held[f"{other}_{kind}"] for part, other in parts.items() for kind in ("weight", "bias")}

    return weights


def _turned(*parts: str) -> Any:
    def weights(held: dict[str, Any]) -> dict[str, Any]:
        return held | {f"{part}_weight": None if held[f"{part}_weight"] is None else held[f"{part}_weight"].T for part in parts}

    return weights


def _reshaped(weight: Any) -> Any:
    return None if weight is None else weight.reshape(weight.shape[::-1]).T


WEIGHTS = (
    *(
        TEXTS.mistake(
            name, weights=_instead(query=part, key=part, value=part), pattern=r"[kK]\w* *=|@|linear|proj", said_as="one_projection_for_all"
        )
        for name, part in (("one_projection_for_all", "query"), ("keys_projection_for_all", "key"), ("values_projection_for_all", "value"))
    ),
    TEXTS.mistake("key_from_the_query_projection", weights=_instead(key="query")),
    TEXTS.mistake("value_from_the_key_projection", weights=_instead(value="key")),
    TEXTS.mistake("value_from_the_query_projection", weights=_instead(value="query")),
    TEXTS.mistake("query_from_the_key_projection", weights=_instead(query="key")),
    TEXTS.mistake("query_and_key_weights_exchanged", weights=_instead(query="key", key="query")),
    TEXTS.mistake("key_and_value_weights_exchanged", weights=_instead(key="value", value="key")),
    TEXTS.mistake("query_and_value_weights_exchanged", weights=_instead(query="value", value="query")),
    TEXTS.mistake("weights_one_place_on", weights=_instead(query="key", key="value", value="query")),
    TEXTS.mistake("weights_one_place_back", weights=_instead(query="value", key="query", value="key")),
    *(
        TEXTS.mistake(
            f"{part}_not_projected",
            weights=lambda held, part=part: held | {f"{part}_weight": None, f"{part}_bias": None},
            pattern=r"@|matmul|proj|linear",
            key="one_not_projected",
            part=part,
        )
        for part in PARTS[:3]
    ),
    TEXTS.mistake(
        "nothing_projected", weights=lambda held: held | {f"{part}_{kind}": None for part in PARTS[:3] for kind in ("weight", "bias")}
    ),
    *(
        TEXTS.mistake(
            f"{part}_weight_transposed", weights=_turned(part), pattern=r"\.T\b|transpose|@", key="one_weight_transposed", part=part
        )
        for part in PARTS
    ),
    TEXTS.mistake(
        "weights_reshaped",
        weights=lambda held: {name: _reshaped(array) if name.endswith("weight") else array for name, array in held.items()},
    ),
    TEXTS.mistake("biases_missing", weights=lambda held: held | {f"{part}_bias": None for part in PARTS}),
)

SCALED_BY_INPUT = TEXTS.mistake("scaled_by_the_input_width", scale=given_or(lambda sizes: sizes["input_width"] ** -0.5), said_as="scale")
SCALED_BY_SHARE = TEXTS.mistake(
    "scaled_by_a_share_of_the_input",
    scale=given_or(lambda sizes: (sizes["input_width"] // (sizes.get("num_heads") or 1)) ** -0.5),
    said_as="scale",
)
SCALED_BY_CONTEXT = TEXTS.mistake(
    "scaled_by_the_context_width", scale=given_or(lambda sizes: sizes["context_width"] ** -0.5), said_as="scale"
)
SCALED_LATE = TEXTS.mistake(
    "scaled_by_the_input_width_after_softmax",
    scale=lambda sizes: 1.0,
    late_scale=lambda sizes: sizes["input_width"] ** -0.5,
    said_as="scale_after_softmax",
)

OUTPUT = (
    TEXTS.mistake("no_output_projection", output=unchanged),
    TEXTS.mistake("output_projection_twice", output=lambda x, weight, bias: project(project(x, weight, bias), weight, bias)),
    TEXTS.mistake("residual_added", finish=lambda answer, x: answer + x),
)


def view(x: Any, num_heads: int) -> Any:
    """Reshape (positions, width) to (heads, positions, head_dim) without a transpose."""
    return x.reshape(*x.shape[:-2], num_heads, x.shape[-2], x.shape[-1] // num_heads)


def _unview(x: Any) -> Any:
    return x.reshape(*x.shape[:-3], x.shape[-2], x.shape[-3] * x.shape[-1])


def _slices(x: Any, weight: Any, bias: Any, num_heads: int | None = None) -> Any:
    """Project each head's slice of x with the same small weights."""
    if weight is None or num_heads is None:
        return project(x, weight, bias)
    width = x.shape[-1] // num_heads
    small, small_bias = weight[:width, :width], None if bias is None else bias[:width]
    return merge(project(split(x, num_heads), small, small_bias))


def _viewed_transposed(key: Any) -> Any:
    """Reshape keys to (heads, head_dim, positions) without a transpose."""
    if key.ndim < 3:
        return numpy.swapaxes(key, -1, -2)
    return merge(key).reshape(*key.shape[:-2], key.shape[-1], key.shape[-2])


HEADS = (
    TEXTS.mistake("heads_viewed_not_split", split=view),
    TEXTS.mistake("heads_viewed_not_merged", merge=_unview),
    TEXTS.mistake("keys_viewed_transposed", scores=lambda query, key: query @ _viewed_transposed(key)),
    TEXTS.mistake("heads_viewed_both_ways", split=view, merge=_unview),
    TEXTS.mistake(
        "attends_over_heads",
        split=lambda x, num_heads: numpy.swapaxes(split(x, num_heads), -2, -3),
        merge=lambda x: x.reshape(*x.shape[:-2], -1),
    ),
    TEXTS.mistake("heads_take_every_nth_column", split=interleaved),
    TEXTS.mistake(
        "heads_take_and_give_every_nth_column",
        split=interleaved,
        merge=interleaved_again,
    ),
    TEXTS.mistake("heads_in_reverse", merge=lambda x: merge(numpy.flip(x, -3))),
    TEXTS.mistake("heads_summed", merge=lambda x: x.sum(-3)),
    TEXTS.mistake("heads_averaged", merge=lambda x: x.mean(-3)),
    TEXTS.mistake("heads_concatenated_along_positions", merge=lambda x: x.reshape(*x.shape[:-3], -1, x.shape[-1])),
    TEXTS.mistake("last_head_everywhere", merge=lambda x: merge(numpy.broadcast_to(x[..., -1:, :, :], x.shape))),
    TEXTS.mistake("first_head_everywhere", merge=lambda x: merge(numpy.broadcast_to(x[..., :1, :, :], x.shape))),
    TEXTS.mistake("split_before_projecting", project=_slices),
    TEXTS.mistake("batch_and_heads_exchanged", merge=lambda x: merge(_exchanged(x))),
)


def _exchanged(x: Any) -> Any:
    """Reinterpret (batch, heads) as (heads, batch)."""
    if x.ndim < 4:
        return x
    batch, heads = x.shape[:2]
    return numpy.swapaxes(x.reshape(heads, batch, *x.shape[2:]), 0, 1)
