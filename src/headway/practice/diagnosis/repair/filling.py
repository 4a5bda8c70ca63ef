"""Statements in a place that a program leaves empty with `pass`."""

from __future__ import annotations

import ast
import copy
import itertools
from collections.abc import Iterator, Sequence

from headway.practice.diagnosis.repair.context import Context
from headway.practice.diagnosis.repair.templates import parsed, table

MOST_ASSIGNMENTS, MOST_VARIABLES = 40, 8
"""Numbers of the statements of a program, and of the variables of a function, that are tried."""

Filling = tuple[float, list[ast.stmt], list[ast.stmt]]


def assignments_in(statements: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Return the different assignments of a program."""
    nodes = (node for statement in statements for node in ast.walk(statement))
    return [*{ast.dump(node): node for node in nodes if isinstance(node, ast.Assign | ast.AugAssign)}.values()]


def filled(node: ast.Pass, context: Context) -> Iterator[Filling]:
    """Yield what may be meant by an empty place: a counter, a change of a variable, or a statement that the program has elsewhere."""
    for cost, statement in itertools.chain(_counters(context), _changes(context), _known(context)):
        yield cost, [node], [statement]


def _counters(context: Context) -> Iterator[tuple[float, ast.stmt]]:
    """Yield a step of each whole number in scope."""
    names = [name for name, seen in context.known.items() if seen.kind == "int"][:MOST_VARIABLES]
    for name, sign in itertools.product(names, "+-"):
        yield 0.8 if sign == "+" else 1.0, ast.parse(f"{name} {sign}= 1").body[0]


def _changes(context: Context) -> Iterator[tuple[float, ast.stmt]]:
    """Yield changes of each array in scope: what right programs compute from it, a layer or function, an exchange of axes, a mask, a sum."""
    arrays = {name: seen for name, seen in context.names.variables.items() if seen.is_array}
    for name, seen in [*arrays.items()][-MOST_VARIABLES:]:
        own = ast.Name(name, ast.Load())
        for missing in context.lacking:
            if missing.around == seen.digest:
                yield 0.7, _stored(name, missing.made(own))
        called = [*(f"self.{each}" for each in (*context.methods, *context.unused_parts)), *context.functions]
        yield from ((1.0, _stored(name, parsed(f"{function}(E)", {"E": own}))) for function in called[:MOST_VARIABLES])
        for idiom in context.idioms:
            if isinstance(idiom.func, ast.Attribute):
                moved = ast.Call(ast.Attribute(own, idiom.func.attr, ast.Load()), idiom.args, idiom.keywords)
                yield 1.1, _stored(name, moved)
        for other, held in arrays.items():
            if other != name and held.shape == seen.shape:
                yield 1.2, _stored(name, parsed("E + A", {"E": own, "A": ast.Name(other, ast.Load())}))
            if other != name and ("mask" in other.lower() or held.kind == "bool array"):
                for text in table()["combinations"].get(f"mask_{context.library}", ()):
                    yield 1.2, _stored(name, parsed(text, {"E": own, "M": ast.Name(other, ast.Load())}))


def _stored(name: str, value: ast.expr) -> ast.stmt:
    return ast.Assign([ast.Name(name, ast.Store())], value)


def _known(context: Context) -> Iterator[tuple[float, ast.stmt]]:
    """Yield the assignments of the program that read only what is in scope."""
    for statement in context.assignments[:MOST_ASSIGNMENTS]:
        read = {each.id for each in ast.walk(statement) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)}
        if read <= {*context.names.variables, *context.module, *context.operands, "self"}:
            yield 0.9, copy.deepcopy(statement)
