"""Calls of a function or a class that generates: the model is reset before each call, and a random choice takes the most likely token."""

from __future__ import annotations

import ast
import functools
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import fields, replace
from importlib import import_module
from types import MethodType
from typing import Any

from headway.practice.diagnosis.adapters.drawing import LikeliestCall, Spy, replaced_generators
from headway.practice.diagnosis.adapters.model_modules import as_modules, needs_module
from headway.practice.diagnosis.calls.binding import fits_name
from headway.practice.diagnosis.calls.calling import Call, function_calls
from headway.practice.diagnosis.classes.file_models import model_of_file
from headway.practice.diagnosis.classes.instance_calls import instance_calls
from headway.practice.diagnosis.classes.instances import InstanceCall
from headway.practice.diagnosis.classes.variables import globals_set
from headway.practice.diagnosis.reading.subject import Subject, parsed
from headway.practice.diagnosis.reading.trees import attributes_of
from headway.practice.exercise import Exercise, Role
from headway.practice.recipes.toy_model import Fields, ToyModel, means_context


class FunctionCall(LikeliestCall):
    """A function that is given a model."""

    def invoke(self, arguments: Mapping[str, Any]) -> Any:
        """Call the function with a reset model, taking the most likely token where it samples; loops of JAX run step by step."""
        _reset_models(arguments)
        model = next((each for each in arguments.values() if isinstance(each, ToyModel)), None)
        sizes = dict.fromkeys(self.context_sizes, model.context_size) if model is not None else {}
        if needs_module(self.subject, self.library):
            arguments = as_modules(arguments)
        elif self._helpers:
            arguments = {
                name: _with_helpers(value, self._helpers) if isinstance(value, ToyModel) else value for name, value in arguments.items()
            }
        eager = nullcontext() if self.library != "jax" else import_module("jax").disable_jit()
        with eager, globals_set(self.subject.module, sizes):
            return _tokens_of(super().invoke(arguments))

    @functools.cached_property
    def context_sizes(self) -> list[str]:
        """Variables of the module at which the function cuts the tokens for its model, as in `ids[:, -block_size:]`."""
        module = vars(self.subject.module) if self.subject.module else {}
        cuts = (node for node in ast.walk(parsed(self.subject.own_source)) if isinstance(node, ast.Slice))
        names = {node.id for cut in cuts for node in ast.walk(cut) if isinstance(node, ast.Name)}
        return sorted(name for name in names if re.search(OF_CONTEXT, name) and type(module.get(name)) is int)

    @functools.cached_property
    def _helpers(self) -> dict[str, Callable[..., Any]]:
        """Methods of its class that a method calls next to the model: its softmax, the draw of a token."""
        owner = getattr(self.subject.module, self.subject.name.rpartition(".")[0], None)
        called = re.findall(r"\bself\.(\w+)\(", self.subject.code) if self.subject.is_method and inspect.isclass(owner) else []
        found = {name: vars(owner).get(name) for name in called if not hasattr(ToyModel, name) and not means_context(name)}
        return {name: each for name, each in found.items() if inspect.isfunction(each)}


def _with_helpers(model: ToyModel, helpers: Mapping[str, Callable[..., Any]]) -> ToyModel:
    """Return a model that has these methods."""
    own = replace(model)
    vars(own).update({name: MethodType(each, own) for name, each in helpers.items()})
    return own


class ClassCall(InstanceCall):
    """A class that is made with a model or given one."""

    def invoke(self, arguments: Mapping[str, Any]) -> Any:
        """Call the instance with a reset model, taking the most likely token where it samples."""
        _reset_models(arguments)
        with replaced_generators(Spy(choice=None), vars(self.subject.module) if self.subject.module else {}):
            return _tokens_of(super().invoke(arguments))


OF_CONTEXT = r"(?i)block_?size|context|(^|_)ctx"
"""Pattern of the names of a context size; a largest length may be more than anything that the file generates."""


def _tokens_of(answer: Any) -> Any:
    """Return the tokens or the text of a dict of results, which may have the time that they took; any other output as it is."""
    names = [name for name in answer if re.search(OF_TOKENS, str(name), re.IGNORECASE)] if isinstance(answer, dict) else []
    return answer[names[0]] if names else answer


OF_TOKENS = r"^(?!.*(num|count|per_?sec|time|prob)).*(tokens?|ids|sequences?|text|output|generated)"
"""Pattern of the names of tokens in a dict of results."""


def generate_calls(subject: Subject, exercise: Exercise, library: str) -> list[Call]:
    """Return the ways to call a function or class that generates."""
    if not inspect.isclass(subject.value):
        of_file = model_of_file(subject)
        made, tree = (subject, parsed(subject.own_source)) if of_file is None else (of_file.subject, of_file.tree)
        return function_calls(_with_options_apart(made, tree, exercise.roles), exercise, library, FunctionCall)
    known = exercise if _crops(subject) else replace(exercise, roles=tuple(each for each in exercise.roles if each.name != "context_size"))
    calls = instance_calls(subject, known, library)
    return [ClassCall(**{each.name: getattr(call, each.name) for each in fields(call)}) for call in calls]


def _crops(subject: Subject) -> bool:
    """Return False for a class that only stores the context size that it is constructed with: its model has no limit."""
    names = [each.name for each in subject.parameters if each.default is not each.empty and means_context(each.name)]
    return not any(
        re.search(rf"self\.{name} *= *{name}\b", subject.code) and len(re.findall(rf"\b{name}\b", subject.code)) == 3 for name in names
    )


def _with_options_apart(subject: Subject, tree: ast.AST, roles: Sequence[Role]) -> Subject:
    """Return a function that reads its options as attributes of one operand as a function of the options; any other function as it is."""
    for parameter in subject.parameters:
        names = [*dict.fromkeys(attributes_of(parameter.name, tree))]
        named = [name for name in names if any(fits_name(name, role) for role in roles)]
        if named and not any(fits_name(parameter.name, role) for role in roles):
            return replace(subject, value=_of_options(subject, parameter.name, named, names))
    return subject


def _of_options(subject: Subject, operand: str, named: Sequence[str], names: Sequence[str]) -> Callable[..., Any]:
    """Return a function whose operand of options is built from the options, those without a name of a role being None."""
    kept = [each for each in subject.parameters if each.name != operand]
    taken = [each.name for each in kept]

    @functools.wraps(subject.value)
    def called(**given: Any) -> Any:
        options = Fields({name: given.get(name) for name in names})
        return subject.value(**{name: given[name] for name in taken if name in given}, **{operand: options})

    own = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in named if name not in taken]
    called.__signature__ = inspect.Signature([*kept, *own])  # type: ignore[attr-defined]
    return called


def _reset_models(arguments: Mapping[str, Any]) -> None:
    for value in arguments.values():
        if isinstance(value, ToyModel):
            value.forget()
