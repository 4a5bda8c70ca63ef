"""Values while a probe runs: of the names in each function, and of every expression. They tell which changes can matter."""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any

MAX_ATTRIBUTES = 60


@dataclass(frozen=True)
class Seen:
    """Kind and shape of a value: "float array", "int array", "bool array", "int", "float", "bool", "str", "callable", …"""

    kind: str
    shape: tuple[int, ...] = ()

    @property
    def is_array(self) -> bool:
        """Return True for an array of any library."""
        return self.kind.endswith(" array")


@dataclass(frozen=True)
class Names:
    """Values seen in one function: local variables by name, and attributes of `self` by name."""

    variables: dict[str, Seen]
    attributes: dict[str, Seen]


NOTHING = Names({}, {})


@dataclass(frozen=True)
class Observation:
    """Values seen while a probe ran.

    names        names in each function, by the first line of the function
    expressions  value of each expression that was evaluated, by the id of its node
    num_lines    number of lines that were executed: the cost of one evaluation, whatever the speed of the machine
    """

    names: dict[int, Names]
    expressions: dict[int, Seen]
    num_lines: int


def observe(run: Callable[[], Any], path: str) -> tuple[dict[int, Names], int]:
    """Run something; return the names seen in each function of a file, by the first line of the function, and the number of lines."""
    variables: dict[int, dict[str, Seen]] = defaultdict(dict)
    attributes: dict[int, dict[str, Seen]] = defaultdict(dict)
    num_lines = 0

    def on_event(frame: FrameType, event: str, _: Any) -> Callable[..., Any] | None:
        nonlocal num_lines
        num_lines += 1
        if event in ("return", "exception"):
            first = frame.f_code.co_firstlineno
            for name, value in list(frame.f_locals.items()):
                if name == "self":
                    attributes[first].update({attribute: described(each) for attribute, each in attributes_of(value)})
                elif not name.startswith("."):
                    variables[first][name] = described(value)
        return on_event

    def on_call(frame: FrameType, event: str, _: Any) -> Callable[..., Any] | None:
        return on_event if frame.f_code.co_filename == path else None

    before = sys.gettrace()
    sys.settrace(on_call)
    try:
        run()
    finally:
        sys.settrace(before)
    return {first: Names(names, attributes[first]) for first, names in variables.items()}, num_lines


RECORDER = "__headway_record__"
"""Name of the function that instrumented code calls with each value."""
_NOT_RECORDED = (
    ast.Slice,
    ast.Starred,
    ast.JoinedStr,
    ast.FormattedValue,
    ast.Constant,
    ast.Lambda,
    ast.Yield,
    ast.YieldFrom,
    ast.NamedExpr,
)
_SKIPPED_FIELDS = frozenset({"annotation", "returns", "decorator_list", "bases", "func", "format_spec"})


class Recorder:
    """Instruments statements in place so that each expression reports its value; `undo` restores them."""

    def __init__(self, statements: Sequence[ast.stmt]) -> None:
        self.values: dict[int, Seen] = {}
        self.nodes: list[ast.expr] = []
        self._places: list[tuple[ast.AST, str, int | None, ast.expr]] = []
        for parent, field, index, node in [place for statement in statements for place in _places(statement)]:
            call = ast.Call(ast.Name(RECORDER, ast.Load()), [ast.Constant(len(self.nodes)), node], [])
            for each in (call, call.func, call.args[0]):
                ast.copy_location(each, node)
            self.nodes.append(node)
            self._places.append((parent, field, index, node))
            _put(parent, field, index, call)

    def record(self, index: int, value: Any) -> Any:
        """Store the kind of the last value of an expression, and return the value."""
        self.values[id(self.nodes[index])] = described(value)
        return value

    def undo(self) -> None:
        """Remove the instrumentation."""
        for parent, field, index, node in reversed(self._places):
            _put(parent, field, index, node)


def _places(root: ast.AST) -> Iterator[tuple[ast.AST, str, int | None, ast.expr]]:
    """Yield the places of expressions that are read, inner ones first."""
    if isinstance(root, ast.JoinedStr):
        return
    for field, value in ast.iter_fields(root):
        if field in _SKIPPED_FIELDS:
            if field == "func" and isinstance(value, ast.Attribute):
                yield from _places(value)
            continue
        for index, each in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if not isinstance(each, ast.AST):
                continue
            yield from _places(each)
            is_read = (
                isinstance(each, ast.expr)
                and not isinstance(each, _NOT_RECORDED)
                and not isinstance(getattr(each, "ctx", None), ast.Store | ast.Del)
            )
            is_receiver = isinstance(root, ast.Attribute | ast.Subscript) and isinstance(getattr(root, "ctx", None), ast.Store)
            is_index = isinstance(each, ast.Tuple) and any(isinstance(part, ast.Slice) for part in each.elts)
            if is_read and not is_receiver and not is_index:
                yield root, field, index, each  # type: ignore[misc]


def _put(parent: ast.AST, field: str, index: int | None, node: ast.expr) -> None:
    if index is None:
        setattr(parent, field, node)
    else:
        getattr(parent, field)[index] = node


def attributes_of(value: Any) -> list[tuple[str, Any]]:
    """Return the public attributes that an object holds, with the parameters, buffers and submodules of a torch module."""
    held = dict(getattr(value, "__dict__", {}))
    for group in ("_parameters", "_buffers", "_modules"):
        inner = held.get(group)
        held |= inner if isinstance(inner, dict) else {}
    return [(name, each) for name, each in held.items() if not name.startswith("_") and name != "training"][:MAX_ATTRIBUTES]


def described(value: Any) -> Seen:
    """Return the kind and shape of a value."""
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    if dtype is not None and isinstance(shape, Sequence):
        text = str(dtype)
        kind = "bool" if "bool" in text else "int" if "int" in text else "complex" if "complex" in text else "float"
        return Seen(f"{kind} array", tuple(int(size) for size in shape))
    if isinstance(value, bool | int | float | str | list | tuple | dict) or value is None:
        return Seen(type(value).__name__)
    return Seen("callable" if callable(value) else type(value).__name__)
