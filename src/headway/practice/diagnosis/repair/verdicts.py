"""Verdicts with the repair of the learner's code, if there is one."""

from __future__ import annotations

from dataclasses import replace

from headway.practice.diagnosis.nested import BECAUSE
from headway.practice.diagnosis.repair.search import find_repair
from headway.practice.diagnosis.subject import Subject
from headway.practice.diagnosis.trials import trials_of
from headway.practice.exercise import Exercise
from headway.practice.verdict import Cause, Repair, Verdict

_BEHAVIOUR = frozenset({"changes_inputs", "not_repeatable", "dropout_in_eval", "parameters", "exits", "too_slow", "too_large"})
"""Causes that concern more than the outputs, so that no change of one expression is tried."""


def with_repair(verdict: Verdict, subject: Subject, exercise: Exercise) -> Verdict:
    """Return a verdict with the smallest change that makes the subject right, and with the line that the change proves."""
    names = {cause.name for cause in verdict.causes}
    if verdict.is_correct or names & _BEHAVIOUR or any(name.startswith(BECAUSE) for name in names):
        return verdict
    suspects = [cause.line for cause in verdict.causes if cause.line is not None]
    repair = find_repair(subject, trials_of(subject, exercise), suspects)
    if repair is None:
        return verdict
    causes = verdict.causes
    if len(causes) == 1:
        causes = (_at(causes[0], repair),)
    return replace(verdict, status="wrong" if verdict.status == "unknown" else verdict.status, causes=causes, repair=repair)


def _at(cause: Cause, repair: Repair) -> Cause:
    """Return a cause with the line of the repair, unless one of its edits contains the cause's own line."""
    if cause.line is not None and any(edit.line <= cause.line <= edit.end_line for edit in repair.edits):
        return cause
    return replace(cause, line=repair.edits[0].line)
