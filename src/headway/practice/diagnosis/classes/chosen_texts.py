"""Texts for the required parameters of a constructor that choose between kinds of its parts: those that the code compares them with."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator, Sequence
from typing import Any

from headway.practice.diagnosis.calls.wording import is_named
from headway.practice.diagnosis.reading.subject import Subject, parsed
from headway.practice.exercise import Exercise

PLAIN = ("layer_?norm|ln", "gelu", "relu", "softmax", "standard|default|none")
"""Patterns of the texts that mean the usual kind of a part, likeliest first."""

DEEPEST = 3
"""Number of calls through which a text is followed."""


def is_text(parameter: inspect.Parameter) -> bool:
    """Return True for a parameter that is annotated as a text."""
    return parameter.annotation in (str, "str")


def chosen_texts(parameters: Sequence[inspect.Parameter], subject: Subject, exercise: Exercise) -> dict[str, str]:
    """Return a text for each required parameter that is annotated as one, has no role, and that the code compares with texts."""
    texts = [each.name for each in parameters if each.default is each.empty and is_text(each)]
    free = [name for name in texts if not any(is_named(name, role) for role in exercise.roles)]
    names = {} if subject.module is None else vars(subject.module)
    known = {name: [*dict.fromkeys(_compared(name, parsed(subject.own_source), names, DEEPEST))] for name in free}
    return {name: _usual(found) for name, found in known.items() if found}


def _usual(texts: Sequence[str]) -> str:
    """Return the text that means the usual kind of a part, or the first one."""
    usual = (text for pattern in PLAIN for text in texts if re.fullmatch(pattern, text, re.IGNORECASE))
    return next(usual, texts[0])


def _compared(name: str, tree: ast.AST, names: dict[str, Any], depth: int) -> Iterator[str]:
    """Yield the texts that code compares a name with, in functions and classes too that it passes the name on to."""
    for node in ast.walk(tree):
        match node:
            case ast.Compare(left=left, comparators=[ast.Constant(value=str(text))]) if _reads(left, name):
                yield text
            case ast.Compare(left=left, comparators=[ast.Tuple(elts=each) | ast.List(elts=each) | ast.Set(elts=each)]) if _reads(
                left, name
            ):
                yield from (item.value for item in each if isinstance(item, ast.Constant) and isinstance(item.value, str))
            case ast.Call(func=ast.Name(id=called)) if depth and (passed := _parameter(node, name, names.get(called))):
                other = names[called]
                yield from _compared(passed, parsed(inspect.getsource(other)), _names_of(other), depth - 1)


def _reads(node: ast.expr, name: str) -> bool:
    """Return True for a name, for the attribute of that name, and for either in small letters."""
    match node:
        case ast.Call(func=ast.Attribute(value=inner, attr="lower" | "strip"), args=[]):
            return _reads(inner, name)
        case ast.Attribute(value=ast.Name(id="self"), attr=attribute):
            return attribute == name
        case ast.Name(id=own):
            return own == name
    return False


def _parameter(call: ast.Call, name: str, called: Any) -> str | None:
    """Return the name under which a function or a class of Python code is given a name; None if it is not, or is no such function."""
    if not (inspect.isfunction(called) or inspect.isclass(called)) or getattr(called, "__module__", "builtins") == "builtins":
        return None
    try:
        bound = inspect.signature(called).bind_partial(*call.args, **{each.arg: each.value for each in call.keywords if each.arg})
        inspect.getsource(called)
    except (TypeError, ValueError, OSError):
        return None
    return next((own for own, value in bound.arguments.items() if isinstance(value, ast.expr) and _reads(value, name)), None)


def _names_of(called: Any) -> dict[str, Any]:
    """Return the names that the code of a function or a class reads."""
    function = called.__init__ if inspect.isclass(called) else called
    return getattr(inspect.unwrap(function), "__globals__", {})
