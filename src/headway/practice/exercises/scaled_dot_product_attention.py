"""Scaled dot-product attention: softmax(query @ keyᵀ / √head_dim) @ value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy

from headway import functions
from headway.practice.exercise import Convention, Exercise, Inputs, Probe, optional
from headway.practice.outputs import Raised
from headway.practice.recipes.attention import CAUSAL as ALWAYS_CAUSAL
from headway.practice.recipes.attention import (
    LENGTHS_OF_BOTH,
    MASK_SHAPES,
    NAMED_CAUSAL,
    RETURNS,
    STEPS,
    TOP_LEFT,
    UNSCALED,
    attend,
    given_or,
    right_scale,
    transposed,
    triangle,
)
from headway.practice.recipes.attention_mistakes import MIXING, SCORES, SOFTMAXES, without
from headway.practice.recipes.conventions import MASKS as MASK_FORMS
from headway.practice.recipes.encoding import without as without_operands
from headway.practice.recipes.mask_mistakes import CAUSAL, MASKS
from headway.practice.roles import Roles, extent
from headway.practice.texts import Texts

TEXTS = Texts("scaled_dot_product_attention")
ROLES = Roles("scaled_dot_product_attention")


def _slope(ask: Any) -> list[tuple[Inputs, float]]:
    """Measure the scale: with the identity as value the output is the weights, whose log has this slope over the raw scores."""
    random = numpy.random.default_rng(5)
    measured = []
    for leading, query_len, key_len, head_dim in (((), 3, 5, 7), ((), 4, 6, 11), ((2, 3), 3, 5, 7), ((2, 5), 4, 6, 11)):
        query = random.standard_normal((*leading, query_len, head_dim)) * 0.4
        key = random.standard_normal((*leading, key_len, head_dim)) * 0.4
        inputs = {"query": query, "key": key, "value": numpy.broadcast_to(numpy.eye(key_len), (*leading, key_len, key_len)).copy()}
        weights = ask(inputs)
        if isinstance(weights, Raised):  # some functions require a mask
            weights = ask(inputs | {"mask": numpy.ones((query_len, key_len), bool)})
        slope = slope_of(weights, query @ transposed(key))
        if slope is not None:
            measured.append((inputs, slope))
    return measured


def slope_of(weights: Any, raw: Any) -> float | None:
    """Return the slope of the log weights over the raw scores; None if they are not a straight line."""
    if isinstance(weights, Raised) or numpy.shape(weights) != raw.shape or not (numpy.asarray(weights) > 0).all():
        return None
    logs = numpy.log(numpy.asarray(weights, numpy.float64))
    x, y = (each - each.mean(-1, keepdims=True) for each in (raw, logs))
    slope = float((x * y).sum() / (x * x).sum())
    return slope if numpy.abs(y - slope * x).max() < 1e-4 * max(numpy.abs(y).max(), 1e-9) else None


def sizes(inputs: Inputs) -> Mapping[str, float]:
    """Return the sizes that a scale may be computed from."""
    query, key = inputs["query"], inputs["key"]
    num_heads = query.shape[-3] if query.ndim >= 3 else 1
    known = {"head_dim": query.shape[-1], "query_len": query.shape[-2], "key_len": key.shape[-2]}
    known |= {"hidden_size": num_heads * query.shape[-1], "num_heads": num_heads}
    if query.ndim >= 4:
        known["batch_size"] = query.shape[-4]
    known |= {f"query.shape[{axis}]": size for axis, size in enumerate(query.shape)}
    known |= {f"key.shape[{axis}]": size for axis, size in enumerate(key.shape)}
    return {name: float(size) for name, size in known.items()}


def _leak(ask: Any) -> list[tuple[Inputs, float]]:
    """Measure the fill value of masked scores from the weight that remains there; empty if none remains."""
    measured = []
    for score in (0.0, 3.0):
        query, key = numpy.ones((2, 1)), numpy.array([[score], [0.0], [0.0]])
        mask = numpy.array([[True, False, True], [True, True, True]])
        inputs = {"query": query, "key": key, "value": numpy.eye(3), "mask": mask}
        weights = ask(inputs)
        if isinstance(weights, Raised) or numpy.shape(weights) != (2, 3) or not (numpy.asarray(weights)[0] > 1e-30).all():
            return []
        allowed, filled, _ = numpy.asarray(weights, numpy.float64)[0]
        fill = float(numpy.log(filled / allowed) + score)
        if abs(fill) < 1e-5:  # a fill of zero has a named mistake
            return []
        measured.append((inputs, fill))
    return measured


def _filled_with(number_of: Any) -> Any:
    return lambda scores, allowed: scores if allowed is None else numpy.where(allowed, scores, numpy.asarray(number_of({}), scores.dtype))


RECOVERIES = (
    *(
        TEXTS.recovery("scale", "scale", measure=_slope, wrong=wrong, sizes=sizes, right=right_scale, right_name="1/√head_dim")
        for wrong in (given_or, lambda number_of: number_of)  # a given scale is used, or ignored as well
    ),
    TEXTS.recovery("fill_too_small", "hide", measure=_leak, wrong=_filled_with, right=-1e9, right_name="-inf"),
)

MATRICES = TEXTS["matrices"]
BATCH = TEXTS["batch"]
HEADS = TEXTS["heads"]


def probes() -> tuple[Probe, ...]:
    """All sizes distinct, then square; masks with and without rows that allow few keys; heads and batches."""
    random = numpy.random.default_rng(7)

    def operands(query_len: int, key_len: int, head_dim: int, value_dim: int, leading: tuple[int, ...] = ()) -> Inputs:
        shapes = ((query_len, head_dim), (key_len, head_dim), (key_len, value_dim))
        return {name: random.standard_normal((*leading, *shape)) for name, shape in zip(("query", "key", "value"), shapes, strict=True)}

    def line(*scores: float) -> Inputs:
        return {
            "query": numpy.array([[2.0], [2.0]]),
            "key": numpy.array(scores)[:, None] / 2,
            "value": operands(2, len(scores), 1, 3)["value"],
        }

    mask = numpy.array([[1, 0, 1, 1, 0], [0, 1, 0, 0, 0], [1, 1, 1, 0, 1]], bool)
    square = numpy.array([[1, 0, 0, 1, 0], [1, 1, 0, 1, 1], [0, 1, 1, 0, 1], [1, 0, 1, 1, 0], [1, 1, 0, 1, 1]], bool)
    padding = numpy.arange(5)[None, None, None, :] < numpy.array([3, 5])[:, None, None, None]
    nothing = numpy.array([[True, True, False], [False, False, False]])
    return (
        Probe("matrices", operands(3, 5, 4, 7), MATRICES),
        Probe("square", operands(5, 5, 5, 5), MATRICES),
        Probe("one query", operands(1, 5, 4, 7), MATRICES),
        Probe("masked", operands(3, 5, 4, 7) | {"mask": mask}, MATRICES),
        Probe("masked, square", {name: x * 3 for name, x in operands(5, 5, 8, 7).items()} | {"mask": square}, MATRICES),
        Probe("causal", operands(5, 5, 4, 7) | {"is_causal": True}, MATRICES),
        Probe("causal with a cache", operands(2, 5, 4, 7) | {"is_causal": True}, TEXTS["cached"]),
        Probe("masked and causal", operands(5, 5, 4, 7) | {"mask": square, "is_causal": True}, MATRICES),
        Probe("given scale", operands(3, 5, 4, 7) | {"scale": 0.3}, MATRICES),
        Probe(
            "whole numbers",
            {name: numpy.round(x * 2).astype(int) for name, x in operands(3, 5, 4, 7).items()},
            TEXTS["whole"],
            TEXTS["wrong_for_integers"],
        ),
        Probe("batch", operands(3, 5, 8, 7, (2,)), BATCH),
        Probe("batch, causal", operands(5, 5, 4, 7, (2,)) | {"is_causal": True}, BATCH),
        Probe("heads", operands(3, 5, 4, 7, (2, 6)), HEADS),
        Probe("heads, square", operands(4, 4, 4, 4, (4, 4)), HEADS),
        Probe("heads, equal lengths", operands(5, 5, 8, 7, (2, 6)), HEADS),
        Probe("heads, masked", operands(3, 5, 8, 7, (2, 6)) | {"mask": mask}, HEADS),
        Probe("heads, given scale", operands(3, 5, 4, 7, (2, 6)) | {"scale": 0.3}, HEADS),
        Probe("heads, padded", operands(5, 5, 8, 7, (2, 6)) | {"mask": padding}, HEADS),
        Probe("heads, causal", operands(5, 5, 10, 7, (2, 6)) | {"is_causal": True}, HEADS),
        Probe("nothing allowed", operands(2, 3, 4, 5) | {"mask": nothing}, caution=TEXTS["nothing_allowed"]),
        Probe("large scores", line(-1e3, 1e3, 2e3), caution=TEXTS["too_large"]),
        Probe("low scores", line(-2e4, 1.0, -3e4) | {"mask": numpy.array([[True, False, True]] * 2)}, caution=TEXTS["too_low"]),
        Probe("batch, masked", operands(3, 5, 10, 7, (2,)) | {"mask": numpy.stack([mask, mask[::-1]])}, BATCH),
        Probe("batch, padded", operands(5, 5, 8, 7, (2,)) | {"mask": padding[:, 0]}, BATCH),
        Probe("batch, given scale", operands(3, 5, 4, 7, (2,)) | {"scale": 0.3}, BATCH),
        Probe("batch, one mask", operands(3, 5, 6, 7, (2,)) | {"mask": mask}, BATCH),
        Probe("batch, one square mask", operands(5, 5, 9, 4, (3,)) | {"mask": square}, BATCH),
        Probe("heads, padded, other lengths", operands(3, 5, 4, 7, (2, 6)) | {"mask": padding}, HEADS),
    )


SCALES = optional(
    Convention(encode=lambda inputs: inputs | {"scale": right_scale(inputs)}, role="scale", is_required=True),
    Convention(TEXTS["divides_by_scale"], lambda inputs: inputs | {"scale": 1 / right_scale(inputs)}, role="scale", is_required=True),
    Convention(
        TEXTS["scale_of_one"],
        lambda inputs: inputs | {"scale": right_scale(inputs)},
        role="scale",
        source=r"\A\s*(@.*\s+)*def \w+\([^)]*scal\w*(: *float)? *= *1(\.0*)?\s*[,)]",
        file_source=r"def (\w+)\([^)]*scal\w*(: *float)? *= *1(\.0*)?\s*[,)][\s\S]*\b\1\(([^()]|\([^()]*\))*(scal|sqrt|\.5)",
    ),
)


def _positions_first(inputs: Inputs) -> Inputs | None:
    """Return the operands as (batch, positions, heads, head_dim); None for those without heads."""
    operands = {name: inputs[name] for name in ("query", "key", "value")}
    if any(each.ndim != 4 for each in operands.values()):
        return None
    return inputs | {name: numpy.ascontiguousarray(each.swapaxes(1, 2)) for name, each in operands.items()}


def _heads_first(answer: Any, inputs: Inputs) -> Any:
    if isinstance(answer, tuple) and answer:
        return (_heads_first(answer[0], inputs), *answer[1:])
    return answer.swapaxes(1, 2) if numpy.ndim(answer) == 4 else answer


def _of_sequences_and_heads(answer: Any, inputs: Inputs) -> Any:
    """Return an output whose batch and head axes are joined with both."""
    if isinstance(answer, tuple) and answer:
        return (_of_sequences_and_heads(answer[0], inputs), *answer[1:])
    leading = inputs["query"].shape[:-2]
    is_joined = len(leading) == 2 and numpy.ndim(answer) == 3 and len(answer) == leading[0] * leading[1]
    return answer.reshape(*leading, *answer.shape[1:]) if is_joined else answer


def _of_joined_heads(answer: Any, inputs: Inputs) -> Any:
    """Return an output whose heads are joined along the last axis, as (batch, heads, positions, value_dim)."""
    if isinstance(answer, tuple) and answer:
        return (_of_joined_heads(answer[0], inputs), *answer[1:])
    batch, num_heads, query_len = inputs["query"].shape[:-1]
    value_dim = inputs["value"].shape[-1]
    is_joined = numpy.shape(answer) == (batch, query_len, num_heads * value_dim)
    return answer.reshape(batch, query_len, num_heads, value_dim).swapaxes(1, 2) if is_joined else answer


def _with_heads(inputs: Inputs) -> Inputs | None:
    return inputs if inputs["query"].ndim == 4 else None


def _as_wide_as_keys(inputs: Inputs) -> Inputs | None:
    """Return the inputs with columns of zeros after those of the values; None for values that are wider than the keys."""
    value, lacking = inputs["value"], inputs["key"].shape[-1] - inputs["value"].shape[-1]
    return inputs | {"value": numpy.pad(value, [*[(0, 0)] * (value.ndim - 1), (0, lacking)])} if lacking >= 0 else None


def _own_columns(answer: Any, inputs: Inputs) -> Any:
    """Return an output without the columns of zeros; one with other numbers there as it is."""
    if isinstance(answer, tuple) and answer:
        return (_own_columns(answer[0], inputs), *answer[1:])
    width = inputs["value"].shape[-1]
    has_zeros = isinstance(answer, numpy.ndarray) and answer.shape[-1] == inputs["key"].shape[-1] and not answer[..., width:].any()
    return answer[..., :width] if has_zeros else answer


def _of_one_shape(inputs: Inputs) -> Inputs | None:
    """Return the inputs with keys as wide as the values by columns of zeros, which a larger query makes up for; None for other lengths.

    A scale of 1/√head_dim is that of the larger width, and a given one stays.
    """
    query, key, value = (inputs[name] for name in ("query", "key", "value"))
    if query.shape[-2] != key.shape[-2]:
        return None
    lacking = value.shape[-1] - key.shape[-1]
    if lacking <= 0:
        return _as_wide_as_keys(inputs)
    factor = 1.0 if inputs.get("scale") is not None else (value.shape[-1] / key.shape[-1]) ** 0.5
    columns = [*[(0, 0)] * (value.ndim - 1), (0, lacking)]
    return inputs | {"query": numpy.pad(query * factor, columns), "key": numpy.pad(key, columns)}


COMPARED = r"\.(shape|size\(\)) *(!=|==) *"
OF_ONE_SHAPE = rf"(?i)\bk(eys?)?{COMPARED}v(alues?)?\.(shape|size)|\bv(alues?)?{COMPARED}k(eys?)?\.(shape|size)"
"""Pattern of the source of an attention that compares the shapes of its keys and values."""

TILED = r"(?s)\bfor \w+ in range\(.*\w*(block|tile)\w*"
DIVIDES = r"\b(assert|if|raise)\b[^\n]*% *\w*(block|tile|\bb)"
"""Patterns of the source of an attention that computes one tile of the scores after another, and of one that refuses tiles that do not fit."""

POSITIONS_FIRST = r"(\.\.\.|[\"' ][a-z] ?)[a-z] ?h ?d[a-z]* *,|\bq(uery|ueries)?\w*\.(transpose\(1, *2\)|permute\(0, *2, *1, *3\))|(?P<b>\b[a-z]) ?(?P<q>[a-z]) ?(?P<h>[a-z]) ?(?P<d>[a-z]), ?(?P=b) ?(?P<k>[a-z]) ?(?P=h) ?(?P=d) ?-> ?(?P=b) ?(?P=h) ?(?P=q) ?(?P=k)\b"
"""Pattern of the source of an attention whose operands have the heads after the positions: `blhd,bmhd->bhlm` with any letters."""

JOINS_HEADS = r"\.(view|reshape|flatten)\(|\b(rearrange|reshape)\("
"""Pattern of the source of an attention that may join the heads of its output."""


def _of_three_axes(inputs: Inputs) -> Inputs | None:
    """Return the operands with the axes of sequences and heads joined, and a mask with an axis for both; None for those of two axes."""
    leading = inputs["query"].shape[:-2]
    if not leading:
        return None
    mask = {} if inputs.get("mask") is None else {"mask": _joined(numpy.broadcast_to(inputs["mask"], (*leading, *_scores_of(inputs))))}
    return inputs | {name: _joined(inputs[name]) for name in ("query", "key", "value")} | mask


def _scores_of(inputs: Inputs) -> tuple[int, int]:
    return inputs["query"].shape[-2], inputs["key"].shape[-2]


def _joined(array: Any) -> Any:
    return array.reshape(-1, *array.shape[-2:])


SIZE_OF_THIRD = r"\b(q|query|queries|k|keys?)\.(size\(2\)|shape\[2\])"
FOLDS_HEADS = r"(view|reshape)\([^\n]*\b\w+ *\* *(self\.)?\w*heads?\b"
"""Patterns of the source of an attention whose third axis is the last, and of a file that joins the axes of sequences and heads."""

AXES = optional(
    Convention(TEXTS["in_tiles"], _of_one_shape, _own_columns, source=TILED),
    Convention(TEXTS["values_as_wide_as_keys"], _as_wide_as_keys, _own_columns, source=OF_ONE_SHAPE),
    Convention(
        TEXTS["of_three_axes"], _of_three_axes, _of_sequences_and_heads, role="query", source=SIZE_OF_THIRD, file_source=FOLDS_HEADS
    ),
    Convention(TEXTS["positions_before_heads"], _positions_first, _heads_first, source=POSITIONS_FIRST),
    Convention(TEXTS["returns_heads_first"], _positions_first, source=POSITIONS_FIRST),
    Convention(TEXTS["returns_heads_side_by_side"], _with_heads, _of_joined_heads, source=JOINS_HEADS),
    Convention(TEXTS["takes_positions_first_returns_heads_side_by_side"], _positions_first, _of_joined_heads, source=JOINS_HEADS),
    Convention(TEXTS["returns_joined_heads"], decode=_of_sequences_and_heads, source=r"\.(view|reshape|flatten)\("),
)


def _width_of_heads(inputs: Inputs) -> int | None:
    """Return the width of all heads together; None for operands without heads."""
    query = inputs["query"]
    return query.shape[-3] * query.shape[-1] if query.ndim > 2 else None


def _of_one_length(inputs: Inputs) -> Inputs | None:
    """Return the inputs without a flag for causal attention if there are as many queries as keys, or None."""
    return without_operands(inputs, "is_causal") if inputs["query"].shape[-2] == inputs["key"].shape[-2] else None


TAKES_NO_MASK = r"\A\s*(@.*\s+)*def \w+\((?![^)]*(mask|causal))"
MAKES_TRIANGLE = r"(\btri[lu]|causal_?mask)\(|\bis_causal *= *True\b|\brange\(\w+ *\+ *1\)|\[: *\w+ *\+ *1\]"
"""Patterns of the source of a function that takes no mask, and of one that makes a causal mask or ends its keys at the query, also in a function
that it calls."""

CAUSAL_BY_ITSELF = replace(ALWAYS_CAUSAL[1], encode=_of_one_length, source=TAKES_NO_MASK, used_source=MAKES_TRIANGLE)

IF_CAUSAL = r"\A(?=(?s:.*)\bif (is_)?causal *:\s*(#.*\s*)*.*\bmask\b)(?!(?s:.*)(\btri[lu]\(|\bmask is ))"
"""Pattern of the source of an attention that reads its mask under a flag for causal attention, and makes no triangle itself."""


def _under_flag(inputs: Inputs) -> Inputs:
    """Return the inputs with the flag for a mask, and with the mask that the flag asks for."""
    query_len, key_len = inputs["query"].shape[-2], inputs["key"].shape[-2]
    if "mask" not in inputs and not inputs.get("is_causal"):
        return inputs
    lower = triangle(query_len, key_len) if inputs.get("is_causal") else numpy.ones((query_len, key_len), bool)
    return inputs | {"mask": inputs["mask"] & lower if "mask" in inputs else lower, "is_causal": True}


def _of_all_heads(inputs: Inputs) -> Inputs | None:
    """Return the inputs with a mask under the flag of shape (1, 1, queries, keys); None for operands without heads."""
    given = _under_flag(inputs)
    if "mask" not in given:
        return given
    mask = given["mask"]
    return given | {"mask": mask.reshape((1,) * (4 - mask.ndim) + mask.shape)} if inputs["query"].ndim == 4 else None


MASK_UNDER_FLAG = optional(
    Convention(TEXTS["mask_under_flag"], _of_all_heads, role="is_causal", source=IF_CAUSAL + r"(?=(?s:.*)mask\[:, *:, *:)"),
    Convention(TEXTS["mask_under_flag"], _under_flag, role="is_causal", source=IF_CAUSAL),
)
"""A flag for causal attention that says whether the mask is read: the mask is that of the later positions."""

TILES = optional(
    Convention(
        encode=lambda inputs: inputs | {"tile_size": inputs["query"].shape[-2], "key_tile_size": inputs["key"].shape[-2]},
        role="key_tile_size",
        source=DIVIDES,
    ),
    Convention(encode=lambda inputs: inputs | {"tile_size": inputs["query"].shape[-2]}, role="tile_size", source=DIVIDES),
)
"""Tiles of two rows show how they are joined; what refuses those that do not fit gets one tile."""

EXERCISE = Exercise(
    name="scaled_dot_product_attention",
    definition=functions.scaled_dot_product_attention,
    recipe=attend,
    steps=STEPS,
    roles=(
        *ROLES.each("query", "key", "value", "mask"),
        ROLES("scale", neutral=None),
        ROLES("is_causal", neutral=False),
        ROLES.size("head_dim", extent("query", -1)),
        ROLES.size("value_dim", extent("value", -1)),
        ROLES.size("num_heads", extent("query", -3)),
        ROLES.size("hidden_size", extent("query", -1), size_override=(("num_heads",), _width_of_heads)),
        ROLES.size("temperature", lambda inputs: inputs["query"].shape[-1] ** 0.5),
        ROLES("dropout", neutral=0.0),
        ROLES("tile_size", neutral=2, off=2),
        ROLES("key_tile_size", neutral=2, off=2),
    ),
    probes=probes,
    mistakes=(*without(SCORES, "all_axes_transposed"), *SOFTMAXES, *MIXING, *MASKS, *CAUSAL),
    conventions=(
        MASK_UNDER_FLAG,
        MASK_FORMS,
        (*MASK_SHAPES, LENGTHS_OF_BOTH),
        TOP_LEFT,
        (*NAMED_CAUSAL, CAUSAL_BY_ITSELF),
        UNSCALED,
        SCALES,
        RETURNS,
        AXES,
        TILES,
    ),
    recoveries=RECOVERIES,
)
