"""Pairs of texts, a source and what is to be made of it: read from files, and each line checked."""

from __future__ import annotations

from pathlib import Path

from headway.errors import TrainingError
from headway.train.corpus import read_text

Pair = tuple[str, str]
"""Source and target."""


def read_pairs(path: Path) -> list[Pair]:
    """The pairs of a file with a source, a tab and a target on each line.

    Errors   TrainingError for a file that is missing, empty or not UTF-8; for a line that is empty, has no tab or more than one, or
             has an empty column, with its number.
    """
    pairs = []
    for number, line in enumerate(_lines(path), 1):
        columns = line.split("\t")
        if len(columns) != 2:
            came = "an empty line" if not line else "a line without a tab" if len(columns) == 1 else f"a line with {len(columns) - 1} tabs"
            raise TrainingError(
                f"came: {path}, line {number}: {came}; expected: a source, one tab, and a target; mend the line, or take it out"
            )
        for name, column in zip(("source", "target"), columns, strict=True):
            if not column.strip():
                raise TrainingError(
                    f"came: {path}, line {number}: an empty {name}; expected: a source, one tab, and a target; mend the line, or take it out"
                )
        pairs.append((columns[0], columns[1]))
    return pairs


def read_parallel(source: Path, target: Path) -> list[Pair]:
    """The pairs of two files, whose lines belong together one by one.

    Errors   TrainingError as in read_pairs, and for files of different lengths.
    """
    sources, targets = _lines(source), _lines(target)
    if len(sources) != len(targets):
        raise TrainingError(
            f"came: {source} with {len(sources)} lines and {target} with {len(targets)}; "
            "expected: as many in both, each target on the line of its source"
        )
    for path, lines in ((source, sources), (target, targets)):
        for number, line in enumerate(lines, 1):
            if not line.strip():
                raise TrainingError(
                    f"came: {path}, line {number}: an empty line; expected: a text on every line; take the line out of both files"
                )
    return list(zip(sources, targets, strict=True))


def _lines(path: Path) -> list[str]:
    """The lines of a file. A text may hold any other character that str.splitlines would cut it at."""
    lines = [line.removesuffix("\r") for line in read_text(path).removesuffix("\n").split("\n")]
    if lines == [""]:
        raise TrainingError(f"came: {path}, empty; expected: a file with one text, or one pair of texts, on each line")
    return lines
