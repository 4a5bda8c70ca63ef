"""One layer in all places of a list: `[Layer(config)] * 6`. Ready-made layers take its places one by one, so no output shows it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from headway.practice.diagnosis.reading.subject import Subject, definitions, parsed
from headway.practice.diagnosis.reading.trees import is_of_self
from headway.practice.message import EMPTY
from headway.practice.texts import Texts
from headway.practice.verdict import Cause

TEXTS = Texts("diagnosis")

ON_PURPOSE = r"(?i)share|albert|universal|recurr|tied"
"""Pattern of the source of a class that uses one layer several times on purpose."""

LISTS = ("ModuleList", "Sequential")

STATELESS = r"(?i)relu|gelu|silu|tanh|sigmoid|softmax|swish|dropout|identity|flatten|tensor|config"
"""Pattern of the names of layers without weights."""


def shared_layers_cause(subject: Subject) -> Cause | None:
    """Return the cause for a list of layers in which one object is in all places; None if there is none."""
    tree = definitions(parsed(subject.text)).get(subject.name)
    if not isinstance(tree, ast.ClassDef) or re.search(ON_PURPOSE, subject.own_source):
        return None
    made = {
        target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and _is_class(node.value.func)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for value in (value for node in ast.walk(tree) for value in _lists_of(node)):
        if _repeats(value, made):
            return Cause("layers_shared", TEXTS["layers_shared"], TEXTS["make_each_layer"], EMPTY, line=value.lineno)
    return None


def _lists_of(node: ast.AST) -> Iterator[ast.expr]:
    """Yield what a module makes a list of layers from, and a list times a number that an attribute holds."""
    if isinstance(node, ast.Call) and _name(node.func) in LISTS:
        yield from (each.value if isinstance(each, ast.Starred) else each for each in node.args)
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp) and any(map(is_of_self, node.targets)):
        yield node.value


def _repeats(node: ast.expr, made: set[str]) -> bool:
    """Return True for a list with the same layer in all places.

    made   names of layers that are made once
    """

    def is_layer(each: ast.expr, *, is_called: bool) -> bool:
        return (is_called and isinstance(each, ast.Call) and _is_class(each.func)) or (isinstance(each, ast.Name) and each.id in made)

    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        lists = [each for each in (node.left, node.right) if isinstance(each, ast.List) and len(each.elts) == 1]
        return any(is_layer(each.elts[0], is_called=True) for each in lists)
    return isinstance(node, ast.ListComp | ast.GeneratorExp) and is_layer(node.elt, is_called=False)


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _is_class(node: ast.expr) -> bool:
    return _name(node)[:1].isupper() and not re.search(STATELESS, _name(node))
