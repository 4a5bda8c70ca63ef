"""Token vectors plus sinusoidal positions, as at the input of the original transformer."""

from __future__ import annotations

from typing import Any

import numpy

from headway import functions
from headway.practice.exercise import Convention, Exercise, Inputs, Probe, Role, optional
from headway.practice.exercises import embed, sinusoidal_positions
from headway.practice.recipes.conventions import RETURNS, one_length
from headway.practice.roles import Roles
from headway.practice.texts import Texts

TEXTS = Texts("positioned_embedding")
MAX_LENGTHS = Roles("sinusoidal_positions").called("seq_len")


def recipe(steps: Any, token_ids: Any, table: Any) -> Any:
    """The definition as named steps: those of the token vectors (ids, look_up), then those of sinusoidal positions."""
    rows = steps.look_up(table, steps.ids(token_ids, table))
    return sinusoidal_positions.recipe(steps, x=rows)


def definition(token_ids: Any, table: Any) -> Any:
    """Add headway.functions' sinusoidal positions to the embedded tokens."""
    return sinusoidal_positions.definition(x=functions.embed(token_ids, table))


STEPS = {**sinusoidal_positions.STEPS, "look_up": embed.STEPS["look_up"]}
OF_TOKENS = ("columns_taken", "ids_counted_from_one", "one_row_too_far", "row_zero_is_zeros")
WITHOUT_EFFECT = ("base_ignored", "offset_ignored", "positions_not_floating", "transposed", "power_of_two_first_divides")
MISTAKES = (
    *(each for each in sinusoidal_positions.MISTAKES if each.name not in WITHOUT_EFFECT),
    *(each for each in embed.MISTAKES if each.name in OF_TOKENS),
)


def _positions_first(inputs: Inputs) -> Inputs | None:
    ids = inputs["token_ids"]
    return inputs | {"token_ids": ids.swapaxes(0, 1)} if ids.ndim == 2 else None


def _as_long(inputs: Inputs) -> Inputs:
    return inputs | {"max_seq_len": inputs["token_ids"].shape[-1]}


def probes() -> tuple[Probe, ...]:
    """Batches of different lengths, a square one, as many tokens as features, a single sequence."""
    random = numpy.random.default_rng(23)

    def drawn(*shape: int, width: int, vocab: int = 11) -> Inputs:
        return {"token_ids": random.integers(0, vocab, shape), "table": random.standard_normal((vocab, width))}

    return (
        Probe("batch", drawn(3, 5, width=8)),
        Probe("square", drawn(4, 4, width=6)),
        Probe("long", drawn(2, 9, width=4, vocab=5)),
        Probe("as many tokens as features", drawn(3, 6, width=6, vocab=7)),
        Probe("one sequence", drawn(5, width=8), TEXTS["one"]),
    )


EXERCISE = Exercise(
    name="positioned_embedding",
    definition=definition,
    recipe=recipe,
    steps=STEPS,
    roles=(
        *embed.EXERCISE.roles,
        Role("max_seq_len", MAX_LENGTHS, is_size=True, size_of=lambda inputs: max(inputs["token_ids"].shape[-1], 16)),
    ),
    probes=probes,
    mistakes=MISTAKES,
    conventions=(
        optional(
            Convention(
                TEXTS["sequence_first"],
                _positions_first,
                lambda answer, inputs: answer.swapaxes(0, 1) if numpy.ndim(answer) == 3 else answer,
                source=r"\A(?!(.|\n)*\(\s*(batch\w*|bs|b)\s*,\s*(seq\w*|s|t|l)\b)(.|\n)*((seq\w*|s|t|l), *(batch|bs|b|n)\w*|pe\[:.*(shape\[0\]|size\(0\)|len\())",
            )
        ),
        optional(Convention(TEXTS["scaled_by_root"], steps={"scale": lambda x: x * x.shape[-1] ** 0.5})),
        RETURNS,
        optional(one_length(_as_long, lambda: [probe.inputs for probe in probes()])),
    ),
)
