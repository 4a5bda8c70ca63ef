"""Values that every right program of a part computes on its way, and the first line at which a learner's program leaves that way.

The steps of the definition, and right programs of the part, give the values. They are compared as collections of numbers, whatever their
layout, so heads before positions and positions before heads are the same milestone.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeGuard

import numpy

from headway.practice.diagnosis.checks.trial import Trial
from headway.practice.diagnosis.reading.trees import functions_in, is_of_self, names_in, returned_by
from headway.practice.diagnosis.repair.donors import Donor
from headway.practice.diagnosis.repair.observation import Seen, Signature, signature
from headway.practice.exercise import Probe, Steps

NUMBERS, ROOT_MEAN_SQUARE = 6, 3
"""Length of a signature, and a place in it."""
CLOSE = 1e-4
"""Relative difference of signatures that count as equal."""


@dataclass(frozen=True)
class Milestones:
    """Signatures of the values of right programs on one probe."""

    known: tuple[Signature, ...]

    @cached_property
    def _rows(self) -> numpy.ndarray:
        return numpy.array(self.known, dtype=float).reshape(-1, NUMBERS)

    def reached(self, values: Collection[Signature | None]) -> set[int]:
        """Return the places of the milestones among values."""
        rows = numpy.array([each for each in values if each is not None], dtype=float)
        return set(numpy.flatnonzero(_near(self._rows, rows).any(axis=1)).tolist()) if len(rows) and self.known else set()

    def has(self, value: Signature, *, is_scaled: bool = False) -> bool:
        """Return True for the value of a milestone, with `is_scaled` also for a multiple of one."""
        rows, row = self._rows, numpy.array([value], dtype=float)
        return bool(_near(_unscaled(rows), _unscaled(row)).any() if is_scaled else _near(rows, row).any()) if self.known else False


def _near(known: numpy.ndarray, rows: numpy.ndarray) -> numpy.ndarray:
    """Return for every milestone and every value whether they are equal."""
    size = 1e-6 + numpy.abs(known[:, None, 1:]).max(axis=-1, keepdims=True)
    apart = numpy.abs(known[:, None] - rows[None])
    return (apart[..., 0] == 0) & (apart[..., 1:] <= CLOSE * size).all(axis=-1)


def _unscaled(rows: numpy.ndarray) -> numpy.ndarray:
    return numpy.concatenate([rows[:, :1], rows[:, 1:] / (1e-30 + rows[:, ROOT_MEAN_SQUARE, None])], axis=1)


def milestones(trial: Trial, probe: Probe, donors: Sequence[Donor]) -> Milestones:
    """Return the milestones of a part on a probe: the operands and results of the definition's steps, and values of right programs.

    donors   right programs with their values on the probe
    """
    found: list[Any] = []

    def noted(step: Any) -> Any:
        if not callable(step):
            return step

        def run(*arguments: Any, **named: Any) -> Any:
            answer = step(*arguments, **named)
            found.extend([arguments, tuple(named.values()), answer])
            return answer

        return run

    steps = dict(trial.exercise.steps)
    for convention in trial.conventions:
        steps |= convention.steps
    inputs = trial.call.precise(probe.inputs)
    with suppress(Exception), numpy.errstate(all="ignore"):
        found.append(trial.exercise.recipe(Steps(steps, noted), **inputs))
    found += inputs.values()
    own = [each for value in found for array in _arrays(value) if (each := signature(array)) is not None]
    others = [each.signature for donor in donors for each in donor.values.values() if each.signature is not None]
    return Milestones(tuple(dict.fromkeys([*own, *others])))


def _arrays(value: Any) -> Iterator[Any]:
    if isinstance(value, numpy.ndarray):
        yield value
    for part in value if isinstance(value, tuple | list) else value.values() if isinstance(value, dict) else ():
        yield from _arrays(part)


def departures(statements: Sequence[ast.stmt], values: Mapping[int, Seen], path: Milestones) -> set[int]:
    """Return the lines of expressions that are computed from milestones and are none, and of those that raise.

    An expression from which a milestone is computed, such as a product of fused matrices, is left out. After a multiple of a milestone
    the lines where the program leaves the multiples count, too. Of a program that computes milestones alone it is the line that returns a
    variable: another one was meant.

    values   of the expressions that were evaluated, by the id of their nodes
    """
    lines: list[int] = []
    used: list[tuple[str, int]] = []

    def visit(node: ast.AST) -> bool | None:
        """Return True for a milestone, False for another array, None for anything else."""
        before = len(lines)
        inner = [visit(each) for each in ast.iter_child_nodes(node)]
        seen = values.get(id(node))
        if seen is None:
            is_operation = isinstance(node, ast.Call | ast.BinOp | ast.Subscript)
            if is_operation and True in inner and False not in inner:
                lines.append(node.lineno)  # type: ignore[attr-defined]
            return None if False not in inner else False
        if seen.signature is None:
            return None
        if path.has(seen.signature):
            if not isinstance(node, ast.Name):
                del lines[before:]
                used.extend((each.id, node.lineno) for each in ast.walk(node) if isinstance(each, ast.Name))  # type: ignore[attr-defined]
            return True
        is_multiple = path.has(seen.signature, is_scaled=True)  # scores may be scaled before or after they are masked
        if not isinstance(node, ast.Name) and False not in inner:
            lines.append(getattr(node, "lineno", 0))
        return is_multiple

    for statement in statements:
        visit(statement)
    right = {line for name, place in used if (line := _assigned_before(statements, name, place)) is not None}
    return set(lines) - right or _last_return(statements, values)


def _last_return(statements: Sequence[ast.stmt], values: Mapping[int, Seen]) -> set[int]:
    """Return the line of the expression that is returned last, if it is a variable with an array."""
    returned = {id(each): each for each in returned_by(*statements)}
    last = [returned[node] for node in values if node in returned][-1:]
    return {each.lineno for each in last if isinstance(each, ast.Name) and values[id(each)].signature is not None}


def _assigned_before(statements: Sequence[ast.stmt], name: str, line: int) -> int | None:
    """Return the line at which the function around a line last assigns a variable before it."""
    functions = functions_in(*statements)
    around = [node for node in functions if node.lineno <= line <= (node.end_lineno or 0)]
    found = [
        node.lineno
        for function in around
        for node in ast.walk(function)
        if isinstance(node, ast.Assign | ast.AugAssign) and node.lineno < line and name in _names(node, ast.Store)
    ]
    return max(found, default=None)


def sources(statements: Sequence[ast.stmt], lines: Collection[int]) -> set[int]:
    """Return the lines that assign the variables and attributes of self which some lines read."""
    functions = functions_in(*statements)
    inside = {id(each): [node for node in ast.walk(each) if _is_simple(node)] for each in functions}
    held = {name for nodes in inside.values() for node in nodes if node.lineno in lines for name in _of_self(node, ast.Load)}
    found: set[int] = set()
    for nodes in inside.values():
        read = {name for node in nodes if node.lineno in lines for name in _names(node, ast.Load)}
        others = [node for node in nodes if node.lineno not in lines]
        assigned = [node for node in others if isinstance(node, ast.Assign | ast.AugAssign)]
        found |= {node.lineno for node in assigned if _names(node, ast.Store) & read or _of_self(node, ast.Store) & held}
        found |= {node.lineno for node in others if _registered(node) & held}
    return found


def _registered(node: ast.stmt) -> set[str]:
    """Return the attribute that a call such as `self.register_buffer("mask", …)` sets."""
    match node:
        case ast.Expr(ast.Call(ast.Attribute(attr="register_buffer" | "register_parameter"), [ast.Constant(str(name)), *_])):
            return {name}
    return set()


def _is_simple(node: ast.AST) -> TypeGuard[ast.stmt]:
    return isinstance(node, ast.stmt) and not isinstance(node, ast.FunctionDef)


def _names(node: ast.AST, kind: type[ast.expr_context]) -> set[str]:
    return {each.id for each in names_in(kind, node)}


def _of_self(node: ast.AST, kind: type[ast.expr_context]) -> set[str]:
    """Return the attributes of self that a statement reads or assigns."""
    return {each.attr for each in ast.walk(node) if is_of_self(each) and isinstance(each.ctx, kind)}
