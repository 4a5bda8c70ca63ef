"""Variables of a file's module that its classes read, and their values for the sizes of a probe."""

from __future__ import annotations

import dis
import inspect
import types
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import CodeType, ModuleType
from typing import Any

from headway.practice.diagnosis.classes.configs import (
    changes,
    class_fields,
    configured,
    holds_fields,
    is_config_class,
    is_size_role,
    needs_no_instance,
)
from headway.practice.diagnosis.reading.subject import Subject
from headway.practice.exercise import Role


def globals_read(subject: Subject) -> list[str]:
    """Return the module's numbers and config objects that the class and what it uses from the file read while they run."""
    if subject.module is None:
        return []
    names = vars(subject.module)
    found: dict[str, None] = {}
    seen: set[int] = set()
    waiting = [subject.value]
    while waiting:
        value = waiting.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        for code in codes_of(value):
            for name in loaded(code):
                if name not in names:
                    continue
                if isinstance(names[name], int | float) or holds_fields(names[name]) or _is_used_as_config(names[name], subject.module):
                    found[name] = None
                if inspect.isclass(names[name]) or inspect.isfunction(names[name]):
                    waiting.append(names[name])
        if inspect.isclass(value):
            waiting += [base for base in value.__mro__[1:] if base.__module__ == subject.module.__name__]
    return [name for name in names if name in found]


def _is_used_as_config(value: Any, module: ModuleType) -> bool:
    return is_config_class(value, module) and needs_no_instance(value) and bool(class_fields(value))


def codes_of(value: Any) -> Iterator[CodeType]:
    """Yield the code of a function, or of the methods of a class."""
    functions = [value] if inspect.isfunction(value) else list(vars(value).values()) if inspect.isclass(value) else []
    for each in functions:
        function = getattr(each, "__func__", getattr(each, "fget", each))
        code = getattr(inspect.unwrap(function) if callable(function) else None, "__code__", None)
        if isinstance(code, CodeType):
            yield code


def loaded(code: CodeType) -> Iterator[str]:
    """Yield the global names that code reads, functions in it included."""
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            yield str(instruction.argval)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from loaded(constant)


@contextmanager
def globals_set(module: ModuleType | None, values: Mapping[str, Any]) -> Iterator[None]:
    """Set variables of a module while the block runs."""
    if module is None or not values:
        yield
        return
    before = {name: value for name, value in vars(module).items() if name in values}
    vars(module).update(values)
    try:
        yield
    finally:
        for name in set(values) - set(before):
            vars(module).pop(name, None)
        vars(module).update(before)


def global_values(
    subject: Subject, names: Sequence[str], sizes: Mapping[str, Any], roles: Sequence[Role], dropout: float
) -> dict[str, Any]:
    """Return values of module variables for the sizes of a probe.

    Errors   NoSuchSizeError if the probe does not define one of them
    """
    now = {name: getattr(subject.module, name) for name in names}
    numbers = [name for name, value in now.items() if isinstance(value, int | float) and not isinstance(value, bool)]
    sized = [role for role in roles if is_size_role(role)]
    changed = changes(numbers, now, sizes, sized, dropout)
    return changed | {name: configured(value, sizes, roles, dropout) for name, value in now.items() if not isinstance(value, int | float)}
