"""Conventions that may apply to a call, and its inputs and outputs under them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy

from headway.arrays import is_floating
from headway.practice.diagnosis.calls.calling import Call
from headway.practice.diagnosis.reading.subject import Subject, without_comments
from headway.practice.exercise import Convention, Exercise, Inputs
from headway.practice.outputs import Raised
from headway.practice.recipes.conventions import SEVERAL_VALUES

PLAIN = Convention()

MISFITS = (KeyError, ValueError, TypeError, IndexError, AttributeError)
"""Exceptions of a convention's encoding or decoding that mean that it does not apply."""


def encoded_in(convention: Convention, inputs: Inputs) -> Inputs | None:
    """Encode the inputs in a convention; None if it does not apply."""
    try:
        return convention.encode(inputs)
    except MISFITS:  # the probe lacks the role that the convention concerns, or has other axes
        return None


def alternatives(group: Sequence[Convention], call: Call, exercise: Exercise) -> list[Convention]:
    """Return the first convention of a group, and the others that may apply according to the function's names and measurements.

    Of a parameter whose name means some of them alone, such as lengths in place of a mask, the others do not apply.
    """
    others = [each for each in group[1:] if may_apply(each, call)]
    alone = [each for each in others if each.alone is not None and re.search(each.alone, _taken_as(each, call) or "", re.IGNORECASE)]
    possible = alone or [group[0], *others]
    return [read for each in possible for read in measured_conventions(each, call, exercise)]


def measured_conventions(convention: Convention, call: Call, exercise: Exercise) -> Sequence[Convention]:
    """Return the convention itself, or with a number of the source, or those measured from the function's output without its further values."""
    if convention.by_number is not None and convention.name is not None:
        numbers, by_number = _numbers_of(call.subject), convention.by_number
        return [
            replace(convention, name=convention.name.format(number=number), encode=partial(by_number, number), by_number=None)
            for place, number in enumerate(numbers)
            if place == convention.place
        ]
    if convention.reads is None:
        return [convention]
    try:
        read = convention.reads(lambda inputs: main_output(output_of(call, (), inputs), exercise))
    except (*MISFITS, ArithmeticError):
        return []
    found = [] if read is None else [read] if isinstance(read, Convention) else read
    return [replace(each, measured_by=convention) for each in found]


def _numbers_of(subject: Subject) -> list[int]:
    """Return the whole numbers that a subject's source has apart from its comments, and the constants of its file that it names; without 0 and 1."""
    source = without_comments(subject.used_source)
    constants = vars(subject.module) if subject.module is not None else {}
    found = [int(each) for each in re.findall(r"(?<![\w.])\d{1,9}\b(?!\.)", source)]
    named = [constants.get(name) for name in re.findall(r"(?<!\.)\b[A-Za-z_]\w*", source)]
    return [*dict.fromkeys(each for each in (*named, *found) if type(each) is int and each > 1)]


def main_output(answer: Any, exercise: Exercise) -> Any:
    """Return the first of several returned values, if the exercise accepts further ones."""
    accepts_further = any(each.name is SEVERAL_VALUES for group in exercise.conventions for each in group)
    return answer[0] if accepts_further and isinstance(answer, tuple) and answer else answer


def may_apply(convention: Convention, call: Call) -> bool:
    """Return True if the function's parameters, name, source and file allow a convention."""
    if convention.without is not None and call.binding.takes(convention.without):
        return False
    taken_as = _taken_as(convention, call)
    if convention.role is not None and (taken_as is None or not re.search(convention.named or "", taken_as, re.IGNORECASE)):
        return False
    if convention.is_required and taken_as not in call.required_names:
        return False
    is_in_source = re.search(convention.source or "", call.subject.own_source, re.IGNORECASE)
    names = "\n".join(vars(call.subject.module)) if call.subject.module is not None else ""
    is_in_file = re.search(convention.file_names or "", names, re.IGNORECASE)
    is_of_file = convention.file_source is None or re.search(convention.file_source, call.subject.file_source, re.IGNORECASE)
    is_used = convention.used_source is None or re.search(convention.used_source, call.subject.used_source)
    return bool(
        is_in_source and is_in_file and is_of_file and is_used and re.search(convention.called or "", call.subject.name, re.IGNORECASE)
    )


def _taken_as(convention: Convention, call: Call) -> str | None:
    """Return the name of the parameter for the operand that a convention concerns; None without one."""
    return next((name for name, role in call.binding.role_of.items() if role.name == convention.role), None)


def output_of(call: Call, conventions: Sequence[Convention], inputs: Inputs) -> Any:
    """Return the output for some inputs in the convention of headway.functions; Raised if they cannot be encoded."""
    encoded = encoded_for(call, conventions, inputs)
    if encoded is None:
        return Raised(ValueError("the conventions cannot encode these inputs"))
    with numpy.errstate(all="ignore"):
        return decoded(call(encoded), conventions, inputs)


def encoded_for(call: Call, conventions: Sequence[Convention], inputs: Inputs) -> Inputs | None:
    """Encode the inputs in all conventions; None if one of them does not apply."""
    encoded: Inputs | None = inputs | call.sizes(inputs)
    for convention in conventions:
        encoded = None if encoded is None else encoded_in(convention, encoded)
    return encoded


def decoded(answer: Any, conventions: Sequence[Convention], inputs: Inputs) -> Any:
    """Return an output in the convention of headway.functions."""
    for convention in reversed(conventions):
        if isinstance(answer, Raised) or answer is None:
            return answer
        try:
            answer = as_precise(convention.decode(answer, inputs), answer)
        except MISFITS:  # the output is not of the kind that the convention concerns
            return answer
    return answer


def as_precise(answer: Any, given: Any) -> Any:
    """Return what is computed from an output in the precision of that output, which sets the tolerance."""
    if not all(hasattr(each, "dtype") and is_floating(each) for each in (answer, given)):
        return answer
    return answer.astype(given.dtype) if given.dtype.itemsize < answer.dtype.itemsize else answer
