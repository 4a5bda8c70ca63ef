"""Verdicts with the repair of the learner's code, if there is one."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from inspect import isclass
from pathlib import Path
from types import ModuleType

from headway.practice.diagnosis.checks.trials import trials_of
from headway.practice.diagnosis.checks.unfit import unfit_trials
from headway.practice.diagnosis.classes.flax_modules import subjects_in
from headway.practice.diagnosis.classes.instances import InstanceCall
from headway.practice.diagnosis.diagnose import correct_as_is, diagnose
from headway.practice.diagnosis.doubt import NOT_UNDERSTOOD, is_in_doubt, lacks_weights, raised
from headway.practice.diagnosis.explain.failure import is_from_another_file, is_of_stand_in, refuses
from headway.practice.diagnosis.explain.impossible import impossibles
from headway.practice.diagnosis.explain.raising import Impossible
from headway.practice.diagnosis.explain.undefined import is_undefined
from headway.practice.diagnosis.files import load_definitions
from headway.practice.diagnosis.nested import ALSO_WRONG, BECAUSE, REPAIRED, because_of
from headway.practice.diagnosis.reading.absent_parts import LIBRARIES
from headway.practice.diagnosis.reading.errors import is_of_sizes
from headway.practice.diagnosis.reading.subject import Subject
from headway.practice.diagnosis.reading.trees import names_in
from headway.practice.diagnosis.recognising import recognised
from headway.practice.diagnosis.repair.locating import first_departure
from headway.practice.diagnosis.repair.program import NO_FINDINGS, Findings, program_of, used_names
from headway.practice.diagnosis.repair.remaining import AND_REPAIRED, PartOfRepair
from headway.practice.diagnosis.repair.search import Allowance, Extent, find_repair
from headway.practice.diagnosis.repair.text import applied, edit_of
from headway.practice.exercise import Exercise
from headway.practice.exercises import exercise as by_name
from headway.practice.message import Message
from headway.practice.names import fitting
from headway.practice.texts import Texts
from headway.practice.verdict import Cause, Repair, Verdict

TEXTS = Texts("diagnosis")

_BEHAVIOUR = frozenset(
    {
        *("changes_inputs", "default_value", "not_repeatable", "dropout_in_eval", "exits", "raises_SystemExit", "too_large", "tool_error"),
        *("gradient_stops", "gradient_is_wrong", "gradient_raises"),
        *(
            "unfinished",
            "layouts_differ",
            "cached_differs",
            "sampling_differs",
            "rotates_others",
            "rotation_without_effect",
            "loss_differs",
            "mask_dropped",
            "masks_intersected",
            "mask_with_flag",
            "mask_of_axes_wrong",
            "operands_ignored",
            "step_count",
            "second_loop_empty",
            "mask_turned",
            "prompt_not_cached",
            "first_pass_unmasked",
            "shared_ids",
            "absent_pairs_merged",
            "characters_lost",
            "shorter_sequence_raises",
            "starts_at_zero",
            "value_unused",
            "stops_for_first_row",
            "writes_after_end",
            "layer_made_in_call",
            "layers_unused",
            "argument_misplaced",
        ),
    }
)
"""Causes that concern more than the outputs, so that no change of one expression is tried."""

Judged = tuple[Subject, Exercise, Verdict]

Repaired = tuple[Subject, Repair]


def with_repairs(judged: Sequence[Judged], right: Collection[Verdict] = (), allowance: Allowance | None = None) -> Iterator[list[Verdict]]:
    """Yield the verdicts on a file's subjects with the smallest changes that make them right, after each search for one.

    A subject that calls wrong functions is repaired with their repairs in place, so that only its own mistake is changed. Those in doubt come last,
    because there may be no work left for them.

    right       verdicts on the subjects of the file that are right, which are changed last
    allowance   work for the file
    """
    allowance = allowance or Allowance()
    calls = [each.trial.call for each in right if each.trial is not None]
    fused = {way for call in calls if isinstance(call, InstanceCall) for way in call.fused}
    known = Findings(trusted={each.subject for each in right}, fused=fused)
    repairs: list[Repaired] = []
    found = {subject.name: verdict for subject, _, verdict in judged}
    for subject, exercise, verdict in sorted(
        judged, key=lambda each: (each[2].status != "wrong" or is_in_doubt(each[2]), _num_used(each[0]), len(each[0].source))
    ):  # short ones first: the work allowed may end before the others
        if not _fails_in_another(verdict, subject, [each for each, _, _ in judged]):
            with suppress(Exception):  # a program of an unforeseen kind: the verdict holds without a repair
                found[subject.name] = with_repair(verdict, subject, exercise, repairs, known, allowance)
        repair = found[subject.name].repair
        if repair is not None:
            repairs.append((subject, repair))
        yield [replace(found[subject.name], trials=()) for subject, _, _ in judged]


def _fails_in_another(verdict: Verdict, subject: Subject, others: Sequence[Subject]) -> bool:
    """Return True if a subject could not run because of an exception in the code of another one that is not right, or of another file.

    In another file, sizes that do not suit each other may be those that the subject passes.
    """
    error = raised(verdict)
    if error is None:
        return False
    lines = [cause.line or 0 for cause in verdict.causes]
    ranges = [range(each.line, each.line + len(each.source)) for each in others if each.name != subject.name]
    is_elsewhere = is_from_another_file(error, subject) and not is_of_sizes(error)
    return is_elsewhere or any(line in each for line in lines for each in ranges)


EFFORT_OF_NAMED = 0.4
"""Share of the usual work for the repair of a class whose mistake is certain: its calls take long, most repairs are found early, and the mistake is
named without one."""

MOST_CHANGES = 2
"""Number of changes that a repair makes at most in places that are not alike."""

SHORT = ("sgd_optimizer",)
"""Parts of few operations: leaving out what another variant adds makes it right as this one."""


def with_repair(
    verdict: Verdict,
    subject: Subject,
    exercise: Exercise,
    callees: Sequence[Repaired] = (),
    file: Findings = NO_FINDINGS,
    allowance: Allowance | None = None,
) -> Verdict:
    """Return a verdict with the smallest change that makes the subject right, and with the line that the change proves.

    A subject that the repairs of others make right is wrong only because of them: their change is not repeated.

    callees     other functions and classes of the file with their repairs
    file        knowledge from the subjects of the file that are right
    allowance   work for the file
    """
    names = {cause.name for cause in verdict.causes}
    is_variable = exercise.calls == "stack" or verdict.exercise in SHORT  # an edit may turn an unlisted convention into a known one
    if (
        verdict.is_correct
        or (is_variable and verdict.status != "wrong")
        or names & _BEHAVIOUR
        or any(name.startswith(BECAUSE) for name in names)
    ):
        return verdict
    is_doubted = NOT_UNDERSTOOD in names
    if is_doubted and any(trial.is_right_where_supported() for trial in verdict.trials):  # called with one head only
        return verdict
    if verdict.trial is not None and (verdict.trial.needs_missing() or verdict.trial.matches()):
        return verdict  # what needs a missing package may be right: a change that avoids it proves nothing; nor does one of right outputs
    error = raised(verdict)
    if error is not None and is_of_stand_in(error):
        return verdict  # a model of the author's own may have what the one in its place lacks
    if type(error) is NameError and not is_undefined(error, subject):
        return verdict  # the file assigns the name in lines that could not run
    if type(error) is NameError and error.name in LIBRARIES and len(re.findall(rf"\b{error.name}\.", subject.code)) > MOST_CHANGES:
        return verdict  # an import is missing, which no change of the subject adds
    raising = impossibles(subject) if any(name.startswith("raises_") for name in names) else []
    lines = {cause.line for cause in verdict.causes}
    is_meant = verdict.status == "could not run" and all(each.written for each in raising)
    if any(isinstance(each.node, ast.stmt) or each.cause.line in lines or is_meant for each in raising):
        return _with_meant(verdict, subject, exercise, raising)
    used = [each for each in callees if each[0].name in used_names(subject) and _keeps_lines(each[1])]
    repaired = _with_edits(subject, used) if used else None
    also_wrong = ALSO_WRONG.format(name=", ".join(each.name for each, _ in used))
    is_also_wrong = also_wrong.en in {note.en for note in verdict.notes}
    if repaired is not None and (again := _right(repaired, exercise, is_diagnosed=is_also_wrong)) is not None:
        return replace(again, status="wrong", causes=(because_of([each for each, _ in _needed(used, subject, exercise)], REPAIRED),))
    chosen = subject if repaired is None else repaired
    suspects = _lines_of_loops(subject) if "too_slow" in names else [cause.line for cause in verdict.causes if cause.line is not None]
    is_known = chosen is subject and verdict.trials and verdict.exercise == exercise.name
    trials = (verdict.trials if is_known else trials_of(chosen, exercise)) or unfit_trials(chosen, exercise)
    is_open = is_in_doubt(verdict)
    may_be_elsewhere = error is not None and is_from_another_file(error, subject)
    is_single = may_be_elsewhere or (is_open and not (_is_named(subject, exercise) or _holds_its_weights(verdict)))
    known = verdict.trial if is_known and (verdict.status == "wrong" or "too_slow" in names) else None
    effort = EFFORT_OF_NAMED if _is_proved(verdict) and isclass(chosen.value) else 1.0
    extent = Extent(is_single=is_single, is_doubted=is_open, effort=effort, allowance=allowance or Allowance())
    repair = find_repair(chosen, trials, replace(file, suspects=suspects), extent, known)
    if isinstance(repair, PartOfRepair) and (
        _is_explained(verdict, repair) or any(repair.cause.name == AND_REPAIRED.format(name=name) for name in names)
    ):
        repair = None  # the known mistake alone explains the outputs
    if isinstance(repair, PartOfRepair):
        return replace(verdict, status="wrong", causes=(repair.cause,), notes=())
    if repair is not None and chosen is subject and _is_coincidence(verdict, repair):
        return replace(verdict, status="wrong", causes=(), notes=(), repair=repair)
    if repair is None:
        is_confirmed = verdict.status != "wrong" or not any(cause.proof.en for cause in verdict.causes)
        return replace(verdict, causes=_located(verdict, subject), is_confirmed=is_confirmed)
    if is_doubted or "parameters" in names:
        return replace(verdict, status="wrong", causes=(), repair=repair)
    causes = (_at(verdict.causes[0], repair),) if len(verdict.causes) == 1 else verdict.causes
    notes = (*verdict.notes, also_wrong) if chosen is repaired and not is_also_wrong else verdict.notes
    status = verdict.status if error is not None and refuses(error, subject) else "wrong"
    return replace(verdict, status=status, causes=causes, notes=notes, repair=repair)


def _with_meant(verdict: Verdict, subject: Subject, exercise: Exercise, found: Sequence[Impossible]) -> Verdict:
    """Return the verdict on a subject with expressions that always raise, with what is meant instead of them if that makes it right."""
    wrong = replace(verdict, status="wrong", causes=(found[0].cause,), notes=(), difference=None)
    if not all(each.written for each in found):
        return wrong
    edits = tuple(edit_of(each.node, each.written, subject.text) for each in found)
    texts = [f"{ast.unparse(each.node)} → {each.written}" for each in found]
    lines = [
        TEXTS["changed_line"].format(line=each.node.lineno, change=Message(text, text)) for each, text in zip(found, texts, strict=True)
    ]
    says = Message("; ".join(each.en for each in lines), "；".join(each.zh for each in lines))
    repair = Repair(edits, says, 0)
    meant = _with_edits(subject, [(subject, repair)])
    right = None if meant is None else _right(meant, recognised(meant) or exercise)
    return wrong if right is None or right.trial is None else replace(wrong, repair=replace(repair, num_probes=len(right.trial.probes)))


def _right(subject: Subject, exercise: Exercise, *, is_diagnosed: bool = False) -> Verdict | None:
    """Return the verdict on a subject with repaired callees if it is correct.

    is_diagnosed   True if the diagnosis has found it wrong with correct callees: only equal outputs refute that
    """
    if is_diagnosed:
        return correct_as_is(subject, exercise)
    verdict = diagnose(subject, exercise)
    return verdict if verdict.is_correct else None


def _is_coincidence(verdict: Verdict, repair: Repair) -> bool:
    """Return True if the causes explain fewer than half of the outputs that the repair makes right."""
    is_proved = any(cause.proof.en for cause in verdict.causes)
    return is_proved and verdict.trial is not None and 2 * len(verdict.trial.probes) < repair.num_probes


def _is_explained(verdict: Verdict, repair: Repair) -> bool:
    """Return True if a single known mistake is certain, and no coincidence."""
    return _is_proved(verdict) and not _is_coincidence(verdict, repair)


def _is_proved(verdict: Verdict) -> bool:
    """Return True if a single known mistake is certain."""
    is_certain = verdict.status == "wrong" and verdict.confidence == "certain" and len(verdict.causes) == 1
    return is_certain and bool(verdict.causes[0].proof.en)


def _is_named(subject: Subject, exercise: Exercise) -> bool:
    """Return True if the name of a subject means one part most likely, or can mean no other, or one related to it."""
    likely, possible = fitting(subject.short_name)
    names = [*(likely or possible)]
    return not subject.is_private and len(names) == 1 and exercise.name in (*names, *by_name(names[0]).related)


def _holds_its_weights(verdict: Verdict) -> bool:
    """Return True for a class that holds the part's weights and no others: it is that part, although its name may mean others as well."""
    if verdict.trial is None or lacks_weights(verdict.trial):
        return False
    call = verdict.trial.call
    return isinstance(call, InstanceCall) and not call.other_parameters


def _lines_of_loops(subject: Subject) -> list[int]:
    """Return the lines of the conditions of while loops, and of the assignments in them to the names that the conditions read."""
    program = program_of(subject)
    loops = [node for each in (program.statements if program else ()) for node in ast.walk(each) if isinstance(node, ast.While)]
    lines = [loop.lineno for loop in loops]
    for loop in loops:
        read = {node.id for node in ast.walk(loop.test) if isinstance(node, ast.Name)}
        lines += [node.lineno for node in names_in(ast.Store, loop) if node.id in read]
    return lines


def _needed(used: Sequence[Repaired], subject: Subject, exercise: Exercise) -> Sequence[Repaired]:
    """Return the repairs of others without those that a subject is right without."""
    for each in used:
        fewer = [other for other in used if other is not each]
        repaired = _with_edits(subject, fewer) if fewer else None
        if repaired is not None and _right(repaired, exercise) is not None:
            return _needed(fewer, subject, exercise)
    return used


def _num_used(subject: Subject) -> int:
    return len(used_names(subject))


def _keeps_lines(repair: Repair) -> bool:
    return all(edit.replacement.count("\n") == edit.end_line - edit.line for edit in repair.edits)


def _with_edits(subject: Subject, repairs: Sequence[Repaired]) -> Subject | None:
    """Return a subject of the file with the edits of others made, or None if it no longer runs."""
    path = Path(str(getattr(subject.module, "__file__", None) or "learner.py"))
    text = applied(subject.text, [edit for _, repair in repairs for edit in repair.edits])
    module = load_definitions(path, text)
    if not isinstance(module, ModuleType):
        return None
    return next((each for each in subjects_in(module, text) if each.name == subject.name), None)


def _located(verdict: Verdict, subject: Subject) -> tuple[Cause, ...]:
    """Return the causes of a wrong verdict, one without a line at the first line where the program leaves the way of right ones."""
    if verdict.status != "wrong" or verdict.trial is None or all(cause.line is not None for cause in verdict.causes):
        return verdict.causes
    with suppress(Exception):  # a program of an unforeseen kind
        line = first_departure(subject, verdict.trial)
        return tuple(cause if cause.line is not None else replace(cause, line=line) for cause in verdict.causes)
    return verdict.causes


def _at(cause: Cause, repair: Repair) -> Cause:
    """Return a cause with the line of the repair, unless one of its edits contains the cause's own line."""
    if cause.line is not None and any(edit.line <= cause.line <= edit.end_line for edit in repair.edits):
        return cause
    return replace(cause, line=repair.edits[0].line)
