"""Readers of text pairs (source and target), with a check of each line."""

from __future__ import annotations

from pathlib import Path

from headway.errors import TrainingError, quantity
from headway.train.corpus import read_text

Pair = tuple[str, str]
"""Source and target."""


def read_pairs(path: Path) -> list[Pair]:
    """Read the pairs of a file with a source, a tab and a target on each line.

    Errors   TrainingError for a file that is missing, empty or not UTF-8; for a line that is empty, has no tab or several, or
             has an empty column. The message contains the line number.
    """
    pairs = []
    for number, line in enumerate(_lines(path), 1):
        columns = line.split("\t")
        if len(columns) != 2:
            found = "an empty line" if not line else "a line without a tab" if len(columns) == 1 else f"a line with {len(columns) - 1} tabs"
            raise TrainingError(
                f"{path}, line {number}: got {found}, expected a source, one tab and a target", hint="correct or remove the line"
            )
        for name, column in zip(("source", "target"), columns, strict=True):
            if not column.strip():
                raise TrainingError(
                    f"{path}, line {number}: got an empty {name}, expected a source, one tab and a target",
                    hint="correct or remove the line",
                )
        pairs.append((columns[0], columns[1]))
    return pairs


def read_parallel(source: Path, target: Path) -> list[Pair]:
    """Read the pairs of two files, in which lines with the same number belong together.

    Errors   TrainingError as in read_pairs, and for files of different lengths.
    """
    sources, targets = _lines(source), _lines(target)
    if len(sources) != len(targets):
        raise TrainingError(
            f"got {source} with {quantity(len(sources), 'line')} and {target} with {len(targets)}, expected equal numbers of lines",
            hint="each target has to be on the line of its source",
        )
    for path, lines in ((source, sources), (target, targets)):
        for number, line in enumerate(lines, 1):
            if not line.strip():
                raise TrainingError(f"{path}, line {number}: got an empty line, expected text", hint="remove the line from both files")
    return list(zip(sources, targets, strict=True))


def _lines(path: Path) -> list[str]:
    """Read the lines of a file; str.splitlines would also split at other characters, which a text may contain."""
    lines = [line.removesuffix("\r") for line in read_text(path).removesuffix("\n").split("\n")]
    if lines == [""]:
        raise TrainingError(f"got {path} without text, expected one text, or one pair of texts, on each line")
    return lines
