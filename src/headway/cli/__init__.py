"""The command `headway`. Each subcommand is a file; headway.cli.commands collects them.

This module imports nothing that takes time, so that `main` also handles an interrupt while the subcommands are imported.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, NoReturn

from headway.cli.colour import has_colour

if TYPE_CHECKING:
    import typer

    app: typer.Typer


def main() -> NoReturn:
    """Run the command line. Expected errors are printed on stderr as one line and a hint."""
    try:
        _check_streams()
        sys.exit(_run())
    except KeyboardInterrupt:
        sys.exit(130)


def print_error(message: str, hint: str | None = None) -> None:
    """Print an error on stderr, and the hint on a second line; in colour on a terminal unless NO_COLOR is set."""
    red, cyan, reset = ("\x1b[1;31m", "\x1b[36m", "\x1b[0m") if has_colour(sys.stderr) else ("", "", "")
    print(f"{red}headway: error:{reset} {message}", file=sys.stderr)
    if hint:
        print(f"{cyan}hint:{reset} {hint}", file=sys.stderr)


def __getattr__(name: str) -> object:
    if name == "app":
        from headway.cli.commands import app

        return app
    raise AttributeError(f"module 'headway.cli' has no attribute {name!r}")


def _check_streams() -> None:
    """Handle closed standard streams: a closed stdin reads as empty, a closed stderr discards messages, a closed stdout is an error."""
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if sys.stdout is None:
        print_error("standard output is closed", "leave out >&-, or write to a file: > out.txt")
        sys.exit(1)
    sys.stdin.reconfigure(errors="surrogateescape")  # type: ignore[union-attr]  # text that is not UTF-8 is reported where it is used
    sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]


def _run() -> int:
    """Run the subcommand; return the exit code."""
    from headway.cli.commands import app
    from headway.errors import HeadwayError

    try:
        return app(prog_name="headway", standalone_mode=False) or 0  # returns 130 after Ctrl-C instead of raising KeyboardInterrupt
    except HeadwayError as error:
        return _fail(str(error), error.hint)
    except MemoryError as error:
        return _fail(f"not enough memory ({error})" if str(error) else "not enough memory", "use a smaller model, prompt or batch")
    except OSError as error:
        return _fail(f"{error.strerror or error}: {error.filename or ''}".rstrip(": "))
    except Exception as error:
        code = getattr(error, "exit_code", None)  # typer's own errors have one
        if not isinstance(code, int):
            raise
        show = getattr(error, "show", None)
        if show:
            show()
        return code


def _fail(message: str, hint: str | None = None) -> int:
    sys.stdout.flush()
    print_error(message, hint)
    return 2
