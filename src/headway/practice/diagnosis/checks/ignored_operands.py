"""Check of a self-attention that takes query, key and value: each of them has an effect."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy

from headway.practice.diagnosis.calls.calling import Call
from headway.practice.diagnosis.calls.compare import as_numbers
from headway.practice.diagnosis.calls.conventions import encoded_for
from headway.practice.diagnosis.checks.trial import Trial
from headway.practice.diagnosis.checks.two_masks import first_output
from headway.practice.message import EMPTY, joined
from headway.practice.outputs import is_same, precision
from headway.practice.texts import Texts
from headway.practice.verdict import Cause

TEXTS = Texts("diagnosis")

OPERANDS = ("query", "key", "value")


def ignored_operands_cause(trial: Trial) -> Cause | None:
    """Return a cause if operands that a self-attention requires have no effect, or None."""
    call = trial.call
    names = {role.name: name for name, role in call.binding.role_of.items() if role.name in OPERANDS}
    if "self_attention" not in trial.exercise.name or len(names) < len(OPERANDS) or not trial.probes:
        return None
    try:
        arguments = call.arguments(encoded_for(call, trial.conventions, trial.probes[0].inputs) or {})
        ignored = [name for name in names.values() if not _has_effect(call, arguments, name)]
    except Exception:  # operands that must be the same
        return None
    if not ignored:
        return None
    says = TEXTS["operands_ignored"].format(names=joined(ignored))
    return Cause("operands_ignored", says, TEXTS["use_all_operands"], EMPTY, line=call.subject.line)


def _has_effect(call: Call, arguments: Mapping[str, Any], name: str) -> bool:
    """Return True if other numbers in an operand change the output."""
    given = as_numbers(arguments[name])
    other = call.array(numpy.random.default_rng(19).standard_normal(given.shape).astype(given.dtype))
    first, second = (first_output(call, each) for each in (arguments, {**arguments, name: other}))
    return not is_same(first, second, precision(first))
