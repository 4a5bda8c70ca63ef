"""Arrays of their own for names that share one: what changes it in place changes it for all of them."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Sequence

COST = 0.3
"""No program shares an array on purpose if it changes it in place."""

COPIES = {"numpy": "copy", "torch": "clone"}
"""Methods that copy an array, by library."""

HELD = (ast.Attribute, ast.Subscript)
"""Expressions for what an object or a dict holds."""


def unshared(body: Sequence[ast.stmt], place: int, library: str) -> Iterator[tuple[float, list[ast.stmt], list[ast.stmt]]]:
    """Yield the statements of `a = b = zeros(n)` for each name alone, and those that keep a variable again, or one that changes, with copies of it.

    For `state["v"] = state["m"]` yield one with the value that an earlier statement gives the other, or with a copy.
    """
    node = body[place]
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], HELD) and isinstance(node.value, HELD):
        for value in _of_its_own(node.value, body[:place], library):
            yield COST, [node], [ast.Assign(node.targets, value)]
    if isinstance(node, ast.Assign) and len(node.targets) > 1:
        yield COST, [node], [ast.Assign([target], copy.deepcopy(node.value)) for target in node.targets]
    kept = [_kept(each) for each in body]
    if library in COPIES and kept[place] is not None and kept[place] in map(_changed_in_place, body):
        yield COST, [node], [_copied(node, COPIES[library])]
    again = [number for number, name in enumerate(kept) if name is not None and name in kept[:number]]
    if library in COPIES and again and kept[place] is not None and kept[place] == kept[again[0]] and kept[place] not in kept[:place]:
        old = list(body[place : again[-1] + 1])
        yield COST, old, [_copied(each, COPIES[library]) if number in again else each for number, each in enumerate(old, place)]


def _of_its_own(value: ast.expr, earlier: Sequence[ast.stmt], library: str) -> Iterator[ast.expr]:
    """Yield the expression that gave an attribute or an element its array, or a copy of the array if no earlier statement has given it one."""
    given = [each.value for each in earlier if isinstance(each, ast.Assign) and ast.unparse(value) in map(ast.unparse, each.targets)]
    if given and isinstance(given[-1], ast.Call | ast.ListComp | ast.DictComp):
        yield copy.deepcopy(given[-1])
    elif library in COPIES:
        yield _call(copy.deepcopy(value), COPIES[library])


def _kept(statement: ast.stmt) -> str | None:
    """Return the variable that a statement appends to a list, or assigns to an attribute or an element; None for others."""
    match statement:
        case ast.Expr(ast.Call(ast.Attribute(attr="append"), [ast.Name(name)])):
            return name
        case ast.Assign([ast.Attribute() | ast.Subscript()], ast.Name(name)):
            return name
    return None


def _changed_in_place(statement: ast.stmt) -> str | None:
    """Return the variable that a statement changes in place, if it is an array: `point -= step`; None for others."""
    match statement:
        case ast.AugAssign(ast.Name(name)):
            return name
    return None


def _copied(statement: ast.stmt, method: str) -> ast.stmt:
    """Return a statement that keeps a copy of its variable."""
    changed = copy.deepcopy(statement)
    match changed:
        case ast.Expr(ast.Call(args=[name]) as call):
            call.args = [_call(name, method)]
        case ast.Assign():
            changed.value = _call(changed.value, method)
    return changed


def _call(value: ast.expr, method: str) -> ast.expr:
    return ast.Call(ast.Attribute(value, method, ast.Load()), [], [])
