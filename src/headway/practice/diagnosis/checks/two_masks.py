"""Check of an attention or a layer that takes two masks: given both, it applies both."""

from __future__ import annotations

import inspect
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
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

APPLIES_MASKS = r"attention|^(en|de)coder_layer$|^transformer_block$"
"""Pattern of the names of parts that apply masks to queries and keys."""

BOTH = ""
"""The fault of hiding only what both masks hide, in place of the name of a parameter."""

JOINS = r"mask\w*(\[[^\]]*\]|\([^)]*\))* *[&|+*] *~?\w|logical_(and|or)\(|\b(maximum|minimum)\("
"""Pattern of an expression that joins masks."""

SHAPES = ("qk", "bk", "b11k", "1qk", "bqk", "11qk", "b1qk")
"""Shapes of a mask: batch, axes of size 1, queries and keys."""


def two_masks_cause(trial: Trial) -> Cause | None:
    """Return a cause if a part that takes two masks drops one of them, or hides only what both hide; None if it applies both, or no form of the other is found."""
    call = trial.call
    masks = {name: role.name for name, role in call.binding.role_of.items() if role.name in ("mask", "encoder_mask")}
    names = [name for name, role in masks.items() if role == "mask"]
    others = [
        each.name for each in parameters_called(call) if "mask" in each.name.lower() and each.default is None and each.name not in masks
    ]
    if len(names) != 1 or len(others) != 1 or not re.search(APPLIES_MASKS, trial.exercise.name):
        return None
    for probe in filter(_has_mask, trial.probes):
        try:
            fault = _fault(trial, probe, names[0], others[0])
            if fault is not None and isinstance(call, InstanceCall) and call.is_wired:  # a correct attention applies one mask only
                fault = _fault(replace(trial, call=call.with_own_parts()), probe, names[0], others[0])
        except Exception:  # a part that takes one of them at a time
            return None
        if fault is not None:
            return _cause(call, fault, names[0], others[0])
    return None


def _cause(call: Call, fault: str, name: str, other: str) -> Cause:
    """Return the cause for the parameter whose mask is dropped, or for BOTH."""
    if fault == BOTH:
        says = TEXTS["masks_intersected"].format(name=name, other=other)
        line = call.subject.line_of(JOINS) or call.subject.line_of(rf"\b{other}\b")
        return Cause("masks_intersected", says, TEXTS["join_masks"], EMPTY, line=line)
    says = TEXTS["mask_dropped"].format(name=fault, other=other if fault == name else name)
    return Cause("mask_dropped", says, TEXTS["apply_both_masks"], EMPTY, line=call.subject.line_of(rf"\b{fault}\b"))


def parameters_called(call: Call) -> Sequence[inspect.Parameter]:
    """Return the parameters of a function, or of the method of a class that is called."""
    return call_parameters(call.subject, call.construction.method) if isinstance(call, InstanceCall) else call.subject.parameters


def _has_mask(probe: Probe) -> bool:
    """Return True for a batch with a mask that hides keys."""
    mask, query = probe.inputs.get("mask"), probe.inputs.get("query", probe.inputs.get("x"))
    return mask is not None and query is not None and mask.dtype == bool and query.ndim > 2


def _fault(trial: Trial, probe: Probe, name: str, other: str) -> str | None:
    """Return the parameter for the mask that has no effect if both are given, BOTH if only what both hide is hidden, or None.

    Errors   any exception of a call with both masks
    """
    call, mask = trial.call, probe.inputs["mask"]

    def masked(visible: numpy.ndarray) -> numpy.ndarray:
        """Return the output for the probe with another mask."""
        return first_output(call, _arguments(trial, probe.inputs | {"mask": numpy.broadcast_to(visible, mask.shape).copy()}))

    arguments = _arguments(trial, probe.inputs)
    unmasked = {each: value for each, value in arguments.items() if each != name}
    first, bare = first_output(call, arguments), first_output(call, unmasked)
    if _is_equal(first, bare):
        return None
    for visible, form in _others(probe.inputs):
        given = {other: call.array(form)}
        try:
            second = first_output(call, unmasked | given)
        except Exception:  # another form
            continue
        if not numpy.isfinite(second).all() or not _is_equal(second, masked(visible)):
            continue
        both = first_output(call, {**arguments, **given})
        found = [(other, first), (name, second), (BOTH, masked(mask | visible))]
        return next((fault for fault, output in found if _is_equal(both, output)), None)
    return None


def _arguments(trial: Trial, inputs: Inputs) -> dict[str, Any]:
    return dict(trial.call.arguments(encoded_for(trial.call, trial.conventions, inputs) or {}))


def first_output(call: Call, arguments: Mapping[str, Any]) -> numpy.ndarray:
    """Return the first output of a call with these arguments."""
    answer = call.invoke(arguments)
    return numpy.asarray(as_numbers(answer[0] if isinstance(answer, tuple) else answer))


def _is_equal(first: numpy.ndarray, second: numpy.ndarray) -> bool:
    return bool(is_same(first, second, precision(first)))


def _others(inputs: Inputs) -> Iterator[tuple[numpy.ndarray, numpy.ndarray]]:
    """Yield the keys that stay visible if one is hidden from all queries, and masks of them in every form; without that key each query still sees another."""
    mask, query = inputs["mask"], inputs.get("query", inputs.get("x"))
    assert query is not None
    sizes = {"b": len(query), "1": 1, "q": query.shape[-2], "k": mask.shape[-1]}
    rows = mask.reshape(-1, sizes["k"])
    chosen = [key for key in range(sizes["k"]) if rows[:, key].any() and numpy.delete(rows, key, axis=1).any(-1).all()]
    for key, shape, is_visible in itertools.product(chosen[:1], SHAPES, (True, False)):
        visible = numpy.arange(sizes["k"]) != key
        yield visible, numpy.broadcast_to(visible == is_visible, [sizes[axis] for axis in shape]).copy()
