"""Calls of a linear regression as a class that is fitted to features and targets and then predicts; the output is its weights, and its intercept if it has one."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy

from headway.practice.diagnosis.calls.binding import Binding, bind_parameters
from headway.practice.diagnosis.calls.calling import Call
from headway.practice.diagnosis.calls.compare import as_numbers
from headway.practice.diagnosis.reading.subject import Subject, parameters_of
from headway.practice.exercise import Exercise, Role

FIT, PREDICT = "fit", "predict"
"""Names of the methods of an estimator, as in scikit-learn."""

OPERANDS, SETTINGS = ("features", "targets"), ("learning_rate", "num_steps")

VARIED = r"(?i)random|batch|\btol|early|patience|norm|std|scale|lambda|regulari|penalty|decay|ridge|lasso|momentum"
"""Pattern of the source of a regression that may differ from plain descent on purpose: a start, a stop, features or a penalty of its own."""

INTERCEPT = r"(?i)bias|intercept|self\._?b(_|0)?\b|\bones\(|\bones_like\("
"""Pattern of the source of a regression with an intercept, which one that never learns it has, too."""


@dataclass
class RegressorCall(Call):
    """A class that is constructed, fitted and read by its predictions.

    made     parameter of the constructor → role
    fitted   parameter of the method that fits → role
    """

    made: Mapping[str, Role] = None  # type: ignore[assignment]
    fitted: Mapping[str, Role] = None  # type: ignore[assignment]

    @property
    def parameters(self) -> Sequence[inspect.Parameter]:
        """Return one parameter per role, independent of the learner's own."""
        return [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in self.binding.role_of]

    def fits(self, inputs: Any) -> bool:
        """Return True for features and targets, with the settings of a descent or without them."""
        return {*OPERANDS} <= {*inputs} <= {*self.binding.role_of}

    def invoke(self, arguments: Mapping[str, Any]) -> Any:
        """Fit an instance; its predictions for unit vectors and for zeros show what it learned."""
        given = {name: {own: arguments[role.name] for own, role in taken.items() if role.name in arguments} for name, taken in self._taken}
        instance = self.subject.value(**given["made"])
        getattr(instance, FIT)(**given["fitted"])
        features = arguments["features"]
        unit = numpy.ones(1) if features.ndim == 1 else numpy.eye(features.shape[1])
        twice = 2 * unit  # a column of 1 may be taken for that of the intercept
        predict = getattr(instance, PREDICT)
        rows, (intercept, *_) = (numpy.asarray(as_numbers(predict(each)), numpy.float64).reshape(-1) for each in (twice, 0 * twice))
        fits_intercept = intercept or re.search(INTERCEPT, self.subject.used_source)
        return numpy.append((rows - intercept) / 2, intercept) if fits_intercept else rows / 2

    @property
    def _taken(self) -> tuple[tuple[str, Mapping[str, Role]], ...]:
        return ("made", self.made), ("fitted", self.fitted)


def regressor_calls(subject: Subject, exercise: Exercise, library: str) -> list[Call]:
    """Return the call of a class that fits and predicts; none for another subject, and none if its methods take other operands."""
    if (
        library != "numpy"
        or not inspect.isclass(subject.value)
        or not all(callable(getattr(subject.value, each, None)) for each in (FIT, PREDICT))
    ):
        return []
    roles = {role.name: role for role in exercise.roles if role.name in (*OPERANDS, *SETTINGS)}
    settings = [roles[name] for name in SETTINGS]
    made = _bound([*subject.parameters], settings)
    fitted = _bound(parameters_of(getattr(subject.value, FIT), is_bound=True), [roles[name] for name in OPERANDS], settings)
    if made is None or fitted is None or not all(any(role.name == name for role in fitted.values()) for name in OPERANDS):
        return []
    is_plain = {*SETTINGS} <= {role.name for role in (*made.values(), *fitted.values())} and not re.search(VARIED, subject.own_source)
    return [RegressorCall(subject, Binding(roles), library, is_guessed=not is_plain, made=made, fitted=fitted)]


def _bound(parameters: Sequence[inspect.Parameter], roles: Sequence[Role], others: Sequence[Role] = ()) -> dict[str, Role] | None:
    """Return the roles of parameters; None if one that is required has none."""
    bound = bind_parameters(parameters, (*roles, *others), unnamed=roles if others else ())
    return None if bound is None else dict(bound.role_of)
