"""Causal self-attention: each position attends to itself and to the positions before it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from headway.practice.exercise import Convention, Exercise, Inputs, Probe, optional
from headway.practice.recipes import projections
from headway.practice.recipes.attention import CAUSAL_ALONE, RETURNS, UNLESS_MASKED, both, triangle
from headway.practice.recipes.attention_mistakes import MIXING, SCORES, SOFTMAXES, without
from headway.practice.recipes.encoding import without as without_operands
from headway.practice.recipes.mask_mistakes import CAUSAL, MASKS
from headway.practice.recipes.projected_attention import CONVENTIONS as PROJECTED
from headway.practice.recipes.projection_mistakes import HEADS, OUTPUT, SCALED_BY_INPUT, WEIGHTS
from headway.practice.recipes.projection_scale import leak_recovery, scale_recovery
from headway.practice.recipes.sequences import (
    BATCH,
    MASK,
    MATRICES,
    NARROWER,
    ONE_OF_HEADS,
    PADDED,
    PADDING,
    SINGLE,
    UNBATCHED,
    Draw,
    with_biases,
    with_zero,
)
from headway.practice.texts import Texts

TEXTS = Texts("causal_self_attention")


def causal_definition(**inputs: Any) -> Any:
    """Return the definition's output, always causal; the context length of a class and a flag for the mask do not change it."""
    return projections.definition(**without_operands(inputs, "context_length", "is_causal"), is_causal=True)


def _made_causal(inputs: Inputs) -> Inputs:
    """Return the inputs with a mask that is causal, too."""
    return inputs | {"mask": both(inputs.get("mask"), triangle(*[inputs["query"].shape[-2]] * 2))}


UNSEEN = ("keys_cut_to_the_queries", "given_scale_ignored", "whole_numbers_out", "causal_replaces_the_mask", "all_axes_transposed")
PASSED_ON = r"(?s)\A(?!.*(tril|triu|\btri\(|inf\b|masked_fill|where\(|\d+e\d|is_causal))(.*mask *= *\w*mask)"
"""Pattern of a source that hides nothing itself and passes its mask to the attention of a library."""

GIVEN = optional(
    Convention(TEXTS["causal_by_mask"], _made_causal, role="mask", called="mask"),
    Convention(TEXTS["causal_by_mask"], _made_causal, role="mask", source=PASSED_ON),
    UNLESS_MASKED,
    CAUSAL_ALONE,
    Convention(
        UNLESS_MASKED.name,
        lambda inputs: inputs if inputs.get("mask") is None else _made_causal(inputs),
        role="mask",
        is_required=True,
    ),
)
"""A function called masked attention, or one that only passes its mask on, whose mask is the causal one; one whose required mask is the whole mask."""

OVER_HEADS = next(each for each in HEADS if each.name == "attends_over_heads")
ONLY_CAUSAL = (
    replace(OVER_HEADS, steps={**OVER_HEADS.steps, "one_head": lambda attended, value: _require(value, value.shape[-2] == 1)}),
    replace(
        OVER_HEADS,
        name="attends_over_heads_unmasked",
        steps={**OVER_HEADS.steps, "is_causal": lambda asked: False, "one_head": lambda attended, value: value},
        said_as=OVER_HEADS.name,
    ),
    TEXTS.mistake("mask_not_cropped", crop=lambda length, context_length: _require(None, length == context_length)),
)


def _require(answer: Any, is_so: bool) -> Any:
    if not is_so:
        raise ValueError("the mask has the wrong size")
    return answer


def probes() -> tuple[Probe, ...]:
    """All sizes distinct, then square; one head and several; masks; biases; a sequence shorter than the context."""
    draw = Draw(23)
    held, mixed = draw.weights(7, 7), draw.weights(7, 7, output=7)
    many = draw.weights(12, 12, output=12)
    biased = draw.weights(7, 7, biases=projections.PARTS[:3])
    heads = {"num_heads": 3}
    fused = draw.weights(12, 12, output=12, biases=projections.PARTS)
    causal_mask = MASK | (MASK.T == 0)
    outer = with_biases(fused, "output")
    return (
        Probe("batch", draw.itself(2, 5, 7) | held, BATCH),
        Probe("wide", draw.itself(2, 5, 6) | draw.weights(6, 7), BATCH),
        Probe("square", draw.itself(3, 3, 3) | draw.weights(3, 3), BATCH),
        Probe("one position", draw.itself(2, 1, 7) | held, BATCH),
        Probe("single", draw.itself(5, 7) | held, SINGLE, UNBATCHED),
        Probe("single, wide", draw.itself(5, 6) | draw.weights(6, 7), SINGLE, UNBATCHED),
        Probe("biases", draw.itself(2, 5, 7) | biased, BATCH),
        Probe("padded", draw.itself(2, 5, 7) | held | {"mask": PADDING[:, None]}, PADDED, within=BATCH),
        Probe("masked", draw.itself(2, 5, 7) | held | {"mask": causal_mask}, BATCH),
        Probe("output", draw.itself(2, 5, 7) | mixed, BATCH),
        Probe("heads", draw.itself(2, 5, 12) | many | heads, BATCH),
        Probe("heads, wide", draw.itself(2, 5, 10) | draw.weights(10, 12, output=12) | heads, NARROWER),
        Probe("heads, square", draw.itself(3, 3, 9) | draw.weights(9, 9, output=9) | heads, BATCH),
        Probe("heads, biases", draw.itself(2, 5, 12) | fused | heads, BATCH),
        Probe("heads, output bias", draw.itself(2, 5, 12) | outer | heads, BATCH),
        Probe("heads, padded", draw.itself(2, 5, 12) | many | heads | {"mask": PADDING[:, None, None]}, PADDED, within=BATCH),
        Probe("heads, single", draw.itself(5, 12) | many | heads, SINGLE, UNBATCHED),
        Probe("heads, single, biases", draw.itself(5, 12) | fused | heads, SINGLE, UNBATCHED),
        Probe("projected", draw.three(5, 5, 4, ()), MATRICES),
        Probe("projected, square", draw.three(4, 4, 4, ()), MATRICES),
        Probe("projected batch", draw.three(5, 5, 4), BATCH),
        Probe("projected heads", draw.three(5, 5, 12) | heads, BATCH),
        Probe("single, output", draw.itself(5, 7) | mixed, SINGLE, UNBATCHED),
        Probe("projected, masked", draw.three(5, 5, 4, ()) | {"mask": causal_mask}, MATRICES),
        Probe("full context", draw.itself(2, 5, 7) | held | {"context_length": 5}, BATCH),
        Probe("full context, heads", draw.itself(2, 5, 12) | fused | heads | {"context_length": 5}, BATCH),
        Probe("a zero", with_zero(draw.itself(2, 5, 7)) | held, BATCH),
        Probe("heads, a zero", with_zero(draw.itself(2, 5, 12)) | many | heads, BATCH),
        Probe("heads, one position", draw.itself(2, 1, 12) | fused | heads, BATCH),
        Probe("single, masked", draw.itself(5, 7) | held | {"mask": causal_mask}, SINGLE, UNBATCHED),
        Probe("projected, one position", draw.three(1, 1, 4, ()), MATRICES),
        Probe("one of three heads", draw.itself(2, 5, 12) | draw.weights(12, 4), ONE_OF_HEADS),
        Probe("single, biases", draw.itself(5, 7) | biased, SINGLE, UNBATCHED),
    )


EXERCISE = Exercise(
    name="causal_self_attention",
    definition=causal_definition,
    recipe=projections.recipe,
    steps=projections.STEPS | {"is_causal": lambda asked: True},
    roles=tuple(
        replace(role, neutral=True) if role.name == "is_causal" else role
        for role in projections.attention_roles(projections.WITH_OPTIONAL_OUTPUT)
    ),
    probes=probes,
    mistakes=(
        *CAUSAL,
        *WEIGHTS,
        SCALED_BY_INPUT,
        *without(HEADS, OVER_HEADS.name),
        *ONLY_CAUSAL,
        *OUTPUT,
        *without((*SCORES, *SOFTMAXES, *MIXING, *MASKS), *UNSEEN),
    ),
    conventions=(
        GIVEN,
        *PROJECTED,
        RETURNS,
    ),
    recoveries=(scale_recovery((None, None)), scale_recovery((2, 3)), leak_recovery((None, None)), leak_recovery((2, 3))),
    fused=projections.FUSED,
    related=("multi_head_attention", "grouped_query_attention"),
)
