"""Numbers that are measured on the outputs of a learner's function."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy

from headway.practice.exercise import Inputs
from headway.practice.outputs import Raised

Ask = Callable[[Inputs], Any]
Measured = list[tuple[Inputs, float]]


def measured(ask: Ask, examples: Iterable[Inputs], number: Callable[[Inputs, Any], float | None]) -> Measured:
    """Return each example with the number that its output shows; an empty list if one raises or shows none.

    number   (inputs, output) → the number, or None
    """
    found = []
    for inputs in examples:
        answer = ask(inputs)
        shown = None if isinstance(answer, Raised) else number(inputs, answer)
        if shown is None:
            return []
        found.append((inputs, shown))
    return found


def factor_of(answer: Any, right: Any) -> float | None:
    """Return the constant factor between two arrays; None if there is none."""
    if isinstance(answer, Raised) or numpy.shape(answer) != right.shape or not numpy.isfinite(answer).all():
        return None
    factor = float((answer * right).sum() / (right * right).sum())
    return factor if numpy.abs(answer - factor * right).max() < 1e-5 * numpy.abs(right).max() else None


def constant(ratios: Any, *named: float, tolerance: float = 1e-4) -> float | None:
    """Return the number that all ratios are; None if they differ, or if it is a number with a named mistake."""
    ratio = float(ratios[0])
    is_even = numpy.isfinite(ratios).all() and numpy.ptp(ratios) <= tolerance * abs(ratio)
    return ratio if is_even and min(abs(ratio - each) for each in named) >= tolerance else None


def log_slope(x: Any, answer: Any) -> float | None:
    """Return the slope of the logarithm of probabilities over x; None if it is not a straight line."""
    if numpy.shape(answer) != x.shape or not (numpy.asarray(answer) > 0).all():
        return None
    slope, rest, *_ = numpy.polyfit(x, numpy.log(numpy.asarray(answer, numpy.float64)), 1, full=True)
    return None if rest.size and rest[0] > 1e-6 else float(slope[0])


def angles_of(cosines: Any, sines: Any) -> tuple[Any, Any] | None:
    """Return each pair's first angle and its step per position; None if the steps are not constant."""
    if sines.shape != cosines.shape or numpy.abs(sines**2 + cosines**2 - 1).max() > 1e-2:
        return None
    angles = numpy.unwrap(numpy.arctan2(sines, cosines), axis=0)
    step = (angles[-1] - angles[0]) / (len(angles) - 1)
    even = angles[0] + numpy.arange(len(angles))[:, None] * step
    return (angles[0], step) if numpy.abs(angles - even).max() < 1e-2 else None


def of_waves(read: Callable[[int, int], tuple[Any, Any] | None], number: Callable[[Any, Any, int], float | None]) -> Measured:
    """Return a number measured on tables of waves of two sizes; an empty list if one shows none.

    read     (rows, width) → each pair's first angle and its step per position, as from angles_of
    number   (first angles, steps, width) → the number, or None
    """
    found: Measured = []
    for seq_len, width in ((7, 8), (9, 12)):
        waves = read(seq_len, width)
        shown = None if waves is None else number(*waves, width)
        if shown is None:
            return []
        found.append(({}, shown))
    return found


def base_of(frequencies: Any, width: int, *named: float) -> float | None:
    """Return the base of a geometric series of frequencies; None if there is none, or if it is a number with a named mistake."""
    if not (frequencies > 0).all():
        return None
    bases = frequencies[1:] ** (-width / (2 * numpy.arange(1, width // 2)))
    is_named = any(abs(bases[0] / other - 1) < 1e-2 for other in named)
    return None if is_named or numpy.ptp(bases) > 2e-2 * bases.max() else float(numpy.median(bases))


def first_position(first: Any, step: Any, width: int) -> float | None:
    """Return the position of row 0, by the pair with the lowest frequency."""
    return float(round(first[-1] / step[-1], 2)) if step[-1] > 0 else None
