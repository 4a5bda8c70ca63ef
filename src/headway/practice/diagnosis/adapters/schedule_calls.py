"""Calls of a function that returns the learning rate of a step, whose settings are operands, fields of a config, or variables of its file."""

from __future__ import annotations

import ast
import inspect
import math
import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

from headway.practice.diagnosis.adapters.optimizer_settings import CONFIG
from headway.practice.diagnosis.calls.binding import Binding, bind_parameters, fits_name
from headway.practice.diagnosis.calls.calling import Call
from headway.practice.diagnosis.calls.own_tensors import OWN
from headway.practice.diagnosis.classes.samplers import joined
from headway.practice.diagnosis.classes.variables import codes_of, globals_set, loaded
from headway.practice.diagnosis.reading.subject import Subject, parameters_of
from headway.practice.exercise import Exercise

SEPARATOR = "__of__"
"""Text between the names of a field and of its config, in the name of the parameter in place of the field."""

PLAIN_NUMBERS, TINY = (0.0, 0.5, 1.0, 2.0, 180.0), 1e-6
"""Numbers that a schedule without settings of its own has, and the largest one that only avoids a division by zero."""


@dataclass
class ScheduleCall(Call):
    """A function of a step.

    held    variables of the file that it reads settings from
    configs parameters that hold settings as fields
    """

    held: tuple[str, ...] = ()
    configs: tuple[str, ...] = ()

    @property
    def parameters(self) -> Sequence[inspect.Parameter]:
        """Return the function's parameters, with one for each field in place of a config, and one for each variable."""
        own = [each for each in self.subject.parameters if each.name not in self.configs]
        others = [name for name in self.binding.role_of if name in self.held or SEPARATOR in name]
        return [*own, *(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in others)]

    def invoke(self, arguments: Mapping[str, Any]) -> Any:
        """Call the function with the variables set, and the fields in their configs."""
        fields: dict[str, dict[str, Any]] = {name: {} for name in self.configs}
        for name, value in arguments.items():
            if SEPARATOR in name:
                key, config = name.split(SEPARATOR)
                fields[config][key] = value
        variables = {name: arguments[name] for name in self.held if name in arguments}
        plain = {name: value for name, value in arguments.items() if name not in variables and SEPARATOR not in name}
        with globals_set(self.subject.module, variables):
            return self.subject.value(**plain, **{name: SimpleNamespace(**held) for name, held in fields.items()})


def schedule_calls(subject: Subject, exercise: Exercise, library: str) -> list[Call]:
    """Return the call of a function whose settings all have roles; none for one that has numbers or settings of its own.

    A class that is called with a step is a function of its settings and of the step.
    """
    function = _of_class(subject) if inspect.isclass(subject.value) else subject
    if function is None or library in OWN:
        return []
    subject = function
    configs = [each.name for each in subject.parameters if each.default is each.empty and re.fullmatch(CONFIG, each.name)]
    bound = bind_parameters([each for each in subject.parameters if each.name not in configs], exercise.roles, unnamed=())
    if bound is None or not bound.takes("step"):
        return []
    others = {name: name for name in _variables(subject)}
    others |= {f"{key}{SEPARATOR}{name}": key for name in configs for key in re.findall(rf"\b{name}\.(\w+)", subject.own_source)}
    free = [role for role in exercise.roles if not bound.takes(role.name)]
    roles = {name: next((role for role in free if fits_name(key, role)), None) for name, key in others.items()}
    found = {name: role for name, role in roles.items() if role is not None}
    if len(found) < len(roles) or len(set(found.values())) < len(found):
        return []
    binding = Binding({**bound.role_of, **found})
    if not binding.takes("total_steps") or _has_own_numbers(subject, binding):
        return []
    held = tuple(name for name in found if SEPARATOR not in name)
    return [ScheduleCall(subject, binding, library, held=held, configs=tuple(configs))]


OF_STEP = r"__call__|((get|compute|calc(ulate)?)_)?(lr|learning_rate|rate|value)(_(at|for))?(_step)?"
"""Pattern of the name of a method that returns the rate of a step."""


def _of_class(subject: Subject) -> Subject | None:
    """Return a class with one method that takes a step as a function; None for others, and for one that reads numbers of its file."""
    cls: Any = subject.value
    names = [name for name, value in vars(cls).items() if re.fullmatch(OF_STEP, name) and inspect.isfunction(value)]
    if len(names) != 1 or cls.__bases__ != (object,) or any(_variables(replace(subject, value=each)) for each in _methods(cls)):
        return None
    return joined(subject, parameters_of(getattr(cls, names[0]), is_bound=True), lambda **settings: getattr(cls(**settings), names[0]))


def _methods(cls: type) -> list[Any]:
    return [value for value in vars(cls).values() if inspect.isfunction(value)]


def _variables(subject: Subject) -> list[str]:
    """Return the variables of its file that a function reads and that hold a number, or nothing."""
    around = {} if subject.module is None else vars(subject.module)
    read = dict.fromkeys(name for code in codes_of(subject.value) for name in loaded(code))
    found = {name: around[name] for name in read if name in around}
    return [name for name, value in found.items() if value is None or (type(value) in (int, float) and value != math.pi)]


def _has_own_numbers(subject: Subject, binding: Binding) -> bool:
    """Return True for a function with numbers in place of settings, or with a warmup of which no setting is known."""
    try:
        tree = ast.parse(textwrap.dedent(subject.own_source))
    except SyntaxError:
        return True
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    body = [node for function in functions for each in function.body for node in ast.walk(each)]
    names = {node.id if isinstance(node, ast.Name) else node.attr for node in body if isinstance(node, ast.Name | ast.Attribute)}
    if any("warm" in name.lower() for name in names) and not binding.takes("warmup_steps"):
        return True
    defaults = [each.default for each in subject.parameters if each.name not in binding.role_of]
    numbers = [*(node.value for node in body if isinstance(node, ast.Constant)), *defaults]
    return any(type(each) in (int, float) and each not in PLAIN_NUMBERS and each > TINY for each in numbers)
