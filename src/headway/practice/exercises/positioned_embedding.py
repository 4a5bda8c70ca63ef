"""Token vectors plus sinusoidal positions, as at the input of the original transformer."""

from __future__ import annotations

from typing import Any

import numpy

from headway import functions
from headway.practice.exercise import Convention, Exercise, Inputs, Probe, Role, optional
from headway.practice.exercises import embed, sinusoidal_positions
from headway.practice.recipes.conventions import RETURNS, one_length
from headway.practice.recipes.encoding import batch_first, sequence_first
from headway.practice.roles import Roles
from headway.practice.texts import Texts

TEXTS = Texts("positioned_embedding")
MAX_LENGTHS = Roles("sinusoidal_positions").called("seq_len")
OF_SEGMENTS = Roles("learned_positions")


def recipe(steps: Any, token_ids: Any, table: Any, segment_ids: Any = None, segment_table: Any = None) -> Any:
    """The definition as named steps: those of the token vectors (ids, look_up), segments, then those of sinusoidal positions."""
    rows = steps.look_up(table, steps.ids(token_ids, table))
    rows = rows if segment_ids is None else steps.segments(rows, segment_table, segment_ids)
    return sinusoidal_positions.recipe(steps, x=rows)


def definition(token_ids: Any, table: Any, segment_ids: Any = None, segment_table: Any = None) -> Any:
    """Add headway.functions' sinusoidal positions to the embedded tokens, and the vectors of their segments if given, as in BERT."""
    rows = functions.embed(token_ids, table)
    return sinusoidal_positions.definition(x=rows if segment_ids is None else rows + functions.embed(segment_ids, segment_table))


STEPS = {
    **sinusoidal_positions.STEPS,
    "look_up": embed.STEPS["look_up"],
    "segments": lambda rows, segment_table, segment_ids: rows + segment_table[segment_ids],
}
OF_TOKENS = ("columns_taken", "ids_counted_from_one", "one_row_too_far", "row_zero_is_zeros")
WITHOUT_EFFECT = ("base_ignored", "offset_ignored", "positions_not_floating", "transposed", "power_of_two_first_divides")
MISTAKES = (
    *(each for each in sinusoidal_positions.MISTAKES if each.name not in WITHOUT_EFFECT),
    *(each for each in embed.MISTAKES if each.name in OF_TOKENS),
    Texts("learned_positions").mistake("segments_not_added", segments=lambda rows, segment_table, segment_ids: rows),
)


def _as_long(inputs: Inputs) -> Inputs:
    return inputs | {"max_seq_len": inputs["token_ids"].shape[-1]}


def probes() -> tuple[Probe, ...]:
    """Batches of different lengths, a square one, as many tokens as features, a single sequence."""
    random = numpy.random.default_rng(23)

    def drawn(*shape: int, width: int, vocab: int = 11) -> Inputs:
        return {"token_ids": random.integers(0, vocab, shape), "table": random.standard_normal((vocab, width))}

    def with_segments(inputs: Inputs, num_first: int) -> Inputs:
        ids, width = inputs["token_ids"], inputs["table"].shape[-1]
        of_second = numpy.broadcast_to(numpy.arange(ids.shape[-1]) >= num_first, ids.shape).astype(numpy.int64)
        return inputs | {"segment_ids": of_second, "segment_table": random.standard_normal((2, width))}

    return (
        Probe("batch", drawn(3, 5, width=8)),
        Probe("square", drawn(4, 4, width=6)),
        Probe("long", drawn(2, 9, width=4, vocab=5)),
        Probe("as many tokens as features", drawn(3, 6, width=6, vocab=7)),
        Probe("one sequence", drawn(5, width=8), TEXTS["one"]),
        Probe("segments", with_segments(drawn(3, 5, width=8), 2)),
        Probe("segments of another length", with_segments(drawn(2, 9, width=4, vocab=5), 6)),
    )


EXERCISE = Exercise(
    name="positioned_embedding",
    definition=definition,
    recipe=recipe,
    steps=STEPS,
    roles=(
        *embed.EXERCISE.roles,
        OF_SEGMENTS("segment_ids"),
        OF_SEGMENTS.weight("segment_table", is_optional=True),
        OF_SEGMENTS.size("num_segments", lambda inputs: len(inputs.get("segment_table", "01"))),
        Role("max_seq_len", MAX_LENGTHS, is_size=True, size_of=lambda inputs: max(inputs["token_ids"].shape[-1], 16)),
    ),
    probes=probes,
    mistakes=MISTAKES,
    conventions=(
        optional(
            Convention(
                TEXTS["sequence_first"],
                sequence_first,
                batch_first,
                source=r"\A(?!(.|\n)*\(\s*(batch\w*|bs|b)\s*,\s*(seq\w*|s|t|l)\b)(.|\n)*((seq\w*|s|t|l), *(batch|bs|b|n)\w*|pe\[:.*(shape\[0\]|size\(0\)|len\())",
            )
        ),
        optional(Convention(TEXTS["scaled_by_root"], steps={"scale": lambda x: x * x.shape[-1] ** 0.5})),
        RETURNS,
        optional(one_length(_as_long, lambda: [probe.inputs for probe in probes()])),
    ),
)
