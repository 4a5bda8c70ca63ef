"""The learned numbers that sublayers are multiplied by before they are added, as in ReZero and LayerScale.

Most begin near 0, where a layer returns its input whatever its sublayers compute. The definition has none: they are set to 1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from headway.practice.diagnosis.calls.wording import snake
from headway.practice.diagnosis.classes.slots import is_module
from headway.practice.diagnosis.reading.subject import Subject

NAME = r"(?<![a-z])(alpha|gamma|gate|lambda|res(idual)?_?(weight|scale|gate|alpha)|layer_?scale|ls|re_?zero|skip)(?![a-z])"
"""Pattern of the names of such numbers."""

PART = r"layer_?scale|re_?zero"
"""Pattern of the names of classes that only multiply by such numbers."""

USE = r"self\.{name} *\*(?! *\( *\w+ *\+)|(?<!\*)\* *self\.{name}\b(?! *\*)"
"""Pattern of a product with such a number, other than that of a whole sum."""

IN_SUM = r"(?m)\+=? *self\.{name} *\*|\+=?[^\n+]*\) *\* *self\.{name} *$"
"""Pattern of a product with such a number that is added to something: `x + self.scale * self.attention(x)`."""

SQUASHED = r"\b(?:sigmoid|tanh)\( *self\.{name} *\)|self\.{name}\.(?:sigmoid|tanh)\(\)"
"""Pattern of a number that a function turns into a share, which is 1 for a large number."""

OPEN, LARGE = 1.0, 40.0
"""Value with which a gate passes on what it multiplies, and that of a gate whose share is multiplied."""

SMALL = 0.1
"""Largest initial value of a number that is a gate by its name, and no weight that has an effect from the start."""

FEWEST_PARTS = 2
"""Number of parts that a layer has; a norm has none."""


def opened_gates(instance: Any, subject: Subject) -> list[Any]:
    """Set the gates of an instance's sublayers to what has no effect, and return them."""
    gates = [*_gates(instance, subject)]
    for each, value in gates:
        each.data.fill_(value)
    return [each for each, _ in gates]


def _gates(instance: Any, subject: Subject) -> Iterator[tuple[Any, float]]:
    """Yield the parameters of a layer of PyTorch, and of its parts, that are such numbers, with what opens them; those of a model's layers stay."""
    if not is_module(instance) or not hasattr(instance, "named_children"):
        return
    parts = (each for each in instance.children() if re.search(PART, snake(type(each).__name__)))
    yield from ((each, OPEN) for part in parts for each in part._parameters.values() if _is_small(each))
    if len(instance._modules) < FEWEST_PARTS:
        return
    for name, parameter in instance._parameters.items():
        value = _opening(name, parameter, subject.used_source) if _is_even(parameter) else None
        if value is not None:
            yield parameter, value


def _opening(name: str, parameter: Any, source: str) -> float | None:
    """Return the value with which a number passes on what the source multiplies by it; None if it is no such number."""
    squashed, in_sum, used = (re.search(pattern.format(name=re.escape(name)), source) is not None for pattern in (SQUASHED, IN_SUM, USE))
    is_gate = squashed or in_sum or (used and _is_small(parameter) and re.search(NAME, snake(name)))
    return (LARGE if squashed else OPEN) if is_gate else None


def _is_even(parameter: Any) -> bool:
    """Return True for a number, or a vector of equal numbers."""
    if parameter is None or (parameter.ndim > 1 and max(parameter.shape) != parameter.numel()):
        return False
    return bool((parameter == parameter.flatten()[0]).all())


def _is_small(parameter: Any) -> bool:
    """Return True for a number, or a vector of equal numbers, that is small."""
    return _is_even(parameter) and abs(float(parameter.flatten()[0])) <= SMALL
