"""The definitions of a file that a subject uses, and their execution after a change."""

from __future__ import annotations

import ast
import copy
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import CodeType, FunctionType, ModuleType
from typing import Any

from headway.practice.diagnosis.calls.timeout import count_iteration
from headway.practice.diagnosis.calls.traced import RECORDER
from headway.practice.diagnosis.checks.trial import Trial
from headway.practice.diagnosis.classes.flax_modules import with_weights
from headway.practice.diagnosis.classes.instances import Fused, InstanceCall
from headway.practice.diagnosis.reading.devices import names_device, on_processor, sets_dtype
from headway.practice.diagnosis.reading.own_heads import classes_with_own_heads, with_heads_as_parameters
from headway.practice.diagnosis.reading.subject import Subject, value_of
from headway.practice.diagnosis.reading.trees import functions_in, is_of_self
from headway.practice.diagnosis.repair.observation import Recorder

_COUNTER = "__headway_iteration__"
"""Name by which the loops of a program count their iterations."""

_LIGHT = (ast.Constant, ast.Name, ast.Attribute, ast.BinOp, ast.UnaryOp, ast.Tuple, ast.List, ast.operator, ast.unaryop, ast.expr_context)
"""Nodes of a module-level assignment that is cheap enough to run again for every candidate."""


@dataclass(frozen=True)
class Findings:
    """Knowledge of a program's mistake from the diagnosis.

    suspects   lines to which it points
    trusted    functions and classes that are right by themselves
    fused      orders and nestings of the fused weights in them, which the program has too
    """

    suspects: Collection[int] = ()
    trusted: Collection[str] = ()
    fused: Collection[Fused] = ()

    def suits(self, trial: Trial) -> bool:
        """Return True if a trial fuses weights as the right classes of the file do."""
        return not self.fused or not isinstance(trial.call, InstanceCall) or trial.call.fused <= {*self.fused}


NO_FINDINGS = Findings()


@dataclass(frozen=True)
class Change:
    """Replacement of one node of the syntax tree.

    cost       order in which changes are tried: learners' usual slips first
    statement  index of the top-level statement that contains the node
    parent     node that holds it, in `field`, or at `index` of the list in `field`
    old, new   the node before and after; for statements, lists
    """

    cost: float
    statement: int
    parent: ast.AST
    field: str
    index: int | None
    old: ast.AST | list[ast.stmt]
    new: ast.AST | list[ast.stmt]

    @property
    def line(self) -> int:
        """Return the first line of the replaced code; an operator has that of its assignment."""
        first = self.old[0] if isinstance(self.old, list) else self.old
        return int(getattr(first, "lineno", getattr(self.parent, "lineno", 1)))

    @property
    def is_none(self) -> bool:
        """Return True for a change that changes nothing."""
        return not isinstance(self.old, list) and not isinstance(self.new, list) and ast.dump(self.old) == ast.dump(self.new)

    def overlaps(self, other: Change) -> bool:
        """Return True if two changes concern the same place, or one is inside what the other replaces."""
        if self.parent is other.parent and self.field == other.field:
            return self.index == other.index or isinstance(self.old, list) or isinstance(other.old, list)  # lists change the positions
        return id(self.parent) in _nodes(other.old) or id(other.parent) in _nodes(self.old)

    def apply(self) -> None:
        """Replace the old node by the new one; nodes without a position get that of the old one."""
        first = self.old[0] if isinstance(self.old, list) else self.old
        for each in self.new if isinstance(self.new, list) else [self.new]:
            locate(each, first)
        self._put(self.old, self.new)

    def undo(self) -> None:
        """Replace the new node by the old one."""
        self._put(self.new, self.old)

    def _put(self, before: ast.AST | list[ast.stmt], after: ast.AST | list[ast.stmt]) -> None:
        if self.index is None:
            setattr(self.parent, self.field, after)
            return
        nodes = getattr(self.parent, self.field)
        length = len(before) if isinstance(before, list) else 1
        nodes[self.index : self.index + length] = after if isinstance(after, list) else [after]


def _nodes(tree: Any) -> set[int]:
    roots = tree if isinstance(tree, list) else [tree]
    return {id(node) for root in roots for node in ast.walk(root)}


def locate(new: ast.AST, old: ast.AST) -> None:
    """Give the nodes of a new tree that have no position that of an old node."""
    for node in ast.walk(new):
        if "lineno" in node._attributes and not hasattr(node, "lineno"):
            ast.copy_location(node, old)


@dataclass(eq=False)
class Program:
    """Top-level statements of a learner's file that a subject consists of: its definition, and all that it uses.

    statements   in the order of the file
    future       the file's `from __future__` imports
    """

    subject: Subject
    statements: list[ast.stmt]
    future: list[ast.stmt] = field(default_factory=list)

    def with_changes(self, changes: Sequence[Change]) -> Subject | None:
        """Return the subject as it is after the changes, or None if the changed code cannot be defined."""
        for change in changes:
            change.apply()
        changed = {change.statement for change in changes}
        try:
            codes = [self._compiled(index) if index in changed else code for index, code in enumerate(self._codes)]
        except (SyntaxError, ValueError, TypeError, RecursionError):
            return None
        finally:
            for change in reversed(changes):
                change.undo()
        return self._defined(codes, {})

    def recording(self, changes: Sequence[Change] = ()) -> tuple[Subject | None, Recorder]:
        """Return the changed subject with every expression reporting its value, and the recorder."""
        for change in changes:
            change.apply()
        recorder = Recorder(self.statements)
        try:
            codes = [self._compiled(index) for index in range(len(self.statements))]
        except (SyntaxError, ValueError, TypeError, RecursionError):
            return None, recorder
        finally:
            recorder.undo()
            for change in reversed(changes):
                change.undo()
        return self._defined(codes, {RECORDER: recorder.record}), recorder

    def _defined(self, codes: Sequence[CodeType], more: dict[str, Any]) -> Subject | None:
        module = ModuleType(str(self._namespace.get("__name__", "learner")))  # its own, because calls may set the module's variables
        namespace = vars(module)
        namespace |= self._namespace | more | {_COUNTER: count_iteration}
        try:
            for code in codes:
                exec(code, namespace)
        except Exception:
            return None
        value = value_of(self.subject.name, namespace)
        return with_weights(replace(self.subject, value=value, module=self.subject.module and module)) if callable(value) else None

    def is_in_constructor(self, change: Change) -> bool:
        """Return True if a change concerns a class's constructor, or a method that it calls."""
        return any(node.lineno <= change.line <= (node.end_lineno or 0) for node in self._constructors)

    @cached_property
    def _constructors(self) -> list[ast.FunctionDef]:
        own = [node for node in self._methods if node.name == "__init__"]
        called = {each.func.attr for node in own for each in ast.walk(node) if isinstance(each, ast.Call) and is_of_self(each.func)}
        return [*own, *(node for node in self._methods if node.name in called)]

    @cached_property
    def _methods(self) -> list[ast.FunctionDef]:
        return functions_in(*self.statements)

    @cached_property
    def path(self) -> str:
        """Return the file name of the learner's code objects."""
        return str(getattr(self.subject.module, "__file__", None) or "<learner>")

    @cached_property
    def _codes(self) -> list[CodeType]:
        return [self._compiled(index) for index in range(len(self.statements))]

    def _compiled(self, index: int) -> CodeType:
        return self._code_of([*self.future, self.statements[index]])

    def _code_of(self, body: list[ast.stmt]) -> CodeType:
        with _counted(body):
            tree = ast.Module(body, [])
            is_changed = self._names_device or self._sets_dtype or bool(self._own_heads)
            tree = on_processor(copy.deepcopy(tree), is_set=self._sets_dtype) if is_changed else tree
            return compile(with_heads_as_parameters(tree, self._own_heads), self.path, "exec", dont_inherit=True)

    @cached_property
    def _names_device(self) -> bool:
        return any(map(names_device, self.statements))

    @cached_property
    def _own_heads(self) -> set[str]:
        return classes_with_own_heads(self.statements)

    @cached_property
    def _sets_dtype(self) -> bool:
        return sets_dtype(ast.Module(self.statements, []))

    def code_of(self, node: ast.FunctionDef, function: FunctionType) -> CodeType | None:
        """Return the code of a function's definition as it is now, or None if it cannot be compiled."""
        alone = ast.FunctionDef(node.name, node.args, node.body, [], node.returns, node.type_comment)
        ast.copy_location(alone, node)
        holder = ast.ClassDef(function.__qualname__.rpartition(".")[0].rpartition(".")[2] or "_", [], [], [alone], [])
        body: list[ast.stmt] = [*self.future, ast.copy_location(holder, node) if "." in function.__qualname__ else alone]
        try:
            code = self._code_of(body)
        except (SyntaxError, ValueError, TypeError, RecursionError):
            return None
        while code.co_name != node.name:
            code = next((each for each in code.co_consts if isinstance(each, CodeType)), None)  # type: ignore[assignment]
            if code is None:
                return None
        return code

    @cached_property
    def _namespace(self) -> dict[str, Any]:
        if self.subject.module is not None:
            return vars(self.subject.module)
        return dict(getattr(self.subject.value, "__globals__", {}))


@contextmanager
def _counted(body: Sequence[ast.stmt]) -> Iterator[None]:
    """Make the while loops of statements count their iterations while they are compiled."""
    loops: list[ast.While] = []
    waiting: list[ast.AST] = [*body]
    seen: set[int] = set()
    while waiting:  # two changes may put each into the other, which cannot be compiled
        node = waiting.pop()
        if id(node) not in seen:
            seen.add(id(node))
            waiting += ast.iter_child_nodes(node)
            loops += [node] if isinstance(node, ast.While) else []
    tests = [loop.test for loop in loops]
    for loop, test in zip(loops, tests, strict=True):
        counted = ast.Call(ast.Name(_COUNTER, ast.Load()), [], [])
        loop.test = ast.BoolOp(ast.And(), [counted, test])
        for each in (loop.test, counted, counted.func):
            ast.copy_location(each, test)
    try:
        yield
    finally:
        for loop, test in zip(loops, tests, strict=True):
            loop.test = test


def program_of(subject: Subject) -> Program | None:
    """Return the program of a subject, or None if its source is not available or it refers to an enclosing function."""
    if not subject.text or ("." not in subject.name and getattr(subject.value, "__closure__", None)):
        return None
    try:
        tree = ast.parse(subject.text)
    except (SyntaxError, ValueError, RecursionError):
        return None
    named = {name: node for node in tree.body for name in _names_of(node)}
    root = subject.name.partition(".")[0]
    if root not in named:
        return None
    used, waiting = {root}, [root]
    while waiting:
        inner = {node.id for node in ast.walk(named[waiting.pop()]) if isinstance(node, ast.Name)}
        found = (inner & set(named)) - used
        used |= found
        waiting += sorted(found)
    chosen = [node for node in tree.body if set(_names_of(node)) & used]
    future: list[ast.stmt] = [node for node in tree.body if isinstance(node, ast.ImportFrom) and node.module == "__future__"]
    return Program(subject, chosen, future)


def used_names(subject: Subject) -> set[str]:
    """Return the names of the file's other functions and classes that a subject uses; the class of a method is none of them."""
    program = program_of(subject)
    statements = program.statements if program is not None else []
    return {each.name for each in statements if isinstance(each, ast.FunctionDef | ast.ClassDef)} - {subject.name.partition(".")[0]}


def _names_of(node: ast.stmt) -> list[str]:
    """Return the name that a function, a class, or a cheap assignment defines."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
        is_light = isinstance(node.value, ast.Lambda) or all(isinstance(each, _LIGHT) for each in ast.walk(node.value))
        is_partial = isinstance(node.value, ast.Call) and "partial" in ast.unparse(node.value.func)
        return [node.targets[0].id] if is_light or is_partial else []
    return []
