"""Results that nothing reads: `scores.masked_fill(mask, -inf)` and `self.norm(x)` change nothing by themselves, and dropout of the scores replaces the
result of softmax.

Without its mask an attention may still be right as another part, and without dropout the second mistake has no effect.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from headway.practice.diagnosis.reading.subject import Subject, definitions, parsed
from headway.practice.diagnosis.reading.trees import names_in, read_in, stored_in
from headway.practice.message import EMPTY, Message
from headway.practice.texts import Texts
from headway.practice.verdict import Cause

TEXTS = Texts("diagnosis")


def dropped_result_cause(subject: Subject) -> Cause | None:
    """Return the cause for a masking, a norm, or a softmax before dropout, whose result is dropped; None if there is none."""
    tree = definitions(parsed(subject.text)).get(subject.name)
    norms = set() if tree is None else {*_norms(tree)}
    for node in () if tree is None else ast.walk(tree):
        match node:
            case ast.Expr(ast.Call(func=ast.Attribute(ast.Name("self"), name)) as dropped) if name in norms:
                return _cause(TEXTS["norm_dropped"], dropped, node.lineno, TEXTS["use_the_result"])
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and _is_masking(node.value):
            return _cause(TEXTS["result_dropped"], node.value, node.lineno)
        for masked, line in _overwritten(getattr(node, "body", None)):
            return _cause(TEXTS["result_overwritten"], masked, line)
        for weights, line in _replaced_by_dropout(getattr(node, "body", None)):
            return _cause(TEXTS["weights_overwritten"], weights, line, TEXTS["drop_the_weights"])
    return None


def _cause(says: Message, dropped: ast.expr, line: int, fix: Message = TEXTS["assign_the_result"]) -> Cause:
    written = ast.unparse(dropped)
    return Cause("result_dropped", says.format(code=written), fix.format(code=written), EMPTY, line=line)


def _norms(tree: ast.AST) -> Iterator[str]:
    """Yield the attributes of a class that hold a norm of a library, whose call changes nothing in place: `self.norm = nn.LayerNorm(width)`."""
    for node in ast.walk(tree):
        match node:
            case ast.Assign([ast.Attribute(ast.Name("self"), name)], ast.Call(func=ast.Attribute(ast.Name("nn"), "LayerNorm" | "RMSNorm"))):
                yield name


def _replaced_by_dropout(body: object) -> Iterator[tuple[ast.expr, int]]:
    """Yield the softmax whose result a branch replaces by dropout of something else, `if dropout: weights = dropout(scores)`, with the branch's line."""
    statements = [each for each in body if isinstance(each, ast.stmt)] if isinstance(body, list) else []
    for place, statement in enumerate(statements):
        match statement:
            case ast.Assign([ast.Name(name)], ast.Call(func=ast.Attribute(attr="softmax") | ast.Name(id="softmax")) as weights):
                after = next((each for each in statements[place + 1 :] if name in {*stored_in(each), *read_in(each)}), None)
            case _:
                continue
        for node in ast.walk(after) if isinstance(after, ast.If) and name not in read_in(after) else ():
            match node:
                case ast.Assign([ast.Name(other)], ast.Call() as call) if other == name and re.search("drop", ast.unparse(call.func)):
                    yield weights, node.lineno


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
