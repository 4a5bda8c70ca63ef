"""Values while a probe runs: of the names in each function, and of every expression. They tell which changes can matter."""

from __future__ import annotations

import ast
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import numpy

from headway.arrays import to_numpy
from headway.practice.diagnosis.calls.traced import RECORDER
from headway.practice.diagnosis.repair.tree import Place, places

MAX_ATTRIBUTES = 60
UNCONVERTIBLE = (TypeError, ValueError, OverflowError, RuntimeError, AttributeError)
"""Exceptions of values that cannot be converted to NumPy, such as tracers and random keys of JAX."""
MAX_DIGESTED = 20_000
"""Elements of an array whose digest is computed."""


Signature = tuple[float, float, float, float, float, float]
"""Number of elements of an array, their mean, the roots of their second and third moments, and the largest and the smallest: whatever the layout."""


@dataclass(frozen=True)
class Seen:
    """Kind and shape of a value: "float array", "int array", "bool array", "int", "float", "bool", "str", "callable", …

    digest      equal for values that are equal up to rounding; None if it was not computed
    signature   of an array of numbers that differ
    """

    kind: str
    shape: tuple[int, ...] = ()
    digest: int | None = field(default=None, compare=False)
    signature: Signature | None = field(default=None, compare=False)

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
                elif not name.startswith((".", "__")):
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


@dataclass(frozen=True)
class Frame:
    """The variables with which a statement ran."""

    module: Mapping[str, Any]
    own: Mapping[str, Any]

    @property
    def names(self) -> dict[str, Any]:
        """Return all of them in one namespace, so that comprehensions see them too."""
        return {**self.module, **self.own}


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


class TooManyValuesError(Exception):
    """Instrumented code computed more values than allowed."""


class Recorder:
    """Instruments statements in place so that each expression reports its value; `undo` restores them.

    into       another recorder, which notes the values
    is_brief   True to note the signatures of arrays only
    frames     variables with which a statement ran last, by the id of its expression
    counts     number of values that the expression of a statement had, by its id
    num_values   number of values while they are only counted
    """

    def __init__(self, statements: Sequence[ast.AST], into: Recorder | None = None) -> None:
        self.values: dict[int, Seen] = {} if into is None else into.values
        self.nodes: list[ast.expr] = [] if into is None else into.nodes
        self.is_brief, self._is_describing = False, False
        self.frames: dict[int, Frame] = {}
        self.counts: Counter[int] = Counter()
        self.num_values, self._most = 0, 0
        self._roots = roots_of(statements)
        self._places = [place for statement in statements for place in _recorded(statement)]
        for place in self._places:
            assert isinstance(place.node, ast.expr)
            call = ast.Call(ast.Name(RECORDER, ast.Load()), [ast.Constant(len(self.nodes)), place.node], [])
            for each in (call, call.func, call.args[0]):
                ast.copy_location(each, place.node)
            self.nodes.append(place.node)
            _put(place, call)

    def record(self, index: int, value: Any) -> Any:
        """Store the kind of the last value of an expression, and return the value."""
        if self._is_describing:  # a property of the learner's own class, of which the value is described
            return value
        if self._most:
            self.num_values += 1
            if self.num_values > self._most:
                raise TooManyValuesError
            return value
        node = id(self.nodes[index])
        self._is_describing = True
        try:
            self.values[node] = Seen("", signature=signature(value)) if self.is_brief else described(value)
        finally:
            self._is_describing = False
        if self.is_brief:
            return value
        root, frame = self._roots.get(node), sys._getframe(1)
        if root is not None and not frame.f_code.co_name.startswith("<"):  # a comprehension has only some of the names
            self.frames[id(root)] = Frame(frame.f_globals, dict(frame.f_locals))
            self.counts[node] += 1
        return value

    @contextmanager
    def counting(self, most: int) -> Iterator[Recorder]:
        """Count values without storing them.

        Errors   TooManyValuesError from the instrumented code after too many
        """
        self.num_values, self._most = 0, most
        try:
            yield self
        finally:
            self._most = 0

    def undo(self) -> None:
        """Remove the instrumentation."""
        for place in reversed(self._places):
            _put(place, place.node)


def roots_of(statements: Sequence[ast.AST]) -> dict[int, ast.expr]:
    """Return the expression of a statement that each expression is inside of, or is itself, by the id of the inner one."""
    nodes = (node for statement in statements for node in ast.walk(statement) if isinstance(node, ast.stmt))
    roots = [place.node for node in nodes for place in places(node) if place.is_read]
    return {id(inner): root for root in roots if isinstance(root, ast.expr) for inner in ast.walk(root)}


def _recorded(root: ast.AST) -> Iterator[Place]:
    """Yield the places of expressions whose values are recorded, inner ones first."""
    for place in places(root):
        if place.field == "func" and not isinstance(place.node, ast.Attribute):
            continue
        yield from _recorded(place.node)
        is_receiver = isinstance(root, ast.Attribute | ast.Subscript) and isinstance(root.ctx, ast.Store) and place.field == "value"
        is_index = isinstance(place.node, ast.Tuple) and any(isinstance(part, ast.Slice) for part in place.node.elts)
        if place.is_read and place.field != "func" and not (is_receiver or is_index or isinstance(place.node, _NOT_RECORDED)):
            yield place


def _put(place: Place, node: ast.AST) -> None:
    if place.index is None:
        setattr(place.parent, place.field, node)
    else:
        getattr(place.parent, place.field)[place.index] = node


def attributes_of(value: Any) -> list[tuple[str, Any]]:
    """Return the public attributes that an object holds, with the parameters, buffers and submodules of a module."""
    held = dict(getattr(value, "__dict__", {}))
    held |= dict(value) if isinstance(value, dict) and type(value) is not dict else {}  # modules of MLX
    for group in ("_parameters", "_buffers", "_modules"):
        inner = held.get(group)
        held |= inner if isinstance(inner, dict) else {}
    return [(name, each) for name, each in held.items() if not name.startswith("_") and name not in OF_LIBRARIES][:MAX_ATTRIBUTES]


OF_LIBRARIES = ("training", "scope", "parent")
"""Attributes that the modules of PyTorch and Flax have for themselves."""


def _numbers_of(value: Any) -> Any:
    """Return the array that a tensor of the file's own class holds; other values as they are."""
    if getattr(value, "dtype", None) is None and hasattr(value, "__dict__"):
        inner = vars(value).get("data", vars(value).get("value"))
        if getattr(inner, "dtype", None) is not None and hasattr(inner, "shape"):
            return inner
    return value


def digest(value: Any) -> int | None:
    """Return a number that is equal for arrays and numbers that are equal up to rounding; None for other values."""
    value = _numbers_of(value)
    if isinstance(value, bool | int | float):
        return hash(str(value) if isinstance(value, bool) else f"{value:.5g}")
    if getattr(value, "dtype", None) is None or not hasattr(value, "shape"):
        return None
    try:
        numbers = to_numpy(value)
        if numbers.dtype.kind not in "fiub" or numbers.size > MAX_DIGESTED:
            return None
        size = float(numpy.abs(numbers[numpy.isfinite(numbers)]).max(initial=0.0)) or 1.0 if numbers.dtype.kind == "f" else 1.0
        rounded = numpy.round(numbers / size, 4) + 0.0 if numbers.dtype.kind == "f" else numbers
        return hash(
            (
                numbers.dtype.kind,
                numbers.shape,
                f"{size:.3g}",
                rounded.tobytes() if rounded.dtype.itemsize == 8 else rounded.astype(float).tobytes(),
            )
        )
    except UNCONVERTIBLE:
        return None


def signature(value: Any) -> Signature | None:
    """Return what identifies the numbers of an array in any order; None for other values, and for less than three numbers or equal ones."""
    value = _numbers_of(value)
    if getattr(value, "dtype", None) is None or not hasattr(value, "shape"):
        return None
    try:
        numbers = to_numpy(value)
        if numbers.dtype.kind != "f" or not 2 < numbers.size <= MAX_DIGESTED:
            return None
        with numpy.errstate(all="ignore"):  # memory that nothing was written to may hold anything
            numbers = numbers.astype(numpy.float64).ravel()
            numbers = numbers[numpy.abs(numbers) < HUGE]
            if not numbers.size or (top := float(numbers.max())) - (bottom := float(numbers.min())) <= 1e-6 * abs(top):
                return None
            moments = (float(numpy.cbrt((numbers**3).mean())), float(numpy.sqrt((numbers**2).mean())))
            return (float(numbers.size), float(numbers.mean()), *moments, top, bottom)
    except UNCONVERTIBLE:
        return None


HUGE = 1e8
"""Numbers of masks, which may be infinite or not."""


def described(value: Any) -> Seen:
    """Return the kind, shape and digest of a value."""
    try:
        value = _numbers_of(value)
        shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    except Exception:  # a property of the learner's own class
        shape, dtype = None, None
    if dtype is not None and isinstance(shape, Sequence):
        text = str(dtype)
        kind = "bool" if "bool" in text else "int" if "int" in text else "complex" if "complex" in text else "float"
        return Seen(f"{kind} array", tuple(int(size) for size in shape), digest(value), signature(value))
    if isinstance(value, bool | int | float | str | list | tuple | dict) or value is None:
        return Seen(type(value).__name__, (), digest(value))
    return Seen("callable" if callable(value) else type(value).__name__)
