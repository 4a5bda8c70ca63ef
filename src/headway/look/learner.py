"""Views of a learner's function: next to its definition on the same inputs, with the first line that differs and the verdict of check."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy

from headway.look.confined import Recording, Reply, recorded_in_sandbox
from headway.look.html import Panel
from headway.look.recording import record
from headway.look.trace import Call, Step, Trace, Value, calls_of
from headway.look.view import View
from headway.practice.diagnosis.sandbox import TIMEOUT_SECONDS, check_file
from headway.practice.exercises import NAMES
from headway.practice.exercises import exercise as exercise_by_name
from headway.practice.judge.shown import all_printable, printable
from headway.practice.judge.static import facts_of
from headway.practice.message import Message, PracticeError, same
from headway.practice.source import edited, located, read
from headway.practice.texts import Texts
from headway.practice.verdict import Verdict

TEXTS = Texts("look")

TOLERANCE = 1e-4


def view_of_file(
    path: Path,
    *,
    named: str | None = None,
    function: str | None = None,
    inputs: Mapping[str, object] | None = None,
    seconds: float = TIMEOUT_SECONDS,
) -> View:
    """Return the view of a function or class in a Python file or notebook. The file runs in the confined process of headway check.

    named     exercise that it is, if its name does not say so
    function  name in the file; by default the first one that is wrong, else the first that is a part of the transformer
    inputs    arguments by parameter, in place of a probe of the exercise
    seconds   limit for each run of the file

    Errors   OptionError for a file that cannot be read, that defines no such function, or that cannot be recorded.
    """
    source = read(path)
    path = path.absolute()
    if inputs is not None:
        name = function or next(iter(facts_of(source.text).lines), None)
        if name is None:
            raise PracticeError(TEXTS["nothing_found"].format(path=printable(str(path))))
        reply = _reply(Recording(path, source.text, name, None, inputs=inputs), seconds)
        return View(same(name), (Panel(TEXTS["yours"], all_printable(reply.trace)),))
    verdict = _chosen(check_file(path, named, timeout_seconds=seconds), function, path)
    if verdict.exercise not in NAMES:
        raise PracticeError(same(verdict.text("en")))
    job = Recording(path, source.text, verdict.subject, verdict.exercise)
    reply = _reply(job, seconds)
    right = _repaired(job, verdict, reply.probe, seconds)
    definition = _definition(verdict.exercise, reply.probe)
    differs = None if verdict.is_correct else first_difference(reply.trace.call, right, definition)
    yours = Panel(TEXTS["yours"], all_printable(reply.trace), differs)
    panels = (yours,) if definition is None else (yours, Panel(TEXTS["definition"], definition))
    title = exercise_by_name(verdict.exercise).title
    return View(title, panels, TEXTS["on_probe"].format(probe=reply.probe or ""), located(verdict, source))


def first_difference(call: Call, right: Call | None, definition: Trace | None) -> int | None:
    """Return the first line whose value differs from the right one.

    right       the call of the same code with the verified repair, which is compared statement by statement
    definition  used without a repair: the first array after the last one that equals an array of the definition
    """
    if right is not None:
        for own, other in zip(call.steps, right.steps, strict=False):
            if own.line != other.line or not _are_same(own, other):
                return own.line
        shorter = min(len(call.steps), len(right.steps))
        return call.steps[shorter].line if len(call.steps) > shorter else None
    if definition is None:
        return None
    known = [value for each in calls_of(definition.call) for value in _values(each) if value.shape]
    made = [(step.line, value) for step in call.steps for value in step.values if value.shape]
    equal = [place for place, (_, value) in enumerate(made) if any(_is_same(value, other) for other in known)]
    after = made[max(equal, default=-1) + 1 :]
    return after[0][0] if after else None


def _are_same(own: Step, other: Step) -> bool:
    return len(own.values) == len(other.values) and all(
        one.name == two.name and _is_same(one, two) for one, two in zip(own.values, other.values, strict=True)
    )


def _is_same(own: Value, other: Value) -> bool:
    if own.shape is None or other.shape is None:
        return own.shape == other.shape and own.text == other.text
    if own.shape != other.shape or own.kept != other.kept:
        return False
    left, right = numpy.array(own.numbers, float), numpy.array(other.numbers, float)
    return bool(numpy.allclose(left, right, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True))


def _values(call: Call) -> Iterator[Value]:
    for step in call.steps:
        yield from step.values


def _chosen(verdicts: Sequence[Verdict], function: str | None, path: Path) -> Verdict:
    """Return the verdict to show."""
    if function is not None:
        verdicts = [each for each in verdicts if each.subject == function]
    wrong = [each for each in verdicts if not each.is_correct]
    if not verdicts:
        raise PracticeError(TEXTS["nothing_found"].format(path=printable(str(path))), hint=TEXTS["give_inputs"])
    return (wrong or list(verdicts))[0]


def _reply(job: Recording, seconds: float) -> Reply:
    reply = recorded_in_sandbox(job, seconds)
    if isinstance(reply, Reply):
        return reply
    reasons: Mapping[str, Message] = {"time": TEXTS["too_slow"], "memory": TEXTS["too_large"], "end": TEXTS["ended"]}
    raise PracticeError(TEXTS["not_recorded"].format(name=job.subject, reason=reasons.get(reply, same(reply))))


def _repaired(job: Recording, verdict: Verdict, probe: str | None, seconds: float) -> Call | None:
    """Return the call of the repaired code; None without a repair."""
    if verdict.repair is None:
        return None
    text = edited(job.text, verdict.repair.edits, job.path)
    reply = recorded_in_sandbox(Recording(job.path, text, job.subject, job.exercise, probe), seconds)
    return reply.trace.call if isinstance(reply, Reply) else None


def _definition(name: str, probe: str | None) -> Trace | None:
    """Return the trace of the definition on a probe; None if the probe's inputs are not its parameters."""
    exercise = exercise_by_name(name)
    inputs = next((each.inputs for each in exercise.probes() if each.name == probe), None)
    function: Callable[..., object] = exercise.definition
    if inputs is None or not inspect.isfunction(function):
        return None
    try:
        inspect.signature(function).bind(**inputs)
    except TypeError:
        return None
    recorded = record(function, **inputs)
    return None if recorded.error is not None else recorded.trace
