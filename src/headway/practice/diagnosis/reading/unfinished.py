"""Code that is not written yet: `self.query = ...`, as in the template of a course."""

from __future__ import annotations

import ast

from headway.practice.diagnosis.reading.subject import Subject, parsed


def unfinished_line(subject: Subject) -> int | None:
    """Return the first line of a subject with `...` in place of a value or of a step; None if there is none."""
    lines = range(subject.line, subject.line + len(subject.source)) if "..." in subject.own_source else ()
    found = [line for node in ast.walk(parsed(subject.text)) for line in _lines_of(node) if line in lines] if lines else []
    return min(found, default=None)


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
