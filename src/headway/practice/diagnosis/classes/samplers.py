"""Classes that sample a token, and functions that return one that does, as functions: their settings and what they are called with, together."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from headway.practice.diagnosis.classes.called_methods import METHODS
from headway.practice.diagnosis.reading.subject import Subject, defines, parameters_of, parsed
from headway.practice.diagnosis.reading.trees import functions_in, parameters_in

SAMPLING = (*METHODS[:2], "sample", "step", "process")
"""Methods that sample, the first that a class defines."""


def as_function(subject: Subject) -> Subject | None:
    """Return a class as a function that constructs an instance and calls it, or a maker of a sampler or a schedule as one that calls what it returns.

    None for a class without such a method, for other functions, and for settings and operands of the same names.
    """
    if not inspect.isclass(subject.value):
        operands = _operands_of_made(subject)
        return None if operands is None else _joined(subject, operands, subject.value)
    cls = subject.value
    method = next((name for name in SAMPLING if defines(cls, name)), None) or _sampling_logits(cls)
    if method is None:
        return None

    def made(**settings: Any) -> Callable[..., Any]:
        instance: Any = cls(**settings)
        if callable(getattr(instance, "eval", None)):
            instance.eval()
        found: Callable[..., Any] = instance if method in METHODS[:2] else getattr(instance, method)
        return found

    return _joined(subject, parameters_of(getattr(cls, method), is_bound=True), made)


def _sampling_logits(cls: type) -> str | None:
    """Return the first method that samples from logits by its name and its operand, such as `sample_from_logits(self, logits)`; None without one."""
    named = [name for name, value in vars(cls).items() if name.startswith("sample_") and inspect.isfunction(value)]
    return next((name for name in named if [*inspect.signature(getattr(cls, name)).parameters][1:2] == ["logits"]), None)


def _joined(subject: Subject, operands: list[inspect.Parameter], make: Callable[..., Any]) -> Subject | None:
    """Return a subject as a function of its settings and of the operands of what it makes; None if they share a name."""
    settings = subject.parameters
    names = [each.name for each in (*settings, *operands)]
    if len(set(names)) < len(names):
        return None

    def sampled(**given: Any) -> Any:
        return make(**{each.name: given.pop(each.name) for each in settings if each.name in given})(**given)

    function: Any = sampled
    every = [each.replace(kind=each.KEYWORD_ONLY) for each in (*settings, *operands)]
    function.__signature__ = inspect.Signature(sorted(every, key=lambda each: each.name not in {other.name for other in operands}))
    return replace(subject, value=function)


def _operands_of_made(subject: Subject) -> list[inspect.Parameter] | None:
    """Return the parameters of the function that a function defines and returns last; None for one that returns something else."""
    function = next(iter(functions_in(parsed(textwrap.dedent(subject.own_source)))), None)
    last = function.body[-1] if function is not None else None
    if function is None or not isinstance(last, ast.Return):
        return None
    if isinstance(last.value, ast.Lambda):
        made: ast.Lambda | ast.FunctionDef | None = last.value
    else:
        name = last.value.id if isinstance(last.value, ast.Name) else None
        made = next((each for each in function.body if isinstance(each, ast.FunctionDef) and each.name == name), None)
    if made is None or made.args.defaults or made.args.posonlyargs or made.args.vararg or made.args.kwarg:
        return None
    return [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in parameters_in(made)]
