"""The trials of a learner's function under every combination of conventions that may apply."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy

from headway.practice.diagnosis.adapters import calls_of
from headway.practice.diagnosis.calls.calling import Call, libraries_for
from headway.practice.diagnosis.calls.conventions import PLAIN, alternatives, decoded, encoded_in
from headway.practice.diagnosis.calls.own_tensors import OTHERS, OWN
from headway.practice.diagnosis.calls.timeout import TookTooLongError
from headway.practice.diagnosis.checks.choices import Encoded, Encoders, combinations
from headway.practice.diagnosis.checks.memory import Memory
from headway.practice.diagnosis.checks.rotated_values import may_rotate_values
from headway.practice.diagnosis.checks.trial import Trial
from headway.practice.diagnosis.reading.subject import Subject
from headway.practice.exercise import Convention, Exercise, Inputs, Probe
from headway.practice.outputs import Raised

UNAVOIDABLE = (NotImplementedError, NameError, ImportError)
"""Exceptions that end the search for a convention if every probe raises one of them."""


def trials_of(subject: Subject, exercise: Exercise) -> list[Trial]:
    """Return the trials for all combinations of conventions, in the first array library in which any probe ran.

    A subject is run once for each exercise: it is recognised and judged by the same trials.
    """
    return subject.once(f"trials of {exercise.name}", lambda: _new_trials_of(subject, exercise))


def _new_trials_of(subject: Subject, exercise: Exercise) -> list[Trial]:
    libraries = libraries_for(subject)
    memory = Memory(most_calls=MOST_CALLS.get(libraries[0], math.inf))
    trials: list[Trial] = []
    for library in libraries:
        ways: list[list[Trial]] = []
        calls: list[tuple[Call, Answered]] = [(call, {}) for call in calls_of(subject, exercise, library)]
        raising, failing = Counter[int](), Counter[int]()
        for place, (call, answered) in enumerate(calls):
            call.place = place
            if library not in MOST_CALLS or raising[_construction(call)] >= MOST_RAISING:
                continue
            if right := _right_from_the_first(call, exercise, memory, answered):
                return right
            raising[_construction(call)] += _raises_always(answered)
        memory.num_calls, has_matched = 0, False
        for call, answered in calls:
            if not has_matched and memory.num_calls > MOST_WITHOUT_MATCH:
                if memory.num_calls > MOST_FIRST:
                    break
                if right := _right_from_the_first(call, exercise, memory, answered):
                    return right
                continue
            if (not answered and raising[_construction(call)] >= MOST_RAISING) or failing[_construction(call)] >= MOST_RAISING:
                continue
            tried = _until_right(_trials_under(call, exercise, memory, answered))
            failing[_construction(call)] += bool(tried) and all(map(_raises_where_required, tried))
            has_matched |= any(trial.num_matching() for trial in tried)
            if call.is_guessed and not any(not trial.is_wrong_where_required and trial.without_refused().is_right() for trial in tried):
                continue
            ways.append(tried)
            if _needs_full_timeout(ways[-1]):
                ways[-1] = _until_right(_trials_under(replace(call, has_full_timeout=True, endless=set()), exercise, memory))
            if any(trial.matches_without_refused() for trial in ways[-1]) or memory.is_used_up:
                break
        found = _likeliest(ways)
        if any(trial.has_answers for trial in found):
            return _without_partial(found)
        if found and all(trial.raises_only((*UNAVOIDABLE, TookTooLongError)) for trial in found):
            return found
        is_other = _are_given_arrays_for_lists(trials) or (library in OWN and _lack_attribute(trials) and not _lack_attribute(found))
        trials = found or trials if is_other else trials
    return trials


def _lack_attribute(trials: Sequence[Trial]) -> bool:
    """Return True if all calls raised because an array of a library lacks an attribute, which a tensor of the file's own may have."""
    errors = [answer.error if isinstance(answer, Raised) else None for trial in trials for answer in trial.answers]
    return all(isinstance(each, AttributeError) and type(each.obj).__module__.partition(".")[0] in OTHERS for each in errors)


def _are_given_arrays_for_lists(trials: Sequence[Trial]) -> bool:
    """Return True if all calls raised because of arrays whose truth was read, as that of a list: `if not x`; also if there are none."""
    answers = [answer for trial in trials for answer in trial.answers]
    return all(isinstance(each, Raised) and "truth value of an array" in str(each.error) for each in answers)


MOST_WITHOUT_MATCH = 1500
"""Number of calls none of which returned a right output, after which only the first outputs are looked at for further places of the weights: those of a
right program are found by them."""

MOST_FIRST = 2000
"""Number of calls after which first outputs are not looked at, either."""

MOST_RAISING = 2
"""Calls of one reading of a class that raise for every input, or for some that it has to support, after which other places of its weights are not
tried: they have the same shapes."""


def _construction(call: Call) -> int:
    """Return the id of the reading of a class, or of the call itself for a function."""
    return id(getattr(call, "construction", call))


def _raises_always(answered: Answered) -> bool:
    """Return True if there are outputs, and all of them are exceptions."""
    known = [each[0] for each in answered.values() if each is not None]
    return bool(known) and all(isinstance(answer, Raised) for answer in known)


def _raises_where_required(trial: Trial) -> bool:
    """Return True if a subject raises for inputs that it has to support."""
    return any(isinstance(answer, Raised) and probe.beyond is None for probe, answer in zip(trial.probes, trial.answers, strict=True))


def _right_from_the_first(call: Call, exercise: Exercise, memory: Memory, answered_probes: Answered) -> list[Trial]:
    """Return the trials whose first output is right if one of them is correct for what it need support; else none.

    Most conventions that a subject does not follow show it by their first output, and cost one call.
    """
    every: list[Trial] = []
    longest = 0
    num_known, has_ended = 0, False
    for trial in _trials_under(call, exercise, memory, answered_probes, begins_right=True):
        every.append(trial)
        longest = max(longest, len(trial.probes))
        new = [*itertools.islice(answered_probes.values(), num_known, None)] if len(answered_probes) > num_known else []
        num_known += len(new)
        has_ended |= any(known is not None and _ends_search(known[0]) for known in new)
        if has_ended and not trial.answers:
            return []
        if trial.answers and trial.matches() and len(trial.probes) == longest:
            break
    found = [trial for trial in _without_partial(every) if trial.answers]
    return found if any(trial.matches_without_refused() for trial in found) else []


def trials_that_begin_right(subject: Subject, exercise: Exercise) -> Iterator[Trial]:
    """Yield the trials whose first output is right: only these can be right throughout."""
    memory = Memory()
    for library in libraries_for(subject):
        has_answers = False
        for place, call in enumerate(calls_of(subject, exercise, library)):
            call.place = place
            answered: Answered = {}
            yield from (trial for trial in _trials_under(call, exercise, memory, answered, begins_right=True) if trial.answers)
            has_answers |= any(known is not None and not isinstance(known[0], Raised) for known in answered.values())
        if has_answers or (memory.num_calls and library != "list"):  # an annotation may mean a list of layers
            return


def trials_by_inputs(subject: Subject, exercise: Exercise, library: str) -> Iterator[Trial]:
    """Yield a trial for each way to call a subject, those with correct parts in it first, and each form of its inputs, also where all raise alike."""
    for place, call in sorted(enumerate(calls_of(subject, exercise, library)), key=lambda each: not each[1].is_wired):
        call.place = place
        yield from _trials_under(call, exercise, Memory(), is_by_inputs=True)


def _needs_full_timeout(trials: Sequence[Trial]) -> bool:
    """Return True if calls timed out even under the convention with the fewest exceptions: the function may just be slow."""
    nearest = min(trials, key=Trial.num_raised, default=None)
    return nearest is not None and any(map(is_endless, nearest.answers))


MOST_CALLS = {"jax": 800}
"""Number of calls of a subject after which no further convention is tried, by its first library; right programs need at most 450."""


def _until_right(trials: Iterator[Trial]) -> list[Trial]:
    """Return the trials up to the first that is correct for the most probes, or that raises only UNAVOIDABLE exceptions, or up to MOST_CALLS."""
    found: list[Trial] = []
    for trial in trials:
        found.append(trial)
        if trial.raises_only(UNAVOIDABLE) or trial.memory.is_used_up:
            break
        if trial.matches() and all(len(trial.probes) >= len(other.probes) for other in found):
            break
    return found


def _without_partial(trials: Sequence[Trial]) -> list[Trial]:
    """Drop the trials whose conventions cannot express operands that others can, such as masks, except others that raise for every probe."""
    weights = {role.name for trial in trials[:1] for role in trial.exercise.roles if role.is_weight}
    operands = [({role for probe in trial.probes for role in probe.inputs} | _roles_added(trial)) - weights for trial in trials]
    answering = [roles for trial, roles in zip(trials, operands, strict=True) if trial.has_answers]
    every = set().union(*(answering or operands))
    return [trial for trial, roles in zip(trials, operands, strict=True) if roles >= every] or list(trials)


def _roles_added(trial: Trial) -> set[str]:
    """Return the mask if the conventions of a trial give it also where a probe has none, as a causal mask that has to be given."""
    inputs = trial.probes[0].inputs if trial.probes else {}
    of_masks = [each for each in trial.conventions if each.role == "mask" and "mask" not in inputs]
    return {"mask" for each in of_masks if "mask" in (encoded_in(each, inputs) or {})}


def _likeliest(ways: Sequence[Sequence[Trial]]) -> list[Trial]:
    """Return the trials of the calls with the most correct outputs; if none is, those of the first call and of calls that a known mistake may explain."""
    ways = [trials for trials in ways if trials]
    most = max((trial.num_matching() for trials in ways for trial in trials), default=0)
    if most:
        return [trial for trials in ways if max(trial.num_matching() for trial in trials) == most for trial in trials]
    ways = [trials for trials in ways if any(trial.has_answers for trial in trials)] or ways
    near = [trials for trials in ways[1:] if trials[0].explaining_first() or may_rotate_values(trials[0])]
    return [trial for trials in [*ways[:1], *near] for trial in trials]


def _trials_under(
    call: Call,
    exercise: Exercise,
    memory: Memory,
    answered_probes: Answered | None = None,
    *,
    is_by_inputs: bool = False,
    begins_right: bool = False,
) -> Iterator[Trial]:
    """Yield one trial per combination of conventions that can express at least one probe.

    answered_probes   outputs that are known
    is_by_inputs      True for one per form of the inputs, False for one per different outputs
    begins_right      True to leave out the answers of those whose first output is wrong
    """
    probes = [probe for probe in exercise.kept_probes if (probe.caution is None or probe.beyond is not None) and _is_meant(probe, call)]
    unencoded = [(probe, probe.inputs | call.sizes(probe.inputs), ()) for probe in probes]
    groups = [alternatives(group, call, exercise) for group in exercise.conventions]
    answered_probes = {} if answered_probes is None else answered_probes
    begun: dict[Choice, tuple[tuple[Probe, ...], tuple[Probe, Any] | None]] = {}
    fitting: Fitting = {}
    answered_choices: dict[Choice, tuple[tuple[Probe, ...], list[Any], bool]] = {}
    seen: set[tuple[Hashable, ...]] = set()
    before: Sequence[Encoded] | None = None
    choice: Choice = ()
    for conventions, encoded_probes in combinations(groups, unencoded):
        if encoded_probes is not before:  # conventions of the outputs leave the inputs as they are
            before, choice = encoded_probes, tuple((probe.name, ways) for probe, _, ways in encoded_probes)
        decoding = [convention for convention in conventions if convention.decode is not PLAIN.decode]
        if begins_right:
            if choice not in begun:  # several conventions may encode all probes identically
                begun[choice] = _begun(call, encoded_probes, answered_probes, fitting, memory)
            kept, first = begun[choice]
            if first is None or not _is_right(Trial(exercise, call, conventions, first[:1], first[1:], memory=memory), decoding):
                yield Trial(exercise, call, conventions, kept, (), memory=memory)
                continue
        if choice not in answered_choices:
            answered_choices[choice] = _answers(call, encoded_probes, answered_probes, memory)
        kept, raw, has_changed_inputs = answered_choices[choice]
        answers = (
            [memory.outputs.interned(decoded(answer, decoding, probe.inputs)) for probe, answer in zip(kept, raw, strict=True)]
            if decoding
            else raw
        )
        steps = tuple(convention for convention in conventions if convention.steps)
        outcome: tuple[Hashable, ...] = (
            choice
            if is_by_inputs
            else (
                steps,
                *(
                    (probe.name, answer.error_name if isinstance(answer, Raised) else id(answer))
                    for probe, answer in zip(kept, answers, strict=True)
                ),
            )
        )
        if kept and outcome not in seen:  # skip a convention that changes no output
            seen.add(outcome)
            changed = replace(call, has_changed_inputs=has_changed_inputs)
            trial = Trial(exercise, changed, conventions, kept, tuple(answers), memory=memory).without_undefined()
            if trial.probes:
                yield trial.as_rounded()


def _is_meant(probe: Probe, call: Call) -> bool:
    """Return True unless the source of a subject says that it does not take such inputs."""
    return probe.unless is None or re.search(probe.unless, call.subject.own_source) is None


def _begun(
    call: Call, encoded_probes: Sequence[Encoded], answered_probes: Answered, fitting: Fitting, memory: Memory
) -> tuple[tuple[Probe, ...], tuple[Probe, Any] | None]:
    """Return the probes that a function accepts, and the first output for inputs that it has to support, or else for others; None if all raise."""
    for probe, encoded, ways in encoded_probes:
        if (probe.name, ways) not in fitting:  # many conventions encode a probe identically
            is_known = (probe.name, ways) in answered_probes
            fitting[probe.name, ways] = answered_probes[probe.name, ways] is not None if is_known else call.fits(encoded)
    kept = [probe for probe, _, ways in encoded_probes if fitting[probe.name, ways]]
    for each in sorted(encoded_probes, key=lambda each: each[0].beyond is not None):
        found = _answer(call, each, answered_probes, [], memory)
        if found is not None and not isinstance(found[0], Raised):
            return tuple(kept), (each[0], found[0])
    return tuple(kept), None


def _is_right(trial: Trial, decoding: Sequence[Convention]) -> bool:
    """Return True if a trial of one output is right when it is decoded."""
    answer = decoded(trial.answers[0], decoding, trial.probes[0].inputs)
    return replace(trial, answers=(answer,)).as_rounded().matches()


Choice = tuple[tuple[str, Encoders], ...]
"""The encoding of each probe, by the probe's name."""

Answered = dict[tuple[str, Encoders], tuple[Any, bool] | None]
"""Outputs by probe and encoding, with whether the inputs were modified; None for probes that a function does not take."""

Fitting = dict[tuple[str, Encoders], bool]
"""True for probes that a function takes, by probe and encoding."""


def _answer(call: Call, probe: Encoded, answered_probes: Answered, before: Sequence[Any], memory: Memory) -> tuple[Any, bool] | None:
    """Return the output for a probe as _run_probe does, computed once; None if the function does not take it."""
    asked, encoded, ways = probe
    if (asked.name, ways) not in answered_probes:  # several conventions may encode this probe identically
        answered_probes[asked.name, ways] = _run_probe(call, encoded, before, memory) if call.fits(encoded) else None
    return answered_probes[asked.name, ways]


def _answers(
    call: Call, encoded_probes: Sequence[Encoded], answered_probes: Answered, memory: Memory
) -> tuple[tuple[Probe, ...], list[Any], bool]:
    """Return the probes that the function accepts, its outputs, and whether it modified its inputs."""
    kept: list[Probe] = []
    answers: list[Any] = []
    has_changed_inputs = False
    for each in encoded_probes:
        found = _answer(call, each, answered_probes, answers, memory)
        if found is not None:
            kept.append(each[0])
            answers.append(found[0])
            has_changed_inputs |= found[1]
    return tuple(kept), answers, has_changed_inputs


def _run_probe(call: Call, encoded: Inputs, before: Sequence[Any], memory: Memory) -> tuple[Any, bool]:
    """Return one output, and whether the inputs were modified; after a timeout the remaining probes are skipped."""
    if before and is_endless(before[-1]):
        return before[-1], False
    call.has_changed_inputs = False
    memory.num_calls += 1
    with numpy.errstate(all="ignore"):
        return memory.outputs.interned(call(encoded)), call.has_changed_inputs


def _ends_search(answer: Any) -> bool:
    """Return True for an exception that a call raises under other conventions too, such as a time limit."""
    return isinstance(answer, Raised) and isinstance(answer.error, (*UNAVOIDABLE, TookTooLongError))


def is_endless(answer: Any) -> bool:
    """Return True for a call that did not return in time."""
    return isinstance(answer, Raised) and isinstance(answer.error, TookTooLongError)
