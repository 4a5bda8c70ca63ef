"""Classes that call methods of their own which only subclasses define."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from headway.practice.diagnosis.reading.trees import is_of_self


def left_to_subclasses(defined: Mapping[str, ast.stmt]) -> set[str]:
    """Return the classes of a file that call a method of themselves which they lack, and which a class derived from them defines."""
    classes = {name: node for name, node in defined.items() if isinstance(node, ast.ClassDef)}
    return {
        base.name
        for node in classes.values()
        for base in _bases(node, classes)
        if (_called(base) - _held(base, classes)) & {each.name for each in node.body if isinstance(each, ast.FunctionDef)}
    }


def _bases(node: ast.ClassDef, classes: Mapping[str, ast.ClassDef]) -> Iterator[ast.ClassDef]:
    """Yield the classes of a file that a class derives from, directly or through others."""
    for name in (each.id for each in node.bases if isinstance(each, ast.Name) and each.id != node.name and each.id in classes):
        yield classes[name]
        yield from _bases(classes[name], {other: each for other, each in classes.items() if other != node.name})


def _called(node: ast.ClassDef) -> set[str]:
    """Return the names of the attributes of self that a class calls."""
    return {each.func.attr for each in ast.walk(node) if isinstance(each, ast.Call) and is_of_self(each.func)}


def _held(node: ast.ClassDef, classes: Mapping[str, ast.ClassDef]) -> set[str]:
    """Return the names of the methods and attributes that a class or its bases in the file define or assign."""
    nodes = [inner for each in (node, *_bases(node, classes)) for inner in ast.walk(each)]
    assigned = {each.attr for each in nodes if is_of_self(each) and isinstance(each.ctx, ast.Store)}
    return assigned | {each.name for each in nodes if isinstance(each, ast.FunctionDef)}
