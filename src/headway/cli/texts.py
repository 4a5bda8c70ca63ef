"""Reading texts from arguments, a file or stdin, and printing what was computed for them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy

from headway.cli.progress import Shown
from headway.errors import OptionError, quantity


def read_texts(texts: list[str], file: Path | None) -> list[str]:
    """Return the texts of the arguments, or the lines of a file or of stdin.

    Errors   OptionError for both, none, an empty line, or a file that cannot be read or is not UTF-8.
    """
    if texts and file:
        raise OptionError("texts and --file cannot be combined", hint="leave one out")
    if texts:
        return texts
    if file is None and sys.stdin.isatty():
        raise OptionError("got no texts, expected arguments, --file or lines on stdin", hint='for example: headway embed "one" "two"')
    try:
        content = file.read_text(encoding="utf-8-sig") if file else sys.stdin.read()
    except UnicodeDecodeError as error:
        raise OptionError(f"got {file or 'stdin'} that is not UTF-8 ({error})", hint="convert it to UTF-8") from error
    except OSError as error:
        raise OptionError(f"got --file {file}, expected a readable file ({error.strerror})") from error
    lines = content.removesuffix("\n").split("\n") if content else []
    lines, name = [line.removesuffix("\r") for line in lines], file or "stdin"
    empty = next((number for number, line in enumerate(lines, start=1) if not line.strip()), None)
    if empty is not None:
        raise OptionError(f"got {name} with an empty line {empty}, expected a text on every line", hint="remove the line")
    if not lines:
        raise OptionError(f"got {name} without a line, expected at least one text")
    return lines


@contextmanager
def progress(num_texts: int, batch_size: int) -> Iterator[Callable[[int], None] | None]:
    """Show a progress bar on a terminal if there is more than one batch."""
    if num_texts <= batch_size or not sys.stderr.isatty():
        yield None
        return
    with Shown().bar(num_texts, "text") as advance:
        yield advance


def print_truncated(cut: list[int], max_seq_len: int | None) -> None:
    """Print a note on stderr about the texts that are truncated."""
    print(
        f"{quantity(len(cut), 'text')} longer than {max_seq_len:,} tokens, truncated at the end; the first is number {cut[0] + 1}",
        file=sys.stderr,
    )


def check_counts(**numbers: int | None) -> None:
    """Raise OptionError for an option, such as batch_size for --batch-size, with a number below 1."""
    for name, number in numbers.items():
        if number is not None and number < 1:
            raise OptionError(f"got --{name.replace('_', '-')} {number}, expected at least 1")


def print_throughput(what: str, num_texts: int, seconds: float) -> None:
    """Print the time and the rate on stderr, after the words for what was computed."""
    print(f"{what}: {seconds:.2f} s, {num_texts / seconds:,.0f} texts/s", file=sys.stderr)


def short(number: numpy.float32) -> float:
    """Return the number as a float that prints with the few digits that float32 needs."""
    return float(str(number))
