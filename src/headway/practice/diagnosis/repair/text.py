"""Changes of the syntax tree as edits of the source text."""

from __future__ import annotations

import ast
import itertools
import keyword
import re
from collections.abc import Sequence
from dataclasses import replace

from headway.practice.diagnosis.repair.program import Change, Program
from headway.practice.message import Message
from headway.practice.texts import Texts
from headway.practice.verdict import Edit

MAX_SHOWN = 90
TEXTS = Texts("diagnosis")


def says(found: Sequence[Change]) -> Message:
    """Return the changes as one line: `line 12: value.shape[-1] → key.shape[-1]`."""
    parts = [_said(change) for change in sorted(found, key=lambda change: change.line)]
    return Message("; ".join(part.en for part in parts), "；".join(part.zh for part in parts))


def _said(change: Change) -> Message:
    before, after = _source(change.old), _source(change.new)
    if (added := inserted(change)) is not None:
        return TEXTS["changed_line"].format(line=change.line, change=TEXTS["insert_code"].format(code=_short(_source(added))))
    if (start := moved_start(change)) is not None:
        moved, loop = start
        text = TEXTS["move_into_loop"] if moved.lineno < loop.lineno else TEXTS["move_before_loop"]
        return TEXTS["changed_line"].format(line=moved.lineno, change=text.format(code=_short(_source([moved])), line=loop.lineno))
    arrow = f"{_short(before)} → {_short(after)}"
    text = TEXTS["remove_code"].format(code=_short(before)) if after in ("", "pass") else Message(arrow, arrow)
    return TEXTS["changed_line"].format(line=change.line, change=text)


def inserted(change: Change) -> list[ast.stmt] | None:
    """Return the statements that a change puts before others; None for a change of another kind."""
    if not isinstance(change.old, list) or not isinstance(change.new, list):
        return None
    num_added = len(change.new) - len(change.old)
    is_kept = num_added > 0 and all(one is other for one, other in zip(change.new[num_added:], change.old, strict=True))
    return change.new[:num_added] if is_kept else None


def moved_start(change: Change) -> tuple[ast.stmt, ast.For] | None:
    """Return the statement that a change moves to the start of a loop, or from there to the place before it, and the loop; None without one."""
    match change.old, change.new:
        case [ast.stmt() as first, ast.For() as loop], [ast.For(body=[inner, *_])] if inner is first:
            return first, loop
        case [ast.For(body=[inner, *_]) as loop], [ast.stmt() as first, ast.For()] if inner is first:
            return first, loop
    return None


def _short(code: str) -> str:
    line = " ⏎ ".join(each.strip() for each in code.splitlines())
    return line if len(line) <= MAX_SHOWN else f"{line[: MAX_SHOWN - 1]}…"


def _source(node: ast.AST | list[ast.stmt]) -> str:
    if isinstance(node, list):
        return "\n".join(ast.unparse(ast.fix_missing_locations(each)) for each in node)
    if isinstance(node, ast.operator):  # of an assignment such as `x -= y`
        return f"{ast.unparse(ast.BinOp(ast.Name('x'), node, ast.Name('x')))[2:-2]}="
    return ast.unparse(node)


def length_of(change: Change) -> tuple[bool, int]:
    """Return the length of a change as text, after True for a change to a term of 0, which is better left out: the shortest is shown."""
    is_term = isinstance(change.parent, ast.BinOp) and isinstance(change.parent.op, ast.Add | ast.Sub)
    is_zero = isinstance(change.new, ast.Constant) and type(change.new.value) in (int, float) and change.new.value == 0
    return is_term and is_zero, len(_source(change.old)) + len(_source(change.new))


def edits_of(program: Program, found: Sequence[Change]) -> tuple[Edit, ...] | None:
    """Return the edits of the file that make the changes, or None if the edited text is not the changed program."""
    lines = program.subject.text.splitlines()
    edits = sorted((edit for change in found for edit in _edits(change, lines)), key=lambda edit: (edit.line, edit.column))
    for change in found:
        change.apply()
    try:
        wanted = [ast.dump(_reparsed(statement)) for statement in program.statements]
    except (SyntaxError, ValueError):
        return None
    finally:
        for change in reversed(found):
            change.undo()
    try:
        tree = ast.parse(applied(program.subject.text, edits))
    except SyntaxError:
        return None
    held = {ast.dump(_reparsed(node)) for node in tree.body}
    return tuple(edits) if all(each in held for each in wanted) else None


def _reparsed(statement: ast.stmt) -> ast.stmt:
    """Return a statement as it is after being written and read: `-1` as a constant becomes an operation."""
    return ast.parse(ast.unparse(statement)).body[0]


def edit_of(node: ast.expr | ast.stmt, written: str, text: str) -> Edit:
    """Return the edit of a text that writes something else in place of a node of its tree."""
    return _range(node, node, written, text.splitlines())


def _edits(change: Change, lines: Sequence[str]) -> list[Edit]:
    """Return the edits of a change: one for each statement if it rewrites several, so that what is between them stays."""
    if isinstance(change.old, list) and isinstance(change.new, list) and len(change.old) == len(change.new) > 1:
        pairs = [(old, new) for old, new in zip(change.old, change.new, strict=True) if old is not new]
        if all(isinstance(each, ast.Assign | ast.AugAssign) for pair in pairs for each in pair):
            return [_range(old, old, ast.unparse(new), lines) for old, new in pairs]
    if (start := moved_start(change)) is not None:
        moved, loop = start
        return [_whole_lines(moved, moved, lines), _before(loop.body[0] if moved.lineno < loop.lineno else loop, [moved])]
    return [_edit(change, lines)]


def _edit(change: Change, lines: Sequence[str]) -> Edit:
    if isinstance(change.old, ast.operator):  # an operator has no position: replace the statement that contains it
        assert isinstance(change.parent, ast.AugAssign)
        new = ast.AugAssign(change.parent.target, change.new, change.parent.value)  # type: ignore[arg-type]
        return _range(change.parent, change.parent, ast.unparse(new), lines)
    if isinstance(change.old, list):
        first, last = change.old[0], change.old[-1]
        if (added := inserted(change)) is not None:
            return _before(first, added)
        indent = " " * first.col_offset
        text = f"\n{indent}".join(line for each in change.new for line in ast.unparse(each).splitlines())  # type: ignore[union-attr]
        return _range(first, last, text, lines) if text else _whole_lines(first, last, lines)
    text = ast.unparse(change.new)  # type: ignore[arg-type]
    edit = _range(change.old, change.old, text, lines)
    if not _is_in_parentheses(edit, lines):
        return replace(edit, replacement=f"({text})") if _needs_parentheses(change) else edit
    is_atom = isinstance(change.new, _ATOMS)
    return replace(edit, column=edit.column - 1, end_column=edit.end_column + 1) if is_atom else edit


def _before(place: ast.stmt, added: Sequence[ast.stmt]) -> Edit:
    """Return the edit that puts statements before another one."""
    indent = " " * place.col_offset
    text = "".join(f"{line}\n{indent}" for each in added for line in ast.unparse(each).splitlines())
    return Edit(place.lineno, place.col_offset + 1, place.lineno, place.col_offset + 1, text)


def _is_in_parentheses(edit: Edit, lines: Sequence[str]) -> bool:
    """Return True for an expression on one line in parentheses that only group it."""
    before, after = lines[edit.line - 1][: edit.column - 1], lines[edit.end_line - 1][edit.end_column - 1 :]
    if edit.line != edit.end_line or not (before.endswith("(") and after.startswith(")")):
        return False
    called = re.search(r"([\w\])'\"]+)\s*\($", before)
    return called is None or keyword.iskeyword(called[1])


_ATOMS = (ast.Name, ast.Constant, ast.Call, ast.Attribute, ast.Subscript, ast.List, ast.ListComp, ast.Dict)


def _needs_parentheses(change: Change) -> bool:
    """Return True for an operation within another one, whose precedence could otherwise change the meaning."""
    is_inner = isinstance(change.parent, ast.BinOp | ast.UnaryOp | ast.Compare | ast.BoolOp | ast.Attribute | ast.IfExp) or (
        isinstance(change.parent, ast.Subscript | ast.Call) and change.field in ("value", "func")
    )
    return is_inner and not isinstance(change.new, _ATOMS)


def _range(first: ast.AST, last: ast.AST, text: str, lines: Sequence[str]) -> Edit:
    line, end_line = first.lineno, last.end_lineno  # type: ignore[attr-defined]
    return Edit(line, _column(lines[line - 1], first.col_offset), end_line, _column(lines[end_line - 1], last.end_col_offset), text)  # type: ignore[attr-defined]


def _whole_lines(first: ast.stmt, last: ast.stmt, lines: Sequence[str]) -> Edit:
    """Return the removal of statements with their lines, or of the statements alone where a line holds more."""
    assert last.end_lineno is not None
    start, end = lines[first.lineno - 1], lines[last.end_lineno - 1]
    is_alone = not start.encode()[: first.col_offset].strip() and end.encode()[last.end_col_offset :].strip()[:1] in (b"", b"#")
    if is_alone and last.end_lineno < len(lines):
        return Edit(first.lineno, 1, last.end_lineno + 1, 1, "")
    return _range(first, last, "pass", lines)


def _column(line: str, offset: int) -> int:
    """Return the column in characters, from 1, of an offset in UTF-8 bytes."""
    return len(line.encode()[:offset].decode()) + 1


def applied(text: str, edits: Sequence[Edit]) -> str:
    """Return a text with edits made."""
    starts = _starts(text)
    for edit in sorted(edits, key=lambda each: (each.line, each.column), reverse=True):
        start, end = _span(edit, starts)
        text = text[:start] + edit.replacement + text[end:]
    return text


def replaced_text(text: str, edit: Edit) -> str:
    """Return the part of a text that an edit replaces."""
    start, end = _span(edit, _starts(text))
    return text[start:end]


def _starts(text: str) -> list[int]:
    """Return the places at which the lines of a text start, and its end."""
    return [0, *itertools.accumulate(map(len, text.splitlines(keepends=True)))]


def _span(edit: Edit, starts: Sequence[int]) -> tuple[int, int]:
    return starts[edit.line - 1] + edit.column - 1, starts[edit.end_line - 1] + edit.end_column - 1
