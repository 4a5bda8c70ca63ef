"""The ways to call a subject, by the kind of exercise."""

from __future__ import annotations

import inspect
from collections.abc import Callable

from headway.practice.diagnosis.block_calls import block_calls
from headway.practice.diagnosis.caches import cache_calls
from headway.practice.diagnosis.calling import Call, function_calls
from headway.practice.diagnosis.drawing import DrawnCall, LikeliestCall
from headway.practice.diagnosis.generate_calls import generate_calls
from headway.practice.diagnosis.instances import instance_calls
from headway.practice.diagnosis.layers import layer_calls
from headway.practice.diagnosis.mask_calls import mask_calls
from headway.practice.diagnosis.model_calls import model_calls
from headway.practice.diagnosis.optimizers import optimizer_calls
from headway.practice.diagnosis.subject import Subject
from headway.practice.diagnosis.tokenizer_calls import tokenizer_calls
from headway.practice.exercise import Exercise

ADAPTERS: dict[str, Callable[[Subject, Exercise, str], list[Call]]] = {
    "block": block_calls,
    "cache": cache_calls,
    "generate": generate_calls,
    "layer": layer_calls,
    "mask": mask_calls,
    "model": model_calls,
    "optimizer": optimizer_calls,
    "tokenizer": tokenizer_calls,
}
"""Ways to call what is neither a function of the roles nor a class that holds their weights, by `Exercise.calls`."""

FUNCTIONS: dict[str | None, type[Call]] = {None: Call, "read": DrawnCall, "likeliest": LikeliestCall}
"""Class of the calls of a function, by `Exercise.drawing`."""


def calls_of(subject: Subject, exercise: Exercise, library: str) -> list[Call]:
    """Return the ways to call a subject: one for a function, one per assignment of weights for a class."""
    if exercise.calls is not None:
        return ADAPTERS[exercise.calls](subject, exercise, library)
    if inspect.isclass(subject.value):
        return instance_calls(subject, exercise, library)
    return function_calls(subject, exercise, library, FUNCTIONS[exercise.drawing])
