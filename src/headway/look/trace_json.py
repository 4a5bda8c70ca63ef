"""The JSON form of traces: frozen dataclasses, each field under its name."""

from __future__ import annotations

import json
import math
import types
import typing
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Self

from headway.errors import HeadwayError


class TraceError(HeadwayError, ValueError):
    """A JSON trace that is not of the expected schema."""


@dataclass(frozen=True)
class JsonTrace:
    """Base class of traces, which have a field `schema` that names their JSON format."""

    def to_json(self) -> str:
        """Return the trace as JSON. NaN and infinities are the strings "nan", "inf" and "-inf"."""
        return json.dumps(plain(self), ensure_ascii=False, separators=(",", ":"), allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Rebuild a trace.

        Errors   TraceError for another schema, and for values of other types than the fields'.
        """
        schema = next(each.default for each in fields(cls) if each.name == "schema")
        try:
            values = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise TraceError("got text that is not JSON, expected a trace") from error
        found = values.get("schema") if isinstance(values, dict) else None
        if found != schema:
            raise TraceError(
                f"got a trace of schema {found!r:.80}, expected {schema!r}", hint="write it again with this version of Headway"
            )
        try:
            built: Self = _built(cls, values)
        except (KeyError, TypeError, RecursionError) as error:
            raise TraceError(f"got a malformed trace ({error}), expected {schema}") from error
        return built


def plain(value: object) -> object:
    """Return frozen dataclasses as lists and dictionaries that JSON has; NaN and infinities are the strings "nan", "inf" and "-inf"."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, tuple):
        return [plain(each) for each in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: plain(getattr(value, each.name)) for each in fields(value)}
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
