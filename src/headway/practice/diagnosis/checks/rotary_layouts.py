"""Tables of rotary positions whose layout does not fit the rotation of the same file: each of the two is correct alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy

from headway.practice.diagnosis.calls.conventions import encoded_for
from headway.practice.exercises.rotary.conventions import IN_HALVES, REPEATED
from headway.practice.message import EMPTY, Message
from headway.practice.texts import Texts
from headway.practice.verdict import Cause, Verdict

TEXTS = Texts("rotary_tables")

LAYOUTS = (IN_HALVES, REPEATED)
"""Notes on the two layouts of tables that are as wide as x."""


def with_fitting_tables(verdict: Verdict, others: Sequence[Verdict]) -> Verdict:
    """Return the verdict on correct tables, as wrong if every correct rotation among the others needs the other layout; any other verdict as it is."""
    if verdict.exercise != "rotary_tables" or not verdict.is_correct:
        return verdict
    rotations = {
        layout: each.subject
        for each in others
        if each.exercise == "rotary" and each.is_correct
        for layout in LAYOUTS
        if layout in each.notes
    }
    own = _layout(verdict)
    if own is None or not rotations or own in rotations:
        return verdict
    (rotation,) = rotations.values()
    repeated = TEXTS["repeated_for_halves"], TEXTS["concatenate_angles"]
    halves = TEXTS["halves_for_repeated"], TEXTS["repeat_angles"]
    says, fix = repeated if own == REPEATED else halves
    cause = Cause("layouts_differ", says.format(rotation=rotation), fix, EMPTY, line=verdict.line)
    return replace(verdict, status="wrong", causes=(cause,))


def _layout(verdict: Verdict) -> Message | None:
    """Return the note on the layout of the tables that a function returns; None if they are half as wide as x, or of another form."""
    trial = verdict.trial
    if trial is None:
        return None
    probe = trial.probes[0]
    encoded = encoded_for(trial.call, trial.conventions, probe.inputs)
    answer = None if encoded is None else trial.call(encoded)
    return _layout_of(answer, probe.inputs["head_dim"])


def _layout_of(answer: Any, head_dim: int) -> Message | None:
    tables = [numpy.asarray(each) for each in answer if hasattr(each, "shape")] if isinstance(answer, tuple | list) else []
    if len(tables) != 2 or any(table.shape[-1:] != (head_dim,) or table.dtype.kind != "f" for table in tables):
        return None
    pairs = {
        REPEATED: [(table[..., ::2], table[..., 1::2]) for table in tables],
        IN_HALVES: [(table[..., : head_dim // 2], table[..., head_dim // 2 :]) for table in tables],
    }
    return next((layout for layout, each in pairs.items() if all(numpy.allclose(a, b, atol=1e-6) for a, b in each)), None)
