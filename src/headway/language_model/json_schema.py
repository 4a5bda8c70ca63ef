"""Limits of JSON Schemas, and the part of a schema that cannot be compiled."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping

from headway.errors import OptionError

MAX_DEPTH = 64
"""Deepest nesting of a schema."""

MAX_COMPILED = 512 * 1024
"""Most characters of parts of a schema that are compiled to find the wrong one."""

OF_NAMES = ("properties", "$defs", "definitions", "patternProperties")
OF_PLACES = ("prefixItems", "anyOf", "oneOf", "allOf")
OF_ONE = ("items", "additionalProperties", "additionalItems", "not", "if", "then", "else")


def check_schema(schema: Mapping[str, object], max_bytes: int) -> str:
    """Return a schema as JSON text.

    Errors   OptionError for a value that is not JSON, and for a schema that is too large or nested too deeply.
    """
    if _depth(schema) > MAX_DEPTH:
        raise OptionError(f"got json_schema nested more than {MAX_DEPTH} deep, expected less", hint="use $ref and $defs")
    try:
        text = json.dumps(schema, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise OptionError(f"got json_schema with {error!s:.200}, expected JSON") from error
    if len(text) > max_bytes:
        raise OptionError(f"got json_schema of {len(text):,} bytes, expected at most {max_bytes:,}")
    return text


def _depth(value: object, limit: int = MAX_DEPTH) -> int:
    """Return the depth of nested dicts and lists, at most limit + 1."""
    if not isinstance(value, Mapping | list | tuple) or limit < 0:
        return 0
    return 1 + max((_depth(item, limit - 1) for item in (value.values() if isinstance(value, Mapping) else value)), default=0)


def find_wrong_part(schema: Mapping[str, object], error_of: Callable[[Mapping[str, object]], str]) -> tuple[str, str]:
    """Return the path and the error of the smallest part of a schema that is wrong on its own, such as "$.properties.age".

    schema     a schema with an error
    error_of   returns the error of a schema, "" for none
    """
    definitions = {key: schema[key] for key in ("$defs", "definitions") if key in schema}
    path, part, reason, num_compiled = "$", schema, error_of(schema), 0
    is_found = True
    while is_found:
        is_found = False
        for key, child in _children(part):
            candidate = {**definitions, **child}
            num_compiled += len(json.dumps(candidate))
            if num_compiled > MAX_COMPILED:
                return path, reason
            if error := error_of(candidate):
                path, part, reason, is_found = f"{path}.{key}", child, error, True
                break
    return path, reason


def _children(schema: Mapping[str, object]) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Yield the path and the schema of each direct part."""
    for key in OF_NAMES:
        children = schema.get(key)
        if isinstance(children, Mapping):
            yield from ((f"{key}.{name}", child) for name, child in children.items() if isinstance(child, Mapping))
    for key in OF_PLACES:
        children = schema.get(key)
        if isinstance(children, list):
            yield from ((f"{key}[{place}]", child) for place, child in enumerate(children) if isinstance(child, Mapping))
    yield from ((key, child) for key in OF_ONE if isinstance(child := schema.get(key), Mapping))
