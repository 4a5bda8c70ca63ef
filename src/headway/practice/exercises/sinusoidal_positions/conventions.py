"""Correct ways to write sinusoidal positions: what is taken, what is returned, and what they are added to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from headway.practice.exercise import Convention, Inputs
from headway.practice.outputs import Raised
from headway.practice.texts import Texts

TEXTS = Texts("sinusoidal_positions")


def _refused(answer: Any, inputs: Inputs) -> Any:
    """Return an error for an output of another width with an odd hidden_size, or of three axes for two: it counts as a refusal."""
    if inputs.get("x") is not None and inputs["x"].ndim == 2 and numpy.ndim(answer) == 3:
        return Raised(ValueError(f"an output of shape {answer.shape}"))
    width = inputs["hidden_size"] if inputs.get("x") is None else inputs["x"].shape[-1]
    if width % 2 and isinstance(answer, numpy.ndarray) and answer.shape[-1] in (width - 1, width + 1):
        return Raised(ValueError(f"an output of shape {answer.shape}"))
    is_wide = isinstance(answer, numpy.ndarray) and answer.dtype == numpy.float64
    return answer.astype(numpy.float32) if is_wide else answer  # angles in float32 are correct too


def _with_axis(axis: int) -> Callable[[Any, Inputs], Any]:
    def decode(answer: Any, inputs: Inputs) -> Any:
        is_deep = isinstance(answer, numpy.ndarray) and answer.ndim == 3 and answer.shape[axis] == 1
        return answer.squeeze(axis) if is_deep and inputs.get("x") is None else answer

    return decode


def _sum_of(answer: Any, inputs: Inputs) -> Any:
    if inputs.get("x") is None or not isinstance(answer, numpy.ndarray):
        return answer
    return answer if answer.shape[-2:] != inputs["x"].shape[-2:] else inputs["x"] + answer.astype(numpy.float64)


def _as_positions(inputs: Inputs) -> Inputs:
    return inputs | {"seq_len": numpy.arange(inputs["seq_len"])} if inputs.get("x") is None else inputs


def _as_length(inputs: Inputs) -> Inputs | None:
    return None if inputs.get("x") is None else inputs | {"x": inputs["x"].shape[-2]}


def _rows_first(inputs: Inputs) -> Inputs | None:
    x = inputs.get("x")
    if x is None:
        return inputs
    return inputs | {"x": x.swapaxes(0, 1)} if x.ndim == 3 else None


def _batch_first(answer: Any, inputs: Inputs) -> Any:
    x = inputs.get("x")
    return answer.swapaxes(0, 1) if x is not None and x.ndim == 3 and numpy.ndim(answer) == 3 else answer


WIDTHS = (Convention(decode=_refused),)
RETURNS = (
    Convention(),
    Convention(TEXTS["leading_axis"], decode=_with_axis(0), role="seq_len"),
    Convention(TEXTS["batch_axis_second"], decode=_with_axis(1), role="seq_len"),
)
TAKES = (
    Convention(),
    Convention(TEXTS["takes_positions"], encode=_as_positions, role="seq_len"),
    Convention(TEXTS["takes_length"], encode=_as_length, decode=_sum_of, role="x", named=r"len|num|size|^[tln]$"),
    Convention(
        TEXTS["sequence_first"],
        encode=_rows_first,
        decode=_batch_first,
        role="x",
        source=r"[\[(] *(seq\w*|src\w*|tgt\w*|s|t|l) *[,x×] *(batch|bs|b|n)\w*|batch_first *= *False|sequence[ _-]first",
    ),
)
ADDS = (
    Convention(),
    Convention(TEXTS["positions_only"], decode=_sum_of, role="x"),
    Convention(TEXTS["scaled_by_root"], steps={"scale": lambda x: x * x.shape[-1] ** 0.5}, role="x"),
)
