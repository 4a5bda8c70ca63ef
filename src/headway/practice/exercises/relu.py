"""relu: max(x, 0)."""

from __future__ import annotations

from typing import Any

import numpy

from headway import functions
from headway.practice.exercise import Convention, Exercise, Inputs, Probe, unchanged
from headway.practice.recipes.activations import X, answers_at, elu, floating, gelu, probes_of, sigmoid, silu, softplus
from headway.practice.recipes.conventions import RETURNS
from headway.practice.texts import Texts

TEXTS = Texts("relu")


def recipe(steps: Any, x: Any) -> Any:
    """The definition as named steps: below, above, finish."""
    x = floating(x)
    return steps.finish(numpy.where(x > 0, steps.above(x), steps.below(x)))


STEPS = {"below": numpy.zeros_like}


def both_sides(function: Any) -> dict[str, Any]:
    """Return steps that replace both halves by one function."""
    return {"above": function, "below": function}


MISTAKES = (
    TEXTS.mistake("negative_part", above=lambda x: numpy.zeros_like(x), below=unchanged),
    TEXTS.mistake("absolute_value", **both_sides(numpy.abs)),
    TEXTS.mistake("not_bent", **both_sides(lambda x: x)),
    TEXTS.mistake("sign_turned", **both_sides(lambda x: -numpy.maximum(x, 0))),
    TEXTS.mistake("of_minus_x", **both_sides(lambda x: numpy.maximum(-x, 0))),
    TEXTS.mistake("derivative_returned", above=numpy.ones_like),
    TEXTS.mistake("capped_at_six", above=lambda x: numpy.minimum(x, 6)),
    TEXTS.mistake("capped_at_one", above=lambda x: numpy.minimum(x, 1)),
    TEXTS.mistake("threshold_is_one", **both_sides(lambda x: numpy.where(x > 1, x, 0))),
    TEXTS.mistake("floor_is_one", **both_sides(lambda x: numpy.maximum(x, 1))),
    TEXTS.mistake("squared", above=lambda x: x * x),
    TEXTS.mistake("sigmoid", **both_sides(sigmoid)),
    TEXTS.mistake("softplus", **both_sides(softplus)),
    TEXTS.mistake("gelu", **both_sides(gelu)),
    TEXTS.mistake("silu", **both_sides(silu)),
    TEXTS.mistake("elu", below=elu),
    TEXTS.mistake("tanh", **both_sides(numpy.tanh)),
    TEXTS.mistake("negatives_dropped", finish=lambda answer: answer[answer > 0]),
    TEXTS.mistake("maximum_of_all", finish=lambda answer: answer.max(initial=0)),
    TEXTS.mistake("whole_numbers_returned", finish=numpy.trunc),
)


def _slope(side: float) -> Any:
    """Return a function that measures the slope on one side of 0; it measures nothing for slopes with a named mistake."""

    def measure(ask: Any) -> list[tuple[Inputs, float]]:
        x = side * numpy.array([0.5, 1.0, 3.0])
        answer = answers_at(ask, x.tolist())
        if answer is None:
            return []
        slopes = answer / x
        is_named = min(abs(slopes[0] - each) for each in (0.0, 1.0, -1.0)) < 1e-6
        return [] if is_named or numpy.ptp(slopes) > 1e-5 else [({"x": x}, float(slopes[0]))]

    return measure


RECOVERIES = (
    TEXTS.recovery(
        "slope_below_zero", "below", measure=_slope(-1.0), wrong=lambda number_of: lambda x: number_of({}) * x, right=0.0, right_name="0"
    ),
    TEXTS.recovery(
        "slope_above_zero", "above", measure=_slope(1.0), wrong=lambda number_of: lambda x: number_of({}) * x, right_name="x itself"
    ),
)


OF_SIGNS = r"def back\w*\(self, *(\w+)[^,()]*, *\w+[^,()]*\)[^:\n]*:(?:(?!\bdef )(?:.|\n))*\b\1 *[<>]=? *0"
"""Source of a class whose own gradient takes the input again, and only its signs: they are those of the output as well."""

WRITES = (Convention(reads=lambda ask: None), Convention(source=OF_SIGNS, may_write=True), Convention())
"""A layer that may write its output into its input, as the in-place activations of libraries do, or may not; the first, which needs no pattern, is none."""


def probes() -> tuple[Probe, ...]:
    """Single numbers, a row, a matrix, three axes."""
    return probes_of()


EXERCISE = Exercise(
    name="relu",
    definition=functions.relu,
    recipe=recipe,
    steps=STEPS,
    roles=(X,),
    probes=probes,
    mistakes=MISTAKES,
    conventions=(WRITES, RETURNS),
    recoveries=RECOVERIES,
)
