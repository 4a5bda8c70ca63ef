"""Cross-attention: queries from one sequence, keys and values from another."""

from __future__ import annotations

import numpy

from headway.practice.exercise import Convention, Exercise, Inputs, Probe, optional
from headway.practice.recipes import projections
from headway.practice.recipes.attention import CAUSAL_OVER_CONTEXT, MASK_SHAPES, RETURNS, UNSCALED_WITH_BIAS
from headway.practice.recipes.attention_mistakes import MIXING, SCORES, SOFTMAXES, without
from headway.practice.recipes.conventions import MASKS as MASK_FORMS
from headway.practice.recipes.mask_mistakes import MASKS
from headway.practice.recipes.projection_forms import WEIGHT_FORMS, WITHOUT_OUTPUT, query_and_keys, two_sequences
from headway.practice.recipes.projection_mistakes import HEADS, OUTPUT, SCALED_BY_CONTEXT, SCALED_BY_INPUT, WEIGHTS
from headway.practice.recipes.projection_scale import leak_recovery, scale_recovery
from headway.practice.recipes.sequences import BATCH, MATRICES, PADDED, PADDING, SINGLE, UNBATCHED, Draw, with_biases
from headway.practice.recipes.wrapping import CROSS_WRAPPED, POSITIONS_FIRST
from headway.practice.roles import Roles, extent
from headway.practice.texts import Texts

TEXTS = Texts("cross_attention")
ROLES = Roles("cross_attention")


SEQUENCES = (
    TEXTS.mistake("sequences_exchanged", sequences=lambda query, key, value: (key, query, query)),
    TEXTS.mistake("context_not_used", sequences=lambda query, key, value: (query, query, query)),
    TEXTS.mistake("query_not_used", sequences=lambda query, key, value: (key, key, value)),
    TEXTS.mistake("values_from_the_query", sequences=lambda query, key, value: (query, key, query)),
    TEXTS.mistake("keys_from_the_query", sequences=lambda query, key, value: (query, query, value)),
)


SIDES = ROLES.each("query", "context")
LISTED = "|".join(name for role in SIDES for name in (role.name, *role.called))


def _memory_first(inputs: Inputs) -> Inputs | None:
    """Return the inputs with the context first and the query second; None without two sequences."""
    found = two_sequences(inputs)
    return None if found is None else found | {"query": found["context"], "context": found["query"]}


MEMORY_FIRST = Convention(
    TEXTS["memory_first"],
    _memory_first,
    role="context",
    named=rf"^(?!({LISTED})$|\w*(enc|mem|context|source|src|key|kv))",
    source=rf"\bdef (?!__init__)\w+\(\s*self, *(?!({LISTED})\b|\w*(dec|tgt|target|quer))\w+ *[:,]",
)
"""The sequence of keys and values before that of queries, of a class whose names for both say neither: `forward(self, image, text)`."""


UNSEEN = (
    "given_scale_ignored",
    "whole_numbers_out",
    "causal_replaces_the_mask",
    "mask_replaces_the_causal",
    "either_mask_allows",
    "all_axes_transposed",  # a single sequence is a matrix, for which .T is correct
    "heads_and_width_exchanged",  # raises an error if the sequences have different lengths
    "mask_added_as_zero_and_one",  # correct for an additive mask without a causal mask
)


def probes() -> tuple[Probe, ...]:
    """Two sequences of different lengths and widths, then of the same; one head and several; context padding; biases."""
    draw = Draw(29)
    held, mixed = draw.weights(7, 7), draw.weights(7, 7, output=7)
    many = draw.weights(12, 12, output=12)
    biased = draw.weights(12, 12, output=12, biases=projections.PARTS)
    outer = with_biases(biased, "output")
    single = draw.weights(7, 7, biases=projections.PARTS[:3])
    heads = {"num_heads": 3}
    padding = (numpy.arange(6) < numpy.array([[4], [6]]))[:, None]
    return (
        Probe("batch", draw.two(4, 6, 7, 7) | held, BATCH),
        Probe("widths", draw.two(4, 6, 7, 5) | draw.weights(7, 7, context_width=5), BATCH),
        Probe("wide", draw.two(4, 6, 5, 5) | draw.weights(5, 7), BATCH),
        Probe("square", draw.two(3, 3, 3, 3) | draw.weights(3, 3), BATCH),
        Probe("one length", draw.two(5, 5, 7, 7) | held, BATCH),
        Probe("one length, causal", draw.two(5, 5, 7, 7) | held | {"is_causal": True}, BATCH),
        Probe("one length, causal, biases", draw.two(5, 5, 7, 7) | single | {"is_causal": True}, BATCH),
        Probe("single", draw.two(4, 6, 7, 7, ()) | held, SINGLE, UNBATCHED),
        Probe("single, wide", draw.two(4, 6, 5, 5, ()) | draw.weights(5, 7), SINGLE, UNBATCHED),
        Probe("biases", draw.two(4, 6, 7, 7) | single, BATCH),
        Probe("padded", draw.two(4, 6, 7, 7) | held | {"mask": padding}, PADDED, within=BATCH),
        Probe("one length, padded", draw.two(5, 5, 7, 7) | held | {"mask": PADDING[:, None]}, PADDED, within=BATCH),
        Probe("output", draw.two(4, 6, 7, 7) | mixed, BATCH),
        Probe("heads", draw.two(4, 6, 12, 12) | many | heads, BATCH),
        Probe("heads, widths", draw.two(4, 6, 12, 8) | draw.weights(12, 12, output=12, context_width=8) | heads, BATCH),
        Probe("heads, one length", draw.two(5, 5, 12, 12) | many | heads, BATCH),
        Probe("heads, one length, causal", draw.two(5, 5, 12, 12) | many | heads | {"is_causal": True}, BATCH),
        Probe("heads, one length, causal, biases", draw.two(5, 5, 12, 12) | biased | heads | {"is_causal": True}, BATCH),
        Probe("heads, biases", draw.two(4, 6, 12, 12) | biased | heads, BATCH),
        Probe("heads, output bias", draw.two(4, 6, 12, 12) | outer | heads, BATCH),
        Probe("heads, padded", draw.two(4, 6, 12, 12) | many | heads | {"mask": padding[:, None]}, PADDED, within=BATCH),
        Probe("heads, padded, biases", draw.two(4, 6, 12, 12) | biased | heads | {"mask": padding[:, None]}, PADDED, within=BATCH),
        Probe("heads without output", draw.two(4, 6, 12, 12) | draw.weights(12, 12) | heads, BATCH),
        Probe("projected", draw.three(4, 6, 5, ()), MATRICES),
        Probe("projected, square", draw.three(5, 5, 5, ()), MATRICES),
        Probe("projected batch", draw.three(4, 6, 5), BATCH),
        Probe("single, biases", draw.two(4, 6, 7, 7, ()) | single, SINGLE, UNBATCHED),
        Probe("single, padded", draw.two(4, 6, 7, 7, ()) | held | {"mask": padding[0]}, SINGLE, UNBATCHED),
        Probe("heads, single", draw.two(4, 6, 12, 12, ()) | many | heads, SINGLE, UNBATCHED),
        Probe("heads, single, biases", draw.two(4, 6, 12, 12, ()) | biased | heads, SINGLE, UNBATCHED),
        Probe("heads, single, padded", draw.two(4, 6, 12, 12, ()) | many | heads | {"mask": padding[0]}, SINGLE, UNBATCHED),
    )


EXERCISE = Exercise(
    name="cross_attention",
    definition=projections.definition,
    recipe=projections.recipe,
    steps=projections.STEPS,
    roles=(
        *SIDES,
        *projections.OPERANDS[1:],
        *projections.WITH_OPTIONAL_OUTPUT,
        projections.NUM_HEADS,
        ROLES("is_cross", neutral=True),
        ROLES.size("query_width", extent("query", -1)),
        ROLES.size("context_width", extent("key", -1)),
        *projections.OPTIONS,
        *projections.SIZES,
    ),
    probes=probes,
    mistakes=(
        *SEQUENCES,
        *WEIGHTS,
        SCALED_BY_CONTEXT,
        SCALED_BY_INPUT,
        *HEADS,
        *OUTPUT,
        *without((*SCORES, *SOFTMAXES, *MIXING, *MASKS), *UNSEEN),
    ),
    conventions=(
        optional(
            Convention(encode=two_sequences, role="context"), Convention(encode=query_and_keys, role="key", without="value"), MEMORY_FIRST
        ),
        WEIGHT_FORMS,
        WITHOUT_OUTPUT,
        CROSS_WRAPPED,
        MASK_FORMS,
        MASK_SHAPES,
        CAUSAL_OVER_CONTEXT,
        UNSCALED_WITH_BIAS,
        POSITIONS_FIRST,
        RETURNS,
    ),
    recoveries=(scale_recovery((None, None)), scale_recovery((2, 3)), leak_recovery((None, None)), leak_recovery((2, 3))),
    fused=projections.FUSED,
)
