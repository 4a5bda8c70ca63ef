"""A view: one trace, or the learner's and the definition's together, for a terminal, a notebook or a file."""

from __future__ import annotations

import io
import os
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from headway.files import write_text
from headway.look.html import MAX_BYTES, Panel, framed, trace_page
from headway.look.terminal import print_trace
from headway.look.thinning import thinned
from headway.practice.message import Message
from headway.practice.texts import Texts
from headway.practice.verdict import Verdict

TEXTS = Texts("look")

FEWER_NUMBERS = (1024, 256, 64, 16)
"""Numbers per array that are tried, one after another, until a page is small enough."""

TEXT_WIDTH = 120


@dataclass(frozen=True)
class View:
    """Traces with a title. In a notebook it shows itself as a page; `save` writes the page, str() is the text of the terminal.

    panels   one trace, or the learner's and the definition's
    verdict  the verdict of headway.check, if the function is a part of the transformer
    """

    title: Message
    panels: tuple[Panel, ...]
    summary: Message | None = None
    verdict: Verdict | None = None

    def html(self, language: str = "en") -> str:
        """Return a self-contained page of at most 5 MB; of larger traces, evenly spaced elements of each array are kept."""
        panels = self.panels
        for most in (None, *FEWER_NUMBERS):
            if most is not None:
                panels = tuple(Panel(each.title, thinned(each.trace, most), each.differs) for each in self.panels)
            document = trace_page(panels, title=self.title, summary=self.summary, verdict=self.verdict, language=language)
            if len(document.encode()) <= MAX_BYTES:
                break
        return document

    def save(self, path: str | os.PathLike[str], language: str = "en") -> None:
        """Write the page to a file.

        Errors   OSError if the file cannot be written.
        """
        write_text(Path(path), self.html(language))

    def print(self, console: Console | None = None, *, language: str = "en", has_numbers: bool = False, depth: int = 0) -> None:
        """Print the verdict and the traces.

        has_numbers, depth   as in headway.look.terminal.print_trace
        """
        console = console or Console()
        if self.verdict is not None:
            console.print(self.verdict.text(language), markup=False, highlight=False, soft_wrap=True)
            console.print()
        for number, panel in enumerate(self.panels):
            if number:
                console.print()
            if len(self.panels) > 1:
                console.rule(panel.title.text(language), align="left")
            print_trace(panel.trace, console, language=language, has_numbers=has_numbers, depth=depth, differs=panel.differs)

    def __str__(self) -> str:
        console = Console(file=io.StringIO(), width=TEXT_WIDTH, no_color=True)
        self.print(console)
        return console.file.getvalue()  # type: ignore[attr-defined]

    def _repr_html_(self) -> str:
        """Return the page in an iframe, for a notebook."""
        return framed(self.html())

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        """Return the page without the text, which a notebook would store as well."""
        return {"text/html": self._repr_html_()}
