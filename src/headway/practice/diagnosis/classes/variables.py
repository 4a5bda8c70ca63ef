"""Variables of a file's module that its classes read, and their values for the sizes of a probe."""

from __future__ import annotations

import ast
import dis
import inspect
import itertools
import sys
import types
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import is_dataclass
from functools import cache
from types import CodeType, ModuleType
from typing import Any

from headway.practice.diagnosis.calls.traced import under_settings
from headway.practice.diagnosis.calls.wording import is_dropout, is_named
from headway.practice.diagnosis.classes.configs import (
    changes,
    class_fields,
    configured,
    fields_of,
    holds_fields,
    is_config_class,
    is_size_role,
    needs_no_instance,
)
from headway.practice.diagnosis.reading.subject import Subject, is_learners, parsed
from headway.practice.exercise import Role


def globals_read(subject: Subject) -> dict[str, list[ModuleType]]:
    """Return the numbers and config objects that the class and what it uses from the learner's files read while they run.

    Each name has the modules that hold it: a constant that several files import is a variable of each of them.
    """
    if subject.module is None:
        return {}
    found: dict[str, dict[str, ModuleType]] = {}
    seen: set[int] = set()
    waiting: list[tuple[Any, ModuleType]] = [(getattr(subject.value, "written", subject.value), subject.module)]
    while waiting:
        value, module = waiting.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        for code in codes_of(value):
            for name, held, place in _read_by(code, module):
                if isinstance(held, int | float) or (_is_config(held, module, _fields(name, code)) and not _is_of_dropout(name, code)):
                    found.setdefault(name, {})[place.__name__] = place
                elif (inspect.isclass(held) or inspect.isfunction(held)) and (origin := _origin(held, place)) is not None:
                    waiting.append((held, origin))
        if inspect.isclass(value):
            waiting += [(base, module) for base in value.__mro__[1:] if base.__module__ == module.__name__]
    order = [*vars(subject.module)]
    names = sorted(found, key=lambda name: order.index(name) if name in order else len(order))
    return {name: [*found[name].values()] for name in names}


def _read_by(code: CodeType, module: ModuleType) -> Iterator[tuple[str, Any, ModuleType]]:
    """Yield the variables that code reads, with the module that holds each: its own, or another of the learner's whose name it reads."""
    for name in loaded(code):
        held = vars(module).get(name)
        if isinstance(held, ModuleType) and is_learners(held.__name__):
            yield from ((each, vars(held)[each], held) for each in code.co_names if each in vars(held))
        elif name in vars(module):
            yield name, held, module


def _origin(value: Any, module: ModuleType) -> ModuleType | None:
    """Return the module that defines a class or function, if it is the learner's; `module` for what it has made itself."""
    return module if value.__module__ == module.__name__ else sys.modules[value.__module__] if is_learners(value.__module__) else None


def _is_config(value: Any, module: ModuleType, read: Collection[str]) -> bool:
    return holds_fields(value) or _is_used_as_config(value, module, read)


def _is_of_dropout(name: str, code: CodeType) -> bool:
    """Return True if code reads nothing but dropout rates from a config, which says nothing of sizes."""
    fields = _fields(name, code)
    return bool(fields) and all(map(is_dropout, fields))


def _fields(name: str, code: CodeType) -> Sequence[str]:
    """Return the attributes that code reads from a variable."""
    return _attributes_read(code).get(name, ())


@cache
def _attributes_read(code: CodeType) -> dict[str, list[str]]:
    """Return the attributes that code reads from each variable of a module."""
    found: dict[str, list[str]] = {}
    for each, then in itertools.pairwise(dis.get_instructions(code)):
        if each.opname in ("LOAD_GLOBAL", "LOAD_NAME") and then.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            found.setdefault(each.argval, []).append(str(then.argval))
    return found


def _is_used_as_config(value: Any, module: ModuleType, read: Collection[str]) -> bool:
    """Return True for a class whose attributes are the settings, or that has those which are read, as the defaults of a dataclass."""
    if not is_config_class(value, module):
        return False
    fields = class_fields(value)
    return bool(fields) and (needs_no_instance(value) or (is_dataclass(value) and not fields.keys().isdisjoint(read)))


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
def globals_set(
    module: ModuleType | None, values: Mapping[str, Any], others: Mapping[str, Sequence[ModuleType]] | None = None
) -> Iterator[None]:
    """Set variables of a module while the block runs.

    others   modules that hold a variable, for those that are not the module's own
    """
    if module is None or not values:
        yield
        return
    with under_settings(_text_of(values)), ExitStack() as stack:
        for name, value in values.items():
            for each in (_current(found, module) for found in (others or {}).get(name, (module,))):
                stack.callback(_put, each, name, vars(each).get(name, UNSET))
                _put(each, name, value)
        yield


def _text_of(values: Mapping[str, Any]) -> str | None:
    """Return a text that tells values of variables apart; None if some are neither numbers nor settings."""
    if not all(isinstance(each, int | float) or holds_fields(each) for each in values.values()):
        return None
    return repr([(name, each if isinstance(each, int | float) else fields_of(each)) for name, each in sorted(values.items())])


UNSET = object()


def _current(module: ModuleType, own: ModuleType) -> ModuleType:
    """Return a module, or the one that has replaced it: a changed program of the repair search runs in a module of its own."""
    return own if module.__name__ == own.__name__ else module


def _put(module: ModuleType, name: str, value: Any) -> None:
    if value is UNSET:
        vars(module).pop(name, None)
    else:
        vars(module)[name] = value


def global_values(
    subject: Subject, held: Mapping[str, Sequence[ModuleType]], sizes: Mapping[str, Any], roles: Sequence[Role], dropout: float
) -> dict[str, Any]:
    """Return values of variables for the sizes of a probe.

    Errors   NoSuchSizeError if the probe does not define one of the file itself
    """
    if subject.module is None:
        return {}
    current = {name: [_current(module, subject.module) for module in modules] for name, modules in held.items()}
    now = {name: getattr(modules[0], name) for name, modules in current.items()}
    own = [name for name, modules in current.items() if subject.module in modules]
    numbers = [name for name, value in now.items() if isinstance(value, int | float) and not isinstance(value, bool)]
    sized = [role for role in roles if is_size_role(role)]
    changed = changes(numbers, now, sizes, sized, dropout, own)
    changed |= _derived(own, sized, changed, subject)
    return changed | {
        name: configured(value, sizes, roles, dropout, is_variable=True)
        for name, value in now.items()
        if not isinstance(value, int | float)
    }


def _derived(own: Sequence[str], roles: Sequence[Role], changed: Mapping[str, Any], subject: Subject) -> dict[str, Any]:
    """Return the values of variables that a file computes from others which have new values: GROUPS = N_HEADS // N_KV_HEADS.

    Those with the name of a size have the value of the probe.
    """
    found: dict[str, Any] = {}
    for name, (code, read) in _computed(subject.file_source).items():
        is_size = any(is_named(name, role) for role in roles)
        if name in own and not is_size and read & {*changed, *found} and read <= {*vars(subject.module)}:
            with suppress(ArithmeticError, TypeError):
                found[name] = eval(code, {"__builtins__": {}}, {**vars(subject.module), **changed, **found})
    return found


@cache
def _computed(text: str) -> dict[str, tuple[CodeType, frozenset[str]]]:
    """Return the code of the variables that a file computes from others by arithmetic alone, and the names that it reads, in their order."""
    found: dict[str, tuple[CodeType, frozenset[str]]] = {}
    for statement in parsed(text).body:
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1 or not isinstance(statement.targets[0], ast.Name):
            continue
        nodes = [*ast.walk(statement.value)]
        if isinstance(statement.value, ast.BinOp) and all(isinstance(node, ARITHMETIC) for node in nodes):
            code = compile(ast.Expression(statement.value), "<sizes>", "eval")
            found[statement.targets[0].id] = code, frozenset(node.id for node in nodes if isinstance(node, ast.Name))
    return found


ARITHMETIC = (ast.Name, ast.Constant, ast.BinOp, ast.operator, ast.expr_context)
"""Nodes of an expression that computes a number from others."""
