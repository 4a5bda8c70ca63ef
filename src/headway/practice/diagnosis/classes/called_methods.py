"""The method of a class that computes its part."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from typing import Any

from headway.practice.diagnosis.classes.slots import module_library
from headway.practice.diagnosis.classes.usages import Usage
from headway.practice.diagnosis.reading.subject import DOCSTRING, Subject, defines
from headway.practice.exercise import Exercise
from headway.practice.names import fitting

METHODS = (
    "__call__",
    "forward",
    "call",
    "apply",
    "attend",
    "attention",
    "compute",
    "generate",
    "loss",
    "calculate",
    "calculate_loss",
    "compute_loss",
)
INHERITED = ("forward", "__call__")


def called_method(subject: Subject, exercise: Exercise, examples: Sequence[Usage]) -> str | None:
    """Return the name of the method of a class that computes an exercise's part; None without one.

    examples   calls of the class in its file
    """
    own = [name for name, value in vars(subject.value).items() if not name.startswith("_") and callable(value)]
    defined = [name for name in METHODS if defines(subject.value, name)]
    computed = [name for name in defined if not _is_identity(name, subject)]
    defined = computed or (defined if len(own) == 1 else [])
    if defined:
        return min(defined, key=lambda name: (name != exercise.name, _passes_on(getattr(subject.value, name))))
    computing = [name for name in own if not re.search(r"backward|grad", name.lower())]
    if len(computing) == 1:
        return computing[0]
    named = next((name for name in computing if exercise.name in fitting(name)[0]), None)
    named = named or next((each.method for each in examples if each.method in own), None)
    if named is not None or module_library(subject.value) is None:
        return named
    return next((name for name in INHERITED if callable(getattr(subject.value, name, None))), None)


def _is_identity(method: str, subject: Subject) -> bool:
    """Return True for a method that returns its operand as it is, next to the method that computes the part."""
    return re.search(rf"def {method}\(self, (\w+)[^\n]*:\s*({DOCSTRING})?\s*return \1 *(\n|\Z)", subject.code) is not None


def _passes_on(method: Any) -> bool:
    """Return True for a method that passes any arguments on, such as the __call__ of a base class that calls `forward`."""
    try:
        taken = [*inspect.signature(method).parameters.values()][1:]
    except (TypeError, ValueError):  # an attribute that is no function, such as `loss = 0.0`, and some functions of libraries
        return False
    is_any = [each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD) for each in taken]
    return bool(taken) and (all(is_any) or (any(is_any) and _calls_forward(method)))


def _calls_forward(method: Any) -> bool:
    return "forward" in getattr(getattr(method, "__code__", None), "co_names", ())
