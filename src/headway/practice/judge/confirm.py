"""Confirmation of claims: fresh random probes are sent to the confined process, and its answers are compared here."""

from __future__ import annotations

import itertools
import pickle
import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy

from headway.practice.diagnosis.calling import Binding, Call, derivation
from headway.practice.diagnosis.compare import first_difference
from headway.practice.diagnosis.subject import Subject
from headway.practice.diagnosis.trials import PLAIN, Trial, encoded_in
from headway.practice.exercise import Convention, Exercise, Inputs, Probe, Role
from headway.practice.judge import plain
from headway.practice.judge.claims import Claim
from headway.practice.judge.fresh import fresh_probes
from headway.practice.judge.jobs import Question, packed
from headway.practice.message import Message
from headway.practice.outputs import Raised, is_same, precision

Ask = Callable[[bytes], bytes | None]
"""A function that sends a request to the confined process and returns its reply; None if it has ended."""

SHARE_ANSWERED = 1 / 3
"""Smallest share of the probes that the subject's operands allow and that it must answer."""

MOST_CHOICES = 16


class NoAnswerError(Exception):
    """The confined process ended instead of answering."""


@dataclass(frozen=True)
class Outcome:
    """Result of comparing the answers to fresh probes.

    is_right     True if a subject is correct for them
    changes      True if it then modified its inputs
    repeats      False if two equal calls returned different outputs
    difference   the first element that differs
    """

    is_right: bool
    changes: bool = False
    repeats: bool = True
    difference: Message | None = None


def outcome(exercise: Exercise, claim: Claim, seed: int, ask: Ask) -> Outcome:
    """Return the outcome for one claim.

    Errors   NoAnswerError if the process ended.
    """
    probes = [each for each in fresh_probes(exercise, seed) if each.caution is None or each.beyond is not None]
    remote = _Remote(exercise, claim, probes, ask)
    order = list(probes)
    secrets.SystemRandom().shuffle(order)
    replies = {probe.name: remote.replies(probe.inputs) for probe in order}
    choices = list(itertools.islice(_choices(exercise, claim, remote), MOST_CHOICES))
    best: Outcome | None = None
    for place, conventions in enumerate(choices):
        trial, changes = _trial(exercise, claim, conventions, remote.takes, [(probe, _at(replies[probe.name], place)) for probe in probes])
        if trial is None:
            continue
        right = next((each for each in _narrower(trial) if each.is_right()), None)
        if right is not None:
            return Outcome(True, changes, _repeats(right, remote, place, replies))
        best = best or Outcome(False, difference=_difference(trial))
    return best or Outcome(False)


class _Remote:
    """The subject, called in the confined process. takes   the operands that it takes, as the process reports them."""

    def __init__(self, exercise: Exercise, claim: Claim, probes: Sequence[Probe], ask: Ask) -> None:
        self.exercise, self.claim, self.probes, self.ask = exercise, claim, probes, ask
        self.takes: set[str] = set()

    def replies(self, inputs: Inputs, *, has_conventions: bool = True) -> list[Any]:
        """Return the raw output for each choice of conventions: an output, Raised, or SKIPPED."""
        question = Question(self.claim, packed(inputs, self.exercise.name, self.probes), has_conventions)
        data = self.ask(pickle.dumps(question))
        if data is None:
            raise NoAnswerError
        try:
            reply = plain.decode(data)
        except plain.MalformedError:
            return [Raised(ValueError("not an answer"))]
        if not isinstance(reply, dict):
            return []
        if "failed" in reply:
            return [Output(reply.get("answer"))]
        if isinstance(reply.get("takes"), list):
            self.takes |= {name for name in reply["takes"] if isinstance(name, str)}
        answers = reply.get("answers")
        return [_output(each) for each in answers] if isinstance(answers, list) else []

    def measured(self, inputs: Inputs) -> Any:
        """Return the output without conventions, for measurements."""
        found = self.replies(inputs, has_conventions=False)
        return found[0].value if found and isinstance(found[0], Output) else Raised(ValueError("no answer"))


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


def _trial(
    exercise: Exercise, claim: Claim, conventions: tuple[Convention, ...], takes: set[str], pairs: Sequence[tuple[Probe, Any]]
) -> tuple[Trial | None, bool]:
    """Return the answered probes as a trial, and True if the inputs were modified; None if too few were answered."""
    kept = [(probe, output) for probe, output in pairs if output is not None]
    shared = set.intersection(*(set(probe.inputs) for probe, _ in kept)) if kept else set()  # operands that it may require
    possible = sum(shared <= set(probe.inputs) and _is_expressible(exercise, conventions, takes, probe) for probe, _ in pairs)
    if len(kept) < max(min(2, len(pairs)), SHARE_ANSWERED * possible):
        return None, False
    decoding = [each for each in conventions if each.decode is not PLAIN.decode]
    answers = tuple(_decoded(output.value, decoding, probe.inputs) for probe, output in kept)
    known = {role.name: role for role in exercise.roles}
    binding = Binding({name: known.get(name, Role(name)) for name in sorted(takes)})
    call = Call(Subject(_not_here, claim.subject), binding, claim.library)
    trial = Trial(exercise, call, conventions, tuple(probe for probe, _ in kept), answers).as_rounded()
    return trial, any(output.has_changed_inputs for _, output in kept)


def _not_here(*positional: Any, **named: Any) -> Any:
    raise NotImplementedError("the subject is in another process")


def _is_expressible(exercise: Exercise, conventions: Sequence[Convention], takes: set[str], probe: Probe) -> bool:
    derived = {role.name: derivation(role) for role in exercise.roles if role.name in takes - set(probe.inputs)}
    try:
        encoded: Inputs | None = probe.inputs | {name: of(probe.inputs) for name, of in derived.items() if of is not None}
        for convention in conventions:
            encoded = None if encoded is None else encoded_in(convention, encoded)
    except Exception:  # sizes that this probe does not define
        return False
    return encoded is not None and set(encoded) <= takes


def _decoded(answer: Any, decoding: Sequence[Convention], inputs: Inputs) -> Any:
    """Return an output in the convention of headway.functions; an output that has another form is Raised."""
    for convention in reversed(decoding):
        if isinstance(answer, Raised) or answer is None:
            return answer
        try:
            with numpy.errstate(all="ignore"):
                answer = convention.decode(answer, inputs)
        except Exception as error:
            return Raised(TypeError(f"an output of another form: {error}"))
    return answer


def _narrower(trial: Trial) -> Iterator[Trial]:
    """Yield the trial without the optional probes that a correct function may reject, in the order of the diagnosis."""
    yield trial
    narrower = trial.without_refused()
    yield narrower
    yield narrower.without_misshapen()
    yield narrower.without_caution()


def _repeats(trial: Trial, remote: _Remote, place: int, replies: dict[str, list[Any]]) -> bool:
    probe = max(trial.probes, key=lambda each: numpy.size(_value(replies[each.name], place)) if _is_array(replies[each.name], place) else 0)
    first, again = (_value(each, place) for each in (replies[probe.name], remote.replies(probe.inputs)))
    return is_same(again, first, precision(first))


def _value(replies: Sequence[Any], place: int) -> Any:
    output = _at(replies, place)
    return None if output is None else output.value


def _is_array(replies: Sequence[Any], place: int) -> bool:
    return isinstance(_value(replies, place), numpy.ndarray)


def _difference(trial: Trial) -> Message | None:
    for probe, answer in zip(trial.probes, trial.answers, strict=True):
        if not trial.is_same(probe, answer):
            try:
                return first_difference(answer, trial.expected(probe), precision(answer))
            except (ValueError, TypeError):
                return None
    return None
