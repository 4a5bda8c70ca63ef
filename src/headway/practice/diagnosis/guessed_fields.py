"""Wrong verdicts on classes that count with fields of a config whose values are guesses."""

from __future__ import annotations

import re
from collections.abc import Collection

from headway.practice.diagnosis.calls.wording import NOTHING, is_dropout, neutral_value, roles_of_names
from headway.practice.diagnosis.checks.trial import Trial
from headway.practice.diagnosis.classes.configs import fallback_config, fields_of, fields_read_in
from headway.practice.diagnosis.classes.instances import InstanceCall
from headway.practice.diagnosis.classes.unknown_sizes import unknown_sizes
from headway.practice.diagnosis.repair.text import replaced_text
from headway.practice.outputs import Raised
from headway.practice.verdict import Verdict


def guesses_field(verdict: Verdict) -> bool:
    """Return True if a wrong class counts with fields whose values are guesses, unless a repair of other expressions makes it right."""
    call = verdict.trial.call if verdict.trial is not None else None
    if isinstance(call, InstanceCall) and verdict.trial is not None and _fails_for_absent(verdict.trial, call):
        return True
    names = guessed_fields(call) if isinstance(call, InstanceCall) and verdict.status == "wrong" else []
    if call is None or verdict.repair is None:
        return bool(names)
    replaced = " ".join(replaced_text(call.subject.text, each) for each in verdict.repair.edits if each.cell is None)
    return any(re.search(rf"\b{name}\b", replaced) for name in names)


def guessed_fields(call: InstanceCall) -> list[str]:
    """Return the fields that a class counts with and that neither a role nor a config of its file gives a value."""
    construction = call.construction
    if construction.config is None:
        return []
    counted = [name for name in unknown_sizes(call.subject.file_source, construction.config) if name in call.subject.used_source]
    return _without_value(counted, call)


def _without_value(names: Collection[str], call: InstanceCall) -> list[str]:
    """Return the fields to which neither a role nor a config of the file gives a value."""
    construction = call.construction
    held = construction.base if construction.base is not None else fallback_config(call.subject, construction.config or "")
    known = {} if held is None else fields_of(held)
    meant = roles_of_names(sorted(names), construction.roles, is_shared=True)
    return [name for name in names if name not in meant and known.get(name) is None]


def _fails_for_absent(trial: Trial, call: InstanceCall) -> bool:
    """Return True for a class that raises because of None, in whose place a field of a config without a value may be."""
    errors = [each.error for each in trial.answers if isinstance(each, Raised)]
    if call.construction.config is None or not any(isinstance(each, TypeError) and "NoneType" in str(each) for each in errors):
        return False
    read = fields_read_in(call.subject.file_source, call.construction.config)
    unknown = [name for name in _without_value(read, call) if neutral_value(name) is NOTHING and not is_dropout(name)]
    return bool(unknown)
