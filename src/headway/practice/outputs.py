"""Outputs of functions: exceptions in place of outputs, and equality within rounding."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy

from headway.arrays import dtype_name

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
        answer = tuple(answer) if isinstance(answer, numpy.ndarray) and answer.ndim > 1 else answer  # a list of arrays
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
    if isinstance(answer, tuple) and all(isinstance(each, numpy.ndarray | numpy.generic) and each.ndim == 0 for each in answer):
        answer = numpy.asarray(answer)  # token ids as a tuple
    if answer is None or expected is None or isinstance(answer, tuple | dict):
        return False
    answer, expected = numpy.asarray(answer), numpy.asarray(expected)
    if answer.shape != expected.shape or answer.dtype.kind == "O" or (answer.dtype.kind == "c") != (expected.dtype.kind == "c"):
        return False
    if answer.dtype.kind == "c":
        return is_same(answer.real, expected.real, tolerance, rounding) and is_same(answer.imag, expected.imag, tolerance, rounding)
    answer, expected = answer.astype(numpy.float64), expected.astype(numpy.float64)
    finite = numpy.isfinite(expected)
    if not numpy.array_equal(finite, numpy.isfinite(answer)) or not numpy.array_equal(answer[~finite], expected[~finite], equal_nan=True):
        return False
    size = max(float(numpy.abs(expected[finite]).max(initial=0.0)), 1e-6)
    return bool((numpy.abs(answer[finite] - expected[finite]) <= tolerance * size + rounding / 2).all())


class OwnData(numpy.ndarray):
    """An array that is its own data, as that of a tensor of an autograd library."""

    @property
    def data(self) -> Any:
        """Return the array."""
        return self.view(numpy.ndarray)
