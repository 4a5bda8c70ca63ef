"""adam: several steps of Adam from a start."""

from __future__ import annotations

from typing import Any

import numpy

from headway import functions
from headway.practice.exercise import QUIET, Convention, Exercise, Inputs, Probe, optional
from headway.practice.exercises.gradient_descent import coupled_gradient, gradient_of_squares, sum_of_squares
from headway.practice.recipes import adam as step
from headway.practice.recipes.adam import BETA1, BETA2, EPS, EPS_HAT, EPS_HAT_WORDS, RATE, STEP, update
from headway.practice.recipes.descent import RETURNS
from headway.practice.roles import Roles
from headway.practice.texts import Texts

TEXTS = Texts("adam")
ROLES = Roles("adam", "adam_options", "descent")


def recipe(steps: Any, start: Any, num_steps: int, gradient: Any, function: Any = None, **given: Any) -> Any:
    """The definition in the steps of recipes.adam, and: num, look, moments."""
    settings = step.Settings(**given)
    point = numpy.asarray(start, numpy.float64)
    moments = zeros = (0 * point, 0 * point)
    for count in range(1, steps.num(num_steps) + 1):
        slope = steps.look(gradient, point, start)
        point, mean, square = update(steps, point, slope, steps.moments(moments, zeros), count, settings)
        moments = (mean, square)
    return point


def definition(start: Any, num_steps: int, gradient: Any, function: Any = None, **given: Any) -> Any:
    """Take num_steps of headway.functions' Adam steps."""
    options = step.Settings(**given).options
    point, moments = start, None
    for count in range(1, num_steps + 1):
        point, mean, square = functions.adam_step(point, gradient(point), moments, step=count, **options)
        moments = (mean, square)
    return point


STEPS = {
    **STEP,
    "look": lambda gradient, point, start: gradient(point),
}


MISTAKES = (
    *step.MISTAKES,
    TEXTS.mistake("moments_begun_anew", moments=lambda moments, zeros: zeros),
    TEXTS.mistake("gradient_of_the_start", look=lambda gradient, point, start: gradient(start)),
    TEXTS.mistake("one_step_too_few", num=lambda num_steps: num_steps - 1),
    TEXTS.mistake("one_step_too_many", num=lambda num_steps: num_steps + 1),
    TEXTS.mistake("returned_inside_the_loop", num=lambda num_steps: min(num_steps, 1)),
)

POINTS = TEXTS["points"]


def probes() -> tuple[Probe, ...]:
    """One step and several, of a number and a vector; with given betas and eps."""
    vector, number = numpy.array([1.0371934, -2.1184621, 0.5128873]), numpy.array(3.1415927)

    def run(start: Any, num_steps: int, rate: float, **more: Any) -> Inputs:
        return {"start": start, "num_steps": num_steps, "gradient": coupled_gradient, "learning_rate": rate} | more

    given = {"beta1": 0.8, "beta2": 0.95, "eps": 1e-3}
    return (
        Probe("one step", run(vector, 1, 0.1), POINTS),
        Probe("two steps", run(vector, 2, 0.2), POINTS),
        Probe("seven steps", run(vector, 7, 0.3), POINTS),
        Probe(
            "zero gradient",
            run(numpy.array([0.5, 1.0]), 2, 0.1) | {"gradient": lambda x: [0.0 for _ in x] if isinstance(x, list) else 0 * x},
            POINTS,
        ),
        Probe(
            "tiny gradient",
            run(numpy.array([0.5, 1.0]), 3, 0.1)
            | {"gradient": lambda x: [1e-8 * (each + 3) for each in x] if isinstance(x, list) else 1e-8 * (x + 3)},
            POINTS,
        ),
        Probe("one step of a number", run(number, 1, 0.1), QUIET),
        Probe("five steps of a number", run(number, 5, 0.3), QUIET),
        Probe("betas and eps given", run(vector, 4, 0.2, **given), POINTS),
        Probe("betas and eps given, a number", run(number, 4, 0.2, **given), QUIET),
    )


EXERCISE = Exercise(
    name="adam",
    definition=definition,
    recipe=recipe,
    steps=STEPS,
    roles=(
        ROLES("function", neutral=lambda inputs: sum_of_squares),
        ROLES("gradient", neutral=lambda inputs: gradient_of_squares),
        ROLES("start", may_change=True),
        ROLES("learning_rate", neutral=RATE),
        ROLES("beta1", neutral=BETA1),
        ROLES("beta2", neutral=BETA2),
        ROLES("eps", neutral=EPS),
        ROLES("num_steps"),
    ),
    probes=probes,
    mistakes=MISTAKES,
    conventions=(optional(Convention(EPS_HAT_WORDS, steps=EPS_HAT)), tuple(RETURNS)),
    related=("adam_step",),
    is_trained_through=False,
)
