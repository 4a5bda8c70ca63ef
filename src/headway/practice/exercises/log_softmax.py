"""log_softmax: x - max x - log Σ exp(x - max x)."""

from __future__ import annotations

from typing import Any

import numpy

from headway import functions
from headway.practice.exercise import Exercise, Inputs, Probe, optional, unchanged
from headway.practice.exercises.softmax import ROLES, ROWS
from headway.practice.outputs import Raised
from headway.practice.recipes.conventions import DEFAULT_AXIS, FEWER_AXES, RETURNS
from headway.practice.recipes.measuring import Ask, Measured, factor_of, measured
from headway.practice.texts import Texts

TEXTS = Texts("log_softmax")


def recipe(steps: Any, x: Any, axis: int = -1) -> Any:
    """The definition as named steps: scale, shift, power, total, logarithm, join, finish."""
    x = steps.scale(x if x.dtype.kind == "f" else x.astype(numpy.float64))
    shift = steps.shift(x, axis)
    powers = steps.power(x - shift)
    return steps.finish(steps.join(x, shift, powers, steps.total(powers, axis), steps.logarithm))


STEPS = {
    "shift": lambda x, axis: x.max(axis, keepdims=True),
    "power": numpy.exp,
    "total": lambda powers, axis: powers.sum(axis, keepdims=True),
    "logarithm": numpy.log,
    "join": lambda x, shift, powers, total, logarithm: x - shift - logarithm(total),
}


MISTAKES = (
    TEXTS.mistake("logarithm_of_softmax", join=lambda x, shift, powers, total, logarithm: logarithm(powers / total)),
    TEXTS.mistake("no_shift", shift=lambda x, axis: 0.0),
    TEXTS.mistake("maximum_not_added_back", join=lambda x, shift, powers, total, logarithm: x - logarithm(total)),
    TEXTS.mistake("maximum_subtracted_twice", join=lambda x, shift, powers, total, logarithm: x - 2 * shift - logarithm(total)),
    TEXTS.mistake("maximum_added", join=lambda x, shift, powers, total, logarithm: x + shift - logarithm(total)),
    TEXTS.mistake(
        "maximum_not_in_sum",
        total=unchanged,
        join=lambda x, shift, powers, total, logarithm: x - shift - logarithm(numpy.exp(x).sum(-1, keepdims=True)),
    ),
    TEXTS.mistake("global_shift", shift=lambda x, axis: x.max()),
    TEXTS.mistake("sums_everything", total=lambda powers, axis: powers.sum()),
    TEXTS.mistake("no_keepdims_in_total", total=lambda powers, axis: powers.sum(axis)),
    TEXTS.mistake("no_keepdims_in_shift", shift=lambda x, axis: x.max(axis)),
    TEXTS.mistake("no_keepdims", shift=lambda x, axis: x.max(axis), total=lambda powers, axis: powers.sum(axis)),
    TEXTS.mistake("first_axis", shift=lambda x, axis: x.max(0, keepdims=True), total=lambda powers, axis: powers.sum(0, keepdims=True)),
    TEXTS.mistake("second_axis", shift=lambda x, axis: x.max(1, keepdims=True), total=lambda powers, axis: powers.sum(1, keepdims=True)),
    TEXTS.mistake(
        "given_axis_ignored", shift=lambda x, axis: x.max(-1, keepdims=True), total=lambda powers, axis: powers.sum(-1, keepdims=True)
    ),
    TEXTS.mistake("softmax_returned", join=lambda x, shift, powers, total, logarithm: powers / total),
    TEXTS.mistake("sign_turned", finish=lambda answer: -answer),
    TEXTS.mistake("logarithm_missing", join=lambda x, shift, powers, total, logarithm: x - shift - total),
    TEXTS.mistake(
        "logarithm_inside_sum", join=lambda x, shift, powers, total, logarithm: x - shift - logarithm(powers).sum(-1, keepdims=True)
    ),
    TEXTS.mistake("mean_for_sum", total=lambda powers, axis: powers.mean(axis, keepdims=True)),
    TEXTS.mistake("one_added", logarithm=numpy.log1p),
    TEXTS.mistake("fractions_cut_off", finish=numpy.trunc),
)


def _log_sum(x: Any) -> float:
    return float(numpy.log(numpy.exp(x).sum()))


def _slope(inputs: Inputs, answer: Any) -> float | None:
    x = inputs["x"]
    if numpy.shape(answer) != x.shape or not numpy.isfinite(answer).all():
        return None
    slope, start = numpy.polyfit(x, numpy.asarray(answer, numpy.float64), 1)
    return float(slope) if numpy.abs(answer - slope * x - start).max() < 1e-5 else None


def _scale(ask: Ask) -> Measured:
    """Measure the factor on x: the slope of the outputs over the inputs."""
    return measured(ask, [{"x": numpy.linspace(-0.7, 0.9, 5) ** 3}], _slope)


def _unit(ask: Ask) -> Measured:
    """Measure the factor on the whole output, which is 1/ln 2 in bits; -1 has a named mistake."""
    examples = [{"x": numpy.array([0.2, -0.5, 0.9, 0.0])}]
    found = measured(ask, examples, lambda inputs, answer: factor_of(answer, inputs["x"] - _log_sum(inputs["x"])))
    return [each for each in found if abs(each[1] + 1) > 1e-5]


def _logarithm(ask: Ask) -> Measured:
    """Measure the factor on the logarithm only: the maximum is 0 here, so x - output is the logarithm."""
    examples = [{"x": numpy.array([0.0, -0.5, -0.9])}, {"x": numpy.zeros(5)}]
    return measured(
        ask, examples, lambda inputs, answer: factor_of(inputs["x"] - answer, numpy.full_like(inputs["x"], _log_sum(inputs["x"])))
    )


def _floor(ask: Any) -> list[tuple[Inputs, float]]:
    """Measure the constant added to a probability before the logarithm: it is the whole probability where softmax gives 0."""
    x = numpy.array([0.0, -2000.0])
    answer = ask({"x": x})
    if isinstance(answer, Raised) or numpy.shape(answer) != x.shape or not -700 < float(answer[1]) < 0:
        return []
    return [({"x": x}, float(numpy.exp(numpy.float64(answer[1]))))]


RECOVERIES = (
    TEXTS.recovery("scale", "scale", measure=_scale, wrong=lambda number_of: lambda x: number_of({}) * x, right_name="1 (the base e)"),
    TEXTS.recovery("unit", "finish", measure=_unit, wrong=lambda number_of: lambda answer: number_of({}) * answer),
    TEXTS.recovery("logarithm", "logarithm", measure=_logarithm, wrong=lambda number_of: lambda total: number_of({}) * numpy.log(total)),
    TEXTS.recovery(
        "floor",
        "join",
        measure=_floor,
        wrong=lambda number_of: lambda x, shift, powers, total, logarithm: logarithm(powers / total + number_of({})),
        right=0.0,
        right_name="nothing",
    ),
)


def probes() -> tuple[Probe, ...]:
    """A row, rows of different lengths and magnitudes, more axes, a given axis, inputs too large for exp, probabilities that underflow to 0."""
    random = numpy.random.default_rng(3)
    return (
        Probe("row", {"x": random.standard_normal(5) * 2}),
        Probe("large", {"x": numpy.array([1000.0, 1001.0, 1002.0, 1000.5])}),
        Probe("small", {"x": numpy.array([-1000.0, -1001.0, -1002.0, -1003.5])}),
        Probe("unlikely", {"x": numpy.array([0.0, 1000.0, 3.0])}),
        Probe("rows", {"x": random.standard_normal((3, 5))}, ROWS),
        Probe("square", {"x": random.standard_normal((3, 3))}, ROWS),
        Probe("three axes", {"x": random.standard_normal((2, 3, 5))}, ROWS),
        Probe("four axes", {"x": random.standard_normal((2, 3, 4, 5))}, ROWS),
        Probe("large rows", {"x": numpy.array([[1000.0, 1001.0, 1002.0], [-1000.0, -1001.0, -1003.0]])}, ROWS),
        Probe("a row far below", {"x": numpy.array([[0.0, 1.0], [-2000.0, -2001.0]])}, ROWS),
        Probe("whole numbers", {"x": numpy.array([1, 2, 4])}, caution=TEXTS["truncates_integers"]),
        Probe("given axis", {"x": random.standard_normal((3, 4, 5)), "axis": 1}),
    )


EXERCISE = Exercise(
    name="log_softmax",
    definition=functions.log_softmax,
    recipe=recipe,
    steps=STEPS,
    roles=(ROLES("x"), ROLES("axis", neutral=-1)),
    probes=probes,
    mistakes=MISTAKES,
    conventions=(optional(*FEWER_AXES), RETURNS, DEFAULT_AXIS),
    recoveries=RECOVERIES,
)
