"""Arguments that are given so that they change nothing: an object that records a layer, an id that no token has, a mode of the author's own."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Sequence
from typing import Any

from headway.practice.diagnosis.calls.wording import is_named, snake
from headway.practice.diagnosis.reading.subject import Subject, parsed
from headway.practice.exercise import Exercise


class Idle:
    """An optimizer or a log that a layer registers itself with: every method does nothing and returns 0."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _nothing


def _nothing(*_: Any, **__: Any) -> int:
    return 0


def without_effect(parameters: Sequence[inspect.Parameter], subject: Subject, exercise: Exercise) -> dict[str, Any]:
    """Return the parameters of a constructor that are given so that they change nothing, with values."""
    return observers(parameters, subject) | padding_ids(parameters, subject, exercise) | own_modes(parameters, subject, exercise)


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


HIDES = r"tri[ul]|causal|mask|inf"
"""Pattern of the source of a class in which a mode may hide later positions."""


def own_modes(parameters: Sequence[inspect.Parameter], subject: Subject, exercise: Exercise) -> dict[str, Any]:
    """Return the required flags of an attention that are no operands, such as `decoder: bool` in a class without a mask, with False."""
    if "attention" not in exercise.name or re.search(HIDES, subject.used_source):
        return {}
    listed = [role for role in exercise.roles if role.name != "is_causal"]
    flags = [each.name for each in parameters if each.default is each.empty and each.annotation in (bool, "bool")]
    return {name: False for name in flags if "bias" not in name and not any(is_named(name, role) for role in listed)}


def is_only_tested(name: str, source: str) -> bool:
    """Return True for a name of which nothing but its truth is read: `if cached and self.keys is not None`."""
    nodes = [*ast.walk(parsed(textwrap.dedent(source)))]
    read = [node for node in nodes if isinstance(node, ast.Name) and node.id == name]
    tests = [node.test for node in nodes if isinstance(node, ast.If | ast.IfExp | ast.While)]
    tested = [each for test in tests for each in _tested_in(test)]
    return bool(read) and all(node in tested for node in read)


def _tested_in(test: ast.expr) -> list[ast.expr]:
    """Return the expressions whose truth a condition combines."""
    match test:
        case ast.BoolOp(values=values):
            return [each for value in values for each in _tested_in(value)]
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _tested_in(operand)
    return [test]
