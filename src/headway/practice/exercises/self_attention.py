"""Self-attention: attention(x Wq, x Wk, x Wv), a sequence with itself."""

from __future__ import annotations

from headway.practice.exercise import Exercise, Probe
from headway.practice.recipes.attention import CAUSAL, MASK_SHAPES, RETURNS
from headway.practice.recipes.attention_mistakes import CAUSAL as CAUSAL_MISTAKES
from headway.practice.recipes.attention_mistakes import MASKS, MIXING, SCORES, SOFTMAXES, without
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
from headway.practice.recipes.sequences import BATCH, LENGTHS, MASK, MATRICES, PADDING, SINGLE, UNBATCHED, WHOLE, WIDTHS, Draw, whole
from headway.practice.words import Words


def probes() -> tuple[Probe, ...]:
    """Every size distinct, then square ones; masks; biases; an output projection; several heads; what is projected already."""
    draw = Draw(19)
    held, mixed = draw.weights(7, 7), draw.weights(7, 7, output=7)
    biased = draw.weights(7, 7, biases=PARTS[:3])
    outer = draw.weights(7, 7, output=7, biases=PARTS)
    heads = {"num_heads": 3}
    padding = PADDING[:, None]
    return (
        Probe("batch", draw.itself(2, 5, 7) | held, BATCH),
        Probe("wide", draw.itself(2, 5, 6) | draw.weights(6, 7), BATCH),
        Probe("square", draw.itself(3, 3, 3) | draw.weights(3, 3), BATCH),
        Probe("single", draw.itself(5, 7) | held, SINGLE, UNBATCHED),
        Probe("single, wide", draw.itself(5, 6) | draw.weights(6, 7), SINGLE, UNBATCHED),
        Probe("single, square", draw.itself(4, 4) | draw.weights(4, 4), SINGLE, UNBATCHED),
        Probe("wide values", draw.itself(2, 5, 6) | draw.weights(6, 7, value_dim=8), WIDTHS),
        Probe("biases", draw.itself(2, 5, 7) | biased, BATCH),
        Probe("single, biases", draw.itself(5, 7) | biased, SINGLE, UNBATCHED),
        Probe("masked", draw.itself(2, 5, 7) | held | {"mask": MASK}, BATCH),
        Probe("padded", draw.itself(2, 5, 7) | held | {"mask": padding}, BATCH),
        Probe("biases, masked", draw.itself(2, 5, 7) | biased | {"mask": MASK}, BATCH),
        Probe("biases, padded", draw.itself(2, 5, 7) | biased | {"mask": padding}, BATCH),
        Probe("single, masked", draw.itself(5, 7) | held | {"mask": MASK}, SINGLE, UNBATCHED),
        Probe("causal", draw.itself(2, 5, 7) | held | {"is_causal": True}, BATCH),
        Probe("masked and causal", draw.itself(2, 5, 7) | held | {"mask": MASK, "is_causal": True}, BATCH),
        Probe("output", draw.itself(2, 5, 7) | mixed, BATCH),
        Probe("output, masked", draw.itself(2, 5, 7) | mixed | {"mask": MASK}, BATCH),
        Probe("output, padded", draw.itself(2, 5, 7) | mixed | {"mask": padding}, BATCH),
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
    )


EXERCISE = Exercise(
    name="self_attention",
    title=Words("self-attention", "自注意力"),
    definition=definition,
    recipe=recipe,
    steps=STEPS,
    roles=(*OPERANDS, SEQUENCE, *WITH_OPTIONAL_OUTPUT, NUM_HEADS, *OPTIONS, *SIZES),
    called=r"^(?!.*(causal|masked|multi|cross|group|decoder|gqa)).*(self_?att(entio)?n|single_?head)",
    probes=probes,
    mistakes=(*WEIGHTS, *without(SCORES, "given_scale_ignored"), *SOFTMAXES, *MIXING, *MASKS, *CAUSAL_MISTAKES, *OUTPUT, *HEADS),
    conventions=(FORMS, WEIGHT_FORMS, WITHOUT_OUTPUT, MASK_FORMS, MASK_SHAPES, CAUSAL, RETURNS),
    recoveries=(scale_recovery((None, None)),),
    equation="softmax((x @ Wq) @ (x @ Wk)ᵀ / √head_dim) @ (x @ Wv)",
    fused=FUSED,
    hints=(
        Words(
            "Every position asks (query), is asked (key) and answers (value), each by its own projection of x.",
            "每个位置都提问（query）、被提问（key）并作答（value），各用 x 的一个投影。",
        ),
        Words(
            "Project x three times; then scaled dot-product attention, scaled by the width of the keys.",
            "把 x 投影三次，再做缩放点积注意力，缩放用键的宽度。",
        ),
        Words(
            "q, k, v = x @ Wq, x @ Wk, x @ Wv; softmax(q @ k.swapaxes(-1, -2) / √d, axis=-1) @ v",
            "先 q, k, v = x @ Wq, x @ Wk, x @ Wv，再 softmax(q @ k.swapaxes(-1, -2) / √d, axis=-1) @ v",
        ),
    ),
)
