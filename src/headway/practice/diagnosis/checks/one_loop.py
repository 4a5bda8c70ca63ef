"""Check of a function that clips the gradients of an iterator, `model.parameters()`, over which only one loop is possible."""

from __future__ import annotations

import re
from dataclasses import replace

from headway.practice.diagnosis.adapters.clipping_calls import GRADIENTS, ITERATOR, PARAMETERS, ClippingCall
from headway.practice.diagnosis.calls.conventions import encoded_for
from headway.practice.diagnosis.checks.trial import Trial
from headway.practice.message import EMPTY
from headway.practice.outputs import Raised, is_same, precision
from headway.practice.texts import Texts
from headway.practice.verdict import Cause

TEXTS = Texts("diagnosis")

OF_ITERATOR = r"\b(Iterable|Iterator|Generator)\b"
"""Pattern of an annotation that allows an iterator."""


def one_loop_cause(trial: Trial) -> Cause | None:
    """Return a cause if a function that clips the gradients of a list changes none of an iterator, and takes one; else None.

    It takes one if its annotation says so, or if the file passes it `model.parameters()`.
    """
    call = trial.call
    if not isinstance(call, ClippingCall) or call.holds != PARAMETERS:
        return None
    name = next(name for name, role in call.binding.role_of.items() if role.name == GRADIENTS)
    if not _takes_iterator(call, name):
        return None
    of_iterator = replace(call, holds=ITERATOR)
    for probe in trial.probes:
        encoded = encoded_for(call, trial.conventions, probe.inputs)
        given = probe.inputs["gradients"]
        if encoded is None or is_same(tuple(given), trial.expected(probe), precision(given[0])):
            continue
        answer = of_iterator(encoded)
        if not isinstance(answer, Raised) and is_same(answer, tuple(given), precision(given[0])):
            says, fix = TEXTS["second_loop_empty"].format(name=name), TEXTS["make_a_list"].format(name=name)
            return Cause("second_loop_empty", says, fix, EMPTY, line=_second_loop(call, name))
    return None


def _takes_iterator(call: ClippingCall, name: str) -> bool:
    annotation = next(str(each.annotation) for each in call.subject.parameters if each.name == name)
    is_passed = rf"\b{call.subject.short_name}\((\w+ *= *)?[\w.]+\.parameters\(\)"
    return re.search(OF_ITERATOR, annotation) is not None or re.search(is_passed, call.subject.file_source) is not None


def _second_loop(call: ClippingCall, name: str) -> int | None:
    """Return the line of the second loop over the operand, or that of the function."""
    loops = [place for place, line in enumerate(call.subject.own_source.split("\n")) if re.search(rf"\bin {name}\b", line)]
    line = call.subject.line
    return line if line is None or len(loops) < 2 else line + loops[1]
