"""Functions that are wrong only because they call another wrong function of the same file.

Callees are judged before their callers. While a caller is judged, its wrong callees are replaced by the definition in the learner's
module; if the caller is then correct, only the callees are at fault.
"""

from __future__ import annotations

import inspect
import re
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any

from headway.arrays import array_namespace, cast, from_numpy, is_floating
from headway.practice.diagnosis.calls.binding import bind
from headway.practice.diagnosis.calls.compare import as_numbers
from headway.practice.diagnosis.calls.conventions import PLAIN
from headway.practice.diagnosis.calls.traced import untraced
from headway.practice.diagnosis.checks.rotary_layouts import with_fitting_tables
from headway.practice.diagnosis.diagnose import correct_as_is, diagnose
from headway.practice.diagnosis.outcomes.of_trial import verdict_without_trial
from headway.practice.diagnosis.reading.subject import Subject
from headway.practice.exercise import Convention, Exercise
from headway.practice.exercises import exercise as by_name
from headway.practice.message import EMPTY, Message, describe_error, joined
from headway.practice.texts import Texts
from headway.practice.verdict import Cause, Verdict

TEXTS = Texts("diagnosis")


@dataclass(frozen=True)
class Judged:
    """A function with its verdict.

    is_at_fault   True if the fault is in this function, not in one that it calls
    """

    subject: Subject
    exercise: Exercise
    verdict: Verdict
    is_at_fault: bool


def verdicts(
    given: Sequence[tuple[Subject, Exercise]],
    begin: Callable[[Subject, Exercise], None] = lambda *_: None,
    found_right: Callable[[Verdict], None] = lambda _: None,
) -> list[Verdict]:
    """Return the verdicts on a file's functions in their order, reporting each fault once, in the function that contains it.

    begin        called with each function before it is judged
    found_right  called with each correct verdict that no other verdict changes or depends on: all that the function calls is correct
    """
    judged: list[Judged] = []
    for subject, exercise in _callees_first(given):
        begin(subject, exercise)
        faults = [each for each in judged if each.is_at_fault and _reaches(subject, each.subject, [other.subject for other in judged])]
        verdict = _judged_safely(subject, exercise, faults)
        is_because = any(cause.name.startswith(BECAUSE) for cause in verdict.causes)
        judged.append(Judged(subject, exercise, verdict, is_at_fault=not verdict.is_correct and not is_because))
        if verdict.is_correct and all(each.verdict.is_correct or not _calls(subject, each.subject.name) for each in judged):
            found_right(verdict)
    judged = [_in_context(each, judged) for each in judged]
    judged = [replace(each, verdict=with_fitting_tables(each.verdict, [other.verdict for other in judged])) for each in judged]
    return [next(each.verdict for each in judged if each.subject is subject) for subject, _ in given]


PARTIAL = {"no_output_projection", "first_map_alone", "first_maps_alone"}
"""Mistakes that a caller may make good: the last matrix is missing."""

CACHED = {"cached_differs"}
"""The mistake of a part that is right without a cache."""

WITHOUT_LAST_MATRIX = ("self_attention", "cross_attention")
"""Exercises in which an output projection is optional."""


STACKED = (
    r"(?s)\A(?!.*Linear\()(?=.*(\[\s*[\w.]+\([^\[\]]*\)\s*for \w+ in range\(|for \w+ in range\([^\n]*:\s+[\w.]+\.append\(\s*[\w.]+\())"
    r".*\b(cat|concat(enate)?)\("
)
"""Pattern of the source of a class that concatenates the outputs of a list of single heads, and has no layer of its own."""

INNER_CLASS = r"(?m)^( +)class \w.*\n((\1 .*)?\n)*"
"""Pattern of a class in a class."""


def _in_context(each: Judged, judged: Sequence[Judged]) -> Judged:
    """Return a subject without its last matrix as not understood if a correct caller applies that matrix itself.

    A list of single heads needs none.
    """
    if not {cause.name for cause in each.verdict.causes} & PARTIAL:
        return each
    if inspect.isclass(each.subject.value) and re.search(STACKED, re.sub(INNER_CLASS, "", each.subject.own_source)):
        right = correct_as_is(each.subject, by_name("stacked_heads_attention"))
        return each if right is None else replace(each, verdict=right, is_at_fault=False)
    callers = [other for other in judged if other.verdict.is_correct and _calls(other.subject, each.subject.name)]
    if not callers:
        return each
    as_part = filter(None, (correct_as_is(each.subject, by_name(name)) for name in WITHOUT_LAST_MATRIX))
    if (right := next(as_part, None)) is not None:
        return replace(each, verdict=right, is_at_fault=False)
    says = TEXTS["applied_by_caller"].format(name=callers[0].subject.name)
    cause = Cause("not_understood", says, TEXTS["select_part_or_state_shapes"], EMPTY, line=each.verdict.line)
    return replace(each, verdict=replace(each.verdict, status="could not run", causes=(cause,), notes=()))


def _callees_first(given: Sequence[tuple[Subject, Exercise]]) -> list[tuple[Subject, Exercise]]:
    """Sort the functions so that callees precede their callers; otherwise keep the order."""
    found: list[tuple[Subject, Exercise]] = []
    waiting: list[Subject] = []

    def visit(pair: tuple[Subject, Exercise]) -> None:
        if any(pair[0] is subject for subject, _ in found) or any(pair[0] is subject for subject in waiting):
            return
        waiting.append(pair[0])
        for other in given:
            if _calls(pair[0], other[0].name):
                visit(other)
        waiting.pop()
        found.append(pair)

    for pair in given:
        visit(pair)
    return found


def _reaches(subject: Subject, other: Subject, between: Sequence[Subject]) -> bool:
    """Return True if a function calls another, directly or through others."""
    if _calls(subject, other.name):
        return True
    rest = [each for each in between if each is not subject]
    return any(_calls(subject, each.name) and _reaches(each, other, [later for later in rest if later is not each]) for each in rest)


def _calls(subject: Subject, name: str) -> bool:
    return name != subject.name and re.search(rf"\b{re.escape(name)}\s*\(", subject.code) is not None


def _judged_safely(subject: Subject, exercise: Exercise, faults: Sequence[Judged]) -> Verdict:
    """Judge a function; an exception inside this package becomes a verdict that says so and accuses nobody."""
    try:
        return _judge(subject, exercise, faults)
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        says = TEXTS["headway_check_failed_error_place"].format(
            error=describe_error(error), place=f"{frame.filename.rpartition('headway')[2]}:{frame.lineno}"
        )
        cause = Cause("tool_error", says, TEXTS["bug_headway_your_code_please_report"], EMPTY, line=subject.line)
        return verdict_without_trial(subject, exercise, "could not run", cause)


def _judge(subject: Subject, exercise: Exercise, faults: Sequence[Judged]) -> Verdict:
    """Judge a function that calls wrong ones."""
    replaceable = [fault for fault in faults if _can_be_replaced(fault)]
    if not replaceable:
        return _judge_class(subject, exercise, [fault for fault in faults if inspect.isclass(fault.subject.value)])
    as_it_is = correct_as_is(subject, exercise)
    if as_it_is is not None:
        return as_it_is
    again = _with_replacements(subject, exercise, replaceable)
    if again.is_correct:
        for fault in tuple(replaceable):  # keep only the functions whose replacement is necessary
            fewer = [each for each in replaceable if each is not fault]
            if fewer and _with_replacements(subject, exercise, fewer).is_correct:
                replaceable = fewer
        unproved = [each.subject for each in replaceable if each.verdict.status == "could not run"]
        if unproved:
            return replace(again, status="could not run", causes=(uses_doubted([each.name for each in unproved], subject.line),), notes=())
        return replace(again, status="wrong", causes=(because_of([each.subject for each in replaceable]),))
    if again.status == "wrong" and all(each.verdict.status == "wrong" for each in replaceable):  # its own mistake shows only now
        return _also_wrong(again, replaceable)
    return diagnose(subject, exercise)


def _judge_class(subject: Subject, exercise: Exercise, faults: Sequence[Judged]) -> Verdict:
    """Judge a class that may use wrong ones, then with correct parts in their places.

    A part that is wrong with a cache alone is right in a whole pass: only what the class does with a cache may be because of it.
    """
    if faults and all({cause.name for cause in each.verdict.causes} == CACHED for each in faults):
        verdict = diagnose(subject, exercise)
        is_because = {cause.name for cause in verdict.causes} == CACHED
        return replace(verdict, causes=(because_of([each.subject for each in faults], EMPTY),)) if is_because else verdict
    if exercise.calls not in ("layer", "block") or not faults or any(each.verdict.status != "wrong" for each in faults):
        return diagnose(subject, exercise)
    is_made_good = all({cause.name for cause in each.verdict.causes} <= PARTIAL for each in faults)
    considered = [exercise, *(map(by_name, exercise.related) if is_made_good else ())]
    as_it_is = next(filter(None, (correct_as_is(subject, each) for each in considered)), None)
    if as_it_is is not None:
        return as_it_is
    again = diagnose(replace(subject, has_wrong_parts=True), exercise)
    if again.is_correct:
        return replace(again, status="wrong", causes=(because_of([each.subject for each in faults]),))
    return diagnose(subject, exercise) if again.trial is None else _also_wrong(again, faults)


def _also_wrong(verdict: Verdict, others: Sequence[Judged]) -> Verdict:
    """Return the verdict on a subject's own mistake, which was found with other wrong ones replaced."""
    names = ", ".join(each.subject.name for each in others)
    is_proved = verdict.status == "wrong" and bool(verdict.causes)
    own = [replace(each, proof=TEXTS["with_replacement"].format(name=names)) if is_proved else each for each in verdict.causes[:1]]
    return replace(verdict, causes=(*own, *verdict.causes[1:]), notes=(*verdict.notes, ALSO_WRONG.format(name=names)))


def _with_replacements(subject: Subject, exercise: Exercise, faults: Sequence[Judged]) -> Verdict:
    subject = replace(subject, has_definitions=True)  # a copy: its trials are those with the wrong functions
    with untraced(), ExitStack() as stack:
        for fault in faults:
            stack.enter_context(_replaced(fault))
        return replace(diagnose(subject, exercise), trials=())


BECAUSE = "because_of_"
ALSO_WRONG = TEXTS["also_wrong"]
REPLACED, REPAIRED = TEXTS["with_callees_replaced"], TEXTS["with_callees_repaired"]


def because_of(others: Sequence[Subject], proof: Message = REPLACED) -> Cause:
    """Return the cause of a subject that is wrong only because of others.

    proof   evidence, with their {names}
    """
    names = joined([other.name for other in others], en=" and ")
    says = TEXTS["wrong_because_of_one"] if len(others) == 1 else TEXTS["wrong_because_of_several"]
    return Cause(
        BECAUSE + "_and_".join(other.name for other in others),
        says.format(names=names),
        TEXTS["correct_callees"].format(names=names),
        proof.format(names=names),
        line=others[0].line,
    )


def uses_doubted(names: Sequence[str], line: int | None) -> Cause:
    """Return the cause of a subject of which nothing is known because the named ones could not run or were not understood."""
    says = TEXTS["uses_doubted"].format(names=", ".join(names))
    return Cause("not_understood", says, TEXTS["select_part_or_state_shapes"], EMPTY, line=line)


def _can_be_replaced(fault: Judged) -> bool:
    """Return True if the definition can replace the function under the conventions it was judged with."""
    subject = fault.subject
    is_function = subject.module is not None and not inspect.isclass(subject.value) and bind(subject, fault.exercise.roles) is not None
    return is_function and all(map(_is_invertible, fault.verdict.conventions))


def _is_invertible(convention: Convention) -> bool:
    """Return True if a convention's inputs can be converted back and its outputs need no conversion."""
    return convention.decode is PLAIN.decode and (convention.encode is PLAIN.encode or convention.undo is not None)


@contextmanager
def _replaced(fault: Judged) -> Iterator[None]:
    """Replace a function in its module by the definition."""
    subject, exercise, conventions = fault.subject, fault.exercise, fault.verdict.conventions
    binding = bind(subject, exercise.roles)
    assert binding is not None

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

    setattr(subject.module, subject.name, definition)
    try:
        yield
    finally:
        setattr(subject.module, subject.name, subject.value)


def _like(answer: Any, array: Any) -> Any:
    """Convert a NumPy output to the library and dtype of a learner's array."""
    namespace = array_namespace(array)
    library = next(name for name in ("torch", "jax", "mlx", "numpy") if name in namespace.__name__)
    converted = from_numpy(answer, library)
    return cast(converted, array.dtype) if is_floating(array) else converted
