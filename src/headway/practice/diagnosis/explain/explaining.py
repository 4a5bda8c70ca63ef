"""Explanations of wrong outputs: a measured number, a known mistake, or a pair of mistakes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy

from headway.practice.diagnosis.calls.conventions import PLAIN, output_of
from headway.practice.diagnosis.checks.rotated_values import ROTATES_VALUES, may_rotate_values
from headway.practice.diagnosis.checks.trial import Trial, num_numbers
from headway.practice.diagnosis.classes.instances import InstanceCall
from headway.practice.diagnosis.explain.failure import explain
from headway.practice.diagnosis.explain.naming import candidates, names_of
from headway.practice.diagnosis.reading.subject import Subject
from headway.practice.exercise import Inputs, Mistake, Probe, Recovery
from headway.practice.message import Message
from headway.practice.outputs import Raised
from headway.practice.recipes.rotation import ROPE
from headway.practice.texts import Texts
from headway.practice.verdict import Cause

TEXTS = Texts("diagnosis")

ROTATES_ONE = TEXTS.mistake("rotates_one", pattern=rf"{ROPE}|rot|norm")

PROOFS = (
    TEXTS["proof_of_one"],
    TEXTS["proof_of_two"],
)
"""Proof of a cause with one mistake, and with two."""


@dataclass(frozen=True)
class Explanation:
    """Mistakes with which the definition returns all of the learner's outputs, and the resulting cause."""

    trial: Trial
    mistakes: tuple[Mistake, ...]
    cause: Cause


Explain = Callable[[Subject, Trial], Iterator[Explanation]]
"""A function that yields explanations of a trial."""


def named(subject: Subject, trial: Trial) -> Iterator[Explanation]:
    """Yield known mistakes in steps without a measurable number; of those whose only effect is an exception, the one in the line that raises."""
    found = [*_matching(subject, trial, [mistake for mistake in trial.exercise.mistakes if not _is_measurable(mistake, trial)])]
    if len(found) > 1 and _is_wrong_by_exceptions(trial):
        lines = {explain(answer.error, subject).line for answer in trial.answers if isinstance(answer, Raised)}
        at_line = [each for each in found if lines == {each.cause.line}]
        found = at_line if len(at_line) == 1 else []
    yield from found or _of_rotated_values(subject, trial)


def _of_rotated_values(subject: Subject, trial: Trial) -> Iterator[Explanation]:
    """Yield the rotation of the values of an attention that is judged without rotary positions, if a line of it rotates them."""
    if may_rotate_values(trial) and trial.matches((ROTATES_VALUES,)):
        yield _explanation(subject, trial, (ROTATES_VALUES,))


def _is_wrong_by_exceptions(trial: Trial) -> bool:
    """Return True if all that a subject returned is right, so that exceptions alone are wrong, which are the outcome of many mistakes."""
    return all(
        isinstance(answer, Raised) or trial.is_same(probe, answer) for probe, answer in zip(trial.probes, trial.answers, strict=True)
    )


def measured(subject: Subject, trial: Trial) -> Iterator[Explanation]:
    """Yield wrong numbers measured from the outputs."""
    if is_degenerate(trial):
        return
    for recovery in trial.exercise.recoveries:
        mistake = _measured_mistake(recovery, trial)
        if mistake is not None and trial.matches((mistake,)):
            yield _explanation(subject, trial, (mistake,))


def is_degenerate(trial: Trial) -> bool:
    """Return True if every output consists of zeros: any number that scales it explains it, and none says anything."""
    arrays = [each for each in trial.answers if isinstance(each, numpy.ndarray) and each.dtype.kind in "biuf"]
    return bool(arrays) and len(arrays) == len(trial.answers) and not any(each.any() for each in arrays)


def _is_supported(name: str, measured: Sequence[tuple[Mapping[str, float], float]]) -> bool:
    """Return True if at least two values of a formula's size were measured: a single one fits many formulas."""
    sizes = [size for size in measured[0][0] if size in name]
    if not sizes or not max(sizes, key=len).isidentifier():  # a constant of the part, such as √(2/π), has one value
        return True
    size = max(sizes, key=len)
    return len({each[size] for each, _ in measured}) > 1


def _measured_mistake(recovery: Recovery, trial: Trial) -> Mistake | None:
    """Return the measured number as a mistake; None if it is correct or cannot be measured."""
    encodings = tuple(each for each in trial.conventions if each.encode is not PLAIN.encode or each.decode is not PLAIN.decode)
    measured = trial.memory.measured
    key = (recovery, trial.call.binding, encodings)
    if key not in measured:
        measured[key] = _measure(recovery, trial)
    return measured[key]


def _measure(recovery: Recovery, trial: Trial) -> Mistake | None:
    try:
        measured = recovery.measure(lambda inputs: output_of(trial.call, trial.conventions, inputs))
    except (ValueError, TypeError, ArithmeticError, AttributeError, IndexError):  # the learner's function may return anything
        return None
    if not measured or not all(numpy.isfinite(number) for _, number in measured):
        return None
    if all(abs(number - recovery.right(inputs)) <= 1e-3 * max(abs(recovery.right(inputs)), 1e-12) for inputs, number in measured):
        return None
    of_sizes = [(recovery.sizes(inputs), number) for inputs, number in measured]
    names = [name for name in names_of(of_sizes) if _is_supported(name, of_sizes)]
    inputs, number = max(measured, key=lambda each: abs(each[1] - recovery.right(each[0])) / max(abs(recovery.right(each[0])), 1e-12))
    numbers = [each for _, each in measured]
    if not names and max(numbers) - min(numbers) > 1e-3 * max(map(abs, numbers)):
        return None

    def number_of(other: Inputs) -> float:
        sizes = recovery.sizes(other)
        if not names:
            return number
        return next(value for name, value in candidates(sizes).items() if name == names[0])

    says = recovery.says.format(
        value=f"{number:.4g}",
        names=" = " + " = ".join(names[:2]) if names else "",
        right=f"{recovery.right(inputs):.4g}",
        right_name=recovery.right_name,
    )
    steps = {recovery.step: recovery.wrong(number_of)}
    if _turns_one(trial, recovery, measured):
        return replace(ROTATES_ONE, steps=steps)
    return Mistake(recovery.name, steps, says, recovery.fix, recovery.hides, recovery.pattern)


def _turns_one(trial: Trial, recovery: Recovery, measured: Sequence[tuple[Inputs, float]]) -> bool:
    """Return True for the sign of what replaces rotary positions, if it reaches the scores of an attention once."""
    is_replaced = isinstance(trial.call, InstanceCall) and trial.call.construction.is_unrotated
    return is_replaced and recovery.name == "scale" and all(abs(number + recovery.right(inputs)) <= 1e-3 for inputs, number in measured)


def measurable(subject: Subject, trial: Trial) -> Iterator[Explanation]:
    """Yield known mistakes in steps whose number could not be measured, or explains nothing."""
    yield from _matching(subject, trial, [mistake for mistake in trial.exercise.mistakes if _is_measurable(mistake, trial)])


def _is_measurable(mistake: Mistake, trial: Trial) -> bool:
    return any(recovery.step in mistake.steps for recovery in trial.exercise.recoveries)


def _matching(subject: Subject, trial: Trial, mistakes: Sequence[Mistake]) -> Iterator[Explanation]:
    possible = trial.explaining_first()
    for mistake in mistakes:
        if mistake in possible and not trial.excludes(mistake) and trial.matches((mistake,)):
            yield _explanation(subject, trial, (mistake,))


def pairs(subject: Subject, trial: Trial) -> Iterator[Explanation]:
    """Yield pairs of mistakes; the search stops after NUM_PAIRS for all conventions together.

    Exceptions alone are the outcome of many pairs, so one wrong output must be a value.
    """
    if _is_wrong_by_exceptions(trial):
        return
    outputs = sorted(
        zip(trial.probes, trial.answers, strict=True), key=lambda pair: num_numbers(pair[0].inputs)
    )  # small probes exclude most pairs at the lowest cost
    recovered = [found for recovery in trial.exercise.recoveries if (found := _measured_mistake(recovery, trial))]
    mistakes = [mistake for mistake in trial.exercise.mistakes if not trial.excludes(mistake)]
    effects = [_Effects(trial, outputs, mistake) for mistake in (*recovered, *mistakes)]
    is_right = [trial.is_same(probe, answer) for probe, answer in outputs]
    for one, other in itertools.combinations(effects, 2):
        if not trial.memory.num_pairs:
            return
        trial.memory.num_pairs -= 1
        if one.steps.isdisjoint(other.steps) and _may_explain(one, other, is_right) and trial.matches((one.mistake, other.mistake)):
            yield _explanation(subject, trial, (one.mistake, other.mistake))


class _Effects:
    """Effects of one mistake on the outputs of a trial, each computed once."""

    def __init__(self, trial: Trial, outputs: Sequence[tuple[Probe, Any]], mistake: Mistake) -> None:
        self.mistake, self.steps = mistake, set(mistake.steps)
        self._trial, self._outputs = trial, outputs
        self._found: list[tuple[bool, bool]] = []

    def __getitem__(self, place: int) -> tuple[bool, bool]:
        """Return two values for a probe: True if the mistake changes its output, and True if the mistake alone explains the learner's."""
        while len(self._found) <= place:
            probe, answer = self._outputs[len(self._found)]
            applies = self._trial.expected(probe, (self.mistake,)) is not self._trial.expected(probe)
            self._found.append((applies, applies and self._trial.is_same(probe, answer, (self.mistake,))))
        return self._found[place]


def _may_explain(one: _Effects, other: _Effects, is_right: Sequence[bool]) -> bool:
    """Return True unless a probe excludes the pair: one to which at most one of the two mistakes applies, and which that one does not explain."""
    for place, right in enumerate(is_right):
        (applies, explains), (other_applies, other_explains) = one[place], other[place]
        if not (applies and other_applies) and not (explains if applies else other_explains if other_applies else right):
            return False
    return True


def _explanation(subject: Subject, trial: Trial, mistakes: tuple[Mistake, ...]) -> Explanation:
    first = mistakes[0]
    cause = Cause(
        name=" + ".join(mistake.said_as or mistake.name for mistake in mistakes),
        says=join([mistake.says for mistake in mistakes]),
        fix=join([mistake.fix for mistake in mistakes]),
        proof=PROOFS[len(mistakes) - 1].format(
            count=len(trial.probes),
            differing=len(trial.probes) - trial.num_matching(),
        ),
        hides=first.hides if len(mistakes) == 1 else None,
        line=subject.line_of(first.pattern(), first.elsewhere),
    )
    return Explanation(trial, mistakes, cause)


def join(words: Sequence[Message]) -> Message:
    """Return several statements as one."""
    return Message(
        "; and ".join(each.en for each in words),
        "；并且".join(f" {each.zh}" if each.zh[:1].isascii() else each.zh for each in words).strip(),
    )
