"""Values that a call computes and never reads: the bias of relative positions in an attention, a second loss next to the first."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator

from headway.practice.diagnosis.classes.children import METHODS
from headway.practice.diagnosis.reading.subject import Subject, definitions, parsed
from headway.practice.diagnosis.reading.trees import is_of_self, names_in
from headway.practice.message import EMPTY
from headway.practice.texts import Texts
from headway.practice.verdict import Cause

TEXTS = Texts("diagnosis")

OF_LOSS = r"(?i)(^|_)(loss|losses|penalty|reg|regulari[sz]ation|regulari[sz]er)(_|$|\d)"
"""Pattern of the names of a part of a loss."""

HOLDS_WEIGHTS = r"^(nn\.|eqx\.nn\.|torch\.nn\.)?(Parameter|Embedding|Linear|Dense|Conv1d|LayerNorm|RMSNorm|Embed)$"
"""Pattern of the functions that make weights."""


def unused_value_cause(subject: Subject) -> Cause | None:
    """Return the cause for a value of a class's own weights, or a part of a loss, that nothing reads after it is computed; None if there is none."""
    tree = definitions(parsed(subject.text)).get(subject.name)
    if isinstance(tree, ast.ClassDef):
        held = {*_weights(tree)}
        functions = [each for each in tree.body if isinstance(each, ast.FunctionDef) and each.name in METHODS]
    else:
        held, functions = set(), [tree] if isinstance(tree, ast.FunctionDef) else []
    for function in functions:
        for name, value in _overwritten(function, held):
            says = TEXTS["value_overwritten"].format(name=name, code=ast.unparse(value))
            return Cause("value_unused", says, TEXTS["read_the_value"].format(name=name), EMPTY, line=value.lineno)
        for name, value in _unread(function):
            is_of_weights = any(is_of_self(node) and node.attr in held for node in ast.walk(value))
            if is_of_weights or (re.search(OF_LOSS, name) and _is_computed(value)):
                says = TEXTS["value_unused"].format(name=name, code=ast.unparse(value))
                return Cause("value_unused", says, TEXTS["use_the_value"].format(name=name), EMPTY, line=value.lineno)
    return None


def _weights(tree: ast.ClassDef) -> Iterator[str]:
    """Yield the attributes of a class that it assigns layers or arrays of weights."""
    for node in (each for each in ast.walk(tree) if isinstance(each, ast.Assign)):
        pairs = [(target, node.value) for target in node.targets]
        if isinstance(node.targets[0], ast.Tuple) and isinstance(node.value, ast.Tuple):
            pairs = [*zip(node.targets[0].elts, node.value.elts, strict=False)]
        for pair in pairs:
            match pair:
                case (ast.Attribute(ast.Name("self"), name), ast.Call(func=made)) if re.search(HOLDS_WEIGHTS, ast.unparse(made)):
                    yield name


def _unread(function: ast.FunctionDef) -> Iterator[tuple[str, ast.expr]]:
    """Yield the names that a function assigns once and never reads, with their values."""
    if any(isinstance(node, ast.Call) and ast.unparse(node.func) in ("locals", "vars", "eval", "exec") for node in ast.walk(function)):
        return
    read = {each.id for each in names_in(ast.Load, function)}
    outer = {name for node in ast.walk(function) if isinstance(node, ast.Global | ast.Nonlocal) for name in node.names}
    for node in ast.walk(function):
        match node:
            case ast.Assign([ast.Name(name)], value) if name not in read | outer and not name.startswith("_"):
                yield name, value


def _overwritten(function: ast.FunctionDef, held: Collection[str]) -> Iterator[tuple[str, ast.expr]]:
    """Yield the names to which a function assigns the output of layers and then, before anything reads it, another value; with that value.

    held   attributes of the class that hold weights
    """
    of_weights: set[str] = set()
    unread: set[str] = set()
    for statement in function.body:
        match statement:
            case ast.Assign([ast.Name(name)], value):
                read = {each.id for each in names_in(ast.Load, value)}
                if name in unread - read:
                    yield name, value
                unread -= read
                if read & of_weights or any(_is_layer(node, held) for node in ast.walk(value)):
                    of_weights.add(name)
                    unread.add(name)
                else:
                    of_weights.discard(name)
                    unread.discard(name)
            case _:
                unread -= {each.id for each in (*names_in(ast.Load, statement), *names_in(ast.Store, statement))}


def _is_layer(node: ast.AST, held: Collection[str]) -> bool:
    """Return True for the call of a layer: `self.up(x)`, or `nn.Dense(width)(x)` in a module of Flax."""
    match node:
        case ast.Call(func=ast.Attribute() as layer) if is_of_self(layer):
            return layer.attr in held
        case ast.Call(func=ast.Call(func=made)):
            return re.search(HOLDS_WEIGHTS, ast.unparse(made)) is not None
    return False


def _is_computed(value: ast.expr) -> bool:
    """Return True for an operation on values, or a call of a function: no class, whose instance may be called by another name."""
    calls = [ast.unparse(node.func).rpartition(".")[2] for node in ast.walk(value) if isinstance(node, ast.Call)]
    return bool(calls) and not any(name[:1].isupper() for name in calls)
