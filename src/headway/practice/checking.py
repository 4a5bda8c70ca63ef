"""Check of files and folders."""

from __future__ import annotations

import ast
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from headway.practice import ready_made
from headway.practice.diagnosis.explain.failure import FILE_TITLE
from headway.practice.diagnosis.files import check_name, nothing_found
from headway.practice.diagnosis.reading.subject import definitions
from headway.practice.diagnosis.sandbox import TIMEOUT_SECONDS, check_file
from headway.practice.judge.shown import printable
from headway.practice.judge.static import is_abstract, is_test_case
from headway.practice.message import EMPTY, PracticeError, describe_error
from headway.practice.parts import missing_parts, part_named
from headway.practice.report.results import FileResult, Report, failure_of
from headway.practice.source import Source, located, read
from headway.practice.texts import Texts
from headway.practice.verdict import Cause, Verdict

TEXTS = Texts("check")

SUFFIXES = (".py", ".ipynb")
SKIPPED_FOLDERS = ("__pycache__", "site-packages", "node_modules", "venv", "env")
SKIPPED_FILES = ("test_*.py", "*_test.py", "conftest.py", "setup.py")
"""Files that are skipped in a folder, because they define no parts and running them has effects."""


@dataclass(frozen=True)
class Options:
    """Options of a check.

    named            the part that every file is, if the names of functions do not say so
    required         parts of which a missing one is a failure
    timeout_seconds  limit for each file
    seed             seed of the hidden probes that confirm a correct answer; random by default
    is_own           True to refuse parts that call a library's own, such as torch.softmax, or Headway's
    """

    named: str | None = None
    required: tuple[str, ...] = ()
    timeout_seconds: float = TIMEOUT_SECONDS
    seed: int | None = None
    is_own: bool = False


def check_paths(paths: Sequence[Path], options: Options | None = None, begin: Callable[[Path], None] = lambda path: None) -> Report:
    """Judge the functions and classes of files, and of the .py files and notebooks in folders.

    begin   called with each file before it is checked

    A failure of Headway on one file is the report's `failure` and `error`; the others are judged.

    Errors   OptionError for a named file that is missing or cannot be read, an unknown part, or paths without any part.
    """
    options = options or Options()
    if options.named is not None:
        check_name(options.named)
    required = [part_named(name) for name in options.required]
    files, error = [], None
    for path, is_named in expanded(paths):
        try:
            source = read(path)
        except (PracticeError, OSError) as unreadable:
            if is_named:
                raise
            files.append(FileResult(path, (_unreadable(path, unreadable),)))
            continue
        if is_named or (source.tree is not None and definitions(source.tree)):
            begin(path)
            try:
                files.append(checked(source, options, is_named=is_named))
            except Exception as raised:  # the other files get their verdicts
                error = error or raised
    verdicts = [verdict for each in files for verdict in each.verdicts]
    failure = None if error is None else failure_of(error)
    report = Report(tuple(files), missing_parts(required, verdicts), failure, error=error)
    if not report.verdicts and error is None:
        raise _nothing_in(paths)
    return report


def checked(source: Source, options: Options, *, is_named: bool) -> FileResult:
    """Judge one file.

    is_named   True if a file without a part gets a verdict that says so
    """
    start = time.perf_counter()
    verdicts = check_file(source.path, options.named, timeout_seconds=options.timeout_seconds, seed=options.seed, is_own=options.is_own)
    if not verdicts and is_named:
        verdicts = [_nothing_found(source)]
    verdicts = [ready_made.judged(verdict, source, is_forbidden=options.is_own) for verdict in verdicts]
    found = tuple(located(verdict, source) for verdict in verdicts)
    has_run = options.named is None and all(each.exercise != "file" for each in found)
    unjudged = not_judged(source, {each.subject for each in found}) if has_run else []
    return FileResult(source.path, found, source, time.perf_counter() - start, tuple(located(each, source) for each in unjudged))


def not_judged(source: Source, judged: Collection[str]) -> list[Verdict]:
    """Return a verdict on each class of a file that computes something and that no other verdict is about."""
    nodes = {} if source.tree is None else definitions(source.tree)
    return [
        Verdict(name, "file", node.lineno, "not judged", title=TEXTS["not_recognised"])
        for name, node in nodes.items()
        if name not in judged and isinstance(node, ast.ClassDef) and _computes(node) and not (is_abstract(node) or is_test_case(node))
    ]


def _computes(node: ast.ClassDef) -> bool:
    """Return True for a class that is called as a module is."""
    return any(isinstance(each, ast.FunctionDef) and each.name in ("forward", "__call__", "call") for each in node.body)


def _unreadable(path: Path, error: PracticeError | OSError) -> Verdict:
    says = error.messages[0] if isinstance(error, PracticeError) else describe_error(error)
    cause = Cause("unreadable", says, TEXTS["save_as_utf8"], EMPTY)
    return Verdict(printable(path.name), "file", 0, "could not run", (cause,), title=FILE_TITLE, file=path.as_posix())


def _nothing_found(source: Source) -> Verdict:
    message, hint = nothing_found(source.path).messages
    cause = Cause("nothing_found", message, hint or EMPTY, EMPTY)
    return Verdict(source.path.name, "file", 0, "could not run", (cause,), title=FILE_TITLE)


def nothing_found_in(report: Report) -> PracticeError | None:
    """Return the error for a report on files without any part, or None."""
    causes = [cause for verdict in report.verdicts for cause in verdict.causes or (None,)]
    if causes and all(cause is not None and cause.name == "nothing_found" for cause in causes) and causes[0] is not None:
        return PracticeError(causes[0].says, hint=causes[0].fix)
    return None


def _nothing_in(paths: Sequence[Path]) -> PracticeError:
    shown = ", ".join(map(str, paths))
    return PracticeError(TEXTS["no_files_with_a_part"].format(shown=shown), hint=TEXTS["name_the_files"])


def expanded(paths: Sequence[Path]) -> Iterator[tuple[Path, bool]]:
    """Yield each file once, with True if it was named and False if it is from a folder.

    Virtual environments, hidden folders, links to folders, and test files are skipped in folders.
    """
    seen: set[Path] = set()
    for path in paths:
        for each in _files_in(path) if path.is_dir() else [path]:
            if each.resolve() not in seen:
                seen.add(each.resolve())
                yield each, not path.is_dir()


def _files_in(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if path.name.startswith("."):
            continue
        if path.is_dir():
            is_environment = path.name in SKIPPED_FOLDERS or (path / "pyvenv.cfg").exists()
            if not is_environment and not path.is_symlink():
                yield from _files_in(path)
        elif path.suffix in SUFFIXES and path.is_file() and not any(path.match(pattern) for pattern in SKIPPED_FILES):
            yield path
