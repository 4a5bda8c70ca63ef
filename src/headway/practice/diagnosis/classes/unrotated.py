"""An attention without its rotary positions and without the norms of its queries and keys.

Rotations differ in their pairs, signs, tables, bases and scaling, and an attention uses one of them as a part. In its place the sign is
turned: the scores stay the same if queries and keys are treated alike, and a part that is applied to the values or to one of the two shows.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from headway.practice.diagnosis.calls.rotation import same
from headway.practice.diagnosis.calls.wording import snake
from headway.practice.diagnosis.classes.slots import is_module
from headway.practice.diagnosis.reading.subject import Subject, parameters_of
from headway.practice.names import fitting

PART = r"rope|rotary|rot_?emb"
NORM = r"^(ln|norm)_?(qk?|k|quer(y|ies)|keys?)$|^(qk?|k|quer(y|ies)|keys?)_?(rms|layer)?_?(ln|norm)$"
SOURCE = rf"{PART}|{NORM.replace('^', chr(92) + 'b').replace('$', chr(92) + 'b')}|apply_rot"
"""Pattern of the source of an attention that may have such parts."""

TABLE = r"(cos|sin|freqs?|angles?|emb|table)\w*\s*(,\s*\w+\s*)?=\s*self\.{name}\("
"""Pattern of a use of a part that computes tables and rotates nothing."""


def _turned(*operands: Any, **named: Any) -> Any:
    found = same(*operands, **named)
    return tuple(-each for each in found) if isinstance(found, tuple) else -found


def _kept(function: Callable[..., Any], *, is_bound: bool = False) -> Callable[..., Any]:
    """Return a function with the same parameters that returns -query, and -key if it takes one."""
    names = [each.name for each in parameters_of(function, is_bound=is_bound)]
    wanted = [name for name in names if re.fullmatch(r"_?(x?q|query|queries|q_\w+|query_\w+|x?k|keys?|k_\w+|key_\w+)", name)][:2]
    signature = inspect.signature(function)

    def kept(*operands: Any, **named: Any) -> Any:
        given = signature.bind_partial(*([None, *operands] if is_bound else operands), **named).arguments
        found = [-given[name] for name in (wanted or names[:1]) if name in given]
        return found[0] if len(found) == 1 else tuple(found)

    return kept


def rotations(module: ModuleType | None) -> dict[str, Callable[..., Any]]:
    """Return the functions of a file that rotate, each replaced by one that turns the sign."""
    found = {} if module is None else vars(module)
    return {name: _kept(value) for name, value in found.items() if inspect.isfunction(value) and _rotates(name)}


@functools.cache
def _rotates(name: str) -> bool:
    return fitting(name)[0][:1] == ["rotary"]


def leave_out(instance: Any, subject: Subject) -> None:
    """Replace what rotates queries and keys in an instance, or normalizes them, by what turns their sign.

    Errors   ValueError if neither the instance nor its file has such a part
    """
    parts = list(_parts(instance, "\n".join(subject.source)))
    for owner, name, neutral in parts:
        if is_module(getattr(owner, name, None)):
            getattr(owner, "_modules", owner).pop(name, None)
        object.__setattr__(owner, name, neutral)
    if not parts and not rotations(subject.module):
        raise ValueError("got no rotation and no norm of queries and keys, expected one")


def _parts(instance: Any, source: str) -> Iterator[tuple[Any, str, Callable[..., Any]]]:
    children = dict(getattr(instance, "_modules", {})) or {name: value for name, value in vars(instance).items() if callable(value)}
    for name, child in children.items():
        if child is None:
            continue
        if re.search(NORM, snake(name)):
            yield instance, name, _turned
        elif re.search(PART, f"{snake(name)} {snake(type(child).__name__)}") and not re.search(TABLE.format(name=re.escape(name)), source):
            forward = getattr(type(child), "forward", None)
            yield instance, name, _turned if forward is None else _kept(forward, is_bound=True)
    for name, method in inspect.getmembers(type(instance), inspect.isfunction):
        if _rotates(name):
            is_static = isinstance(inspect.getattr_static(type(instance), name), staticmethod)
            yield instance, name, _kept(method, is_bound=not is_static)
