"""Functions that write their output into an array that they are given, next to its sizes: `solve(Q, K, V, output, M, N, d)`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy

from headway.practice.diagnosis.reading.subject import Subject
from headway.practice.exercise import Inputs

WRITES = r"(?m)^\s+{name}\[.*?\] *=(?!=)|(?<![\w.]){name}\.copy_\(|\bout *= *{name}\b|\bcopyto\({name}\b"
"""Pattern of the statements that write into an array of a name."""

RETURNS = r"(?m)\breturn {name}$"
"""Pattern of the statement that returns it as well."""


def given_outputs(subject: Subject) -> list[str]:
    """Return the required parameters of a function for arrays that it writes its output into, and never reads."""
    if inspect.isclass(subject.value):
        return []
    return [each.name for each in subject.parameters if each.default is each.empty and _is_only_written(each.name, subject.code)]


def _is_only_written(name: str, code: str) -> bool:
    """Return True if each use of a name in a function writes into it, apart from the head of the function."""
    writes, returns = (len(re.findall(pattern.format(name=name), code)) for pattern in (WRITES, RETURNS))
    return writes > 0 and len(re.findall(rf"\b{name}\b", code)) == 1 + writes + returns


def is_written(name: str, source: str) -> bool:
    """Return True if a function writes into an array of a name."""
    return re.search(WRITES.format(name=name), source) is not None


def zeros_for_output(inputs: Inputs) -> Any:
    """Return zeros of the shape of x, or of the output of an attention."""
    if "query" in inputs and "value" in inputs:
        return numpy.zeros((*numpy.shape(inputs["query"])[:-1], numpy.shape(inputs["value"])[-1]))
    return 0.0 * inputs["x"]


def _first(inputs: Inputs) -> tuple[int, ...]:
    return numpy.shape(inputs["query"] if "query" in inputs else inputs["x"])


ROWS, COLUMNS = r"N|num_rows|rows", r"d|D|C|num_cols|cols|d_?model|d_?k"
"""Patterns of the names of the number of rows of the first array, and of its last axis."""


def sizes_of_arrays(names: Sequence[str]) -> Mapping[str, Callable[[Inputs], Any]]:
    """Return how the sizes among parameters of these names follow from the inputs; with an M, N is the number of keys.

    names   parameters that are integers, or that no role lists
    """
    rows: Callable[[Inputs], Any] = (lambda inputs: numpy.shape(inputs["key"])[-2]) if "M" in names else _rows
    found: dict[str, Callable[[Inputs], Any]] = {each: rows for each in names if re.fullmatch(ROWS, each)}
    found |= {each: _rows for each in names if each == "M"}
    return found | {each: lambda inputs: _first(inputs)[-1] for each in names if re.fullmatch(COLUMNS, each)}


def _rows(inputs: Inputs) -> int:
    """Return the number of rows of the first array, or the length of a vector."""
    return _first(inputs)[-2:][0]
