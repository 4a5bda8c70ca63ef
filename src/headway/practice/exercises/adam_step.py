"""adam_step: one step of Adam."""

from __future__ import annotations

from typing import Any

import numpy

from headway import functions
from headway.practice.exercise import QUIET, Convention, Exercise, Inputs, Probe, Recovery, optional, unchanged
from headway.practice.outputs import Raised
from headway.practice.recipes import adam
from headway.practice.recipes.adam import update
from headway.practice.recipes.encoding import changed, without
from headway.practice.roles import Roles
from headway.practice.texts import Texts

TEXTS = Texts("adam_step")
ROLES = Roles("adam_step", "adam_options")


def recipe(steps: Any, point: Any, gradient: Any, mean: Any, square: Any, step: int, **given: Any) -> Any:
    """The definition in the steps of recipes.adam, and: answer."""
    return steps.answer(*update(steps, point, gradient, (mean, square), step, adam.Settings(**given)))


def definition(point: Any, gradient: Any, mean: Any, square: Any, step: int, **given: Any) -> Any:
    """Call headway.functions' adam_step with the moments as a pair."""
    return functions.adam_step(point, gradient, (mean, square), step=step, **adam.Settings(**given).options)


STEPS = {**adam.STEP, "answer": lambda point, mean, square: (point, mean, square)}


def _point_of(answer: Any) -> Any:
    return answer[0] if isinstance(answer, tuple) else answer


def _first_change(ask: Any, gradient: float, rate: float = 0.1, **more: Any) -> float | None:
    """Return the change of the point in the first step for one gradient."""
    zeros = numpy.zeros(1)
    inputs = {"point": zeros, "gradient": numpy.array([gradient]), "mean": zeros, "square": zeros, "step": 1, "learning_rate": rate}
    point = _point_of(ask(inputs | more))
    return None if isinstance(point, Raised) or numpy.size(point) != 1 else float(numpy.asarray(point, numpy.float64).reshape(-1)[0])


def _rate(ask: Any) -> list[tuple[Inputs, float]]:
    """Measure the factor on the learning rate: the first step has its length for any gradient."""
    measured = []
    for rate in (0.07, 0.03):
        far, farther = _first_change(ask, 10.0, rate), _first_change(ask, 1000.0, rate)
        if (
            far is None
            or farther is None
            or abs(far - farther) > 1e-4 * abs(far)
            or min(abs(-far / rate - each) for each in (-1, 0, 0.1, 1000**0.5, 10**0.5)) < 1e-2
        ):
            return []
        measured.append(({"learning_rate": rate}, -far / rate))
    return measured


def _eps(ask: Any) -> list[tuple[Inputs, float]]:
    """Measure eps: the first step for a tiny gradient g is rate · g / (g + eps)."""
    measured = []
    for given in ({"eps": 0.5}, {"eps": 0.02}):
        steps = [_first_change(ask, size, **given) for size in (0.3, 0.05)]
        if any(step is None or not step for step in steps):
            return []
        found = [size * (-0.1 / float(step or 1) - 1) for size, step in zip((0.3, 0.05), steps, strict=True)]
        if abs(found[0] - found[1]) > 1e-3 * max(abs(found[0]), 1e-6) or found[0] < 1e-6:
            return []
        measured.append((dict(given), found[0]))
    return measured


def _beta(which: int) -> Any:
    """Return a function that measures the decay of a moment on the returned moment."""

    def measure(ask: Any) -> list[tuple[Inputs, float]]:
        measured = []
        for beta1, beta2 in ((0.8, 0.95), (0.6, 0.9)):
            one = numpy.ones(1)
            inputs = {
                "point": one,
                "gradient": 3 * one,
                "mean": one,
                "square": one,
                "step": 4,
                "learning_rate": 0.1,
                "beta1": beta1,
                "beta2": beta2,
            }
            answer = ask(inputs)
            if not isinstance(answer, tuple) or len(answer) != 3:
                return []
            taken = (float(answer[which][0]) - 1) / (3.0 - 1 if which == 1 else 9.0 - 1)
            measured.append(({"beta1": beta1, "beta2": beta2}, 1 - taken))
        numbers = [number for _, number in measured]
        wrong = [{1 - 0.8, 0.95}, {1 - 0.6, 0.9}] if which == 1 else [{1 - 0.95, 0.8}, {1 - 0.9, 0.6}]
        is_named = all(any(abs(number - each) < 1e-4 for each in known) for number, known in zip(numbers, wrong, strict=True))
        return [] if is_named else measured

    return measure


def _beta_recovery(which: int) -> Recovery:
    name = f"beta{which}"
    step = "mean" if which == 1 else "square"

    def wrong(number_of: Any) -> Any:
        def averaged(moment: Any, gradient: Any, betas: Any) -> Any:
            beta = number_of({"beta1": betas[0], "beta2": betas[1]})
            return beta * moment + (1 - beta) * (gradient if which == 1 else gradient * gradient)

        return averaged

    return TEXTS.recovery(
        name,
        step,
        measure=_beta(which),
        wrong=wrong,
        sizes=lambda inputs: {each: inputs[each] for each in ("beta1", "beta2")},
        right=lambda inputs: inputs[name],
        right_name=name,
        pattern=rf"{name}|b{which}|0\.9",
    )


RECOVERIES = (
    TEXTS.recovery(
        "step_length",
        "rate",
        measure=_rate,
        wrong=lambda number_of: lambda rate: number_of({"learning_rate": rate}) * rate,
        sizes=lambda inputs: {"learning_rate": float(inputs["learning_rate"])},
    ),
    TEXTS.recovery(
        "eps",
        "eps",
        measure=_eps,
        wrong=lambda number_of: lambda eps: number_of({"eps": eps}),
        sizes=lambda inputs: {"eps": float(inputs["eps"])},
        right=lambda inputs: float(inputs["eps"]),
        right_name="eps",
    ),
    _beta_recovery(1),
    _beta_recovery(2),
)

ARRAYS = TEXTS["arrays"]


def probes() -> tuple[Probe, ...]:
    """The first step and later ones; large, tiny and zero gradients; all options given, and none."""
    random = numpy.random.default_rng(16)

    def numbers(shape: tuple[int, ...], size: float = 1.0) -> Any:
        return numpy.asarray(random.standard_normal(shape) * size)

    def drawn(step: int, *shape: int, size: float = 1.0, **more: Any) -> Inputs:
        zeros = numpy.zeros(shape)
        later = {"mean": numbers(shape, size), "square": numpy.asarray((random.random(shape) + 0.1) * size * size)}
        moments = {"mean": zeros, "square": zeros} if step == 1 else later
        return {"point": numbers(shape), "gradient": numbers(shape, size), **moments, "step": step, "learning_rate": 0.1, **more}

    given = {"beta1": 0.8, "beta2": 0.95, "eps": 1e-3}
    return (
        Probe("first step", drawn(1, 3), ARRAYS),
        Probe("third step", drawn(3, 3), ARRAYS),
        Probe("hundredth step", drawn(100, 2, 3), ARRAYS),
        Probe("tiny gradients", drawn(1, 3, size=1e-8), ARRAYS),
        Probe("tiny gradients later", drawn(4, 3, size=1e-7), ARRAYS),
        Probe("a gradient of zero", drawn(1, 2) | {"gradient": numpy.array([0.0, 2.0])}, ARRAYS),
        Probe("first step of a number", drawn(1), QUIET),
        Probe("third step of a number", drawn(3), QUIET),
        Probe("a tiny gradient of a number", drawn(1, size=1e-8), QUIET),
        Probe("twentieth step of a number", drawn(20), QUIET),
        Probe("betas and eps given, first step", drawn(1, 3, **given), ARRAYS),
        Probe("betas and eps given", drawn(5, 3, **given), ARRAYS),
        Probe("betas and eps given, a number", drawn(5, **given), QUIET),
        Probe("no learning rate given", without(drawn(2, 3), "learning_rate"), ARRAYS),
    )


def _pair(inputs: Inputs) -> Inputs:
    """Return the inputs with both betas in one argument."""
    if "beta1" not in inputs:
        return inputs
    return without(inputs, "beta1", "beta2") | {"betas": (inputs["beta1"], inputs["beta2"])}


def _in_order(*places: int) -> Any:
    """Return a decoding of a tuple with another order, or with more elements, to point, mean, square."""
    return lambda answer, inputs: (
        tuple(answer[place] for place in places) if isinstance(answer, tuple) and len(answer) > max(places) else answer
    )


IN_PLACE = r"(\.(lerp|mul|copy)_\(| *\*=|\[(:|\.\.\.)\] *=)"
CHANGES_BOTH = rf"(?s)(?<![\w.])(\w+){IN_PLACE}.*(?<![\w.])(?!\1\b)\w+{IN_PLACE}"
"""Pattern of the source of a function that changes two arrays in place: its caller finds the moments there."""


EXERCISE = Exercise(
    name="adam_step",
    definition=definition,
    recipe=recipe,
    steps=STEPS,
    roles=(
        ROLES("point", may_change=True),
        ROLES("gradient"),
        ROLES("mean", may_change=True),
        ROLES("square", may_change=True),
        ROLES("step"),
        ROLES("learning_rate", neutral=adam.RATE),
        ROLES("beta1", neutral=adam.BETA1),
        ROLES("beta2", neutral=adam.BETA2),
        ROLES("eps", neutral=adam.EPS),
        ROLES("betas", neutral=(adam.BETA1, adam.BETA2)),
    ),
    probes=probes,
    mistakes=adam.MISTAKES,
    conventions=(
        optional(Convention(encode=_pair, role="betas")),
        optional(Convention(TEXTS["step_from_zero"], changed(step=lambda step: step - 1), role="step")),
        optional(Convention(adam.EPS_HAT_WORDS, steps=adam.EPS_HAT)),
        optional(
            Convention(
                TEXTS["point_alone"],
                decode=lambda answer, inputs: answer[0] if isinstance(answer, tuple) and len(answer) == 1 else answer,
                steps={"answer": unchanged},
            ),
            Convention(
                TEXTS["direction_alone"],
                lambda inputs: without(inputs, "point", "learning_rate"),
                lambda answer, inputs: inputs["point"] - inputs.get("learning_rate", adam.RATE) * answer,
                steps={"answer": unchanged},
                without="point",
                source=CHANGES_BOTH,
            ),
            Convention(TEXTS["moments_first"], decode=_in_order(2, 0, 1)),
            Convention(TEXTS["more_than_moments"], decode=_in_order(0, 1, 2)),
        ),
    ),
    recoveries=RECOVERIES,
    related=("adam",),
    is_trained_through=False,
)
