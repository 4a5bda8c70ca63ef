"""Results that a statement computes and drops: `scores.masked_fill(mask, -inf)` changes nothing. Without its mask an attention may still be right as another part."""

from __future__ import annotations

import ast

from headway.practice.diagnosis.reading.subject import Subject, definitions, parsed
from headway.practice.message import EMPTY
from headway.practice.texts import Texts
from headway.practice.verdict import Cause

TEXTS = Texts("diagnosis")


def dropped_result_cause(subject: Subject) -> Cause | None:
    """Return the cause for a masking whose result is dropped; None if there is none."""
    tree = definitions(parsed(subject.text)).get(subject.name)
    for node in () if tree is None else ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and _is_masking(node.value):
            written = ast.unparse(node.value)
            says = TEXTS["result_dropped"].format(code=written)
            return Cause("result_dropped", says, TEXTS["assign_the_result"].format(code=written), EMPTY, line=node.lineno)
    return None


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
