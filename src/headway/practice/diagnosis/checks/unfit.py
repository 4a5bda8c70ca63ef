"""Trials of classes with which no probe fits."""

from __future__ import annotations

from inspect import isclass

from headway.practice.diagnosis.adapters import calls_of
from headway.practice.diagnosis.calls.calling import libraries_for
from headway.practice.diagnosis.checks.trial import Trial
from headway.practice.diagnosis.reading.subject import Subject
from headway.practice.exercise import Exercise
from headway.practice.outputs import Raised


def unfit_trials(subject: Subject, exercise: Exercise) -> list[Trial]:
    """Return a trial of the first way to construct a class with which no probe fits, as if all calls had raised: it may lack places for weights.

    Functions have none.
    """
    if not isclass(subject.value):
        return []
    conventions = tuple(group[0] for group in exercise.conventions)
    for library in libraries_for(subject):
        for call in calls_of(subject, exercise, library):
            probes = tuple(probe for probe in exercise.probes() if probe.caution is None)
            return [Trial(exercise, call, conventions, probes, (Raised(ValueError("the weights have no place")),) * len(probes))]
    return []
