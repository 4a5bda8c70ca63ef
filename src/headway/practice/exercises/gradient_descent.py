"""gradient_descent: point ← point - learning_rate · gradient(point), repeated num_steps times."""

from __future__ import annotations

from typing import Any

import numpy

from headway import functions
from headway.practice.exercise import QUIET, Convention, Exercise, Inputs, Probe, optional
from headway.practice.outputs import Raised
from headway.practice.recipes.descent import LOOP, MISTAKES, OF_PATH, RETURNS, descend, step_length
from headway.practice.recipes.encoding import without
from headway.practice.recipes.measuring import Ask, Measured, constant, measured
from headway.practice.roles import Roles
from headway.practice.texts import Texts

TEXTS = Texts("gradient_descent")
ROLES = Roles("gradient_descent", "descent")


def gradient_of_squares(x: Any) -> Any:
    """Return the gradient of the sum of squares, for arrays of any library and for lists."""
    return [2 * each for each in x] if isinstance(x, list | tuple) else 2 * x


def sum_of_squares(x: Any) -> Any:
    """Return the sum of squares."""
    return sum(each * each for each in x) if isinstance(x, list | tuple) else (x * x).sum() if getattr(x, "ndim", 0) else x * x


def coupled_gradient(x: Any) -> Any:
    """Return the gradient of a quadratic function whose coordinates are coupled."""
    if isinstance(x, list | tuple):
        return [0.6 * each + 0.3 * sum(x) - 1.0 for each in x]
    return 0.6 * x + 0.3 * x.sum() - 1.0 if getattr(x, "ndim", 0) else 0.9 * x - 1.0


def linear_function(x: Any) -> Any:
    """Return a linear function, whose slope finite differences give exactly."""
    return 0.75 * (sum(x) if isinstance(x, list | tuple) else x.sum() if getattr(x, "ndim", 0) else x)


def recipe(
    steps: Any, start: Any, learning_rate: float, num_steps: int, gradient: Any = None, function: Any = None, tolerance: float = 0.0
) -> Any:
    """The definition in the steps of the loop, and: own, the gradient if none is given."""
    slope = (lambda x: 0.75 + 0 * x) if function is linear_function else steps.own if gradient is None else gradient
    return descend(steps, start, slope, learning_rate, num_steps)


def definition(start: Any, learning_rate: float, num_steps: int, gradient: Any = None, function: Any = None) -> Any:
    """Run headway.functions' gradient descent with tolerance 0, so that it takes all steps."""
    slope = (lambda x: 0.75 + 0 * x) if function is linear_function else gradient or gradient_of_squares
    return functions.gradient_descent(slope, start, learning_rate=learning_rate, tolerance=0.0, max_steps=num_steps).point


STEPS = {**LOOP, "own": gradient_of_squares}


def _first_step(ask: Ask) -> Measured:
    """Measure the length of the first step per learning_rate · gradient; factors with a named mistake are left out."""
    examples = [
        {"start": numpy.array(values), "learning_rate": rate, "num_steps": 1, "gradient": coupled_gradient}
        for rate, values in ((0.1, (1.0, -2.0, 0.5)), (0.03, (3.0, 1.0, -1.0)))
    ]

    def number(inputs: Inputs, answer: Any) -> float | None:
        step = inputs["learning_rate"] * coupled_gradient(inputs["start"])
        return constant((inputs["start"] - answer) / step, 0, -1) if numpy.shape(answer) == (3,) else None

    return measured(ask, examples, number)


RECOVERIES = (step_length(TEXTS, _first_step),)


def _own_gradient(ask: Any) -> Convention | None:
    """Return the parabola that a function without a gradient argument minimizes, measured on single steps from two points."""
    slopes = []
    for value in (1.0, 3.0):
        for rate in (0.5, 0.25):
            answer = ask({"start": numpy.array(value), "learning_rate": rate, "num_steps": 1})
            if isinstance(answer, Raised) or numpy.size(answer) != 1:
                return None
            slopes.append((value - float(numpy.asarray(answer).reshape(()))) / rate)
    if abs(slopes[0] - slopes[1]) > 1e-4 or abs(slopes[2] - slopes[3]) > 1e-4:
        return None
    steepness = (slopes[2] - slopes[0]) / 2
    offset = slopes[0] - steepness
    if steepness < 1e-3 or (abs(steepness - 2) < 1e-4 and abs(offset) < 1e-4):
        return None
    steepness, offset = float(f"{steepness:.5g}"), round(offset, 4)
    says = TEXTS["own_gradient"].format(a=steepness, b=offset)
    return Convention(says, steps={"own": lambda x: steepness * x + offset})


QUADRATIC = {"a": 1.5, "b": -0.75, "c": 2.0}
"""Coefficients of the quadratic function a · x² + b · x + c that is minimized in place of x²."""


def _of_quadratic(inputs: Inputs) -> Inputs | None:
    """Return the inputs with the coefficients of a quadratic function; None with another function or its gradient."""
    return None if inputs.keys() & {"gradient", "function"} else inputs | QUADRATIC


def _value_and_gradient(inputs: Inputs) -> Inputs:
    """Return the inputs with a function that returns its value and its gradient."""
    slope = (lambda x: 0.75 + 0 * x) if inputs.get("function") is linear_function else inputs.get("gradient", gradient_of_squares)
    return without(inputs, "gradient") | {"function": lambda x: (1.0, slope(x))}


WITH_GRADIENT = r"(?m)^ *\w+, *\w*(grad|slope|d[fx])\w* *= *(\w+)\("
"""Pattern of the source of a function that is given one which returns its value and its gradient."""

POINTS = TEXTS["points"]


def probes() -> tuple[Probe, ...]:
    """With a gradient, with only a function, and with neither; one step and several; a number and a vector."""
    vector, number = numpy.array([1.0371934, -2.1184621, 0.5128873]), numpy.array(3.1415927)

    def run(start: Any, rate: float, num_steps: int, **more: Any) -> Inputs:
        return {"start": start, "learning_rate": rate, "num_steps": num_steps} | more

    return (
        Probe("one step", run(number, 0.1, 1), QUIET),
        Probe("two steps", run(number, 0.15, 2), QUIET),
        Probe("five steps", run(numpy.array(-4.3287719), 0.15, 5), QUIET),
        Probe("four steps", run(numpy.array(1.7320508), 0.08, 4), QUIET),
        Probe("three steps", run(numpy.array(0.9172335), 0.12, 3), QUIET),
        Probe("six steps", run(numpy.array(2.2360679), 0.05, 6), QUIET),
        Probe("three steps of a vector", run(vector, 0.1, 3), POINTS),
        Probe("one step with a gradient", run(vector, 0.1, 1, gradient=coupled_gradient), POINTS),
        Probe("three steps with a gradient", run(vector, 0.2, 3, gradient=coupled_gradient), POINTS),
        Probe("six steps of two numbers", run(numpy.array([2.0113579, 0.7071067]), 0.07, 6, gradient=coupled_gradient), POINTS),
        Probe("a number with a gradient", run(number, 0.3, 3, gradient=coupled_gradient), QUIET),
        Probe("two steps with a gradient", run(number, 0.3, 2, gradient=coupled_gradient), QUIET),
        Probe("a function", run(vector, 0.1, 3, function=linear_function), POINTS),
        Probe("a function of a number", run(number, 0.2, 2, function=linear_function), QUIET),
    )


EXERCISE = Exercise(
    name="gradient_descent",
    definition=definition,
    recipe=recipe,
    steps=STEPS,
    roles=(
        ROLES("gradient", neutral=lambda inputs: gradient_of_squares),
        ROLES("function", neutral=lambda inputs: sum_of_squares),
        ROLES("start", may_change=True),
        *ROLES.each("learning_rate", "num_steps"),
        ROLES("tolerance", neutral=0.0),
        *ROLES.each(*QUADRATIC),
    ),
    probes=probes,
    mistakes=(*MISTAKES, OF_PATH),
    conventions=(
        optional(
            Convention(
                TEXTS["given_quadratic"],
                _of_quadratic,
                steps={"own": lambda x: 2 * QUADRATIC["a"] * x + QUADRATIC["b"]},
                role="c",
                named="c",
            ),
            Convention(reads=_own_gradient),
            Convention(TEXTS["function_returns_gradient"], _value_and_gradient, role="function", source=WITH_GRADIENT),
        ),
        tuple(RETURNS),
    ),
    recoveries=RECOVERIES,
    related=("linear_regression",),
    is_trained_through=False,
)
