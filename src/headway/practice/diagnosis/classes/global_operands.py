"""Functions that read operands from variables of their file, such as the merges and the vocabulary of a notebook."""

from __future__ import annotations

import builtins
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headway.practice.diagnosis.calls.binding import Binding, bind, fits_name
from headway.practice.diagnosis.calls.calling import Call
from headway.practice.diagnosis.classes.variables import codes_of, globals_set, loaded
from headway.practice.diagnosis.reading.subject import Subject
from headway.practice.exercise import MISSING, Exercise, Inputs
from headway.practice.recipes.projections import heads_around

CONTAINERS = (dict, list, tuple, type(None))
"""Types of the variables that are replaced; other numbers than SIZES, and functions, belong to the program."""

WIDTH = "hidden_size"
SIZES = ("num_heads", "head_dim", WIDTH)
"""Sizes that a function may read from its file instead of from its operands."""

HEAD_WIDTHS = ("head_dim", "d_out")
"""Sizes of a head: a file that has one distinguishes it from the width of a model."""


@dataclass
class GlobalsCall(Call):
    """A function of which some operands are variables of its file.

    held   names of these variables
    """

    held: tuple[str, ...] = ()

    @property
    def parameters(self) -> Sequence[inspect.Parameter]:
        """Return the function's parameters, and one for each variable."""
        return [*self.subject.parameters, *(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in self.held)]

    def fits(self, inputs: Inputs) -> bool:
        """Return True if the function can be called; one that reads the width of its file's model projects to this width, to no share of it."""
        reads_width = any(self.binding.role_of[name].name == WIDTH for name in self.held)
        return super().fits(inputs) and not (reads_width and "query_weight" in inputs and heads_around(inputs) > 1)

    def invoke(self, arguments: Mapping[str, Any]) -> Any:
        """Call the function with the variables set."""
        values = {name: arguments[name] for name in self.held if name in arguments}
        with globals_set(self.subject.module, values):
            return super().invoke({name: value for name, value in arguments.items() if name not in values})


def globals_calls(subject: Subject, exercise: Exercise, library: str) -> list[Call]:
    """Return the call of a function that reads operands from variables of its file; an empty list if it reads none."""
    binding = bind(subject, exercise.roles)
    if binding is None or subject.module is None:
        return []
    free = [
        role
        for role in exercise.roles
        if not binding.takes(role.name) and (role.name in SIZES or (role.neutral is MISSING and not (role.is_size or role.is_weight)))
    ]
    if not binding.takes("num_heads") and _has_head_width(subject, exercise):
        free = [role for role in free if role.name != WIDTH]
    held = {
        name: role
        for name, kind in _read(subject).items()
        if (role := next((each for each in free if fits_name(name, each) and (kind is int) == (each.name in SIZES)), None)) is not None
    }
    if not held or len(set(held.values())) < len(held):
        return []
    return [GlobalsCall(subject, Binding({**binding.role_of, **held}), library, held=tuple(held))]


def _has_head_width(subject: Subject, exercise: Exercise) -> bool:
    """Return True if a number of the file is the width of a head by its name, whether the function reads it or not."""
    widths = [role for role in exercise.roles if role.name in HEAD_WIDTHS]
    return any(type(value) is int and fits_name(name, role) for name, value in vars(subject.module).items() for role in widths)


def _read(subject: Subject) -> dict[str, type]:
    """Return the variables that a function reads and that hold a container, a whole number, or nothing yet, with their types."""
    names = vars(subject.module)
    read = dict.fromkeys(name for code in codes_of(subject.value) for name in loaded(code))
    held = {name: names.get(name) for name in read if not hasattr(builtins, name)}
    return {name: type(value) for name, value in held.items() if isinstance(value, CONTAINERS) or type(value) is int}
