"""Text that is safe to show: no control characters, and not too long."""

from __future__ import annotations

import unicodedata
from dataclasses import fields, is_dataclass, replace
from typing import TypeVar

from headway.practice.message import Message
from headway.practice.verdict import Edit

MAX_CHARS = 2000

REMOVED = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
"""Unicode categories that are not shown: control, format (which reverses text), surrogates, unassigned, line and paragraph separators."""

T = TypeVar("T")


def printable(text: str, max_chars: int = MAX_CHARS) -> str:
    """Return text as one line, with control characters written as \\x1b, and cut to a length."""
    cut = text[:max_chars] + ("…" if len(text) > max_chars else "")
    return "".join(each if unicodedata.category(each) not in REMOVED else _written(each) for each in cut)


def all_printable(value: T) -> T:
    """Return a dataclass with every text in it made printable, also in the dataclasses and tuples that it holds."""
    if isinstance(value, str):
        return printable(value)  # type: ignore[return-value]
    if isinstance(value, tuple):
        return tuple(map(all_printable, value))  # type: ignore[return-value]
    if isinstance(value, Message):
        return Message(printable(value.en), printable(value.zh))  # type: ignore[return-value]
    if isinstance(value, Edit):  # code keeps its lines
        return value
    if is_dataclass(value) and not isinstance(value, type):
        changed = {each.name: all_printable(getattr(value, each.name)) for each in fields(value) if each.compare}
        return replace(value, **changed)
    return value


def _written(character: str) -> str:
    return " " if character in "\t\r\n" else character.encode("unicode_escape").decode("ascii")
