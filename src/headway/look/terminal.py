"""A trace as text for a terminal: each source line, and under it the values that it made."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Sequence

import numpy
from rich.console import Console
from rich.syntax import Syntax
from rich.text import Text

from headway.look.trace import Call, Source, Step, Trace, Value
from headway.practice.message import Message
from headway.practice.texts import Texts

TEXTS = Texts("look")

LEVELS = " ▁▂▃▄▅▆▇█"
MOST_ROWS = 8
MOST_COLUMNS = 48
MOST_SHOWN_RUNS = 3
"""Runs of a statement in a loop that are shown; the rest are counted."""
MOST_PRINTED = 8
"""Rows and columns of the numbers that `has_numbers` prints."""
TEXT_WIDTH = 120


def printed(show: Callable[[Console], None]) -> str:
    """Return what a function prints on a console."""
    text = io.StringIO()
    show(Console(file=text, width=TEXT_WIDTH, no_color=True))
    return text.getvalue()


def print_trace(
    trace: Trace, console: Console, *, language: str = "en", has_numbers: bool = False, depth: int = 0, differs: int | None = None
) -> None:
    """Print a trace.

    has_numbers   print the numbers of small arrays, not only their heat map
    depth         levels of calls to unfold
    differs       line to mark, whose value is the first that differs from the right one
    """
    _Printer(trace, console, language, has_numbers, depth, differs).call(trace.call, "", 0)


def describe(value: Value) -> str:
    """Return a value as one line: name, axes with their sizes, dtype, range, number of NaN."""
    if value.shape is None:
        return f"{value.name} = {value.text}"
    range_of = "" if value.minimum is None else f"  {number_text(value.minimum)} … {number_text(value.maximum)}"
    if not value.shape and value.minimum is not None:
        return f"{value.name} = {number_text(value.minimum)}  {value.dtype}"
    nan = f"  NaN × {value.num_nan}" if value.num_nan else ""
    return f"{value.name} {axes_text(value)} {value.dtype}{range_of}{nan}"


def axes_text(value: Value) -> str:
    """Return the shape of an array with the names of its axes: "(num_heads=4, 5)"."""
    axes = value.axes or ("",) * len(value.shape or ())
    return "(" + ", ".join(f"{axis}={size}" if axis else str(size) for axis, size in zip(axes, value.shape or (), strict=True)) + ")"


def number_text(number: float | None) -> str:
    """Return a number with at most four significant digits."""
    if number is None:
        return "–"
    return str(number) if isinstance(number, int) else f"{number:.4g}"


def heat_rows(value: Value) -> list[str]:
    """Return the first matrix of an array as rows of block characters, from its minimum to its maximum."""
    matrix = first_matrix(value)
    if matrix is None or value.minimum is None or matrix.size < 2:
        return []
    assert value.maximum is not None
    finite = matrix[numpy.isfinite(matrix)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    span = high - low or 1.0
    return ["".join(2 * _block(each, low, span) for each in row[:MOST_COLUMNS]) for row in matrix[:MOST_ROWS]]


def first_matrix(value: Value) -> numpy.ndarray | None:
    """Return the stored numbers of an array as a matrix, the first one along its leading axes; None for a scalar or no array."""
    if not value.shape or not value.numbers:
        return None
    shape = tuple(map(len, value.kept)) if value.kept else value.shape
    array = numpy.array(value.numbers, numpy.float64).reshape(shape)
    while array.ndim > 2:
        array = array[0]
    return numpy.atleast_2d(array)


def _block(number: float, low: float, span: float) -> str:
    if math.isnan(number):
        return "?"
    share = min(max((number - low) / span, 0.0), 1.0)
    return LEVELS[round(share * (len(LEVELS) - 1))]


class _Printer:
    """The settings of one printing."""

    def __init__(self, trace: Trace, console: Console, language: str, has_numbers: bool, depth: int, differs: int | None) -> None:
        self.trace, self.console, self.language = trace, console, language
        self.has_numbers, self.depth, self.differs = has_numbers, depth, differs

    def call(self, call: Call, margin: str, level: int) -> None:
        """Print a call: its arguments, and each line of its source with the values that it made."""
        source = self.trace.sources[call.source]
        if level == 0:
            self._line(margin, Text(f"{call.function}", style="bold"), Text(f"  {source.summary}", style="dim"))
            for line in source.equation.splitlines():
                self._line(margin, Text(f"    {line}", style="italic cyan"))
        for value in call.arguments:
            self._value(value, margin + "  ", style="green")
        runs = _runs(call.steps)
        for number, text in source.lines:
            self._source(source, number, text, margin, has_run=number in runs or not call.steps)
            self._runs_of(runs.get(number, []), margin, level)
            if level == 0 and number == self.differs:
                self._line(margin, Text(f"      ✗ {TEXTS['differs'].text(self.language)}", style="bold red"))
        if call.error:
            self._line(margin, Text(f"      ✗ {call.error}", style="bold red"))
        if call.num_omitted:
            self._say(TEXTS["omitted"].format(count=call.num_omitted), margin + "      ")

    def _runs_of(self, steps: Sequence[Step], margin: str, level: int) -> None:
        shown = [*steps[:MOST_SHOWN_RUNS]]
        for place, step in enumerate(shown):
            if len(steps) > 1:
                self._say(TEXTS["iteration"].format(number=place + 1, count=len(steps)), margin + "      │ ")
            for inner in step.calls:
                if level < self.depth:
                    self.call(inner, margin + "      ┆ ", level + 1)
                elif len(steps) == 1:
                    returned = f" → {axes_text(inner.returned)}" if inner.returned and inner.returned.shape else ""
                    self._line(margin, Text(f"      ▸ {inner.function}{returned}", style="dim"))
            for value in step.values:
                self._value(value, margin + "      │ ", style="yellow" if value.name == "return" else "")
        if len(steps) > len(shown):
            self._say(TEXTS["more_iterations"].format(count=len(steps) - len(shown)), margin + "      │ ")

    def _source(self, source: Source, number: int, text: str, margin: str, *, has_run: bool) -> None:
        if not text.strip():
            return
        code = Syntax(text, "python", theme="ansi_dark").highlight(text)
        code.rstrip()
        if not has_run:
            code.stylize("dim")
        self._line(margin, Text(f"{number:>5} ", style="dim"), code)

    def _value(self, value: Value, margin: str, *, style: str) -> None:
        name, _, rest = describe(value).partition(" ")
        self._line(margin, Text(name, style=f"bold {style}".strip()), Text(f" {rest}"))
        if self.has_numbers and value.shape and not value.kept:
            self._numbers(value, margin)
        elif value.shape and len(value.numbers) > 1:
            for row in heat_rows(value):
                self._line(margin, Text(f"  ▕{row}▏", style="blue"))

    def _numbers(self, value: Value, margin: str) -> None:
        matrix = first_matrix(value)
        for row in [] if matrix is None else matrix[:MOST_PRINTED]:
            cells = " ".join(f"{number_text(float(each)):>10}" for each in row[:MOST_PRINTED])
            self._line(margin, Text(f"  {cells}{' …' if len(row) > MOST_PRINTED else ''}", style="blue"))

    def _say(self, message: Message, margin: str) -> None:
        self._line(margin, Text(message.text(self.language), style="dim italic"))

    def _line(self, margin: str, *parts: Text) -> None:
        self.console.print(Text(margin, style="dim").append_text(Text.assemble(*parts)), soft_wrap=True, highlight=False)


def _runs(steps: Sequence[Step]) -> dict[int, list[Step]]:
    runs: dict[int, list[Step]] = {}
    for step in steps:
        runs.setdefault(step.line, []).append(step)
    return runs
