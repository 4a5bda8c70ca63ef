"""Self-attention: attention(x Wq, x Wk, x Wv) of a sequence with itself."""

from __future__ import annotations

from headway.practice.exercise import Convention, Exercise, Inputs, Probe, optional
from headway.practice.recipes import projections
from headway.practice.recipes.attention import CAUSAL, RETURNS, right_scale
from headway.practice.recipes.attention_mistakes import MIXING, SCORES, SOFTMAXES, without
from headway.practice.recipes.encoding import without as without_operands
from headway.practice.recipes.mask_mistakes import CAUSAL as CAUSAL_MISTAKES
from headway.practice.recipes.mask_mistakes import MASKS
from headway.practice.recipes.projected_attention import CONVENTIONS as PROJECTED
from headway.practice.recipes.projection_mistakes import HEADS, OUTPUT, SCALED_BY_INPUT, WEIGHTS
from headway.practice.recipes.projection_scale import leak_recovery, scale_recovery
from headway.practice.recipes.sequences import (
    BATCH,
    LENGTHS,
    MASK,
    MATRICES,
    ONE_OF_HEADS,
    PADDED,
    PADDING,
    SINGLE,
    UNBATCHED,
    WHOLE,
    WIDTHS,
    Draw,
    whole,
    with_zero,
)
from headway.practice.roles import Roles
from headway.practice.texts import Texts

TEXTS = Texts("self_attention")
ROLES = Roles("self_attention")

UNSEEN = ("given_scale_ignored", "all_axes_transposed")  # a single sequence is a matrix, for which .T is correct


def _as_numbers(inputs: Inputs) -> Inputs | None:
    """Encode a sequence of width 1 as a list of numbers and the width whose square root divides the scores."""
    if inputs["query"].shape[-1] != 1:
        return None
    return without_operands(inputs, "query", "key", "value", "scale") | {"x": inputs["query"][:, 0], "width": inputs["scale"] ** -2}


NUMBERS = optional(
    Convention(
        TEXTS["plain_numbers"],
        _as_numbers,
        lambda answer, inputs: answer[:, None] if getattr(answer, "ndim", 0) == 1 else answer,
        role="width",
    )
)
"""A sequence, or a list of numbers and a width to scale by."""

WIDTH = ROLES("width")

SCALES = tuple(
    TEXTS.mistake(name, scale=wrong, pattern=r"sqrt|\*\*|/", said_as="scale")
    for name, wrong in (
        ("scale_missing", lambda inputs: 1.0),
        ("scale_not_rooted", lambda inputs: right_scale(inputs) ** 2),
        ("scale_inverted", lambda inputs: 1 / right_scale(inputs)),
    )
)


def probes() -> tuple[Probe, ...]:
    """All sizes distinct, then square; masks; biases; an output projection; several heads; projected inputs."""
    draw = Draw(19)
    held, mixed = draw.weights(7, 7), draw.weights(7, 7, output=7)
    biased = draw.weights(7, 7, biases=projections.PARTS[:3])
    outer = draw.weights(7, 7, output=7, biases=projections.PARTS)
    heads = {"num_heads": 3}
    padding = PADDING[:, None]
    return (
        Probe("batch", draw.itself(2, 5, 7) | held, BATCH),
        Probe("wide", draw.itself(2, 5, 6) | draw.weights(6, 7), BATCH),
        Probe("square", draw.itself(3, 3, 3) | draw.weights(3, 3), BATCH),
        Probe("wide, masked", draw.itself(2, 5, 6) | draw.weights(6, 7) | {"mask": MASK}, BATCH),
        Probe("wide, biases, masked", draw.itself(2, 5, 6) | draw.weights(6, 7, biases=projections.PARTS[:3]) | {"mask": MASK}, BATCH),
        Probe("single", draw.itself(5, 7) | held, SINGLE, UNBATCHED),
        Probe("single, wide", draw.itself(5, 6) | draw.weights(6, 7), SINGLE, UNBATCHED),
        Probe("single, square", draw.itself(4, 4) | draw.weights(4, 4), SINGLE, UNBATCHED),
        Probe("wide values", draw.itself(2, 5, 6) | draw.weights(6, 7, value_dim=8), WIDTHS),
        Probe("biases", draw.itself(2, 5, 7) | biased, BATCH),
        Probe("single, biases", draw.itself(5, 7) | biased, SINGLE, UNBATCHED),
        Probe("masked", draw.itself(2, 5, 7) | held | {"mask": MASK}, BATCH),
        Probe("padded", draw.itself(2, 5, 7) | held | {"mask": padding}, PADDED, within=BATCH),
        Probe("biases, masked", draw.itself(2, 5, 7) | biased | {"mask": MASK}, BATCH),
        Probe("biases, padded", draw.itself(2, 5, 7) | biased | {"mask": padding}, PADDED, within=BATCH),
        Probe("single, masked", draw.itself(5, 7) | held | {"mask": MASK}, SINGLE, UNBATCHED),
        Probe("causal", draw.itself(2, 5, 7) | held | {"is_causal": True}, BATCH),
        Probe("a zero", with_zero(draw.itself(2, 5, 7)) | held, BATCH),
        Probe("masked and causal", draw.itself(2, 5, 7) | held | {"mask": MASK, "is_causal": True}, BATCH),
        Probe("output", draw.itself(2, 5, 7) | mixed, BATCH),
        Probe("output, masked", draw.itself(2, 5, 7) | mixed | {"mask": MASK}, BATCH),
        Probe("output, padded", draw.itself(2, 5, 7) | mixed | {"mask": padding}, PADDED, within=BATCH),
        Probe("output and biases", draw.itself(2, 5, 7) | outer, BATCH),
        Probe("output and biases, masked", draw.itself(2, 5, 7) | outer | {"mask": MASK}, BATCH),
        Probe("heads", draw.itself(2, 5, 12) | draw.weights(12, 12, output=12) | heads, BATCH),
        Probe("heads without output", draw.itself(2, 5, 12) | draw.weights(12, 12) | heads, BATCH),
        Probe("projected", draw.three(5, 5, 4, ()), MATRICES),
        Probe("projected, square", draw.three(5, 5, 5, ()), MATRICES),
        Probe("projected, other length", draw.three(3, 5, 4, ()), LENGTHS),
        Probe("projected, one sequence", draw.itself(5, 4), MATRICES),
        Probe("projected, masked", draw.three(5, 5, 4, ()) | {"mask": MASK}, MATRICES),
        Probe("projected batch", draw.three(5, 5, 4), BATCH),
        Probe("projected batch, masked", draw.three(5, 5, 4) | {"mask": MASK}, BATCH),
        Probe("projected whole numbers", whole(draw.three(5, 5, 4, ())), WHOLE),
        Probe("single, output", draw.itself(5, 7) | mixed, SINGLE, UNBATCHED),
        Probe("numbers", draw.itself(6, 1) | {"scale": 0.5}, MATRICES),
        Probe("more numbers", {name: x * 3 for name, x in draw.itself(9, 1).items()} | {"scale": 8**-0.5}, MATRICES),
        Probe("one position", draw.itself(2, 1, 7) | held, BATCH),
        Probe("projected, one position", draw.three(1, 1, 4, ()), MATRICES),
        Probe(
            "heads without output, padded",
            draw.itself(2, 5, 12) | draw.weights(12, 12) | heads | {"mask": padding[:, None]},
            PADDED,
            within=BATCH,
        ),
        Probe("one of three heads", draw.itself(2, 5, 12) | draw.weights(12, 4), ONE_OF_HEADS),
        Probe("single, causal", draw.itself(5, 7) | held | {"is_causal": True}, SINGLE, UNBATCHED),
    )


EXERCISE = Exercise(
    name="self_attention",
    definition=projections.definition,
    recipe=projections.recipe,
    steps=projections.STEPS,
    roles=projections.attention_roles(projections.WITH_OPTIONAL_OUTPUT, WIDTH),
    probes=probes,
    mistakes=(
        *WEIGHTS,
        SCALED_BY_INPUT,
        *SCALES,
        *without(SCORES, "scale_missing", *UNSEEN),
        *SOFTMAXES,
        *MIXING,
        *MASKS,
        *CAUSAL_MISTAKES,
        *OUTPUT,
        *HEADS,
    ),
    conventions=(
        NUMBERS,
        *PROJECTED,
        CAUSAL,
        RETURNS,
    ),
    recoveries=(scale_recovery((None, None)), leak_recovery((None, None))),
    fused=projections.FUSED,
    related=("multi_head_attention", "grouped_query_attention"),
)
