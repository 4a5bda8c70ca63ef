"""Values that a change would give its statement, computed in the frame in which the statement ran, without running the program again.

A change after which a statement computes a value of right programs that the program does not compute otherwise is tried first. One that
leaves the value of a statement as it is, or makes it raise, is tried last.
"""

from __future__ import annotations

import ast
import copy
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

import numpy

from headway.practice.diagnosis.calls.timeout import time_limit
from headway.practice.diagnosis.repair.milestones import Milestones
from headway.practice.diagnosis.repair.observation import Frame, Recorder, Signature, digest, roots_of, signature
from headway.practice.diagnosis.repair.program import Change, locate
from headway.practice.diagnosis.repair.tree import places

WORK = {"jax": 200, "mlx": 200}
MAX_WORK, VALUES_PER_UNIT = 1200, 40
"""Work for computing values, by array library: an expression costs 1, and 1 more for every VALUES_PER_UNIT expressions of functions that it calls."""
MAX_VALUES, SECONDS = 4000, 1.0
"""Expressions in the functions that one expression calls, and the time of what calls none, after which it counts as endless."""
NOTED = "__headway_noted__"
"""Name of the function that foreseen expressions call with each value."""
_UNNOTED = (ast.Slice, ast.Starred, ast.Constant, ast.Lambda, ast.JoinedStr, ast.FormattedValue, ast.NamedExpr)
_WITH_EFFECT = frozenset(("append", "extend", "pop", "popitem", "insert", "remove", "update", "next", "step", "backward", "super"))
"""Functions and methods that are not called again, like those of torch that change a tensor in place."""

ARRIVES, REACHES, RUNS, UNCHANGED, RAISES = -0.8, -0.4, -0.4, 2.0, 2.1
"""Additional costs of a change after which its statement computes a value of right programs that the program lacks, such a value where
it computes another one, a value where it raises, the same value as before, or none."""
REORDERS, LEAVES = -0.4, 0.3
"""Additional costs of a change after which a statement that computes a value of right programs computes its numbers in another order, or others."""
MOST_SAVED = ARRIVES


@dataclass(frozen=True)
class _Place:
    """An expression's parent within its statement."""

    parent: ast.AST
    field: str
    index: int | None


@dataclass
class Foresight:
    """The statements of a program with the frames in which they ran.

    path      milestones of the probe
    recorder  values of all expressions
    library   array library of the program
    """

    statements: Sequence[ast.AST]
    recorder: Recorder
    path: Milestones
    library: str
    _places: dict[int, _Place] = field(default_factory=dict)
    _roots: dict[int, ast.expr] = field(default_factory=dict)
    _reached: set[int] = field(default_factory=set)
    _faithful: dict[int, bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for statement in self.statements:
            for node in ast.walk(statement):
                self._places |= {id(place.node): _Place(node, place.field, place.index) for place in places(node)}
        self._roots = roots_of(self.statements)
        self._reached = self.path.reached([each.signature for each in self.recorder.values.values()])

    def costs(self, changes: Sequence[Change]) -> dict[int, float]:
        """Return the additional costs of changes, by their ids, as far as the work for them is allowed."""
        found: dict[int, float] = {}
        work: float = WORK.get(self.library, MAX_WORK)
        with warnings.catch_warnings(), numpy.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            for change in changes[:MAX_WORK]:
                with self.recorder.counting(MAX_VALUES) as counted:
                    cost = self._cost(change)
                if cost:
                    found[id(change)] = cost
                work -= 1 + counted.num_values / VALUES_PER_UNIT
                if work <= 0:
                    break
        return found

    def _cost(self, change: Change) -> float:
        made = self._expression(change)
        if made is None:
            return 0.0
        root, old, path, new = made
        frame, own = self.recorder.frames.get(id(root)), self.recorder.values.get(id(root))
        if own is not None and own.kind == "callable":  # a layer, whose value says nothing
            return 0.0
        if frame is None or _has_effect(new) or not self._is_faithful(root, frame):
            return 0.0
        values: dict[int, Any] = {}
        locate(new, old)
        code = _compiled(_rebuilt(new, path))
        if code is None:
            return RAISES
        try:
            with time_limit(SECONDS):
                value = eval(code, {**frame.names, NOTED: lambda place, each: values.setdefault(place, each)})
        except Exception:  # a changed expression may hold anything, or never end
            return RAISES
        before = [self.recorder.values.get(id(each)) for each in (old, *(place.parent for place in path))]
        cost = 0.0
        for place, each in values.items():
            reached = self.path.reached(_signatures(each))
            if not reached:
                continue
            if reached - self._reached:
                return ARRIVES
            seen = before[place] if place < len(before) else None
            if seen is None or (seen.signature is not None and not self.path.has(seen.signature)):
                cost = REACHES
        if cost:
            return cost
        if own is None:
            return RUNS
        if own.digest is not None and self.recorder.counts.get(id(root)) == 1 and digest(value) == own.digest:
            return UNCHANGED
        if own.signature is None or not self.path.has(own.signature):
            return 0.0
        return REORDERS if any(map(Milestones((own.signature,)).reached, [_signatures(value)])) else LEAVES

    def _expression(self, change: Change) -> tuple[ast.expr, ast.AST, list[_Place], ast.expr] | None:
        """Return the expression of the statement that a change concerns, the old node with its place, and the new one."""
        if isinstance(change.new, list) or isinstance(change.old, list):
            return self._assigned(change)
        root = self._roots.get(id(change.old))
        if root is None or not isinstance(change.new, ast.expr):
            return None
        path: list[_Place] = []
        here: ast.AST = change.old
        while here is not root:
            path.append(self._places[id(here)])
            here = path[-1].parent
        return root, change.old, path, change.new

    def _assigned(self, change: Change) -> tuple[ast.expr, ast.AST, list[_Place], ast.expr] | None:
        """Return the value of an assignment that replaces another one."""
        match change.old, change.new:
            case [ast.Assign() as before], [ast.Assign() as after]:
                return before.value, before.value, [], after.value
        return None

    def _is_faithful(self, root: ast.expr, frame: Frame) -> bool:
        """Return True if an expression has the same value once more, or raised before it had one."""
        if id(root) not in self._faithful:
            self._faithful[id(root)] = self._is_same_again(root, frame)
        return self._faithful[id(root)]

    def _is_same_again(self, root: ast.expr, frame: Frame) -> bool:
        if _has_effect(root):
            return False
        seen, code = self.recorder.values.get(id(root)), _compiled(root)
        if seen is None:
            return code is not None
        try:
            with time_limit(SECONDS):
                return code is not None and digest(eval(code, dict(frame.names))) == seen.digest
        except Exception:
            return False


def _has_effect(node: ast.AST) -> bool:
    """Return True for an expression that calls what changes its operands or an object, such as `scores.masked_fill_(…)`."""
    names = [getattr(each, "attr", getattr(each, "id", "")) for each in ast.walk(node)]
    return any(name in _WITH_EFFECT or (name.endswith("_") and not name.startswith("_")) for name in names)


def _signatures(value: Any) -> list[Signature | None]:
    return [signature(each) for each in value[:4]] if isinstance(value, tuple | list) else [signature(value)]


def _rebuilt(new: ast.expr, path: Sequence[_Place]) -> ast.expr:
    """Return the expression of a statement with a new part, which notes the values of this part and of all around it."""
    node: ast.AST = _noting(0, new)
    for number, place in enumerate(path, 1):
        parent = copy.copy(place.parent)
        if place.index is None:
            setattr(parent, place.field, node)
        else:
            items = list(getattr(parent, place.field))
            items[place.index] = node
            setattr(parent, place.field, items)
        node = _noting(number, parent)
    assert isinstance(node, ast.expr)
    return node


def _noting(number: int, node: ast.AST) -> ast.AST:
    is_index = isinstance(node, ast.Tuple) and any(isinstance(part, ast.Slice) for part in node.elts)
    if not isinstance(node, ast.expr) or is_index or isinstance(node, _UNNOTED):
        return node
    call = ast.Call(ast.Name(NOTED, ast.Load()), [ast.Constant(number), node], [])
    for each in (call, call.func, call.args[0]):
        ast.copy_location(each, node)
    return call


def _compiled(node: ast.expr) -> CodeType | None:
    try:
        return compile(ast.Expression(node), "<foreseen>", "eval", dont_inherit=True)
    except (SyntaxError, ValueError, TypeError, RecursionError):
        return None
