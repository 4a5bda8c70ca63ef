"""Check of a correct function in float16 and bfloat16, in which models usually run."""

from __future__ import annotations

from typing import Any

import numpy

from headway.arrays import array_library, as_dtype, cast, is_floating, to_numpy
from headway.practice.diagnosis.calls.calling import Call
from headway.practice.diagnosis.calls.compare import floating_arrays
from headway.practice.diagnosis.classes.instances import InstanceCall
from headway.practice.exercise import Inputs
from headway.practice.message import Message, describe_error
from headway.practice.outputs import PRECISION
from headway.practice.texts import Texts

TEXTS = Texts("diagnosis")

RAISES = TEXTS["raises"]
NOT_FINITE = TEXTS["not_finite"]
INEXACT = TEXTS["inexact"]
LARGEST = {"float16": "65504", "bfloat16": "3.4e38"}


def half_precision_note(call: Call, encoded: Inputs) -> Message | None:
    """Return a note on a correct function's half-precision outputs, or None if they are accurate.

    Classes and functions of layers are not checked: their weights have the dtype they were created in.
    """
    if call.is_wide or isinstance(call, InstanceCall) or call.layers_given:
        return None
    for dtype in ("bfloat16", "float16"):
        small = _in(dtype, call, call.arguments(encoded))
        expected = _first(call.run(_in("float32", call, small)))
        if expected is None:
            return None
        try:
            answer = _first(call.run(small))
        except Exception as error:
            return RAISES.format(dtype=dtype, error=describe_error(error, max_chars=120))
        note = None if answer is None else _compared(answer, expected, dtype)
        if note is not None:
            return note
    return None


def _in(dtype: str, call: Call, arguments: Inputs) -> Inputs:
    """Return the arguments with floating arrays cast to a dtype."""
    wanted = as_dtype(dtype, array_library(call.library))
    return {name: cast(value, wanted) if hasattr(value, "dtype") and is_floating(value) else value for name, value in arguments.items()}


def _compared(answer: numpy.ndarray, expected: numpy.ndarray, dtype: str) -> Message | None:
    finite = numpy.isfinite(expected)
    if answer.shape != expected.shape or not finite.any():
        return None
    if not numpy.isfinite(answer[finite]).all():
        return NOT_FINITE.format(dtype=dtype, largest=LARGEST[dtype])
    size = max(float(numpy.abs(expected[finite]).max()), 1e-6)
    error = float(numpy.abs(answer[finite] - expected[finite]).max()) / size
    return INEXACT.format(dtype=dtype, error=f"{error:.1%}") if error > 2 * PRECISION[dtype] else None


def _first(answer: Any) -> numpy.ndarray | None:
    """Return the first floating array of an output."""
    return next((to_numpy(part).astype(numpy.float64) for part in floating_arrays(answer)), None)
