"""Comparison of two outputs, and a description of the first difference."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy

from headway.arrays import as_dtype, dtype_name, is_floating, to_numpy
from headway.practice.message import Message

PRECISION = {"float64": 1e-7, "float32": 3e-5, "float16": 4e-3, "bfloat16": 3e-2}
"""Relative tolerance by dtype, as a share of the largest expected number.

Wide enough for a different order of summation, narrow enough to tell the tanh form of GELU from the exact one in float32.
"""

SHAPE_ERRORS = (ValueError, RuntimeError, IndexError, TypeError, ArithmeticError)
"""Exceptions that libraries raise for incompatible shapes. Only these can also be the outcome of a mistake."""


@dataclass(frozen=True)
class Raised:
    """An exception that a function raised instead of returning an output."""

    error: BaseException

    @property
    def error_name(self) -> str:
        """Return the name of the exception's class."""
        return type(self.error).__name__


def as_numbers(answer: Any) -> Any:
    """Convert an output of any library to NumPy; keep text, bytes, tuples and dicts; turn ragged lists into tuples; None otherwise."""
    if isinstance(answer, Raised | str | bytes) or answer is None:
        return bytes(answer) if isinstance(answer, bytes) else answer
    if isinstance(answer, tuple):
        return tuple(as_numbers(each) for each in answer)
    if isinstance(answer, dict):
        return {key: as_numbers(each) for key, each in answer.items()}
    if hasattr(answer, "dtype") and hasattr(answer, "shape"):
        return answer if isinstance(answer, numpy.ndarray) and answer.dtype.kind in "biuf" else _as_numpy(answer)
    try:
        numbers = numpy.asarray(answer)
    except (ValueError, TypeError):
        numbers = None
    if numbers is not None and numbers.dtype.kind in "biuf":
        return numbers
    parts = tuple(as_numbers(each) for each in answer) if isinstance(answer, list) else ()
    return parts if parts and all(part is not None for part in parts) else None


def _as_numpy(answer: Any) -> Any:
    """Convert an array to NumPy, keeping half precision, which sets the tolerance."""
    name, numbers = dtype_name(answer.dtype), numpy.asarray(to_numpy(answer))
    return numbers.astype(as_dtype(name, numpy)) if name in ("float16", "bfloat16") else numbers


def floating_arrays(answer: Any) -> list[Any]:
    """Return the floating arrays of an output, in their own library."""
    parts = answer if isinstance(answer, tuple | list) else [answer]
    return [part for part in parts if hasattr(part, "dtype") and is_floating(part)]


def precision(answer: Any) -> float:
    """Return the tolerance for an output by its dtype; integers use the one of float64."""
    if isinstance(answer, tuple | dict):
        return max(map(precision, answer.values() if isinstance(answer, dict) else answer), default=PRECISION["float64"])
    name = dtype_name(answer.dtype) if hasattr(answer, "dtype") else "float64"
    return PRECISION.get(name, PRECISION["float64"])


def is_arithmetic(error: BaseException) -> bool:
    """Return True if Python scalars raise this where arrays give inf or NaN: overflow, division by zero, log(0)."""
    return isinstance(error, ArithmeticError) or (
        isinstance(error, ValueError) and bool(re.search("math domain|expected a (non-negative|positive) input", str(error)))
    )


def is_same(answer: Any, expected: Any, tolerance: float, rounding: float = 0.0) -> bool:
    """Return True if shapes, NaNs and infinities agree and all numbers differ by at most tolerance × largest + rounding / 2."""
    if isinstance(answer, Raised) and is_arithmetic(answer.error) and isinstance(expected, numpy.ndarray | numpy.generic):
        return not numpy.isfinite(expected).all()  # math.exp raises where numpy.exp returns inf
    if isinstance(answer, Raised) or isinstance(expected, Raised):
        return isinstance(answer, Raised) and isinstance(expected, Raised) and isinstance(answer.error, SHAPE_ERRORS)
    if isinstance(expected, tuple):
        return (
            isinstance(answer, tuple)
            and len(answer) == len(expected)
            and all(is_same(*pair, tolerance, rounding) for pair in zip(answer, expected, strict=True))
        )
    if isinstance(expected, dict):
        return (
            isinstance(answer, dict)
            and answer.keys() == expected.keys()
            and all(is_same(answer[key], expected[key], tolerance, rounding) for key in expected)
        )
    if isinstance(expected, str | bytes) or isinstance(answer, str | bytes):
        return type(answer) is type(expected) and bool(answer == expected)
    if answer is None or expected is None or isinstance(answer, tuple | dict):
        return False
    answer, expected = numpy.asarray(answer), numpy.asarray(expected)
    if answer.shape != expected.shape or answer.dtype.kind == "c":
        return False
    answer, expected = answer.astype(numpy.float64), expected.astype(numpy.float64)
    finite = numpy.isfinite(expected)
    if not numpy.array_equal(finite, numpy.isfinite(answer)) or not numpy.array_equal(answer[~finite], expected[~finite], equal_nan=True):
        return False
    size = max(float(numpy.abs(expected[finite]).max(initial=0.0)), 1e-6)
    return bool((numpy.abs(answer[finite] - expected[finite]) <= tolerance * size + rounding / 2).all())


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
    if not (_is_array(answer) and _is_array(expected)):
        return Message(f"got {_short(answer)}, expected {_short(expected)}", f"得到 {_short(answer)}，应为 {_short(expected)}")
    if numpy.asarray(answer).dtype.kind == "c":
        return Message("got complex numbers, expected real ones", "得到的是复数，应为实数")
    answer, expected = numpy.asarray(answer, numpy.float64), numpy.asarray(expected, numpy.float64)
    if answer.shape != expected.shape:
        return None
    if answer.ndim == 0:
        return Message(f"got {float(answer):.6g}, expected {float(expected):.6g}", f"得到 {float(answer):.6g}，应为 {float(expected):.6g}")
    with numpy.errstate(invalid="ignore"):
        size = max(float(numpy.abs(expected[numpy.isfinite(expected)]).max(initial=0.0)), 1e-6)
        wrong = ~((numpy.abs(answer - expected) <= tolerance * size) | (numpy.isnan(answer) & numpy.isnan(expected)) | (answer == expected))
    if not wrong.any():
        return None
    index = tuple(int(i) for i in numpy.argwhere(wrong)[0])
    words = Message(
        "first difference at index {index}: got {got:.6g}, expected {want:.6g}; {share} elements differ{pattern}",
        "第一处不同在下标 {index}：得到 {got:.6g}，应为 {want:.6g}；{share} 个元素不同{pattern}",
    )
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
        return Message(f", all with index {listed.en} on axis {axis}", f"，都在第 {axis} 轴下标 {listed.zh}")
    return Message("", "")


def _listed_places(places: numpy.ndarray, size: int) -> Message:
    first, last = int(places[0]), int(places[-1])
    if len(places) == 1:
        return Message(f"{first}", f"{first}")
    steps = set(numpy.diff(places))
    if steps == {1}:
        return Message(f"{first} and later", f"{first} 及以后") if last == size - 1 else Message(f"{first} to {last}", f"{first} 到 {last}")
    if len(steps) == 1:
        step = int(steps.pop())
        return Message(f"{first}, {first + step}, … (every {step})", f"{first}、{first + step}、……（步长 {step}）")
    listed = ", ".join(map(str, places[:8]))
    return Message(listed, listed)
