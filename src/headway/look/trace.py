"""The trace of a call: every statement that ran, with the values that it made. Plain data, with a JSON form."""

from __future__ import annotations

import json
import math
import types
import typing
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, TypeVar

from headway.errors import HeadwayError

SCHEMA = "headway/trace/v1"
"""Name of the JSON format; a field that is removed or changes its meaning needs a new version."""

T = TypeVar("T")


class TraceError(HeadwayError, ValueError):
    """A JSON trace that is not of the format SCHEMA."""


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
class Trace:
    """A call with the sources of all functions in it.

    axes   sizes of the named axes
    """

    call: Call
    sources: tuple[Source, ...]
    axes: tuple[tuple[str, int], ...] = ()
    schema: str = SCHEMA

    def to_json(self) -> str:
        """Return the trace as JSON. NaN and infinities are the strings "nan", "inf" and "-inf"."""
        return to_json(self)

    @classmethod
    def from_json(cls, text: str) -> Trace:
        """Rebuild a trace.

        Errors   TraceError for text that is not of the format.
        """
        return from_json(cls, text, SCHEMA)


def calls_of(call: Call) -> Iterator[Call]:
    """Yield a call and all calls in it, outer ones first."""
    yield call
    for step in call.steps:
        for inner in step.calls:
            yield from calls_of(inner)


def to_json(data: object) -> str:
    """Return frozen dataclasses as JSON."""
    return json.dumps(_plain(data), ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def from_json(kind: type[T], text: str, schema: str) -> T:
    """Rebuild a dataclass from `to_json`.

    Errors   TraceError for another schema, and for values of other types than the fields'.
    """
    try:
        values = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise TraceError("got text that is not JSON, expected a trace") from error
    found = values.get("schema") if isinstance(values, dict) else None
    if found != schema:
        raise TraceError(f"got a trace of schema {found!r:.80}, expected {schema!r}", hint="write it again with this version of Headway")
    try:
        built: T = _built(kind, values)
    except (KeyError, TypeError, RecursionError) as error:
        raise TraceError(f"got a malformed trace ({error}), expected {schema}") from error
    return built


def _plain(value: object) -> object:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: _plain(getattr(value, each.name)) for each in fields(value)}
    return value


_NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_HINTS: dict[type, dict[str, Any]] = {}


def _built(kind: Any, value: object) -> Any:
    """Return a JSON value as the type of a field; a TypeError if it is of another type."""
    if is_dataclass(kind) and isinstance(kind, type):
        if not isinstance(value, dict):
            raise TypeError(f"{kind.__name__} of {type(value).__name__}")
        hints = _HINTS.setdefault(kind, typing.get_type_hints(kind))
        return kind(**{each.name: _built(hints[each.name], value[each.name]) for each in fields(kind)})
    origin, options = typing.get_origin(kind), typing.get_args(kind)
    if origin is tuple:
        if not isinstance(value, list):
            raise TypeError(f"list of {type(value).__name__}")
        kinds = [options[0]] * len(value) if options[-1] is Ellipsis else list(options)
        if len(kinds) != len(value):
            raise TypeError(f"{len(kinds)} values of {len(value)}")
        return tuple(_built(each, part) for each, part in zip(kinds, value, strict=True))
    if origin is types.UnionType:
        return None if value is None else _built(options[0], value)
    if kind is float:
        if type(value) is str and value in _NOT_FINITE:
            return _NOT_FINITE[value]
        if type(value) in (int, float, bool):
            return value
    elif type(value) is kind:
        return value
    raise TypeError(f"{getattr(kind, '__name__', kind)} of {type(value).__name__}")
