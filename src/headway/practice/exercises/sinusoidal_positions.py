"""Sinusoidal positions: sin and cos of position / base^(2i / hidden_size) in alternating columns."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy

from headway import functions
from headway.arrays import cast
from headway.practice.exercise import Convention, Exercise, Inputs, Probe, Step, optional, unchanged
from headway.practice.outputs import Raised
from headway.practice.recipes.conventions import RETURNS
from headway.practice.recipes.measuring import Ask, Measured, angles_of, base_of, first_position, of_waves
from headway.practice.roles import Roles, extent
from headway.practice.texts import Texts

TEXTS = Texts("sinusoidal_positions")
ROLES = Roles("sinusoidal_positions")


def alternate(even: Any, odd: Any) -> Any:
    """Take the even columns of one array and the odd columns of another."""
    return numpy.where(numpy.arange(even.shape[1]) % 2 == 0, even, odd)


def halves(table: Any, interleaved: bool = False) -> Any:
    """Move all even columns before all odd ones."""
    return table if interleaved else numpy.concatenate([table[:, ::2], table[:, 1::2]], axis=1)


def columns(width: int) -> Any:
    """Return the column numbers 0, 1, 2, …."""
    return numpy.arange(width)


def pairs(width: int) -> Any:
    """Return the number of the pair of each column: 0, 0, 1, 1, 2, …."""
    return numpy.arange(width) // 2


def inclusive(width: int) -> Any:
    """Return the exponents from 0 to 1 inclusive."""
    return pairs(width) / max(width // 2 - 1, 1)


STEPS: dict[str, Step] = {
    "positions": lambda length, offset: numpy.arange(length) + offset,
    "exponents": lambda width: 2 * pairs(width) / width,
    "angles": lambda positions, exponents, base: positions[:, None] / base**exponents,
    "waves": lambda angles: alternate(numpy.sin(angles), numpy.cos(angles)),
    "arrange": halves,
    "add": lambda x, table: x + table(x.shape[-2]),
}


IN_HALVES: dict[str, Step] = {"arrange": lambda table, interleaved: halves(table)}
"""The order with all sines before all cosines: a mistake, or a convention where the source states it."""

MISTAKES = (
    TEXTS.mistake("sines_then_cosines", arrange=IN_HALVES["arrange"]),
    TEXTS.mistake("cosine_first", waves=lambda angles: alternate(numpy.cos(angles), numpy.sin(angles))),
    TEXTS.mistake("sine_everywhere", waves=numpy.sin),
    TEXTS.mistake("cosine_everywhere", waves=numpy.cos),
    TEXTS.mistake(
        "turns_by_position",
        waves=lambda angles: numpy.where(numpy.arange(len(angles))[:, None] % 2 == 0, numpy.sin(angles), numpy.cos(angles)),
    ),
    TEXTS.mistake("exponent_by_column_doubled", exponents=lambda width: 2 * columns(width) / width),
    TEXTS.mistake("exponent_by_column", exponents=lambda width: columns(width) / width),
    TEXTS.mistake("exponent_not_doubled", exponents=lambda width: pairs(width) / width),
    TEXTS.mistake("exponent_doubled_twice", exponents=lambda width: 4 * pairs(width) / width),
    TEXTS.mistake("exponent_of_next_pair", exponents=lambda width: 2 * (pairs(width) + columns(width) % 2) / width),
    TEXTS.mistake("last_exponent_is_one", exponents=inclusive),
    TEXTS.mistake("exponent_is_zero", exponents=lambda width: numpy.zeros(width)),
    TEXTS.mistake(
        "logarithm_rounded",
        angles=lambda positions, exponents, base: (
            positions[:, None] * numpy.exp(-exponents * len(exponents) * (math.log(base) // len(exponents)))
        ),
    ),
    TEXTS.mistake(
        "power_divided_by_width",
        angles=lambda positions, exponents, base: positions[:, None] / float(base) ** (exponents * len(exponents)) / len(exponents),
    ),
    TEXTS.mistake("power_of_two_first", angles=lambda positions, exponents, base: positions[:, None] / (base**2 * exponents / 2)),
    TEXTS.mistake("power_of_two_first_divides", angles=lambda positions, exponents, base: positions[:, None] / base**2 * exponents / 2),
    TEXTS.mistake("multiplied_by_power", angles=lambda positions, exponents, base: positions[:, None] * base**exponents),
    TEXTS.mistake("base_ignored", angles=lambda positions, exponents, base: positions[:, None] / 10000.0**exponents),
    TEXTS.mistake("offset_ignored", positions=lambda length, offset: numpy.arange(length)),
    TEXTS.mistake("positions_divided_by_length", positions=lambda length, offset: (numpy.arange(length) + offset) / length),
    TEXTS.mistake("only_first_row_written", finish=lambda table: table * (numpy.arange(len(table)) == 0)[:, None]),
    TEXTS.mistake("rows_all_alike", finish=lambda table: numpy.repeat(table[-1:], len(table), axis=0)),
    TEXTS.mistake("rows_all_position_zero", positions=lambda length, offset: numpy.zeros(length)),
    TEXTS.mistake("transposed", finish=lambda table: table.T),
    TEXTS.mistake("last_column_missing", finish=lambda table: numpy.where(numpy.arange(table.shape[1]) < table.shape[1] - 1, table, 0)),
    TEXTS.mistake(
        "concatenated_with_x", add=lambda x, table: numpy.concatenate([x, numpy.broadcast_to(table(x.shape[-2]), x.shape)], axis=-1)
    ),
    TEXTS.mistake("multiplied_with_x", add=lambda x, table: x * table(x.shape[-2])),
    TEXTS.mistake("position_along_batch", add=lambda x, table: x + table(x.shape[0])[:, None] if x.ndim == 3 else x + table(x.shape[0])),
    TEXTS.mistake("nothing_added", add=unchanged),
)


def _read(ask: Ask, seq_len: int, width: int) -> tuple[Any, Any] | None:
    """Return the waves of a learner's table, as returned or as added to zeros; None if neither works."""
    for inputs in (
        {"seq_len": seq_len, "hidden_size": width},
        {"x": numpy.zeros((2, seq_len, width))},
        {"x": numpy.zeros((seq_len, width))},
    ):
        answer = ask(inputs)
        if isinstance(answer, numpy.ndarray) and answer.shape[-2:] == (seq_len, width) and numpy.isfinite(answer).all():
            table = answer.reshape(-1, seq_len, width)[0].astype(numpy.float64)
            return angles_of(table[:, 1::2], table[:, 0::2])
    return None


def _base(ask: Ask) -> Measured:
    """Measure the base of the geometric series of frequencies; the named mistakes in the exponent give 100, 10⁸ or 10⁻⁴."""
    return of_waves(partial(_read, ask), lambda first, step, width: base_of(step, width, 1.0, 100.0, 1e8, 1e-4))


RECOVERIES = (
    TEXTS.recovery(
        "base",
        "angles",
        measure=_base,
        wrong=lambda number_of: (
            lambda positions, exponents, base: positions[:, None] / (number_of({}) if base == 10000.0 else base) ** exponents
        ),
        right=10000.0,
        right_name="10000",
    ),
    TEXTS.recovery(
        "offset",
        "positions",
        measure=lambda ask: of_waves(partial(_read, ask), first_position),
        wrong=lambda number_of: lambda length, offset: numpy.arange(length) + offset + number_of({}),
        right=0.0,
        right_name="0",
    ),
)


def _refused(answer: Any, inputs: Inputs) -> Any:
    """Return an error for an output of another width with an odd hidden_size, or of three axes for two: it counts as a refusal."""
    if inputs.get("x") is not None and inputs["x"].ndim == 2 and numpy.ndim(answer) == 3:
        return Raised(ValueError(f"an output of shape {answer.shape}"))
    width = inputs["hidden_size"] if inputs.get("x") is None else inputs["x"].shape[-1]
    if width % 2 and isinstance(answer, numpy.ndarray) and answer.shape[-1] in (width - 1, width + 1):
        return Raised(ValueError(f"an output of shape {answer.shape}"))
    is_wide = isinstance(answer, numpy.ndarray) and answer.dtype == numpy.float64
    return answer.astype(numpy.float32) if is_wide else answer  # angles in float32 are correct too


def _with_axis(axis: int) -> Callable[[Any, Inputs], Any]:
    def decode(answer: Any, inputs: Inputs) -> Any:
        is_deep = isinstance(answer, numpy.ndarray) and answer.ndim == 3 and answer.shape[axis] == 1
        return answer.squeeze(axis) if is_deep and inputs.get("x") is None else answer

    return decode


def _sum_of(answer: Any, inputs: Inputs) -> Any:
    if inputs.get("x") is None or not isinstance(answer, numpy.ndarray):
        return answer
    return answer if answer.shape[-2:] != inputs["x"].shape[-2:] else inputs["x"] + answer.astype(numpy.float64)


def _first_sequence(inputs: Inputs) -> Inputs:
    """Return the inputs with the first sequence of a batch in place of all."""
    x = inputs.get("x")
    return inputs if x is None or x.ndim != 3 else inputs | {"x": x[0]}


def _as_positions(inputs: Inputs) -> Inputs:
    x = inputs.get("x")
    return inputs | {"seq_len": numpy.arange(inputs["seq_len"] if x is None else x.shape[-2])}


def _as_tokens(inputs: Inputs) -> Inputs | None:
    """Return token ids in place of embeddings: none is 0, so that a table to which they are added differs."""
    x = inputs.get("x")
    return None if x is None else inputs | {"x": 1 + numpy.arange(x[..., 0].size).reshape(x.shape[:-1])}


def _with_exchanged(axes: tuple[int, int], inputs: Inputs) -> Inputs | None:
    x = inputs.get("x")
    if x is None:
        return inputs
    return inputs | {"x": x.swapaxes(*axes)} if x.ndim == 3 else None


def _exchanged_back(axes: tuple[int, int], answer: Any, inputs: Inputs) -> Any:
    x = inputs.get("x")
    return answer.swapaxes(*axes) if x is not None and x.ndim == 3 and numpy.ndim(answer) == 3 else answer


_rows_first, _batch_first = partial(_with_exchanged, (0, 1)), partial(_exchanged_back, (0, 1))
_channels_first, _channels_last = partial(_with_exchanged, (1, 2)), partial(_exchanged_back, (1, 2))
"""Inputs with two axes of x exchanged, and the outputs with them as they were."""


def _of_one_position(ask: Ask) -> Convention | None:
    """Return the convention of a function that takes one position and returns its row; None if it does not."""

    def row(inputs: Inputs, position: int) -> Any:
        return ask(inputs | {"seq_len": position})

    def table(answer: Any, inputs: Inputs) -> Any:
        rows = [*(row(inputs, position) for position in range(inputs["seq_len"] - 1)), answer]
        return numpy.stack(rows) if len({numpy.shape(each) for each in rows}) == 1 else answer

    def last(inputs: Inputs) -> Inputs | None:
        return None if inputs.get("x") is not None else inputs | {"seq_len": inputs["seq_len"] - 1}

    is_row = numpy.shape(row({"hidden_size": 4}, 3)) == (4,)
    return Convention(TEXTS["takes_one_position"], encode=last, decode=table) if is_row else None


EXCHANGES_CHANNELS = r"\.(permute\(0, *2, *1\)|transpose\((1, *2|2, *1|-1, *-2|-2, *-1)\)|swapaxes\((1, *2|2, *1|-1, *-2|-2, *-1)\))"
CHANNELS_FIRST = (
    rf"\bdef (forward|__call__)\(self, *(?P<x>\w+)\b[^\n]*:((?!\n *def )[\s\S])*\b(?P=x){EXCHANGES_CHANNELS}"
    rf"((?!\n *def )[\s\S])*{EXCHANGES_CHANNELS}"
)
"""Pattern of a layer that exchanges the last two axes of its input, and again those of its output."""


_SEQUENCE_FIRST = partial(Convention, TEXTS["sequence_first"], encode=_rows_first, decode=_batch_first, role="x")

SHAPE_OF_BATCH = r"[\[(] *(batch\w*|bs|b|n) *[,x×] *(seq\w*|src\w*|tgt\w*|\w*len\w*|s|t|l) *[,x×]"
"""Pattern of the shape of sequences with the batch first, in a comment: (batch, positions, width)."""

AXIS_OF_ONE = (
    r"zeros\(\(?[\w.]+, *1, *[\w.]+\)|\[: *\w+\.(size\(0\)|shape\[0\])\]\.unsqueeze\(1\)"
    r"|\b(pe|\w*(emb|enc|table)\w*) *= *[\w.]+\.unsqueeze\((-2|1)\)[\s\S]*(\[: *|\blen\w* *= *|_len\w* *= *)\w+\.(size\(0\)|shape\[0\])"
)
"""Pattern of a table with an axis of one after the positions, for a batch."""

EXCHANGED = r"\.(transpose\((0, *1|1, *0)\)|permute\(1, *0(, *2)?\))"
GIVEN_POSITIONS_FIRST = (
    rf"\b(\w+) *= *\1{EXCHANGED}((?!\n *def |\b\1{EXCHANGED})[\s\S])*\bself\.\w*pos\w*\(\1\)|\bself\.\w*pos\w*\(\w+{EXCHANGED}\)"
)
"""Pattern of a file whose model exchanges the batch and the positions before it calls its layer of positions."""

WIDTHS = (Convention(decode=_refused),)
AXES = optional(
    Convention(TEXTS["leading_axis"], decode=_with_axis(0), role="seq_len"),
    Convention(TEXTS["batch_axis_second"], decode=_with_axis(1), role="seq_len"),
)
TAKES = optional(
    Convention(TEXTS["takes_positions"], encode=_as_positions, role="seq_len"),
    Convention(reads=_of_one_position, role="seq_len", named=r"^(p|t|k|pos(ition)?)$"),
    Convention(
        TEXTS["takes_positions"],
        encode=lambda inputs: None if inputs.get("x") is None else inputs | {"x": numpy.arange(inputs["x"].shape[-2])},
        decode=_sum_of,
        role="x",
        source=r"def (?:forward|__call__)\(self, (\w+)((.|\n)*self\.\w+\[\1\]|(.|\n)*\bouter\(\1\b)",
    ),
    Convention(
        TEXTS["takes_tokens"],
        encode=_as_tokens,
        decode=_sum_of,
        role="x",
        source=r"\n *\(?(\w+), *(\w+)\)? *= *\w+\.(size\(\)|shape)\s",
    ),
    Convention(
        TEXTS["takes_length"],
        encode=lambda inputs: None if inputs.get("x") is None else inputs | {"x": inputs["x"].shape[-2]},
        decode=_sum_of,
        role="x",
        named=r"len|num|size|^[tln]$",
    ),
    _SEQUENCE_FIRST(
        source=r"[\[(] *(seq\w*|src\w*|tgt\w*|s|t|l) *[,x×] *(batch|bs|b|n)\w*|batch_first *(: *bool *)?= *False|sequence[ _-]first",
    ),
    _SEQUENCE_FIRST(
        source=rf"\A(?![\s\S]*{SHAPE_OF_BATCH})[\s\S]*unsqueeze\(0\)\.transpose\(0, *1\)",
    ),
    _SEQUENCE_FIRST(
        source=rf"\A(?![\s\S]*{SHAPE_OF_BATCH})[\s\S]*({AXIS_OF_ONE})",
        file_source=rf"\A(?![\s\S]*(batch_first *(: *bool *)?= *True|{SHAPE_OF_BATCH}))",
    ),
    _SEQUENCE_FIRST(file_source=GIVEN_POSITIONS_FIRST),
)
NAMED_IN_ORDER = (
    r"\b(?P<s>\w*sin(e|es|s)?) *= [^\n]*sin\((.|\n)*\b(?P<c>\w*cos(ine|ines|s)?) *= [^\n]*cos\((.|\n)*"
    r"\b(cat|concat|concatenate|hstack)\(\s*[\[(] *(?P=s), *(?P=c) *[\])]"
)
"""Pattern of a function that makes a table of sines and one of cosines under these names, and joins them in this order, as Tensor2Tensor and CTRL do."""

FORMS = optional(
    Convention(TEXTS["in_halves"], steps=IN_HALVES, called=r"sin_?cos|timing_signal"),
    Convention(TEXTS["in_halves"], steps=IN_HALVES, source=r"(?i)half|depth *= *\w+ *//? *2|arange\((\w+\.)?\w+ *// *2[,)]"),
    Convention(TEXTS["in_halves"], steps=IN_HALVES, source=NAMED_IN_ORDER),
    Convention(TEXTS["tensor2tensor"], steps={**IN_HALVES, "exponents": inclusive}, is_whole=True),
)
"""Tables as in Vaswani et al. 2017, as in MAE and DiT, and as in the program of its authors, which Whisper uses too."""
NORMALIZED = optional(
    Convention(
        TEXTS["normalized"],
        steps={"finish": lambda table: (table - table.mean()) / (10 * table.std(ddof=1))},
        source=r"normali[sz]e(.|\n)*\.std\(\) *\* *10\b",
    )
)
"""A table of mean 0 and standard deviation 1/10, as in tsai and PatchTST."""

OF_ONE_SEQUENCE = (
    r"(?i)\A(?![\s\S]*(batch|shape\[(2|-)|shape *$))[\s\S]*def \w+\((self, *)?(?P<x>\w+)[^)]*\)"
    r"(?=[\s\S]*\b\w*(len|pos|seq|tokens)\w* *= *(?P=x)\.shape\[0\]|[\s\S]*\b\w*(len|pos|seq|tokens)\w*, *\w+ *= *(?P=x)\.shape\b)"
    r"(?=[\s\S]*\b\w*(dim|d_model|width|size|emb)\w* *= *(?P=x)\.(shape\[1\]|shape\b(?!\[)))"
)
"""Pattern of the source of a function that takes the length of x from its first axis and the width from its second: of a matrix."""

ADDS = optional(
    Convention(TEXTS["positions_of_one_sequence"], _first_sequence, _sum_of, role="x", source=OF_ONE_SEQUENCE),
    Convention(TEXTS["positions_only"], decode=_sum_of, role="x"),
    Convention(TEXTS["channels_first"], _channels_first, _channels_last, role="x", source=CHANNELS_FIRST),
    Convention(
        TEXTS["channels_first"],
        _channels_first,
        lambda answer, inputs: _sum_of(_channels_last(answer, inputs), inputs),
        role="x",
        source=CHANNELS_FIRST,
    ),
    Convention(TEXTS["scaled_by_root"], steps={"scale": lambda x: x * x.shape[-1] ** 0.5}, role="x"),
)


def recipe(
    steps: Any,
    seq_len: Any = None,
    hidden_size: Any = None,
    base: float = 10000.0,
    offset: int = 0,
    interleaved: bool = True,
    x: Any = None,
) -> Any:
    """The definition as named steps: positions, exponents, angles, waves, arrange, finish, and scale and add if x is given."""
    if x is not None:
        seq_len, hidden_size = x.shape[-2:]

    def table(length: int) -> Any:
        angles = steps.angles(steps.positions(length, offset), steps.exponents(hidden_size), base)
        return steps.finish(steps.arrange(steps.waves(angles), interleaved))

    return table(seq_len) if x is None else steps.add(steps.scale(x), table)


def definition(
    seq_len: Any = None, hidden_size: Any = None, base: float = 10000.0, offset: int = 0, interleaved: bool = True, x: Any = None
) -> Any:
    """Return the table of headway.functions, or x plus the table if x is given."""
    seq_len, hidden_size = (seq_len, hidden_size) if x is None else x.shape[-2:]
    table = functions.sinusoidal_positions(seq_len, hidden_size, base=base, offset=offset, interleaved=interleaved, like=x)
    return table if x is None else cast(x + table, table.dtype)


BATCH = TEXTS["batch"]


def probes() -> tuple[Probe, ...]:
    """Tables of distinct sizes, a square, an odd width, a long one; another base and first position; x with and without a batch."""
    random = numpy.random.default_rng(11)
    return (
        Probe("table", {"seq_len": 7, "hidden_size": 6}),
        Probe("square", {"seq_len": 8, "hidden_size": 8}),
        Probe("long", {"seq_len": 97, "hidden_size": 12}),
        Probe("odd width", {"seq_len": 5, "hidden_size": 7}, TEXTS["odd"], caution=TEXTS["odd_differs"]),
        Probe("another base", {"seq_len": 7, "hidden_size": 6, "base": 500.0}),
        Probe("another first position", {"seq_len": 5, "hidden_size": 8, "offset": 3}),
        Probe("halves requested", {"seq_len": 5, "hidden_size": 8, "interleaved": False}),
        Probe("added", {"x": random.standard_normal((3, 5, 8))}, BATCH),
        Probe("added, square", {"x": random.standard_normal((6, 6, 6))}, BATCH),
        Probe("added to one sequence", {"x": random.standard_normal((5, 8))}, TEXTS["matrix"]),
    )


EXERCISE = Exercise(
    name="sinusoidal_positions",
    definition=definition,
    recipe=recipe,
    steps=STEPS,
    roles=(
        ROLES.size("seq_len", extent("x", -2)),
        ROLES.size("hidden_size", extent("x", -1)),
        ROLES("x"),
        ROLES("base", neutral=10000.0),
        ROLES("offset", neutral=0),
        ROLES("interleaved", neutral=True),
        ROLES.size("shape", lambda inputs: inputs["x"].shape),
        ROLES.size("num_axes", extent("x", -1), size_override=(("hidden_size",), lambda inputs: inputs["x"].ndim)),
    ),
    probes=probes,
    may_write=True,
    mistakes=MISTAKES,
    conventions=(WIDTHS, TAKES, AXES, FORMS, NORMALIZED, ADDS, RETURNS),
    recoveries=RECOVERIES,
    related=("learned_positions",),
)
