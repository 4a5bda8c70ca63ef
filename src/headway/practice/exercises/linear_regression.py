"""linear_regression: gradient descent on the mean squared error of features @ weights."""

from __future__ import annotations

from typing import Any

import numpy

from headway import functions
from headway.arrays import array_namespace
from headway.practice.exercise import Convention, Exercise, Inputs, Probe, optional
from headway.practice.recipes.descent import LOOP, MISTAKES, RETURNS, RETURNS_RECORD, WHOLE_PATH, descend, last_of_record, step_length
from headway.practice.recipes.encoding import without
from headway.practice.recipes.measuring import Ask, Measured, constant, measured
from headway.practice.roles import Roles
from headway.practice.texts import Texts

TEXTS = Texts("linear_regression")
ROLES = Roles("linear_regression", "descent")


def recipe(
    steps: Any, features: Any, targets: Any, learning_rate: float, num_steps: int, start: Any = None, start_bias: float | None = None
) -> Any:
    """The definition in the steps of the loop, and: intercept, residual, average, slope, solved, order.

    An intercept is the last element of the output.
    """
    width = features.shape[1]
    point = numpy.zeros(width) if start is None else start
    if start_bias is not None or steps.intercept():
        features = numpy.concatenate([features, numpy.ones((len(features), 1))], 1)
        point = numpy.append(point, 0.0 if start_bias is None else start_bias)

    def slope(theta: Any) -> Any:
        residual = steps.residual(features, theta, targets)
        return steps.slope(features, residual, width) * steps.average(features, width)

    return steps.order(steps.solved(descend(steps, point, slope, learning_rate, num_steps), features, targets), width)


def definition(
    features: Any, targets: Any, learning_rate: float, num_steps: int, start: Any = None, start_bias: float | None = None
) -> Any:
    """Run headway.functions' gradient descent on half the mean squared error."""
    start = 0.0 * features[0] if start is None else start
    if start_bias is not None:
        xp = array_namespace(features)
        features = xp.concat([features, xp.ones_like(features[:, :1])], axis=1)
        start = xp.concat([start, start_bias * xp.ones_like(start[:1])], axis=0)
    return functions.gradient_descent(
        lambda theta: features.T @ (features @ theta - targets) / len(features),
        start,
        learning_rate=learning_rate,
        tolerance=0.0,
        max_steps=num_steps,
    ).point


STEPS = {
    **LOOP,
    "intercept": lambda: False,
    "residual": lambda features, theta, targets: features @ theta - targets,
    "slope": lambda features, residual, width: features.T @ residual,
    "average": lambda features, width: 1 / len(features),
}


def _without_bias(features: Any, residual: Any, width: int) -> Any:
    slope = features.T @ residual
    return numpy.concatenate([slope[:width], 0 * slope[width:]])


def _weights_first(point: Any, gradient: Any, rate: float, slope: Any) -> Any:
    """Update the weights, then the intercept with the residuals of the new weights."""
    moved = point - rate * gradient
    if len(point) < 2:
        return moved
    moved[-1] = point[-1]
    moved[-1] -= rate * slope(moved)[-1]
    return moved


def _exchanged(point: Any, width: int) -> Any:
    """Return an intercept as the first weight, and the last weight as the intercept."""
    return numpy.roll(point, 1) if numpy.ndim(point) == 1 and len(point) > width else point


OWN = (
    TEXTS.mistake("not_averaged", average=lambda features, width: 1.0),
    TEXTS.mistake("averaged_over_features", average=lambda features, width: 1 / width),
    TEXTS.mistake("bias_not_updated", slope=_without_bias),
    TEXTS.mistake("bias_after_weights", move=_weights_first),
    TEXTS.mistake("intercept_among_weights", order=_exchanged),
    TEXTS.mistake("features_not_in_gradient", slope=lambda features, residual, width: numpy.full(features.shape[1], residual.sum())),
    TEXTS.mistake("targets_not_used", residual=lambda features, theta, targets: features @ theta),
    TEXTS.mistake("weights_not_used", residual=lambda features, theta, targets: -targets),
    TEXTS.mistake("absolute_error", residual=lambda features, theta, targets: numpy.sign(features @ theta - targets)),
    TEXTS.mistake(
        "first_row_alone",
        residual=lambda features, theta, targets: (features @ theta - targets) * (numpy.arange(len(features)) == 0),
        average=lambda features, width: 1.0,
    ),
)


def _drawn(random: Any, rows: int, width: int, num_steps: int, rate: float = 0.05, **more: Any) -> Inputs:
    features = random.standard_normal((rows, width)) + 0.7
    targets = features @ (numpy.arange(width) + 1.0) + 1.5 + 0.1 * random.standard_normal(rows)
    return {"features": features, "targets": targets, "learning_rate": rate, "num_steps": num_steps} | more


def _scale(ask: Ask) -> Measured:
    """Measure the length of the first step relative to the correct one; factors with a named mistake are left out."""
    random = numpy.random.default_rng(5)

    def number(inputs: Inputs, answer: Any) -> float | None:
        (rows, width), right = inputs["features"].shape, definition(**inputs)
        return constant(answer / right, 0, -1, 2, rows, rows / width) if numpy.shape(answer) == right.shape else None

    examples = [_drawn(random, rows, width, 1, start=numpy.zeros(width)) for rows, width in ((5, 2), (7, 3))]
    return measured(ask, examples, number)


RECOVERIES = (step_length(TEXTS, _scale),)

MANY = TEXTS["many"]


def probes() -> tuple[Probe, ...]:
    """Several numbers of rows, one step and several, one feature; with a start and an intercept for functions that take them."""
    random = numpy.random.default_rng(15)
    return (
        Probe("one step", _drawn(random, 5, 2, 1), MANY),
        Probe("four steps", _drawn(random, 5, 2, 4), MANY),
        Probe("more rows", _drawn(random, 8, 3, 3), MANY),
        Probe("one feature", _drawn(random, 6, 1, 2)),
        Probe("one feature, more rows", _drawn(random, 9, 1, 5)),
        Probe("given start", _drawn(random, 5, 2, 3, start=numpy.array([0.5, -1.0])), MANY),
        Probe("given start, one feature", _drawn(random, 5, 1, 3, start=numpy.array([0.5]))),
        Probe("intercept", _drawn(random, 5, 2, 3, start=numpy.array([0.5, -1.0]), start_bias=0.3), MANY),
        Probe("intercept, more rows", _drawn(random, 8, 3, 2, start=numpy.array([0.5, -1.0, 0.2]), start_bias=-0.4), MANY),
        Probe("intercept, one feature", _drawn(random, 5, 1, 3, start=numpy.array([0.5]), start_bias=0.3)),
        Probe("given start, more rows", _drawn(random, 8, 3, 2, start=numpy.array([0.4, 0.9, -0.6])), MANY),
    )


def _column(inputs: Inputs) -> Inputs:
    start = {"start": inputs["start"][:, None]} if "start" in inputs else {}
    return inputs | {"targets": inputs["targets"][:, None]} | start


def _numbers(inputs: Inputs) -> Inputs | None:
    """Return the features as one number per row if there is one feature."""
    if inputs["features"].shape[1] > 1:
        return None
    start = {"start": float(inputs["start"][0])} if "start" in inputs else {}
    return inputs | {"features": inputs["features"][:, 0].copy()} | start


def _flat(answer: Any) -> Any:
    return answer.reshape(-1) if isinstance(answer, numpy.ndarray) and answer.ndim != 1 else answer


def _with_intercept(answer: Any, inputs: Inputs) -> Any:
    """Return weights and intercept as one array, the intercept last."""
    if isinstance(answer, tuple) and len(answer) >= 2 and all(isinstance(each, numpy.ndarray) for each in answer[:2]):
        return numpy.concatenate([answer[0].reshape(-1), answer[1].reshape(-1)])
    return answer


def _ends_with_number(answer: Any) -> bool:
    """Return True for an array and a number, as of `theta[:-1], theta[-1]`: the number is the intercept."""
    if not (isinstance(answer, tuple) and len(answer) > 1):
        return False
    return numpy.size(answer[0]) > 1 or numpy.ndim(answer[0]) > numpy.ndim(answer[1])


def _last_with_intercept(answer: Any, inputs: Inputs) -> Any:
    """Return the last weights and intercept of a record as one array, the intercept last."""
    return _flat(_with_intercept(last_of_record(answer, inputs), inputs))


def _last_intercept_first(answer: Any, inputs: Inputs) -> Any:
    return _flat(_intercept_first(last_of_record(answer, inputs), inputs))


def _intercept_first(answer: Any, inputs: Inputs) -> Any:
    is_last = _ends_with_number(answer)
    answer = _with_intercept(answer, inputs)
    return numpy.roll(answer, -1) if isinstance(answer, numpy.ndarray) and answer.ndim == 1 and not is_last else answer


RETURNS_NO_INTERCEPT = r"(?i)\A(?![\s\S]*\breturn\b[^\n]*, *([\w.]+\()?(self\.)?_?(b|bias|intercept)_?\b)"
"""A source that does not return an intercept after the weights: one that does has to fit it."""


def _flattened(convention: Convention) -> Convention:
    source = rf"{RETURNS_NO_INTERCEPT}[\s\S]*{convention.source}" if convention.source else RETURNS_NO_INTERCEPT
    return Convention(convention.name, decode=lambda answer, inputs: _flat(convention.decode(answer, inputs)), source=source)


INTERCEPT = {"intercept": lambda: True}


def _no_start(inputs: Inputs) -> Inputs | None:
    """Return None for a start without a start of the intercept, which a function that fits an intercept cannot use."""
    return None if "start" in inputs and "start_bias" not in inputs else inputs


def _without_descent(inputs: Inputs) -> Inputs | None:
    """Return the features and targets alone; None for a given start, which an exact solution does not have."""
    return None if "start" in inputs else without(inputs, "learning_rate", "num_steps")


EXACT = Convention(
    TEXTS["solves_exactly"],
    _without_descent,
    source=r"\bpinv\(|\binv\(|\blstsq\(|\bsolve\(",
    steps={"solved": lambda point, features, targets: numpy.linalg.lstsq(features, targets, rcond=None)[0]},
)
"""A regression that computes the weights which descent approaches, with the normal equation."""

EXERCISE = Exercise(
    name="linear_regression",
    definition=definition,
    recipe=recipe,
    steps=STEPS,
    roles=(
        *ROLES.each("features", "targets"),
        ROLES("start", may_change=True),
        *ROLES.each("start_bias", "learning_rate", "num_steps"),
    ),
    probes=probes,
    mistakes=(*MISTAKES, *OWN),
    conventions=(
        optional(EXACT),
        optional(Convention(TEXTS["factor_two"], steps={"average": lambda features, width: 2 / len(features)})),
        optional(Convention(encode=_column, role="targets"), Convention(encode=_numbers, role="features")),
        (
            *(_flattened(each) for each in RETURNS),
            Convention(
                TEXTS["also_fits_intercept"], _no_start, lambda answer, inputs: _flat(_with_intercept(answer, inputs)), steps=INTERCEPT
            ),
            Convention(TEXTS["fits_intercept"], _no_start, lambda answer, inputs: _flat(_intercept_first(answer, inputs)), steps=INTERCEPT),
            *(
                Convention(WHOLE_PATH, _no_start, decode, source=RETURNS_RECORD, steps=INTERCEPT)
                for decode in (_last_with_intercept, _last_intercept_first)
            ),
        ),
    ),
    recoveries=RECOVERIES,
    is_trained_through=False,
    class_calls="regressor",
)
