"""Learned positions: one trained row of a table per position, added to the token vector."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy

from headway import functions
from headway.arrays import asarray_like
from headway.practice.exercise import Convention, Exercise, Inputs, Probe, Step, optional, unchanged
from headway.practice.recipes.activations import normed
from headway.practice.recipes.conventions import RETURNS, one_length
from headway.practice.recipes.encoding import batch_first, sequence_first, without
from headway.practice.roles import Roles, extent
from headway.practice.texts import Texts

TEXTS = Texts("learned_positions")
ROLES = Roles("learned_positions")


def recipe(
    steps: Any,
    table: Any,
    x: Any = None,
    positions: Any = None,
    token_ids: Any = None,
    token_table: Any = None,
    offset: int = 0,
    segment_ids: Any = None,
    segment_table: Any = None,
    **sizes: Any,
) -> Any:
    """The definition as named steps: tokens, segments, given, counted, rows, scale, add, finish; only the rows if there is nothing to add them to."""
    if token_ids is not None:
        x = steps.tokens(token_table, token_ids, table)
    if x is None:
        return steps.rows(table, steps.given(positions), None)
    if segment_ids is not None:
        x = steps.segments(x, segment_table, segment_ids)
    at = steps.counted(x.shape[-2], offset) if positions is None else steps.given(positions)
    return steps.finish(steps.add(steps.scale(x), steps.rows(table, at, token_ids), table))


def definition(
    table: Any,
    x: Any = None,
    positions: Any = None,
    token_ids: Any = None,
    token_table: Any = None,
    offset: int = 0,
    segment_ids: Any = None,
    segment_table: Any = None,
    **sizes: Any,
) -> Any:
    """Return headway.functions' learned_positions, added to x or to the embedded token ids if given, with those of their segments as in BERT."""
    if token_ids is not None:
        x = functions.embed(token_ids, token_table)
    if segment_ids is not None:
        x = x + functions.embed(segment_ids, segment_table)
    if x is None:
        return functions.learned_positions(positions, table)
    at = asarray_like(range(offset, offset + x.shape[-2]), table) if positions is None else positions
    return x + functions.learned_positions(at, table)


def along_batch(x: Any, rows: Any, table: Any) -> Any:
    """Add the rows along the first axis."""
    return x + (table[: x.shape[0]][:, None] if x.ndim == 3 else table[: x.shape[0]])


STEPS: dict[str, Step] = {
    "tokens": lambda token_table, token_ids, table: token_table[token_ids],
    "counted": lambda length, offset: numpy.arange(length) + offset,
    "rows": lambda table, at, token_ids: table[at],
    "add": lambda x, rows, table: x + rows,
    "segments": lambda x, segment_table, segment_ids: x + segment_table[segment_ids],
}


MISTAKES = (
    TEXTS.mistake("segments_not_added", segments=lambda x, segment_table, segment_ids: x),
    TEXTS.mistake("counted_from_one", counted=lambda length, offset: numpy.arange(length) + offset + 1),
    TEXTS.mistake("counted_backwards", counted=lambda length, offset: numpy.arange(length)[::-1] + offset),
    TEXTS.mistake("last_rows_taken", rows=lambda table, at, token_ids: table[len(table) - len(at) :] if numpy.ndim(at) else table[at]),
    TEXTS.mistake("row_zero_for_all", rows=lambda table, at, token_ids: table[numpy.zeros_like(at)]),
    TEXTS.mistake("last_row_for_all", rows=lambda table, at, token_ids: table[numpy.full_like(at, numpy.asarray(at).ravel()[-1])]),
    TEXTS.mistake("positions_from_zero_always", given=lambda positions: numpy.arange(positions.shape[-1])),
    TEXTS.mistake("offset_ignored", counted=lambda length, offset: numpy.arange(length)),
    TEXTS.mistake("token_ids_as_positions", rows=lambda table, at, token_ids: table[at if token_ids is None else token_ids]),
    TEXTS.mistake("position_along_batch", add=along_batch),
    TEXTS.mistake("table_not_cropped", add=lambda x, rows, table: x + table),
    TEXTS.mistake("positions_not_added", add=unchanged),
    TEXTS.mistake("x_not_added", add=lambda x, rows, table: numpy.broadcast_to(rows, x.shape)),
    TEXTS.mistake("multiplied", add=lambda x, rows, table: x * rows),
    TEXTS.mistake("concatenated", add=lambda x, rows, table: numpy.concatenate([x, numpy.broadcast_to(rows, x.shape)], axis=-1)),
    TEXTS.mistake(
        "tables_exchanged",
        tokens=lambda token_table, token_ids, table: table[token_ids],
        rows=lambda table, at, token_ids: table[at],
        add=unchanged,
    ),
)


def _ids_as_x(inputs: Inputs) -> Inputs:
    return without(inputs, "token_ids") | {"x": inputs["token_ids"]} if inputs.get("token_ids") is not None else inputs


def _positions_as_ids(inputs: Inputs) -> Inputs:
    is_alone = inputs.get("positions") is not None and inputs.get("x") is None
    return without(inputs, "positions") | {"token_ids": inputs["positions"]} if is_alone else inputs


def _length_of_batch(inputs: Inputs) -> Inputs | None:
    """Return two sequences of other token ids in place of the positions 0, 1, 2, …, for a class that takes their number alone."""
    positions = inputs.get("positions")
    if positions is None or inputs.get("x") is not None or not numpy.array_equal(positions, numpy.arange(len(positions))):
        return None
    return without(inputs, "positions") | {"token_ids": numpy.stack([positions[::-1], (positions * 3 + 1) % len(positions)])}


def _length_of_batch_as_x(inputs: Inputs) -> Inputs | None:
    ids = _length_of_batch(inputs)
    return None if ids is None else _ids_as_x(ids)


UNPACKS_TWO_SIZES = r"\b(b|batch\w*) *, *(t|s|l|seq\w*|length) *= *\w+\.(shape|size\(\))"
"""Pattern of the source of a class that takes the shape of its operand as (batch, positions)."""


def _first_of_batch(answer: Any, inputs: Inputs) -> Any:
    is_batch = isinstance(answer, numpy.ndarray) and answer.ndim == 3 and (answer == answer[:1]).all()
    return answer[0] if is_batch else answer


def _length_only(inputs: Inputs) -> Inputs | None:
    positions = inputs.get("positions")
    if positions is None or inputs.get("x") is not None:
        return inputs
    if not numpy.array_equal(positions, numpy.arange(len(positions))):
        return None
    return without(inputs, "positions") | {"seq_len": len(positions)}


def _with_batch(inputs: Inputs | None) -> Inputs | None:
    """Return a number of positions with one of sequences; None for other inputs."""
    return None if inputs is None or "seq_len" not in inputs else inputs | {"batch_size": 2}


def _listed(inputs: Inputs) -> Inputs:
    return inputs | {name: inputs[name].tolist() for name in ("token_ids", "positions") if inputs.get(name) is not None}


def _without_leading(answer: Any, inputs: Inputs) -> Any:
    is_one = inputs.get("token_ids") is None and numpy.ndim(inputs.get("x", ())) < 3
    return answer[0] if is_one and numpy.ndim(answer) == 3 and len(answer) == 1 else answer


def _sum_of(answer: Any, inputs: Inputs) -> Any:
    x = inputs.get("x")
    is_rows = isinstance(answer, numpy.ndarray) and x is not None and answer.shape[-2:] == x.shape[-2:]
    return x + answer if is_rows else answer


TAKES = (
    Convention(decode=_without_leading),
    Convention(encode=_ids_as_x, decode=_without_leading, role="token_table"),
    Convention(encode=_positions_as_ids, decode=_without_leading, role="token_ids"),
    Convention(
        TEXTS["takes_length_of_ids"], _length_of_batch, _first_of_batch, role="token_ids", without="token_table", source=r"shape|size"
    ),
    Convention(
        TEXTS["takes_length_of_ids"], _length_of_batch_as_x, _first_of_batch, role="x", without="token_table", source=UNPACKS_TWO_SIZES
    ),
    Convention(TEXTS["takes_number_positions"], encode=_length_only, decode=_without_leading, role="seq_len"),
    Convention(
        TEXTS["takes_number_positions"],
        encode=lambda inputs: _with_batch(_length_only(inputs)),
        decode=_first_of_batch,
        role="batch_size",
    ),
)
IN_COLUMNS = r"\A(?!(.|\n)*(\(\s*(batch\w*|bs|b)\s*,\s*(seq\w*|s|t|l)\b|batch_first))(?=(.|\n)*\(\w+, *1, *\w+\))(.|\n)*\[: *\w+\.(shape\[0\]|size\(0\))\]"
"""Pattern of the source of a class whose table has an axis for the batch after the positions, and that counts these along the first axis of its ids."""

ORDERS = optional(
    Convention(
        TEXTS["sequence_first"], sequence_first, batch_first, role="token_table", source=IN_COLUMNS, file_source=r"\A(?!(.|\n)*batch_first)"
    )
)
LISTS = optional(Convention(encode=_listed, role="token_ids"))


def _as_long(inputs: Inputs) -> Inputs | None:
    """Return a table of as many rows as the sequence has tokens; None for other positions than the first ones."""
    length = _length(inputs)
    if length is None or inputs.get("positions") is not None or inputs.get("offset"):
        return None
    return inputs | {"table": inputs["table"][:length], "max_seq_len": length}


def _shorter() -> list[Inputs]:
    with_x = [probe.inputs for probe in probes() if _as_long(probe.inputs) is not None]
    return [inputs for inputs in with_x if _length(inputs) < len(inputs["table"]) and "offset" not in inputs]


def _as_patches(inputs: Inputs) -> Inputs | None:
    """Return a table of as many rows as there are patches, and one for the class token."""
    found = _as_long(inputs)
    return None if found is None else found | {"max_seq_len": found["max_seq_len"] - 1}


LENGTHS = optional(one_length(_as_long, _shorter))
PATCHES = optional(one_length(_as_patches, _shorter, named="constructor__.*patch"))
ADDS = optional(
    Convention(TEXTS["rows_only"], decode=_sum_of, role="x"),
    Convention(TEXTS["scaled_by_root"], steps={"scale": lambda x: x * x.shape[-1] ** 0.5}, called=r"."),
)

NORMS = optional(
    *(
        Convention(TEXTS["normalized"], steps={"finish": partial(normed, eps=eps)}, role="token_table", source=r"(?i)norm")
        for eps in (1e-5, 1e-12, 1e-6)
    )
)
"""The norm of BERT after the sum, with the eps of torch, of BERT, or of Flax."""

BATCH = TEXTS["batch"]
ONE = TEXTS["one"]
OFFSET = TEXTS["offset"]


def probes() -> tuple[Probe, ...]:
    """Rows alone, rows added to vectors, rows added to embedded tokens; shorter than the table, as long, with an offset."""
    random = numpy.random.default_rng(17)
    table, token_table = random.standard_normal((11, 6)), random.standard_normal((13, 6))
    ids, batch_ids = numpy.array([9, 2, 2, 10, 0]), numpy.array([[3, 1, 4, 1, 10], [5, 9, 2, 6, 5], [0, 3, 8, 7, 1]])
    tokens = {"table": table, "token_table": token_table}
    segments = {"segment_ids": numpy.array([[0, 0, 1, 1, 1]] * 3), "segment_table": random.standard_normal((2, 6))}
    return (
        Probe("rows", {"positions": numpy.arange(5), "table": table}),
        Probe("rows in another order", {"positions": numpy.array([4, 0, 7, 7, 2]), "table": table}),
        Probe("added", {"x": random.standard_normal((3, 5, 6)), "table": table}, BATCH),
        Probe("added, square", {"x": random.standard_normal((6, 6, 6)), "table": table}, BATCH),
        Probe("added to one sequence", {"x": random.standard_normal((5, 6)), "table": table}, ONE),
        Probe("added, as long as the table", {"x": random.standard_normal((2, 11, 6)), "table": table}, BATCH),
        Probe("added, at positions", {"x": random.standard_normal((5, 6)), "table": table, "positions": numpy.array([4, 0, 7, 7, 2])}, ONE),
        Probe("added with an offset", {"x": random.standard_normal((3, 5, 6)), "table": table, "offset": 3}, OFFSET),
        Probe("tokens", {"token_ids": ids, **tokens}, ONE),
        Probe("tokens in a batch", {"token_ids": batch_ids, **tokens}, BATCH),
        Probe("tokens, as long as the table", {"token_ids": numpy.arange(22).reshape(2, 11) * 5 % 13, **tokens}, BATCH),
        Probe("tokens with segments", {"token_ids": batch_ids, **tokens, **segments}, BATCH),
        Probe(
            "tokens of one segment", {"token_ids": batch_ids + 1, **tokens, **segments, "segment_ids": numpy.ones_like(batch_ids)}, BATCH
        ),
        Probe("tokens with an offset", {"token_ids": batch_ids, **tokens, "offset": 4}, OFFSET),
    )


def _length(inputs: Inputs) -> Any:
    x, ids = inputs.get("x"), inputs.get("token_ids")
    return len(ids[0]) if ids is not None and numpy.ndim(ids) == 2 else x.shape[-2] if x is not None and x.ndim > 1 else None


EXERCISE = Exercise(
    name="learned_positions",
    definition=definition,
    recipe=recipe,
    steps=STEPS,
    roles=(
        *ROLES.each("x", "positions", "token_ids"),
        ROLES.weight("token_table", is_optional=True),
        ROLES.weight("table"),
        ROLES("segment_ids"),
        ROLES.weight("segment_table", is_optional=True),
        ROLES("offset", neutral=0),
        ROLES("batch_size", neutral=1),
        ROLES.size("vocab_size", extent("token_table", 0)),
        ROLES.size("max_seq_len", extent("table", 0)),
        ROLES.size("num_segments", lambda inputs: len(inputs.get("segment_table", "01"))),
        ROLES.size("hidden_size", extent("table", 1)),
        ROLES.size("seq_len", _length),
    ),
    probes=probes,
    may_write=True,
    mistakes=MISTAKES,
    conventions=(ORDERS, TAKES, LISTS, ADDS, NORMS, RETURNS, LENGTHS, PATCHES),
)
