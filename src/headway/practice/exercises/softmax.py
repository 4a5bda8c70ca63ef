"""softmax: exp(x - max x) / Σ exp(x - max x)."""

from __future__ import annotations

from typing import Any

import numpy

from headway import functions
from headway.practice.exercise import Convention, Exercise, Inputs, Probe, unchanged
from headway.practice.recipes.activations import softmax
from headway.practice.recipes.conventions import DEFAULT_AXIS, FEWER_AXES, NUM_AXES, RETURNS
from headway.practice.recipes.distributions import BY_TOKEN, as_dict
from headway.practice.recipes.distributions import TEXTS as SHARED
from headway.practice.recipes.measuring import Ask, Measured, log_slope, measured
from headway.practice.roles import Roles, extent
from headway.practice.texts import Texts

TEXTS = Texts("softmax")
ROLES = Roles("softmax")


def recipe(steps: Any, x: Any, axis: int = -1) -> Any:
    """The definition as named steps: promote, axis, shift, power, total, divide, finish."""
    x, axis = steps.promote(x), steps.axis(axis)
    powers = steps.power(x - steps.shift(x, axis))
    return steps.finish(steps.divide(powers, steps.total(powers, x, axis)), axis)


STEPS = {
    "promote": lambda x: x if x.dtype.kind == "f" else x.astype(numpy.float64),
    "shift": lambda x, axis: x.max(axis, keepdims=True),
    "power": numpy.exp,
    "total": lambda powers, x, axis: powers.sum(axis, keepdims=True),
    "divide": lambda powers, total: powers / total,
}

ROWS = TEXTS["rows"]
WHOLE = TEXTS["whole"]

MISTAKES = (
    TEXTS.mistake("no_shift", shift=lambda x, axis: 0.0),
    TEXTS.mistake("global_shift", shift=lambda x, axis: x.max()),
    TEXTS.mistake("divides_by_sum_of_inputs", total=lambda powers, x, axis: x.sum(axis, keepdims=True)),
    TEXTS.mistake("total_not_shifted", total=lambda powers, x, axis: numpy.exp(x).sum(axis, keepdims=True)),
    TEXTS.mistake("sums_everything", total=lambda powers, x, axis: powers.sum()),
    TEXTS.mistake("no_keepdims_in_total", total=lambda powers, x, axis: powers.sum(axis)),
    TEXTS.mistake("no_keepdims_in_shift", shift=lambda x, axis: x.max(axis)),
    TEXTS.mistake("no_keepdims", shift=lambda x, axis: x.max(axis), total=lambda powers, x, axis: powers.sum(axis)),
    TEXTS.mistake("first_axis", axis=lambda axis: 0),
    TEXTS.mistake("second_axis", axis=lambda axis: 1),
    TEXTS.mistake("given_axis_ignored", axis=lambda axis: -1),
    TEXTS.mistake("applied_twice", finish=softmax),
    TEXTS.mistake("logarithm_returned", divide=lambda powers, total: numpy.log(powers) - numpy.log(total)),
    TEXTS.mistake("whole_numbers_returned", finish=lambda answer, axis: numpy.zeros_like(answer)),
    TEXTS.mistake("sigmoid", shift=lambda x, axis: 0.0, power=unchanged, divide=lambda powers, total: 0.5 + 0.5 * numpy.tanh(0.5 * powers)),
    TEXTS.mistake("not_divided", divide=unchanged),
    TEXTS.mistake("hard_maximum", power=lambda x: (x == 0).astype(x.dtype)),
)


def _base(ask: Ask) -> Measured:
    """Measure the slope of the log-probabilities over the inputs: 1 for exp, ln 2 for powers of 2, -1 for exp(-x)."""
    examples = [{"x": numpy.linspace(-0.7, 0.9, size) ** 3} for size in (4, 6)]
    return measured(ask, examples, lambda inputs, answer: log_slope(inputs["x"], answer))


RECOVERIES = (
    TEXTS.recovery(
        "base", "power", measure=_base, wrong=lambda number_of: lambda x: numpy.exp(number_of({}) * x), right_name="1 (the base e)"
    ),
)


KEEPS_TYPE = (
    Convention(),
    Convention(
        TEXTS["keeps_type"],
        encode=lambda inputs: inputs if inputs["x"].dtype.kind == "f" else None,
        source=r"\.to\(\w*dtype\w*\)|\.(?:to|astype)\(\w+\.dtype\)|\.type_as\(",
    ),
)


def probes() -> tuple[Probe, ...]:
    """A row, rows of different lengths and magnitudes, four axes, a given axis, inputs too large for exp, integers."""
    random = numpy.random.default_rng(3)
    return (
        Probe("row", {"x": random.standard_normal(5) * 2}),
        Probe("large", {"x": numpy.array([1000.0, 1001.0, 1002.0, 1000.5])}),
        Probe("rows", {"x": random.standard_normal((3, 5))}, ROWS),
        Probe("square", {"x": random.standard_normal((3, 3))}, ROWS),
        Probe("sums to zero", {"x": numpy.array([[1.0, -1.0, 0.0], [2.0, 1.0, -3.5]])}, ROWS),
        Probe("three axes", {"x": random.standard_normal((2, 3, 5))}, ROWS),
        Probe("four axes", {"x": random.standard_normal((2, 3, 4, 5))}, ROWS),
        Probe("large rows", {"x": numpy.array([[1000.0, 1001.0, 1002.0], [-1000.0, -1001.0, -1003.0]])}, ROWS),
        Probe("a row far below", {"x": numpy.array([[0.0, 1.0], [-2000.0, -2001.0]])}, ROWS),
        Probe("whole numbers", {"x": numpy.array([1, 2, 4])}, WHOLE),
        Probe("whole rows", {"x": numpy.array([[1, 2, 4], [0, 3, 1]])}, WHOLE),
        Probe("given axis", {"x": random.standard_normal((3, 4, 5)), "axis": 1}),
    )


def _in_order(answer: Any, inputs: Inputs) -> Any:
    """Return the values of a dict in the order of the tokens, or the output if it is no dict of all."""
    keys = range(len(inputs["x"]))
    return numpy.array([answer[key] for key in keys]) if isinstance(answer, dict) and answer.keys() == {*keys} else answer


OF_DICT = Convention(SHARED["by_token"], as_dict("x"), _in_order, role="x", without="axis", source=BY_TOKEN)

EXERCISE = Exercise(
    name="softmax",
    definition=functions.softmax,
    recipe=recipe,
    steps=STEPS,
    roles=(ROLES("x"), ROLES("axis", neutral=-1), ROLES.size("size", extent("x", -1))),
    probes=probes,
    mistakes=MISTAKES,
    conventions=((*NUM_AXES, *FEWER_AXES, OF_DICT), RETURNS, KEEPS_TYPE, DEFAULT_AXIS),
    recoveries=RECOVERIES,
)
