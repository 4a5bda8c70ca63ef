"""What a long run shows on stderr, and how it is told to stop."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


class Interruption:
    """Ctrl-C and SIGTERM end the run after the step under way, so that its state is whole."""

    def __enter__(self) -> Interruption:
        self.came = False
        self.before = {each: signal.signal(each, self._note) for each in (signal.SIGINT, signal.SIGTERM)}
        return self

    def __exit__(self, *_: object) -> None:
        for each, handler in self.before.items():
            signal.signal(each, handler)

    def has_come(self) -> bool:
        """Whether one of the signals was sent."""
        return self.came

    def _note(self, *_: object) -> None:
        self.came = True


class Shown:
    """Progress on stderr, or none of it."""

    def __init__(self, *, is_silent: bool = False) -> None:
        """Write to stderr, unless another process does."""
        from rich.console import Console

        self.console = Console(stderr=True, quiet=is_silent)

    def say(self, text: str) -> None:
        """One line."""
        self.console.print(text, highlight=False, markup=False)

    @contextmanager
    def bar(self, total: int, unit: str) -> Iterator[Callable[..., None]]:
        """A bar up to a total; what is yielded takes how much is done, and a text beside the bar."""
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        ends = (TimeElapsedColumn(), TextColumn("gone,"), TimeRemainingColumn(), TextColumn("left"))
        columns = (TextColumn(unit), MofNCompleteColumn(), BarColumn(None), TextColumn("{task.description}"), *ends)
        with Progress(*columns, console=self.console) as bar:
            task = bar.add_task("", total=total)

            def advance(done: int, description: str = "") -> None:
                bar.update(task, completed=done, description=description)

            yield advance


class Work:
    """What has to be done once before a model can run: a line on stderr that is wiped when it is done. Notes stay."""

    def __enter__(self) -> Work:
        self._status: Any = None
        self._noted: set[str] = set()
        return self

    def __exit__(self, *_: object) -> None:
        if self._status is not None:
            self._status.stop()

    def progress(self, what: str, done: int, total: int) -> None:
        """Say what is being done and how much of it is; 0 of 0 is a note."""
        if total == 0:
            if what not in self._noted:
                print(f"headway: {what}", file=sys.stderr)
            self._noted.add(what)
            return
        if not sys.stderr.isatty():  # rich shows no status there
            if done == 0:
                print(f"headway: {what}, once", file=sys.stderr)
            return
        if self._status is None:
            from rich.console import Console

            self._status = Console(stderr=True).status("")
            self._status.start()
        share = f", {100 * done // total} %" if done else ""
        self._status.update(f"{what}, once{share} …")
