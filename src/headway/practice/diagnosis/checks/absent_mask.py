"""Check of a part that is right with a mask: without one, which is its default, it must not compute with None."""

from __future__ import annotations

from headway.practice.diagnosis.calls.conventions import encoded_for
from headway.practice.diagnosis.checks.trial import Trial
from headway.practice.diagnosis.checks.two_masks import parameters_called
from headway.practice.diagnosis.reading.errors import is_of_no_mask
from headway.practice.message import EMPTY
from headway.practice.outputs import Raised
from headway.practice.texts import Texts
from headway.practice.verdict import Cause

TEXTS = Texts("diagnosis")


def absent_mask_cause(trial: Trial) -> Cause | None:
    """Return a cause if every call was given a mask whose default is None, and a call without it computes with None; else None."""
    call = trial.call
    names = {name for name, role in call.binding.role_of.items() if role.name == "mask"}
    name = next((each.name for each in parameters_called(call) if each.name in names and each.default is None), None)
    encoded = [encoded_for(call, trial.conventions, probe.inputs) for probe in trial.probes]
    if name is None or trial.needs_mask or any(each is None or each.get("mask") is None for each in encoded):
        return None
    answer = call({role: value for role, value in (encoded[0] or {}).items() if role != "mask"})
    if not (isinstance(answer, Raised) and is_of_no_mask(answer.error)):
        return None
    says = TEXTS["default_raises"].format(name=name, type=type(answer.error).__name__, error=str(answer.error))
    return Cause(
        "default_value", says, TEXTS["apply_mask_if_given"].format(name=name), EMPTY, line=call.subject.line_of(rf"\b{name}\b *[:=]")
    )
