"""Subjects of a file that no part recognises, or whose part is not understood, tried as the parts that their names may mean.

Such a subject may be anything, so it is wrong only if one change makes it right for every probe. Otherwise nothing is reported.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from headway.practice.diagnosis.checks.misplaced_arguments import misplaced_argument_cause
from headway.practice.diagnosis.checks.shared_layers import shared_layers_cause
from headway.practice.diagnosis.checks.trials import trials_of
from headway.practice.diagnosis.checks.unfit import unfit_trials
from headway.practice.diagnosis.classes.parts import computes_waves
from headway.practice.diagnosis.diagnose import diagnose
from headway.practice.diagnosis.doubt import is_in_doubt
from headway.practice.diagnosis.explain.impossible import impossible
from headway.practice.diagnosis.reading.subject import Subject
from headway.practice.diagnosis.reading.unfinished import unfinished_line
from headway.practice.diagnosis.recognising import JOINS_A_PAIR, is_more_than, is_of_codes
from headway.practice.diagnosis.repair.program import Findings, used_names
from headway.practice.diagnosis.repair.search import Allowance, Extent, find_repair
from headway.practice.exercise import Exercise
from headway.practice.exercises import exercise as by_name
from headway.practice.names import fitting
from headway.practice.verdict import Verdict

MAX_TRIED = 3
"""Subjects and parts that are tried."""
EFFORT = 0.4
"""Share of the usual work for each."""


def repaired_as_others(
    subjects: Sequence[Subject], verdicts: Sequence[Verdict], right: Collection[str], allowance: Allowance
) -> list[Verdict]:
    """Return the verdicts on those of a file's subjects that a single change makes right as a part that they were not judged as.

    A stack or a model that was not judged is wrong if it holds one layer several times, constructs its parts with arguments in wrong places, or
    makes a call that always raises.

    verdicts    on the subjects that were judged
    right       names of the subjects of the file that are right
    allowance   work for the file
    """
    found = {verdict.subject: verdict for verdict in _of_text(subjects, verdicts)}
    failing = {each.subject for each in verdicts if any(cause.name.startswith("raises_") for cause in each.causes)}
    for subject, exercise in itertools.islice(_untried(subjects, verdicts), MAX_TRIED):
        if subject.name in found or (failing and failing & used_names(subject)):  # no change of its own corrects the part that raises
            continue
        with suppress(Exception):  # a program of an unforeseen kind
            verdict = _repaired_as(subject, exercise, right, allowance)
            if verdict is not None:
                found[subject.name] = verdict
    return list(found.values())


def _of_text(subjects: Sequence[Subject], verdicts: Sequence[Verdict]) -> Iterator[Verdict]:
    judged = {verdict.subject for verdict in verdicts}
    for subject in subjects:
        parts = [by_name(name) for group in fitting(subject.short_name) for name in group]
        whole = next((each for each in parts if each.calls in ("stack", "model")), None)
        if whole is None or subject.name in judged:
            continue
        if (cause := shared_layers_cause(subject) or misplaced_argument_cause(subject) or impossible(subject)) is not None:
            yield Verdict(subject.name, whole.name, subject.line, "wrong", (cause,), title=whole.title)


def _untried(subjects: Sequence[Subject], verdicts: Sequence[Verdict]) -> Iterator[tuple[Subject, Exercise]]:
    judged = {verdict.subject: verdict for verdict in verdicts}
    for subject in subjects:
        verdict = judged.get(subject.name)
        if verdict is not None and (verdict.status != "could not run" or verdict.repair is not None):
            continue
        if unfinished_line(subject) is not None or is_of_codes(subject):
            continue
        likely, possible = fitting(subject.short_name)
        if verdict is None and re.search(JOINS_A_PAIR, subject.own_source):
            possible = (*possible, "merge_pair")
        for name in [*likely, *possible] if verdict is None else [each for each in likely if each != verdict.exercise]:
            is_table = name == "embed" and computes_waves(subject)  # of positions
            is_other = is_table or is_more_than(subject, name)
            if by_name(name).calls != "stack" and not is_other:  # a stack is judged only where its layers are found
                yield subject, by_name(name)


def _repaired_as(subject: Subject, exercise: Exercise, right: Collection[str], allowance: Allowance) -> Verdict | None:
    """Return the verdict with the change that makes a subject right, or None."""
    trials = trials_of(subject, exercise) or unfit_trials(subject, exercise)
    if not trials or any(trial.needs_missing() for trial in trials):  # a change that avoids what is missing proves nothing
        return None
    verdict = diagnose(subject, exercise)
    if verdict.is_correct or verdict.exercise != exercise.name:
        return None
    repair = find_repair(subject, trials, Findings(trusted=right), Extent(is_single=True, effort=EFFORT, allowance=allowance))
    repaired = replace(verdict, status="wrong", causes=(), notes=(), repair=repair, trials=())
    return None if repair is None or is_in_doubt(repaired) else repaired
