"""Answers to the judge's questions, in a confined process that has no right answers of its own."""

from __future__ import annotations

import pickle
import traceback
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, BinaryIO

import numpy

from headway.practice.diagnosis.adapters import adapter, calls_of, class_of_calls
from headway.practice.diagnosis.calls.calling import Call
from headway.practice.diagnosis.calls.conventions import encoded_for, measured_conventions, output_of
from headway.practice.diagnosis.calls.jax_on_numpy import jax_on_numpy
from headway.practice.diagnosis.classes.flax_modules import subjects_in
from headway.practice.diagnosis.reading.absent_parts import FUNCTIONS
from headway.practice.exercise import MISSING, Convention, Exercise, Inputs
from headway.practice.exercises import exercise as exercise_by_name
from headway.practice.judge import plain
from headway.practice.judge.blind import blinded
from headway.practice.judge.claims import Claim
from headway.practice.judge.examining import loaded
from headway.practice.judge.frames import read_frame, write_frame
from headway.practice.judge.fresh import fresh_probes
from headway.practice.judge.jobs import Question, Questions, unpacked
from headway.practice.outputs import Raised

MAX_QUESTION = 2**31
NUM_COMPILED = 1
"""Number of outputs of each subject that JAX compiles; it takes seconds, and NumPy computes the others."""


def prepared(job: Questions) -> Callable[[BinaryIO, BinaryIO], None]:
    """Remove the answers of the exercises, and return the function that loads the file and answers questions from a pipe."""
    adapter(None)  # imported now, because Headway's files cannot be read later
    chosen = [exercise_by_name(name) for name in job.exercises]
    for each in chosen:
        class_of_calls(each.drawing)
    probes_of = {each.name: fresh_probes(each, job.seed) for each in chosen}
    inputs = [probe.inputs for probes in probes_of.values() for probe in probes]
    kept = [function for name, (function, _) in FUNCTIONS.items() if name not in job.exercises]
    own = {each.name: each for each in blinded(chosen, [*inputs, *kept], is_open=job.is_open)}

    def run(requests: BinaryIO, replies: BinaryIO) -> None:
        module, _, _ = loaded(job)
        subjects = {} if module is None else {each.name: each for each in subjects_in(module, job.text)}
        calls: dict[Claim, tuple[Call | None, tuple[tuple[Convention, ...], ...]]] = {}
        num_answered: Counter[Claim] = Counter()
        write_frame(replies, b"ready")
        while data := read_frame(requests, MAX_QUESTION):
            question: Question = pickle.loads(data)
            claim, exercise = question.claim, own[question.claim.exercise]
            try:
                if claim not in calls:
                    with jax_on_numpy():
                        calls[claim] = _call(subjects[claim.subject], exercise, claim)
                is_compiled = num_answered[claim] < NUM_COMPILED and exercise.drawing is None  # what is drawn is read from arrays
                with nullcontext() if is_compiled else jax_on_numpy():
                    reply = _answer(*calls[claim], question, unpacked(question.inputs, probes_of))
                num_answered[claim] += any("output" in each for each in reply["answers"])
                data = plain.encode(reply)
            except Exception as error:
                data = plain.encode({"failed": traceback.format_exc()[-500:], "answer": Raised(error)})
            write_frame(replies, data)

    return run


def _call(subject: Any, exercise: Exercise, claim: Claim) -> tuple[Call | None, tuple[tuple[Convention, ...], ...]]:
    """Return the claimed call, and the possible conventions: one choice, or several if one is measured from the function."""
    calls = calls_of(subject, exercise, claim.library)
    if claim.place >= len(calls):
        return None, ()
    call = replace(calls[claim.place], has_full_timeout=True, endless=set())
    choices: list[tuple[Convention, ...]] = [()]
    for group, index in zip(exercise.conventions, claim.conventions, strict=True):
        choices = [(*chosen, each) for chosen in choices for each in measured_conventions(group[index], call, exercise)]
    return call, tuple(choices)


def _answer(call: Call | None, choices: tuple[tuple[Convention, ...], ...], question: Question, inputs: Inputs) -> dict[str, Any]:
    """Return the raw output under each choice of conventions, and the operands that the subject takes and requires."""
    if call is None:
        return {"takes": [], "requires": [], "answers": []}
    takes = sorted({role.name for role in call.binding.role_of.values()})
    needed = {parameter.name for parameter in call.parameters if parameter.default is parameter.empty}
    requires = sorted({role.name for name, role in call.binding.role_of.items() if name in needed and role.neutral is MISSING})
    if not question.has_conventions:
        return {"takes": takes, "requires": requires, "answers": [{"output": output_of(call, (), inputs)}]}
    answers = []
    for choice in choices:
        encoded = encoded_for(call, choice, inputs)
        if encoded is None or not call.fits(encoded):
            answers.append({"skipped": True})
            continue
        once = replace(call, has_changed_inputs=False)
        with numpy.errstate(all="ignore"):
            output = once(encoded)
        answers.append({"output": output, "has_changed_inputs": once.has_changed_inputs})
    return {"takes": takes, "requires": requires, "answers": answers}
