"""Find-the-bug exercises: a file that looks correct and has one mistake, and the check of its repair."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from pathlib import Path

from headway.files import write_text
from headway.practice.exercises import exercise
from headway.practice.message import LANGUAGES, Message, PracticeError, unknown_name
from headway.practice.texts import Texts
from headway.practice.workbook.bugs import BUGS, Bug
from headway.practice.workbook.folder import put_aside
from headway.practice.workbook.judging import judge_file
from headway.practice.workbook.parts import NAMES as PART_NAMES
from headway.practice.workbook.parts import part
from headway.practice.workbook.progress import Hunt, Progress, read_progress, write_progress
from headway.practice.workbook.solution import numpy_functions

TEXTS = Texts("workbook")

FILE = "find_the_bug.py"

NAMES = tuple(dict.fromkeys(bug.exercise for bug in BUGS))
"""Exercises that have bugs."""

ASIDE = TEXTS["aside"]
HINTS = (
    TEXTS["first_hint"],
    TEXTS["second_hint"],
    TEXTS["third_hint"],
)


def hunt(folder: Path, name: str | None, seed: int | None, language: str) -> tuple[bool, list[Message]]:
    """Write a file with a bug if none is open or another one is requested, else check the repair.

    name   exercise with the bug; any by default

    Return True if a bug was written or its repair is correct, and the messages to print.

    Errors   OptionError for an exercise without bugs.
    """
    progress = read_progress(folder) or Progress("numpy", is_begun=False)
    open_hunt = progress.hunt if progress.hunt and not progress.hunt.is_solved else None
    if open_hunt is not None and name is None and seed is None:
        if (folder / FILE).exists():
            return _check(folder, progress, open_hunt)
        return True, _write_bug(folder, progress, open_hunt, language)
    if name is not None:
        _check_name(name)
    return True, _write_bug(folder, progress, Hunt(name, random.randrange(10**6) if seed is None else seed), language)


def hint(folder: Path) -> Message:
    """Return the next of three hints for the open bug."""
    progress, given = _open(folder)
    number = min(given.num_hints + 1, len(HINTS))
    write_progress(folder, replace(progress, hunt=replace(given, num_hints=number)))
    bug = chosen(given)
    line = _differing(mistaken(bug), numpy_functions()[bug.exercise])[0].strip()
    return HINTS[number - 1].format(name=bug.exercise, equation=_equation(bug), line=line, fix=fix_of(bug))


def repair(folder: Path) -> Message:
    """Return the wrong lines and their correction."""
    _, given = _open(folder)
    bug = chosen(given)
    right, wrong = numpy_functions()[bug.exercise], mistaken(bug)
    return TEXTS["repair"].format(wrong="\n".join(_differing(wrong, right)), right="\n".join(_differing(right, wrong)))


def chosen(given: Hunt) -> Bug:
    """Return the bug selected by an exercise and a seed."""
    return random.Random(given.seed).choice([bug for bug in BUGS if given.exercise in (None, bug.exercise)])


def mistaken(bug: Bug) -> str:
    """Return the exercise's function with the mistake in it."""
    return numpy_functions()[bug.exercise].replace(bug.right, bug.wrong)


def buggy_file(bug: Bug, language: str) -> str:
    """Return the whole file: helper functions, then the function with the mistake."""
    first, body = mistaken(bug).split("\n", 1)
    docstring = f'    """{exercise(bug.exercise).title.text(language)}: {_equation(bug)}"""\n'
    functions = [*_called_by(bug.exercise), f"{first}\n{docstring}{body}"]
    return TEXTS["header"].format(name=bug.exercise).text(language) + "\nimport numpy as np\n\n\n" + "\n\n".join(functions)


def fix_of(bug: Bug) -> Message:
    """Return the fix for the mistake from the exercise."""
    known = exercise(bug.exercise)
    fixes = {each.name: each.fix for each in known.recoveries} | {each.name: each.fix for each in known.mistakes}
    return fixes[bug.mistake]


def _write_bug(folder: Path, progress: Progress, given: Hunt, language: str) -> list[Message]:
    path, bug = folder / FILE, chosen(given)
    lines = []
    if path.exists() and _is_untouched(path, progress.hunt) and progress.hunt != given:
        lines = [TEXTS["replaced"].format(file=FILE)]
    elif path.exists() and not _is_untouched(path, progress.hunt):
        state = TEXTS["foreign"] if progress.hunt is None else TEXTS["solved"] if progress.hunt.is_solved else TEXTS["unsolved"]
        lines = [ASIDE.format(file=FILE, state=state, aside=put_aside(path).name)]
    write_text(path, buggy_file(bug, language))
    write_progress(folder, replace(progress, hunt=given))
    return [*lines, TEXTS["written"].format(path=path, seed=given.seed, title=exercise(bug.exercise).title, folder=folder)]


def _check(folder: Path, progress: Progress, given: Hunt) -> tuple[bool, list[Message]]:
    path, bug = folder / FILE, chosen(given)
    if _is_untouched(path, given):
        return False, [TEXTS["untouched"].format(folder=folder)]
    verdicts = judge_file(path, bug.exercise)
    if all(verdict.is_correct for verdict in verdicts):
        write_progress(folder, replace(progress, hunt=replace(given, is_solved=True)))
        return True, [TEXTS["repaired"].format(fix=fix_of(bug))]
    if any(cause.name == bug.mistake for verdict in verdicts for cause in verdict.causes):
        return False, [TEXTS["still_there"].format(folder=folder)]
    return False, [TEXTS["another"], *(Message(*(verdict.text(language) for language in LANGUAGES)) for verdict in verdicts)]


def _is_untouched(path: Path, given: Hunt | None) -> bool:
    """Return True if the file is as it was written."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return False
    return given is not None and text in [buggy_file(chosen(given), language) for language in LANGUAGES]


def _equation(bug: Bug) -> str:
    return part(bug.exercise).equation if bug.exercise in PART_NAMES else exercise(bug.exercise).equation


def _differing(text: str, other: str) -> list[str]:
    """Return the lines of a text that another text does not have."""
    return [line for line in text.split("\n") if line not in other.split("\n")]


def _open(folder: Path) -> tuple[Progress, Hunt]:
    progress = read_progress(folder)
    if progress is None or progress.hunt is None:
        raise PracticeError(TEXTS["no_bug"].format(folder=folder), hint=TEXTS["start_a_bug"].format(folder=folder))
    return progress, progress.hunt


def _called_by(name: str) -> list[str]:
    """Return the functions that a function calls, directly or indirectly, innermost first."""
    known, found = numpy_functions(), []
    for other in known:
        if other != name and re.search(rf"\b{other}\(", known[name].split("\n", 1)[1]):
            found += [*_called_by(other), known[other]]
    return list(dict.fromkeys(found))


def _check_name(name: str) -> None:
    if name not in NAMES:
        raise unknown_name(name, NAMES)
