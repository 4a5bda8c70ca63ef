"""headway practice: write a GPT-2 yourself, one part at a time."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headway.cli import options as o
from headway.cli.check import language_of
from headway.errors import OptionError

if TYPE_CHECKING:
    from headway.practice.workbook.judging import Judgement
    from headway.practice.workbook.parts import Part

ACTIONS = ("list", "hint", "solution", "reset")
FOLDER = Path("headway-practice")
BUG = "find_the_bug"
POLL_SECONDS = 0.5


def command(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[list|hint|solution|reset] [NAME] [FOLDER]",
            help="What to do, nothing to begin or go on; the part it is about; the folder.  [default: ./headway-practice]",
            show_default=False,
        ),
    ] = None,
    array: Annotated[o.ArrayLibrary | None, typer.Option(help="The array library to write in.  [default: numpy, or the folder's]")] = None,
    find_the_bug: Annotated[
        bool, typer.Option("--find-the-bug", help="Hand out a file with one mistake in it, or check the repair.")
    ] = False,
    seed: Annotated[int | None, typer.Option(help="The same seed gives the same bug.  [default: a new one each time]")] = None,
    watch: Annotated[
        bool, typer.Option(show_default=False, help="Check on every save, the default in a terminal; or everything once.")
    ] = True,
    lang: Annotated[str | None, typer.Option(help="en or zh.  [default: the locale's]")] = None,
) -> None:
    """Write a GPT-2 yourself, from softmax to a story: a folder of files to fill in, each checked when it is saved.

    \b
      headway practice                           # begins in ./headway-practice, or goes on
      headway practice my-folder --array torch
      headway practice list
      headway practice hint                      # a nudge, then more, then the formula
      headway practice solution softmax
      headway practice reset softmax
      headway practice --find-the-bug            # a file with one mistake; again to check the repair

    Exit codes: 0 all solved, or said what was asked for; 1 not solved; 2 bad input; 130 interrupted.
    """
    language = language_of(lang)
    asked = _understood(words or [], is_hunt=find_the_bug)
    if find_the_bug:
        raise typer.Exit(_hunt(asked, seed, language))
    if seed is not None:
        raise OptionError("came: --seed without --find-the-bug; expected: both, or neither")
    if asked.action is None:
        raise typer.Exit(_practise(asked.folder, array, language, is_watched=watch and sys.stdout.isatty()))
    if array is not None:
        raise OptionError(f"came: --array {array.value} with {asked.action}; expected: none, the folder knows its own")
    (_hunt_help if asked.name == BUG else _help)(asked, language)


@dataclass(frozen=True)
class _Asked:
    """The words of the command line, understood."""

    action: str | None
    name: str | None
    folder: Path


def _understood(words: list[str], *, is_hunt: bool) -> _Asked:
    """An action first, then a part's name where an action or a bug is about one, then the folder."""
    from headway.practice.workbook import hunt, parts, progress

    action = words[0] if words and words[0] in ACTIONS and not is_hunt else None
    name, rest = None, words[1:] if action else words
    if rest and (is_hunt or action in ("hint", "solution", "reset")):
        names = hunt.NAMES if is_hunt else (*parts.NAMES, BUG)
        if len(rest) > 1 or _is_name(rest[0], names):
            name, rest = rest[0], rest[1:]
    if len(rest) > 1:
        raise OptionError(f"came: {' '.join(words)!r}; expected: [list|hint|solution|reset] [NAME] [FOLDER]; see headway practice --help")
    default = Path() if Path(progress.FILE).is_file() else FOLDER
    return _Asked(action, name, Path(rest[0]) if rest else default)


def _is_name(word: str, names: Sequence[str]) -> bool:
    """Whether a word that stands alone is a part's name, or was meant to be one; else it is a folder."""
    import difflib

    return word in names or ("/" not in word and not Path(word).exists() and bool(difflib.get_close_matches(word, names, 1)))


def _practise(folder: Path, array: o.ArrayLibrary | None, language: str, *, is_watched: bool) -> int:
    """Begin or go on, and check: on every save until all is solved or Ctrl-C, or once."""
    from headway.practice.workbook import messages
    from headway.practice.workbook.folder import begin, progress_of
    from headway.practice.workbook.judging import judge
    from headway.practice.workbook.watch import Session

    begun = begin(folder, array.value if array else None, language)
    for said in messages.beginning(folder, begun):
        _tell(said.text(language))

    def judged(part: Part) -> Judgement:
        from headway.cli.embedded_gpt2 import embedded_model

        return judge(folder, part, begun.progress.array, embedded_model)

    session = Session(folder, language, judged, _tell)
    if not is_watched:
        return 0 if session.judge_all() else 1
    _tell(messages.standing(begun.progress).text(language))
    _tell(messages.HELP.format(folder=folder).text(language))
    try:
        session.watch(lambda: time.sleep(POLL_SECONDS))
    except KeyboardInterrupt:
        standing = messages.standing(progress_of(folder))
        _tell("\n" + messages.RESUME.format(standing=standing, folder=folder).text(language))
        return 130
    return 0


def _help(asked: _Asked, language: str) -> None:
    """List, hint, solution and reset."""
    from headway.practice.workbook import messages
    from headway.practice.workbook.folder import next_part, path_of, progress_of, reset
    from headway.practice.workbook.parts import PARTS, part
    from headway.practice.workbook.progress import write_progress
    from headway.practice.workbook.solution import solution

    named = part(asked.name) if asked.name else None
    progress = progress_of(asked.folder)
    if asked.action == "list":
        for line in messages.listing(asked.folder, progress):
            _tell(line.text(language))
        return
    if asked.action == "reset" and named is None:
        raise OptionError("came: reset; expected: reset NAME, the part to begin anew; headway practice list names them")
    chosen = named or next_part(progress) or PARTS[-1]
    if asked.action == "hint":
        number = min(progress.of(chosen.name).num_hints + 1, len(chosen.hints))
        write_progress(asked.folder, progress.changed(chosen.name, num_hints=number))
        _tell(messages.HINT.format(title=chosen.title, number=number, hint=chosen.hints[number - 1]).text(language))
    elif asked.action == "solution":
        write_progress(asked.folder, progress.changed(chosen.name, saw_solution=True))
        _tell(solution(chosen, progress.array, language).rstrip("\n"))
    else:
        aside = reset(asked.folder, chosen, progress, language)
        file = path_of(asked.folder, chosen).name
        said = messages.ASIDE.format(file=file, aside=aside.name) if aside else messages.RESET.format(file=file)
        _tell(said.text(language))


def _hunt(asked: _Asked, seed: int | None, language: str) -> int:
    """Hand out a bug, or check its repair."""
    from headway.practice.workbook.hunt import hunt

    is_solved, said = hunt(asked.folder, asked.name, seed, language)
    _tell("\n".join(each.text(language) for each in said))
    return 0 if is_solved else 1


def _hunt_help(asked: _Asked, language: str) -> None:
    """A hint for the bug that was handed out, or the repair."""
    from headway.practice.workbook.hunt import hint, repair

    if asked.action == "reset":
        raise OptionError(f"came: reset {BUG}; expected: headway practice --find-the-bug --seed N, which hands out another")
    _tell((hint if asked.action == "hint" else repair)(asked.folder).text(language))


def _tell(text: str) -> None:
    print(text, flush=True)
