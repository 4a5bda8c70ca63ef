"""decoder_layer: causal self-attention, cross-attention, feed-forward, each with a residual connection and a layer norm."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy

from headway import functions
from headway.functions import DecoderLayerWeights
from headway.practice.exercise import Convention, Exercise, Inputs, Probe, Role, Step, optional
from headway.practice.recipes import layers, projections
from headway.practice.recipes.attention import FOR_ALL_HEADS, FULL, MASK_SHAPES, OF_PADDING
from headway.practice.recipes.attention_mistakes import without
from headway.practice.recipes.conventions import MASKS as MASK_FORMS
from headway.practice.recipes.conventions import RETURNS
from headway.practice.recipes.encoding import without as without_operands
from headway.practice.recipes.layer_conventions import Settled, both
from headway.practice.recipes.layer_mistakes import ATTENDING, MASKING, THINKING, moved, wiring
from headway.practice.recipes.layers import Draw
from headway.practice.recipes.projection_forms import IN_OUT, turned
from headway.practice.recipes.sequences import MASK, PADDING, SINGLE, UNBATCHED
from headway.practice.recipes.wrapping import BATCH_SECOND, positions_first
from headway.practice.roles import Roles
from headway.practice.texts import Texts

TEXTS = Texts("decoder_layer")
ROLES = Roles("decoder_layer")

PREFIXES = ("self_", "cross_")


def recipe(
    steps: Any,
    x: Any,
    encoder_output: Any,
    num_heads: int = 1,
    mask: Any = None,
    encoder_mask: Any = None,
    is_causal: bool = True,
    **held: Any,
) -> Any:
    """The definition as named steps: masks, context, whose (weights), those of recipes.layers, and of recipes.projections."""
    mask, encoder_mask = steps.masks(mask, encoder_mask)
    own, other = steps.whose(layers.attention_held(held, "self_"), layers.attention_held(held, "cross_"))

    def attend(x: Any) -> Any:
        return projections.recipe(steps, x, x, x, num_heads=num_heads, mask=mask, is_causal=steps.is_decoder(), **own)

    def attend_to_encoder(x: Any) -> Any:
        query, key, value = steps.context(x, encoder_output)
        return projections.recipe(steps, query, key, value, num_heads=num_heads, mask=encoder_mask, **other)

    return layers.layer(steps, x, (attend, attend_to_encoder, lambda x: layers.think(steps, x, held)), held)


def definition(
    x: Any, encoder_output: Any, num_heads: int = 1, mask: Any = None, encoder_mask: Any = None, is_causal: bool = True, **held: Any
) -> Any:
    """Return headway.functions' decoder layer."""
    weights = DecoderLayerWeights(
        layers.attention_weights(held, "self_"),
        layers.norm_weights(held, 1),
        layers.attention_weights(held, "cross_"),
        layers.norm_weights(held, 2),
        layers.feed_forward_weights(held),
        layers.norm_weights(held, 3),
    )
    return functions.decoder_layer(x, encoder_output, weights, num_heads=num_heads, mask=mask, encoder_mask=encoder_mask)


CROSS = r"cross|enc|memory|src"

OWN = (
    TEXTS.mistake("later_positions_visible", is_decoder=lambda: False, masks=lambda mask, encoder_mask: (None, encoder_mask)),
    TEXTS.mistake("masks_exchanged", needs="encoder_mask", is_decoder=lambda: False, masks=lambda mask, encoder_mask: (encoder_mask, mask)),
    TEXTS.mistake("target_mask_for_both", needs="mask", masks=lambda mask, encoder_mask: (mask, mask)),
    TEXTS.mistake(
        "source_mask_for_both",
        needs="encoder_mask",
        is_decoder=lambda: False,
        masks=lambda mask, encoder_mask: (encoder_mask, encoder_mask),
    ),
    TEXTS.mistake("source_mask_ignored", masks=lambda mask, encoder_mask: (mask, None)),
    TEXTS.mistake("query_from_the_encoder", context=lambda x, encoder_output: (encoder_output, x, x)),
    TEXTS.mistake("encoder_not_used", context=lambda x, encoder_output: (x, x, x)),
    TEXTS.mistake(
        "encoder_not_used_unmasked",
        context=lambda x, encoder_output: (x, x, x),
        masks=lambda mask, encoder_mask: (mask, None),
        pattern=CROSS,
        said_as="encoder_not_used",
    ),
    TEXTS.mistake("values_from_the_decoder", context=lambda x, encoder_output: (x, encoder_output, x)),
    TEXTS.mistake("keys_from_the_decoder", context=lambda x, encoder_output: (x, x, encoder_output)),
    TEXTS.mistake("query_and_keys_from_the_encoder", context=lambda x, encoder_output: (encoder_output, encoder_output, x)),
    TEXTS.mistake("everything_from_the_encoder", context=lambda x, encoder_output: (encoder_output, encoder_output, encoder_output)),
    TEXTS.mistake("self_attention_for_both", whose=lambda own, other: (own, own), said_as="attention_shared"),
    TEXTS.mistake("cross_attention_for_both", whose=lambda own, other: (other, other), said_as="attention_shared"),
)

MISTAKES = (
    *wiring((TEXTS["self_attention"], TEXTS["cross_attention"], TEXTS["feed_forward"])),
    *moved(TEXTS, "cross_attention_first", (1, 0, 2), CROSS),
    *moved(TEXTS, "feed_forward_before_cross_attention", (0, 2, 1), r"ff|mlp|feed"),
    *OWN,
    *THINKING,
    *without(ATTENDING, "attends_over_heads"),  # raises an error if the sequences have different lengths
    *MASKING,
)


DECODER_STEPS = layers.STEPS | {
    "masks": lambda mask, encoder_mask: (mask, encoder_mask),
    "whose": lambda own, other: (own, other),
    "is_decoder": lambda: True,
    "context": lambda x, encoder_output: (x, encoder_output, encoder_output),
}

BATCH = TEXTS["batch"]
BOTH = TEXTS["both"]
SOURCE = TEXTS["source"]
TARGET = TEXTS["target"]


def probes() -> tuple[Probe, ...]:
    """With and without biases; a source of another length and of the same; both masks, each separately, none."""
    draw = Draw(67, 6, 2)
    bare, biased = draw.weights(PREFIXES), draw.weights(PREFIXES, biases=layers.BIASED)
    inner, lower = draw.weights(PREFIXES, biases=("up",)), numpy.tril(numpy.ones((5, 5), bool))
    source = (numpy.arange(7) < numpy.array([[4], [7]]))[:, None, None]
    padding, short = PADDING[:, None, None], (numpy.arange(5) < numpy.array([[4], [2]]))[:, None, None]

    def given(source_len: int = 7) -> Inputs:
        return {"x": draw.sequence(2, 5), "encoder_output": draw.sequence(2, source_len)}

    def one() -> Inputs:
        return {"x": draw.sequence(5), "encoder_output": draw.sequence(7)}

    def headless(**chosen: Any) -> Inputs:
        return layers.single_head(draw.weights(PREFIXES, **chosen))

    return (
        Probe("no masks", given() | bare, BATCH),
        Probe("biases", given() | biased, BATCH),
        Probe("inner biases", given() | inner, BATCH),
        Probe("output biases", given() | draw.weights(PREFIXES, biases=layers.PROJECTED), BATCH),
        Probe("norms without biases", given() | draw.weights(PREFIXES, norm_biases=False), BATCH),
        Probe("norms without weights", given() | draw.weights(PREFIXES, norms=False), BATCH),
        Probe("one length", given(5) | bare, BATCH),
        Probe("one head", given() | headless(), BATCH),
        Probe("one head, inner biases", given() | headless(biases=("up",)), BATCH),
        Probe("one head, norms without weights", given() | headless(norms=False), BATCH),
        Probe("one head, inner biases, norms without weights", given() | headless(biases=("up",), norms=False), BATCH),
        Probe("masked", given() | bare | {"mask": lower, "encoder_mask": source}, BOTH),
        Probe("masked, biases", given() | biased | {"mask": lower, "encoder_mask": source}, BOTH),
        Probe("masked, inner biases", given() | inner | {"mask": MASK & lower, "encoder_mask": source}, BOTH),
        Probe("masked, some hidden", given() | bare | {"mask": MASK & lower, "encoder_mask": source}, BOTH),
        Probe("masked, one length", given(5) | bare | {"mask": lower & padding, "encoder_mask": short}, TEXTS["each"]),
        Probe(
            "masked, norms without weights", given() | draw.weights(PREFIXES, norms=False) | {"mask": lower, "encoder_mask": source}, BOTH
        ),
        Probe("target masked", given() | bare | {"mask": lower}, TARGET),
        Probe("target masked, biases", given() | biased | {"mask": MASK & lower}, TARGET),
        Probe("target masked, inner biases", given() | inner | {"mask": MASK & lower}, TARGET),
        Probe("target padded", given() | bare | {"mask": lower & padding}, TARGET),
        Probe("source masked", given() | bare | {"encoder_mask": source}, SOURCE),
        Probe("source masked, biases", given(5) | biased | {"encoder_mask": short}, SOURCE),
        Probe("single", one() | bare, SINGLE, UNBATCHED),
        Probe("single, masked", one() | bare | {"mask": MASK & lower}, SINGLE, UNBATCHED),
        Probe("single, inner biases", one() | inner, SINGLE, UNBATCHED),
        Probe("single, biases", one() | biased, SINGLE, UNBATCHED),
        Probe("single, norms without biases", one() | draw.weights(PREFIXES, norm_biases=False), SINGLE, UNBATCHED),
        Probe("single, norms without weights", one() | draw.weights(PREFIXES, norms=False), SINGLE, UNBATCHED),
        Probe("single, inner biases, masked", one() | inner | {"mask": MASK & lower}, SINGLE, UNBATCHED),
    )


def _both(convention: Convention, *, of_source: Convention | None = None) -> Convention:
    """Return a convention of one mask for both masks; the source mask is between x and the encoder output."""
    other = of_source or convention

    def encode(inputs: Inputs) -> Inputs | None:
        said = convention.encode({name: inputs[name] for name in ("x", "mask") if name in inputs})
        source = {"x": inputs["x"], "context": inputs["encoder_output"]}
        if "encoder_mask" in inputs:
            source["mask"] = inputs["encoder_mask"]
        source_said = other.encode(source)
        if said is None or source_said is None:
            return None
        masks = {"mask": said, "encoder_mask": source_said}
        changed = {name: each["mask"] for name, each in masks.items() if name in inputs}
        return inputs if all(changed[name] is inputs[name] for name in changed) else inputs | changed

    return Convention(convention.name if of_source is None else other.name, encode, used_source=other.used_source)


def _padding_alone(*axes: int) -> Callable[[Inputs], Inputs | None]:
    """Return an encoding of a causal target mask as its padding, with these axes between the batch and the keys; None for other masks."""

    def encode(inputs: Inputs) -> Inputs | None:
        mask, x = inputs.get("mask"), inputs["x"]
        if mask is None or x.ndim < 3:
            return inputs if mask is None else None
        if mask.ndim < 2:
            return None
        full = numpy.broadcast_to(mask, (len(x), 1, *mask.shape[-2:]))[:, 0]
        keys, hidden = full[:, -1], full[0, 0, -1]
        is_causal = (full == numpy.where(numpy.tri(*full.shape[1:]) > 0, keys[:, None], hidden)).all()
        return inputs | {"mask": keys.reshape(len(x), *axes, -1)} if is_causal else None

    return encode


SHAPES = (
    *(_both(convention) for convention in MASK_SHAPES if convention.named is None),
    *(_both(own, of_source=of_source) for own in (FULL, FOR_ALL_HEADS) for of_source in OF_PADDING),
    *(
        replace(_both(Convention(encode=_padding_alone(*axes)), of_source=of_source), name=TEXTS["target_padding"])
        for axes, of_source in (((), OF_PADDING[0]), ((1, 1), FULL))
    ),
)

BY_MASK = optional(Convention(steps={"is_decoder": lambda: False}, role="mask"))
"""A layer that is causal by itself, or only through the target mask."""


def _key_and_value(inputs: Inputs) -> Inputs:
    return without_operands(inputs, "encoder_output") | {"key": inputs["encoder_output"], "value": inputs["encoder_output"]}


PADDING_OF_THREE = numpy.arange(5) < numpy.array([[4], [5], [3]])


def _settled() -> Settled:
    draw, lower = Draw(5, 6, 2), numpy.tril(numpy.ones((5, 5), bool))
    example = _with_key_and_value({"x": draw.sequence(3, 5), "encoder_output": draw.sequence(3, 5)} | draw.example(PREFIXES))
    free = {"mask": numpy.ones((5, 5), bool), "encoder_mask": numpy.ones((3, 1, 1, 5), bool)}
    hiding = {"mask": MASK & lower, "encoder_mask": numpy.broadcast_to(numpy.arange(5) < 3, (3, 1, 1, 5))}
    by_mask = BY_MASK[1].steps
    variants = ({}, by_mask, *({"masks": _one_mask(place)} for place in (0, 1)), layers.BARE_NORM, {**by_mask, **layers.BARE_NORM})
    simple = hiding | {"mask": lower & PADDING_OF_THREE[:, None, None]}
    return Settled(_answer, example, free, hiding, MISTAKES, variants, simple)


def _one_mask(place: int) -> Step:
    """Return a step for functions that take only one mask."""
    return lambda mask, encoder_mask: (mask, None) if place == 0 else (None, encoder_mask)


def _with_key_and_value(inputs: Inputs) -> Inputs:
    return inputs | _key_and_value(inputs)


def _answer(steps: Mapping[str, Step], inputs: Inputs) -> Any:
    return EXERCISE.answer(without_operands(inputs, "key", "value"), (), (Convention(steps=steps),))


SETTLED = _settled()

EXERCISE = Exercise(
    name="decoder_layer",
    definition=definition,
    recipe=recipe,
    steps=DECODER_STEPS,
    roles=(
        *ROLES.each("x", "encoder_output", "key", "value", "mask", "encoder_mask"),
        *layers.weight_roles(PREFIXES),
        ROLES.size("is_causal", lambda inputs: True),
        Role("num_heads", projections.NUM_HEADS.called, size_of=lambda inputs: inputs.get("num_heads", 1)),
        *layers.SIZES,
    ),
    probes=probes,
    mistakes=MISTAKES,
    conventions=(
        optional(Convention(IN_OUT, turned, role="self_query_weight", named=r"^(?!held_)")),
        RETURNS,
        positions_first(SETTLED.example, BATCH_SECOND),
        SETTLED.wirings(),
        layers.SAMPLE_NORM,
        BY_MASK,
        SETTLED.masks(both([_both(convention) for convention in MASK_FORMS], SHAPES)),
        optional(
            Convention(encode=_key_and_value, role="value", without="encoder_output"),
            Convention(encode=lambda inputs: without_operands(_key_and_value(inputs), "value"), role="key", without="value"),
        ),
    ),
    fused=projections.FUSED,
    related=("transformer_block",),
    calls="layer",
)
