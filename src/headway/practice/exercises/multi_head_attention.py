"""Multi-head attention: split(x Wq), split(x Wk), split(x Wv) → attention → merge → Wo."""

from __future__ import annotations

from headway.practice.exercise import Exercise, Probe
from headway.practice.recipes import projections
from headway.practice.recipes.attention import CAUSAL, RETURNS
from headway.practice.recipes.attention_mistakes import MIXING, SCORES, SOFTMAXES, without
from headway.practice.recipes.mask_mistakes import CAUSAL as CAUSAL_MISTAKES
from headway.practice.recipes.mask_mistakes import MASKS
from headway.practice.recipes.projected_attention import CONVENTIONS as PROJECTED
from headway.practice.recipes.projection_mistakes import HEADS, OUTPUT, SCALED_BY_INPUT, SCALED_BY_SHARE, SCALED_LATE, WEIGHTS
from headway.practice.recipes.projection_scale import leak_recovery, scale_recovery
from headway.practice.recipes.sequences import (
    BATCH,
    LENGTHS,
    MASK,
    MATRICES,
    NARROWER,
    OF_OTHER_HEADS,
    PADDED,
    PADDING,
    SINGLE,
    UNBATCHED,
    WHOLE,
    Draw,
    whole,
    with_biases,
)


def probes() -> tuple[Probe, ...]:
    """All sizes distinct, then square; masks; keys of another length; biases; projected inputs."""
    draw = Draw(13)
    heads = {"num_heads": 3}
    held = draw.weights(12, 12, output=12)
    biased = draw.weights(12, 12, output=12, biases=projections.PARTS)
    outer = with_biases(biased, "output")
    inner = with_biases(biased, *projections.PARTS[:3])
    padding = PADDING[:, None, None]
    return (
        Probe("batch", draw.itself(2, 5, 12) | held | heads, BATCH),
        Probe("wide", draw.itself(2, 5, 10) | draw.weights(10, 12, output=12) | heads, NARROWER),
        Probe("square", draw.itself(3, 3, 9) | draw.weights(9, 9, output=9) | heads, BATCH),
        Probe("one position", draw.itself(2, 1, 12) | held | heads, BATCH),
        Probe("single", draw.itself(5, 12) | held | heads, SINGLE, UNBATCHED),
        Probe("three sequences", draw.three(5, 5, 12) | held | heads, BATCH),
        Probe("other length", draw.three(5, 7, 12) | held | heads, LENGTHS),
        Probe("biases", draw.itself(2, 5, 12) | biased | heads, BATCH),
        Probe("output bias", draw.itself(2, 5, 12) | outer | heads, BATCH),
        Probe("inner biases", draw.itself(2, 5, 12) | inner | heads, BATCH),
        Probe("single, biases", draw.itself(5, 12) | biased | heads, SINGLE, UNBATCHED),
        Probe("masked", draw.itself(2, 5, 12) | held | heads | {"mask": MASK}, BATCH),
        Probe("padded", draw.itself(2, 5, 12) | held | heads | {"mask": padding}, PADDED, within=BATCH),
        Probe("single, masked", draw.itself(5, 12) | held | heads | {"mask": MASK}, SINGLE, UNBATCHED),
        Probe("biases, masked", draw.itself(2, 5, 12) | biased | heads | {"mask": MASK}, BATCH),
        Probe("output bias, padded", draw.itself(2, 5, 12) | outer | heads | {"mask": padding}, PADDED, within=BATCH),
        Probe("causal", draw.itself(2, 5, 12) | held | heads | {"is_causal": True}, BATCH),
        Probe("masked and causal", draw.itself(2, 5, 12) | held | heads | {"mask": MASK, "is_causal": True}, BATCH),
        Probe("projected", draw.three(5, 5, 12, ()) | heads, MATRICES),
        Probe("projected, other length", draw.three(5, 7, 12, ()) | heads, LENGTHS),
        Probe("projected, square", draw.three(3, 3, 9, ()) | heads, MATRICES),
        Probe("projected batch", draw.three(5, 5, 12) | heads, BATCH),
        Probe("projected, masked", draw.three(5, 5, 12) | heads | {"mask": MASK}, BATCH),
        Probe("projected, causal", draw.three(5, 5, 12, ()) | heads | {"is_causal": True}, MATRICES),
        Probe("projected whole numbers", whole(draw.three(5, 5, 12, ())) | heads, WHOLE),
        Probe("projected, one position", draw.three(1, 1, 12, ()) | heads, MATRICES),
        Probe("single, causal", draw.itself(5, 12) | held | heads | {"is_causal": True}, SINGLE, UNBATCHED),
        Probe("three sequences, masked", draw.three(5, 5, 12) | held | heads | {"mask": MASK}, BATCH),
        Probe("heads of another size", draw.itself(2, 5, 10) | draw.weights(10, 12, output=10) | heads, OF_OTHER_HEADS),
        Probe(
            "heads of another size, masked",
            draw.itself(2, 5, 10) | draw.weights(10, 12, output=10) | heads | {"mask": MASK},
            OF_OTHER_HEADS,
        ),
    )


EXERCISE = Exercise(
    name="multi_head_attention",
    definition=projections.definition,
    recipe=projections.recipe,
    steps=projections.STEPS,
    roles=projections.attention_roles(projections.WEIGHTS),
    probes=probes,
    mistakes=(
        *HEADS,
        *OUTPUT,
        *without(WEIGHTS, "weights_reshaped"),  # for square weights this is the same as (in, out) weights
        SCALED_BY_INPUT,
        SCALED_BY_SHARE,
        SCALED_LATE,
        *without(SCORES, "given_scale_ignored"),
        *SOFTMAXES,
        *MIXING,
        *MASKS,
        *CAUSAL_MISTAKES,
    ),
    conventions=(
        *PROJECTED,
        CAUSAL,
        RETURNS,
    ),
    recoveries=(scale_recovery((2, 3)), leak_recovery((2, 3))),
    fused=projections.FUSED,
    related=("grouped_query_attention", "stacked_heads_attention"),
)
