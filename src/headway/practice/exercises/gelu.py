"""gelu: x · Φ(x), exactly or in the tanh form of GPT-2."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any

import numpy

from headway import functions
from headway.practice.exercise import Convention, Exercise, Inputs, Probe, Recovery, optional
from headway.practice.recipes.activation_mistakes import instead, not_bent, relu_instead, softplus_instead
from headway.practice.recipes.activations import ARRAYS, X, answers_at, erf, floating, probes_of, quick_gelu, sigmoid, silu
from headway.practice.recipes.conventions import RETURNS
from headway.practice.recipes.measuring import constant
from headway.practice.roles import Roles
from headway.practice.texts import Texts

TEXTS = Texts("gelu")
ROLES = Roles("gelu")


def recipe(steps: Any, x: Any, approximate: str | None = None) -> Any:
    """The definition as named steps: form, then inner_exact and erf, or inner_tanh and tanh; one, half, apply."""
    x = floating(x)
    is_tanh = (approximate or steps.form()) == "tanh"
    term = (
        steps.tanh(steps.inner_tanh(x, steps.factor(), steps.coefficient(), steps.cube)) if is_tanh else steps.erf(x * steps.erf_factor())
    )
    return steps.apply(x, steps.half() * (steps.one() + term))


def definition(x: Any, approximate: str = "none") -> Any:
    """Select one of the two forms, which are two functions in headway.functions."""
    return (functions.gelu_tanh if approximate == "tanh" else functions.gelu)(x)


STEPS = {
    "form": lambda: "none",
    "factor": lambda: math.sqrt(2 / math.pi),
    "coefficient": lambda: 0.044715,
    "cube": lambda x: x * x * x,
    "inner_tanh": lambda x, factor, coefficient, cube: factor * (x + coefficient * cube(x)),
    "tanh": numpy.tanh,
    "erf_factor": lambda: 1 / math.sqrt(2),
    "erf": erf,
    "one": lambda: 1.0,
    "half": lambda: 0.5,
    "apply": lambda x, gate: x * gate,
}


USE = TEXTS["use"]


def _density(x: Any) -> Any:
    return numpy.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def _cumulative(x: Any) -> Any:
    return 0.5 * (1 + erf(x / math.sqrt(2)))


MISTAKES = (
    TEXTS.mistake("half_missing", half=lambda: 1.0),
    TEXTS.mistake("one_missing", one=lambda: 0.0),
    TEXTS.mistake("one_minus", apply=lambda x, gate: x * (1 - gate)),
    TEXTS.mistake("gate_returned", apply=lambda x, gate: gate),
    TEXTS.mistake("erf_without_root", erf_factor=lambda: 1.0),
    TEXTS.mistake("square_for_cube", cube=lambda x: x * x),
    TEXTS.mistake("two_over_pi_without_root", factor=lambda: 2 / math.pi),
    TEXTS.mistake("factor_on_x_alone", inner_tanh=lambda x, factor, coefficient, cube: factor * x + coefficient * cube(x)),
    TEXTS.mistake("cube_of_everything", inner_tanh=lambda x, factor, coefficient, cube: factor * cube(x + coefficient * x)),
    TEXTS.mistake("cubic_term_missing", coefficient=lambda: 0.0),
    TEXTS.mistake("cubic_term_subtracted", coefficient=lambda: -0.044715),
    TEXTS.mistake("erf_of_the_tanh_form", tanh=erf, form=lambda: "tanh"),
    TEXTS.mistake("tanh_of_the_exact_form", erf=numpy.tanh),
    TEXTS.mistake("sigmoid_for_tanh", tanh=sigmoid, form=lambda: "tanh"),
    TEXTS.mistake("sigmoid_form", **instead(quick_gelu)),
    TEXTS.mistake("density_for_cumulative", **instead(lambda x: x * _density(x))),
    relu_instead(USE),
    TEXTS.mistake("silu", **instead(silu)),
    softplus_instead(USE),
    TEXTS.mistake("derivative_returned", **instead(lambda x: _cumulative(x) + x * _density(x))),
    not_bent(USE),
)


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
    factor = constant(numpy.array(inverse) / NUMBERS, 1.0, -math.sqrt(0.5), tolerance=1e-5)
    return [] if factor is None else [({}, factor)]


def _sigmoid_factor(ask: Any) -> list[tuple[Inputs, float]]:
    """Measure the factor inside a sigmoid: tanh of half of it, if it is proportional to x; 1 and 1.702 have a named mistake."""
    term = _gate_term(ask)
    if term is None:
        return []
    factor = constant(2 * numpy.arctanh(term) / NUMBERS, 1.0, 1.702, 2 * math.sqrt(2 / math.pi), math.sqrt(2), tolerance=1e-5)
    return [] if factor is None else [({}, factor)]


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


def probes() -> tuple[Probe, ...]:
    """The usual inputs, inputs where the two forms differ most, and both values of the argument that selects the form."""
    random = numpy.random.default_rng(4)
    return probes_of(
        Probe("where the forms differ", {"x": numpy.array([-2.7, -2.2, 2.2, 2.7])}, ARRAYS),
        Probe("requested tanh form", {"x": random.standard_normal(6) * 2, "approximate": "tanh"}, ARRAYS),
        Probe("requested exact form", {"x": random.standard_normal(6) * 2, "approximate": "none"}, ARRAYS),
    )


def _as_flag(inputs: Inputs) -> Inputs:
    return inputs | {"approximate": inputs["approximate"] == "tanh"} if "approximate" in inputs else inputs


EXERCISE = Exercise(
    name="gelu",
    definition=definition,
    recipe=recipe,
    steps=STEPS,
    roles=(X, ROLES("approximate", neutral="none")),
    probes=probes,
    mistakes=MISTAKES,
    conventions=(
        (
            Convention(TEXTS["exact_form"]),
            Convention(TEXTS["form_of_gpt2"], steps={"form": lambda: "tanh"}),
            Convention(TEXTS["sigmoid_form"], steps=instead(quick_gelu), called="quick|fast|gelu_?2$"),
        ),
        optional(Convention(encode=_as_flag, role="approximate")),
        RETURNS,
    ),
    recoveries=RECOVERIES,
)
