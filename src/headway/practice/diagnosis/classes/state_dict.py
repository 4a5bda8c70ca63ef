"""Weights that a constructor takes: a checkpoint's, in a dict under the names of Hugging Face, or those of a layer, one by one."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy

from headway.practice.diagnosis.calls.wording import is_named, snake
from headway.practice.diagnosis.classes.param_trees import sizes_of_leaf
from headway.practice.diagnosis.classes.submodules import SIZES, is_part
from headway.practice.diagnosis.reading.subject import Subject
from headway.practice.exercise import Exercise

KEYS = r"\b{name}(\.get\(|\[)\s*f?['\"][\w.]*(layers|blocks|h)\.\{{"
"""Pattern of the source of a class that reads the weights of a numbered layer from a parameter."""

PLACE = 0
"""Number of the layer whose weights are read."""


def reads_state_dict(name: str, subject: Subject) -> bool:
    """Return True if a class reads the weights of a layer by their names from a parameter."""
    return re.search(KEYS.format(name=re.escape(name)), subject.used_source) is not None


class StateDict:
    """A constructor argument that holds weights by name, of the shapes that the names mean."""

    def at(self, sizes: Mapping[str, Any]) -> Any:
        """Return the weights for some sizes by role."""
        return _Weights(sizes)


MIN_WEIGHTS = 6
"""Number of weights from which a constructor takes those of a whole layer: of queries, keys and values, and of others."""


class GivenWeight:
    """A constructor argument that is one weight of a layer, of the shape that its name means."""

    def __init__(self, name: str) -> None:
        self.name = name

    def at(self, sizes: Mapping[str, Any]) -> Any:
        """Return the weight for some sizes by role."""
        return _Weights(sizes)[self.name]


def given_weights(parameters: Sequence[inspect.Parameter], subject: Subject, exercise: Exercise) -> dict[str, GivenWeight]:
    """Return the required parameters for the weights of a layer, with values, if some of them have no role: `w_gate`, `w_input_layernorm`."""
    if not any(role.is_submodule for role in exercise.roles):
        return {}
    weights = [
        each.name
        for each in parameters
        if each.default is each.empty
        and not re.search(SIZES, snake(each.name))
        and sizes_of_leaf((each.name,), ()) is not None
        and not is_part(each.name, subject, is_called=True)
    ]
    roles = [role for role in exercise.roles if role.is_weight]
    has_others = any(not any(is_named(name, role) for role in roles) for name in weights)
    return {name: GivenWeight(name) for name in weights} if len(weights) >= MIN_WEIGHTS and has_others else {}


class _Weights(Mapping[str, numpy.ndarray]):
    def __init__(self, sizes: Mapping[str, Any]) -> None:
        self._sizes = sizes

    def __getitem__(self, name: str) -> numpy.ndarray:
        sizes = sizes_of_leaf(tuple(name.split(".")), (name,))
        if sizes is None or not set(sizes) <= self._sizes.keys():
            raise KeyError(name)
        is_table = sizes[0] == "vocab_size"
        return numpy.ones([self._sizes[each] for each in (sizes if is_table else sizes[::-1])], numpy.float32)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0
