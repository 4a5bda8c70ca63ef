"""Tensors of the file's own: classes with arithmetic that hold an array, or one number, as `data`, as in micrograd, or under another name."""

from __future__ import annotations

import inspect
import re
from contextlib import suppress
from functools import cache
from typing import Any

import numpy

from headway.practice.diagnosis.calls.timeout import time_limit
from headway.practice.diagnosis.reading.subject import Subject

TENSORS, ALL_TENSORS, VALUES = OWN = ("tensors", "all tensors", "values")
"""Array libraries of a file's own: tensors for floating arrays or for all arrays, and nested lists of numbers with gradients."""

CONSTRUCTING_SECONDS = 0.25
"""CPU seconds for the constructor of a class that may be one of tensors."""

OTHERS = ("numpy", "torch", "jax", "jaxlib", "mlx", "tensorflow", "builtins", "decimal", "fractions", "pathlib", "collections")


KEPT = ("data", "_data", "value", "_value", "array", "_array", "arr", "_arr")
"""Names under which a tensor holds its array."""

DOTTED = r"\b(\w+)\.([A-Z]\w*)"
"""Pattern of a class of an imported package: `minigrad.Tensor`."""


def own_class(subject: Subject) -> type | None:
    """Return the class of tensors in a subject's file, or of a package that the subject names; None if there is none."""
    held = vars(subject.module) if subject.module is not None else {}
    packages = {name: vars(each) for name, each in held.items() if inspect.ismodule(each)}
    named = [*held.values(), *(packages.get(package, {}).get(name) for package, name in re.findall(DOTTED, subject.own_source))]
    found = [each for each in named if inspect.isclass(each) and each.__module__.partition(".")[0] not in OTHERS and _has_arithmetic(each)]
    bases = [each for each in found if not any(each is not other and issubclass(each, other) for other in found)]
    return next((each for each in bases if _kind(each)), None)  # type: ignore[arg-type]


def own_libraries(subject: Subject) -> list[str]:
    """Return the names under which arrays of the file's own class are passed: all of them first if the data of each operand is read."""
    made = own_class(subject)
    kind = _kind(made) if made is not None else None
    if kind == VALUES:
        return [VALUES]
    operands = [each.name for each in subject.parameters if each.default is each.empty]
    reads_all = bool(operands) and all(re.search(rf"\b{re.escape(name)}\.data\b", subject.own_source) for name in operands)
    return ([ALL_TENSORS, TENSORS] if reads_all else [TENSORS, ALL_TENSORS]) if kind else []


def wrapped(value: numpy.ndarray, subject: Subject, library: str) -> Any:
    """Return an array as tensors of the file's own."""
    made = own_class(subject)
    assert made is not None  # the library is one of own_libraries
    if library == VALUES:
        return _listed(value.tolist(), made) if value.dtype.kind == "f" else value.tolist()
    return made(value) if library == ALL_TENSORS or value.dtype.kind == "f" else value


def holds_data(value: Any) -> bool:
    """Return True for an object of a learner's class that holds an array or a number as `data`, or for another of its tensors."""
    return bool(kept_as(value))


def kept_as(value: Any) -> str:
    """Return the name under which an object of a learner's class holds its array or number; empty for other values."""
    if type(value).__module__.partition(".")[0] in OTHERS:
        return ""
    names = KEPT if _has_arithmetic(type(value)) else KEPT[:1]
    found = [name for name in names if _is_kept(value, name)]
    return min(found, key=lambda name: _is_fixed(type(value), name), default="")


def _is_fixed(kind: type, name: str) -> bool:
    """Return True for a property that cannot be set."""
    return isinstance(found := getattr(kind, name, None), property) and found.fset is None


def _is_kept(value: Any, name: str) -> bool:
    try:
        return isinstance(getattr(value, name, None), numpy.ndarray | float)
    except Exception:  # of an attribute that the class computes
        return False


def kept(value: Any) -> Any:
    """Return the array or the number that a learner's tensor holds."""
    return getattr(value, kept_as(value) or "data")


def _listed(value: Any, made: type) -> Any:
    return [_listed(each, made) for each in value] if isinstance(value, list) else made(value)


def _has_arithmetic(value: type) -> bool:
    return all(any(name in vars(base) for base in value.__mro__ if base is not object) for name in ("__add__", "__mul__"))


@cache
def _kind(value: type) -> str | None:
    """Return VALUES for a class that holds one number, TENSORS for one that holds arrays, None for another class."""
    for library, given, kind in ((TENSORS, [1.0, 2.0], numpy.ndarray), (TENSORS, numpy.ones(2), numpy.ndarray), (VALUES, 1.5, float)):
        with suppress(Exception, SystemExit), time_limit(CONSTRUCTING_SECONDS):  # another kind of class
            if isinstance(kept(value(given)), kind):
                return library
    with suppress(Exception, SystemExit), time_limit(CONSTRUCTING_SECONDS):
        return TENSORS if issubclass(value, numpy.ndarray) and isinstance(value(numpy.ones(2)), value) else None
    return None
