"""Subjects of a file that no part recognises, or whose part is not understood, tried as the parts that their names may mean.

Such a subject may be anything, so it is wrong only if one change makes it right for every probe. Otherwise nothing is reported.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from inspect import isclass, isfunction

from headway.practice.diagnosis.checks.of_text import cause_of_text
from headway.practice.diagnosis.checks.trials import trials_of
from headway.practice.diagnosis.checks.unfit import unfit_trials
from headway.practice.diagnosis.classes.parts import computes_waves
from headway.practice.diagnosis.diagnose import diagnose
from headway.practice.diagnosis.doubt import is_in_doubt
from headway.practice.diagnosis.explain.impossible import impossible
from headway.practice.diagnosis.explain.undefined import raises_when_made
from headway.practice.diagnosis.inherited import inherited_cause
from headway.practice.diagnosis.reading.methods import BYTE_PAIRS
from headway.practice.diagnosis.reading.subject import Subject, is_of_byte_pairs
from headway.practice.diagnosis.reading.unfinished import unfinished_line
from headway.practice.diagnosis.recognising import JOINS_A_PAIR, is_more_than, is_of_codes, parts_if_correct
from headway.practice.diagnosis.repair.program import Findings, used_names
from headway.practice.diagnosis.repair.search import Allowance, Extent, find_repair
from headway.practice.diagnosis.repair.text import replaced_text
from headway.practice.exercise import Exercise
from headway.practice.exercises import exercise as by_name
from headway.practice.names import NO_FUNCTION, fitting
from headway.practice.verdict import Repair, Verdict

MAX_TRIED = 3
"""Subjects and parts that are tried."""
EFFORT = 0.4
"""Share of the usual work for each."""
MODEL = r"(?i)model$|^vit|vit$|bert|gpt|transformer|llama|lm$"
"""Pattern of the names of whole models, of any kind."""
CAUSAL = r"(?i)tri[ul]|causal"
"""Pattern of the source of a model that hides later positions."""


def repaired_as_others(
    subjects: Sequence[Subject], verdicts: Sequence[Verdict], right: Collection[str], allowance: Allowance
) -> list[Verdict]:
    """Return the verdicts on those of a file's subjects that a single change makes right as a part that they were not judged as.

    verdicts    on the subjects that were judged
    right       names of the subjects of the file that are right
    allowance   work for the file
    """
    found: dict[str, Verdict] = {}
    failing = {each.subject for each in verdicts if any(cause.name.startswith("raises_") for cause in each.causes)}
    for subject, exercise in itertools.islice(_untried(subjects, verdicts), MAX_TRIED):
        if failing and failing & used_names(subject):  # no change of its own corrects the part that raises
            continue
        with suppress(Exception):  # a program of an unforeseen kind
            verdict = _repaired_as(subject, exercise, right, allowance)
            if verdict is not None:
                found[subject.name] = verdict
    return list(found.values())


def mistaken_by_text(subjects: Sequence[Subject], wrong: Mapping[str, Verdict]) -> Iterator[Verdict]:
    """Yield the verdicts on the stacks and models among subjects that were not judged whose text shows a mistake, such as one layer in all places.

    wrong   verdicts on parts of the file that are wrong wherever they are used
    """
    for subject in subjects:
        whole = _whole(subject)
        found = None if whole is None else cause_of_text(subject) or raises_when_made(subject) or impossible(subject)
        cause = found or inherited_cause(subject, wrong)
        if whole is not None and cause is not None:
            yield Verdict(subject.name, whole.name, subject.line, "wrong", (cause,), title=whole.title)


def _whole(subject: Subject) -> Exercise | None:
    """Return the stack or model that the name of a subject may mean, for a class with another name of a model by whether it hides later positions; or None."""
    parts = [by_name(name) for group in fitting(subject.short_name) for name in group]
    if not parts and isclass(subject.value) and re.search(MODEL, subject.short_name):
        parts = [by_name("gpt2" if re.search(CAUSAL, subject.own_source) else "encoder_stack")]
    return next((each for each in parts if each.calls in ("stack", "model")), None)


def _untried(subjects: Sequence[Subject], verdicts: Sequence[Verdict]) -> Iterator[tuple[Subject, Exercise]]:
    judged = {verdict.subject: verdict for verdict in verdicts}
    for subject in subjects:
        verdict = judged.get(subject.name)
        if verdict is not None and (verdict.status != "could not run" or verdict.repair is not None):
            continue
        owner = subject.name.rpartition(".")[0]
        if unfinished_line(subject) is not None or (owner and (owner in judged or not is_of_codes(subject))):
            continue
        if isfunction(subject.value) and re.match(NO_FUNCTION, subject.short_name, re.IGNORECASE):
            continue
        likely, possible = fitting(subject.short_name) if not is_of_codes(subject) else ((), ())
        if verdict is None:
            possible = (*possible, *(each for each in parts_if_correct(subject) if each not in (*likely, *possible)))
        if subject.file_source and not is_of_byte_pairs(subject.file_source):
            likely, possible = (tuple(each for each in group if each not in BYTE_PAIRS) for group in (likely, possible))
        if verdict is None and re.search(JOINS_A_PAIR, subject.own_source):
            possible = (*possible, "merge_pair")
        for name in [*likely, *possible] if verdict is None else [each for each in likely if each != verdict.exercise]:
            is_table = name == "embed" and computes_waves(subject)  # of positions
            is_other = is_table or is_more_than(subject, name)
            if by_name(name).calls != "stack" and not is_other:  # a stack is judged only where its layers are found
                yield subject, by_name(name)


def _repaired_as(subject: Subject, exercise: Exercise, right: Collection[str], allowance: Allowance) -> Verdict | None:
    """Return the verdict with the change that makes a subject right, or None."""
    trials = trials_of(subject, exercise) or unfit_trials(subject, exercise)
    if not trials or any(trial.needs_missing() for trial in trials):  # a change that avoids what is missing proves nothing
        return None
    verdict = diagnose(subject, exercise)
    if verdict.is_correct or verdict.exercise != exercise.name:
        return None
    repair = find_repair(subject, trials, Findings(trusted=right), Extent(is_single=True, effort=EFFORT, allowance=allowance))
    if repair is None or (exercise.name in parts_if_correct(subject) and _leaves_out(repair, subject)):
        return None
    repaired = replace(verdict, status="wrong", causes=(), notes=(), repair=repair, trials=())
    return None if is_in_doubt(repaired) else repaired


def _leaves_out(repair: Repair, subject: Subject) -> bool:
    """Return True if an edit leaves out a part of an expression, or changes only a number that may turn it off: its name says little of a subject."""
    edits = [(replaced_text(subject.text, each), each.replacement) for each in repair.edits if each.cell is None]
    is_scheduling = re.search(r"(?i)lr|rate|sched|warm", subject.short_name) is not None
    is_of_number = any(re.fullmatch(NUMBER, old.strip()) for old, _ in edits) and not is_scheduling
    return is_of_number or any(len(re.findall(TOKEN, old)) > len(re.findall(TOKEN, new)) for old, new in edits)


NUMBER, TOKEN = r"-?[\d.]+(e-?\d+)?", r"\w+|[^\w\s()]"
"""Patterns of a number, and of a word or a sign of a program."""
