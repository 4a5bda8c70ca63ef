"""An attention without its rotary or relative positions and without the norms of its queries and keys.

Rotations differ in their pairs, signs, tables, bases and scaling, and an attention uses one of them as a part. In its place the sign is
turned: the scores stay the same if queries and keys are treated alike, and a part that is applied to the values or to one of the two shows.
Vectors that are turned already are refused, because two turns would undo each other.
A part that changes the lengths of vectors rotates nothing, and stays.
A learned table of relative positions is filled with zeros, which add nothing to the scores.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import re
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import ModuleType
from typing import Any

import numpy

from headway.practice.diagnosis.calls.compare import as_numbers
from headway.practice.diagnosis.calls.rotation import same
from headway.practice.diagnosis.calls.wording import snake
from headway.practice.diagnosis.classes.slots import is_module
from headway.practice.diagnosis.reading.subject import Subject, parameters_of
from headway.practice.names import fitting
from headway.practice.recipes.rotation import ROPE

PART = rf"{ROPE}|rotary|rot_?emb"
NORM = r"^(ln|norm)_?(qk?|k|quer(y|ies)|keys?)$|^(qk?|k|quer(y|ies)|keys?)_?(rms|layer)?_?(ln|norm)$"
RELATIVE = r"relative|rel_?(pos|bias|emb|att|dist|key|[kv]_?emb)|distance_?(emb|bias)"
"""Pattern of the source of an attention with relative positions, and of the names of its tables."""

OF_ONE_LETTER = r"er?(_?(table|emb|embedding))?"
"""Pattern of the name of such a table in the papers about them."""

SOURCE = rf"{PART}|{RELATIVE}|{NORM.replace('^', chr(92) + 'b').replace('$', chr(92) + 'b')}|apply_rot"
"""Pattern of the source of an attention that may have such parts."""

TABLE = r"(cos|sin|freqs?|angles?|emb|table)\w*\s*(,\s*\w+\s*)?=\s*self\.{name}\("
"""Pattern of a use of a part that computes tables and rotates nothing."""

UNEVEN = "is_uneven"
"""Attribute of a replaced part whose own outputs are no rotations."""


def turns_unevenly(instance: Any) -> bool:
    """Return True if the own rotation of an instance without it changes the lengths of vectors by several numbers."""
    return any(getattr(part, UNEVEN, False) is True for part in getattr(instance, "__dict__", {}).values())


def leaves_out_rotation(before: str, after: str) -> bool:
    """Return True if code calls a rotation that it does not call after a change."""
    return len(re.findall(PART, before)) > len(re.findall(PART, after))


def turned(*operands: Any, **named: Any) -> Any:
    """Return the queries, or the queries and the keys, with the other sign."""
    found = same(*operands, **named)
    return tuple(-each for each in found) if isinstance(found, tuple) else -found


def _kept(function: Callable[..., Any], own: Callable[..., Any], *, is_bound: bool = False) -> Callable[..., Any]:
    """Return a function with the same parameters that returns -query, and -key if it takes one, as long as its own outputs are rotations.

    own   the function as the instance calls it
    """
    recent: deque[numpy.ndarray] = deque(maxlen=4)
    names = [each.name for each in parameters_of(function, is_bound=is_bound)]
    if not names:  # an absent part takes any operands
        return turned
    wanted = [name for name in names if re.fullmatch(r"_?(x?q|query|queries|q_\w+|query_\w+|x?k|keys?|k_\w+|key_\w+)", name)][:2]
    signature = inspect.signature(function)

    def kept(*operands: Any, **named: Any) -> Any:
        given = signature.bind(*([None, *operands] if is_bound else operands), **named).arguments
        before = [given[name] for name in (wanted or names[:1]) if name in given]
        if any(each.size and numpy.array_equal(each, other) for each in map(_sorted, before) for other in recent):
            raise ValueError("got vectors that are rotated already, expected others")
        turned = [-each for each in before]
        lengths = [_lengths(each) for each in before]
        try:
            answer = own(*operands, **named)
        except Exception:  # tables of other sizes
            answer = before[0]
        after = answer if isinstance(answer, tuple | list) else [answer]
        if len(after) == len(before) and not all(itertools.starmap(_is_scaled, zip(lengths, map(_lengths, after), strict=True))):
            setattr(kept, UNEVEN, True)
            return answer
        recent.extend(map(_sorted, turned))
        return turned[0] if len(turned) == 1 else tuple(turned)

    return kept


def _sorted(vectors: Any) -> numpy.ndarray:
    """Return all numbers of an array in order, which are the same after a split into heads or a transpose.

    Those of a tracer are empty, and those that a turn of the sign does not change, such as zeros.
    """
    with suppress(Exception):
        numbers = numpy.sort(as_numbers(vectors), axis=None)
        return numbers[:0] if numpy.array_equal(numbers, -numbers[::-1]) else numbers
    return numpy.empty(0)


def _lengths(vectors: Any) -> numpy.ndarray | None:
    """Return the lengths of vectors of even width, which can be rotated, or None."""
    with suppress(Exception):  # a tracer, or no array
        numbers = as_numbers(vectors)
        if isinstance(numbers, numpy.ndarray) and numbers.dtype.kind == "f" and numbers.shape[-1:] and numbers.shape[-1] % 2 == 0:
            with numpy.errstate(all="ignore"):
                return numpy.asarray(numpy.sqrt((numbers.astype(numpy.float64) ** 2).sum(axis=-1)))
    return None


def _is_scaled(before: numpy.ndarray | None, after: numpy.ndarray | None) -> bool:
    """Return True if all lengths are multiplied by one number, and for vectors of other shapes."""
    if before is None or after is None or before.shape != after.shape or not before.all():
        return True
    with numpy.errstate(all="ignore"):
        ratios = after / before
    return bool(numpy.isfinite(ratios).all() and numpy.ptp(ratios) <= 1e-3 * abs(ratios).max(initial=0.0))


def rotations(module: ModuleType | None) -> dict[str, Any]:
    """Return the functions of a file that rotate, each replaced by one that turns the sign, and the dicts of such functions by their kinds."""
    found = {} if module is None else vars(module)
    return {name: _turning(value) for name, value in found.items() if _rotates(name) and _is_rotation(value)}


def _is_rotation(value: Any) -> bool:
    """Return True for a function, and for a dict of functions."""
    return inspect.isfunction(value) or (isinstance(value, dict) and bool(value) and all(map(inspect.isfunction, value.values())))


def _turning(value: Any) -> Any:
    return {kind: _kept(each, each) for kind, each in value.items()} if isinstance(value, dict) else _kept(value, value)


@functools.cache
def _rotates(name: str) -> bool:
    return fitting(name)[0][:1] == ("rotary",)


def leave_out(instance: Any, subject: Subject) -> None:
    """Replace what rotates queries and keys in an instance, or normalizes them, by what turns their sign; fill tables of relative positions with zeros.

    Errors   ValueError if neither the instance nor its file has such a part
    """
    is_relative = _clear_tables(instance, subject)
    parts = list(_parts(instance, subject.own_source))
    for owner, name, neutral in parts:
        if is_module(getattr(owner, name, None)):
            getattr(owner, "_modules", owner).pop(name, None)
        object.__setattr__(owner, name, neutral)
    if not (parts or is_relative or rotations(subject.module)):
        raise ValueError("got no rotation, no relative positions and no norm of queries and keys, expected one")


def _clear_tables(instance: Any, subject: Subject) -> bool:
    """Fill the parameters of an instance for relative positions with zeros, and return True if there are any."""
    tables = _tables_in(instance) if re.search(RELATIVE, subject.own_source, re.IGNORECASE) else []
    for each in tables:
        each.data.zero_()
    return bool(tables)


def holds_relative(instance: Any) -> bool:
    """Return True for an instance with parameters for relative positions."""
    return bool(_tables_in(instance))


def _tables_in(instance: Any) -> list[Any]:
    """Return the parameters of a module of PyTorch that are tables of relative positions."""
    if not is_module(instance) or not hasattr(instance, "named_parameters"):
        return []
    return [each for name, each in instance.named_parameters() if re.search(RELATIVE, snake(name)) or _is_of_one_letter(name)]


def _is_of_one_letter(name: str) -> bool:
    return re.fullmatch(OF_ONE_LETTER, name.removesuffix(".weight").lower()) is not None


def _parts(instance: Any, source: str) -> Iterator[tuple[Any, str, Callable[..., Any]]]:
    children = dict(getattr(instance, "_modules", {})) or {name: value for name, value in vars(instance).items() if callable(value)}
    for name, child in children.items():
        if child is None:
            continue
        if re.search(NORM, snake(name)):
            yield instance, name, turned
        elif re.search(PART, f"{snake(name)} {snake(type(child).__name__)}") and not re.search(TABLE.format(name=re.escape(name)), source):
            forward = getattr(type(child), "forward", None)
            yield instance, name, turned if forward is None else _kept(forward, child, is_bound=True)
    for name, method in inspect.getmembers(type(instance), inspect.isfunction):
        if _rotates(name):
            is_static = isinstance(inspect.getattr_static(type(instance), name), staticmethod)
            yield instance, name, _kept(method, getattr(instance, name), is_bound=not is_static)
