"""Arguments in the places of others: `Positions(d_model, max_len, dropout)` for a class that takes `(d_model, dropout, max_len)`."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping

from headway.practice.diagnosis.reading.subject import Subject, definitions, parsed
from headway.practice.diagnosis.reading.trees import functions_in, is_of_self, parameters_in
from headway.practice.message import EMPTY
from headway.practice.texts import Texts
from headway.practice.verdict import Cause

TEXTS = Texts("diagnosis")

RATE = r"drop|eps"
KINDS = (RATE, r"heads?$", r"vocab", r"layers$|blocks$", r"len|context|block_size|positions")
"""Patterns of the names of values that cannot replace each other; all others are widths, which a second layer takes in another order."""


def misplaced_argument_cause(subject: Subject) -> Cause | None:
    """Return the cause for a class of the file that is constructed with an argument in the place of another parameter; None if there is none."""
    found = definitions(parsed(subject.text))
    tree = found.get(subject.name)
    classes = {name: taken for name, node in found.items() if isinstance(node, ast.ClassDef) and (taken := _taken(node))}
    for node in () if not isinstance(tree, ast.ClassDef) else ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in classes:
            name = _misplaced(node, classes[node.func.id])
            if name is not None:
                says = TEXTS["argument_misplaced"].format(call=ast.unparse(node), name=name[0], place=name[1])
                fix = TEXTS["pass_by_name"].format(name=name[0])
                return Cause("argument_misplaced", says, fix, EMPTY, line=node.lineno)
    return None


def _taken(node: ast.ClassDef) -> list[str]:
    """Return the parameters of a class's constructor, without self."""
    constructors = [each for each in functions_in(node) if each.name == "__init__" and each in node.body]
    return parameters_in(constructors[-1])[1:] if constructors else []


def _misplaced(call: ast.Call, taken: list[str]) -> tuple[str, str] | None:
    """Return the name of an argument that is a parameter's, and the parameter that receives it."""
    if any(isinstance(each, ast.Starred) for each in call.args) or any(each.arg is None for each in call.keywords):
        return None
    given: Mapping[str, str] = {
        **{place: _name(value) for place, value in zip(taken, call.args, strict=False)},
        **{each.arg: _name(each.value) for each in call.keywords if each.arg},
    }
    for place, name in given.items():
        is_other = name != place and name in taken and _kind(name) != _kind(place)
        if is_other and given.get(name) != name and (name in given or re.search(RATE, name)):
            return name, place
    return None


def _kind(name: str) -> int:
    return next((index for index, pattern in enumerate(KINDS) if re.search(pattern, name.lower())), -1)


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if is_of_self(node) else ""
