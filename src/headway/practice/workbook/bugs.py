"""Bugs for `headway practice bug`: a line of a correct solution, and the line with a known mistake."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Bug:
    """One mistake in one part.

    mistake  id of the mistake in the exercise's list
    right    text that occurs once in the solution
    wrong    text to replace it with
    """

    exercise: str
    mistake: str
    right: str
    wrong: str


def _read() -> tuple[Bug, ...]:
    listed = tomllib.loads(Path(__file__).with_name("bugs.toml").read_text(encoding="utf-8"))
    return tuple(Bug(exercise, **bug) for exercise, bugs in listed.items() for bug in bugs)


BUGS = _read()
