"""Numbers that are measured on a GELU: the factors in its forms."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any

import numpy

from headway.practice.exercise import Inputs, Recovery
from headway.practice.recipes.activations import answers_at, sigmoid
from headway.practice.texts import Texts

TEXTS = Texts("gelu")

NUMBERS = numpy.array([-1.4, -0.9, -0.35, 0.45, 0.8, 1.3, 1.6])


def _gate_term(ask: Any) -> Any:
    """Return 2 · output / x - 1, the term added to 1; None if it is not between -1 and 1."""
    answer = answers_at(ask, NUMBERS.tolist())
    term = None if answer is None else 2 * answer / NUMBERS - 1
    return term if term is not None and (numpy.abs(term) < 1).all() else None


def _tanh_line(ask: Any) -> tuple[float, float] | None:
    """Return factor and coefficient: arctanh of the term, per x, is factor + factor · coefficient · x², a straight line over x²."""
    term = _gate_term(ask)
    if term is None:
        return None
    slope, start = numpy.polyfit(NUMBERS**2, numpy.arctanh(term) / NUMBERS, 1)
    rest = numpy.abs(numpy.arctanh(term) / NUMBERS - start - slope * NUMBERS**2).max()
    return (float(start), float(slope / start)) if rest < 2e-6 * max(abs(start), 1) and abs(start) > 1e-3 else None


def _factor(ask: Any) -> list[tuple[Inputs, float]]:
    found = _tanh_line(ask)
    return [] if found is None or min(abs(found[0] - each) for each in (2 / math.pi, -math.sqrt(2 / math.pi))) < 1e-5 else [({}, found[0])]


def _coefficient(ask: Any) -> list[tuple[Inputs, float]]:
    found = _tanh_line(ask)
    named = (0.0, 0.044715, -0.044715, 0.044715 / math.sqrt(2 / math.pi))
    return [] if found is None or min(abs(found[1] - each) for each in named) < 1e-5 else [({}, found[1])]


def _erf_factor(ask: Any) -> list[tuple[Inputs, float]]:
    """Measure the factor inside erf: the inverse of erf, per x, if it is constant."""
    term = _gate_term(ask)
    if term is None:
        return []
    inverse = [NormalDist().inv_cdf((1 + each) / 2) / math.sqrt(2) for each in term]
    factors = numpy.array(inverse) / NUMBERS
    is_named = min(abs(factors[0] - each) for each in (1.0, -math.sqrt(0.5))) < 1e-5
    return [] if numpy.ptp(factors) > 1e-5 * abs(factors[0]) or is_named else [({}, float(factors[0]))]


def _sigmoid_factor(ask: Any) -> list[tuple[Inputs, float]]:
    """Measure the factor inside a sigmoid: tanh of half of it, if it is proportional to x; 1 and 1.702 have a named mistake."""
    term = _gate_term(ask)
    if term is None:
        return []
    factors = 2 * numpy.arctanh(term) / NUMBERS
    is_named = min(abs(factors[0] - each) for each in (1.0, 1.702, 2 * math.sqrt(2 / math.pi), math.sqrt(2))) < 1e-5
    return [] if numpy.ptp(factors) > 1e-5 * abs(factors[0]) or is_named else [({}, float(factors[0]))]


def _recovery(name: str, measure: Any, right: float, right_name: str, pattern: str) -> Recovery:
    return TEXTS.recovery(
        name,
        name,
        measure=measure,
        wrong=lambda number_of: lambda: number_of({}),
        sizes=lambda inputs: {"(2/π)": 2 / math.pi, "π": math.pi, "√2/π": math.sqrt(2) / math.pi, "0.44715": 0.44715, "1.702": 1.702},
        right=right,
        right_name=right_name,
        pattern=pattern,
    )


RECOVERIES = (
    _recovery("factor", _factor, math.sqrt(2 / math.pi), "√(2/π)", r"pi|0\.79|sqrt"),
    _recovery("coefficient", _coefficient, 0.044715, "0.044715", r"\.0?0?4\d*|\*\* *3"),
    _recovery("erf_factor", _erf_factor, 1 / math.sqrt(2), "1/√2", r"erf"),
    TEXTS.recovery(
        "sigmoid_factor",
        "apply",
        measure=_sigmoid_factor,
        wrong=lambda number_of: lambda x, gate: x * sigmoid(number_of({}) * x),
        sizes=lambda inputs: {"√(8/π)": math.sqrt(8 / math.pi), "1.7": 1.7},
        right=math.nan,
        right_name="no sigmoid",
    ),
)
