"""Code that is not written yet: `self.query = ...`, as in the template of a course."""

from __future__ import annotations

import ast

from headway.practice.diagnosis.reading.subject import Subject, parsed


def unfinished_line(subject: Subject) -> int | None:
    """Return the first line of a subject that assigns or returns `...` in place of a value; None if there is none."""
    lines = range(subject.line, subject.line + len(subject.source)) if "..." in subject.own_source else ()
    found = [node.lineno for node in ast.walk(parsed(subject.text)) if _has_no_value(node) and node.lineno in lines] if lines else []
    return min(found, default=None)


def _has_no_value(node: ast.AST) -> bool:
    """Return True for a statement of `...`; a field with an annotation may have it as its default."""
    match node:
        case ast.Assign(value=ast.Constant(value=value)) | ast.Return(value=ast.Constant(value=value)):
            return value is Ellipsis
    return False
