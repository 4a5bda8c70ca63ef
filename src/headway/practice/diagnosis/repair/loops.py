"""Steps that loops lack: a `while` whose condition reads a name that a branch of its body does not change never ends there."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from headway.practice.diagnosis.repair.program import Change

COST = -0.5
STEPS = (1, 2)
"""Numbers by which a loop's variable is moved if no other branch shows one."""


def steps(index: int, loop: ast.While) -> Iterator[Change]:
    """Yield statements of a loop that change what its condition reads, at the end of each branch without one: those of other branches, then usual ones."""
    names = {node.id for node in ast.walk(loop.test) if isinstance(node, ast.Name)}
    moving = [
        node for node in ast.walk(loop) if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) and node.target.id in names
    ]
    usual = [
        ast.AugAssign(ast.Name(name, ast.Store()), operator, ast.Constant(number))
        for name in sorted(names)
        for operator in (ast.Add(), ast.Sub())
        for number in STEPS
    ]
    different = {ast.unparse(each): each for each in (*moving, *usual)}
    for parent, field, body in _branches(loop):
        if any(_moves(node, names) for node in body):
            continue
        for place, statement in enumerate(different.values()):
            last = [] if isinstance(body[-1], ast.Pass) else [body[-1]]
            yield Change(COST + 0.02 * place, index, parent, field, len(body) - 1, [body[-1]], [*last, statement])


def _branches(node: ast.While | ast.If) -> Iterator[tuple[ast.AST, str, list[ast.stmt]]]:
    """Yield the bodies in which an iteration ends, innermost first, without those that leave the loop."""
    for field in ("body",) if isinstance(node, ast.While) else ("body", "orelse"):
        body = getattr(node, field)
        if not body or isinstance(body[-1], ast.Break | ast.Return | ast.Raise):
            continue
        for each in body:
            if isinstance(each, ast.If):
                yield from _branches(each)
        yield node, field, body


def _moves(node: ast.AST, names: set[str]) -> bool:
    """Return True if a statement changes one of the names in every case."""
    if isinstance(node, ast.If):
        return bool(node.orelse) and all(any(_moves(each, names) for each in body) for body in (node.body, node.orelse))
    targets = [node.target] if isinstance(node, ast.AugAssign) else node.targets if isinstance(node, ast.Assign) else []
    stored = {each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)}
    return bool(stored & names)
