"""Calls of a function or class that creates a mask."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy

from headway.arrays import array_library
from headway.practice.diagnosis.calls.binding import Binding, bind
from headway.practice.diagnosis.calls.calling import Call
from headway.practice.diagnosis.calls.compare import as_numbers
from headway.practice.diagnosis.classes.instance_calls import instance_calls
from headway.practice.diagnosis.reading.subject import Subject
from headway.practice.exercise import Exercise, Inputs
from headway.practice.message import Message
from headway.practice.recipes.masks import VISIBLE
from headway.practice.texts import Texts

TEXTS = Texts("shared/masks")


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


NUM_INDICES = 4
"""Number of indices that a function of flex attention takes: of a sequence, a head, a query and a key."""


@dataclass
class IndexedMaskCall(MaskCall):
    """A function that returns whether a query may attend to a key, by their indices."""

    def arguments(self, inputs: Inputs) -> dict[str, Any]:
        """Return the indices of all queries as a column and of all keys as a row, for the first sequence and head."""
        past_len = inputs.get("past_len", 0)
        num_keys = past_len + inputs["query_len"]
        indices = (numpy.zeros((), int), numpy.zeros((), int), numpy.arange(past_len, num_keys)[:, None], numpy.arange(num_keys)[None])
        return {each.name: self.array(index) for each, index in zip(self.parameters, indices, strict=True)}

    def invoke(self, arguments: Mapping[str, Any]) -> Any:
        """Return the mask with 1 for what is visible, as flex attention reads it; other outputs as they are."""
        answer = as_numbers(super().invoke(arguments))
        return answer.astype(VISIBLE) if isinstance(answer, numpy.ndarray) and answer.dtype.kind == "b" else answer

    @property
    def notes(self) -> tuple[Message, ...]:
        """Return a note on the indices."""
        return (TEXTS["takes_indices"],)


def mask_calls(subject: Subject, exercise: Exercise, library: str) -> Sequence[Call]:
    """Return the ways to call a function that creates a mask."""
    if inspect.isclass(subject.value):
        return instance_calls(subject, exercise, library)
    if (indexed := _index_binding(subject, exercise)) is not None:
        return [IndexedMaskCall(subject, indexed, library)]
    binding = bind(subject, exercise.roles)
    return [] if binding is None else [MaskCall(subject, binding, library)]


OF_QUERY, OF_KEY = r"_*(q|query)_?(idx|index)", r"_*(k|kv|key)_?(idx|index)"
"""Patterns of the names of the indices of a query and of a key."""


def _index_binding(subject: Subject, exercise: Exercise) -> Binding | None:
    """Return the binding of a function of four indices, as flex attention takes it: `mask(b, h, q_idx, kv_idx)`."""
    names = [each.name for each in subject.parameters]
    if len(names) != NUM_INDICES or not (re.fullmatch(OF_QUERY, names[2]) and re.fullmatch(OF_KEY, names[3])):
        return None
    roles = {role.name: role for role in exercise.roles}
    meant = ("batch_size", "num_heads", "query_len", "past_len")
    return Binding({name: roles[role] for name, role in zip(names, meant, strict=True)}) if roles.keys() >= {*meant} else None
