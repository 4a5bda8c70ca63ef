"""The ways to call a subject, by the kind of exercise."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Sequence
from importlib import import_module

from headway.practice.diagnosis.adapters.merger_calls import merger_calls
from headway.practice.diagnosis.calls.calling import Call, function_calls
from headway.practice.diagnosis.classes.given_model import with_model
from headway.practice.diagnosis.classes.global_operands import globals_calls
from headway.practice.diagnosis.classes.global_weights import with_global_weights
from headway.practice.diagnosis.classes.made_layers import as_layer
from headway.practice.diagnosis.classes.params import as_class
from headway.practice.diagnosis.classes.samplers import as_function
from headway.practice.diagnosis.classes.settings import with_options
from headway.practice.diagnosis.reading.subject import Subject
from headway.practice.exercise import Exercise

Adapter = Callable[[Subject, Exercise, str], Sequence[Call]]

MODULES = {
    "block": "block_calls",
    "cache": "caches",
    "clipping": "clipping_calls",
    "generate": "generate_calls",
    "layer": "layers",
    "mask": "mask_calls",
    "model": "model_calls",
    "optimizer": "optimizers",
    "regressor": "regressor_calls",
    "schedule": "schedule_calls",
    "stack": "stack_calls",
    "tokenizer": "tokenizer_calls",
    "trainer": "trainer_calls",
}
"""Module with the ways to call what is neither a function of the roles nor a class that holds their weights, by `Exercise.calls`."""


def adapter(kind: str | None) -> Adapter:
    """Return the function that finds the calls of a subject; for no kind, that of classes which hold the weights.

    Its module is imported here, because most checks need one of them at most.
    """
    name = f"adapters.{MODULES[kind]}" if kind else "classes.instance_calls"
    found: Adapter = getattr(import_module(f"headway.practice.diagnosis.{name}"), f"{kind or 'instance'}_calls")
    return found


LOSSES = ("cross_entropy", "next_token_loss")
"""Exercises whose logits may be those of a model that the function is given."""


def calls_of(subject: Subject, exercise: Exercise, library: str) -> Sequence[Call]:
    """Return the ways to call a subject: one for a function, one per assignment of weights for a class."""
    if exercise.name in LOSSES:
        given = with_model(subject, is_shifted=exercise.name == "next_token_loss")
        if given is None:
            return []
        subject = given
    if exercise.drawing == "read" and (sampler := as_function(subject)) is not None:
        return function_calls(sampler, exercise, library, class_of_calls(exercise.drawing))
    if exercise.calls is not None or inspect.isclass(subject.value):
        kinds = [*([exercise.class_calls] if exercise.class_calls else []), exercise.calls]
        calls = [call for kind in kinds for call in adapter(kind)(subject, exercise, library)]
        return [*calls, *_unrotated_calls(subject, exercise, library)]
    if exercise.name == "merge_pair" and (found := merger_calls(subject, library)):
        return found
    holder = None
    if any(role.is_weight for role in exercise.roles):
        holder = as_layer(subject, library) or as_class(subject, library, is_linear=exercise.name == "linear")
        holder = holder or with_global_weights(subject, exercise, library)
    if holder is not None:
        return adapter(None)(holder, exercise, library)
    if exercise.drawing is None and (found := globals_calls(subject, exercise, library)):
        return found
    return function_calls(with_options(subject, exercise.roles), exercise, library, class_of_calls(exercise.drawing))


def _unrotated_calls(subject: Subject, exercise: Exercise, library: str) -> Sequence[Call]:
    """Return the calls of an attention without its rotary positions and the norms of its queries and keys; none if it has neither."""
    if exercise.calls is not None or not any("query_weight" in fused for fused in exercise.fused):
        return []
    from headway.practice.diagnosis.classes.unrotated import SOURCE

    if not re.search(SOURCE, subject.own_source, re.IGNORECASE | re.MULTILINE):
        return []
    from headway.practice.diagnosis.classes.instance_calls import instance_calls

    return [call for call in instance_calls(subject, exercise, library, is_unrotated=True) if call.has_weights]


def class_of_calls(drawing: str | None) -> type[Call]:
    """Return the class of the calls of a function, by `Exercise.drawing`."""
    if drawing is None:
        return Call
    from headway.practice.diagnosis.adapters.drawing import DrawnCall, LikeliestCall

    return {"read": DrawnCall, "likeliest": LikeliestCall}[drawing]
