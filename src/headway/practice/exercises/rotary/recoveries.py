"""Numbers that are measured on a rotation: its base and its first position."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from headway.practice.exercise import Inputs, Step
from headway.practice.exercises.rotary.steps import counted, exponents, halves
from headway.practice.recipes.measuring import angles_of
from headway.practice.texts import Texts

TEXTS = Texts("rotary")


def _read(ask: Any, seq_len: int, width: int) -> tuple[Any, Any] | None:
    """Return each pair's first angle and its step per position, measured on vectors along the first coordinate of every pair."""
    row = numpy.concatenate([numpy.ones(width // 2), numpy.zeros(width // 2)])
    positions = {"positions": numpy.arange(seq_len)}
    for leading in ((), (2,), (2, 3)):
        x = numpy.broadcast_to(row, (*leading, seq_len, width)).copy()
        for inputs in ({"x": x}, {"x": x} | positions, {"x": x, "offset": 0}, {"x": x, "key": x}, {"x": x, "key": x} | positions):
            answer = ask(inputs)
            answer = answer[0] if isinstance(answer, tuple) and answer else answer
            if isinstance(answer, numpy.ndarray) and answer.shape == x.shape and numpy.isfinite(answer).all():
                return angles_of(*halves(answer.reshape(-1, seq_len, width)[0].astype(numpy.float64)))
    return None


def _theta(ask: Any) -> list[tuple[Inputs, float]]:
    """Measure the base of the geometric series of frequencies."""
    measured = []
    for seq_len, width in ((7, 8), (9, 12)):
        read = _read(ask, seq_len, width)
        if read is None or not (read[1] > 0).all() or abs(read[1][0] - 1) > 1e-3:
            return []
        bases = read[1][1:] ** (-width / (2 * numpy.arange(1, width // 2)))
        if numpy.ptp(bases) > 1e-2 * bases.max() or any(abs(bases[0] / other - 1) < 1e-2 for other in (1.0, 100.0, 1e8)):
            return []  # the named mistakes in the exponent give 1, 100 or 10⁸
        measured.append(({"x": numpy.zeros((seq_len, width))}, float(numpy.median(bases))))
    return measured


def _offset(ask: Any) -> list[tuple[Inputs, float]]:
    """Measure the position of row 0 from the pair with the lowest frequency."""
    measured = []
    for seq_len, width in ((7, 8), (9, 12)):
        read = _read(ask, seq_len, width)
        if read is None or not read[1][-1] > 0:
            return []
        measured.append(({"x": numpy.zeros((seq_len, width))}, float(round(read[0][-1] / read[1][-1], 2))))
    return measured


def _given_or(number_of: Callable[[Inputs], float]) -> Step:
    return lambda width, theta: (number_of({}) if theta == 10000.0 else float(theta)) ** -exponents(width)


RECOVERIES = (
    TEXTS.recovery("theta", "frequencies", measure=_theta, wrong=_given_or, right=10000.0, right_name="10000"),
    TEXTS.recovery(
        "offset",
        "positions",
        measure=_offset,
        wrong=lambda number_of: lambda x, positions, offset: counted(x, positions, offset) + number_of({}),
        right=0.0,
        right_name="0",
    ),
)
