"""Masked results that nothing reads: `scores.masked_fill(mask, -inf)` changes nothing by itself. Without its mask an attention may still be right as another part."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from headway.practice.diagnosis.reading.subject import Subject, definitions, parsed
from headway.practice.diagnosis.reading.trees import names_in, read_in, stored_in
from headway.practice.message import EMPTY, Message
from headway.practice.texts import Texts
from headway.practice.verdict import Cause

TEXTS = Texts("diagnosis")


def dropped_result_cause(subject: Subject) -> Cause | None:
    """Return the cause for a masking whose result is dropped; None if there is none."""
    tree = definitions(parsed(subject.text)).get(subject.name)
    for node in () if tree is None else ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and _is_masking(node.value):
            return _cause(TEXTS["result_dropped"], node.value, node.lineno)
        for masked, line in _overwritten(getattr(node, "body", None)):
            return _cause(TEXTS["result_overwritten"], masked, line)
    return None


def _cause(says: Message, masked: ast.expr, line: int) -> Cause:
    written = ast.unparse(masked)
    return Cause("result_dropped", says.format(code=written), TEXTS["assign_the_result"].format(code=written), EMPTY, line=line)


def _overwritten(body: object) -> Iterator[tuple[ast.expr, int]]:
    """Yield the maskings that statements assign to a name which is assigned again before anything reads it, with the line of the latter."""
    statements = [each for each in body if isinstance(each, ast.stmt)] if isinstance(body, list) else []
    for place, statement in enumerate(statements):
        for node in ast.walk(statement):
            match node:
                case ast.Assign([ast.Name(name)], ast.Call() as masked) if _is_masking(masked) and not _reads(statement, name, node):
                    after = next((each for each in statements[place + 1 :] if name in {*stored_in(each), *read_in(each)}), None)
                    if isinstance(after, ast.Assign) and name not in read_in(after):
                        yield masked, after.lineno


def _reads(statement: ast.stmt, name: str, before: ast.stmt) -> bool:
    """Return True if a statement reads a name after a part of it, or may do so in the next iteration of a loop."""
    is_loop = any(isinstance(each, ast.For | ast.While) for each in ast.walk(statement))
    later = (each for each in names_in(ast.Load, statement) if each.lineno > (before.end_lineno or before.lineno))
    return is_loop or any(each.id == name for each in later)


def _is_masking(call: ast.Call) -> bool:
    """Return True for a call that returns masked values and changes none in place."""
    match call.func:
        case ast.Attribute(attr="masked_fill"):
            return True
        case ast.Attribute(attr="where", value=ast.Name(id="torch" | "np" | "numpy" | "jnp" | "mx")):
            return len(call.args) == 3
        case ast.Attribute(attr="set", value=ast.Subscript(value=ast.Attribute(attr="at"))):
            return True
    return False
