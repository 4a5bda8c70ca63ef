"""Arguments of constructors that are given so that they change nothing: an object that records a layer, an id that no token has."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from typing import Any

from headway.practice.diagnosis.calls.wording import snake
from headway.practice.diagnosis.reading.subject import Subject
from headway.practice.exercise import Exercise


class Idle:
    """An optimizer or a log that a layer registers itself with: every method does nothing and returns 0."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _nothing


def _nothing(*_: Any, **__: Any) -> int:
    return 0


def observers(parameters: Sequence[inspect.Parameter], subject: Subject) -> dict[str, Any]:
    """Return the parameters for an object that records a layer and computes nothing of its output, with values."""
    names = [each.name for each in parameters if re.fullmatch(OBSERVERS, each.name)]
    return {name: Idle() for name in names if re.search(rf"\b{name}\.\w+\(", subject.used_source)}


OBSERVERS = r"(\w*_)?(optim|optimi[sz]er|logger|writer|tracker|monitor|recorder)"
"""Pattern of the names of parameters for an object that records a layer."""


def stored_as(name: str, subject: Subject) -> str | None:
    """Return the attribute that holds a constructor's parameter, or None."""
    found = re.search(rf"self\.(\w+) *(?::[^=\n]*)?= *{re.escape(name)}\b", subject.code)
    return found[1] if found is not None else None


PADDING_ID = r"pad(ding)?(_token)?(_(id|idx|index))?"
"""Pattern of the name of the id of padding tokens."""

NO_TOKEN = -1
"""Id that no token has, and that a table of vectors takes as that of its last row."""

OF_TOKENS = ("embed", "positioned_embedding", "learned_positions")
"""Exercises that embed tokens, whose vectors a class may set to zeros at padding."""


def padding_ids(parameters: Sequence[inspect.Parameter], subject: Subject, exercise: Exercise) -> dict[str, Any]:
    """Return the parameters for an id of padding that a class compares its tokens with, with one that no token has."""
    names = [each.name for each in parameters if exercise.name in OF_TOKENS and re.fullmatch(PADDING_ID, snake(each.name))]
    held = {name: stored_as(name, subject) or name for name in names}
    return {name: NO_TOKEN for name, field in held.items() if re.search(rf"([!=]= *|\b(eq|ne)\()self\.{field}\b", subject.own_source)}
