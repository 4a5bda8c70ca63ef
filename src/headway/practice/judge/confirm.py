"""Confirmation of claims: fresh random probes are sent to the confined process, and its answers are compared here."""

from __future__ import annotations

import itertools
import pickle
import re
import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy

from headway.practice.diagnosis.calls.binding import Binding, derivation
from headway.practice.diagnosis.calls.calling import Call
from headway.practice.diagnosis.calls.compare import first_difference
from headway.practice.diagnosis.calls.conventions import PLAIN, as_precise, encoded_in, main_output
from headway.practice.diagnosis.checks.trial import Trial
from headway.practice.diagnosis.reading.subject import Subject
from headway.practice.exercise import Convention, Exercise, Inputs, Mistake, Probe, Role
from headway.practice.judge import plain
from headway.practice.judge.claims import Claim
from headway.practice.judge.fresh import fresh_probes
from headway.practice.judge.jobs import Question, packed
from headway.practice.message import Message
from headway.practice.outputs import Raised, is_same, precision

Ask = Callable[[bytes], bytes | None]
"""A function that sends a request to the confined process and returns its reply; None if it has ended."""

SHARE_ANSWERED = 0.05
"""Smallest share of the probes that its operands allow and that a class must answer; some sizes do not suit its weights."""

MOST_CHOICES = 16
WIDER = 10.0
"""Tolerance relative to that of the diagnosis, which has already distinguished what is nearly right."""


class NoAnswerError(Exception):
    """The confined process ended instead of answering."""


@dataclass(frozen=True)
class Outcome:
    """Result of comparing the answers to fresh probes.

    is_right     True if a subject is correct for them
    changes      True if it then modified its inputs
    repeats      False if two equal calls returned different outputs
    difference   the first element that differs
    only_raises  True if every call whose output differs raised, apart from those that a correct function may reject
    """

    is_right: bool
    changes: bool = False
    repeats: bool = True
    difference: Message | None = None
    only_raises: bool = False


def outcome(exercise: Exercise, claim: Claim, seed: int, ask: Ask, *, is_function: bool = False, source: str = "") -> Outcome:
    """Return the outcome for one claim.

    is_function   True if the subject is a function, which has to answer every probe that its operands allow
    source        source of its definition, which may say that some probes are not meant for it

    Errors   NoAnswerError if the process ended.
    """
    fresh = (each for each in fresh_probes(exercise, seed) if each.unless is None or re.search(each.unless, source) is None)
    probes = [each for each in fresh if each.caution is None or each.beyond is not None]
    remote = _Remote(exercise, claim, probes, ask, SHARE_ANSWERED if exercise.calls or not is_function else 1.0)
    order = list(probes)
    secrets.SystemRandom().shuffle(order)
    replies = {probe.name: remote.replies(probe.inputs) for probe in order}
    choices = list(itertools.islice(_choices(exercise, claim, remote), MOST_CHOICES))
    best: Outcome | None = None
    for place, conventions in enumerate(choices):
        trial, changes = _trial(remote, conventions, [(probe, _at(replies[probe.name], place)) for probe in probes])
        if trial is None:
            continue
        right = next((each for each in _narrower(trial) if each.is_right() and _is_telling(each)), None)
        if right is not None:
            return Outcome(True, changes and not any(each.may_write for each in conventions), _repeats(right, remote, place))
        kept = trial.without_refused()
        differing = [answer for probe, answer in zip(kept.probes, kept.answers, strict=True) if not kept.is_same(probe, answer)]
        only_raises = all(isinstance(each, Raised) for each in differing)
        best = best or Outcome(False, difference=_difference(kept), only_raises=only_raises)
    return best or Outcome(False, only_raises=True)


class _Remote:
    """The subject, called in the confined process.

    share             share of the possible probes that it must answer
    takes, requires   the operands that it takes and requires, as the process reports them
    """

    def __init__(self, exercise: Exercise, claim: Claim, probes: Sequence[Probe], ask: Ask, share: float) -> None:
        self.exercise, self.claim, self.probes, self.ask, self.share = exercise, claim, probes, ask, share
        self.takes: set[str] = set()
        self.requires: set[str] = set()

    def replies(self, inputs: Inputs, *, has_conventions: bool = True) -> list[Any]:
        """Return the raw output for each choice of conventions: an output, Raised, or SKIPPED."""
        question = Question(self.claim, packed(inputs, self.exercise.name, self.probes), has_conventions)
        data = self.ask(pickle.dumps(question))
        if data is None:
            raise NoAnswerError
        try:
            reply = plain.decode(data)
        except plain.MalformedError:
            return [Output(Raised(ValueError("not an answer")))]
        if not isinstance(reply, dict):
            return []
        if "failed" in reply:
            return [Output(reply.get("answer"))]
        for names, found in ((self.takes, reply.get("takes")), (self.requires, reply.get("requires"))):
            names |= {name for name in found if isinstance(name, str)} if isinstance(found, list) else set()
        answers = reply.get("answers")
        return [_output(each) for each in answers] if isinstance(answers, list) else []

    def measured(self, inputs: Inputs) -> Any:
        """Return the output without conventions and without further values, for measurements."""
        found = self.replies(inputs, has_conventions=False)
        answer = found[0].value if found and isinstance(found[0], Output) else Raised(ValueError("no answer"))
        return main_output(answer, self.exercise)


@dataclass(frozen=True)
class Output:
    """An output, and True if the inputs were modified."""

    value: Any
    has_changed_inputs: bool = False


def _output(reply: Any) -> Output | None:
    """Return the output in a reply; None if the process skipped the probe."""
    if not isinstance(reply, dict) or "output" not in reply:
        return None
    return Output(reply["output"], reply.get("has_changed_inputs") is not False)


def _at(replies: Sequence[Any], place: int) -> Any:
    if not replies:
        return None
    return replies[place] if place < len(replies) else replies[0] if len(replies) == 1 else None


def _choices(exercise: Exercise, claim: Claim, remote: _Remote) -> Iterator[tuple[Convention, ...]]:
    """Yield the claimed conventions; what they measure is measured here."""
    groups = []
    for group, index in zip(exercise.conventions, claim.conventions, strict=True):
        convention = group[index]
        if convention.reads is None:
            groups.append([convention])
            continue
        try:
            read = convention.reads(remote.measured)
        except (ValueError, TypeError, ArithmeticError, AttributeError, IndexError, pickle.PicklingError):
            read = None
        groups.append([] if read is None else [read] if isinstance(read, Convention) else list(read))
    yield from itertools.product(*groups)


class _Confirming(Trial):
    """A trial with wider tolerances: random numbers may be less well conditioned than the exercise's own."""

    def is_same(self, probe: Probe, answer: Any, mistakes: tuple[Mistake, ...] = ()) -> bool:
        """Return True if one output equals that of the definition with these mistakes."""
        expected = self.expected(probe, mistakes)
        rounding = 0.0 if self.decimals is None else 10.0**-self.decimals
        return is_same(answer, expected, WIDER * max(precision(answer), precision(expected)), rounding)

    def _asks_for_mask(self, raised: Raised) -> bool:
        """Return True: the diagnosis has read the line that raised."""
        return True


def _trial(remote: _Remote, conventions: tuple[Convention, ...], pairs: Sequence[tuple[Probe, Any]]) -> tuple[Trial | None, bool]:
    """Return the answered probes as a trial, and True if the inputs were modified; None if too few were answered."""
    exercise, claim = remote.exercise, remote.claim
    kept = [(probe, output) for probe, output in pairs if output is not None]
    shared = set.intersection(*(set(probe.inputs) for probe, _ in kept)) if kept else set()  # operands that it may require
    possible = sum(shared <= set(probe.inputs) and _is_expressible(remote, conventions, probe) for probe, _ in pairs)
    if len(kept) < max(1, remote.share * possible):
        return None, False
    decoding = _decoding(conventions)
    answers = tuple(_decoded(output.value, decoding, probe.inputs) for probe, output in kept)
    known = {role.name: role for role in exercise.roles}
    binding = Binding({name: known.get(name, Role(name)) for name in sorted(remote.takes)})
    call = Call(Subject(_not_here, claim.subject), binding, claim.library)
    trial = _Confirming(exercise, call, conventions, tuple(probe for probe, _ in kept), answers).as_rounded()
    return trial, any(output.has_changed_inputs for _, output in kept)


def _not_here(*positional: Any, **named: Any) -> Any:
    raise NotImplementedError("the subject is in another process")


def _is_expressible(remote: _Remote, conventions: Sequence[Convention], probe: Probe) -> bool:
    """Return True if the probe has every operand that the subject requires, and no operand that it does not take."""
    derived = {role.name: derivation(role) for role in remote.exercise.roles if role.name in remote.takes - set(probe.inputs)}
    try:
        sizes = {name: of(probe.inputs) for name, of in derived.items() if of is not None}
        encoded: Inputs | None = probe.inputs | {name: size for name, size in sizes.items() if size is not None}
        for convention in conventions:
            encoded = None if encoded is None else encoded_in(convention, encoded)
    except Exception:  # sizes that this probe does not define
        return False
    return encoded is not None and remote.requires <= set(encoded) <= remote.takes


def _decoded(answer: Any, decoding: Sequence[Convention], inputs: Inputs) -> Any:
    """Return an output in the convention of headway.functions; an output that has another form is Raised."""
    given = answer
    for convention in reversed(decoding):
        if isinstance(answer, Raised) or answer is None:
            return answer
        try:
            with numpy.errstate(all="ignore"):
                answer = convention.decode(answer, inputs)
        except Exception as error:
            return Raised(TypeError(f"an output of another form: {error}"))
    return as_precise(answer, given)


def _narrower(trial: Trial) -> Iterator[Trial]:
    """Yield the trial without the optional probes that a correct function may reject, in the order of the diagnosis."""
    yield trial
    narrower = trial.without_refused()
    yield narrower
    yield from map(narrower.within_axes, (2, 3))
    yield narrower.without_misshapen()
    yield narrower.without_caution()


def _is_telling(trial: Trial) -> bool:
    """Return True if the right outputs have different numbers: a constant may be right by coincidence."""
    return len({number for probe in trial.probes for number in _numbers(trial.expected(probe))}) > 1


def _numbers(expected: Any) -> Iterator[Any]:
    if isinstance(expected, tuple | list):
        for each in expected:
            yield from _numbers(each)
    elif isinstance(expected, dict):
        yield from expected.items()
    elif isinstance(expected, str | bytes):
        yield expected
    elif not isinstance(expected, Raised):
        yield from numpy.unique(numpy.asarray(expected)).tolist()


def _repeats(trial: Trial, remote: _Remote, place: int) -> bool:
    """Return True if a second call is right too, tested with the probe of the largest output."""
    sizes = [numpy.size(answer) if isinstance(answer, numpy.ndarray) else 0 for answer in trial.answers]
    probe = trial.probes[sizes.index(max(sizes))]
    again = _at(remote.replies(probe.inputs), place)
    return again is not None and trial.is_same(probe, _decoded(again.value, _decoding(trial.conventions), probe.inputs))


def _decoding(conventions: Sequence[Convention]) -> list[Convention]:
    return [each for each in conventions if each.decode is not PLAIN.decode]


def _difference(trial: Trial) -> Message | None:
    for probe, answer in zip(trial.probes, trial.answers, strict=True):
        if not trial.is_same(probe, answer):
            try:
                return first_difference(answer, trial.expected(probe), precision(answer))
            except (ValueError, TypeError):
                return None
    return None
