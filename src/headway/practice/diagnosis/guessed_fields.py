"""Wrong verdicts on classes that count with fields of a config whose values are guesses."""

from __future__ import annotations

import re

from headway.practice.diagnosis.calls.wording import roles_of_names
from headway.practice.diagnosis.classes.configs import fallback_config, fields_of
from headway.practice.diagnosis.classes.instances import InstanceCall
from headway.practice.diagnosis.classes.unknown_sizes import unknown_sizes
from headway.practice.diagnosis.repair.text import replaced_text
from headway.practice.verdict import Verdict


def guesses_field(verdict: Verdict) -> bool:
    """Return True if a wrong class counts with fields whose values are guesses, unless a repair of other expressions makes it right."""
    call = verdict.trial.call if verdict.trial is not None else None
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
    held = construction.base if construction.base is not None else fallback_config(call.subject, construction.config)
    known = {} if held is None else fields_of(held)
    meant = roles_of_names(counted, construction.roles, is_shared=True)
    return [name for name in counted if name not in meant and known.get(name) is None]
