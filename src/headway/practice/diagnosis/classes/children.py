"""The parts that an instance holds in any library: modules of torch and MLX, objects of the learner's classes, and containers of them."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from typing import Any

from headway.practice.diagnosis.classes.slots import is_module, module_library
from headway.practice.diagnosis.reading.subject import is_learners

METHODS = ("forward", "__call__")


def children(holder: Any) -> list[tuple[Any, Any]]:
    """Return the parts and containers that a part or a container holds, with their names."""
    if module_library(type(holder)) == "torch":
        return [(name, child) for name, child in holder._modules.items() if child is not None]
    held = dict(enumerate(holder)) if isinstance(holder, list | tuple) else dict(holder) if isinstance(holder, dict) else {}
    if not is_container(holder):  # modules of MLX are dicts with attributes
        held |= getattr(holder, "__dict__", {})
    return [(name, child) for name, child in held.items() if not str(name).startswith("_") and _holds_parts(child)]


def put(holder: Any, name: Any, part: Any) -> None:
    """Replace a part that `children` yields."""
    if module_library(type(holder)) == "torch":
        holder._modules[name] = part
    elif is_container(holder):
        holder[name] = part
    else:
        setattr(holder, name, part)


def is_container(value: Any) -> bool:
    """Return True for a plain list, tuple or dict."""
    return isinstance(value, list | tuple | dict) and not is_module(value)


def is_part(value: Any) -> bool:
    """Return True for a module, or an object of a learner's class that is called."""
    home = type(value).__module__
    return is_module(value) or ((home not in sys.modules or is_learners(home)) and method_of(type(value)) is not None)


def _holds_parts(value: Any) -> bool:
    if not is_container(value):
        return is_part(value)
    return any(map(_holds_parts, value.values() if isinstance(value, dict) else value))


def method_of(kind: type) -> str | None:
    """Return the name of the method with which a class computes; None if it has none of its own, as a list of modules."""
    for name in METHODS:
        found = inspect.getattr_static(kind, name, None)
        if inspect.isfunction(found) and not found.__qualname__.startswith(("Module.", "_forward_unimplemented")):
            return name
    return None


def every_part(holder: Any) -> Iterator[Any]:
    """Yield a part or container and, at any depth, those that it holds."""
    yield holder
    for _, child in children(holder):
        yield from every_part(child)
