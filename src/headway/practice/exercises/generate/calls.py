"""Calling a function or a class that generates: its model remembers nothing of the call before, and where it may draw, it draws the likeliest."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from headway.practice.diagnosis.calling import Call, function_calls
from headway.practice.diagnosis.drawing import LikeliestCall
from headway.practice.diagnosis.instances import InstanceCall, instance_calls
from headway.practice.diagnosis.subject import Subject
from headway.practice.exercise import Exercise
from headway.practice.recipes.toy_model import ToyModel


class FunctionCall(LikeliestCall):
    """A function, given a model."""

    def invoke(self, arguments: Mapping[str, Any]) -> Any:
        """As for any that may draw, the model as it was in the beginning."""
        _forget(arguments)
        return super().invoke(arguments)


class ClassCall(InstanceCall):
    """A class, made with a model or given one."""

    def invoke(self, arguments: Mapping[str, Any]) -> Any:
        """As for any class, the model as it was in the beginning."""
        _forget(arguments)
        return super().invoke(arguments)


def generate_calls(subject: Subject, exercise: Exercise, library: str) -> list[Call]:
    """The ways to call what generates."""
    if not inspect.isclass(subject.value):
        return function_calls(subject, exercise, library, FunctionCall)
    calls = [call for call in instance_calls(subject, exercise, library) if isinstance(call, InstanceCall)]
    return [ClassCall(**{each.name: getattr(call, each.name) for each in fields(call)}) for call in calls]


def _forget(arguments: Mapping[str, Any]) -> None:
    for value in arguments.values():
        if isinstance(value, ToyModel):
            value.forget()
