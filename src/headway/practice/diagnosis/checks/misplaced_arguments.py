"""Arguments in the places of others: `Positions(d_model, max_len, dropout)` for a class that takes `(d_model, dropout, max_len)`."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping

from headway.practice.diagnosis.reading.subject import Subject, definitions, parsed
from headway.practice.diagnosis.reading.trees import functions_in, is_of_self, parameters_in, read_in
from headway.practice.message import EMPTY
from headway.practice.texts import Texts
from headway.practice.verdict import Cause

TEXTS = Texts("diagnosis")

RATE = r"drop|eps"
KINDS = (RATE, r"heads?$", r"vocab", r"layers$|blocks$", r"len|context|block_size|positions")
"""Patterns of the names of values that cannot replace each other; all others are widths, which a second layer takes in another order."""

EPSILON = r"(?i)^_?eps(ilon)?$"
WIDTH = r"(?i)^(features|\w*dim|d_model|dmodel|hidden_size|embed_size|emb_size|embedding_size|n_embd|num_features|num_hiddens|model_size|d_embed)$"
"""Patterns of the names of the small number that a norm adds, and of widths, which are no such number."""
ADDED = r"\+ (self\.)?_?eps(ilon)?\b|\beps=(self\.)?_?eps(ilon)?\b"
"""Pattern of the source of a norm that adds its small number itself or passes it on by its name."""
TINY = 0.1
"""Default values of a parameter below this are small numbers that are added."""


def misplaced_argument_cause(subject: Subject) -> Cause | None:
    """Return the cause for a class of the file that is constructed with an argument in the place of another parameter; None if there is none."""
    found = definitions(parsed(subject.text))
    tree = found.get(subject.name)
    defined = {name: node for name, node in found.items() if isinstance(node, ast.ClassDef)}
    if isinstance(tree, ast.ClassDef):
        defined["cls"] = tree  # in its class methods, which are other constructors
    classes = {name: taken for name, node in defined.items() if (taken := _taken(node))}
    for node in () if not isinstance(tree, ast.ClassDef) else ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in classes:
            name = _misplaced(node, classes[node.func.id])
            if name is not None:
                says = TEXTS["argument_misplaced"].format(call=ast.unparse(node), name=name[0], place=name[1])
                fix = TEXTS["pass_by_name"].format(name=name[0])
                return Cause("argument_misplaced", says, fix, EMPTY, line=node.lineno)
            other = _in_place_of_own(node, classes[node.func.id], defined["cls"])
            if other is not None:
                says = TEXTS["own_argument_unused"].format(call=ast.unparse(node), name=other[0], place=other[1])
                fix = TEXTS["pass_own_argument"].format(name=other[0], place=other[1])
                return Cause("argument_misplaced", says, fix, EMPTY, line=node.lineno)
            width = _width_as_epsilon(node, defined[node.func.id])
            if width is not None:
                says = TEXTS["width_as_epsilon"].format(call=ast.unparse(node), name=width[0], place=width[1])
                fix = TEXTS["leave_epsilon"].format(place=width[1])
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


def _in_place_of_own(call: ast.Call, taken: list[str], tree: ast.ClassDef) -> tuple[str, str] | None:
    """Return an argument and the parameter that receives it, where the class has one of this name and of another kind and never reads it.

    Such is `FeedForward(d_model, n_heads)` in a class that takes `(d_model, n_heads, d_ff)`.
    """
    if any(isinstance(each, ast.Starred) for each in call.args):
        return None
    own, read = _taken(tree), read_in(tree)
    places = [*zip(taken, call.args, strict=False), *((each.arg, each.value) for each in call.keywords if each.arg)]
    given = [(_name(value), place) for place, value in places]
    return next((each for each in given if {*each} <= {*own} and each[1] not in read and _kind(each[0]) != _kind(each[1])), None)


def _width_as_epsilon(call: ast.Call, node: ast.ClassDef) -> tuple[str, str] | None:
    """Return the name of a width and the parameter that receives it, which is a small number by its name and its default value."""
    if any(isinstance(each, ast.Starred) for each in call.args):
        return None
    small = _tiny_parameters(node) if re.search(ADDED, ast.unparse(node)) else set()
    places = [*zip(_taken(node), call.args, strict=False), *((each.arg, each.value) for each in call.keywords if each.arg)]
    return next(((_name(value), place) for place, value in places if place in small and re.search(WIDTH, _name(value))), None)


def _tiny_parameters(node: ast.ClassDef) -> set[str]:
    """Return the parameters of a class's constructor that are small numbers by their names and, if they have one, by their default values."""
    constructor = next((each for each in functions_in(node) if each.name == "__init__" and each in node.body), None)
    if constructor is None:
        return set()
    taken = constructor.args
    plain = [*taken.posonlyargs, *taken.args]
    defaults = dict(zip([each.arg for each in reversed(plain)], reversed(taken.defaults), strict=False))
    defaults |= {each.arg: value for each, value in zip(taken.kwonlyargs, taken.kw_defaults, strict=True) if value is not None}
    named = [each.arg for each in (*plain, *taken.kwonlyargs) if re.search(EPSILON, each.arg)]
    return {name for name in named if name not in defaults or _is_tiny(defaults[name])}


def _is_tiny(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, float) and 0 < node.value < TINY


def _kind(name: str) -> int:
    return next((index for index, pattern in enumerate(KINDS) if re.search(pattern, name.lower())), -1)


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if is_of_self(node) else ""
