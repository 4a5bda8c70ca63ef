"""The line at which a program leaves the way of right programs, and the conventions under which it follows that way farthest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from headway.practice.diagnosis.checks.trial import Trial, num_numbers
from headway.practice.diagnosis.reading.subject import Subject
from headway.practice.diagnosis.repair.donors import donors_of
from headway.practice.diagnosis.repair.milestones import departures, milestones
from headway.practice.diagnosis.repair.outcomes import answered, call_of, is_called_alike
from headway.practice.diagnosis.repair.program import Program, program_of
from headway.practice.outputs import Raised


def first_departure(subject: Subject, trial: Trial) -> int | None:
    """Return the first line, in the order of execution, whose value is computed from milestones and is none; None if it is not known.

    trial   outputs of the subject, some of which are wrong
    """
    program = program_of(subject)
    pairs = zip(trial.probes, trial.answers, strict=True)
    failing = sorted((probe for probe, answer in pairs if not trial.is_same(probe, answer)), key=lambda probe: num_numbers(probe.inputs))
    recorded, recorder = (None, None) if program is None or not failing else program.recording()
    if program is None or recorded is None or recorder is None:
        return None
    answered(replace(trial, call=call_of(trial, recorded)), failing[0])
    donors = donors_of(trial.exercise, trial.call.library, failing[0].inputs)
    lines = departures(program.statements, recorder.values, milestones(trial, failing[0], donors))
    line_of = {id(node): node.lineno for node in recorder.nodes}
    own = range(subject.line, subject.line + len(subject.source))
    allowed = lines.intersection(own) if trial.call.is_wired else lines  # other lines are those of parts that are replaced
    return next((line_of[node] for node in recorder.values if line_of[node] in allowed), None)


MAX_ALIKE = 24
"""Conventions that give a program the same inputs and are compared."""


def farthest_alike(program: Program, trial: Trial, trials: Sequence[Trial]) -> Trial:
    """Return the trial with the same inputs under whose conventions the program computes the most values of the definition's steps.

    The first line that leaves the way of right programs is found only under the program's own conventions.
    """
    run = (probe for probe, answer in zip(trial.probes, trial.answers, strict=True) if not isinstance(answer, Raised))
    probe = min(run, key=lambda each: num_numbers(each.inputs), default=None)
    if probe is None:
        return trial
    alike = [trial, *(each for each in trials if each is not trial and is_called_alike(each, trial, probe))][:MAX_ALIKE]
    recorded, recorder = program.recording() if len(alike) > 1 else (None, None)
    if recorded is None or recorder is None:
        return trial
    answered(replace(trial, call=call_of(trial, recorded)), probe)
    values = [each.signature for each in recorder.values.values()]
    return max(alike, key=lambda each: len(milestones(each, probe, ()).reached(values)))
