"""Masked scores that a class fills with a number near 0 before softmax, which its text shows even if the calls of the class are not understood."""

from __future__ import annotations

import ast
import math

from headway.practice.diagnosis.reading.subject import Subject, definitions, parsed
from headway.practice.exercise import Exercise
from headway.practice.message import EMPTY
from headway.practice.verdict import Cause

NAME = "hidden_score_is_zero"
"""Mistake of an attention whose masked scores are near 0."""

MOST = 1e-3
"""Largest number that is filled in by mistake for a large negative one, such as 1e-9 for -1e9."""


def tiny_fill_cause(subject: Subject, exercise: Exercise) -> Cause | None:
    """Return the cause for scores that are filled with a number near 0, and then passed to softmax; None if there are none."""
    mistake = next((each for each in exercise.mistakes if each.name == NAME), None)
    tree = definitions(parsed(subject.text)).get(subject.name)
    if mistake is None or tree is None:
        return None
    for method in (each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef)):
        for node in (each for each in ast.walk(method) if isinstance(each, ast.stmt)):
            name = _filled_near_zero(node)
            if name is not None and _enters_softmax(name, node, method):
                return Cause(NAME, mistake.says, mistake.fix, EMPTY, mistake.hides, line=node.lineno)
    return None


def _filled_near_zero(node: ast.stmt) -> str | None:
    """Return the name of the scores that a statement fills with a number near 0, or None."""
    match node:
        case ast.Assign(
            targets=[ast.Name(id=name)], value=ast.Call(func=ast.Attribute(value=ast.Name(id=own), attr="masked_fill"), args=[_, fill])
        ) if name == own:
            return name if _is_near_zero(fill) else None
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="masked_fill_"), args=[_, fill])):
            return name if _is_near_zero(fill) else None
        case ast.AugAssign(ast.Name(id=name), ast.Add(), ast.BinOp(op=ast.Mult()) as added):
            return name if "mask" in ast.unparse(added) and (_is_near_zero(added.left) or _is_near_zero(added.right)) else None
    return None


def _is_near_zero(fill: ast.expr) -> bool:
    """Return True for a number near 0 but not 0, also as a text or as an array of one number."""
    match fill:
        case ast.Call(args=[inner]) if ast.unparse(fill.func) in ("float", "torch.tensor"):
            return _is_near_zero(inner)
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return _is_near_zero(inner)
        case ast.Constant(value=str(text)):
            try:
                number = float(text)
            except ValueError:
                return False
        case ast.Constant(value=float(number)):
            pass
        case _:
            return False
    return math.isfinite(number) and 0 < abs(number) < MOST


def _enters_softmax(name: str, statement: ast.stmt, method: ast.FunctionDef) -> bool:
    """Return True if the first statement that reads a name after another statement passes it to softmax."""
    line = statement.end_lineno or 0
    reading = [
        each
        for each in ast.walk(method)
        if isinstance(each, ast.Assign | ast.Return)
        and each.lineno > line
        and any(isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load) for node in ast.walk(each))
    ]
    first = min(reading, key=lambda each: each.lineno, default=None)
    return first is not None and any(
        isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == "softmax" and _is_given(name, node)
        for node in ast.walk(first)
    )


def _is_given(name: str, call: ast.Call) -> bool:
    """Return True for a call of a function with a name as its first argument, or of a method of it."""
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    return any(isinstance(each, ast.Name) and each.id == name for each in (owner, *call.args[:1]))
