"""Verdict of one trial, with its conventions as notes, and verdict without a trial."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from headway.practice.diagnosis.calls.conventions import PLAIN, encoded_in
from headway.practice.diagnosis.checks.trial import Trial
from headway.practice.diagnosis.reading.subject import Subject
from headway.practice.exercise import Convention, Exercise, Mistake
from headway.practice.message import EMPTY, Message
from headway.practice.texts import Texts
from headway.practice.verdict import Cause, Status, Verdict

TEXTS = Texts("diagnosis")


def behavior_cause(subject: Subject, mistake: Mistake) -> Cause:
    """Return a cause that concerns the function's behavior, such as modified inputs, and needs no proof."""
    return Cause(mistake.name, mistake.says, mistake.fix, EMPTY, line=subject.line_of(mistake.pattern()))


def verdict_without_trial(subject: Subject, exercise: Exercise, status: Status, cause: Cause) -> Verdict:
    """Return the verdict on a subject of which nothing but a cause is known."""
    return Verdict(subject.name, exercise.name, subject.line, status, (cause,), title=exercise.title)


def verdict_of(subject: Subject, exercise: Exercise, status: Status, trial: Trial, **found: Any) -> Verdict:
    """Return the verdict with a status, the conventions of its trial and their notes; `found` are its causes and its first difference."""
    notes = () if status == "could not run" else tuple(_notes(exercise, trial, is_correct=status == "correct"))
    return Verdict(
        subject.name,
        exercise.name,
        subject.line,
        status,
        notes=notes,
        title=exercise.title,
        conventions=trial.conventions,
        trial=trial,
        **found,
    )


def _notes(exercise: Exercise, trial: Trial, *, is_correct: bool) -> Iterator[Message]:
    """Yield the notes on how a trial calls its subject and on what it leaves out; defaults are noted for correct functions only."""
    usual = () if is_correct else tuple(group[0] for group in exercise.conventions)
    for convention in trial.conventions:
        if convention.name is not None and _is_in_effect(convention, trial, usual):
            yield convention.name
    yield from trial.call.notes
    if trial.num_axes is not None:
        yield TEXTS["branches"].format(most=trial.num_axes)
    if trial.decimals is not None:
        yield TEXTS["rounds"].format(decimals=trial.decimals)
    refused = {probe.beyond.en: probe.beyond for probe in trial.refused if probe.beyond}
    yield from (TEXTS["not_judged"].format(beyond=beyond) for beyond in refused.values() if beyond.en)


def _is_in_effect(convention: Convention, trial: Trial, usual: Collection[Convention]) -> bool:
    """Return True if a convention changes any input or output; a named default counts only if the verdict is correct."""
    if any(convention is group[0] for group in trial.exercise.conventions):
        return convention not in usual
    is_said = any(encoded_in(convention, probe.inputs) is not probe.inputs for probe in trial.probes)
    return is_said or bool(convention.steps) or convention.decode is not PLAIN.decode or convention.reads is not None
