"""embed: one row of the table per token id."""

from __future__ import annotations

from typing import Any

import numpy

from headway import functions
from headway.practice.exercise import QUIET, Convention, Exercise, Inputs, Probe, optional
from headway.practice.outputs import Raised
from headway.practice.recipes.conventions import RETURNS
from headway.practice.recipes.measuring import Ask, Measured, factor_of, measured
from headway.practice.roles import Roles, extent
from headway.practice.texts import Texts

TEXTS = Texts("embed")
ROLES = Roles("embed")


def recipe(steps: Any, token_ids: Any, table: Any) -> Any:
    """The definition as named steps: ids, look_up, scale, finish."""
    rows = steps.look_up(table, steps.ids(token_ids, table))
    return steps.finish(steps.scale({"token_ids": token_ids, "table": table}) * rows, token_ids)


STEPS = {
    "look_up": lambda table, token_ids: table[token_ids],
    "scale": lambda inputs: 1.0,
}


def _without_first(table: Any) -> Any:
    return numpy.concatenate([numpy.zeros_like(table[:1]), table[1:]])


MISTAKES = (
    TEXTS.mistake("axes_exchanged", finish=lambda rows, token_ids: numpy.swapaxes(rows, 0, 1) if numpy.ndim(token_ids) > 1 else rows),
    TEXTS.mistake("columns_taken", look_up=lambda table, token_ids: table.T[token_ids]),
    TEXTS.mistake("columns_taken_as_they_lie", look_up=lambda table, token_ids: table[:, token_ids]),
    TEXTS.mistake("ids_counted_from_one", ids=lambda token_ids, table: token_ids - 1),
    TEXTS.mistake("one_row_too_far", ids=lambda token_ids, table: (token_ids + 1) % table.shape[0]),
    TEXTS.mistake("next_row", ids=lambda token_ids, table: token_ids + 1),
    TEXTS.mistake(
        "positions_for_ids",
        ids=lambda token_ids, table: numpy.broadcast_to(numpy.arange(token_ids.shape[-1]) if token_ids.ndim else 0, token_ids.shape),
    ),
    TEXTS.mistake("flattened", finish=lambda rows, token_ids: rows.reshape(-1, rows.shape[-1])),
    TEXTS.mistake("one_hot_too_narrow", look_up=lambda table, token_ids: numpy.eye(int(numpy.max(token_ids)) + 1)[token_ids] @ table),
    TEXTS.mistake("one_hot_returned", look_up=lambda table, token_ids: numpy.eye(table.shape[0])[token_ids]),
    TEXTS.mistake("averaged", finish=lambda rows, token_ids: rows.mean(-2) if numpy.ndim(token_ids) else rows),
    TEXTS.mistake("summed", finish=lambda rows, token_ids: rows.sum(-2) if numpy.ndim(token_ids) else rows),
    TEXTS.mistake("row_zero_is_zeros", look_up=lambda table, token_ids: _without_first(table)[token_ids]),
    TEXTS.mistake("normalised", finish=lambda rows, token_ids: rows / numpy.linalg.norm(rows, axis=-1, keepdims=True)),
    TEXTS.mistake(
        "repeats_left_out",
        finish=lambda rows, token_ids: (
            rows[numpy.sort(numpy.unique(token_ids, return_index=True)[1])] if numpy.ndim(token_ids) == 1 else rows
        ),
    ),
)


def _scale(ask: Ask) -> Measured:
    """Measure the factor on the rows of the table."""
    random = numpy.random.default_rng(2)

    def rows(inputs: Inputs) -> Any:
        answer = ask(inputs)
        if not isinstance(answer, Raised):
            return answer
        again = ask(inputs | {"token_ids": inputs["token_ids"][None]})  # it may need a batch axis
        return again[0] if numpy.ndim(again) == 3 else answer

    examples = [
        {"token_ids": numpy.array([vocab_size - 1, 0, 2]), "table": random.standard_normal((vocab_size, hidden_size))}
        for vocab_size, hidden_size in ((7, 5), (11, 6))
    ]
    return measured(rows, examples, lambda inputs, answer: factor_of(answer, inputs["table"][inputs["token_ids"]]))


RECOVERIES = (
    TEXTS.recovery(
        "scale",
        "scale",
        measure=_scale,
        wrong=lambda number_of: number_of,
        sizes=lambda inputs: {"hidden_size": float(inputs["table"].shape[1]), "vocab_size": float(inputs["table"].shape[0])},
    ),
)

TIMES_ROOT = Convention(TEXTS["scaled_by_root"], steps={"scale": lambda inputs: inputs["table"].shape[1] ** 0.5})


def _as_in_the_paper(ask: Any) -> Convention | None:
    """Return the convention with the factor √hidden_size if that is the measured factor."""
    measured = _scale(ask)
    is_root = measured and all(abs(number - inputs["table"].shape[1] ** 0.5) < 1e-3 for inputs, number in measured)
    return TIMES_ROOT if is_root else None


BATCH = TEXTS["batch"]


def _first_row(answer: Any, inputs: Inputs) -> Any:
    return answer[0] if numpy.ndim(inputs["token_ids"]) == 1 and numpy.ndim(answer) == 3 and len(answer) == 2 else answer


def _two_rows(inputs: Inputs) -> Inputs:
    """Return a sequence as the first of two, so that an operation along the batch shows."""
    ids = inputs["token_ids"]
    return inputs | {"token_ids": numpy.stack([ids, ids[::-1]])} if numpy.ndim(ids) == 1 else inputs


BATCHED = optional(
    Convention(
        TEXTS["one"],
        _two_rows,
        _first_row,
        source=r"shape|size|dim|assert",
    )
)
"""A function that takes any shape, or only a batch of sequences."""


ONE_HOT = Convention(
    TEXTS["one_hot"],
    lambda inputs: inputs | {"token_ids": numpy.eye(len(inputs["table"]))[inputs["token_ids"]]},
    role="token_ids",
    named=r"(?i)^(x|inputs?)$|hot",
    source=r"\A(?!(.|\n)*(=.*\[\w|return.*\[\w|\beye|one_?hot\(|zeros|take|gather|astype|long\(|int))(.|\n)*( @ |dot\(|matmul\()",
)
"""A product with the table in a function that neither looks rows up nor makes one-hot vectors."""


def probes() -> tuple[Probe, ...]:
    """A sequence with repeats, a batch, as many sequences as tokens, a square table, ids without the last one, a single id."""
    random = numpy.random.default_rng(8)

    def table(vocab_size: int, hidden_size: int) -> Any:
        return random.standard_normal((vocab_size, hidden_size))

    return (
        Probe("sequence", {"token_ids": numpy.array([6, 2, 0, 2]), "table": table(7, 5)}),
        Probe("short of the last id", {"token_ids": numpy.array([3, 1, 4, 0]), "table": table(7, 5)}),
        Probe("square table", {"token_ids": numpy.array([3, 1, 4, 0]), "table": table(5, 5)}),
        Probe("without token 0", {"token_ids": numpy.array([5, 6, 1]), "table": table(7, 4)}),
        Probe("batch", {"token_ids": numpy.array([[6, 2, 0], [1, 4, 4]]), "table": table(7, 5)}, BATCH),
        Probe("as many sequences as tokens", {"token_ids": numpy.array([[6, 2, 0], [1, 4, 3], [2, 0, 5]]), "table": table(7, 5)}, BATCH),
        Probe("three axes", {"token_ids": random.integers(0, 7, (2, 3, 4)), "table": table(7, 5)}, TEXTS["more"]),
        Probe("one id", {"token_ids": numpy.array(4), "table": table(7, 5)}, QUIET),
    )


EXERCISE = Exercise(
    name="embed",
    definition=functions.embed,
    recipe=recipe,
    steps=STEPS,
    roles=(
        ROLES("token_ids"),
        ROLES.weight("table"),
        ROLES.size("vocab_size", extent("table", 0)),
        ROLES.size("hidden_size", extent("table", 1)),
    ),
    probes=probes,
    mistakes=MISTAKES,
    conventions=(optional(Convention(reads=_as_in_the_paper)), BATCHED, optional(ONE_HOT), RETURNS),
    recoveries=RECOVERIES,
)
