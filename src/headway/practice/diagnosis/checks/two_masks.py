"""Check of an attention that takes two masks: given both, it applies both."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy

from headway.practice.diagnosis.calls.calling import Call
from headway.practice.diagnosis.calls.compare import as_numbers
from headway.practice.diagnosis.calls.conventions import encoded_for
from headway.practice.diagnosis.checks.trial import Trial
from headway.practice.diagnosis.classes.instances import InstanceCall
from headway.practice.diagnosis.classes.method_binding import call_parameters
from headway.practice.exercise import Inputs, Probe
from headway.practice.message import EMPTY
from headway.practice.outputs import is_same, precision
from headway.practice.texts import Texts
from headway.practice.verdict import Cause

TEXTS = Texts("diagnosis")

SHAPES = ("qk", "bk", "b11k", "1qk", "bqk", "11qk", "b1qk")
"""Shapes of a mask: batch, axes of size 1, queries and keys."""


def two_masks_cause(trial: Trial) -> Cause | None:
    """Return a cause if a mask has no effect together with another that the attention takes; None if both have, or no form of the other is found."""
    call = trial.call
    names = [name for name, role in call.binding.role_of.items() if role.name == "mask"]
    others = [
        each.name for each in parameters_called(call) if "mask" in each.name.lower() and each.default is None and each.name not in names
    ]
    if len(names) != 1 or len(others) != 1 or "attention" not in trial.exercise.name:
        return None
    for probe in filter(_has_mask_of_queries, trial.probes):
        try:
            dropped = _dropped(trial, probe, names[0], others[0])
        except Exception:  # an attention that takes one of them at a time
            return None
        if dropped is not None:
            other = others[0] if dropped == names[0] else names[0]
            says = TEXTS["mask_dropped"].format(name=dropped, other=other)
            return Cause("mask_dropped", says, TEXTS["apply_both_masks"], EMPTY, line=call.subject.line_of(rf"\b{dropped}\b"))
    return None


def parameters_called(call: Call) -> Sequence[inspect.Parameter]:
    """Return the parameters of a function, or of the method of a class that is called."""
    return call_parameters(call.subject, call.construction.method) if isinstance(call, InstanceCall) else call.subject.parameters


def _has_mask_of_queries(probe: Probe) -> bool:
    mask, query = probe.inputs.get("mask"), probe.inputs.get("query", probe.inputs.get("x"))
    return mask is not None and query is not None and mask.dtype == bool and mask.shape[-2] > 1 and query.ndim > 2


def _dropped(trial: Trial, probe: Probe, name: str, other: str) -> str | None:
    """Return the parameter for the mask that has no effect if both are given, or None.

    Errors   any exception of a call with both masks
    """
    call = trial.call
    arguments = call.arguments(encoded_for(call, trial.conventions, probe.inputs) or {})
    unmasked = {each: value for each, value in arguments.items() if each != name}
    first, bare = first_output(call, arguments), first_output(call, unmasked)
    if _is_equal(first, bare):
        return None
    for mask in _others(probe.inputs):
        given = {other: call.array(mask)}
        try:
            second = first_output(call, unmasked | given)
        except Exception:  # another form
            continue
        if not numpy.isfinite(second).all() or _is_equal(second, bare):
            continue
        both = first_output(call, {**arguments, **given})
        return other if _is_equal(both, first) else name if _is_equal(both, second) else None
    return None


def first_output(call: Call, arguments: Mapping[str, Any]) -> numpy.ndarray:
    """Return the first output of a call with these arguments."""
    answer = call.invoke(arguments)
    return numpy.asarray(as_numbers(answer[0] if isinstance(answer, tuple) else answer))


def _is_equal(first: numpy.ndarray, second: numpy.ndarray) -> bool:
    return bool(is_same(first, second, precision(first)))


def _others(inputs: Inputs) -> Iterator[numpy.ndarray]:
    """Yield masks that hide one key from all queries, in every form; a key without which each query still sees another."""
    mask, query = inputs["mask"], inputs.get("query", inputs.get("x"))
    assert query is not None
    sizes = {"b": len(query), "1": 1, "q": mask.shape[-2], "k": mask.shape[-1]}
    rows = mask.reshape(-1, sizes["k"])
    chosen = [key for key in range(sizes["k"]) if rows[:, key].any() and numpy.delete(rows, key, axis=1).any(-1).all()]
    for key, shape, is_visible in itertools.product(chosen[:1], SHAPES, (True, False)):
        yield numpy.broadcast_to((numpy.arange(sizes["k"]) != key) == is_visible, [sizes[axis] for axis in shape]).copy()
