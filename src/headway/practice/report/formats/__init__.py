"""Formats of a report, one module each. A new module here is a new value of `--format`."""

from __future__ import annotations

import pkgutil
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from headway.files import write_text
from headway.practice.message import unknown_name
from headway.practice.report.results import Report


@dataclass(frozen=True)
class Output:
    """Text to write.

    path         the file to write; None for standard output
    is_appended  True to append to the file
    """

    text: str
    path: Path | None = None
    is_appended: bool = False


@dataclass(frozen=True)
class Settings:
    """Values that a format may depend on in addition to the report.

    language   "en" or "zh"
    path       file to write instead of the format's usual place
    environ    environment variables
    """

    language: str = "en"
    path: Path | None = None
    environ: Mapping[str, str] = field(default_factory=dict)


class Format(Protocol):
    """A module of this package."""

    def outputs(self, report: Report, settings: Settings) -> Iterable[Output]:
        """Yield the texts to write for a report."""
        ...


def names() -> list[str]:
    """Return the names of the formats."""
    return sorted(each.name for each in pkgutil.iter_modules(__path__))


def format_named(name: str) -> Format:
    """Return a format.

    Errors   OptionError for an unknown name.
    """
    if name not in names():
        raise unknown_name(name, names())
    return cast(Format, import_module(f"{__name__}.{name}"))


def write(outputs: Iterable[Output], *, show: Callable[[str], str] = str) -> None:
    """Write texts: files atomically unless they are appended to.

    show   conversion of texts for standard output, such as adding colours

    Errors   OSError if a file cannot be written.
    """
    for output in outputs:
        if output.path is None:
            print(show(output.text), end="", file=sys.stdout, flush=True)
        elif output.is_appended:
            with output.path.open("a", encoding="utf-8", newline="\n") as file:
                file.write(output.text)
        else:
            write_text(output.path, output.text)
