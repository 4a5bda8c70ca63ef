"""Causal self-attention: every position sees itself and what stands before it."""

from __future__ import annotations

from typing import Any

from headway.practice.exercise import Exercise, Probe
from headway.practice.recipes.attention import MASK_SHAPES, RETURNS
from headway.practice.recipes.attention_mistakes import CAUSAL, MASKS, MIXING, SCORES, SOFTMAXES, without
from headway.practice.recipes.conventions import MASKS as MASK_FORMS
from headway.practice.recipes.projection_forms import FORMS, WEIGHT_FORMS, WITHOUT_OUTPUT
from headway.practice.recipes.projection_mistakes import HEADS, OUTPUT, WEIGHTS
from headway.practice.recipes.projection_scale import scale_recovery
from headway.practice.recipes.projections import (
    FUSED,
    NUM_HEADS,
    OPERANDS,
    OPTIONS,
    PARTS,
    SEQUENCE,
    SIZES,
    STEPS,
    WITH_OPTIONAL_OUTPUT,
    definition,
    recipe,
)
from headway.practice.recipes.sequences import BATCH, MASK, MATRICES, PADDING, SINGLE, UNBATCHED, Draw
from headway.practice.words import Words


def causal_definition(**inputs: Any) -> Any:
    """The definition, causal without being asked."""
    return definition(**inputs, is_causal=True)


UNSEEN = ("keys_cut_to_the_queries", "given_scale_ignored", "whole_numbers_out", "causal_replaces_the_mask")


def probes() -> tuple[Probe, ...]:
    """Every size distinct, then square ones; one head and several; masks; biases; a sequence shorter than the context."""
    draw = Draw(23)
    held, mixed = draw.weights(7, 7), draw.weights(7, 7, output=7)
    many = draw.weights(12, 12, output=12)
    biased = draw.weights(7, 7, biases=PARTS[:3])
    heads = {"num_heads": 3}
    fused = draw.weights(12, 12, output=12, biases=PARTS)
    outer = {name: array for name, array in fused.items() if name.endswith("weight") or name == "output_bias"}
    return (
        Probe("batch", draw.itself(2, 5, 7) | held, BATCH),
        Probe("wide", draw.itself(2, 5, 6) | draw.weights(6, 7), BATCH),
        Probe("square", draw.itself(3, 3, 3) | draw.weights(3, 3), BATCH),
        Probe("one position", draw.itself(2, 1, 7) | held, BATCH),
        Probe("single", draw.itself(5, 7) | held, SINGLE, UNBATCHED),
        Probe("single, wide", draw.itself(5, 6) | draw.weights(6, 7), SINGLE, UNBATCHED),
        Probe("biases", draw.itself(2, 5, 7) | biased, BATCH),
        Probe("padded", draw.itself(2, 5, 7) | held | {"mask": PADDING[:, None]}, BATCH),
        Probe("masked", draw.itself(2, 5, 7) | held | {"mask": MASK | (MASK.T == 0)}, BATCH),
        Probe("output", draw.itself(2, 5, 7) | mixed, BATCH),
        Probe("heads", draw.itself(2, 5, 12) | many | heads, BATCH),
        Probe("heads, wide", draw.itself(2, 5, 10) | draw.weights(10, 12, output=12) | heads, BATCH),
        Probe("heads, square", draw.itself(3, 3, 9) | draw.weights(9, 9, output=9) | heads, BATCH),
        Probe("heads, biases", draw.itself(2, 5, 12) | fused | heads, BATCH),
        Probe("heads, output bias", draw.itself(2, 5, 12) | outer | heads, BATCH),
        Probe("heads, padded", draw.itself(2, 5, 12) | many | heads | {"mask": PADDING[:, None, None]}, BATCH),
        Probe("heads, single", draw.itself(5, 12) | many | heads, SINGLE, UNBATCHED),
        Probe("heads, single, biases", draw.itself(5, 12) | fused | heads, SINGLE, UNBATCHED),
        Probe("projected", draw.three(5, 5, 4, ()), MATRICES),
        Probe("projected, square", draw.three(4, 4, 4, ()), MATRICES),
        Probe("projected batch", draw.three(5, 5, 4), BATCH),
        Probe("projected heads", draw.three(5, 5, 12) | heads, BATCH),
    )


EXERCISE = Exercise(
    name="causal_self_attention",
    title=Words("causal self-attention", "因果自注意力"),
    definition=causal_definition,
    recipe=recipe,
    steps=STEPS | {"is_causal": lambda asked: True},
    roles=(*OPERANDS, SEQUENCE, *WITH_OPTIONAL_OUTPUT, NUM_HEADS, *OPTIONS, *SIZES),
    called=r"(causal|masked|decoder)_?(multi_?head_?)?(self_?)?att|^head$|att(entio)?n_?head$|^causal",
    probes=probes,
    mistakes=(*CAUSAL, *WEIGHTS, *HEADS, *OUTPUT, *without((*SCORES, *SOFTMAXES, *MIXING, *MASKS), *UNSEEN)),
    conventions=(FORMS, WEIGHT_FORMS, WITHOUT_OUTPUT, MASK_FORMS, MASK_SHAPES, RETURNS),
    recoveries=(scale_recovery((None, None)), scale_recovery((2, 3))),
    equation="softmax((x @ Wq) @ (x @ Wk)ᵀ / √head_dim, -inf above the diagonal) @ (x @ Wv)",
    fused=FUSED,
    hints=(
        Words("A position may see itself and what stands before it, nothing behind it.", "每个位置只能看到自己和前面的位置。"),
        Words(
            "Put -inf above the diagonal of the scores, before softmax; keep the diagonal.",
            "在 softmax 之前，把分数对角线以上设为 -inf；保留对角线。",
        ),
        Words("scores.masked_fill(triu(ones(L, L), 1) == 1, -inf)", "scores.masked_fill(triu(ones(L, L), 1) == 1, -inf)"),
    ),
)
