"""Calls of a function or class that creates a mask."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy

from headway.arrays import array_library
from headway.practice.diagnosis.calls.binding import bind
from headway.practice.diagnosis.calls.calling import Call
from headway.practice.diagnosis.classes.instance_calls import instance_calls
from headway.practice.diagnosis.reading.subject import Subject
from headway.practice.exercise import Exercise, Inputs


@dataclass
class MaskCall(Call):
    """A function that creates a mask; a required dtype parameter gets a dtype of its library."""

    def arguments(self, inputs: Inputs) -> dict[str, Any]:
        """Return the arguments, as in Call."""
        given = super().arguments(inputs)
        dtypes = {name: self._dtype() for name, role in self.binding.role_of.items() if role.name == "dtype" and name in given}
        return given | dtypes

    def invoke(self, arguments: Mapping[str, Any]) -> Any:
        """Call the function without sizes that are None."""
        return super().invoke({name: value for name, value in arguments.items() if value is not None})

    def _dtype(self) -> Any:
        return array_library(self.library).float32 if self.library in ("torch", "mlx") else numpy.dtype("float32")


def mask_calls(subject: Subject, exercise: Exercise, library: str) -> Sequence[Call]:
    """Return the ways to call a function that creates a mask."""
    if inspect.isclass(subject.value):
        return instance_calls(subject, exercise, library)
    binding = bind(subject, exercise.roles)
    return [] if binding is None else [MaskCall(subject, binding, library)]
