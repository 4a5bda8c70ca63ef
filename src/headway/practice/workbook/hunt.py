"""Find the bug: a file that looks right, with one mistake in it, and the check of its repair."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from pathlib import Path

from headway.errors import OptionError
from headway.files import write_text
from headway.practice.exercises import exercise
from headway.practice.message import LANGUAGES, Message
from headway.practice.workbook.bugs import BUGS, Bug
from headway.practice.workbook.folder import put_aside
from headway.practice.workbook.judging import judge_file
from headway.practice.workbook.parts import NAMES as PART_NAMES
from headway.practice.workbook.parts import part
from headway.practice.workbook.progress import Hunt, Progress, read_progress, write_progress
from headway.practice.workbook.solution import numpy_functions

FILE = "find_the_bug.py"

NAMES = tuple(dict.fromkeys(bug.exercise for bug in BUGS))
"""The exercises that a bug can be in."""

HEADER = Message(
    "# One mistake is in this file, in {name}. Find it and repair it; then run headway practice --find-the-bug again.",
    "# 这个文件里有一处错误，在 {name} 里。找到并改正它，然后再次运行 headway practice --find-the-bug。",
)
HANDED_OUT = Message(
    "{path} looks right, and has one mistake in it (seed {seed}): {title}. Repair it, then run headway practice --find-the-bug {folder} again",
    "{path} 看起来是对的，却有一处错误（种子 {seed}）：{title}。改正后再次运行 headway practice --find-the-bug {folder}",
)
ASIDE = Message("{file} was there, {state}; it is now {aside}", "原有的 {file}（{state}）已改名为 {aside}")
REPLACED = Message("{file} was not repaired yet; another bug takes its place", "{file} 尚未改正；已换成另一处错误")
UNSOLVED = Message("not repaired yet", "尚未改正")
SOLVED = Message("repaired", "已改正")
FOREIGN = Message("not from here", "不是这里写出的")
UNTOUCHED = Message("nothing is changed yet, and the mistake is in it; headway practice hint find_the_bug {folder} helps", "还没有改动，错误仍在；headway practice hint find_the_bug {folder} 可给提示")  # fmt: skip
STILL_THERE = Message("the mistake is still in it; headway practice hint find_the_bug {folder} helps", "错误仍在；headway practice hint find_the_bug {folder} 可给提示")  # fmt: skip
ANOTHER = Message("it is not right yet, in another way now:", "还不对，但错误与原来不同：")
REPAIRED = Message("repaired. It was: {fix}", "改正了。正确的做法：{fix}")
HINTS = (
    Message("hint 1 of 3: compare {name} with {equation}", "提示 1/3：把 {name} 与 {equation} 对照"),
    Message("hint 2 of 3: it is in `{line}`", "提示 2/3：在 `{line}` 这里"),
    Message("hint 3 of 3: {fix}", "提示 3/3：{fix}"),
)
REPAIR = Message("instead of\n{wrong}\nwrite\n{right}", "把\n{wrong}\n改为\n{right}")


def hunt(folder: Path, name: str | None, seed: int | None, language: str) -> tuple[bool, list[Message]]:
    """Hand out a bug where none is open, or another was asked for; else check the repair.

    name   the exercise that the mistake is in; any by default

    Whether all is well (a bug handed out, or repaired), and what is to be said.

    Errors   OptionError for an exercise without bugs.
    """
    progress = read_progress(folder) or Progress("numpy", is_begun=False)
    open_hunt = progress.hunt if progress.hunt and not progress.hunt.is_solved else None
    if open_hunt is not None and name is None and seed is None:
        if (folder / FILE).exists():
            return _check(folder, progress, open_hunt)
        return True, _hand_out(folder, progress, open_hunt, language)
    if name is not None:
        _check_name(name)
    return True, _hand_out(folder, progress, Hunt(name, random.randrange(10**6) if seed is None else seed), language)


def hint(folder: Path) -> Message:
    """The next of three hints for the bug that is open."""
    progress, given = _open(folder)
    number = min(given.num_hints + 1, len(HINTS))
    write_progress(folder, replace(progress, hunt=replace(given, num_hints=number)))
    bug = chosen(given)
    line = _differing(mistaken(bug), numpy_functions()[bug.exercise])[0].strip()
    return HINTS[number - 1].format(name=bug.exercise, equation=_equation(bug), line=line, fix=fix_of(bug))


def repair(folder: Path) -> Message:
    """What the mistaken lines were, and what they should be."""
    _, given = _open(folder)
    bug = chosen(given)
    right, wrong = numpy_functions()[bug.exercise], mistaken(bug)
    return REPAIR.format(wrong="\n".join(_differing(wrong, right)), right="\n".join(_differing(right, wrong)))


def chosen(given: Hunt) -> Bug:
    """The bug that an exercise, or none, and a seed stand for."""
    return random.Random(given.seed).choice([bug for bug in BUGS if given.exercise in (None, bug.exercise)])


def mistaken(bug: Bug) -> str:
    """The part's function with the mistake in it."""
    return numpy_functions()[bug.exercise].replace(bug.right, bug.wrong)


def buggy_file(bug: Bug, language: str) -> str:
    """The whole file: what the function calls, then the function with the mistake."""
    first, body = mistaken(bug).split("\n", 1)
    docstring = f'    """{exercise(bug.exercise).title.text(language)}: {_equation(bug)}"""\n'
    functions = [*_called_by(bug.exercise), f"{first}\n{docstring}{body}"]
    return HEADER.format(name=bug.exercise).text(language) + "\nimport numpy as np\n\n\n" + "\n\n".join(functions)


def fix_of(bug: Bug) -> Message:
    """What the catalogue says is to be done."""
    known = exercise(bug.exercise)
    fixes = {each.name: each.fix for each in known.recoveries} | {each.name: each.fix for each in known.mistakes}
    return fixes[bug.mistake]


def _hand_out(folder: Path, progress: Progress, given: Hunt, language: str) -> list[Message]:
    path, bug = folder / FILE, chosen(given)
    said = []
    if path.exists() and _is_untouched(path, progress.hunt) and progress.hunt != given:
        said = [REPLACED.format(file=FILE)]
    elif path.exists() and not _is_untouched(path, progress.hunt):
        state = FOREIGN if progress.hunt is None else SOLVED if progress.hunt.is_solved else UNSOLVED
        said = [ASIDE.format(file=FILE, state=state, aside=put_aside(path).name)]
    write_text(path, buggy_file(bug, language))
    write_progress(folder, replace(progress, hunt=given))
    return [*said, HANDED_OUT.format(path=path, seed=given.seed, title=exercise(bug.exercise).title, folder=folder)]


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
    """Whether the file is as it was handed out."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return False
    return given is not None and text in [buggy_file(chosen(given), language) for language in LANGUAGES]


def _equation(bug: Bug) -> str:
    return part(bug.exercise).equation if bug.exercise in PART_NAMES else exercise(bug.exercise).equation


def _differing(text: str, other: str) -> list[str]:
    """The lines of a text that another has not."""
    return [line for line in text.split("\n") if line not in other.split("\n")]


def _open(folder: Path) -> tuple[Progress, Hunt]:
    progress = read_progress(folder)
    if progress is None or progress.hunt is None:
        raise OptionError(f"came: {folder}, where no bug was handed out; expected: headway practice --find-the-bug {folder} before")
    return progress, progress.hunt


def _called_by(name: str) -> list[str]:
    """The functions that one calls, and those that they call, the innermost first."""
    known, found = numpy_functions(), []
    for other in known:
        if other != name and re.search(rf"\b{other}\(", known[name].split("\n", 1)[1]):
            found += [*_called_by(other), known[other]]
    return list(dict.fromkeys(found))


def _check_name(name: str) -> None:
    import difflib

    if name not in NAMES:
        near = difflib.get_close_matches(name, NAMES, 3, 0.4)
        raise OptionError(f"came: {name!r}; expected one of {', '.join(NAMES)}" + (f"; did you mean {' or '.join(near)}?" if near else ""))
