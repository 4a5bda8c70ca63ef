"""Comparison of two outputs, and a description of the first difference."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy

from headway.arrays import as_dtype, dtype_name, is_floating, to_numpy
from headway.practice.diagnosis.calls.own_tensors import holds_data, kept
from headway.practice.message import EMPTY, Message, same
from headway.practice.outputs import Raised, is_same
from headway.practice.texts import Texts

TEXTS = Texts("diagnosis")

MAX_BYTES = 2**24
"""Size of the largest output that is compared."""


def as_numbers(answer: Any) -> Any:
    """Convert an output of any library to NumPy; keep text, bytes, tuples and dicts; turn ragged lists into tuples; None otherwise."""
    if isinstance(answer, Raised | str | bytes) or answer is None:
        return bytes(answer) if isinstance(answer, bytes) else answer
    if isinstance(answer, tuple):
        return tuple(as_numbers(each) for each in answer)
    if isinstance(answer, dict):
        return {key: as_numbers(each) for key, each in answer.items()}
    if isinstance(answer, set | frozenset):
        return tuple(as_numbers(each) for each in sorted(answer, key=repr))
    if holds_data(answer):
        return _as_numpy(numpy.asarray(kept(answer)))
    if hasattr(answer, "dtype") and hasattr(answer, "shape"):
        return _as_numpy(answer)
    try:
        numbers = numpy.asarray(answer)
    except (ValueError, TypeError, RuntimeError):  # torch refuses arrays of a graph
        numbers = None
    if numbers is not None and numbers.dtype.kind in "biuf":
        return numbers
    parts = tuple(as_numbers(each) for each in answer) if isinstance(answer, list) else ()
    if (
        numbers is not None
        and numbers.dtype.kind == "O"
        and len({numpy.shape(part) for part in parts}) == 1
        and all(map(_is_numeric, parts))
    ):
        return numpy.asarray(parts)  # numbers with gradients of the learner's own
    return parts if parts and all(part is not None for part in parts) else None


def _is_numeric(part: Any) -> bool:
    return isinstance(part, numpy.ndarray | numpy.generic) and part.dtype.kind in "biuf"


def _as_numpy(answer: Any) -> Any:
    """Convert an array to NumPy, keeping half precision, which sets the tolerance; None for an array of objects.

    Errors   MemoryError for an array of more than MAX_BYTES, which may be a small one that is broadcast.
    """
    if 8 * math.prod(answer.shape) > MAX_BYTES:
        raise MemoryError(f"Unable to compare an array of shape {tuple(answer.shape)}")
    if isinstance(answer, numpy.ndarray) and answer.dtype.kind in "biufO":
        return None if answer.dtype.kind == "O" else answer.view(numpy.ndarray)
    name, numbers = dtype_name(answer.dtype), numpy.asarray(to_numpy(answer))
    return numbers.astype(as_dtype(name, numpy)) if name in ("float16", "bfloat16") else numbers


def floating_arrays(answer: Any) -> list[Any]:
    """Return the floating arrays of an output, in their own library."""
    parts = answer if isinstance(answer, tuple | list) else [answer]
    return [part for part in parts if hasattr(part, "dtype") and is_floating(part)]


def decimals_of(answers: Sequence[Any]) -> int | None:
    """Return the number of decimals (2 to 5) to which all numbers are rounded; None if they are not, or there are fewer than 5."""
    numbers = numpy.concatenate([numpy.zeros(0), *(part.ravel() for answer in answers for part in _floating_parts(answer))])
    numbers = numbers[numpy.isfinite(numbers) & (numbers != 0) & (numpy.abs(numbers) < 100)]
    if len(numbers) < 5:
        return None
    for decimals in range(1, 6):
        scaled = numbers * 10**decimals
        if (
            numpy.abs(scaled - numpy.rint(scaled)) < (1e-3 if decimals < 3 else 0.02)
        ).all():  # float32 does not resolve the fifth decimal exactly
            return decimals if decimals > 1 else None
    return None


def _floating_parts(answer: Any) -> list[numpy.ndarray]:
    parts = answer if isinstance(answer, tuple) else (answer,)
    return [part.astype(numpy.float64) for part in parts if isinstance(part, numpy.ndarray) and part.dtype.kind == "f"]


def first_difference(answer: Any, expected: Any, tolerance: float) -> Message | None:
    """Describe the first element that differs and the pattern of all that do; None if the shapes differ."""
    if isinstance(answer, tuple) and isinstance(expected, tuple) and len(answer) == len(expected):
        first = next((pair for pair in zip(answer, expected, strict=True) if not is_same(*pair, tolerance)), None)
        return first_difference(*first, tolerance) if first else None
    if isinstance(answer, tuple) and answer and _is_array(answer[0]) and _is_array(expected):  # with further values
        return first_difference(answer[0], expected, tolerance)
    if not (_is_array(answer) and _is_array(expected)):
        return TEXTS["got_and_expected"].format(got=_short(answer), expected=_short(expected))
    if numpy.asarray(answer).dtype.kind == "c":
        return TEXTS["got_complex_numbers_expected_real_ones"]
    answer, expected = numpy.asarray(answer, numpy.float64), numpy.asarray(expected, numpy.float64)
    if answer.shape != expected.shape:
        return None
    if answer.ndim == 0:
        return TEXTS["got_and_expected_number"].format(got=float(answer), expected=float(expected))
    with numpy.errstate(invalid="ignore"):
        size = max(float(numpy.abs(expected[numpy.isfinite(expected)]).max(initial=0.0)), 1e-6)
        wrong = ~((numpy.abs(answer - expected) <= tolerance * size) | (numpy.isnan(answer) & numpy.isnan(expected)) | (answer == expected))
    if not wrong.any():
        return None
    index = tuple(int(i) for i in numpy.argwhere(wrong)[0])
    words = TEXTS["first_difference"]
    share = f"{int(wrong.sum())}/{wrong.size}"
    return words.format(index=index, got=float(answer[index]), want=float(expected[index]), share=share, pattern=_pattern(wrong))


def _is_array(value: Any) -> bool:
    return isinstance(value, numpy.ndarray | numpy.generic | int | float)


def _short(value: Any) -> str:
    """Return a short representation of a value."""
    if isinstance(value, Raised):
        return f"{value.error_name}: {value.error}"
    plain = repr(value.tolist() if isinstance(value, numpy.ndarray) else value)
    return plain if len(plain) <= 80 else f"{plain[:79]}…"


def _pattern(wrong: numpy.ndarray) -> Message:
    """Describe the indices of the differing elements on the first axis where only some indices occur."""
    for axis in range(wrong.ndim):
        hit = numpy.asarray(wrong.any(axis=tuple(i for i in range(wrong.ndim) if i != axis)))
        places = numpy.flatnonzero(hit)
        if len(places) == len(hit) or len(hit) < 3:
            continue
        listed = _listed_places(places, len(hit))
        return TEXTS["on_axis"].format(listed=listed, axis=axis)
    return EMPTY


def _listed_places(places: numpy.ndarray, size: int) -> Message:
    first, last = int(places[0]), int(places[-1])
    if len(places) == 1:
        return same(str(first))
    steps = set(numpy.diff(places))
    if steps == {1}:
        return TEXTS["indices_from"].format(first=first) if last == size - 1 else TEXTS["indices_between"].format(first=first, last=last)
    if len(steps) == 1:
        step = int(steps.pop())
        return TEXTS["every_few_indices"].format(first=first, second=first + step, step=step)
    return same(", ".join(map(str, places[:8])))
