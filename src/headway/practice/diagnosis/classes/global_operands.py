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
from headway.practice.exercise import MISSING, Exercise

CONTAINERS = (dict, list, tuple, type(None))
"""Types of the variables that are replaced; other numbers than SIZES, and functions, belong to the program."""

SIZES = ("num_heads", "head_dim")
"""Sizes that a function may read from its file instead of from its operands."""


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
    held = {
        name: role
        for name, kind in _read(subject).items()
        if (role := next((each for each in free if fits_name(name, each) and (kind is int) == (each.name in SIZES)), None)) is not None
    }
    if not held or len(set(held.values())) < len(held):
        return []
    return [GlobalsCall(subject, Binding({**binding.role_of, **held}), library, held=tuple(held))]


def _read(subject: Subject) -> dict[str, type]:
    """Return the variables that a function reads and that hold a container, a whole number, or nothing yet, with their types."""
    names = vars(subject.module)
    read = dict.fromkeys(name for code in codes_of(subject.value) for name in loaded(code))
    held = {name: names.get(name) for name in read if not hasattr(builtins, name)}
    return {name: type(value) for name, value in held.items() if isinstance(value, CONTAINERS) or type(value) is int}
