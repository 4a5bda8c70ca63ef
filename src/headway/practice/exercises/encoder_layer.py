"""encoder_layer: self-attention, then feed-forward, each with a residual connection and a layer norm."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy

from headway import functions
from headway.functions import EncoderLayerWeights
from headway.practice.exercise import Convention, Exercise, Inputs, Probe, Role, Step, optional
from headway.practice.recipes import layers, projections
from headway.practice.recipes.attention import MASK_SHAPES, OF_ALL, UNLESS_MASKED
from headway.practice.recipes.conventions import MASKS as MASK_FORMS
from headway.practice.recipes.conventions import RETURNS
from headway.practice.recipes.encoding import without
from headway.practice.recipes.layer_conventions import Settled, both
from headway.practice.recipes.layer_mistakes import ATTENDING, MASKING, THINKING, chosen, moved, wiring
from headway.practice.recipes.layers import Draw
from headway.practice.recipes.mask_mistakes import MASKS
from headway.practice.recipes.padded import PADDED_OUTPUTS
from headway.practice.recipes.projection_forms import IN_OUT, turned
from headway.practice.recipes.sequences import MASK, PADDED, PADDING, SINGLE, UNBATCHED
from headway.practice.recipes.wrapping import BATCH_SECOND, positions_first
from headway.practice.roles import Roles
from headway.practice.texts import Texts

TEXTS = Texts("encoder_layer")
ROLES = Roles("encoder_layer")


def recipe(steps: Any, x: Any, num_heads: int = 1, mask: Any = None, **held: Any) -> Any:
    """The definition as named steps: those of recipes.layers, and of recipes.projections for the attention."""

    def attend(x: Any) -> Any:
        return projections.recipe(steps, x, x, x, num_heads=num_heads, mask=mask, **layers.attention_held(held))

    return steps.leave(layers.layer(steps, x, (attend, lambda x: layers.think(steps, x, held)), held), mask)


def definition(x: Any, num_heads: int = 1, mask: Any = None, **held: Any) -> Any:
    """Return headway.functions' encoder layer."""
    weights = EncoderLayerWeights(
        layers.attention_weights(held), layers.norm_weights(held, 1), layers.feed_forward_weights(held), layers.norm_weights(held, 2)
    )
    return functions.encoder_layer(x, weights, num_heads=num_heads, mask=mask)


ATTENTION, FEED_FORWARD = TEXTS["attention"], TEXTS["feed_forward"]

MISTAKES = (
    *wiring((ATTENTION, FEED_FORWARD)),
    *moved(TEXTS, "feed_forward_first", (1, 0), r"ff|mlp|feed"),
    TEXTS.mistake("later_positions_hidden", is_causal=lambda asked: True),
    *THINKING,
    *ATTENDING,
    *chosen(MASKS, "mask_ignored"),
    *MASKING,
)

BATCH = TEXTS["batch"]


def probes() -> tuple[Probe, ...]:
    """With and without biases; both kinds of masks; a single sequence."""
    draw, more = Draw(61, 6, 2), Draw(62, 6, 2)
    bare, biased = draw.weights(("",)), draw.weights(("",), biases=layers.BIASED)
    inner, padding = more.weights(("",), biases=("up",)), PADDING[:, None, None]
    return (
        Probe("batch", {"x": draw.sequence(2, 5)} | bare, BATCH),
        Probe("biases", {"x": draw.sequence(2, 5)} | biased, BATCH),
        Probe("inner biases", {"x": draw.sequence(2, 5)} | draw.weights(("",), biases=("up",)), BATCH),
        Probe("output biases", {"x": draw.sequence(2, 4)} | draw.weights(("",), biases=layers.PROJECTED), BATCH),
        Probe("norms without biases", {"x": draw.sequence(2, 4)} | draw.weights(("",), norm_biases=False), BATCH),
        Probe("norms without weights", {"x": draw.sequence(2, 4)} | draw.weights(("",), norms=False), BATCH),
        Probe("one head", {"x": draw.sequence(2, 5)} | layers.single_head(draw.weights(("",))), BATCH),
        Probe("one head, inner biases", {"x": draw.sequence(2, 5)} | layers.single_head(inner), BATCH),
        Probe("one head, norms without weights", {"x": draw.sequence(2, 5)} | layers.single_head(draw.weights(("",), norms=False)), BATCH),
        Probe(
            "one head, inner biases, norms without weights",
            {"x": draw.sequence(2, 5)} | layers.single_head(draw.weights(("",), biases=("up",), norms=False)),
            BATCH,
        ),
        Probe("one head, projected, biases", {"x": more.sequence(2, 5)} | without(biased, "num_heads"), BATCH),
        Probe(
            "one head, projected, biases, masked", {"x": more.sequence(2, 5), "mask": MASK} | without(biased, "num_heads"), TEXTS["square"]
        ),
        Probe("masked", {"x": draw.sequence(2, 5), "mask": MASK} | bare, TEXTS["square"]),
        Probe(
            "masked, norms without weights", {"x": draw.sequence(2, 5), "mask": MASK} | draw.weights(("",), norms=False), TEXTS["square"]
        ),
        Probe("padded", {"x": draw.sequence(2, 5), "mask": padding} | bare, PADDED),
        Probe("biases, padded", {"x": draw.sequence(2, 5), "mask": padding} | biased, PADDED),
        Probe("biases, masked", {"x": more.sequence(2, 5), "mask": MASK} | biased, TEXTS["square"]),
        Probe("inner biases, masked", {"x": more.sequence(2, 5), "mask": MASK} | inner, TEXTS["square"]),
        Probe("inner biases, padded", {"x": more.sequence(2, 5), "mask": padding} | inner, PADDED),
        Probe("square", {"x": draw.sequence(3, 6)} | bare, BATCH),
        Probe("single", {"x": draw.sequence(5)} | bare, SINGLE, UNBATCHED),
        Probe("single, biases", {"x": draw.sequence(5)} | biased, SINGLE, UNBATCHED),
        Probe("single, inner biases", {"x": draw.sequence(5)} | inner, SINGLE, UNBATCHED),
        Probe("single, norms without biases", {"x": draw.sequence(5)} | draw.weights(("",), norm_biases=False), SINGLE, UNBATCHED),
        Probe("single, norms without weights", {"x": draw.sequence(5)} | draw.weights(("",), norms=False), SINGLE, UNBATCHED),
        Probe("single, masked", {"x": draw.sequence(5), "mask": MASK} | bare, SINGLE, UNBATCHED),
        Probe("single, inner biases, masked", {"x": more.sequence(5), "mask": MASK} | inner, SINGLE, UNBATCHED),
    )


def _settled() -> Settled:
    draw, shape = Draw(5, 6, 2), (3, 1, 1, 5)
    x = draw.sequence(3, 5)
    example = {"x": x, "query": x, "key": x, "value": x} | draw.example(("",))
    hiding = numpy.broadcast_to(numpy.arange(5) < 3, shape)
    return Settled(_answer, example, {"mask": numpy.ones(shape, bool)}, {"mask": hiding}, MISTAKES, variants=({}, layers.BARE_NORM))


def _answer(steps: Mapping[str, Step], inputs: Inputs) -> Any:
    return EXERCISE.answer(without(inputs, "query", "key", "value"), (), (Convention(steps=steps),))


SETTLED = _settled()

OF_DECODER = r"^(?!.*encoder)(.*(transformer|decoder|gpt).*(block|layer)|block)"
"""Pattern of the names of blocks of a decoder."""

DECODING = optional(
    Convention(TEXTS["hides_later_positions"], steps={"is_causal": lambda asked: True}, called=OF_DECODER),
    replace(UNLESS_MASKED, called=OF_DECODER),
)
"""Conventions for the block of a decoder, which is judged as an encoder layer if GPT-2's form does not fit it."""

EXERCISE = Exercise(
    name="encoder_layer",
    definition=definition,
    recipe=recipe,
    steps=layers.STEPS,
    roles=(
        *ROLES.each("x", "query", "key", "value", "mask"),
        *layers.weight_roles(("",)),
        ROLES.size("is_causal", lambda inputs: False),
        Role("num_heads", projections.NUM_HEADS.called, size_of=lambda inputs: inputs.get("num_heads", 1)),
        *layers.SIZES,
    ),
    probes=probes,
    mistakes=MISTAKES,
    conventions=(
        optional(
            Convention(
                encode=lambda inputs: without(inputs, "x") | dict.fromkeys(("query", "key", "value"), inputs["x"]),
                role="query",
                without="x",
            ),
            Convention(encode=lambda inputs: without(inputs, "x") | {"query": inputs["x"]}, role="query", without="key"),
        ),
        optional(Convention(IN_OUT, turned, role="query_weight", named=r"^(?!held_)")),
        PADDED_OUTPUTS,
        RETURNS,
        positions_first(SETTLED.example, BATCH_SECOND),
        SETTLED.wirings(),
        layers.SAMPLE_NORM,
        DECODING,
        (
            *SETTLED.masks(both(MASK_FORMS, [each for each in MASK_SHAPES if each.used_source is None])),  # patterns are not looked at
            *SETTLED.masks_of_all(MASK_FORMS, OF_ALL),
        ),
    ),
    fused=projections.FUSED,
    related=("transformer_block",),
    calls="layer",
)
