"""Sentence templates with choices and references, parsed once and cached.

A line is plain text in which `[a|b|c]` is a choice (nested at will), `{key}` or `{key.form}` a reference to the cast,
and `^` makes the next letter a capital where the sentence before it ended inside a quotation.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .world import World

_TOKEN = re.compile(r"[\[\]|]|\{[^}]*\}|[^\[\]|{]+")
_CAPITAL = re.compile(r'(^|[.!?] |[.]" |\^)("?)([a-z])')
_ARTICLE = re.compile(r"\b([Aa]) (?=(?!one\b|once\b|use|unicorn|uniform|uke)[aeiouAEIOU]|hour|honest)")


@cache
def parse(line: str) -> list[Any]:
    """Parse a line into texts (str), references (tuple) and choices (list of lists)."""
    tokens = _TOKEN.findall(line)
    nodes, position = _sequence(tokens, 0)
    if position != len(tokens):
        raise ValueError(f"got {line!r}, expected as many ] as [")
    return nodes


def _sequence(tokens: list[str], position: int) -> tuple[list[Any], int]:
    nodes: list[Any] = []
    while position < len(tokens) and tokens[position] not in ("]", "|"):
        token = tokens[position]
        position += 1
        if token == "[":
            options = []
            while True:
                option, position = _sequence(tokens, position)
                options.append(option)
                position += 1
                if tokens[position - 1] == "]":
                    break
            nodes.append(options)
        elif token[0] == "{":
            key, _, form = token[1:-1].partition(".")
            nodes.append((key, form))
        else:
            nodes.append(token)
    return nodes, position


def realise(nodes: list[Any], world: World, out: list[str]) -> None:
    """Append the words of a parsed line to `out`; the world's random generator makes the choices."""
    for node in nodes:
        kind = node.__class__
        if kind is str:
            out.append(node)
        elif kind is list:
            realise(node[int(world.random() * len(node))], world, out)
        else:
            entry = world.cast[node[0]]
            out.append(entry if entry.__class__ is str else entry.form(node[1], world))


def finish(text: str) -> str:
    """Return the text with capitals at the starts of sentences and `an` before vowels."""
    text = _CAPITAL.sub(_capital, text)
    return _ARTICLE.sub(r"\1n ", text.replace("^", ""))


def _capital(match: re.Match[str]) -> str:
    before, quote, letter = match.groups()
    return ("" if before == "^" else before) + quote + letter.upper()


def possessive(name: str) -> str:
    """Return the possessive of a name: Mia's."""
    return f"{name}'s"
