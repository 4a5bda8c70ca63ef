"""The length of a regular expression with its repetitions written out, which bounds the work of one token mask."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from headway.errors import OptionError

MAX_LENGTH = 10_000
"""Longest regular expression with its repetitions written out; at a million, the mask of a token takes seconds."""

ATOM = re.compile(r"\\[pP]\{[^}]*\}|\\.|\[(?:\\.|[^\]\\])*\]|\{(?:\d*,)?(?P<count>\d+),?\}|(?P<open>\()|(?P<close>\))|.", re.DOTALL)


def check_pattern(name: str, pattern: str) -> None:
    """Raise OptionError for a regular expression whose repetitions, written out, are too long.

    name   name of the pattern in the error message
    """
    if (length := expanded_length(pattern)) > MAX_LENGTH:
        raise OptionError(
            f"got {name} with repetitions of {length:,} parts in all, expected at most {MAX_LENGTH:,}",
            hint="use * or +, and limit the length with max_new_tokens",
        )


def expanded_length(pattern: str) -> int:
    """Return the number of characters and classes in a regular expression with its repetitions written out.

    >>> expanded_length(r"(\\d{4}-){2}x")
    11
    """
    groups: list[list[int]] = [[]]
    for match in ATOM.finditer(pattern):
        if match["open"]:
            groups.append([])
        elif match["close"] and len(groups) > 1:
            length = sum(groups.pop())
            groups[-1].append(length)
        elif match["count"] is not None:
            if groups[-1]:
                groups[-1][-1] *= min(int(match["count"][:9]), 10**9)
        else:
            groups[-1].append(1)
    return sum(map(sum, groups))


def patterns_of(schema: object, path: str = "$") -> Iterator[tuple[str, str]]:
    """Yield the path and the text of every regular expression in a JSON Schema, and of every other text at a key named pattern."""
    if isinstance(schema, Mapping):
        for key, value in schema.items():
            if key == "pattern" and isinstance(value, str):
                yield f"{path}.pattern", value
            elif key == "patternProperties" and isinstance(value, Mapping):
                yield from ((f"{path}.patternProperties", pattern) for pattern in value)
            yield from patterns_of(value, f"{path}.{key}")
    elif isinstance(schema, list):
        for place, value in enumerate(schema):
            yield from patterns_of(value, f"{path}[{place}]")
