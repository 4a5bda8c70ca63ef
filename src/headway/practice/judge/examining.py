"""Examination of a file in the confined process: the diagnosis, and a claim for every subject that it calls correct."""

from __future__ import annotations

import itertools
import json
import traceback
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, BinaryIO

from headway.practice.diagnosis.calls.jax_on_numpy import jax_on_numpy
from headway.practice.diagnosis.doubt import settled
from headway.practice.diagnosis.files import load_definitions, load_module, unjudged, with_exercises
from headway.practice.diagnosis.inherited import with_inherited, wrong_parts
from headway.practice.diagnosis.nested import verdicts
from headway.practice.diagnosis.reading.subject import Subject
from headway.practice.exercise import Exercise
from headway.practice.exercises import exercise as exercise_by_name
from headway.practice.judge.claims import claim_of
from headway.practice.judge.frames import write_frame
from headway.practice.judge.jobs import Examination
from headway.practice.names import fitting
from headway.practice.verdict import Verdict


def prepared(job: Examination) -> Callable[[BinaryIO, BinaryIO], None]:
    """Return the function that examines a file and reports to a pipe."""

    def run(requests: BinaryIO, replies: BinaryIO) -> None:
        def report(**event: Any) -> None:
            write_frame(replies, json.dumps(event, ensure_ascii=False).encode("utf-8", "replace"))

        try:
            with jax_on_numpy():
                _examine(job, report)
        except Exception:  # exceptions of the learner's code are caught at the call
            report(failed=traceback.format_exc())

    return run


def loaded(job: Any) -> tuple[ModuleType | None, Verdict | None, bool]:
    """Return the module, the verdict on the file if it does not run, and True if it was run as a whole."""
    found = load_module(job.path, job.text) if job.is_run else load_definitions(job.path, job.text)
    if isinstance(found, ModuleType):
        return found, None, job.is_run
    again = load_definitions(job.path, job.text)
    return (again if isinstance(again, ModuleType) else None), found, False


def _examine(job: Examination, report: Callable[..., None]) -> None:
    report(begins={"subject": job.path.name, "line": 1})
    module, failure, is_whole = loaded(job)
    if failure is not None:
        report(final=failure.to_dict())
    if module is None:
        report(end=True)
        return

    def begin(subject: Subject, exercise: Exercise | None = None) -> None:
        name = exercise.name if exercise is not None else next(itertools.chain(*fitting(subject.short_name)), None)
        report(begins={"subject": subject.name, "line": subject.line, "exercise": name})

    reported: dict[str, object] = {}

    def conclude(verdict: Verdict) -> None:  # at once, and again if it changes: what is reported holds if the time ends
        final = verdict.to_dict()
        if reported.get(verdict.subject) == final:
            return
        reported[verdict.subject] = final
        claim = claim_of(verdict.subject, verdict.trial, is_whole=is_whole).to_dict() if verdict.is_correct and verdict.trial else None
        report(final=final, claim=claim)

    chosen = list(with_exercises(module, job.text, job.named, job.skipped, begin))
    judged = [
        (subject, exercise_by_name(verdict.exercise), verdict)
        for (subject, _), verdict in zip(chosen, verdicts(chosen, begin, conclude), strict=True)
    ]
    first = with_inherited(settled([verdict for _, _, verdict in judged]))
    for verdict in _without_unjudged_methods(first):
        conclude(verdict)
    rest = [] if job.named is not None else unjudged(module, job.text, {verdict.subject for verdict in first}, job.skipped)
    of_text = _of_text(rest)
    for verdict in of_text:
        conclude(verdict)
    report(judged=True)  # if the time ends during the search for repairs, the verdicts count without them
    wrong = [each for each in judged if not each[2].is_correct and (each[2].status in FOUND or not each[0].is_method)]
    right = [verdict for _, _, verdict in judged if verdict.is_correct]
    names = {verdict.subject for verdict in right}
    others = [] if job.named is not None else unjudged(module, job.text, names, job.skipped, with_methods=True)
    if wrong or others:
        from headway.practice.diagnosis.repair.search import Allowance
        from headway.practice.diagnosis.repairing import with_repairs
        from headway.practice.diagnosis.unrecognised import repaired_as_others

        repaired: list[Verdict] = []
        final = first
        allowance = Allowance()
        for verdicts_so_far in with_repairs(wrong, right, allowance):
            of_all = settled([*right, *verdicts_so_far])
            repaired = of_all[len(right) :]
            final = with_inherited(of_all)
            for verdict in _without_unjudged_methods(final):
                conclude(verdict)
        of_text = _of_text(rest, final)  # the search may have left a part in doubt
        for verdict in of_text:
            conclude(verdict)
        for verdict in repaired_as_others(others, [*repaired, *of_text], names, allowance):
            conclude(verdict)
    report(end=True)


def _of_text(subjects: list[Subject], verdicts: Sequence[Verdict] = ()) -> list[Verdict]:
    """Return the verdicts on subjects that were not judged and whose text shows a mistake, or that make a part which is wrong among verdicts."""
    from headway.practice.diagnosis.unrecognised import mistaken_by_text

    return list(mistaken_by_text(subjects, wrong_parts(verdicts))) if subjects else []


FOUND = ("correct", "wrong", "unknown")


def _without_unjudged_methods(verdicts: list[Verdict]) -> list[Verdict]:
    """Return the verdicts without those on methods that could not be judged: what they need of their instance may be anything."""
    return [each for each in verdicts if "." not in each.subject or each.status in FOUND]
