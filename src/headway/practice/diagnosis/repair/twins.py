"""The same change of statements next to each other that are written alike: what is wrong with the key is often wrong with the value, too."""

from __future__ import annotations

import ast
import copy
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headway.practice.diagnosis.repair.program import Change, locate

COST = 0.2
"""Additional cost of a change of several statements."""
MAX_COST, MAX_TWINS = 1.5, 60
"""Costlier changes are made in one statement only; and the number of changes of several statements."""

Renaming = Mapping[str, str]
"""Words of a statement with those that its twin has in their places, and the other way round."""


@dataclass(frozen=True)
class _Run:
    """Statements of one body that are the first one with other words."""

    parent: ast.AST
    field: str
    place: int
    statements: Sequence[ast.stmt]
    renamings: Sequence[Renaming]


def of_twins(changes: Sequence[Change], statements: Sequence[ast.stmt], lines: Collection[int]) -> list[Change]:
    """Return the cheapest changes of one statement made in its twins as well.

    changes      single changes
    statements   top-level statements of the program
    lines        those of which one has to be changed
    """
    likely = [run for statement in statements for run in _runs(statement) if any(each.lineno in lines for each in run.statements)]
    runs = {id(node): run for run in likely for node in ast.walk(run.statements[0])}
    found: list[Change] = []
    for change in sorted(changes, key=lambda each: each.cost):
        if len(found) == MAX_TWINS:
            break
        run = runs.get(id(change.parent))
        if run is None or change.cost > MAX_COST or not isinstance(change.old, ast.expr):
            continue
        change.apply()
        try:
            changed = copy.deepcopy(run.statements[0])
        finally:
            change.undo()
        new = [changed]
        for other, renaming in zip(run.statements[1:], run.renamings, strict=True):
            twin = _Renamed(renaming).visit(copy.deepcopy(changed))
            locate(twin, other)
            new.append(twin)
        found.append(Change(change.cost + COST, change.statement, run.parent, run.field, run.place, list(run.statements), new))
    return found


def is_of_twins(change: Change) -> bool:
    """Return True for a change of several statements."""
    if not isinstance(change.old, list) or not isinstance(change.new, list) or not len(change.old) == len(change.new) > 1:
        return False
    before = set(map(id, change.old))
    return not any(id(each) in before for each in change.new)


def _runs(statement: ast.stmt) -> Iterator[_Run]:
    for parent in ast.walk(statement):
        for field in ("body", "orelse"):
            body = getattr(parent, field, None)
            if not isinstance(body, list) or isinstance(parent, ast.ClassDef):
                continue
            for place, first in enumerate(body):
                renamings: list[Renaming] = []
                for other in body[place + 1 :]:
                    renaming = renaming_of(first, other)
                    if renaming is None:
                        break
                    renamings.append(renaming)
                if renamings:
                    yield _Run(parent, field, place, body[place : place + 1 + len(renamings)], renamings)


def renaming_of(one: ast.stmt, other: ast.stmt) -> Renaming | None:
    """Return the words that an assignment exchanges with another one; None if it does not become the other one, or equals it."""
    if not isinstance(one, ast.Assign | ast.AugAssign) or type(one) is not type(other):
        return None
    renaming: dict[str, str] = {}
    if not _compare(one, other, renaming) or not renaming:
        return None
    return renaming if ast.dump(_Renamed(renaming).visit(copy.deepcopy(one))) == ast.dump(other) else None


def _compare(one: Any, other: Any, renaming: dict[str, str]) -> bool:
    """Return True if two trees differ in words and numbers only, which are added to a renaming."""
    if type(one) is not type(other):
        return False
    if isinstance(one, list):
        return len(one) == len(other) and all(_compare(*pair, renaming) for pair in zip(one, other, strict=True))
    if isinstance(one, ast.AST):
        return all(_compare(getattr(one, name, None), getattr(other, name, None), renaming) for name in one._fields)
    if one != other:
        renaming |= {_word(one): _word(other), _word(other): _word(one)}
    return True


def _word(value: Any) -> str:
    return value if isinstance(value, str) else repr(value)


class _Renamed(ast.NodeTransformer):
    """The tree with words exchanged."""

    def __init__(self, renaming: Renaming) -> None:
        self.renaming = renaming

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.copy_location(ast.Name(self.renaming.get(node.id, node.id), node.ctx), node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        return ast.copy_location(ast.Attribute(node.value, self.renaming.get(node.attr, node.attr), node.ctx), node)

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        other = self.renaming.get(_word(node.value))
        if other is None or isinstance(node.value, bool) or node.value is None:
            return node
        value = other if isinstance(node.value, str) else ast.literal_eval(other)
        return ast.copy_location(ast.Constant(value), node)
