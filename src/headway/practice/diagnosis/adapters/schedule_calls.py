"""Calls of a schedule of the learning rate, whose settings are operands, fields of a config, or variables of its file."""

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
from headway.practice.diagnosis.adapters.stepped_schedules import stepped_schedules
from headway.practice.diagnosis.calls.binding import Binding, bind_parameters, fits_name
from headway.practice.diagnosis.calls.calling import Call
from headway.practice.diagnosis.calls.own_tensors import OWN
from headway.practice.diagnosis.classes.samplers import as_function
from headway.practice.diagnosis.classes.variables import codes_of, globals_set, loaded
from headway.practice.diagnosis.reading.subject import Subject
from headway.practice.exercise import MISSING, Exercise, Inputs, Role
from headway.practice.recipes.schedules import ROLES, SHARES

SHARE_OF_WARMUP = ROLES("warmup_share")
"""Role of the warmup as a share of all steps, which takes the place of its number of steps."""

ROUNDED_UP = 1 + 1e-12
"""Factor of the share, with which a product that is rounded down has as many steps as the warmup."""

SEPARATOR = "__of__"
"""Text between the names of a field and of its config, in the name of the parameter in place of the field."""

PLAIN_NUMBERS, TINY = (0.0, 0.5, 1.0, 1.5, 2.0, 180.0), 1e-6
"""Numbers that a schedule without settings of its own has, and the largest one that only avoids a division by zero."""


@dataclass
class ScheduleCall(Call):
    """A function of a step.

    held    variables of the file that it reads settings from
    configs parameters, or variables of the file, that hold settings as fields
    first   first step whose rate it gives
    """

    held: tuple[str, ...] = ()
    configs: tuple[str, ...] = ()
    first: int = 0

    @property
    def parameters(self) -> Sequence[inspect.Parameter]:
        """Return the function's parameters, with one for each field in place of a config, and one for each variable."""
        own = [each for each in self.subject.parameters if each.name not in self.configs]
        others = [name for name in self.binding.role_of if name in self.held or SEPARATOR in name]
        return [*own, *(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in others)]

    def fits(self, inputs: Inputs) -> bool:
        """Return True if the function has a parameter for every input, and gives the rate of the step."""
        return super().fits(inputs) and inputs.get("step", self.first) >= self.first

    def invoke(self, arguments: Mapping[str, Any]) -> Any:
        """Call the function with the variables set, the fields in their configs, and the warmup as a share where it takes one."""
        arguments = {**arguments, **self._shares(arguments)}
        fields: dict[str, dict[str, Any]] = {name: {} for name in self.configs}
        for name, value in arguments.items():
            if SEPARATOR in name:
                key, config = name.split(SEPARATOR)
                fields[config][key] = value
        variables = {name: arguments[name] for name in self.held if name in arguments}
        plain = {name: value for name, value in arguments.items() if name not in variables and SEPARATOR not in name}
        made = {name: SimpleNamespace(**held) for name, held in fields.items()}
        given = {each.name for each in self.subject.parameters}
        around = {name: each for name, each in made.items() if name not in given}
        with globals_set(self.subject.module, variables | around):
            return self.subject.value(**plain, **{name: each for name, each in made.items() if name in given})

    def _shares(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the warmup as a share of all steps under the names that mean one."""
        role_of = self.binding.role_of
        total = next((value for name, value in arguments.items() if role_of[name].name == "total_steps"), None)
        named = [name for name in arguments if role_of[name].name == "warmup_steps" and fits_name(_key(name), SHARE_OF_WARMUP)]
        return {} if total is None else {name: arguments[name] / total * ROUNDED_UP for name in named}


def _key(name: str) -> str:
    """Return the name of a field, or that of another operand."""
    return name.partition(SEPARATOR)[0]


def schedule_calls(subject: Subject, exercise: Exercise, library: str) -> list[Call]:
    """Return the calls of a schedule whose settings all have roles; none for one that has numbers or settings of its own.

    A function that returns one, `make_schedule(max_lr, warmup_steps)(step)`, is called with the settings and the step together.
    """
    if library in OWN:
        return []
    stepped = stepped_schedules(subject, exercise, library)
    if stepped or inspect.isclass(subject.value):
        variables = _variables(subject)
        return [replace(call, first=each.first) for each in stepped for call in _calls(each.subject, exercise, library, variables)]
    return [*_calls(as_function(subject) or subject, exercise, library, _variables(subject))]


def _calls(subject: Subject, exercise: Exercise, library: str, variables: Sequence[str]) -> list[ScheduleCall]:
    """Return the call of a function, which reads these variables of its file."""
    configs = [each.name for each in subject.parameters if each.default is each.empty and re.fullmatch(CONFIG, each.name)]
    every = [_with_names_of_share(role) for role in exercise.roles]
    bound = bind_parameters([each for each in subject.parameters if each.name not in configs], every, unnamed=())
    if bound is None or not bound.takes("step"):
        return []
    configs += _config_variables(subject)
    others = {name: name for name in variables}
    others |= {f"{key}{SEPARATOR}{name}": key for name in configs for key in re.findall(rf"\b{name}\.(\w+)", subject.own_source)}
    free = [role for role in every if not bound.takes(role.name)]
    roles = {name: next((role for role in free if fits_name(key, role)), None) for name, key in others.items()}
    found = {name: role for name, role in roles.items() if role is not None}
    if len(found) < len(roles) or len(set(found.values())) < len(found):
        return []
    binding = Binding({**bound.role_of, **found})
    needed = [role.name for role in exercise.roles if role.neutral is MISSING and role.off is MISSING]
    if not all(map(binding.takes, needed)) or _has_own_numbers(subject, binding):
        return []
    held = tuple(name for name in found if SEPARATOR not in name)
    return [ScheduleCall(subject, binding, library, held=held, configs=tuple(configs))]


def _with_names_of_share(role: Role) -> Role:
    """Return the role of the number of steps of the warmup with the names of its share, and any other as it is."""
    return role if role.name != "warmup_steps" else replace(role, called=(*role.called, *SHARE_OF_WARMUP.called))


def _variables(subject: Subject) -> list[str]:
    """Return the variables of its file that a function reads and that hold a number other than pi, or nothing."""
    around = {} if subject.module is None else vars(subject.module)
    read = dict.fromkeys(name for code in codes_of(subject.value) for name in loaded(code))
    held = {name: around[name] for name in read if name in around}
    return [name for name, value in held.items() if value is None or (type(value) in (int, float) and value != math.pi)]


def _config_variables(subject: Subject) -> list[str]:
    """Return the classes and objects of its file that a function reads settings from: `Config.learning_rate`."""
    around = {} if subject.module is None else vars(subject.module)
    read = dict.fromkeys(name for code in codes_of(subject.value) for name in loaded(code))
    return [
        name
        for name in read
        if re.fullmatch(CONFIG, name, re.IGNORECASE) and (inspect.isclass(around.get(name)) or hasattr(around.get(name), "__dict__"))
    ]


def _has_own_numbers(subject: Subject, binding: Binding) -> bool:
    """Return True for a function with numbers in place of settings, or with a warmup of which no setting is known."""
    try:
        tree = ast.parse(textwrap.dedent(subject.own_source))
    except SyntaxError:
        return True
    every = [node for statement in tree.body for each in getattr(statement, "body", ()) for node in ast.walk(each)]
    of_parameters = {node for each in every if isinstance(each, ast.arguments) for node in each.defaults}
    body = [node for node in every if node not in of_parameters]
    names = {node.id if isinstance(node, ast.Name) else node.attr for node in body if isinstance(node, ast.Name | ast.Attribute)}
    if any("warm" in name.lower() for name in names) and not binding.takes("warmup_steps"):
        return True
    defaults = [each.default for each in subject.parameters if each.name not in binding.role_of]
    numbers = [*(node.value for node in body if isinstance(node, ast.Constant)), *defaults]
    own = {each for each in numbers if type(each) in (int, float) and each not in PLAIN_NUMBERS and each > TINY}
    most = 0 if binding.takes("min_rate") or binding.takes("min_share") else 1
    return len(own) > most or not own <= set(SHARES)
