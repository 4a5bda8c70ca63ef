"""A view: one trace, or the learner's and the definition's together, for a terminal, a notebook or a file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from headway.files import write_text
from headway.look.html import MAX_BYTES, Panel, framed, trace_page
from headway.look.terminal import print_trace, printed
from headway.look.thinning import num_numbers, thinned
from headway.practice.message import Message
from headway.practice.texts import Texts
from headway.practice.verdict import Verdict

TEXTS = Texts("look")

FEWER_NUMBERS = (1024, 256, 64, 16)
"""Numbers per array that are tried, one after another, until a page is small enough."""

MAX_SAMPLED_BYTES = 2 * 10**6
BYTES_PER_NUMBER = 2
"""Fewest bytes of a number in a page; a trace that is too large by this is not written to find out."""


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
        """Return a self-contained page of at most 5 MB. Of a larger trace, evenly spaced elements of each array are kept, at most 2 MB."""
        if BYTES_PER_NUMBER * sum(num_numbers(each.trace) for each in self.panels) <= MAX_BYTES:
            document = self._page(self.panels, language)
            if len(document.encode()) <= MAX_BYTES:
                return document
        for most in FEWER_NUMBERS:
            panels = tuple(Panel(each.title, thinned(each.trace, most), each.differs) for each in self.panels)
            document = self._page(panels, language)
            if len(document.encode()) <= MAX_SAMPLED_BYTES:
                break
        return document

    def _page(self, panels: tuple[Panel, ...], language: str) -> str:
        return trace_page(panels, title=self.title, summary=self.summary, verdict=self.verdict, language=language)

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
        return printed(self.print)

    def _repr_html_(self) -> str:
        """Return the page in an iframe, for a notebook."""
        return framed(self.html())

    def _repr_mimebundle_(self, **_: object) -> dict[str, str]:
        """Return the text of the terminal, and the page for a notebook."""
        return {"text/plain": str(self), "text/html": self._repr_html_()}
