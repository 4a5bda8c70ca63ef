"""Find-the-bug exercises: a file that looks correct and has one mistake, and the check of its repair."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from pathlib import Path

from headway.files import write_text
from headway.practice.exercises import exercise
from headway.practice.message import LANGUAGES, Message, PracticeError, unknown_name
from headway.practice.workbook.bugs import BUGS, Bug
from headway.practice.workbook.folder import put_aside
from headway.practice.workbook.judging import judge_file
from headway.practice.workbook.parts import NAMES as PART_NAMES
from headway.practice.workbook.parts import part
from headway.practice.workbook.progress import Hunt, Progress, read_progress, write_progress
from headway.practice.workbook.solution import numpy_functions

FILE = "find_the_bug.py"

NAMES = tuple(dict.fromkeys(bug.exercise for bug in BUGS))
"""Exercises that have bugs."""

HEADER = Message(
    "# This file has one mistake, in {name}. Find it, correct it and run headway practice bug.",
    "# 这个文件有一处错误，在 {name} 中。找到并改正它，然后运行 headway practice bug。",
)
WRITTEN = Message(
    "wrote {path}, which has one mistake (seed {seed}): {title}. Correct it, then run headway practice bug --folder {folder} again",
    "已写出 {path}，其中有一处错误（种子 {seed}）：{title}。改正后再次运行 headway practice bug --folder {folder}",
)
ASIDE = Message("renamed the existing {file} ({state}) to {aside}", "已将原有的 {file}（{state}）改名为 {aside}")
REPLACED = Message("{file} was not corrected yet; it now has another bug", "{file} 尚未改正，现已换成另一处错误")
UNSOLVED = Message("not corrected yet", "尚未改正")
SOLVED = Message("corrected", "已改正")
FOREIGN = Message("not written by headway", "不是 headway 写出的")
UNTOUCHED = Message("the file is unchanged and still has the mistake; for a hint: headway practice hint find_the_bug --folder {folder}", "文件没有改动，错误仍在；要提示请运行 headway practice hint find_the_bug --folder {folder}")  # fmt: skip
STILL_THERE = Message("the mistake is still there; for a hint: headway practice hint find_the_bug --folder {folder}", "错误仍在；要提示请运行 headway practice hint find_the_bug --folder {folder}")  # fmt: skip
ANOTHER = Message("this mistake is corrected, but the file has another one:", "这处错误已改正，但文件还有另一处错误：")
REPAIRED = Message("correct. The fix was: {fix}", "已改正。正确的做法：{fix}")
HINTS = (
    Message("hint 1 of 3: compare {name} with {equation}", "提示 1/3：把 {name} 与 {equation} 对照"),
    Message("hint 2 of 3: the mistake is in `{line}`", "提示 2/3：错误在 `{line}`"),
    Message("hint 3 of 3: {fix}", "提示 3/3：{fix}"),
)
REPAIR = Message("replace\n{wrong}\nwith\n{right}", "把\n{wrong}\n改为\n{right}")


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
    return REPAIR.format(wrong="\n".join(_differing(wrong, right)), right="\n".join(_differing(right, wrong)))


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
    return HEADER.format(name=bug.exercise).text(language) + "\nimport numpy as np\n\n\n" + "\n\n".join(functions)


def fix_of(bug: Bug) -> Message:
    """Return the fix for the mistake from the exercise."""
    known = exercise(bug.exercise)
    fixes = {each.name: each.fix for each in known.recoveries} | {each.name: each.fix for each in known.mistakes}
    return fixes[bug.mistake]


def _write_bug(folder: Path, progress: Progress, given: Hunt, language: str) -> list[Message]:
    path, bug = folder / FILE, chosen(given)
    lines = []
    if path.exists() and _is_untouched(path, progress.hunt) and progress.hunt != given:
        lines = [REPLACED.format(file=FILE)]
    elif path.exists() and not _is_untouched(path, progress.hunt):
        state = FOREIGN if progress.hunt is None else SOLVED if progress.hunt.is_solved else UNSOLVED
        lines = [ASIDE.format(file=FILE, state=state, aside=put_aside(path).name)]
    write_text(path, buggy_file(bug, language))
    write_progress(folder, replace(progress, hunt=given))
    return [*lines, WRITTEN.format(path=path, seed=given.seed, title=exercise(bug.exercise).title, folder=folder)]


def _check(folder: Path, progress: Progress, given: Hunt) -> tuple[bool, list[Message]]:
    path, bug = folder / FILE, chosen(given)
    if _is_untouched(path, given):
        return False, [UNTOUCHED.format(folder=folder)]
    verdicts = judge_file(path, bug.exercise)
    if all(verdict.is_correct for verdict in verdicts):
        write_progress(folder, replace(progress, hunt=replace(given, is_solved=True)))
        return True, [REPAIRED.format(fix=fix_of(bug))]
    if any(cause.name == bug.mistake for verdict in verdicts for cause in verdict.causes):
        return False, [STILL_THERE.format(folder=folder)]
    return False, [ANOTHER, *(Message(*(verdict.text(language) for language in LANGUAGES)) for verdict in verdicts)]


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
        raise PracticeError(
            Message(f"got {folder}, which has no bug, expected one written by headway practice bug", f"收到 {folder}，其中没有找错练习"),
            hint=Message(f"run headway practice bug --folder {folder} first", f"请先运行 headway practice bug --folder {folder}"),
        )
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
