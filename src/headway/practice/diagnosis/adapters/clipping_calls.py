"""Calls of a function that clips gradients: those that it is given, or those that parameters hold."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy

from headway.practice.diagnosis.adapters.parameter_holders import Model, Parameter
from headway.practice.diagnosis.calls.binding import Binding, bind
from headway.practice.diagnosis.calls.calling import Call, completed
from headway.practice.diagnosis.calls.compare import as_numbers
from headway.practice.diagnosis.calls.own_tensors import OWN
from headway.practice.diagnosis.reading.subject import Subject
from headway.practice.exercise import Exercise
from headway.practice.recipes.toy_model import OwnData

READS_GRADIENT = r"\.grad\b|\bclip_grad_(norm|value)_\("
OF_MODEL = r"\.(named_)?parameters\(|\.params\b"
"""Patterns of the source of a function whose parameters hold their gradients, and of one that takes a model of them."""

LEAVES_OUT = r"\.grad is not None|\.grad is None: *\n? *continue"
"""Pattern of the source of a function that leaves out parameters without a gradient."""

OF_GRADIENTS = r"(?i)grad|^g$"
"""Pattern of the name of an operand that is gradients, not what holds them."""

OF_SEVERAL = r"\bjax\.tree|\btree_\w+\(|\bfor [^\n]*\bin (enumerate\()?{name}\b|\b{name}\.(items|values)\("
"""Pattern of the source of a function that takes several gradients under a name: a tree, or what it walks."""

GRADIENTS = "gradients"
DICT, LIST, SINGLE, PARAMETERS, MODEL, ITERATOR = "dict", "list", "single", "parameters", "model", "iterator"
HOLDERS = (PARAMETERS, MODEL, ITERATOR)
"""Forms in which the gradients are held by parameters."""


@dataclass
class ClippingCall(Call):
    """A function that clips gradients; the output is a tuple of all of them, after the call or as it returns them.

    holds   form in which they are passed: a list, a dict or a single array of gradients, a list or an iterator of parameters that hold them, or a model
    """

    holds: str = LIST

    def invoke(self, arguments: Mapping[str, Any]) -> Any:
        """Call the function with the gradients in their form."""
        name = _name_of_gradients(self.binding)
        values = list(arguments[name])
        if self.holds == SINGLE and len(values) > 1:
            raise TypeError(f"got {len(values)} gradients, expected one")
        held = [self._parameter(each) for each in values] if self.holds in HOLDERS else values
        passed = self._form([*self._without_gradient(values), *held])
        answer = completed(super().invoke({**arguments, name: passed}))
        if self.holds in HOLDERS:
            return tuple(numpy.array(as_numbers(each.grad)) for each in held)
        is_like = self._is_like(passed)
        if is_like(answer):
            return _values(answer)
        if isinstance(answer, tuple) and sum(map(is_like, answer)) == 1:
            return tuple(_values(each) if is_like(each) else each for each in answer)
        return _values(passed) if answer is None or numpy.ndim(as_numbers(answer)) == 0 else answer

    def _form(self, held: list[Any]) -> Any:
        if self.holds == DICT:
            return {f"p{place}": each for place, each in enumerate(held)}
        if self.holds == SINGLE:
            return held[0]
        if self.holds == ITERATOR:
            return iter(held)
        if self.holds == MODEL:
            return _module(held) if self.library == "torch" else Model(held)
        return held

    def _parameter(self, gradient: Any) -> Any:
        """Return a parameter of zeros that holds a gradient."""
        if self.library == "torch":
            import torch

            made = torch.nn.Parameter(torch.zeros_like(gradient))
            made.grad = gradient
            return made
        held = Parameter(0 * gradient)
        held.grad = gradient.view(OwnData) if type(gradient) is numpy.ndarray else gradient
        return held

    def _without_gradient(self, values: Sequence[Any]) -> list[Any]:
        """Return a parameter without a gradient, the first of all, for a function that leaves such out; none for other functions."""
        if self.holds not in (PARAMETERS, MODEL) or not re.search(LEAVES_OUT, self.subject.used_source):
            return []
        frozen = self._parameter(values[0])
        frozen.grad = None
        return [frozen]

    def _is_like(self, passed: Any) -> Callable[[Any], bool]:
        """Return a function that returns True for gradients in the form in which they were passed."""
        if isinstance(passed, dict):
            return lambda answer: isinstance(answer, Mapping) and answer.keys() == passed.keys()
        if isinstance(passed, list):
            return lambda answer: isinstance(answer, list | tuple) and len(answer) == len(passed) and all(map(_are_alike, answer, passed))
        return lambda answer: _are_alike(answer, passed)


def _are_alike(answer: Any, passed: Any) -> bool:
    return hasattr(answer, "shape") and tuple(answer.shape) == tuple(passed.shape)


def _values(form: Any) -> tuple[Any, ...]:
    """Return the gradients in a form as a tuple."""
    if isinstance(form, Mapping):
        return tuple(form.values())
    return tuple(form) if isinstance(form, list | tuple) else (form,)


def _module(held: Sequence[Any]) -> Any:
    """Return a module of PyTorch with these parameters."""
    import torch

    return torch.nn.ParameterList(held)


def clipping_calls(subject: Subject, exercise: Exercise, library: str) -> list[Call]:
    """Return the ways to call a function: one per form in which it may take gradients."""
    binding = None if inspect.isclass(subject.value) or library in (*OWN, "list") else bind(subject, exercise.roles)
    if binding is None or not (binding.takes(GRADIENTS) and binding.takes("max_norm")):
        return []
    return [ClippingCall(subject, binding, library, holds=form) for form in _forms(subject, _name_of_gradients(binding))]


def _forms(subject: Subject, name: str) -> tuple[str, ...]:
    """Return the forms in which a function may take gradients under a name; none if it may take either the gradients or what holds them."""
    if re.search(READS_GRADIENT, subject.used_source):
        return (PARAMETERS, *([MODEL] if re.search(OF_MODEL, subject.own_source) else []))
    annotation = next(str(each.annotation) for each in subject.parameters if each.name == name)
    if re.search(r"(?i)\b(dict|mapping)\b", annotation):  # also if the function computes with the lists in it
        return (DICT,)
    takes_many = re.search(OF_SEVERAL.format(name=name), subject.own_source) is not None
    return () if not re.search(OF_GRADIENTS, name) else (LIST, DICT) if takes_many else (LIST, DICT, SINGLE)


def _name_of_gradients(binding: Binding) -> str:
    return next(name for name, role in binding.role_of.items() if role.name == GRADIENTS)
