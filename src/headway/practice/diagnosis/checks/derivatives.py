"""Check of derivatives next to an elementwise function: `SiLU.forward(x)` and `SiLU.derivative(x)`, methods of one class that keeps no state."""

from __future__ import annotations

import dis
import inspect
import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy

from headway.practice.diagnosis.calls.calling import Call
from headway.practice.diagnosis.calls.compare import as_numbers
from headway.practice.diagnosis.reading.methods import INSTANCES
from headway.practice.message import EMPTY
from headway.practice.texts import Texts
from headway.practice.verdict import Cause

TEXTS = Texts("diagnosis")

DERIVATIVE = r"_?(backward|derivative|deriv|gradient|grad|prime|derive)"
"""Pattern of the name of the method that returns the derivative of the function of its class."""

CALLED = ("forward", "__call__", "function", "activate")
"""Names of the method that computes the function of a class."""

OF_LOSS = r"(?i)d_?(out|y|z|a|l|loss)\w*|.*(grad|delta|upstream|err).*|g"
"""Pattern of the name of a gradient that a method is given, which is not what it takes the derivative at."""

POINTS = numpy.array([-2.3, -1.1, -0.37, 0.41, 0.9, 1.7, 2.6])
"""Inputs at which derivatives are compared: no function of this kind has a kink there."""

STEP = 1e-2
TOLERANCE = 3e-3


def derivative_cause(call: Call) -> Cause | bool:
    """Return the cause of a wrong derivative in a class whose function is right; True if it is right, False if there is none to compare.

    The derivative may take the input or the output of the function.
    """
    value, owner = call.subject.value, call.subject.name.rpartition(".")[0]
    held = value if inspect.isclass(value) else getattr(call.subject.module, owner, None)
    if not inspect.isclass(held):
        return False
    methods = {each: _plain(held, each) for each in vars(held) if re.fullmatch(DERIVATIVE, each)}
    if not any(methods.values()):
        return False
    forward = next(filter(None, (_plain(held, each) for each in CALLED)), None) if held is value else _plain(held, call.subject.short_name)
    is_right = False
    for method, derivative in methods.items():
        if forward is None or derivative is None or _takes_gradient(derivative):
            continue
        with suppress(Exception):  # it may have another protocol
            differs = _differs(forward, derivative, call)
            if differs:
                return _cause(call, method)
            is_right |= differs is False
    return is_right


def _plain(owner: Any, name: str) -> Callable[..., Any] | None:
    """Return a method of a class that takes one operand, and no instance or one that keeps nothing of a call; None for another."""
    found = inspect.getattr_static(owner, name, None) if inspect.isclass(owner) else None
    function = found.__func__ if isinstance(found, staticmethod) else found
    if not inspect.isfunction(function):
        return None
    parameters = [*inspect.signature(function).parameters.values()]
    needed = [each.name for each in parameters if each.default is each.empty]
    if needed[:1] == ["self"] and len(needed) == 2 and not _keeps_state(owner):
        with suppress(Exception):  # it may need settings
            return getattr(owner(), name)
    return function if len(needed) == 1 and needed[0] not in INSTANCES else None


def _keeps_state(owner: type) -> bool:
    """Return True for a class whose methods, other than its constructor, assign attributes."""
    functions = [each for name, each in vars(owner).items() if inspect.isfunction(each) and name != "__init__"]
    return any(each.opname == "STORE_ATTR" for function in functions for each in dis.get_instructions(function))


def _takes_gradient(derivative: Callable[..., Any]) -> bool:
    return re.fullmatch(OF_LOSS, next(iter(inspect.signature(derivative).parameters))) is not None


def _differs(forward: Callable[..., Any], derivative: Callable[..., Any], call: Call) -> bool | None:
    """Return True if an elementwise function has other slopes than its derivative, which is taken at its inputs or at its outputs; None if not elementwise."""

    def computed(function: Callable[..., Any], x: numpy.ndarray) -> numpy.ndarray:
        return numpy.asarray(as_numbers(function(call.array(x))), numpy.float64)

    outputs = computed(forward, POINTS)
    alone = numpy.array([computed(forward, POINTS[place : place + 1])[0] for place in range(len(POINTS))])
    if outputs.shape != POINTS.shape or not numpy.allclose(outputs, alone):
        return None
    slopes = (computed(forward, POINTS + STEP) - computed(forward, POINTS - STEP)) / (2 * STEP)
    found = [computed(derivative, each) for each in (POINTS, outputs)]
    if any(each.shape != POINTS.shape for each in found):
        return None
    return not any(numpy.allclose(each, slopes, atol=TOLERANCE) for each in found)


def _cause(call: Call, method: str) -> Cause:
    says = TEXTS["wrong_derivative"].format(method=method)
    return Cause("gradient_is_wrong", says, TEXTS["fix_derivative"].format(method=method), EMPTY, line=_line_of(call, method))


def _line_of(call: Call, method: str) -> int | None:
    """Return the line of a method of the class in its file."""
    owner = call.subject.name.rpartition(".")[0] or call.subject.name
    text = call.subject.text
    found = re.search(rf"(?ms)^[ \t]*class {re.escape(owner)}\b.*?^[ \t]+def {method}\(", text)
    return None if found is None else text[: found.end()].count("\n") + 1
