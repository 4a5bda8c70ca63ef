"""An attention whose keys must have the length of its queries, in a file that gives it a memory of any length."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from inspect import isclass

from headway.practice.diagnosis.calls.conventions import output_of
from headway.practice.diagnosis.checks.trial import Trial
from headway.practice.diagnosis.explain.failure import explain
from headway.practice.diagnosis.reading.errors import is_of_sizes
from headway.practice.diagnosis.reading.subject import Subject, parsed
from headway.practice.diagnosis.reading.trees import is_of_self, parameters_in
from headway.practice.outputs import Raised
from headway.practice.recipes.sequences import LENGTHS
from headway.practice.verdict import Cause


def other_lengths_cause(trial: Trial) -> Cause | None:
    """Return the exception of a class of attention for keys of another length than the queries if a layer of its file attends to a memory with it."""
    refused = [probe for probe in trial.refused if probe.beyond is LENGTHS]
    line = line_of_cross_attention(trial.call.subject) if refused else None
    if line is None:
        return None
    for probe in refused:
        answer = output_of(trial.call, trial.conventions, probe.inputs)
        if isinstance(answer, Raised) and is_of_sizes(answer.error):
            cause = explain(answer.error, trial.call.subject, probe)
            return cause if cause.line is not None else replace(cause, line=trial.call.subject.line)
    return None


def line_of_cross_attention(subject: Subject) -> int | None:
    """Return the line on which another class of the file gives an instance of a class keys and values of another source than the queries."""
    if not isclass(subject.value):
        return None
    owners = [node for node in ast.walk(parsed(subject.file_source)) if isinstance(node, ast.ClassDef) and node.name != subject.name]
    return next((node.lineno for owner in owners for node in _crossing(owner, subject.name)), None)


def _crossing(owner: ast.ClassDef, name: str) -> Iterator[ast.Call]:
    """Yield the calls `self.attention(x, memory, memory)` of the instances that a class makes of a class of this name."""
    held = {
        target.attr
        for node in ast.walk(owner)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and ast.unparse(node.value.func) == name
        for target in node.targets
        if is_of_self(target)
    }
    for method in (each for each in owner.body if isinstance(each, ast.FunctionDef)):
        given = parameters_in(method)[2:]  # without the instance and the sequence of the layer itself
        for call in (each for each in ast.walk(method) if isinstance(each, ast.Call)):
            is_held = is_of_self(call.func) and call.func.attr in held
            if is_held and _is_crossed(call.args[:3], given):
                yield call


def _is_crossed(operands: list[ast.expr], given: list[str]) -> bool:
    """Return True for a query, a key and a value of which the last two are the same parameter of the caller, and the first is not of it."""
    match operands:
        case [query, ast.Name(id=key), ast.Name(id=value)] if key == value and key in given:
            return all(node.id != key for node in ast.walk(query) if isinstance(node, ast.Name))
    return False
