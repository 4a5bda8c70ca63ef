"""Default values that no program means: an eps of 1, betas in opposite order. The probes pass values of their own for most of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from headway.practice.diagnosis.adapters.optimizer_settings import OF_MOMENTUM, SETTINGS
from headway.practice.diagnosis.calls.binding import fits_name
from headway.practice.diagnosis.reading.subject import Subject
from headway.practice.exercise import Exercise, Role
from headway.practice.message import EMPTY
from headway.practice.texts import Texts
from headway.practice.verdict import Cause

TEXTS = Texts("diagnosis")

OF_NORMS = (Role("eps", ("epsilon", "norm_eps", "layer_norm_eps", "rms_norm_eps", "layer_norm_epsilon")),)
CHECKED: Mapping[str, tuple[Role, ...]] = {
    **dict.fromkeys(("layer_norm", "rms_norm"), OF_NORMS),
    **dict.fromkeys(("adam", "adam_step", "adam_optimizer", "adamw"), SETTINGS),
    "sgd_optimizer": OF_MOMENTUM,
}
"""Settings whose defaults are looked at, by exercise."""

SENSIBLE: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "eps": (lambda value: 0 <= value <= 1e-2, "0 ≤ eps ≤ 0.01"),
    "learning_rate": (lambda value: 0 < value <= 1, "0 < learning rate ≤ 1"),
    "weight_decay": (lambda value: 0 <= value < 1, "0 ≤ weight decay < 1"),
    "momentum": (lambda value: 0 <= value < 1, "0 ≤ momentum < 1"),
    "dampening": (lambda value: 0 <= value <= 1, "0 ≤ dampening ≤ 1"),
    "beta1": (lambda value: 0 <= value < 1, "0 ≤ beta1 < 1"),
    "beta2": (lambda value: 0.5 <= value < 1, "0.5 ≤ beta2 < 1"),
    "betas": (lambda value: 0 <= value[0] <= value[1] < 1, "0 ≤ beta1 ≤ beta2 < 1"),
}
"""Conditions that a default value must meet, and how to write them."""


def default_cause(subject: Subject, exercise: Exercise) -> Cause | None:
    """Return the cause for the first default value that no program means; None if there is none."""
    found = {role.name: (name, value) for role, name, value in _settings(subject, exercise)}
    if "beta1" in found and "beta2" in found:
        name = f"{found['beta1'][0]}, {found['beta2'][0]}"
        found["betas"] = (name, (found["beta1"][1], found["beta2"][1]))
    for role, (name, value) in found.items():
        is_sensible, condition = SENSIBLE[role]
        try:
            is_wrong = not is_sensible(value)
        except (TypeError, IndexError):  # another kind of setting under this name
            continue
        if is_wrong:
            says = TEXTS["default_value"].format(name=name, value=value)
            fix = TEXTS["default_condition"].format(condition=condition)
            return Cause("default_value", says, fix, EMPTY, line=subject.line_of(rf"\b{name.partition(',')[0]}\b.*="))
    return None


def _settings(subject: Subject, exercise: Exercise) -> Iterator[tuple[Role, str, Any]]:
    for parameter in subject.parameters:
        role = next((role for role in CHECKED.get(exercise.name, ()) if fits_name(parameter.name, role)), None)
        is_number = isinstance(parameter.default, int | float | tuple | list) and not isinstance(parameter.default, bool)
        if role is not None and is_number:
            yield role, parameter.name, parameter.default
