"""headway check: find the mistake in a hand-written softmax, attention, GPT-2, …"""

from __future__ import annotations

import functools
import locale
import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, ParamSpec, TypeVar

import typer

from headway.cli import options as o
from headway.cli.colour import coloured
from headway.errors import OptionError
from headway.practice import Verdict
from headway.practice.message import errors_in

Language = Annotated[str | None, typer.Option("--lang", help="en or zh.  [default: the locale's]")]


P = ParamSpec("P")
R = TypeVar("R")


def with_language(command: Callable[P, R]) -> Callable[P, R]:
    """Make a command's errors appear in the language of its option `lang`."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        lang = kwargs.get("lang")
        with errors_in(language_of(lang if isinstance(lang, str) else None)):
            return command(*args, **kwargs)

    return run


@with_language
def command(
    file: Annotated[Path, typer.Argument(help="A .py file or a notebook with your own functions and classes.")],
    named: Annotated[str | None, typer.Option("--as", help="The part that it is, if its name does not say so.")] = None,
    lang: Language = None,
    timeout: Annotated[float, typer.Option(help="Seconds for the whole file.")] = 20.0,
    as_json: o.Json = False,
) -> None:
    """Judge softmax, attention and other parts that you wrote, and name the mistake.

    \b
      headway check attention.py
      headway check notebook.ipynb --lang zh
      headway check mine.py --as softmax --json

    The file runs in a child process with limits on time and memory. Exit codes: 0 all correct, 1 something is wrong,
    2 nothing is wrong but something could not run or was not found.
    """
    from headway.practice.diagnosis.files import check_name, nothing_found, read_source
    from headway.practice.diagnosis.sandbox import check_file

    language = language_of(lang)
    if named is not None:
        check_name(named)
    read_source(file)
    verdicts = check_file(file, named, timeout_seconds=timeout)
    if not verdicts:
        raise nothing_found(file)
    if as_json:
        o.print_json([verdict.to_dict() for verdict in verdicts])
    else:
        print(coloured("\n".join(verdict.text(language) for verdict in verdicts)))
    raise typer.Exit(_exit_code(verdicts))


def _exit_code(verdicts: list[Verdict]) -> int:
    if any(verdict.status in ("wrong", "unknown") for verdict in verdicts):
        return 1
    return 0 if all(verdict.is_correct for verdict in verdicts) else 2


def language_of(given: str | None) -> str:
    """Return the language of the output: the one given, else the locale's."""
    if given not in (None, "en", "zh"):
        raise OptionError(f"got --lang {given}, expected en or zh")
    own = next((os.environ[name] for name in ("LC_ALL", "LC_MESSAGES", "LANG") if os.environ.get(name)), locale.getlocale()[0] or "")
    return given or ("zh" if own.lower().startswith(("zh", "chinese")) else "en")
