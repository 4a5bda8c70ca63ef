"""Grouped-query attention: several query heads share one key and value head."""

from __future__ import annotations

from typing import Any

import numpy

from headway import functions
from headway.practice.exercise import Convention, Exercise, Inputs, Probe, optional
from headway.practice.exercises.scaled_dot_product_attention import RECOVERIES
from headway.practice.recipes import attention
from headway.practice.recipes.attention import CAUSAL, MASK_SHAPES, RETURNS
from headway.practice.recipes.attention_mistakes import MIXING, SCORES, SOFTMAXES, without
from headway.practice.recipes.conventions import MASKS as MASK_FORMS
from headway.practice.recipes.encoding import without as without_operands
from headway.practice.recipes.mask_mistakes import CAUSAL as CAUSAL_MISTAKES
from headway.practice.recipes.mask_mistakes import MASKS
from headway.practice.recipes.projection_forms import FORMS, WEIGHT_FORMS, WITHOUT_OUTPUT
from headway.practice.recipes.projection_mistakes import HEADS, OUTPUT, SCALED_BY_SHARE, WEIGHTS
from headway.practice.recipes.projection_scale import scale_recovery
from headway.practice.recipes.projections import FUSED, NUM_HEADS, OPERANDS, OPTIONS, PARTS, SEQUENCE, SIZES, STEPS
from headway.practice.recipes.projections import WEIGHTS as WEIGHT_ROLES
from headway.practice.recipes.projections import definition as of_sequences
from headway.practice.recipes.projections import recipe as for_sequences
from headway.practice.recipes.query_norms import NORMED
from headway.practice.recipes.rotation import ROTATED
from headway.practice.recipes.sequences import BATCH, MASK, NARROWER, OF_OTHER_HEADS, PADDED, PADDING, SINGLE, UNBATCHED, Draw, with_biases
from headway.practice.recipes.wrapping import GROUPED_WRAPPED, POSITIONS_FIRST
from headway.practice.roles import Roles
from headway.practice.texts import Texts

TEXTS = Texts("grouped_query_attention")
ROLES = Roles("grouped_query_attention")


def definition(query: Any, key: Any, value: Any, mask: Any = None, scale: Any = None, is_causal: bool = False, **rest: Any) -> Any:
    """Return functions.multi_head_attention, or functions.scaled_dot_product_attention if the heads are given separately."""
    if rest:
        return of_sequences(query, key, value, mask=mask, scale=scale, is_causal=is_causal, **rest)
    return functions.scaled_dot_product_attention(query, key, value, mask, scale=scale, is_causal=is_causal)


def recipe(steps: Any, query: Any, key: Any, value: Any, mask: Any = None, scale: Any = None, is_causal: bool = False, **rest: Any) -> Any:
    """The definition as named steps: those of multi-head attention, or repeat and attend if the heads are given separately."""
    if rest:
        return for_sequences(steps, query, key, value, mask=mask, scale=scale, is_causal=is_causal, **rest)
    num_heads = query.shape[-3]
    key, value = steps.repeat_key(key, num_heads), steps.repeat_value(value, num_heads)
    return attention.attend(steps, query, key, value, mask, scale, is_causal)


NUM_KV_HEADS = ROLES("num_kv_heads", size_of=lambda inputs: None)
GROUP_SIZE = ROLES.size(
    "group_size",
    lambda inputs: (
        inputs["num_heads"] // inputs["num_kv_heads"] if "num_heads" in inputs else inputs["query"].shape[-3] // inputs["key"].shape[-3]
    ),
)


def _tiled(x: Any, num_heads: int) -> Any:
    return numpy.concatenate([x] * (num_heads // x.shape[-3]), axis=-3)


def _both(change: Any) -> dict[str, Any]:
    return {"repeat_key": change, "repeat_value": change}


REPEATS = (
    TEXTS.mistake("tiled_not_repeated", **_both(_tiled)),
    TEXTS.mistake("keys_alone_tiled", repeat_key=_tiled),
    TEXTS.mistake("first_head_for_all", **_both(lambda x, num_heads: numpy.repeat(x[..., :1, :, :], num_heads, axis=-3))),
    TEXTS.mistake(
        "heads_averaged_into_one",
        **_both(lambda x, num_heads: numpy.broadcast_to(x.mean(-3, keepdims=True), (*x.shape[:-3], num_heads, *x.shape[-2:]))),
    ),
    TEXTS.mistake("heads_not_repeated", **_both(lambda x, num_heads: x)),
    TEXTS.mistake(
        "positions_repeated",
        **_both(lambda x, num_heads: numpy.repeat(x, num_heads // x.shape[-3], axis=-2).reshape(*x.shape[:-3], num_heads, *x.shape[-2:])),
    ),
)


UNSEEN = ("heads_summed", "heads_averaged", "heads_concatenated_along_positions", "whole_numbers_out")


def _merged(inputs: Inputs) -> Inputs | None:
    """Return projected operands with their heads side by side, and the numbers of heads; None for inputs with weights."""
    if "query_weight" in inputs or numpy.ndim(inputs["query"]) < 3:
        return None
    heads = {name: inputs[name] for name in ("query", "key", "value")}
    sizes = {"num_heads": inputs["query"].shape[-3], "num_kv_heads": inputs["key"].shape[-3]}
    return inputs | {name: each.swapaxes(-2, -3).reshape(*each.shape[:-3], each.shape[-2], -1) for name, each in heads.items()} | sizes


def _split(answer: Any, inputs: Inputs) -> Any:
    expected = inputs["query"].shape
    if numpy.shape(answer) != (*expected[:-3], expected[-2], expected[-3] * expected[-1]):
        return answer
    return answer.reshape(*expected[:-3], expected[-2], expected[-3], expected[-1]).swapaxes(-2, -3)


def _merged_of_one_length(inputs: Inputs) -> Inputs | None:
    merged = _merged(inputs)
    return merged if merged is not None and inputs["query"].shape[-2] == inputs["key"].shape[-2] else None


def _with_numbers(inputs: Inputs) -> Inputs | None:
    """Return projected operands with the numbers of their heads; None for inputs with weights."""
    if "query_weight" in inputs or numpy.ndim(inputs["query"]) < 3:
        return None
    return inputs | {"num_heads": inputs["query"].shape[-3], "num_kv_heads": inputs["key"].shape[-3]}


MERGED = optional(
    Convention(encode=_with_numbers, role="num_kv_heads", without="query_weight"),
    Convention(TEXTS["merged"], _merged, _split, role="num_kv_heads", without="query_weight"),
    Convention(TEXTS["merged_of_one_length"], _merged_of_one_length, _split, role="num_kv_heads", without="query_weight"),
)
"""Heads of projected operands on an axis of their own, or side by side."""


def _of_one_key_head(inputs: Inputs) -> Inputs | None:
    """Return projected operands with a single key head; None for others."""
    key: Any = inputs.get("key")
    return inputs if "query_weight" not in inputs and numpy.ndim(key) > 2 and key.shape[-3] == 1 else None


NAMED_MULTI_QUERY = r"(?i)\A\s*(@.*\s+)*def \w*(multi_?query|mqa)\w*\("
"""Pattern of the source of a function of the name of multi-query attention."""

MULTI_QUERY = optional(
    Convention(
        TEXTS["multi_query"],
        lambda inputs: without_operands(inputs, "num_kv_heads") if inputs.get("num_kv_heads") == 1 else None,
        role="num_heads",
        without="num_kv_heads",
    ),
    Convention(TEXTS["multi_query"], _of_one_key_head, role="query", without="num_kv_heads", source=NAMED_MULTI_QUERY),
)
"""A function with an argument for the number of key-value heads, or without one."""


def probes() -> tuple[Probe, ...]:
    """Six query heads over two and three key-value heads, and over one; heads given separately."""
    draw = Draw(31)

    def weights(width: int, d_out: int, kv: int, biases: tuple[str, ...] = (), output: int | None = None) -> Inputs:
        shapes = {"query": (d_out, width), "key": (kv, width), "value": (kv, width), "output": (output or d_out, d_out)}
        held = {f"{part}_weight": draw.numbers(*shape, scale=0.5) for part, shape in shapes.items()}
        return held | {f"{part}_bias": draw.numbers(shapes[part][0]) for part in biases}

    def heads(
        query_len: int, key_len: int, num_heads: int, num_kv_heads: int, leading: tuple[int, ...] = (2,), head_dim: int = 4
    ) -> Inputs:
        sizes = {"query": (num_heads, query_len), "key": (num_kv_heads, key_len), "value": (num_kv_heads, key_len)}
        return {name: draw.numbers(*leading, *size, head_dim) for name, size in sizes.items()}

    two, one = {"num_heads": 6, "num_kv_heads": 2}, {"num_heads": 4, "num_kv_heads": 1}
    held, biased = weights(12, 12, 4), weights(12, 12, 4, PARTS)
    inner = without_operands(biased, "output_bias")
    outer = with_biases(biased, "output")
    padding = PADDING[:, None, None]
    return (
        Probe("batch", draw.itself(2, 5, 12) | held | two, BATCH),
        Probe("wide", draw.itself(2, 5, 10) | weights(10, 12, 4) | two, NARROWER),
        Probe("three key heads", draw.itself(2, 5, 12) | weights(12, 12, 6) | two | {"num_kv_heads": 3}, BATCH),
        Probe("one key head", draw.itself(2, 5, 12) | weights(12, 12, 3) | one, BATCH),
        Probe("one key head, wide", draw.itself(2, 5, 10) | weights(10, 12, 3) | one, NARROWER),
        Probe("one key head, single", draw.itself(5, 12) | weights(12, 12, 3) | one, SINGLE, UNBATCHED),
        Probe("one key head, biases", draw.itself(2, 5, 12) | weights(12, 12, 3, PARTS) | one, BATCH),
        Probe("one key head, masked", draw.itself(2, 5, 12) | weights(12, 12, 3) | one | {"mask": MASK}, BATCH),
        Probe("as many key heads", draw.itself(2, 5, 12) | weights(12, 12, 12) | two | {"num_kv_heads": 6}, BATCH),
        Probe("single", draw.itself(5, 12) | held | two, SINGLE, UNBATCHED),
        Probe("three sequences", draw.three(5, 5, 12) | held | two, BATCH),
        Probe("biases", draw.itself(2, 5, 12) | biased | two, BATCH),
        Probe("inner biases", draw.itself(2, 5, 12) | inner | two, BATCH),
        Probe("output bias", draw.itself(2, 5, 12) | outer | two, BATCH),
        Probe("masked", draw.itself(2, 5, 12) | held | two | {"mask": MASK}, BATCH),
        Probe("padded", draw.itself(2, 5, 12) | held | two | {"mask": padding}, PADDED, within=BATCH),
        Probe("biases, masked", draw.itself(2, 5, 12) | biased | two | {"mask": MASK}, BATCH),
        Probe("causal", draw.itself(2, 5, 12) | held | two | {"is_causal": True}, BATCH),
        Probe("masked and causal", draw.itself(2, 5, 12) | held | two | {"is_causal": True, "mask": MASK}, BATCH),
        Probe("heads", heads(5, 7, 6, 2), BATCH),
        Probe("heads, three key heads", heads(5, 7, 6, 3), BATCH),
        Probe("heads, one key head", heads(5, 7, 4, 1), BATCH),
        Probe("heads, square", heads(4, 4, 4, 2, (4,)), BATCH),
        Probe("heads, one length", heads(5, 5, 6, 2), BATCH),
        Probe("heads, masked", heads(5, 5, 6, 2, head_dim=8) | {"mask": MASK}, BATCH),
        Probe("heads, padded", heads(5, 5, 6, 2) | {"mask": padding}, PADDED, within=BATCH),
        Probe("heads, causal", heads(5, 5, 6, 2, head_dim=8) | {"is_causal": True}, BATCH),
        Probe("heads, given scale", heads(5, 7, 6, 2) | {"scale": 0.3}, BATCH),
        Probe("one position", draw.itself(2, 1, 12) | held | two, BATCH),
        Probe("heads, one position", heads(1, 1, 6, 2), BATCH),
        Probe("heads without batch", heads(5, 7, 6, 2, ()), SINGLE, UNBATCHED),
        Probe("single, masked", draw.itself(5, 12) | held | two | {"mask": MASK}, SINGLE, UNBATCHED),
        Probe("single, causal", draw.itself(5, 12) | held | two | {"is_causal": True}, SINGLE, UNBATCHED),
        Probe("heads without batch, masked", heads(5, 5, 6, 2, ()) | {"mask": MASK}, SINGLE, UNBATCHED),
        Probe("heads without batch, causal", heads(5, 5, 6, 2, ()) | {"is_causal": True}, SINGLE, UNBATCHED),
        Probe("one key head, padded", draw.itself(2, 5, 12) | weights(12, 12, 3) | one | {"mask": padding}, PADDED, within=BATCH),
        Probe("as many key heads, masked", draw.itself(2, 5, 12) | weights(12, 12, 12) | two | {"num_kv_heads": 6, "mask": MASK}, BATCH),
        Probe("heads of another size", draw.itself(2, 5, 10) | weights(10, 12, 4, output=10) | two, OF_OTHER_HEADS),
        Probe(
            "heads of another size, masked", draw.itself(2, 5, 10) | weights(10, 12, 4, output=10) | two | {"mask": MASK}, OF_OTHER_HEADS
        ),
        Probe("heads, one key head, one length", heads(5, 5, 4, 1), BATCH),
        Probe("heads, one key head, causal", heads(5, 5, 6, 1, head_dim=8) | {"is_causal": True}, BATCH),
    )


OF_GROUPS = Convention(
    TEXTS["mask_of_groups"],
    lambda inputs: inputs | {"mask": inputs["mask"][:, :, None]} if getattr(inputs.get("mask"), "ndim", 0) == 4 else inputs,
    role="mask",
    used_source=r"(view|reshape)\((?:[^()]*,){4}[^()]*\)",
)
"""The shape of a mask for scores (batch, key-value heads, groups, queries, keys)."""

EXERCISE = Exercise(
    name="grouped_query_attention",
    definition=definition,
    recipe=recipe,
    steps=STEPS,
    roles=(*OPERANDS, SEQUENCE, *WEIGHT_ROLES, NUM_HEADS, NUM_KV_HEADS, GROUP_SIZE, *OPTIONS, *SIZES),
    probes=probes,
    mistakes=(
        *REPEATS,
        *without((*HEADS, *OUTPUT, *WEIGHTS, *SCORES, *SOFTMAXES, *MIXING, *MASKS), *UNSEEN),
        SCALED_BY_SHARE,
        *CAUSAL_MISTAKES,
    ),
    conventions=(
        MERGED,
        MULTI_QUERY,
        FORMS,
        WEIGHT_FORMS,
        WITHOUT_OUTPUT,
        MASK_FORMS,
        (*MASK_SHAPES, OF_GROUPS),
        GROUPED_WRAPPED,
        POSITIONS_FIRST,
        ROTATED,
        NORMED,
        CAUSAL,
        RETURNS,
    ),
    recoveries=(scale_recovery((2, 3), is_grouped=True), *RECOVERIES[:1]),
    fused=FUSED,
)
