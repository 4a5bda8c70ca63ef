"""Schedules of the learning rate that are classes, or functions that are given an optimizer, as functions of a step and of their settings."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

from headway.practice.diagnosis.calls.binding import fits_name
from headway.practice.diagnosis.reading.subject import Subject, defines, parameters_of, parsed
from headway.practice.diagnosis.reading.trees import without_texts
from headway.practice.exercise import Exercise

OPTIMIZER = r"(?i)_?((base|inner|wrapped)_?)?opt(im(i[sz]er)?s?)?"
"""Pattern of the name of a parameter that is an optimizer."""

STEPPING = ("step", "update", "update_lr", "step_update", "step_and_update_lr")
ASKED = ("get_lr", "__call__", "get_learning_rate", "get_rate", "lr_at", "lr", "get")
"""Methods that set the rate of an optimizer for the next step, and those that return it."""

STEP, RATE = "step", "initial_lr"
"""Names of the parameters for the step, and for the rate that the optimizer is made with if a schedule has no parameter of its own for it."""


@dataclass(frozen=True)
class Stepped:
    """A schedule as a function of a step and of its settings.

    subject   the function
    first     first step whose rate it gives
    """

    subject: Subject
    first: int = 0


@dataclass(frozen=True)
class Making:
    """A way to find the rate of a step.

    value       the class, or the function
    library     array library of the optimizer
    given       name of the parameter that is the optimizer, if there is one
    step        name of the parameter that is the step: of the function, or of the method; empty if the method is called once for each step
    method      name of the method; empty for a function that takes a step
    rate        name of the parameter for the highest rate, if there is one
    more_calls  how many calls of the method more than its number give the rate of a step
    """

    value: Callable[..., Any]
    library: str
    given: str | None
    step: str
    method: str
    rate: str | None
    more_calls: int = 0

    def rate_of(self, step: int, settings: dict[str, Any]) -> Any:
        """Return the rate of a step: what a function or a method returns, or the rate of the optimizer."""
        optimizer = _optimizer(self.library, settings.get(self.rate or "", 1.0))
        own = {name: value for name, value in settings.items() if name != RATE or self.rate != RATE}
        own |= {self.given: optimizer} if self.given else {}
        if not self.method:
            answer = self.value(**own, **{self.step: step})
        else:
            method = getattr(self.value(**own), self.method)
            optimizer.step()  # as before each step of a schedule of PyTorch
            answer = method(**{self.step: step}) if self.step else [None, *(method() for _ in range(step + self.more_calls))][-1]
        return optimizer.param_groups[0]["lr"] if self.given else answer


OF_RATE = r"lr|learning_rate|rate"
SETS_RATE = rf"_?(set|update|change|adjust)_({OF_RATE})"
"""Patterns of the names of an optimizer's attribute for its rate, and of its method that sets it."""


class Optimizer:
    """An optimizer of code without PyTorch, which has only its rate: in its groups, as an attribute, and set by a method."""

    def __init__(self, rate: float) -> None:
        vars(self).update(param_groups=[{"lr": rate, "initial_lr": rate}], defaults={"lr": rate}, step=lambda: None)

    def __getattr__(self, name: str) -> Any:
        if re.fullmatch(OF_RATE, name):
            return self.param_groups[0]["lr"]
        if re.fullmatch(SETS_RATE, name):
            return lambda rate: self.param_groups[0].update(lr=rate)
        raise AttributeError(name)

    def __setattr__(self, name: str, value: Any) -> None:
        if re.fullmatch(OF_RATE, name):
            self.param_groups[0]["lr"] = value
        else:
            super().__setattr__(name, value)


def _optimizer(library: str, rate: float) -> Any:
    """Return an optimizer, or what has only its rate for code without PyTorch."""
    if library != "torch":
        return Optimizer(rate)
    import torch

    return torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=rate)


def stepped_schedules(subject: Subject, exercise: Exercise, library: str) -> list[Stepped]:
    """Return the ways to use a class, or a function that is given an optimizer; none for a function of a step alone."""
    step_role = next(role for role in exercise.roles if role.name == "step")
    rate_role = next((role for role in exercise.roles if role.name == "max_rate"), None)  # a schedule of Noam has none
    cls = subject.value if inspect.isclass(subject.value) else None
    given = next((each.name for each in subject.parameters if re.fullmatch(OPTIMIZER, each.name)), None)
    method = "" if cls is None else _method(cls, is_given=given is not None)
    if method is None or (cls is None and given is None):
        return []
    operands = subject.parameters if cls is None else parameters_of(getattr(cls, method), is_bound=True)
    steps = [each for each in operands if each.default is each.empty or (given is None and each.default is None)]
    step = next((each.name for each in steps if fits_name(each.name, step_role)), "")
    if cls is not None and any(each.default is each.empty and each.name != step for each in operands):
        return []
    method = STEPPING[0] if cls is None and not step else method
    settings = [each for each in subject.parameters if each.name != given and not (cls is None and each.name == step)]
    rates = [each.name for each in settings if rate_role is not None and fits_name(each.name, rate_role)]
    rate = next(iter(rates), RATE if given and rate_role is not None else None)
    if given is not None and library == "torch":
        import_module("torch._dynamo")  # which the constructor of an optimizer imports, within the time limit of a call
    making = Making(subject.value, library, given, step, method, rate)
    if step:
        return [Stepped(_as_function(subject, making, settings))]
    ways = SETS_FIRST if cls is None or _is_of_torch(cls) else _ways(cls, method)
    return [Stepped(_as_function(subject, replace(making, more_calls=more), settings), first) for more, first in ways]


SETS_FIRST, COUNTS_FIRST, COUNTS_LAST = ((0, 0), (-1, 1)), ((0, 1),), ((1, 0),)
"""Numbers of calls that a step needs beyond its number, with the first step whose rate is known: of a schedule of PyTorch, whose constructor
sets the rate of step 0; of a method that first counts the step, and of one that last counts it."""


def _ways(cls: type, method: str) -> tuple[tuple[int, int], ...]:
    """Return the ways to number the calls of a method, by whether it counts a step before it computes the rate: both if its source does not tell."""
    function = next(iter(parsed(textwrap.dedent(inspect.getsource(getattr(cls, method)))).body), None)
    body = without_texts(function.body) if isinstance(function, ast.FunctionDef) else []
    before, counts, _ = "\n".join(map(ast.unparse, body)).partition("+= 1")
    earlier = int(_is_called_when_made(cls, method))
    ways = (*COUNTS_FIRST, *COUNTS_LAST) if not counts else COUNTS_LAST if re.search(r"(?i)lr|rate|factor", before) else COUNTS_FIRST
    return tuple((more - earlier, first) for more, first in ways)


def _is_called_when_made(cls: type, method: str) -> bool:
    """Return True if the constructor of a class calls a method itself, so that the optimizer has the first rate before the first step."""
    made = inspect.getsource(vars(cls)["__init__"]) if "__init__" in vars(cls) else ""
    return re.search(rf"\bself\.{method}\(\)", made) is not None


def _method(cls: type, *, is_given: bool) -> str | None:
    """Return the method that sets the rate of the optimizer that a class is given, or that returns the rate; None without one."""
    if is_given and _is_of_torch(cls):
        return STEPPING[0]
    if is_given:
        return next((name for name in STEPPING if defines(cls, name)), None)
    own = [name for name in (*ASKED, *STEPPING) if defines(cls, name)]
    return next((name for name in own if any(map(_may_be_given, parameters_of(getattr(cls, name), is_bound=True)))), next(iter(own), None))


def _may_be_given(parameter: inspect.Parameter) -> bool:
    """Return True for a parameter that is required, or that a step may replace: `step(epoch=None)`."""
    return parameter.default is parameter.empty or parameter.default is None


def _is_of_torch(cls: type) -> bool:
    return any(base.__module__ == "torch.optim.lr_scheduler" for base in cls.__mro__)


def _as_function(subject: Subject, making: Making, settings: list[inspect.Parameter]) -> Subject:
    """Return a subject as a function of the step and of its settings."""

    def scheduled(**given: Any) -> Any:
        step = given.pop(STEP)
        return making.rate_of(step, given)

    function: Any = scheduled
    added = [STEP, *([RATE] if making.rate == RATE else [])]
    kept = [each.replace(kind=each.KEYWORD_ONLY) for each in settings]
    function.__signature__ = inspect.Signature([*(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in added), *kept])
    return replace(subject, value=function)
