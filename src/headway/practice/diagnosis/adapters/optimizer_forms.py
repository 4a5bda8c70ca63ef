"""Forms in which the parameters of an optimizer are passed: all at once or one by one, by name, in pairs, in layers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from headway.practice.diagnosis.adapters.parameter_holders import Layer, Model, layers_of

HOLDS = ("list", "dict", "single")
"""Forms in which parameters are passed: all in a list or a dict, or one array at a time with an optimizer for each."""

OF_SEVERAL = r"\b(zip|enumerate)\((self\.)?param"
"""Source of a class that loops over its parameters: the elements of one array are none."""

PAIRS = (
    r"\(\w+, *\w+\), *\(\w+, *\w+\) in zip\(|[Ll]ist\[[Tt]uple\[str"
    r"|\bfor (_|n|k|\w*(name|key)), *\w+ in (self\.)?_*\w*(param\w*|weights|variables)\b(?!\.|\()"
)
"""Pattern of the source that takes a list of names with arrays."""

OF_DICTS = (
    r"\bfor (?:\w+, *)?\(?(?P<each>\w+)(?:, *\w+)?\)? in (?:enumerate\(|zip\()*[\w.]*(?:param|layer|weight)[\w.]*[^:\n]*:"
    r"(?:.|\n)*?\bfor (?:\(?\w+, *\w+\)?|\w+) in (?P=each)(?:\.(?:items|keys|values)\(\))?:"
)
"""Pattern of the source that takes a list with a dict of arrays for each layer."""

WITH_GRADIENTS = (
    r"\b(\w+), *(g|\w*grads?|\w*gradients?|dw|d_\w+) = self\.\w*param\w*\["
    r"|\bfor (\w+, *)?\(?\w+, *(g|\w*grads?|\w*gradients?|dw|d_\w+)\)? in (enumerate\()?self\.\w*param\w*\)?:"
)
"""Pattern of the source of a class that is constructed with pairs of an array and its gradient, whose elements change between the steps."""

OBJECTS = {
    "model": r"\.(named_)?parameters\(|\.params\b|\blayers\b",
    "layers": r"\b[lL]ayers\b|\bfor layer\b",
    "layer": r"\blayer\.|\b(hasattr|getattr)\([\w.]+, *['\"](weights?|bias)['\"]",
}
"""Objects that hold them, and patterns of the sources that take them: a model, a list of layers, one layer at a time."""


def forms_in(source: str) -> tuple[str, ...]:
    """Return the forms that a class with this source may take."""
    return (
        *(form for form in HOLDS if form != "single" or not re.search(OF_SEVERAL, source)),
        *(["pairs"] if re.search(PAIRS, source) else []),
        *(["dicts"] if re.search(OF_DICTS, source) else []),
        *(["with_gradients"] if re.search(WITH_GRADIENTS, source) else []),
        *(form for form, pattern in OBJECTS.items() if re.search(pattern, source)),
    )


def form_of(values: Sequence[Any], holds: str) -> Any:
    """Return parameters, or their gradients, in the form in which they are passed."""
    if holds in OBJECTS:
        return {"model": Model, "layers": layers_of, "layer": Layer}[holds](values)
    if holds == "pairs":
        return [(f"p{place}", each) for place, each in enumerate(values)]
    if holds == "with_gradients":
        return [(each, 0 * each) for each in values]
    if holds == "dicts":
        return [dict(zip(("W", "b"), values[place : place + 2], strict=False)) for place in range(0, len(values), 2)]
    if holds == "dict":
        return {f"p{place}": each for place, each in enumerate(values)}
    return values[0] if holds == "single" else list(values)


def values_of(found: Any, holds: str) -> list[Any]:
    """Return the parameters that were passed in a form."""
    if holds == "pairs":
        return [each for _, each in found]
    if holds == "with_gradients":
        return [each for each, _ in found]
    if holds == "dicts":
        return [each for layer in found for each in layer.values()]
    if isinstance(found, Mapping):
        return list(found.values())
    return [found] if holds == "single" else list(found)


def is_like(answer: Any, passed: Any) -> bool:
    """Return True if a step returned parameters, not a loss or nothing."""
    if isinstance(passed, Mapping):
        return isinstance(answer, Mapping) and answer.keys() == passed.keys()
    if isinstance(passed, list) and passed and isinstance(passed[0], dict):
        return isinstance(answer, list) and len(answer) == len(passed) and all(map(is_like, answer, passed))
    if isinstance(passed, list) and passed and isinstance(passed[0], tuple):
        return isinstance(answer, list) and len(answer) == len(passed) and all(isinstance(each, tuple) for each in answer)
    if isinstance(passed, list):
        return isinstance(answer, list | tuple) and len(answer) == len(passed) and all(hasattr(each, "shape") for each in answer)
    return hasattr(answer, "shape") and tuple(answer.shape) == tuple(passed.shape)
