"""Explanations of programs that have a known mistake and also raise for some inputs: two mistakes, of which one is an exception."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from headway.practice.diagnosis.checks.trial import Trial
from headway.practice.diagnosis.explain.explaining import Explain, Explanation, join
from headway.practice.diagnosis.explain.failure import explain, refuses
from headway.practice.diagnosis.reading.subject import Subject
from headway.practice.outputs import Raised

MOST_RAISED = 1 / 4
"""Largest share of the calls that raise: with fewer outputs more mistakes fit by coincidence."""


def with_exception(subject: Subject, trials: Iterable[Trial], ways: Sequence[Explain]) -> list[Explanation]:
    """Return the explanations of all outputs, each with the exception in the one line of the subject that raises."""
    return [found for trial in trials for found in _of_trial(subject, trial, ways)]


def _of_trial(subject: Subject, trial: Trial, ways: Sequence[Explain]) -> Iterator[Explanation]:
    answered = [(probe, answer) for probe, answer in zip(trial.probes, trial.answers, strict=True) if not isinstance(answer, Raised)]
    raised = [(probe, answer) for probe, answer in zip(trial.probes, trial.answers, strict=True) if isinstance(answer, Raised)]
    if not raised or len(raised) > MOST_RAISED * len(trial.probes) or any(refuses(each.error, subject) for _, each in raised):
        return
    causes = [explain(each.error, subject, probe) for probe, each in raised]
    if causes[0].line is None or any(each.line != causes[0].line for each in causes):
        return
    fewer = replace(trial, probes=tuple(probe for probe, _ in answered), answers=tuple(answer for _, answer in answered))
    if not fewer.has_answers or fewer.matches():
        return
    for way in ways:
        for found in way(subject, fewer):
            cause, raising = found.cause, causes[0]
            name, says, fix = f"{cause.name} + {raising.name}", join([cause.says, raising.says]), join([cause.fix, raising.fix])
            yield replace(found, cause=replace(cause, name=name, says=says, fix=fix))
