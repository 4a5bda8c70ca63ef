"""Check of an attention's first pass with its cache turned on: it hides later positions, as a pass without the cache does."""

from __future__ import annotations

import copy
from typing import Any

import numpy

from headway.practice.diagnosis.calls.conventions import encoded_for
from headway.practice.diagnosis.checks.continuing import ATTENTIONS, TOLERANCE, Pass, passes, plain_probe, sequence_output
from headway.practice.diagnosis.checks.trial import Trial
from headway.practice.diagnosis.classes.instances import InstanceCall
from headway.practice.message import EMPTY
from headway.practice.outputs import is_same
from headway.practice.texts import Texts
from headway.practice.verdict import Cause

TEXTS = Texts("diagnosis")


def first_pass_cause(trial: Trial) -> Cause | None:
    """Return a cause if a causal attention hides no later positions once a flag turns its cache on, so that its last output alone is right; else None."""
    call = trial.call
    if not isinstance(call, InstanceCall) or trial.exercise.name not in ATTENTIONS or call.is_wired:
        return None
    for each in passes(call):
        try:
            is_unmasked = each.flags and each.run in (call.forward, call.continued) and _is_unmasked(trial, call, each)
        except Exception:  # operands of another form
            continue
        if is_unmasked:
            flag = next(iter(each.flags))
            says = TEXTS["first_pass_unmasked"].format(flag=flag)
            return Cause("first_pass_unmasked", says, TEXTS["mask_first_pass"], EMPTY, line=call.subject.line_of(rf"\b{flag}\b(?! *[:=])"))
    return None


def _is_unmasked(trial: Trial, call: InstanceCall, each: Pass) -> bool:
    """Return True if the flags of a pass change the outputs of all positions but the last, and later positions have an effect with them alone."""
    probe = plain_probe(trial)
    arguments = call.arguments(encoded_for(call, trial.conventions, probe.inputs) or {})
    (name,) = [name for name, role in call.construction.forward.role_of.items() if role.name in ("x", "query")]
    shorter = {**arguments, name: arguments[name][:, :-1]}
    made = call.instance_for(arguments)

    def output(given: dict[str, Any]) -> numpy.ndarray:
        return sequence_output(call.continued(copy.deepcopy(made), given))

    plain, cached = output(arguments), output({**arguments, **each.flags})
    is_causal = is_same(plain[:, :-1], output(shorter), TOLERANCE)
    is_last_right = is_same(plain[:, -1], cached[:, -1], TOLERANCE)
    sees_later = not is_same(cached[:, :-1], output({**shorter, **each.flags}), TOLERANCE)
    return is_causal and is_last_right and sees_later
