"""The trace of a call: every statement that ran, with the values that it made. Plain data, with a JSON form."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from headway.look.trace_json import JsonTrace

SCHEMA = "headway/trace/v1"
"""Name of the JSON format; a field that is removed or changes its meaning needs a new version."""


@dataclass(frozen=True)
class Value:
    """A value under a name.

    name      name in the source, with a path for a leaf of a tree: "weights.query.weight"; "return" for a result
    text      the value as text, for one that is no array; empty for an array
    shape     None for a value that is no array
    axes      name of each axis; empty where it is not known
    minimum, maximum   over the numbers that are not NaN; None if there are none
    numbers   the elements in row-major order, or those at `kept`
    kept      indices along each axis of the elements in `numbers`, if only some are stored; else empty
    """

    name: str
    text: str = ""
    shape: tuple[int, ...] | None = None
    axes: tuple[str, ...] = ()
    dtype: str = ""
    minimum: float | None = None
    maximum: float | None = None
    num_nan: int = 0
    numbers: tuple[float, ...] = ()
    kept: tuple[tuple[int, ...], ...] = ()

    def __post_init__(self) -> None:
        lengths = tuple(map(len, self.kept)) if self.kept else self.shape or ()
        count = 0 if self.shape is None else math.prod(lengths)
        if len(self.numbers) != count or len(lengths) != len(self.shape or ()) or len(self.axes) not in (0, len(self.shape or ())):
            raise TypeError(f"{len(self.numbers)} numbers and {len(self.axes)} axes of {self.name!r:.40} with the shape {self.shape}")


@dataclass(frozen=True)
class Operand:
    """An array that a statement reads, and the axes that it shares with the value that the statement makes.

    name     name of the operand, whose latest value before the statement counts
    of       name of the value
    fixed    (axis of the operand, axis of the value, divisor): an element of the value at index i of its axis depends only on
             index i // divisor of the operand's axis. All other axes of the operand are read completely
    """

    name: str
    of: str
    fixed: tuple[tuple[int, int, int], ...]


@dataclass(frozen=True)
class Step:
    """One run of one statement.

    line      first line of the statement
    values    names that it bound or whose arrays it changed; "return" for the result
    calls     calls of functions that were followed
    """

    line: int
    values: tuple[Value, ...] = ()
    calls: tuple[Call, ...] = ()
    operands: tuple[Operand, ...] = ()


@dataclass(frozen=True)
class Call:
    """One call of a function.

    source       index in Trace.sources
    num_omitted  number of statements that ran after the limit of the recording
    error        the exception that ended the call; empty if it returned
    """

    function: str
    source: int
    arguments: tuple[Value, ...]
    steps: tuple[Step, ...] = ()
    returned: Value | None = None
    num_omitted: int = 0
    error: str = ""


@dataclass(frozen=True)
class Source:
    """The text of a function.

    lines     source lines without the docstring, with their numbers
    equation  equation of the docstring; empty if there is none
    summary   first sentence of the docstring
    """

    file: str
    function: str
    lines: tuple[tuple[int, str], ...]
    equation: str = ""
    summary: str = ""


@dataclass(frozen=True)
class Trace(JsonTrace):
    """A call with the sources of all functions in it.

    axes   sizes of the named axes
    """

    call: Call
    sources: tuple[Source, ...]
    axes: tuple[tuple[str, int], ...] = ()
    schema: str = SCHEMA


def values_of(call: Call) -> Iterator[Value]:
    """Yield the arguments of a call and the values of its own statements."""
    yield from call.arguments
    for step in call.steps:
        yield from step.values


def calls_of(call: Call) -> Iterator[Call]:
    """Yield a call and all calls in it, outer ones first."""
    yield call
    for step in call.steps:
        for inner in step.calls:
            yield from calls_of(inner)
