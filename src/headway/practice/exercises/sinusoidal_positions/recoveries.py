"""Numbers that are measured on a table of positions: its base and its first position."""

from __future__ import annotations

from typing import Any

import numpy

from headway.practice.exercise import Inputs
from headway.practice.recipes.measuring import angles_of
from headway.practice.texts import Texts

TEXTS = Texts("sinusoidal_positions")


def _table(ask: Any, seq_len: int, width: int) -> Any:
    """Return a learner's table, as returned or as added to zeros; None if neither works."""
    for inputs in (
        {"seq_len": seq_len, "hidden_size": width},
        {"x": numpy.zeros((2, seq_len, width))},
        {"x": numpy.zeros((seq_len, width))},
    ):
        answer = ask(inputs)
        if isinstance(answer, numpy.ndarray) and answer.shape[-2:] == (seq_len, width) and numpy.isfinite(answer).all():
            return answer.reshape(-1, seq_len, width)[0].astype(numpy.float64)
    return None


def _base(ask: Any) -> list[tuple[Inputs, float]]:
    """Measure the base of the geometric series of frequencies."""
    measured = []
    for seq_len, width in ((7, 8), (9, 12)):
        table = _table(ask, seq_len, width)
        read = None if table is None else angles_of(table[:, 1::2], table[:, 0::2])
        if read is None or not (read[1] > 0).all():
            return []
        bases = read[1][1:] ** (-width / (2 * numpy.arange(1, width // 2)))
        if numpy.ptp(bases) > 2e-2 * bases.max() or any(abs(bases[0] / other - 1) < 1e-2 for other in (1.0, 100.0, 1e8, 1e-4)):
            return []  # the named mistakes in the exponent give 100, 10⁸ or 10⁻⁴
        measured.append(({"hidden_size": width}, float(bases[0])))
    return measured


def _offset(ask: Any) -> list[tuple[Inputs, float]]:
    """Measure the position of row 0 from the pair with the lowest frequency."""
    measured = []
    for seq_len, width in ((7, 8), (9, 12)):
        table = _table(ask, seq_len, width)
        read = None if table is None else angles_of(table[:, 1::2], table[:, 0::2])
        if read is None or not read[1][-1] > 0:
            return []
        first, step = read
        measured.append(({"hidden_size": width}, float(round(first[-1] / step[-1], 3))))
    return measured


RECOVERIES = (
    TEXTS.recovery(
        "base",
        "angles",
        measure=_base,
        wrong=lambda number_of: (
            lambda positions, exponents, base: positions[:, None] / (number_of({}) if base == 10000.0 else base) ** exponents
        ),
        right=10000.0,
        right_name="10000",
    ),
    TEXTS.recovery(
        "offset",
        "positions",
        measure=_offset,
        wrong=lambda number_of: lambda length, offset: numpy.arange(length) + offset + number_of({}),
        right=0.0,
        right_name="0",
    ),
)
