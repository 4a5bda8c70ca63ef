"""Arrays of their own for names that share one: what changes it in place changes it for all of them."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Sequence

COST = 0.3
"""No program shares an array on purpose if it changes it in place."""

COPIES = {"numpy": "copy", "torch": "clone"}
"""Methods that copy an array, by library."""


def unshared(body: Sequence[ast.stmt], place: int, library: str) -> Iterator[tuple[float, list[ast.stmt], list[ast.stmt]]]:
    """Yield the statements of `a = b = zeros(n)` for each name alone, and those that keep a variable again with copies of it."""
    node = body[place]
    if isinstance(node, ast.Assign) and len(node.targets) > 1:
        yield COST, [node], [ast.Assign([target], copy.deepcopy(node.value)) for target in node.targets]
    kept = [_kept(each) for each in body]
    again = [number for number, name in enumerate(kept) if name is not None and name in kept[:number]]
    if library in COPIES and again and kept[place] is not None and kept[place] == kept[again[0]] and kept[place] not in kept[:place]:
        old = list(body[place : again[-1] + 1])
        yield COST, old, [_copied(each, COPIES[library]) if number in again else each for number, each in enumerate(old, place)]


def _kept(statement: ast.stmt) -> str | None:
    """Return the variable that a statement appends to a list, or assigns to an attribute or an element; None for others."""
    match statement:
        case ast.Expr(ast.Call(ast.Attribute(attr="append"), [ast.Name(name)])):
            return name
        case ast.Assign([ast.Attribute() | ast.Subscript()], ast.Name(name)):
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
