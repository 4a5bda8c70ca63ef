"""Functions that read their weights from variables of their file, as in a notebook: `def cross_attention(memory, x): q = x @ WQ …`."""

from __future__ import annotations

import inspect
from typing import Any

import numpy

from headway.arrays import from_numpy, to_numpy
from headway.practice.diagnosis.calls.binding import bind
from headway.practice.diagnosis.calls.calling import DTYPES
from headway.practice.diagnosis.classes.param_trees import Node, arrays_of, sizes_of
from headway.practice.diagnosis.classes.params import with_parameters
from headway.practice.diagnosis.classes.variables import codes_of, globals_set, loaded
from headway.practice.diagnosis.reading.subject import Subject
from headway.practice.exercise import Exercise


def with_global_weights(subject: Subject, exercise: Exercise, library: str) -> Subject | None:
    """Return a function as a class that holds the weights which it reads from its file; None if it reads none, takes some, or their sizes are unknown.

    A table of biases alone is no weight of a part: at least one array is a matrix.
    """
    binding = bind(subject, exercise.roles)
    if not inspect.isfunction(subject.value) or subject.module is None or library == "list" or binding is None:
        return None
    if any(role.is_weight for role in binding.role_of.values()):
        return None
    function, module = subject.value, subject.module
    read = {name: vars(module).get(name) for code in codes_of(function) for name in loaded(code)}
    arrays = {name: to_numpy(value) for name, value in read.items() if _is_array(value)}
    tree = Node({name: Node() for name in arrays})
    sizes = sizes_of(tree) if any(numpy.ndim(each) == 2 for each in arrays.values()) else None
    if sizes is None or not _are_in_order(tree, arrays):
        return None

    class Holder:
        def __init__(self, **given: Any) -> None:
            self.params = {name: from_numpy(each.astype(DTYPES[library]), library) for name, each in arrays_of(tree, given).items()}

        def __call__(self, **given: Any) -> Any:
            with globals_set(module, self.params):
                return function(**given)

    taken = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in sizes]
    return with_parameters(subject, Holder, taken, list(subject.parameters))


def _is_array(value: Any) -> bool:
    """Return True for an array of one or two axes that holds numbers with fractions."""
    num_axes = getattr(value, "ndim", 0)  # of an absent package no number
    return hasattr(value, "dtype") and isinstance(num_axes, int) and num_axes in (1, 2) and "float" in str(value.dtype)


def _are_in_order(tree: Node, arrays: dict[str, Any]) -> bool:
    """Return True if the arrays of the file have as many axes as their names mean."""
    made = arrays_of(tree, dict.fromkeys(sizes_of(tree) or (), 1))
    return all(made[name].ndim == numpy.ndim(each) for name, each in arrays.items())
