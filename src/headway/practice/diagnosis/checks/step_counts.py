"""Check of a step of Adam that stores or returns the number of steps: the next call needs the next number."""

from __future__ import annotations

import re
from typing import Any

import numpy

from headway.practice.diagnosis.calls.calling import Call
from headway.practice.diagnosis.calls.conventions import encoded_for
from headway.practice.diagnosis.checks.trial import Trial
from headway.practice.diagnosis.classes.settings import OPTIONS
from headway.practice.message import EMPTY
from headway.practice.outputs import Raised
from headway.practice.texts import Texts
from headway.practice.verdict import Cause

TEXTS = Texts("diagnosis")

NUM_MOMENTS = 3
"""Number of the outputs before a count: the parameter and its moments."""


def step_count_cause(trial: Trial) -> Cause | None:
    """Return the cause for a step after which the count that it keeps is not the next one; None for others."""
    name = next((name for name, role in trial.call.binding.role_of.items() if role.name == "step"), None)
    if trial.exercise.name != "adam_step" or name is None:
        return None
    for probe in trial.probes:
        encoded = encoded_for(trial.call, trial.conventions, probe.inputs)
        if encoded is None or "step" not in encoded:
            continue
        given, found = encoded["step"], _count_after(trial.call, encoded, name)
        if found is not None and found not in (given + 1, *([given] if _may_stay(trial.call, name) else [])):
            says = TEXTS["step_count"].format(given=given, got=found, expected=given + 1)
            return Cause(
                "step_count", says, TEXTS["add_one_step"], EMPTY, line=trial.call.subject.line_of(rf"\b{name}\b['\"\]]*[^=\n]*[-+*]?=")
            )
    return None


def _count_after(call: Call, inputs: Any, name: str) -> int | None:
    """Return the count in the dict that a function was given, or else the one that it returns after the moments; None without one."""
    answer = call(inputs)
    if isinstance(answer, Raised):
        return None
    options = getattr(call.subject.value, OPTIONS, {})
    if type(options.get(name)) is int:
        return int(options[name])
    rest = [numpy.asarray(each) for each in answer[NUM_MOMENTS:]] if isinstance(answer, tuple) else []
    counts = [int(each) for each in rest if each.ndim == 0 and each.dtype.kind in "iu"]
    return counts[0] if len(counts) == 1 else None


def _may_stay(call: Call, name: str) -> bool:
    """Return True if the caller may count: the function sets no first count in its dict."""
    return re.search(rf"setdefault\(['\"]{name}['\"]", call.subject.own_source) is None
