"""Functions that call a model of their file with a tree of weights, as in JAX, treated as functions that are given a model.

`loss_fn(params, tokens, targets)` and `generate(params, tokens, count)` compute `forward(params, tokens)`; the model itself is judged apart.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

from headway.practice.diagnosis.classes.configs import CONFIG_NAMES
from headway.practice.diagnosis.classes.params import PARAMS
from headway.practice.diagnosis.classes.variables import globals_set
from headway.practice.diagnosis.reading.subject import Subject, parsed
from headway.practice.diagnosis.reading.trees import names_in, read_in

MODEL = "model"
OF_SETTINGS = rf"{CONFIG_NAMES}|^(\w+_)?(key|rng)$|^(is_)?train(ing)?$|^(n|num)_\w+$"
"""Pattern of the names of what a model takes next to weights and tokens."""


@dataclass(frozen=True)
class FileModel:
    """A function of a model in place of one that calls a model of its file.

    subject   the function, with a parameter `model` in place of the weights and of what else it takes for the model alone
    tree      its code with calls of the model with tokens only
    calls     these calls
    tokens    their arguments
    """

    subject: Subject
    tree: ast.AST
    calls: Sequence[ast.Call]
    tokens: Sequence[ast.expr]


def model_of_file(subject: Subject) -> FileModel | None:
    """Return a function as one of a model; None if it passes its weights to no function or to several ones, or reads them itself."""
    if not inspect.isfunction(inspect.unwrap(subject.value)) or subject.module is None:
        return None
    weights = next((each.name for each in subject.parameters if re.fullmatch(PARAMS, each.name.lower())), None)
    if weights is None:
        return None
    tree = deepcopy(parsed(subject.own_source))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _has_variable(node, weights)]
    names = {ast.unparse(node.func) for node in calls}
    if len(names) != 1 or _num_reads(tree, weights) != len(calls):
        return None
    name = names.pop()
    places = {_place_of_tokens(node, weights) for node in calls}
    place = places.pop()
    found = vars(subject.module).get(name)
    if places or place is None or not (callable(found) and inspect.isfunction(inspect.unwrap(found))):
        return None
    tokens = [_arguments(node)[place] for node in calls]
    passed = read_in(*(value for node in calls for value in _arguments(node).values()))
    for node, value in zip(calls, tokens, strict=True):
        node.args, node.keywords = [value], []
    dropped = {each.name for each in subject.parameters if each.name in passed and not _num_reads(tree, each.name)}
    return FileModel(replace(subject, value=_of_model(subject, name, place, dropped)), tree, calls, tokens)


def _has_variable(call: ast.Call, name: str) -> bool:
    """Return True if an argument of a call is a variable."""
    return any(isinstance(value, ast.Name) and value.id == name for value in _arguments(call).values())


def _arguments(call: ast.Call) -> dict[int | str, ast.expr]:
    return {**dict(enumerate(call.args)), **{each.arg: each.value for each in call.keywords if each.arg is not None}}


def _place_of_tokens(call: ast.Call, weights: str) -> int | str | None:
    """Return the place of the only argument that is neither the weights nor a setting."""
    found = [place for place, value in _arguments(call).items() if not _is_setting(value, weights)]
    return found[0] if len(found) == 1 else None


def _is_setting(value: ast.expr, weights: str) -> bool:
    """Return True for a constant, for the weights, and for a variable or a field of one with the name of a setting."""
    root = value
    while isinstance(root, ast.Attribute):
        root = root.value
    return isinstance(root, ast.Constant) or (
        isinstance(root, ast.Name) and (root.id == weights or re.search(OF_SETTINGS, root.id.lower()) is not None)
    )


def _num_reads(tree: ast.AST, name: str) -> int:
    return sum(node.id == name for node in names_in(ast.Load, tree))


def _of_model(subject: Subject, name: str, place: int | str, dropped: set[str]) -> Callable[..., Any]:
    """Return the function with a model in place of the one that it calls by name, and of the parameters that are dropped.

    It is called without what compiles it, which would keep the model of an earlier call.
    """
    function, module = inspect.unwrap(subject.value), subject.module
    kept = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in subject.parameters if each.name not in dropped]

    def called(**given: Any) -> Any:
        model = given.pop(MODEL)

        def in_place(*positional: Any, **named: Any) -> Any:
            return model(positional[place] if isinstance(place, int) else named[place])

        with globals_set(module, {name: in_place}):
            return function(**dict.fromkeys(dropped), **given)

    first = inspect.Parameter(MODEL, inspect.Parameter.KEYWORD_ONLY)
    called.__signature__ = inspect.Signature([first, *kept])  # type: ignore[attr-defined]
    called.__wrapped__ = function  # type: ignore[attr-defined]
    return called
