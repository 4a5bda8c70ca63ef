"""headway practice: write a GPT-2 yourself, one file at a time."""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headway.cli.array_library import ArrayLibrary
from headway.cli.check import Language, language_of, with_language
from headway.practice.message import Message, PracticeError

if TYPE_CHECKING:
    from headway.practice.workbook.judging import Judgement
    from headway.practice.workbook.parts import Part
    from headway.practice.workbook.progress import Progress

FOLDER = Path("headway-practice")
BUG = "find_the_bug"
POLL_SECONDS = 0.5

Folder = Annotated[
    Path | None,
    typer.Option("--folder", "-f", help="The folder of exercises.  [default: this folder if it is one, else ./headway-practice]"),
]
Name = Annotated[
    str | None, typer.Argument(metavar="[PART]", help="The part, such as softmax.  [default: the next one]", show_default=False)
]
Array = Annotated[ArrayLibrary | None, typer.Option(help="The array library to write in.  [default: the folder's, else numpy]")]
Watch = Annotated[bool, typer.Option(show_default=False, help="Check on every save (default on a terminal), or check everything once.")]
Seed = Annotated[int | None, typer.Option(help="The same seed gives the same bug.  [default: a new one each time]")]

app = typer.Typer(
    add_completion=False,
    help="""Write a GPT-2 yourself, from softmax to a story: a folder of files to fill in, each checked when you save it.

    \b
      headway practice start                     # creates ./headway-practice, or continues there
      headway practice hint                      # for the next part: a nudge, then more, then the formula
      headway practice bug                       # a file with one mistake; again to check your repair

    Exit codes: 0 all solved, or the answer was printed; 1 not solved; 2 invalid input; 130 interrupted.
    """,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)


@app.callback(invoke_without_command=True)
def _default(
    context: typer.Context,
    find_the_bug: Annotated[bool, typer.Option("--find-the-bug", hidden=True)] = False,
    seed: Annotated[int | None, typer.Option(hidden=True)] = None,
) -> None:
    """Run `start` if no subcommand is given; `--find-the-bug` is the old name of `bug`."""
    if context.invoked_subcommand is not None:
        return
    if find_the_bug:
        warnings.warn("headway practice --find-the-bug is deprecated; use: headway practice bug", DeprecationWarning, stacklevel=1)
        bug(seed=seed)
    start()


@app.command()
@with_language
def start(
    folder: Annotated[
        Path | None, typer.Argument(help="The folder to create or to continue in.  [default: ./headway-practice]", show_default=False)
    ] = None,
    array: Array = None,
    watch: Watch = True,
    lang: Language = None,
) -> None:
    """Create the exercises, or continue; check each file when you save it.

    \b
      headway practice start
      headway practice start my-folder --array torch
      headway practice start --no-watch          # check everything once; exit code 0 if all is solved
    """
    language = language_of(lang)
    raise typer.Exit(_practise(_folder_of(folder), array, language, is_watched=watch and sys.stdout.isatty()))


@app.command("list")
@with_language
def list_(folder: Folder = None, lang: Language = None) -> None:
    """List the parts: solved, started, next."""
    from headway.practice.workbook import messages
    from headway.practice.workbook.folder import progress_of

    found, language = _folder_of(folder), language_of(lang)
    for line in messages.listing(found, progress_of(found)):
        _print(line.text(language))


@app.command()
@with_language
def hint(part: Name = None, folder: Folder = None, lang: Language = None) -> None:
    """Print the next hint for a part, or for find_the_bug.

    \b
      headway practice hint
      headway practice hint softmax
      headway practice hint find_the_bug
    """
    from headway.practice.workbook import hunt, messages
    from headway.practice.workbook.progress import write_progress

    found, language = _folder_of(folder), language_of(lang)
    if part == BUG:
        _print(hunt.hint(found).text(language))
        return
    chosen, progress = _part_of(part, found)
    number = min(progress.of(chosen.name).num_hints + 1, len(chosen.hints))
    write_progress(found, progress.changed(chosen.name, num_hints=number))
    _print(messages.HINT.format(title=chosen.title, number=number, hint=chosen.hints[number - 1]).text(language))


@app.command()
@with_language
def look(
    part: Name = None,
    html: Annotated[Path | None, typer.Option("--html", help="Write one self-contained page instead.", show_default=False)] = None,
    folder: Folder = None,
    lang: Language = None,
) -> None:
    """Show each line of your code for a part with the arrays that it made, next to the definition.

    \b
      headway practice look
      headway practice look softmax --html softmax.html
    """
    from headway.cli.look import show_file
    from headway.practice.workbook.folder import path_of

    found = _folder_of(folder)
    chosen, _ = _part_of(part, found)
    show_file(path_of(found, chosen), chosen.name, html, language_of(lang))


@app.command()
@with_language
def solution(part: Name = None, folder: Folder = None, lang: Language = None) -> None:
    """Print one way to write a part, or the repair of find_the_bug.

    \b
      headway practice solution softmax
      headway practice solution find_the_bug
    """
    from headway.practice.workbook import hunt
    from headway.practice.workbook.progress import write_progress
    from headway.practice.workbook.solution import solution as solution_of

    found, language = _folder_of(folder), language_of(lang)
    if part == BUG:
        _print(hunt.repair(found).text(language))
        return
    chosen, progress = _part_of(part, found)
    write_progress(found, progress.changed(chosen.name, saw_solution=True))
    _print(solution_of(chosen, progress.array, language).rstrip("\n"))


@app.command()
@with_language
def reset(
    part: Annotated[str, typer.Argument(metavar="PART", help="The part, such as softmax.")], folder: Folder = None, lang: Language = None
) -> None:
    """Restore the empty file of a part; what you wrote is kept as PART.old.py."""
    from headway.practice.workbook import messages
    from headway.practice.workbook.folder import path_of
    from headway.practice.workbook.folder import reset as reset_part

    found, language = _folder_of(folder), language_of(lang)
    if part == BUG:
        raise PracticeError(
            Message(f"got reset {BUG}, expected a part", f"收到 reset {BUG}，应为一个部件"),
            hint=Message("headway practice bug --seed N writes another bug", "headway practice bug --seed N 会写出另一处错误"),
        )
    chosen, progress = _part_of(part, found)
    aside = reset_part(found, chosen, progress, language)
    file = path_of(found, chosen).name
    _print((messages.ASIDE.format(file=file, aside=aside.name) if aside else messages.RESET.format(file=file)).text(language))


@app.command()
@with_language
def bug(
    part: Annotated[
        str | None, typer.Argument(metavar="[PART]", help="A part to put the mistake in.  [default: any]", show_default=False)
    ] = None,
    seed: Seed = None,
    folder: Folder = None,
    lang: Language = None,
) -> None:
    """Write find_the_bug.py, which looks right and has one mistake; run again to check your repair.

    \b
      headway practice bug
      headway practice bug softmax --seed 7
    """
    from headway.practice.workbook.hunt import hunt

    language = language_of(lang)
    is_solved, lines = hunt(_folder_of(folder), part, seed, language)
    _print("\n".join(each.text(language) for each in lines))
    raise typer.Exit(0 if is_solved else 1)


@app.command("new-exercise")
@with_language
def new_exercise(
    name: Annotated[str, typer.Argument(help="The name of the new part, such as min_p.")],
    checkout: Annotated[Path, typer.Option(help="The clone of the repository to write into.")] = Path(),
    lang: Language = None,
) -> None:
    """Write the skeleton of a new part into a clone of the repository: for contributors."""
    from headway.practice import skeleton

    language = language_of(lang)
    for line in skeleton.written(skeleton.new_exercise(name, checkout), name):
        _print(line.text(language))


@app.command()
def translations() -> None:
    """List the sentences of the catalogue without a Chinese text; exit code 1 if there are any.

    In their place the English text is shown.
    """
    from headway.practice.sentences import untranslated

    missing = untranslated()
    _print("\n".join(missing) if missing else "every sentence is in English and in Chinese")
    raise typer.Exit(1 if missing else 0)


def _folder_of(given: Path | None) -> Path:
    from headway.practice.workbook import progress

    return given or (Path() if Path(progress.FILE).is_file() else FOLDER)


def _part_of(name: str | None, folder: Path) -> tuple[Part, Progress]:
    """Return the part of that name and the folder's progress; without a name the next part, or the last if all are solved."""
    from headway.practice.workbook.folder import next_part, progress_of
    from headway.practice.workbook.parts import PARTS, part

    named = part(name) if name else None  # an unknown name is reported before an unknown folder
    progress = progress_of(folder)
    return named or next_part(progress) or PARTS[-1], progress


def _practise(folder: Path, array: ArrayLibrary | None, language: str, *, is_watched: bool) -> int:
    """Create or continue a folder and check it: on every save until all is solved or Ctrl-C, or once. Return the exit code."""
    from headway.practice.workbook import messages
    from headway.practice.workbook.folder import begin, progress_of
    from headway.practice.workbook.judging import judge
    from headway.practice.workbook.watch import Session

    begun = begin(folder, array.value if array else None, language)
    for line in messages.beginning(folder, begun):
        _print(line.text(language))

    def judged(part: Part) -> Judgement:
        from headway.cli.embedded_gpt2 import embedded_model

        return judge(folder, part, begun.progress.array, embedded_model)

    session = Session(folder, language, judged, _print)
    if not is_watched:
        return 0 if session.judge_all() else 1
    _print(messages.standing(begun.progress).text(language))
    _print(messages.HELP.format(folder=folder).text(language))
    try:
        session.watch(lambda: time.sleep(POLL_SECONDS))
    except KeyboardInterrupt:
        standing = messages.standing(progress_of(folder))
        _print("\n" + messages.RESUME.format(standing=standing, folder=folder).text(language))
        return 130
    return 0


def _print(text: str) -> None:
    print(text, flush=True)
