"""Excerpts of a learner's code, and paths as other programs expect them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from headway.practice.source import Source
from headway.practice.texts import Texts
from headway.practice.verdict import Cause, Edit, Verdict

TEXTS = Texts("check")


Place = Cause | Verdict | Edit
"""A value with a cell, a line, a column, an end line and an end column."""


NUM_AROUND = 2
"""Lines that are shown before and after one."""


def place_of(verdict: Verdict, cause: Cause | None = None) -> Place:
    """Return what has the place to show: the cause if its line is known, else the repair, else the verdict."""
    if cause is not None and cause.line is not None:
        return cause
    return verdict.repair.edits[0] if verdict.repair else verdict


def frame(source: Source, place: Place) -> str:
    """Return the lines around a place, numbered, with a mark at its first line."""
    if not place.line:
        return ""
    line = source.line_of(place.cell, place.line)
    first = line - place.line
    own = [number for number in range(line - NUM_AROUND, line + NUM_AROUND + 1) if 1 <= number <= len(source.lines)]
    own = [number for number in own if source.place(number)[0] == place.cell]
    width = len(str(max(own, default=1) - first))
    return "\n".join(f"{'>' if number == line else ' '} {number - first:{width}} | {source.lines[number - 1]}".rstrip() for number in own)


def message_of(verdict: Verdict, cause: Cause | None, language: str) -> str:
    """Return what is wrong and what to change, in one paragraph, with the cell if the file is a notebook."""
    place = place_of(verdict, cause)
    start = TEXTS["place_in_cell"].format(cell=place.cell, line=place.line).text(language) if place.cell is not None and place.line else ""
    repair = f"→ {verdict.repair.says.text(language)}" if verdict.repair and len(verdict.causes) <= 1 else ""
    if cause is None:
        parts = [verdict.difference.text(language) if verdict.difference else verdict.status_word.text(language), repair]
    else:
        parts = [cause.says.text(language), f"→ {cause.fix.text(language)}" if cause.fix.en else "", repair]
    return start + "\n".join(part for part in parts if part)


def relative_path(file: str, environ: Mapping[str, str]) -> str:
    """Return a path relative to the root of the repository, with forward slashes; as it is if it is outside.

    The root is GITHUB_WORKSPACE, else the current folder.
    """
    root, path = Path(environ.get("GITHUB_WORKSPACE") or os.getcwd()).resolve(), Path(file).resolve()
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else path.as_posix()
