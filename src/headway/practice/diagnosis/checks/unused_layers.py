"""Layers without a call: those that a loop goes through, `for layer in self.layers: x = self.norm(x)`, and a projection in whose place another one
is called again. Nothing tells the meaning of their weights then."""

from __future__ import annotations

import ast

from headway.practice.diagnosis.classes.children import METHODS
from headway.practice.diagnosis.reading.subject import CONSTRUCTORS, Subject, definitions, parsed
from headway.practice.diagnosis.reading.trees import is_of_self, names_in, stored_in
from headway.practice.message import EMPTY
from headway.practice.texts import Texts
from headway.practice.verdict import Cause

TEXTS = Texts("diagnosis")


def unused_layers_cause(subject: Subject) -> Cause | None:
    """Return the cause for a loop over the layers of a class that reads none of them, where nothing else does; None if there is none."""
    tree = definitions(parsed(subject.text)).get(subject.name)
    methods = [node for node in getattr(tree, "body", ()) if isinstance(node, ast.FunctionDef) and node.name not in CONSTRUCTORS]
    if not isinstance(tree, ast.ClassDef):
        return None
    read = [node.attr for method in methods for node in ast.walk(method) if is_of_self(node)]
    for method in (each for each in methods if each.name in METHODS):
        for loop in (node for node in ast.walk(method) if isinstance(node, ast.For)):
            layers = _layers_of(loop)
            if layers is None or read.count(layers.attr) > 1 or not _makes_layers(tree, layers.attr):
                continue
            layer = stored_in(loop.target)[-1]
            if not layer.startswith("_") and layer not in {each.id for each in names_in(ast.Load, method)}:
                says = TEXTS["layers_unused"].format(layer=layer, layers=ast.unparse(layers))
                return Cause("layers_unused", says, TEXTS["call_each_layer"].format(layer=layer), EMPTY, line=loop.body[0].lineno)
    return None


def unused_projection_cause(subject: Subject) -> Cause | None:
    """Return the cause for a linear layer that nothing in the file reads, where another one of its sizes is called again for the same input.

    Such are `k = self.w_q(x)` and `v = self.w_q(x)` next to `self.w_k` and `self.w_v`. None if there is none.
    """
    tree = definitions(parsed(subject.text)).get(subject.name)
    if not isinstance(tree, ast.ClassDef):
        return None
    made = _linear_layers(tree)
    read = {node.attr for node in ast.walk(parsed(subject.text)) if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)}
    unused = [name for name in made if name not in read]
    for method in (node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name in METHODS):
        assigned: dict[str, str] = {}
        for statement in (node for node in ast.walk(method) if isinstance(node, ast.Assign)):
            targets = ast.unparse(statement.targets[0])
            for call in (node for node in ast.walk(statement.value) if isinstance(node, ast.Call) and is_of_self(node.func)):
                name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
                left = next((other for other in unused if made[other] == made.get(name)), None)
                if left is not None and assigned.setdefault(ast.unparse(call), targets) != targets:
                    says = TEXTS["projection_unused"].format(unused=f"self.{left}", call=ast.unparse(call))
                    return Cause("layers_unused", says, TEXTS["call_the_unused"].format(unused=f"self.{left}"), EMPTY, line=call.lineno)
    return None


def _linear_layers(tree: ast.ClassDef) -> dict[str, str]:
    """Return the calls that make the linear layers of a class, by the names of its attributes."""
    assigned = [node for node in ast.walk(tree) if isinstance(node, ast.Assign) and len(node.targets) == 1]
    return {
        target.attr: ast.unparse(node.value)
        for node in assigned
        if is_of_self(target := node.targets[0])
        and isinstance(node.value, ast.Call)
        and ast.unparse(node.value.func).rpartition(".")[2] in ("Linear", "Dense")
    }


def _layers_of(loop: ast.For) -> ast.Attribute | None:
    """Return the attribute of self whose elements a loop goes through, with their numbers or without; None for another loop."""
    match loop.iter:
        case ast.Attribute() as layers if is_of_self(layers) and isinstance(loop.target, ast.Name):
            return layers
        case ast.Call(func=ast.Name("enumerate"), args=[ast.Attribute() as layers, *_]) if is_of_self(layers):
            return layers if isinstance(loop.target, ast.Tuple) and isinstance(loop.target.elts[-1], ast.Name) else None
    return None


def _makes_layers(tree: ast.ClassDef, name: str) -> bool:
    """Return True if a class assigns an attribute a list of layers that it makes."""
    assignments = [node for node in ast.walk(tree) if isinstance(node, ast.Assign)]
    assigned = [node for node in assignments if any(is_of_self(each) and each.attr == name for each in node.targets)]
    calls = [each.func for node in assigned for each in ast.walk(node.value) if isinstance(each, ast.Call)]
    names = {each.attr if isinstance(each, ast.Attribute) else each.id for each in calls if isinstance(each, ast.Attribute | ast.Name)}
    return len(assigned) == 1 and any(each[:1].isupper() for each in names)
