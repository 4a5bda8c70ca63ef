"""headway check: find the mistake in a hand-written softmax, attention, GPT-2, …"""

from __future__ import annotations

import functools
import locale
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ParamSpec, TypeVar

import typer

from headway.cli import print_error
from headway.cli.colour import coloured
from headway.errors import HeadwayError, OptionError
from headway.practice.message import Message, PracticeError, errors_in

if TYPE_CHECKING:
    from headway.practice.checking import Options
    from headway.practice.report.results import Report

TOOL_FAILED = 3
FAILED = Message("headway failed on this file ({error}); your code may be right", "headway 自身出错（{error}）；你的代码可能没有问题")
PLEASE_REPORT = Message("run it again with --debug, and report the traceback", "请加上 --debug 再运行一次，并报告其中的错误信息")

Language = Annotated[str | None, typer.Option("--lang", help="en or zh.  [default: the locale's]")]
Format = Annotated[str, typer.Option("--format", help="text, json, github, gradescope, classroom50, sarif or junit.")]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="File to write the report to.  [default: that of the format]")]
Named = Annotated[str | None, typer.Option("--as", help="The part that it is, if its name does not say so.")]
Timeout = Annotated[float, typer.Option(help="Seconds for each file.")]
Seed = Annotated[int | None, typer.Option(help="Seed of the hidden probes, to repeat a check.  [default: random]")]
Forbid = Annotated[bool, typer.Option("--forbid", help="Refuse parts that call a library's own, such as torch.softmax.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback if headway itself fails.")]

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
    paths: Annotated[list[Path], typer.Argument(metavar="PATH", help="Python files, notebooks, or folders of them.", show_default=False)],
    named: Named = None,
    require: Annotated[str, typer.Option(help="Parts that must be there, separated by commas.", show_default=False)] = "",
    format: Format = "text",
    output: Output = None,
    seed: Seed = None,
    forbid: Forbid = False,
    fix: Annotated[bool, typer.Option("--fix", help="Show the repair, if one was found, as a diff.")] = False,
    write: Annotated[bool, typer.Option("--write", help="With --fix: change the files.")] = False,
    timeout: Timeout = 20.0,
    lang: Language = None,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
    debug: Debug = False,
) -> None:
    """Judge softmax, attention and other parts that you wrote, and name the mistake.

    \b
      headway check attention.py
      headway check notebook.ipynb --lang zh
      headway check mine.py --fix --write
      headway check src --require softmax,attention --format github

    Each file runs in a child process with limits on time and memory. Exit codes: 0 all correct, 1 something is wrong or missing,
    2 nothing is wrong but something could not run or was not understood, 3 headway itself failed.
    """
    from headway.practice.judge.process import start_early

    start_early()  # it imports the checks while this process does
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # the probes are small, and NumPy starts its threads when it is imported
    from headway.practice.checking import Options, nothing_found_in
    from headway.practice.report.formats import Settings
    from headway.practice.report.writing import written

    name = "json" if as_json else format
    if write and not fix:
        raise PracticeError(Message("got --write without --fix, expected both", "收到 --write 而没有 --fix，两者应一起使用"))
    if fix and name != "text":
        raise PracticeError(Message(f"got --fix with --format {name}, expected the format text", f"--fix 不能与 --format {name} 一起使用"))
    settings = Settings(language_of(lang), output, os.environ)
    options = Options(named, tuple(each.strip() for each in require.split(",") if each.strip()), timeout, seed, forbid)

    def check() -> Report:
        report = check_with_progress(paths, options)
        error = nothing_found_in(report)
        if error:
            raise error
        return report

    with tool_failures(settings.language, is_debug=debug):
        report = written(check, name, settings, show=coloured)
        if fix:
            _fix(report, settings.language, is_written=write)
    raise typer.Exit(report.exit_code)


def check_with_progress(paths: list[Path], options: Options) -> Report:
    """Check files, with the name of the current one on stderr if that is a terminal and there are several."""
    from headway.practice.checking import check_paths
    from headway.practice.judge.shown import printable

    if not sys.stderr.isatty() or not (len(paths) > 1 or paths[0].is_dir()):
        return check_paths(paths, options)
    clear = "\r\x1b[K"
    try:
        return check_paths(paths, options, lambda path: print(clear + printable(str(path)), end="", file=sys.stderr, flush=True))
    finally:
        print(clear, end="", file=sys.stderr, flush=True)


def _fix(report: Report, language: str, *, is_written: bool) -> None:
    from headway.practice.fixing import diff_of, edits_of, write_fix

    pairs = [(each.source, edits) for each in report.files if each.source and (edits := edits_of(each.verdicts))]
    for source, edits in pairs:
        print(diff_of(source, edits), end="")
        if is_written:
            write_fix(source, edits)
            typer.echo(Message(f"changed {source.path}; check it again", f"已修改 {source.path}；请重新检查").text(language), err=True)
    if not pairs:
        typer.echo(Message("no repair was found", "没有找到可用的修改").text(language), err=True)


@contextmanager
def tool_failures(language: str, *, is_debug: bool) -> Iterator[None]:
    """Report an exception of Headway itself in one sentence, and exit with TOOL_FAILED."""
    from headway.practice.diagnosis.sandbox import CheckFailedError

    try:
        yield
    except Exception as error:
        if isinstance(error, HeadwayError | OSError | MemoryError | typer.Exit | typer.Abort) and not isinstance(error, CheckFailedError):
            raise
        if is_debug:
            traceback.print_exc()
            print(getattr(error, "details", ""), file=sys.stderr)  # the traceback of the confined process
        print_error(FAILED.format(error=_first_line(error)).text(language), PLEASE_REPORT.text(language))
        raise typer.Exit(TOOL_FAILED) from error


def _first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0][:200]


def language_of(given: str | None) -> str:
    """Return the language of the output: the one given, else the locale's."""
    if given not in (None, "en", "zh"):
        raise OptionError(f"got --lang {given}, expected en or zh")
    own = next((os.environ[name] for name in ("LC_ALL", "LC_MESSAGES", "LANG") if os.environ.get(name)), locale.getlocale()[0] or "")
    return given or ("zh" if own.lower().startswith(("zh", "chinese")) else "en")
