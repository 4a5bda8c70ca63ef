"""Masked scores that a class fills with a number near 0, or a large positive one, before softmax, which its text shows even if the calls of the class are not understood."""

from __future__ import annotations

import ast
import math

from headway.practice.diagnosis.reading.subject import Subject, definitions, parsed
from headway.practice.diagnosis.reading.trees import last_name
from headway.practice.exercise import Exercise, Mistake
from headway.practice.message import EMPTY
from headway.practice.recipes.mask_mistakes import MASKS
from headway.practice.verdict import Cause

NEAR_ZERO, LARGE = "hidden_score_is_zero", "hidden_score_is_large"
"""Mistakes of an attention whose masked scores are near 0, or positive and large."""

MOST = 1e-3
"""Largest number that is filled in by mistake for a large negative one, such as 1e-9 for -1e9."""

LEAST = 1e3
"""Smallest number that is filled in by mistake for a negative one, such as inf for -inf."""


def fill_cause(subject: Subject, exercise: Exercise) -> Cause | None:
    """Return the cause for scores that are filled with a number near 0, or a large one, and then passed to softmax; None if there are none."""
    mistakes = {each.name: each for each in exercise.mistakes if each.name in (NEAR_ZERO, LARGE)}
    tree = definitions(parsed(subject.text)).get(subject.name)
    if not mistakes or tree is None:
        return None
    for method in (each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef)):
        for node in (each for each in ast.walk(method) if isinstance(each, ast.stmt)):
            name, fill = _filled(node)
            mistake = mistakes.get(_mistake_of(fill) or "")
            if mistake is not None and _enters_softmax(name, node, method):
                return _cause(mistake, node.lineno)
    return None


def tiny_triangle_cause(subject: Subject) -> Cause | None:
    """Return the cause for a number near 0 above the diagonal, where a large negative one would hide the later positions; None without one.

    A part is right with it as one that hides nothing, which no program means that makes such a triangle.
    """
    tree = definitions(parsed(subject.text)).get(subject.name)
    mistake = next(each for each in MASKS if each.name == NEAR_ZERO)
    found = next((node for node in ast.walk(tree) if _is_tiny_triangle(node)), None) if tree is not None else None
    return None if found is None else _cause(mistake, getattr(found, "lineno", subject.line))


def _is_tiny_triangle(node: ast.AST) -> bool:
    """Return True for `full(shape, 1e-9).triu(1)`, `triu(full(shape, 1e-9), 1)` and `triu(ones(shape), 1) * 1e-9`."""
    match node:
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return any(_is_upper(each) and _is_tiny(other) for each, other in ((left, right), (right, left)))
        case ast.Call() if _is_upper(node):
            return any(isinstance(each, ast.Call) and _is_filled_with_tiny(each) for each in (_receiver(node), *node.args))
    return False


def _is_upper(node: ast.expr) -> bool:
    """Return True for a call that keeps what is above the diagonal."""
    if not isinstance(node, ast.Call) or last_name(node.func) != "triu":
        return False
    given = [*node.args, *(each.value for each in node.keywords if each.arg in ("diagonal", "k"))]
    return any(isinstance(each, ast.Constant) and each.value == 1 for each in given)


def _is_filled_with_tiny(node: ast.Call) -> bool:
    given = [*node.args, *(each.value for each in node.keywords if each.arg == "fill_value")]
    return last_name(node.func) in ("full", "full_like") and any(map(_is_tiny, given))


def _receiver(node: ast.Call) -> ast.expr | None:
    return node.func.value if isinstance(node.func, ast.Attribute) else None


def _is_tiny(node: ast.expr) -> bool:
    return _mistake_of(_number(node)) == NEAR_ZERO


def _cause(mistake: Mistake, line: int) -> Cause:
    return Cause(mistake.name, mistake.says, mistake.fix, EMPTY, mistake.hides, line=line)


def _filled(node: ast.stmt) -> tuple[str, float]:
    """Return the name of the scores that a statement fills with a number, and the number; NaN if it fills none."""
    match node:
        case ast.Assign(
            targets=[ast.Name(id=name)], value=ast.Call(func=ast.Attribute(value=ast.Name(id=own), attr="masked_fill"), args=[_, fill])
        ) if name == own:
            return name, _number(fill)
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="masked_fill_"), args=[_, fill])):
            return name, _number(fill)
        case ast.AugAssign(ast.Name(id=name), ast.Add(), ast.BinOp(op=ast.Mult()) as added) if "mask" in ast.unparse(added):
            numbers = [each for each in map(_number, (added.left, added.right)) if _mistake_of(each) == NEAR_ZERO]
            return name, next(iter(numbers), math.nan)
    return "", math.nan


def _mistake_of(fill: float) -> str | None:
    """Return the name of the mistake that a number in place of masked scores is: near 0 but not 0, or large; None for another one."""
    return NEAR_ZERO if 0 < abs(fill) < MOST else LARGE if fill > LEAST else None


def _number(fill: ast.expr) -> float:
    """Return the number that is written in an expression, also as a text or as an array of it; NaN for another expression."""
    match fill:
        case ast.Call(args=[inner]) if ast.unparse(fill.func) in ("float", "torch.tensor"):
            return _number(inner)
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return -_number(inner)
        case ast.Attribute(attr="inf"):
            return math.inf
        case ast.Constant(value=str(text)):
            try:
                return float(text)
            except ValueError:
                return math.nan
        case ast.Constant(value=float(number)):
            return number
    return math.nan


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
