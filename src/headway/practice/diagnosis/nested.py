"""A function that is wrong only because another one of the same file is.

The other one is put right for a moment, in the learner's module, and the function is asked again: if it is right then, the fault
is the other's alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from headway.arrays import array_namespace, cast, from_numpy, is_floating
from headway.practice.diagnosis.calling import bind
from headway.practice.diagnosis.compare import as_numbers
from headway.practice.diagnosis.diagnose import diagnose
from headway.practice.diagnosis.subject import Subject
from headway.practice.exercise import Convention, Exercise
from headway.practice.verdict import Cause, Verdict
from headway.practice.words import Words

Judged = tuple[Subject, Exercise, Verdict]


def traced(judged: Sequence[Judged]) -> list[Verdict]:
    """The verdicts, each fault named once: where it is another function's of the same file, that one is named."""
    return [_traced(each, [other for other in judged if other[0] is not each[0]]) for each in judged]


def _traced(judged: Judged, others: Sequence[Judged]) -> Verdict:
    subject, exercise, verdict = judged
    if verdict.is_correct:
        return verdict
    called = [other for other in others if not other[2].is_correct and _calls(subject, other[0].name)]
    for other, its_exercise, its_verdict in called:
        with _repaired(other, its_exercise, its_verdict.conventions):
            again = diagnose(subject, exercise)
        if again.is_correct:
            return replace(verdict, status="wrong", causes=(_cause(other),), difference=None, notes=again.notes)
        if again.status == "wrong" and again.causes != verdict.causes:  # its own mistake shows only once the other is put right
            both = replace(again.causes[0], proof=ONCE_RIGHT.filled(name=other.name))
            note = Words(f"{other.name}, which it calls, is wrong too", f"它调用的 {other.name} 也有错")
            return replace(again, causes=(both, *again.causes[1:]), notes=(*again.notes, note))
    return verdict


ONCE_RIGHT = Words("with {name} put right, this alone remains", "把 {name} 改正之后，只剩下这一处")


def _cause(other: Subject) -> Cause:
    return Cause(
        f"because_of_{other.name}",
        Words(f"it is wrong only because {other.name} is", f"它出错只是因为 {other.name} 有错"),
        Words(f"put {other.name} right; nothing is wrong here", f"改正 {other.name} 即可；这里没有错"),
        Words(
            f"with the definition in place of {other.name}, every answer matches",
            f"用定义替换 {other.name} 之后，所有输出都一致",
        ),
        line=other.line,
    )


def _calls(subject: Subject, name: str) -> bool:
    return any(re.search(rf"\b{re.escape(name)}\s*\(", line.partition("#")[0]) for line in subject.source)


@contextmanager
def _repaired(subject: Subject, exercise: Exercise, conventions: Sequence[Convention]) -> Iterator[None]:
    """The subject's module with the definition under the subject's name, called in the subject's conventions."""
    module, binding = subject.module, bind(subject, exercise.roles)
    if module is None or binding is None or not all(map(_can_be_undone, conventions)):
        yield
        return

    def definition(*positional: Any, **named: Any) -> Any:
        names = [parameter.name for parameter in subject.parameters]
        given = {**dict(zip(names, positional, strict=False)), **named}
        inputs = {binding.role_of[name].name: value for name, value in given.items() if name in binding.role_of}
        arrays = [value for value in inputs.values() if hasattr(value, "shape")]
        inputs = {name: as_numbers(value) if hasattr(value, "shape") else value for name, value in inputs.items()}
        for convention in reversed(conventions):
            inputs = convention.undo(inputs) if convention.undo else inputs
        answer = exercise.answer(inputs, conventions=tuple(conventions))
        return _like(answer, arrays[0]) if arrays else answer

    setattr(module, subject.name, definition)
    try:
        yield
    finally:
        setattr(module, subject.name, subject.value)


def _can_be_undone(convention: Convention) -> bool:
    """Whether what a function takes and answers in a convention can be said as the definition takes and answers it."""
    return convention.decode is PLAIN.decode and (convention.encode is PLAIN.encode or convention.undo is not None)


PLAIN = Convention()


def _like(answer: Any, array: Any) -> Any:
    """A NumPy answer in the library and the dtype of a learner's array."""
    namespace = array_namespace(array)
    library = next(name for name in ("torch", "jax", "mlx", "numpy") if name in namespace.__name__)
    converted = from_numpy(answer, library)
    return cast(converted, array.dtype) if is_floating(array) else converted
