"""Removal of Headway's own answers from the process that answers the judge's questions.

The process still needs an exercise's roles, conventions and ways to call a subject. Every other function of the definitions and of the
exercises is made to raise, in place, so that a reference to it found in a frame, in a module or among all objects is of no use.
"""

from __future__ import annotations

import functools
import gc
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from headway.practice.diagnosis.adapters import LOSSES, adapter
from headway.practice.diagnosis.classes.given_model import with_model
from headway.practice.exercise import Convention, Exercise

ANSWERS = ("headway.functions", "headway.practice.exercises", "headway.practice.recipes", "headway.practice.workbook")
"""Modules in which functions compute answers."""


def blinded(exercises: Sequence[Exercise], others: Sequence[Any], *, is_open: bool) -> list[Exercise]:
    """Return the exercises without their answers, and make the functions that compute them raise, except those that `others` use.

    is_open   True to leave headway.functions as it is
    """
    own = [_without_answers(each) for each in exercises]
    kept = _reachable([*(each for exercise in own for each in _needed(exercise)), *others])
    gc.unfreeze()  # get_objects leaves out what the server has frozen
    for each in [each for each in gc.get_objects() if type(each) in (FunctionType, functools._lru_cache_wrapper) and id(each) not in kept]:
        if type(each) is not FunctionType:
            if str(each.__module__).startswith("headway."):
                each.cache_clear()
        elif str(each.__module__).startswith(ANSWERS[is_open:]):
            _disable(each)
    return own


def _without_answers(exercise: Exercise) -> Exercise:
    probes = exercise.probes()
    conventions = tuple(tuple(replace(each, steps={}, decode=Convention().decode) for each in group) for group in exercise.conventions)
    return replace(
        exercise,
        definition=_nothing,
        recipe=_nothing,
        steps={},
        mistakes=(),
        recoveries=(),
        conventions=conventions,
        probes=lambda: probes,
    )


def _needed(exercise: Exercise) -> Iterable[Any]:
    yield from (adapter(each) for each in (exercise.calls, exercise.class_calls) if each)
    yield from [with_model] if exercise.name in LOSSES else []
    yield from ((role.neutral, role.off, role.size_of, role.size_override) for role in exercise.roles)
    yield from ((each.encode, each.reads, each.by_number) for group in exercise.conventions for each in group)
    yield from (probe.inputs for probe in exercise.probes())


def _nothing(*positional: Any, **named: Any) -> Any:
    raise NotImplementedError("Headway's own answers are not available to the code that is judged")


def _disable(function: FunctionType) -> None:
    """Replace a function's code; the new code has as many free variables."""
    names = [f"free_{place}" for place in range(len(function.__code__.co_freevars))]
    if not names:
        function.__code__ = _nothing.__code__
        return
    function.__code__ = _raising_with(len(names))


@functools.cache
def _raising_with(count: int) -> CodeType:
    names = [f"free_{place}" for place in range(count)]
    lines = [
        "def outer():",
        f"    {' = '.join(names)} = None",
        "    def raising(*positional, **named):",
        f"        {', '.join(names)}",
        "        raise NotImplementedError('not available to the code that is judged')",
        "    return raising",
    ]
    scope: dict[str, Any] = {}
    exec("\n".join(lines), scope)
    code: CodeType = scope["outer"]().__code__
    return code


def _reachable(roots: Iterable[Any]) -> set[int]:
    """Return the ids of the functions that calls of the roots can reach by name, closure, default or class."""
    seen: set[int] = set()
    waiting = list(roots)
    kept_alive = []
    while waiting:
        value = waiting.pop()
        if id(value) in seen or value is None or isinstance(value, str | bytes | int | float):
            continue
        seen.add(id(value))
        kept_alive.append(value)
        waiting += _neighbours(value)
    return seen


def _neighbours(value: Any) -> list[Any]:
    if isinstance(value, FunctionType):
        return _named_by(value) if str(value.__module__).startswith("headway") else []
    if isinstance(value, MethodType):
        return [value.__func__, value.__self__]
    if isinstance(value, functools.partial):
        return [value.func, *value.args, *value.keywords.values()]
    if isinstance(value, staticmethod | classmethod | property):
        return [getattr(value, name, None) for name in ("__func__", "fget")]
    if isinstance(value, functools.cached_property):
        return [value.func]
    if isinstance(value, tuple | list | set | frozenset):
        return list(value)
    if isinstance(value, dict):
        return list(value.values())
    if isinstance(value, type):
        return [*vars(value).values(), *value.__bases__] if value.__module__.startswith("headway") else []
    if hasattr(value, "__wrapped__"):
        return [value.__wrapped__]
    if type(value).__module__.startswith("headway"):
        return [type(value), *getattr(value, "__dict__", {}).values()]
    return []


def _named_by(function: FunctionType) -> list[Any]:
    names = _names(function.__code__)
    values: list[Any] = [cell.cell_contents for cell in function.__closure__ or () if _is_filled(cell)]
    values += [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    values += [function.__globals__[name] for name in names if name in function.__globals__]
    values += [sys.modules[name] for name in names if name in sys.modules]
    found = []
    for value in values:
        if not isinstance(value, ModuleType):
            found.append(value)
        elif value.__name__.startswith("headway"):
            found += [vars(value)[name] for name in names if name in vars(value)]
    return found


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:
        return False


def _names(code: CodeType) -> set[str]:
    inner = [each for each in code.co_consts if isinstance(each, CodeType)]
    return set(code.co_names).union(*map(_names, inner))
