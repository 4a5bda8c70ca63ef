"""Classes that sample a token, as functions: their settings and what they are called with, together."""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import Any

from headway.practice.diagnosis.classes.constructing import METHODS
from headway.practice.diagnosis.reading.subject import Subject, defines, parameters_of

SAMPLING = (*METHODS[:2], "sample", "step", "process")
"""Methods that sample, the first that a class defines."""


def as_function(subject: Subject) -> Subject | None:
    """Return a class as a function that constructs an instance and calls it; None for a class without such a method, or with equal parameters."""
    cls = subject.value
    method = next((name for name in SAMPLING if defines(cls, name)), None)
    if method is None:
        return None
    settings, operands = subject.parameters, parameters_of(getattr(cls, method), is_bound=True)
    names = [each.name for each in (*settings, *operands)]
    if len(set(names)) < len(names):
        return None

    def sampled(**given: Any) -> Any:
        instance = cls(**{each.name: given.pop(each.name) for each in settings if each.name in given})
        if callable(getattr(instance, "eval", None)):
            instance.eval()
        return (instance if method in METHODS[:2] else getattr(instance, method))(**given)

    function: Any = sampled
    every = [each.replace(kind=each.KEYWORD_ONLY) for each in (*settings, *operands)]
    function.__signature__ = inspect.Signature(sorted(every, key=lambda each: each.name not in {other.name for other in operands}))
    return replace(subject, value=function)
