"""The gradient descent loop in steps, with its mistakes and return conventions; shared by several exercises."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from headway.practice.exercise import Convention, Inputs, Recovery, Step, optional
from headway.practice.recipes.encoding import first_of_tuple
from headway.practice.recipes.measuring import Ask, Measured
from headway.practice.texts import Texts

TEXTS = Texts("shared/descent")

Slope = Callable[[Any], Any]


def descend(steps: Any, start: Any, slope: Slope, learning_rate: float, num_steps: int) -> Any:
    """Run gradient descent in the steps begin, count, look, direction, rate, move, finish."""
    points: list[Any] = [steps.begin(numpy.asarray(start, numpy.float64))]
    used: list[Any] = []
    for step in range(steps.count(num_steps)):
        used.append(steps.direction(steps.look(slope, points, used)))
        points.append(steps.move(points[-1], used[-1], steps.rate(learning_rate, step), slope))
    return steps.finish(points, used, slope)


LOOP: dict[str, Step] = {
    "look": lambda slope, points, used: slope(points[-1]),
    "move": lambda point, gradient, rate, slope: point - rate * gradient,
    "finish": lambda points, used, slope: points[-1],
}


def _one_by_one(point: Any, gradient: Any, rate: float, slope: Slope) -> Any:
    """Update coordinates one by one, each with the gradient after the previous updates."""
    moved = point.copy()
    for place in numpy.ndindex(moved.shape):
        moved[place] -= rate * slope(moved)[place]
    return moved


MISTAKES = (
    TEXTS.mistake("ascent", move=lambda point, gradient, rate, slope: point + rate * gradient),
    TEXTS.mistake("gradient_of_the_start", look=lambda slope, points, used: slope(points[0])),
    TEXTS.mistake("gradients_accumulated", look=lambda slope, points, used: slope(points[-1]) + (used[-1] if used else 0)),
    TEXTS.mistake("one_step_too_few", count=lambda num_steps: num_steps - 1),
    TEXTS.mistake("one_step_too_many", count=lambda num_steps: num_steps + 1),
    TEXTS.mistake("returned_inside_the_loop", count=lambda num_steps: min(num_steps, 1)),
    TEXTS.mistake("never_moved", count=lambda num_steps: 0),
    TEXTS.mistake("point_forgotten", move=lambda point, gradient, rate, slope: -rate * gradient),
    TEXTS.mistake("start_ignored", begin=numpy.zeros_like),
    TEXTS.mistake("one_coordinate_after_another", move=_one_by_one),
    TEXTS.mistake("sign_of_gradient", direction=numpy.sign),
    TEXTS.mistake("gradient_of_length_one", direction=lambda gradient: gradient / numpy.linalg.norm(gradient)),
    TEXTS.mistake("learning_rate_decays", rate=lambda learning_rate, step: learning_rate / (step + 1)),
    TEXTS.mistake("gradient_returned", finish=lambda points, used, slope: slope(points[-1])),
    TEXTS.mistake(
        "last_gradient_returned", finish=lambda points, used, slope: used[-1] if used else slope(points[-1]), said_as="gradient_returned"
    ),
    TEXTS.mistake(
        "last_change_returned", finish=lambda points, used, slope: points[-1] - points[-2] if len(points) > 1 else 0 * points[-1]
    ),
)


def _at_the_end(points: Any) -> Any:
    """Return the last point twice, as a path of it alone is decoded; a path of one step has no other points."""
    return numpy.stack([points[-1]] * 2) if len(points) > MANY_STEPS else points[-1]


OF_PATH = TEXTS.mistake("path_of_one_array", finish=lambda points, used, slope: _at_the_end(points))
"""Mistake of a descent that returns its path after the point."""

MANY_STEPS = 2
"""Number of steps from which on the points of a path differ."""


def point_before_path(answer: Any, inputs: Inputs) -> Any:
    """Return the point of a tuple of it and more; the point twice if it is followed by a path in which every later point is the last."""
    point = first_of_tuple()(answer, inputs)
    if not (isinstance(answer, tuple) and len(answer) == 2 and answer[0] is point and isinstance(point, numpy.ndarray)):
        return point
    path, num_steps = answer[1], inputs["num_steps"]
    if not isinstance(path, numpy.ndarray | list | tuple) or len(path) not in (num_steps, num_steps + 1) or num_steps < MANY_STEPS:
        return point
    is_last = [isinstance(each, numpy.ndarray | numpy.generic) and numpy.array_equal(each, point) for each in path[-num_steps:]]
    return numpy.stack([point] * 2) if all(is_last) else point


def last_of_path(answer: Any, inputs: Inputs) -> Any:
    """Return the last point of a path."""
    return answer[-1] if isinstance(answer, numpy.ndarray) and answer.ndim and len(answer) == inputs["num_steps"] + 1 else answer


WHOLE_PATH = TEXTS["whole_path"]

RETURNS_RECORD = r"\b(?P<record>\w+) *= *\[[^\]\n]*\]\s[\s\S]*\b(?P=record)\.append\([\s\S]*\breturn +(?P=record)\s*(#.*)?\Z"
"""Source of a function that appends to a list and returns it."""


def last_of_record(answer: Any, inputs: Inputs) -> Any:
    """Return the last point of a record of any length, which may lack the start and end early."""
    return answer[-1] if isinstance(answer, numpy.ndarray | tuple) and len(answer) else answer


RETURNS: Sequence[Convention] = optional(
    Convention(TEXTS["more_than_point"], decode=point_before_path),
    Convention(WHOLE_PATH, decode=last_of_path),
    Convention(WHOLE_PATH, decode=last_of_record, source=RETURNS_RECORD),
)


def step_length(texts: Texts, measure: Callable[[Ask], Measured]) -> Recovery:
    """Return the recovery of the length of a step per learning_rate · gradient.

    texts   of the exercise
    """
    return texts.recovery(
        "step_length",
        "rate",
        measure=measure,
        wrong=lambda number_of: lambda learning_rate, step: number_of({"learning_rate": learning_rate}) * learning_rate,
        sizes=lambda inputs: {"learning_rate": float(inputs["learning_rate"])},
    )
