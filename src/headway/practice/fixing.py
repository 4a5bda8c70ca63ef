"""Repairs of learners' files: the difference that they make, and writing them."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from headway.practice.message import PracticeError
from headway.practice.source import Source, edited, with_edits, write
from headway.practice.texts import Texts
from headway.practice.verdict import Edit, Verdict

TEXTS = Texts("check")


def edits_of(verdicts: Sequence[Verdict]) -> tuple[Edit, ...]:
    """Return the edits of all repairs of one file, leaving out those that overlap an earlier one."""
    found: list[Edit] = []
    for verdict in verdicts:
        own = [edit for edit in (verdict.repair.edits if verdict.repair else ()) if edit not in found]
        if not any(_overlap(edit, other) for edit in own for other in found):
            found += own
    return tuple(found)


def _overlap(first: Edit, second: Edit) -> bool:
    starts, ends = zip(*[((each.line, each.column), (each.end_line, each.end_column)) for each in (first, second)], strict=True)
    return first.cell == second.cell and max(starts) <= min(ends)


def diff_of(source: Source, edits: Sequence[Edit]) -> str:
    """Return the unified diff that some edits make; for a notebook one diff for each cell. Empty without edits.

    Control characters of the file are shown as escapes.
    """
    if not edits:
        return ""
    name = source.path.as_posix()
    if not source.cells:
        before = source.text
        return _diff(before, edited(before, edits, source.path), name)
    parts = []
    for cell in source.cells:
        own = [edit for edit in edits if edit.cell == cell.number]
        if own:
            parts.append(_diff(cell.text, edited(cell.text, own, source.path), f"{name}#{cell.number}"))
    return "".join(parts)


def _diff(before: str, after: str, name: str) -> str:
    lines = difflib.unified_diff(before.splitlines(keepends=True), after.splitlines(keepends=True), name, name)
    return visible("".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines))


def visible(text: str) -> str:
    """Return text with characters that a terminal would interpret as escapes, except for tabs and line ends."""
    return "".join(each if each.isprintable() or each in "\t\n" else each.encode("unicode_escape").decode() for each in text)


def write_fix(source: Source, edits: Sequence[Edit]) -> None:
    """Apply edits to a file atomically.

    Errors   OptionError if the file changed since it was read, or the edits do not fit; OSError if writing fails.
    """
    content = with_edits(source, edits)
    if content == source.original:
        raise PracticeError(TEXTS["no_change"].format(path=source.path))
    write(source, content)
