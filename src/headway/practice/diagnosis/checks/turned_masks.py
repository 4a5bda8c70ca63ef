"""Check of a model that makes numbers to add of its mask, `(1 - mask) * -10000`, for layers that hide where a mask is 0."""

from __future__ import annotations

import re

from headway.practice.diagnosis.adapters.stack_calls import StackCall
from headway.practice.diagnosis.checks.trial import Trial
from headway.practice.message import EMPTY
from headway.practice.texts import Texts
from headway.practice.verdict import Cause

TEXTS = Texts("diagnosis")

ADDED = r"\( *1(\.0*)? *- *[\w.]*mask[^\n]*\) *\* *(-|[\w.]*finfo|float\()"
"""Pattern of the code that makes 0 of a mask's 1, and a large negative number of its 0."""

OF_HIDDEN = ("hidden", "ones_hidden")


def turned_mask_cause(trial: Trial) -> Cause | None:
    """Return a cause if a stack is right only for a mask with 1 at the padding, of which its code makes 0, the number of what is seen; else None."""
    call = trial.call
    if not isinstance(call, StackCall) or call.form.kind not in OF_HIDDEN or not call.binding.takes("mask"):
        return None
    line = call.subject.line_of(ADDED)
    if line is None or re.search(ADDED, call.subject.code) is None:
        return None
    return Cause("mask_turned", TEXTS["mask_turned"], TEXTS["give_mask_as_it_is"], EMPTY, line=line)
