"""A learner's file as it was read: its Python text, its notebook cells, and the change of a range of it."""

from __future__ import annotations

import ast
import functools
import io
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

from headway.files import replacing
from headway.practice.message import Message, PracticeError
from headway.practice.nested_strings import with_other_quotes
from headway.practice.texts import Texts
from headway.practice.verdict import Cause, Edit, Verdict

TEXTS = Texts("diagnosis")
BOM = "\ufeff"


@dataclass(frozen=True)
class Cell:
    """A code cell of a notebook.

    number       number among all cells of the notebook, counted from 1
    text         the cell as it is in the notebook
    first_line   line of `Source.text` at which it starts, counted from 1
    """

    number: int
    text: str
    first_line: int


@dataclass(frozen=True)
class Source:
    """A learner's file.

    text      Python text with \\n as line end; for a notebook its code cells, where notebook commands such as %matplotlib are comments;
              strings within f-strings have other quotes if this version of Python needs them
    original  bytes of the file
    cells     code cells of a notebook; empty for a .py file
    """

    path: Path
    text: str
    original: bytes
    cells: tuple[Cell, ...] = ()

    @cached_property
    def lines(self) -> list[str]:
        """Return the lines of the text without line ends."""
        return self.text.split("\n")

    @cached_property
    def tree(self) -> ast.Module | None:
        """Return the syntax tree, or None if the text has a syntax error."""
        try:
            return ast.parse(self.text)
        except (SyntaxError, ValueError):
            return None

    def place(self, line: int) -> tuple[int | None, int]:
        """Return the cell of a line of the text, or None for a .py file, and the line within it."""
        for cell in reversed(self.cells):
            if line >= cell.first_line:
                return cell.number, line - cell.first_line + 1
        return None, line

    def line_of(self, cell: int | None, line: int) -> int:
        """Return the line of the text for a line of a cell; the inverse of `place`."""
        return next((each.first_line + line - 1 for each in self.cells if each.number == cell), line)


def read(path: Path) -> Source:
    """Read a .py file or a notebook.

    Errors   OptionError for a missing file, or one that is neither.
    """
    if not path.is_file():
        raise PracticeError(TEXTS["not_a_source"].format(path=path, found=TEXTS["a_folder"] if path.is_dir() else TEXTS["missing"]))
    original = path.read_bytes()
    try:
        text = original.decode("utf-8").removeprefix(BOM)
        cells = _cells(json.loads(text)) if path.suffix == ".ipynb" else ()
    except (UnicodeDecodeError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise PracticeError(TEXTS["cannot_be_read"].format(path=path, error=error)) from error
    if path.suffix == ".ipynb":
        text = "\n\n".join(_without_commands(cell.text) for cell in cells) + "\n"
    return Source(path, as_read(text), original, cells)


def as_read(text: str) -> str:
    """Return a text with \\n as line end, which this version of Python can read if a later one can."""
    return with_other_quotes(re.sub(r"\r\n?", "\n", text))


def _cells(notebook: dict[str, Any]) -> tuple[Cell, ...]:
    found, first_line = [], 1
    for number, cell in enumerate(notebook["cells"], 1):
        if cell["cell_type"] == "code":
            text = re.sub(r"\r\n?", "\n", "".join(cell["source"]))
            found.append(Cell(number, text, first_line))
            first_line += text.count("\n") + 2
    return tuple(found)


COMMAND = r"^([ \t]*)([%!?]|(?:pip3?|conda|mamba) +(?:install|uninstall|list|show)\b)(?:.*\\\n)*"
"""Pattern of a notebook command, also over several lines that end with a backslash. IPython runs `pip install` without a mark, too."""
FOREIGN_CELL = r"\s*%%(?!(?:time|timeit|capture|check|prun)\b)\w"
"""Pattern of the start of a cell in another language, such as %%bash."""


def _without_commands(text: str) -> str:
    """Return a cell's text with notebook commands such as %matplotlib, and all of a cell in another language, as comments."""
    if re.match(FOREIGN_CELL, text):
        return re.sub(r"^(?=.)", "# ", text, flags=re.MULTILINE)
    return re.sub(COMMAND, lambda found: re.sub(r"^([ \t]*)", r"\1# ", found[0], flags=re.MULTILINE), text, flags=re.MULTILINE)


def located(verdict: Verdict, source: Source) -> Verdict:
    """Return a verdict on a file with the file's path, columns and end lines; for a notebook with cells and the lines within them.

    A verdict is made in the process that runs the learner's code: places outside the file are dropped, and so are repairs that do not fit.
    """
    region = _definition(verdict, source) or whole_line(verdict.line, source)
    repair = verdict.repair if verdict.repair and _fits(verdict.repair.edits, source) else None
    causes = tuple(_located_cause(cause, repair.edits if repair else (), source) for cause in verdict.causes)
    if repair and source.cells:
        repair = replace(repair, edits=tuple(_in_cell(edit, source) for edit in repair.edits), says=_in_cells(repair.says, source))
    return replace(verdict, file=source.path.as_posix(), causes=causes, repair=repair, **_named(region, source))


def _fits(edits: Sequence[Edit], source: Source) -> bool:
    """Return True if edits can be applied to the text."""
    numbers = [number for each in edits for number in (each.line, each.column, each.end_line, each.end_column)]
    if not edits or any(type(number) is not int for number in numbers) or any(type(each.replacement) is not str for each in edits):
        return False
    try:
        edited(source.text, edits, source.path)
    except PracticeError:
        return False
    return not source.cells or all(source.place(each.line)[0] == source.place(each.end_line)[0] for each in edits)


def _located_cause(cause: Cause, edits: Sequence[Edit], source: Source) -> Cause:
    if type(cause.line) is not int or not 1 <= cause.line <= len(source.lines):
        return replace(cause, line=None, column=None, end_line=None, end_column=None, cell=None)
    if len(edits) == 1 and edits[0].line == cause.line:
        return replace(cause, **_named((edits[0].line, edits[0].column, edits[0].end_line, edits[0].end_column), source))
    return replace(cause, **_named(whole_line(cause.line, source), source))


Region = tuple[int, int, int, int]
"""Line, column, end line, end column (exclusive) in `Source.text`, counted from 1, in characters."""


def _named(region: Region, source: Source) -> dict[str, Any]:
    line, column, end_line, end_column = region
    cell, first = source.place(line)
    return {"cell": cell, "line": first, "column": column, "end_line": first + end_line - line, "end_column": end_column}


def _in_cells(says: Message, source: Source) -> Message:
    """Return the text of a repair, which names lines of the text, with cells and the lines within them."""
    en = re.sub(r"\bline (\d+):", lambda found: "cell {}, line {}:".format(*source.place(int(found[1]))), says.en)
    zh = re.sub(r"第 (\d+) 行：", lambda found: "第 {} 个单元格第 {} 行：".format(*source.place(int(found[1]))), says.zh)
    return Message(en, zh)


def _in_cell(edit: Edit, source: Source) -> Edit:
    cell, line = source.place(edit.line)
    return replace(edit, cell=cell, line=line, end_line=line + edit.end_line - edit.line)


def whole_line(line: int, source: Source) -> Region:
    """Return the region of a line of the text without indentation and comment."""
    text = source.lines[line - 1] if 1 <= line <= len(source.lines) else ""
    code = re.sub(r"\s+#[^'\"]*$", "", text).rstrip()
    start = len(code) - len(code.lstrip())
    return line, start + 1, line, max(len(code), start) + 1


def _definition(verdict: Verdict, source: Source) -> Region | None:
    """Return the region of the definition that a verdict is on."""
    for node in ast.walk(source.tree) if source.tree else ():
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Assign | ast.AnnAssign):
            first = min((node, *getattr(node, "decorator_list", ())), key=lambda each: each.lineno)
            if first.lineno == verdict.line and node.end_lineno and node.end_col_offset is not None:
                has_decorator = first is not node
                column = 1 if has_decorator else _characters(source, first.lineno, first.col_offset) + 1
                return first.lineno, column, node.end_lineno, _characters(source, node.end_lineno, node.end_col_offset) + 1
    return None


def _characters(source: Source, line: int, num_bytes: int) -> int:
    """Return the number of characters in the first bytes of a line: ast counts UTF-8 bytes."""
    return len(source.lines[line - 1].encode()[:num_bytes].decode(errors="ignore"))


def with_edits(source: Source, edits: Sequence[Edit]) -> bytes:
    """Return the file's bytes after some edits, which keep its line ends.

    Errors   OptionError for edits that overlap, or are outside the file or in a notebook command.
    """
    if source.path.suffix != ".ipynb":
        return edited(source.original.decode("utf-8"), edits, source.path).encode()
    whole = source.original.decode("utf-8")
    notebook = json.loads(whole.removeprefix(BOM))
    style = _style_of(whole.removeprefix(BOM), notebook)
    for cell in source.cells:
        own = [edit for edit in edits if edit.cell == cell.number]
        if own:
            _check_no_commands(cell, own, source.path)
            text = edited(cell.text, own, source.path)
            stored = notebook["cells"][cell.number - 1]
            stored["source"] = text.splitlines(keepends=True) if isinstance(stored["source"], list) else text
    return (style(notebook) + whole[len(whole.rstrip()) :]).encode()


def _style_of(whole: str, notebook: Any) -> Callable[[Any], str]:
    """Return the conversion to JSON that gives the text of a notebook, so that only the changed cell differs; else nbformat's."""
    indent = re.search(r"\{\r?\n([ \t]*)", whole)
    separators = ((",", ": "), None, (",", ":"))
    styles = [
        functools.partial(json.dumps, indent=indent[1] if indent else None, separators=each, ensure_ascii=is_ascii)
        for each in separators
        for is_ascii in (False, True)
    ]
    same = (style for style in styles if style(notebook) == whole.strip())
    return next(same, functools.partial(json.dumps, indent=1, ensure_ascii=False))


def _check_no_commands(cell: Cell, edits: Sequence[Edit], path: Path) -> None:
    lines, shown = cell.text.split("\n"), _without_commands(cell.text).split("\n")
    if any(lines[edit.line - 1 : edit.end_line] != shown[edit.line - 1 : edit.end_line] for edit in edits):
        raise _cannot_edit(path)


def edited(text: str, edits: Sequence[Edit], path: Path) -> str:
    """Return a text after some edits; replacements take the text's line ends.

    Errors   OptionError for edits that overlap, or are outside the text.
    """
    bom, text = (BOM, text[1:]) if text.startswith(BOM) else ("", text)
    lines = list(io.StringIO(text, newline=""))
    newline = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))

    def offset(line: int, column: int) -> int:
        if not (1 <= line <= len(starts) and 1 <= column <= len(lines[line - 1].rstrip("\r\n") if line <= len(lines) else "") + 1):
            raise _cannot_edit(path)
        return starts[line - 1] + column - 1

    ranges = sorted((offset(edit.line, edit.column), offset(edit.end_line, edit.end_column), edit.replacement) for edit in edits)
    if any(first[1] > second[0] for first, second in pairwise(ranges)):
        raise _cannot_edit(path)
    for start, end, replacement in reversed(ranges):
        text = text[:start] + replacement.replace("\n", newline) + text[end:]
    return bom + text


def _cannot_edit(path: Path) -> PracticeError:
    return PracticeError(TEXTS["cannot_edit"].format(path=path))


def write(source: Source, content: bytes) -> None:
    """Replace a file atomically, keeping its permissions.

    Errors   OptionError if the file changed since it was read; OSError if writing fails.
    """
    path = source.path.resolve()
    if not path.is_file() or path.read_bytes() != source.original:
        raise PracticeError(TEXTS["changed_meanwhile"].format(path=source.path), hint=TEXTS["check_again"])
    mode = path.stat().st_mode
    with replacing(path) as temporary:
        temporary.write_bytes(content)
    path.chmod(mode)
