"""The learned numbers that sublayers are multiplied by before they are added, as in ReZero and LayerScale.

They begin near 0, where a layer returns its input whatever its sublayers compute. The definition has none: they are set to 1.
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

SMALL = 0.1
"""Largest initial value of a number that is a gate, and no weight that has an effect from the start."""

FEWEST_PARTS = 2
"""Number of parts that a layer has; a norm has none."""


def opened_gates(instance: Any, subject: Subject) -> list[Any]:
    """Set the gates of an instance's sublayers to 1, and return them."""
    gates = [*_gates(instance, subject)]
    for each in gates:
        each.data.fill_(1.0)
    return gates


def _gates(instance: Any, subject: Subject) -> Iterator[Any]:
    """Yield the parameters of a layer of PyTorch, and of its parts, that are such numbers; those of a model's layers stay."""
    if not is_module(instance) or not hasattr(instance, "named_children"):
        return
    parts = [each for each in instance.children() if re.search(PART, snake(type(each).__name__))]
    for module in (instance, *parts):
        is_part = module is not instance
        is_layer = len(getattr(module, "_modules", {})) >= FEWEST_PARTS
        for name, parameter in getattr(module, "_parameters", {}).items():
            is_used = re.search(USE.format(name=re.escape(name)), subject.used_source) is not None
            if (is_part or (is_layer and re.search(NAME, snake(name)) and is_used)) and _is_small(parameter):
                yield parameter


def _is_small(parameter: Any) -> bool:
    """Return True for a number, or a vector of equal numbers, that is small."""
    if parameter is None or (parameter.ndim > 1 and max(parameter.shape) != parameter.numel()):
        return False
    return bool((parameter == parameter.flatten()[0]).all()) and abs(float(parameter.flatten()[0])) <= SMALL
