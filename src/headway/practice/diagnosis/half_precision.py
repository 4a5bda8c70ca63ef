"""What a right function does in half precision: models run in it, and constants of one's own often do not."""

from __future__ import annotations

from typing import Any

import numpy

from headway.arrays import array_library, as_dtype, cast, is_floating, to_numpy
from headway.practice.diagnosis.calling import Call
from headway.practice.diagnosis.compare import PRECISION, floating_arrays
from headway.practice.diagnosis.instances import InstanceCall
from headway.practice.exercise import Inputs
from headway.practice.message import Message

RAISES = Message(
    "in {dtype} it raises {error}: make constants in the dtype of the input, and fill with what that dtype can hold, such as -inf",
    "输入为 {dtype} 时它抛出 {error}：常量应使用输入的 dtype，填充值应是该 dtype 能表示的数，例如 -inf",
)
NOT_FINITE = Message(
    "in {dtype} it answers inf or nan where float32 does not: numbers above {largest} overflow; compute in float32, and return {dtype}",
    "输入为 {dtype} 时结果出现 inf 或 nan，而 float32 时没有：大于 {largest} 的数会溢出；应以 float32 计算，再转回 {dtype}",
)
INEXACT = Message(
    "in {dtype} it is off by {error} of the largest number: compute in float32, and return {dtype}",
    "输入为 {dtype} 时误差达到最大值的 {error}：应以 float32 计算，再转回 {dtype}",
)
LARGEST = {"float16": "65504", "bfloat16": "3.4e38"}


def on_half_precision(call: Call, encoded: Inputs) -> Message | None:
    """What is to be said of a right function's answers in half precision; None where nothing is.

    A class is left out: its weights are in the dtype that it was made in.
    """
    if call.is_wide or isinstance(call, InstanceCall):
        return None
    for dtype in ("bfloat16", "float16"):
        small = _in(dtype, call, call.arguments(encoded))
        expected = _first(call.run(_in("float32", call, small)))
        if expected is None:
            return None
        try:
            answer = _first(call.run(small))
        except Exception as error:
            return RAISES.format(
                dtype=dtype, error=f"{type(error).__name__} ({str(error).strip().splitlines()[0][:120]})" if str(error) else ""
            )
        said = None if answer is None else _compared(answer, expected, dtype)
        if said is not None:
            return said
    return None


def _in(dtype: str, call: Call, arguments: Inputs) -> Inputs:
    """The arguments with their floating arrays in a dtype."""
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
    """The first floating array of an answer."""
    return next((to_numpy(part).astype(numpy.float64) for part in floating_arrays(answer)), None)
