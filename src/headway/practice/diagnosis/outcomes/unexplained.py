"""Verdict on outputs that no known mistake explains, and on subjects that cannot be called."""

from __future__ import annotations

from typing import Any

import numpy

from headway.practice.diagnosis.adapters import calls_of
from headway.practice.diagnosis.calls.calling import libraries_for, returns_value
from headway.practice.diagnosis.calls.compare import first_difference
from headway.practice.diagnosis.calls.conventions import PLAIN
from headway.practice.diagnosis.checks.random_starts import draws_itself
from headway.practice.diagnosis.checks.repeating import NOT_REPEATABLE, differs_when_repeated, is_nothing
from headway.practice.diagnosis.checks.shared_ids import shared_ids_cause
from headway.practice.diagnosis.checks.trial import Trial
from headway.practice.diagnosis.explain.failure import described_inputs, explain
from headway.practice.diagnosis.explain.impossible import impossible
from headway.practice.diagnosis.explain.undefined import undefined
from headway.practice.diagnosis.outcomes.of_trial import behavior_cause, verdict_of, verdict_without_trial
from headway.practice.diagnosis.reading.subject import Subject
from headway.practice.exercise import Exercise
from headway.practice.message import EMPTY, Message
from headway.practice.outputs import Raised, precision
from headway.practice.texts import Texts
from headway.practice.verdict import Cause, Verdict

TEXTS = Texts("diagnosis")


def not_understood(subject: Subject, exercise: Exercise, trial: Trial, difference: Message | None) -> Verdict:
    """Return the verdict on a subject whose outputs have another form throughout: its convention is in doubt."""
    cause = Cause("not_understood", TEXTS["other_shapes"], TEXTS["select_part_or_state_shapes"], EMPTY, line=subject.line)
    return verdict_of(subject, exercise, "could not run", trial, causes=(cause,), difference=difference)


def unexplained(subject: Subject, exercise: Exercise, trial: Trial) -> Verdict:
    """Return the verdict without a known mistake: the exception if one was raised, else the first difference."""
    of_ids = shared_ids_cause(trial)
    if of_ids is not None:
        return verdict_of(subject, exercise, "wrong", trial, causes=(of_ids,))
    for probe, answer in sorted(zip(trial.probes, trial.answers, strict=True), key=lambda pair: not lacks_local(pair[1])):
        expected = trial.expected(probe)
        if trial.is_same(probe, answer):  # a division by 0 that the caller has to avoid raises as it may
            continue
        if isinstance(answer, Raised):
            return verdict_of(subject, exercise, "could not run", trial, causes=(explain(answer.error, subject, probe),))
        if is_nothing(answer) and returns_value(subject) and any(each.decode is not PLAIN.decode for each in trial.conventions):
            return not_understood(subject, exercise, trial, None)  # an output of another form
        if is_nothing(answer):
            says = TEXTS["returns_nothing"]
            fix = TEXTS["return_result"]
            return verdict_of(subject, exercise, "wrong", trial, causes=(Cause("returns_nothing", says, fix, EMPTY),))
        if isinstance(answer, numpy.ndarray) and isinstance(expected, numpy.ndarray) and answer.shape != expected.shape:
            shapes = TEXTS["shape_differs"].format(
                shape=numpy.shape(answer), expected=numpy.shape(expected), inputs=described_inputs(probe.inputs)
            )
            if not trial.num_matching() and (trial.call.is_instance or numpy.ndim(answer) != numpy.ndim(expected)):
                return not_understood(subject, exercise, trial, shapes)
            return verdict_of(subject, exercise, "unknown", trial, difference=shapes)
        difference = first_difference(answer, expected, precision(answer))
        if isinstance(expected, numpy.ndarray) and not isinstance(answer, numpy.ndarray) and not trial.num_matching():
            return not_understood(subject, exercise, trial, difference)
        return verdict_of(subject, exercise, "unknown", trial, difference=difference)
    return not_understood(subject, exercise, trial, None)  # the definition raises as well


def lacks_local(answer: Any) -> bool:
    """Return True for the exception of a variable that some path does not assign, which no inputs excuse."""
    return isinstance(answer, Raised) and isinstance(answer.error, UnboundLocalError)


def without_binding(subject: Subject, exercise: Exercise) -> Verdict:
    """Return the verdict for a function whose parameters do not match the roles, such as one that creates random weights."""
    for library in libraries_for(subject):
        for call in calls_of(subject, exercise, library):
            probes = exercise.probes() if call.binding.role_of else exercise.probes()[:1]  # every call without operands is the same
            if any(differs_when_repeated(call, probe.inputs) for probe in probes) and not draws_itself(subject, exercise.name):
                cause = behavior_cause(subject, NOT_REPEATABLE)
                return verdict_without_trial(subject, exercise, "wrong", cause)
    return _cannot_be_called(subject, exercise)


def _cannot_be_called(subject: Subject, exercise: Exercise) -> Verdict:
    lacking = undefined(subject) or impossible(subject)
    if lacking is not None:
        return verdict_without_trial(subject, exercise, "wrong", lacking)
    taken = ", ".join(parameter.name for parameter in subject.parameters) or "nothing"
    known = ", ".join(role.name for role in exercise.roles)
    says = TEXTS["parameters"].format(taken=taken, known=known)
    fix = TEXTS["name_them"]
    cause = Cause("parameters", says, fix, EMPTY, line=subject.line)
    return verdict_without_trial(subject, exercise, "could not run", cause)
