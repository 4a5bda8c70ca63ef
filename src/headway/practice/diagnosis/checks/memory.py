"""Results that all trials of a subject share, so that each is computed once."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeVar

import numpy

from headway.practice.exercise import Convention, Inputs, Mistake, Recovery

NUM_PAIRS = 30_000
"""Pairs of mistakes that are tried for one subject, under all conventions together."""

Found = TypeVar("Found")


class Outputs:
    """Outputs of the definition by what they depend on; equal arrays are one object, so that they are compared once."""

    def __init__(self) -> None:
        self._found: dict[Hashable, Any] = {}
        self._arrays: dict[Hashable, Any] = {}

    def get(self, key: Hashable, compute: Callable[[], Any]) -> Any:
        """Return the output with this key, computed if it is new."""
        if key not in self._found:
            self._found[key] = self.interned(compute())
        return self._found[key]

    def interned(self, value: Any) -> Any:
        """Return the first array, or tuple of arrays, with the same numbers."""
        if isinstance(value, tuple):
            parts = tuple(self.interned(part) for part in value)
            return self._arrays.setdefault(("tuple", *map(id, parts)), parts)
        if not isinstance(value, numpy.ndarray):
            return value
        return self._arrays.setdefault((value.dtype, value.shape, value.tobytes()), value)


@lru_cache(maxsize=2)
def listed_outputs(exercise_name: str) -> Outputs:
    """Return the outputs of an exercise's own mistakes and conventions, shared by all subjects."""
    return Outputs()


class Comparisons:
    """Comparisons by the two objects and the rounding; the objects are kept, so that no other object gets their identity."""

    def __init__(self) -> None:
        self._found: dict[tuple[int, int, int | None], tuple[Any, Any, bool]] = {}

    def get(self, answer: Any, expected: Any, decimals: int | None, compare: Callable[[], bool]) -> bool:
        """Return the comparison of these objects, computed if it is new."""
        key = (id(answer), id(expected), decimals)
        if key not in self._found:
            self._found[key] = (answer, expected, compare())
        return self._found[key][2]


FAR = 0.1
"""Difference, as a share of the largest number, above which outputs differ under every tolerance."""


class OutputsOfMistakes:
    """Outputs of the definition with each known mistake for one probe, to find at once which may be near another output."""

    def __init__(self, outputs: Sequence[tuple[Mistake, Any]]) -> None:
        of_numbers = [pair for pair in outputs if isinstance(pair[1], numpy.ndarray) and pair[1].dtype.kind in "biuf"]
        self._others = [mistake for mistake, output in outputs if not any(mistake is each for each, _ in of_numbers)]
        self._by_shape: dict[tuple[int, ...], tuple[list[Mistake], Any]] = {}
        for shape in {output.shape for _, output in of_numbers}:
            alike = [(mistake, output) for mistake, output in of_numbers if output.shape == shape]
            stacked = numpy.stack([numpy.ravel(output).astype(numpy.float64) for _, output in alike])
            self._by_shape[shape] = [mistake for mistake, _ in alike], stacked

    def near(self, answer: Any) -> list[Mistake]:
        """Return the mistakes whose output is not far from this array, and those whose output is no array of numbers."""
        if answer.shape not in self._by_shape:
            return self._others
        mistakes, stacked = self._by_shape[answer.shape]
        with numpy.errstate(all="ignore"):
            bounds = FAR * (1e-6 + numpy.abs(stacked).max(1, keepdims=True, initial=0.0))
            is_far = (numpy.abs(stacked - numpy.ravel(answer)) > bounds).any(1)
        return [*itertools.compress(mistakes, ~is_far), *self._others]


@dataclass(eq=False)
class Memory:
    """Results that all trials of a subject share.

    outputs     the learner's outputs, and those of the definition with measured mistakes
    inputs      a probe's inputs as the function received them, by array library and probe
    compared    comparisons of outputs
    explaining  outputs with the known mistakes that explain them, by conventions, rounding, probe and identity
    of_mistakes  outputs of the known mistakes, by conventions and probe
    measured    measured numbers as mistakes, by recovery, binding and conventions
    num_pairs   pairs of mistakes that may still be tried
    num_calls   calls of the learner's function
    most_calls  number of them after which no further convention is tried
    """

    outputs: Outputs = field(default_factory=Outputs)
    inputs: dict[tuple[str, str], Inputs] = field(default_factory=dict)
    compared: Comparisons = field(default_factory=Comparisons)
    explaining: dict[Hashable, tuple[Any, frozenset[Mistake]]] = field(default_factory=dict)
    of_mistakes: dict[Hashable, OutputsOfMistakes] = field(default_factory=dict)
    measured: dict[tuple[Recovery, Any, tuple[Convention, ...]], Mistake | None] = field(default_factory=dict)
    num_pairs: int = NUM_PAIRS
    num_calls: int = 0
    most_calls: float = math.inf

    @property
    def is_used_up(self) -> bool:
        """True if no further convention is to be tried."""
        return self.num_calls > self.most_calls
