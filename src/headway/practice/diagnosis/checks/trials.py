"""Outputs of a learner's function for all probes, under every combination of conventions that may apply."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy

from headway.practice.diagnosis.adapters import calls_of
from headway.practice.diagnosis.calls.binding import NO_EFFECT
from headway.practice.diagnosis.calls.calling import Call, libraries_for
from headway.practice.diagnosis.calls.compare import decimals_of
from headway.practice.diagnosis.calls.conventions import PLAIN, alternatives, decoded
from headway.practice.diagnosis.calls.timeout import TookTooLongError
from headway.practice.diagnosis.checks.choices import Encoded, Encoders, combinations
from headway.practice.diagnosis.checks.memory import Memory, listed_outputs
from headway.practice.diagnosis.reading.errors import asks_for_mask
from headway.practice.diagnosis.reading.subject import Subject
from headway.practice.exercise import Convention, Exercise, Inputs, Mistake, Probe
from headway.practice.message import Message
from headway.practice.outputs import Raised, is_arithmetic, is_same, precision

NUM_AXES = r"\.ndim|\.dim\(\)|len\(\w+\.(?:shape|size\(\))\)"
AXES_COMPARED = rf"(?:{NUM_AXES}) *== *(\d)"
"""Pattern of a branch for arrays with a certain number of axes."""
LAST_OF_TWO = r"\b(axis|dim) *= *1\b"
"""Pattern of a branch for matrices, next to one for vectors."""
AXES_OF_MATRIX = (
    r"\A(?=[\s\S]*(shape\[0\]|size\(0\)))(?=[\s\S]*(shape\[1\]|size\(1\)))(?![\s\S]*(shape\[|size\(|axis *= *|dim *= *)(-|[2-9]))"
)
"""Pattern of a function that reads the sizes of a matrix, and no axis after them or from the end."""

FEWEST_MASKED = 2
"""Outputs with masks of a function that refuses to be called without one."""

UNAVOIDABLE = (NotImplementedError, NameError, ImportError)
"""Exceptions that end the search for a convention if every probe raises one of them."""


@dataclass(frozen=True)
class Trial:
    """Outputs for all probes under one combination of conventions.

    refused    probes excluded because the function raised on inputs that it need not support
    memory     results that all trials of the subject share
    decimals   number of decimals to which the outputs are rounded; None if they are not, or the definition's are too
    num_axes   largest number of axes that was checked, if the function has branches for these only
    needs_mask   True if the function refuses to be called without a mask, so that it was not
    """

    exercise: Exercise
    call: Call
    conventions: tuple[Convention, ...]
    probes: tuple[Probe, ...]
    answers: tuple[Any, ...]
    refused: tuple[Probe, ...] = ()
    memory: Memory = field(default_factory=Memory)
    decimals: int | None = None
    num_axes: int | None = None
    needs_mask: bool = False

    def as_rounded(self) -> Trial:
        """Return the trial with `decimals` set."""
        decimals = decimals_of(self.answers)
        is_plain = decimals is None or decimals_of([self.expected(probe) for probe in self.probes]) is not None
        return self if is_plain else replace(self, decimals=decimals)

    def without_refused_kinds(self) -> Trial:
        """Exclude the kinds of optional probes that the function rejected at least once."""
        return self.without(self._refused_kinds())

    def _refused_kinds(self) -> set[Message | None]:
        refused = {probe.beyond for probe, answer in zip(self.probes, self.answers, strict=True) if _is_refusal(probe, answer)}
        return {kind for kind in refused if not self._suits_squares_only(kind)}

    def _suits_squares_only(self, kind: Message | None) -> bool:
        """Return True if the function is right for square arrays of a kind and raises for others: axes are exchanged, and the kind is not rejected."""
        pairs = [(probe, answer) for probe, answer in zip(self.probes, self.answers, strict=True) if probe.beyond == kind]
        right = [probe for probe, answer in pairs if self.is_same(probe, answer)]
        others = [probe for probe, answer in pairs if not self.is_same(probe, answer)]
        is_of_squares = bool(right) and all(map(_is_square, right)) and not any(map(_is_square, others))
        return is_of_squares and re.search(AXES_OF_MATRIX, self.call.subject.own_source) is None

    def without_refused(self) -> Trial:
        """Exclude the kinds of optional probes that the function rejected at least once; of a kind with wrong outputs the rejected ones only.

        The same holds for a kind of which only those under a causal mask were rejected, if the function is right under others, for one of
        which only those with more than two axes were, and for one of which assertions reject some.
        """
        if (masked := self._without_unmasked()) is not self:
            return masked.without_refused()
        pairs, refused = [*zip(self.probes, self.answers, strict=True)], self._refused_kinds()
        partly = {probe.beyond for probe, answer in pairs if probe.beyond in refused and self._is_wrong(probe, answer)}
        partly |= {kind for kind in refused if self._takes_matrices(kind) or self._asserts(kind)}
        if any(probe.inputs.get("is_causal") and self.is_same(probe, answer) for probe, answer in pairs):
            partly |= refused - {
                probe.beyond for probe, answer in pairs if not probe.inputs.get("is_causal") and _is_refusal(probe, answer)
            }
        answered = self._kept([not (probe.beyond in partly and _is_refusal(probe, answer)) for probe, answer in pairs])
        return answered.without(refused - partly)

    def _asserts(self, kind: Message | None) -> bool:
        """Return True if assertions reject some probes of a kind, and the function is right for another: they state what it is for."""
        pairs = [(probe, answer) for probe, answer in zip(self.probes, self.answers, strict=True) if probe.beyond == kind]
        rejected = [answer for probe, answer in pairs if _is_refusal(probe, answer)]
        return all(isinstance(each.error, AssertionError) for each in rejected) and any(self.is_same(*pair) for pair in pairs)

    def _without_unmasked(self) -> Trial:
        """Exclude the probes without masks if the function refuses them all and returns outputs for at least two with masks."""
        pairs = [*zip(self.probes, self.answers, strict=True)]
        unmasked = [answer for probe, answer in pairs if not _has_mask(probe)]
        num_masked = sum(not isinstance(answer, Raised) for probe, answer in pairs if _has_mask(probe))
        if (
            not unmasked
            or num_masked < FEWEST_MASKED
            or not all(isinstance(each, Raised) and (self._takes_two_masks or asks_for_mask(each.error)) for each in unmasked)
        ):
            return self
        return replace(self._kept([_has_mask(probe) for probe in self.probes]), needs_mask=True)

    @property
    def _takes_two_masks(self) -> bool:
        """True for an attention that uses two masks even if they are None."""
        return any(role.name.startswith(NO_EFFECT) and "mask" in role.name for role in self.call.binding.role_of.values())

    def _takes_matrices(self, kind: Message | None) -> bool:
        """Return True if the function is right for the matrices of a kind, and rejects all of more axes."""
        pairs = [(probe, answer) for probe, answer in zip(self.probes, self.answers, strict=True) if probe.beyond == kind]
        matrices = [pair for pair in pairs if num_axes(pair[0].inputs) <= 2]
        others = [pair for pair in pairs if num_axes(pair[0].inputs) > 2]
        return bool(matrices) and all(self.is_same(*pair) for pair in matrices) and all(_is_refusal(*pair) for pair in others)

    def _is_wrong(self, probe: Probe, answer: Any) -> bool:
        """Return True for a wrong output of the expected shape.

        With more than two axes, of different sizes, it must be that of a known mistake, since `.T` and the like mean another thing there.
        """
        is_shaped = isinstance(answer, numpy.ndarray) and answer.shape == getattr(self.expected(probe), "shape", None)
        if not is_shaped or self.is_same(probe, answer):
            return False
        is_told_apart = len(set(answer.shape)) > 1
        return num_axes(probe.inputs) <= 2 or (is_told_apart and self._is_of_avoided(probe, answer))

    def _is_of_avoided(self, probe: Probe, answer: Any) -> bool:
        """Return True for the output of a known mistake that some correct output shows to be absent."""
        key = (self._proof, probe.name, id(answer))  # outputs are kept, so that no other one gets its identity
        if key not in self.memory.of_avoided:
            self.memory.of_avoided[key] = answer, any(self.is_same(probe, answer, (each,)) for each in self._avoided)
        return self.memory.of_avoided[key][1]

    @property
    def _avoided(self) -> list[Mistake]:
        """The known mistakes that some correct output shows to be absent."""
        if self._proof not in self.memory.avoided:
            right = [probe for probe in self.probes if probe.name in self._names_of_right]
            self.memory.avoided[self._proof] = [
                each for each in self.exercise.mistakes if not all(self.is_same(probe, self.expected(probe), (each,)) for probe in right)
            ]
        return self.memory.avoided[self._proof]

    @cached_property
    def _names_of_right(self) -> tuple[str, ...]:
        """The names of the probes whose outputs are correct."""
        return tuple(probe.name for probe, answer in zip(self.probes, self.answers, strict=True) if self.is_same(probe, answer))

    @cached_property
    def _proof(self) -> Hashable:
        """The correct outputs, which show what is absent."""
        return self._with_steps, self.decimals, self._names_of_right

    def without_misshapen(self) -> Trial:
        """Exclude the kinds of optional probes for which the function never returns the expected shape, or never with a mask."""
        is_shaped = [
            getattr(answer, "shape", None) == getattr(self.expected(probe), "shape", None)
            for probe, answer in zip(self.probes, self.answers, strict=True)
        ]
        pairs = [*zip(self.probes, is_shaped, strict=True)]
        shaped = {probe.beyond for probe, is_right in pairs if is_right}
        masked = {probe.beyond for probe, is_right in pairs if is_right and _has_mask(probe)}
        kept = self._kept([probe.beyond is None or not _has_mask(probe) or probe.beyond in masked for probe in self.probes])
        return kept.without({probe.beyond for probe in self.probes} - shaped)

    def without_caution(self) -> Trial:
        """Exclude the probes with a caution, without reporting them as rejected."""
        return replace(self.without({probe.beyond for probe in self.probes if probe.caution is not None}), refused=self.refused)

    def within_branches(self) -> Trial:
        """Exclude the optional probes with more axes than a function has branches for, if its source only compares their number."""
        source = self.call.subject.own_source
        compared = re.findall(AXES_COMPARED, source)
        most = max(map(int, compared), default=0)
        most = 2 if most == 1 and re.search(LAST_OF_TWO, source) else most
        return self if most < 2 or len(compared) != len(re.findall(NUM_AXES, source)) else self.within_axes(most)

    def within_axes(self, most: int) -> Trial:
        """Exclude the optional probes with more axes than this."""
        fewer = self._kept([probe.beyond is None or num_axes(probe.inputs) <= most for probe in self.probes])
        return self if fewer is self else replace(fewer, num_axes=most)

    def _kept(self, is_kept: Sequence[bool]) -> Trial:
        """Exclude the probes whose flag is False, without reporting them as rejected."""
        probes, answers = (tuple(itertools.compress(column, is_kept)) for column in (self.probes, self.answers))
        return self if all(is_kept) else replace(self, probes=probes, answers=answers)

    def without(self, beyond: Collection[Message | None]) -> Trial:
        """Exclude all optional probes of these kinds."""
        if not beyond:
            return self
        is_refused = [any(kind is not None and kind in beyond for kind in (probe.beyond, probe.within)) for probe in self.probes]
        kept = [pair for pair, is_out in zip(zip(self.probes, self.answers, strict=True), is_refused, strict=True) if not is_out]
        probes, answers = (tuple(column) for column in zip(*kept, strict=True)) if kept else ((), ())
        refused = tuple(probe for probe, is_out in zip(self.probes, is_refused, strict=True) if is_out)
        return replace(self, probes=probes, answers=answers, refused=(*self.refused, *refused))

    @property
    def has_answers(self) -> bool:
        """Return True if any call returned an output."""
        return any(not isinstance(answer, Raised) for answer in self.answers)

    def matches(self, mistakes: tuple[Mistake, ...] = ()) -> bool:
        """Return True if every output equals that of the definition with these mistakes."""
        return self.has_answers and all(
            self.is_same(probe, answer, mistakes) for probe, answer in zip(self.probes, self.answers, strict=True)
        )

    def is_right(self) -> bool:
        """Return True if every output equals the definition's, and no operand was rejected in all of its probes."""
        answered = {role for probe in self.probes for role in probe.inputs}
        taken = {role.name for role in self.call.binding.role_of.values()}
        return self.matches() and all(set(probe.inputs) & taken <= answered for probe in self.refused)

    def is_right_where_supported(self) -> bool:
        """Return True if every output is right apart from those for inputs that the function need not support, and does not or only in another way."""
        kept = self.without_refused()
        return any(each.is_right() for each in (kept, kept.within_branches(), kept.without_misshapen(), kept.without_caution()))

    def is_first_same(self, mistakes: tuple[Mistake, ...]) -> bool:
        """Return True if the first output equals that of the definition with these mistakes."""
        return self.is_same(self.probes[0], self.answers[0], mistakes)

    def excludes(self, mistake: Mistake) -> bool:
        """Return True if a mistake needs an operand that the call does not take, or belongs to the default convention.

        It does if it replaces all steps of a convention, or one of a whole.
        """
        replaced = set(mistake.steps)
        return (mistake.needs is not None and not self.call.binding.takes(mistake.needs)) or any(
            bool(replaced & set(each.steps)) if each.is_whole else bool(each.steps) and set(each.steps) <= replaced
            for each in self.conventions
        )

    def num_matching(self) -> int:
        """Return the number of outputs that equal the definition's."""
        return self._num_matching

    @cached_property
    def _num_matching(self) -> int:
        return sum(self.is_same(probe, answer, ()) for probe, answer in zip(self.probes, self.answers, strict=True))

    def raises_only(self, errors: tuple[type[BaseException], ...]) -> bool:
        """Return True if every call raised one of these exceptions."""
        return all(isinstance(answer, Raised) and isinstance(answer.error, errors) for answer in self.answers)

    def num_raised(self) -> int:
        """Return the number of calls that raised."""
        return sum(isinstance(answer, Raised) for answer in self.answers)

    def expected(self, probe: Probe, mistakes: tuple[Mistake, ...] = ()) -> Any:
        """Return the output of the definition with these mistakes, for the inputs as rounded for the learner's function."""
        outputs = listed_outputs(self.exercise.name) if self._is_listed(mistakes) else self.memory.outputs
        return outputs.get((self._with_steps, probe.name, mistakes), lambda: self._answer(probe, mistakes))

    def _answer(self, probe: Probe, mistakes: tuple[Mistake, ...]) -> Any:
        try:
            with numpy.errstate(all="ignore"):
                return self.exercise.answer(self._precise(probe), mistakes, self.conventions)
        except Exception as error:  # a mistake may cause incompatible shapes, as in the learner's code
            return Raised(error)

    def _is_listed(self, mistakes: tuple[Mistake, ...]) -> bool:
        """Return True if all mistakes and conventions are listed in the exercise; measured ones are not."""
        return self._has_listed_conventions and self._listed.issuperset(mistakes)

    @cached_property
    def _listed(self) -> set[Mistake]:
        return set(self.exercise.mistakes)

    @cached_property
    def _has_listed_conventions(self) -> bool:
        listed = {convention for group in self.exercise.conventions for convention in group}
        return all(convention in listed for convention in self.conventions if convention.steps)

    @cached_property
    def _with_steps(self) -> tuple[str | Convention, ...]:
        """Return what the definition's outputs depend on, apart from probe and mistakes."""
        return (self.call.library, *(convention for convention in self.conventions if convention.steps))

    def _precise(self, probe: Probe) -> Inputs:
        """Return a probe's inputs as the function received them; cached."""
        key = (self.call.library, probe.name)
        if key not in self.memory.inputs:
            self.memory.inputs[key] = self.call.precise(probe.inputs)
        return self.memory.inputs[key]

    def is_same(self, probe: Probe, answer: Any, mistakes: tuple[Mistake, ...] = ()) -> bool:
        """Return True if one output equals that of the definition with these mistakes."""
        expected = self.expected(probe, mistakes)
        rounding = 0.0 if self.decimals is None else 10.0**-self.decimals
        return self.memory.compared.get(
            answer, expected, self.decimals, lambda: is_same(answer, expected, max(precision(answer), precision(expected)), rounding)
        )


def _is_square(probe: Probe) -> bool:
    """Return True if the last two axes of all arrays of three axes or more have equal sizes."""
    arrays = [each for each in probe.inputs.values() if isinstance(each, numpy.ndarray) and each.ndim > 2]
    return bool(arrays) and all(each.shape[-1] == each.shape[-2] for each in arrays)


def _has_mask(probe: Probe) -> bool:
    return any(name.endswith("mask") and value is not None for name, value in probe.inputs.items())


def _is_refusal(probe: Probe, answer: Any) -> bool:
    """Return True if the function rejected inputs that it need not support; overflow counts as a rejection only if the probe describes itself."""
    if probe.beyond is None or not isinstance(answer, Raised):
        return False
    return bool(probe.beyond.en) or not is_arithmetic(answer.error)


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
        raising: Counter[int] = Counter()
        for place, (call, answered) in enumerate(calls):
            call.place = place
            if library not in MOST_CALLS or raising[_construction(call)] >= MOST_RAISING:
                continue
            if right := _right_from_the_first(call, exercise, memory, answered):
                return right
            raising[_construction(call)] += _raises_always(answered)
        memory.num_calls = 0
        for call, answered in calls:
            if not answered and raising[_construction(call)] >= MOST_RAISING:
                continue
            tried = _until_right(_trials_under(call, exercise, memory, answered))
            if call.is_guessed and not any(trial.without_refused().is_right() for trial in tried):
                continue
            ways.append(tried)
            if _needs_full_timeout(ways[-1]):
                ways[-1] = _until_right(_trials_under(replace(call, has_full_timeout=True, endless=set()), exercise, memory))
            if any(trial.without_refused().matches() for trial in ways[-1]) or memory.is_used_up:
                break
        found = _likeliest(ways)
        if any(trial.has_answers for trial in found):
            return _without_partial(found)
        if found and all(trial.raises_only((*UNAVOIDABLE, TookTooLongError)) for trial in found):
            return found
        trials = trials or found
    return trials


MOST_RAISING = 2
"""Calls of one reading of a class that raise for every input, after which other places of its weights are not tried."""


def _construction(call: Call) -> int:
    """Return the id of the reading of a class, or of the call itself for a function."""
    return id(getattr(call, "construction", call))


def _raises_always(answered: Answered) -> bool:
    """Return True if there are outputs, and all of them are exceptions."""
    known = [each[0] for each in answered.values() if each is not None]
    return bool(known) and all(isinstance(answer, Raised) for answer in known)


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
    return found if any(trial.without_refused().matches() for trial in found) else []


def trials_that_begin_right(subject: Subject, exercise: Exercise) -> Iterator[Trial]:
    """Yield the trials whose first output is right: only these can be right throughout."""
    memory = Memory()
    for library in libraries_for(subject):
        for place, call in enumerate(calls_of(subject, exercise, library)):
            call.place = place
            yield from (trial for trial in _trials_under(call, exercise, memory, begins_right=True) if trial.answers)
        if memory.num_calls:
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
    """Drop the trials whose conventions cannot express operands that others can, such as masks."""
    weights = {role.name for trial in trials[:1] for role in trial.exercise.roles if role.is_weight}
    operands = [{role for probe in trial.probes for role in probe.inputs} - weights for trial in trials]
    every = set().union(*operands)
    return [trial for trial, roles in zip(trials, operands, strict=True) if roles == every] or list(trials)


def _likeliest(ways: Sequence[Sequence[Trial]]) -> list[Trial]:
    """Return the trials of the calls with the most correct outputs; if none is, those of the first call and of calls that a known mistake may explain."""
    ways = [trials for trials in ways if trials]
    most = max((trial.num_matching() for trials in ways for trial in trials), default=0)
    if most:
        return [trial for trials in ways if max(trial.num_matching() for trial in trials) == most for trial in trials]
    ways = [trials for trials in ways if any(trial.has_answers for trial in trials)] or ways
    near = [trials for trials in ways[1:] if any(trials[0].is_first_same((mistake,)) for mistake in trials[0].exercise.mistakes)]
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
    probes = [probe for probe in exercise.probes() if probe.caution is None or probe.beyond is not None]
    unencoded = [(probe, probe.inputs | call.sizes(probe.inputs), ()) for probe in probes]
    groups = [alternatives(group, call, exercise) for group in exercise.conventions]
    answered_probes = {} if answered_probes is None else answered_probes
    begun: dict[Choice, tuple[tuple[Probe, ...], tuple[Probe, Any] | None]] = {}
    answered_choices: dict[Choice, tuple[tuple[Probe, ...], list[Any], bool]] = {}
    seen: set[tuple[Hashable, ...]] = set()
    for conventions, encoded_probes in combinations(groups, unencoded):
        choice = tuple((probe.name, ways) for probe, _, ways in encoded_probes)
        decoding = [convention for convention in conventions if convention.decode is not PLAIN.decode]
        if begins_right:
            if choice not in begun:  # several conventions may encode all probes identically
                begun[choice] = _begun(call, encoded_probes, answered_probes, memory)
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
            yield Trial(exercise, changed, conventions, kept, tuple(answers), memory=memory).as_rounded()


def _begun(
    call: Call, encoded_probes: Sequence[Encoded], answered_probes: Answered, memory: Memory
) -> tuple[tuple[Probe, ...], tuple[Probe, Any] | None]:
    """Return the probes that a function accepts, and the first output for inputs that it has to support, or else for others; None if all raise."""
    kept = []
    for probe, encoded, ways in encoded_probes:
        fits = answered_probes[probe.name, ways] is not None if (probe.name, ways) in answered_probes else call.fits(encoded)
        kept += [probe] if fits else []
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


def num_axes(inputs: Inputs) -> int:
    """Return the largest number of axes of the arrays in a probe."""
    return max((value.ndim for value in inputs.values() if isinstance(value, numpy.ndarray)), default=0)


def num_numbers(inputs: Inputs) -> int:
    """Return the number of array elements in a probe."""
    parts = [part for value in inputs.values() for part in (value if isinstance(value, list) else [value])]
    return sum(numpy.size(part) for part in parts if isinstance(part, numpy.ndarray))
