"""Code that is not written yet: `self.query = ...`, or methods with `pass` alone, as in the template of a course."""

from __future__ import annotations

import ast
import re

from headway.practice.diagnosis.reading.methods import is_left_out
from headway.practice.diagnosis.reading.subject import Subject, parsed


def unfinished_line(subject: Subject) -> int | None:
    """Return the first line of a subject with `...` in place of a value or of a step, or with `pass` in place of all of its code; None if there is none."""
    if not re.search(r"\.\.\.|\bpass$", subject.own_source, re.MULTILINE):
        return None
    lines = range(subject.line, subject.line + len(subject.source))
    tree = parsed(subject.text)
    own = [node for node in tree.body if node.lineno in lines and _is_empty(node)]
    left_out = [each.lineno for node in own for each in ast.walk(node) if isinstance(each, ast.Pass)]
    found = [line for node in ast.walk(tree) for line in _lines_of(node) if line in lines]
    return min(left_out or found, default=None)


def mark_at(subject: Subject, line: int) -> str:
    """Return what is in place of code in a line of a subject's file."""
    return "..." if "..." in subject.text.splitlines()[line - 1] else "pass"


def _is_empty(node: ast.stmt) -> bool:
    """Return True for a function without code, and for a class whose methods have none, its constructor aside."""
    if isinstance(node, ast.ClassDef):
        methods = [each for each in node.body if isinstance(each, ast.FunctionDef) and each.name != "__init__"]
        return bool(methods) and all(map(_is_empty, methods))
    return isinstance(node, ast.FunctionDef) and any(isinstance(each, ast.Pass) for each in node.body) and is_left_out(node)


def _lines_of(node: ast.AST) -> list[int]:
    """Return the lines of a node with `...`: an assignment, what is returned, and a statement among others of a function, whose whole body it may be."""
    match node:
        case ast.Assign(value=ast.Constant(value=value)) | ast.Return(value=ast.Constant(value=value)) if value is Ellipsis:
            return [node.lineno]
        case ast.FunctionDef(body=body) if not all(isinstance(each, ast.Expr) for each in body):
            return [each.lineno for each in body if _is_ellipsis(each)]
    return []


def _is_ellipsis(statement: ast.stmt) -> bool:
    match statement:
        case ast.Expr(value=ast.Constant(value=value)):
            return value is Ellipsis
    return False
