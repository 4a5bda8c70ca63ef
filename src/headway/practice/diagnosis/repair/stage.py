"""A program that is defined once, in which the code of one function at a time is exchanged: far quicker than a definition for every change."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import CodeType, FunctionType
from typing import Any

from headway.practice.diagnosis.adapters.block_calls import BlockCall
from headway.practice.diagnosis.calls.calling import Call
from headway.practice.diagnosis.calls.traced import untraced
from headway.practice.diagnosis.checks.trial import Trial
from headway.practice.diagnosis.classes.flax_modules import FlaxHolder
from headway.practice.diagnosis.classes.instances import InstanceCall
from headway.practice.diagnosis.classes.slots import module_library
from headway.practice.diagnosis.reading.subject import CONSTRUCTORS, Subject
from headway.practice.diagnosis.reading.trees import functions_in
from headway.practice.diagnosis.repair.observation import Recorder, Seen
from headway.practice.diagnosis.repair.outcomes import answered, call_of
from headway.practice.diagnosis.repair.program import Change, Program
from headway.practice.exercise import Probe


@dataclass
class Stage:
    """A program with some changes made, called as in a trial.

    probe    the probe that is run first
    before   changes that stay
    is_recording   True to note the signatures of the values of all expressions in `values`
    """

    program: Program
    trial: Trial
    probe: Probe
    before: tuple[Change, ...] = ()
    is_recording: bool = False
    values: dict[int, Seen] = field(default_factory=dict)
    _kept: list[Call] = field(default_factory=list)

    @contextmanager
    def changed(self, change: Change) -> Iterator[Call | None]:
        """Call the program with one more change, or None if it cannot be defined."""
        found = self._function_of(change)
        code = None if found is None else self._code(change, *found)
        if found is None or code is None or code.co_freevars != found[1].__code__.co_freevars:
            subject = self._defined((*self.before, change))[0]
            yield None if subject is None else call_of(self.trial, subject)
            return
        node, function = found
        call, own = self._call(), function.__code__
        is_making = node.name in self._used_by_constructors
        made = getattr(call, "made", {})
        getattr(call, "unmade", {}).clear()  # what a constructor raised with the change before
        if is_making:
            made.clear()
            getattr(call, "slots", {}).clear()
        elif not made:  # instances that no change has touched
            answered(replace(self.trial, call=call), self.probe)
            call.has_changed_inputs = False
        held = {} if is_making else {key: _state(each) for key, each in made.items()}
        self.values.clear()
        function.__code__ = code
        try:
            with untraced():  # a jaxpr may be that of the code before
                yield call
        finally:
            function.__code__ = own
            for key in [key for key, each in made.items() if held.get(key) is None or held[key] != _state(each)]:
                del made[key]

    def _call(self) -> Call:
        if type(self.trial.call) not in (Call, InstanceCall, BlockCall):  # may hold results of its own
            assert self._subject is not None
            return call_of(self.trial, self._subject)
        if not self._kept:
            assert self._subject is not None
            self._kept.append(call_of(self.trial, self._subject))
        call = self._kept[0]
        call.has_changed_inputs, call.endless = False, {True}
        return call

    @property
    def _subject(self) -> Subject | None:
        return self._first[0]

    @cached_property
    def _first(self) -> tuple[Subject | None, Recorder | None]:
        return self._defined(self.before)

    def _defined(self, changes: Sequence[Change]) -> tuple[Subject | None, Recorder | None]:
        if not self.is_recording:
            return self.program.with_changes(changes), None
        subject, recorder = self.program.recording(changes)
        recorder.is_brief, recorder.values = True, self.values
        return subject, recorder

    def _function_of(self, change: Change) -> tuple[ast.FunctionDef, FunctionType] | None:
        """Return the function of a file, or the method, whose body a change concerns, with its definition."""
        node = self._owners.get(id(change.parent))
        return None if node is None else (node, self._functions[id(node)])

    @cached_property
    def _functions(self) -> dict[int, FunctionType]:
        """Functions and methods by the id of their definitions."""
        if self._subject is None:
            return {}
        held = self._subject.value.__globals__ if isinstance(self._subject.value, FunctionType) else None
        namespace = vars(self._subject.module) if self._subject.module is not None else held or {}
        found: dict[int, FunctionType] = {}
        for statement in self.program.statements:
            value = namespace.get(getattr(statement, "name", ""))
            if isinstance(statement, ast.FunctionDef):
                _note(statement, value, found)
            elif isinstance(statement, ast.ClassDef) and inspect.isclass(value):
                for node in statement.body:
                    if isinstance(node, ast.FunctionDef):
                        _note(node, vars(value).get(node.name), found)
        return found

    @cached_property
    def _owners(self) -> dict[int, ast.FunctionDef]:
        """The function or method that each node of a body is in, by the id of the node."""
        found: dict[int, ast.FunctionDef] = {}
        for statement in self.program.statements:
            for node in [statement, *getattr(statement, "body", ())]:
                if isinstance(node, ast.FunctionDef) and id(node) in self._functions:
                    found[id(node)] = node
                    found |= {id(inner): node for part in node.body for inner in ast.walk(part)}
        return found

    @cached_property
    def _used_by_constructors(self) -> set[str]:
        """Names that constructors use, directly or through the file's functions."""
        nodes = functions_in(*self.program.statements)
        found = {*CONSTRUCTORS}
        waiting = list(found)
        while waiting:
            name = waiting.pop()
            inside = [inner for node in nodes if node.name == name for inner in ast.walk(node)]
            used = {each.id for each in inside if isinstance(each, ast.Name)} | {
                each.attr for each in inside if isinstance(each, ast.Attribute)
            }
            waiting += sorted(used - found)
            found |= used
        return found

    def _code(self, change: Change, node: ast.FunctionDef, function: FunctionType) -> CodeType | None:
        """Return the code of a function with the changes made."""
        changes: Sequence[Change] = (*self.before, change)
        for each in changes:
            each.apply()
        recorder = None if self._first[1] is None else Recorder([node], self._first[1])
        try:
            return self.program.code_of(node, function)
        finally:
            if recorder is not None:
                recorder.undo()
            for each in reversed(changes):
                each.undo()


def _note(node: ast.FunctionDef, value: Any, found: dict[int, FunctionType]) -> None:
    """Note the plain function that a definition made, also if a decorator keeps it inside."""
    plain = inspect.unwrap(getattr(value, "__func__", value)) if callable(value) or hasattr(value, "__func__") else None
    if (
        isinstance(plain, FunctionType)
        and plain.__code__.co_name == node.name
        and not any("jit" in ast.dump(each) for each in node.decorator_list)
    ):
        found[id(node)] = plain


def _state(instance: Any) -> Any:
    """Return what a call may change in an instance of a torch or Flax module, apart from its weights; None for other instances."""
    if isinstance(instance, FlaxHolder):
        return [*map(id, vars(instance).values())]
    if module_library(type(instance)) != "torch":
        return None
    return [
        (*map(id, vars(module).values()), *((id(each), getattr(each, "_version", 0)) for each in module._buffers.values()))
        for module in instance.modules()
    ]
