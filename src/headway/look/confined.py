"""Recording of a learner's function in the confined process of headway check, which returns a trace as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy

from headway.look.axes import AxisNames, names_for, parse_shapes
from headway.look.recording import record
from headway.look.trace import Trace
from headway.practice.diagnosis.calls.conventions import encoded_for
from headway.practice.diagnosis.checks.trial import Trial
from headway.practice.diagnosis.checks.trials import trials_of
from headway.practice.diagnosis.reading.subject import Subject, subjects_of
from headway.practice.exercise import Exercise, Probe
from headway.practice.exercises import exercise as exercise_by_name
from headway.practice.judge.examining import loaded
from headway.practice.judge.frames import write_frame
from headway.practice.judge.process import Confined
from headway.practice.judge.shown import printable
from headway.practice.judge.static import facts_of

MOST_NUMBERS = 1024


@dataclass(frozen=True)
class Recording:
    """A request to record a function of a learner's file. The confined process calls `prepared`.

    exercise  name of the part, whose probes are the inputs; None to call it with `inputs`
    probe     name of the probe; None for the first one on which the function is wrong
    inputs    arguments by parameter
    """

    path: Path
    text: str
    subject: str
    exercise: str | None
    probe: str | None = None
    inputs: Mapping[str, object] | None = None
    is_run: bool = True

    def prepared(self) -> Callable[[BinaryIO, BinaryIO], None]:
        """Return the function that records and writes the reply to a pipe."""

        def run(requests: BinaryIO, replies: BinaryIO) -> None:
            write_frame(replies, json.dumps(_reply(self)).encode("utf-8", "replace"))

        return run


@dataclass(frozen=True)
class Reply:
    """A recording of a learner's function.

    probe   name of the probe whose inputs it got; None for given inputs
    """

    trace: Trace
    probe: str | None


def recorded_in_sandbox(job: Recording, seconds: float) -> Reply | str:
    """Record a function in a confined process; return the reason as text if there is no recording."""
    with Confined(facts_of(job.text).preloaded) as confined, confined.phase(job, seconds) as conversation:
        data = conversation.receive()
    if data is None:
        return conversation.ended_for or "end"
    try:
        reply = json.loads(data)
        if "failed" in reply:
            return printable(str(reply["failed"]), 300)
        probe = reply["probe"]
        return Reply(Trace.from_json(reply["trace"]), probe if isinstance(probe, str) else None)
    except (ValueError, KeyError, TypeError, RecursionError) as error:  # TraceError is a ValueError
        return printable(str(error), 300)


def _reply(job: Recording) -> dict[str, str | None]:
    module, failure, _ = loaded(job)
    subject = None if module is None else next((each for each in subjects_of(module, job.text) if each.name == job.subject), None)
    if subject is None:
        return {"failed": failure.text() if failure else f"{job.subject} is not defined"}
    try:
        return _of_probe(job, subject, exercise_by_name(job.exercise)) if job.exercise else _of_inputs(job, subject)
    except Exception as error:
        return {"failed": f"{type(error).__name__}: {error}"}


def _of_inputs(job: Recording, subject: Subject) -> dict[str, str | None]:
    recorded = _recorded(job, subject.value, AxisNames({}), **(job.inputs or {}))
    return {"trace": recorded.to_json(), "probe": None}


def _of_probe(job: Recording, subject: Subject, exercise: Exercise) -> dict[str, str | None]:
    trials = list(trials_of(subject, exercise))
    if not trials:
        return {"failed": f"{subject.name} could not be called with the inputs of {exercise.name}"}
    trial = max(trials, key=Trial.num_matching)
    probe = _probe(trial, job.probe)
    encoded = encoded_for(trial.call, trial.conventions, probe.inputs)
    assert encoded is not None
    arguments = trial.call.arguments(encoded)
    names = names_for(parse_shapes(_docstring(exercise)), probe.inputs)
    trial.call.has_full_timeout = True
    recorded = _recorded(job, trial.call.run, AxisNames(names.sizes), arguments)
    return {"trace": recorded.to_json(), "probe": probe.name}


def _recorded(job: Recording, function: Callable[..., object], names: AxisNames, *args: object, **kwargs: Any) -> Trace:
    own = str(job.path)
    with numpy.errstate(all="ignore"):
        result = record(function, *args, is_followed=lambda file: file == own, names=names, text=job.text, most=MOST_NUMBERS, **kwargs)
    if not result.trace.call.steps and result.error is not None:
        raise result.error
    return result.trace


def _probe(trial: Trial, name: str | None) -> Probe:
    """Return the probe of a name, or the simplest one on which the function is wrong, else the first one with two axes."""
    pairs = list(zip(trial.probes, trial.answers, strict=True))
    named = [probe for probe, _ in pairs if probe.name == name]
    wrong = [probe for probe, answer in pairs if not trial.is_same(probe, answer)]
    wide = [
        probe for probe in trial.probes if any(numpy.ndim(value) > 1 for value in probe.inputs.values() if isinstance(value, numpy.ndarray))
    ]
    return (named or wrong or wide or list(trial.probes))[0]


def _docstring(exercise: Exercise) -> str:
    import inspect

    return inspect.getdoc(exercise.definition) or ""
