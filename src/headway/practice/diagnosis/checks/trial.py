"""Outputs of a learner's function for all probes under one combination of conventions, and which probes it need not support."""

from __future__ import annotations

import ast
import inspect
import itertools
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy

from headway.practice.diagnosis.calls.binding import NO_EFFECT
from headway.practice.diagnosis.calls.calling import Call
from headway.practice.diagnosis.calls.compare import decimals_of
from headway.practice.diagnosis.calls.conventions import output_of
from headway.practice.diagnosis.checks.memory import Memory, OutputsOfMistakes, listed_outputs
from headway.practice.diagnosis.reading.errors import asks_for_mask, is_of_no_mask, is_of_sizes, is_own
from headway.practice.diagnosis.reading.missing import is_of_missing
from headway.practice.diagnosis.reading.subject import parsed
from headway.practice.exercise import Convention, Exercise, Inputs, Mistake, Probe
from headway.practice.message import EndsProcessError, Message
from headway.practice.outputs import Raised, is_arithmetic, is_same, precision
from headway.practice.recipes.rotation import ROTATED, OddWidthError
from headway.practice.recipes.sequences import LENGTHS

NUM_AXES = r"\.ndim|\.dim\(\)|len\(\w+\.(?:shape|size\(\))\)"
AXES_COMPARED = rf"(?:{NUM_AXES}) *== *(\d)"
"""Pattern of a branch for arrays with a certain number of axes."""
LAST_OF_TWO = r"\b(axis|dim) *= *1\b"
"""Pattern of a branch for matrices, next to one for vectors."""
AXES_OF_MATRIX = (
    r"\A(?=[\s\S]*(shape\[0\]|size\(0\)))(?=[\s\S]*(shape\[1\]|size\(1\)))(?![\s\S]*(shape\[|size\(|axis *= *|dim *= *)(-|[2-9]))"
)
"""Pattern of a function that reads the sizes of a matrix, and no axis after them or from the end."""

THIRD_OF_THREE = r"\A(?![\s\S]*(head|\bmha\b|4-?d\b|(shape\[|size\(|(dim|axis) *= *)3))[\s\S]*(shape\[2\]|size\(2\))"
"""Pattern of the source of a function without heads that reads the last of three axes by its number."""

LENGTH_OF = r"\b{name}\.(size\((1|-2)\)|shape\[(1|-2)\])"
"""Pattern of the code that reads the number of positions of a sequence."""

FEWEST_MASKED = 2
"""Outputs with masks of a function that refuses to be called without one."""


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

    def without_undefined(self) -> Trial:
        """Exclude the probes for which the conventions define no output: a rotation of vectors of an odd width."""
        if not {*ROTATED[1:]} & {*self.conventions}:
            return self
        expected = map(self.expected, self.probes)
        return self._kept([not (isinstance(each, Raised) and isinstance(each.error, OddWidthError)) for each in expected])

    def without_refused_kinds(self) -> Trial:
        """Exclude the kinds of optional probes that the function rejected at least once."""
        return self.without(self._refused_kinds())

    def _refused_kinds(self) -> set[Message | None]:
        refused = {probe.beyond for probe, answer in zip(self.probes, self.answers, strict=True) if _is_refusal(probe, answer)}
        return {kind for kind in refused - self.meant_kinds if not self._suits_squares_only(kind)}

    @cached_property
    def meant_kinds(self) -> set[Message | None]:
        """Return the kinds that the code is meant for: several lengths that it rejects, if it reads those of queries and of keys, and what a probe says."""
        names = [name for name, role in self.call.binding.role_of.items() if role.name in ("query", "key")]
        errors = [answer.error for _, answer in self._pairs_of(LENGTHS) if isinstance(answer, Raised)]
        reads = (re.search(LENGTH_OF.format(name=name), self.call.subject.code) for name in names)
        of_lengths: set[Message | None] = (
            {LENGTHS} if len(names) == 2 and errors and all(map(is_of_sizes, errors)) and all(reads) else set()
        )
        return of_lengths | {
            probe.beyond
            for probe, answer in zip(self.probes, self.answers, strict=True)
            if probe.meant_by is not None and not isinstance(answer, Raised) and re.search(probe.meant_by, self.call.subject.code)
        }

    def _pairs_of(self, kind: Message | None) -> list[tuple[Probe, Any]]:
        """Return the probes of a kind with their outputs."""
        return self._by_kind.get(kind, [])

    @cached_property
    def _by_kind(self) -> dict[Message | None, list[tuple[Probe, Any]]]:
        found: dict[Message | None, list[tuple[Probe, Any]]] = {}
        for probe, answer in zip(self.probes, self.answers, strict=True):
            found.setdefault(probe.beyond, []).append((probe, answer))
        return found

    def _suits_squares_only(self, kind: Message | None) -> bool:
        """Return True if the function is right for square arrays of a kind and raises for others: axes are exchanged, and the kind is not rejected."""
        pairs = self._pairs_of(kind)
        right = [probe for probe, answer in pairs if self.is_same(probe, answer)]
        others = [pair for pair in pairs if not self.is_same(*pair)]
        is_of_squares = bool(right) and all(map(_is_square, right)) and not any(_is_square(probe) for probe, _ in others)
        if others and all(isinstance(answer, Raised) and is_own(answer.error) for _, answer in others):
            return False
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
        pairs = self._pairs_of(kind)
        rejected = [answer for probe, answer in pairs if _is_refusal(probe, answer)]
        return all(isinstance(each.error, AssertionError) for each in rejected) and any(self.is_same(*pair) for pair in pairs)

    def _without_unmasked(self) -> Trial:
        """Exclude the probes without masks if the function refuses them all and returns outputs for at least two with masks."""
        pairs = [*zip(self.probes, self.answers, strict=True)]
        unmasked = [(probe, answer) for probe, answer in pairs if not _has_mask(probe)]
        num_masked = sum(not isinstance(answer, Raised) for probe, answer in pairs if _has_mask(probe))
        if (
            not unmasked
            or num_masked < FEWEST_MASKED
            or not all(
                isinstance(each, Raised) and (self._takes_two_masks or probe.caution is not None or self._asks_for_mask(each))
                for probe, each in unmasked
            )
        ):
            return self
        return replace(self._kept([_has_mask(probe) for probe in self.probes]), needs_mask=True)

    def _asks_for_mask(self, raised: Raised) -> bool:
        """Return True for the exception of a function that asks for a mask, or computes with one, which its file gives it in every call."""
        return asks_for_mask(raised.error) or (is_of_no_mask(raised.error) and self._is_always_masked)

    @cached_property
    def _is_always_masked(self) -> bool:
        """True for a function that its file calls, each time with a mask."""
        subject = self.call.subject
        place = next((place for place, each in enumerate(subject.parameters) if "mask" in each.name), None)
        if place is None or not inspect.isfunction(subject.value):
            return False
        nodes = (node for node in ast.walk(parsed(subject.file_source)) if isinstance(node, ast.Call))
        calls = [node for node in nodes if ast.unparse(node.func).rpartition(".")[2] == subject.short_name]
        name = subject.parameters[place].name
        return bool(calls) and all(len(node.args) > place or name in [each.arg for each in node.keywords] for node in calls)

    @property
    def _takes_two_masks(self) -> bool:
        """True for an attention that uses two masks even if they are None."""
        return any(role.name.startswith(NO_EFFECT) and "mask" in role.name for role in self.call.binding.role_of.values())

    def _takes_matrices(self, kind: Message | None) -> bool:
        """Return True if the function is right for the matrices of a kind, and rejects all of more axes."""
        pairs = self._pairs_of(kind)
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
        right = [other for other in self.probes if other.name in self._names_of_right]
        return bool(right) and any(
            not all(self.is_same(other, self.expected(other), (mistake,)) for other in right) for mistake in self.explaining(probe, answer)
        )

    @cached_property
    def _names_of_right(self) -> tuple[str, ...]:
        """The names of the probes whose outputs are correct."""
        return tuple(probe.name for probe, answer in zip(self.probes, self.answers, strict=True) if self.is_same(probe, answer))

    def without_misshapen(self) -> Trial:
        """Exclude the kinds of optional probes for which the function never returns the expected shape, or never with a mask, or a causal one.

        A function that never returns it with a mask, for no kind, has a mistake.
        """
        is_shaped = [
            getattr(answer, "shape", None) == getattr(self.expected(probe), "shape", None)
            for probe, answer in zip(self.probes, self.answers, strict=True)
        ]
        pairs = [*zip(self.probes, is_shaped, strict=True)]
        shaped = {probe.beyond for probe, is_right in pairs if is_right}
        causal = {probe.beyond for probe, is_right in pairs if is_right and _is_causal(probe)}
        masked = {probe.beyond for probe, is_right in pairs if is_right and _has_mask(probe)}
        kept = self
        if masked:
            kept = self._kept([probe.beyond is None or not _has_mask(probe) or probe.beyond in masked for probe in self.probes])
        if causal:  # of a mask with axes for batch and heads, matrices get these axes
            kept = kept._kept([probe.beyond is None or not _is_causal(probe) or probe.beyond in causal for probe in kept.probes])
        return kept.without({probe.beyond for probe in self.probes} - shaped - self.meant_kinds)

    def without_caution(self) -> Trial:
        """Exclude the probes with a caution, without reporting them as rejected."""
        return replace(self.without({probe.beyond for probe in self.probes if probe.caution is not None}), refused=self.refused)

    def within_branches(self) -> Trial:
        """Exclude the optional probes with more axes than a function has branches for, if its source only compares their number.

        Of a function that nothing in its file calls, also those with more than three axes if it reads the last of three by its number.
        """
        subject = self.call.subject
        source = subject.own_source
        if inspect.isfunction(subject.value) and re.search(THIRD_OF_THREE, source, re.IGNORECASE):
            is_called = len(re.findall(rf"\b{subject.short_name}\(", subject.file_source)) > 1
            return self if is_called else self.within_axes(3)
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

    def of_rejected_operand(self) -> Trial | None:
        """Return the trial of the probes with an operand that was rejected in all of them, if every other output is right; else None."""
        answered = {role for probe in self.probes for role in probe.inputs}
        taken = {role.name for role in self.call.binding.role_of.values()}
        rejected = tuple(probe for probe in self.refused if set(probe.inputs) & taken - answered)
        if not rejected or not self.matches():
            return None
        answers = tuple(output_of(self.call, self.conventions, probe.inputs) for probe in rejected)
        return replace(self, probes=rejected, answers=answers, refused=())

    def matches_without_refused(self) -> bool:
        """Return True if every output equals the definition's apart from the refused ones; False at once if another kind has a wrong one."""
        return self.has_answers and not self._is_wrong_apart_from(set()) and bool(self._names_of_right) and self.without_refused().matches()

    def may_be_right(self) -> bool:
        """Return False if an output is wrong of a kind that the function refused for no probe, and that has no caution."""
        return not self._is_wrong_apart_from({probe.beyond for probe in self.probes if probe.caution is not None})

    def _is_wrong_apart_from(self, kinds: Collection[Message | None]) -> bool:
        """Return True for a wrong output that is neither of these kinds of optional probes nor of one that the function refused at least once."""
        pairs = [*zip(self.probes, self.answers, strict=True)]
        excluded = {*kinds, *(probe.beyond for probe, answer in pairs if _is_refusal(probe, answer))}
        return any(
            not (isinstance(answer, Raised) or probe.beyond in excluded or probe.within in excluded or self.is_same(probe, answer))
            for probe, answer in pairs
        )

    @cached_property
    def is_wrong_where_required(self) -> bool:
        """True for a wrong output for inputs that every function has to support: no exclusion of refused ones removes it."""
        return any(
            not (isinstance(answer, Raised) or self.is_same(probe, answer))
            for probe, answer in zip(self.probes, self.answers, strict=True)
            if probe.beyond is None and probe.within is None
        )

    def is_right_for(self, probes: Sequence[Probe]) -> bool:
        """Return True if the outputs for these probes equal the definition's."""
        return {probe.name for probe in probes} <= {*self._names_of_right}

    def is_right_where_supported(self) -> bool:
        """Return True if every output is right apart from those for inputs that the function need not support, and does not or only in another way."""
        kept = self.without_refused()
        return any(each.is_right() for each in (kept, kept.within_branches(), kept.without_misshapen(), kept.without_caution()))

    def explaining_first(self) -> frozenset[Mistake]:
        """Return the known mistakes that explain the first output; none without an output."""
        return self.explaining(self.probes[0], self.answers[0]) if self.probes else frozenset()

    def explaining(self, probe: Probe, answer: Any) -> frozenset[Mistake]:
        """Return the known mistakes that explain one output; trials with the same output share it."""
        key = (self._with_steps, self.decimals, probe.name, id(answer))  # outputs are kept, so that no other one gets its identity
        if key not in self.memory.explaining:
            found = frozenset(each for each in self._near(probe, answer) if self.is_same(probe, answer, (each,)))
            self.memory.explaining[key] = answer, found
        return self.memory.explaining[key][1]

    def is_of_mistake(self, probe: Probe, answer: Any) -> bool:
        """Return True if any known mistake explains this output, which is not kept."""
        return any(_is_equal(answer, self.expected(probe, (each,))) for each in self._near(probe, answer))

    def _near(self, probe: Probe, answer: Any) -> Iterable[Mistake]:
        """Return the known mistakes without those whose output is far from this one; all are compared at once."""
        if not isinstance(answer, numpy.ndarray) or answer.dtype.kind not in "biuf" or self.decimals is not None:
            return self.exercise.mistakes
        outputs = self.memory.of_mistakes.get((self._with_steps, probe.name))
        if outputs is None:
            outputs = OutputsOfMistakes([(each, self.expected(probe, (each,))) for each in self.exercise.mistakes])
            self.memory.of_mistakes[self._with_steps, probe.name] = outputs
        return outputs.near(answer)

    def excludes(self, mistake: Mistake) -> bool:
        """Return True if a mistake needs an operand that the call does not take or code that is not there, or belongs to the default convention.

        It does if it replaces all steps of a convention, or one of a whole.
        """
        replaced = set(mistake.steps)
        source = self.call.subject.used_source  # empty if it is not known
        if mistake.written is not None and source and re.search(mistake.written, source) is None:
            return True
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

    def needs_missing(self) -> bool:
        """Return True if any call raised because something that the file imports is missing."""
        return any(isinstance(answer, Raised) and is_of_missing(answer.error) for answer in self.answers)

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
        return self.memory.compared.get(answer, expected, self.decimals, lambda: _is_equal(answer, expected, rounding))


def _is_equal(answer: Any, expected: Any, rounding: float = 0.0) -> bool:
    """Return True if an output equals another one in the coarser precision of the two."""
    return is_same(answer, expected, max(precision(answer), precision(expected)), rounding)


def _is_square(probe: Probe) -> bool:
    """Return True if the last two axes of all arrays of three axes or more have equal sizes."""
    arrays = [each for each in probe.inputs.values() if isinstance(each, numpy.ndarray) and each.ndim > 2]
    return bool(arrays) and all(each.shape[-1] == each.shape[-2] for each in arrays)


def _has_mask(probe: Probe) -> bool:
    return any(name.endswith("mask") and value is not None for name, value in probe.inputs.items())


def _is_refusal(probe: Probe, answer: Any) -> bool:
    """Return True if the function rejected inputs that it need not support.

    Overflow counts as a rejection only if the probe describes itself, and the end of the process does not.
    """
    if probe.beyond is None or not isinstance(answer, Raised) or isinstance(answer.error, SystemExit | EndsProcessError):
        return False
    return bool(probe.beyond.en) or not is_arithmetic(answer.error)


def _is_causal(probe: Probe) -> bool:
    return bool(probe.inputs.get("is_causal"))


def num_axes(inputs: Inputs) -> int:
    """Return the largest number of axes of the arrays in a probe."""
    return max((value.ndim for value in inputs.values() if isinstance(value, numpy.ndarray)), default=0)


def num_numbers(inputs: Inputs) -> int:
    """Return the number of array elements in a probe."""
    parts = [part for value in inputs.values() for part in (value if isinstance(value, list) else [value])]
    return sum(numpy.size(part) for part in parts if isinstance(part, numpy.ndarray))
