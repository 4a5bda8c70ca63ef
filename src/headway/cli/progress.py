"""Progress on stderr, and stopping a long run."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.status import Status

SECONDS_PER_LINE = 60.0
"""Time between two lines of progress where there is no terminal."""


class Interruption:
    """Ctrl-C and SIGTERM stop the run after the current step, so that its state is complete."""

    def __enter__(self) -> Interruption:
        self._is_requested = False
        self._handlers = {each: signal.signal(each, self._request) for each in (signal.SIGINT, signal.SIGTERM)}
        return self

    def __exit__(self, *_: object) -> None:
        for each, handler in self._handlers.items():
            signal.signal(each, handler)

    def is_requested(self) -> bool:
        """Return True if one of the signals was received."""
        return self._is_requested

    def _request(self, *_: object) -> None:
        self._is_requested = True


class Shown:
    """Lines and progress bars on stderr."""

    def __init__(self, *, is_silent: bool = False) -> None:
        """Show nothing if `is_silent`, as in all processes of a group but the first."""
        from rich.console import Console

        self.console = Console(stderr=True, quiet=is_silent)

    def say(self, text: str) -> None:
        """Print one line."""
        self.console.print(text, highlight=False, markup=False)

    @contextmanager
    def bar(self, total: int, unit: str) -> Iterator[Callable[..., None]]:
        """Show a progress bar; the value yielded is a function of the amount done and a text to show next to the bar.

        Its first call gives the amount that was done earlier. Where stderr is no terminal, it is a line per minute.
        """
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        times = (TimeElapsedColumn(), TextColumn("elapsed,"), TimeRemainingColumn(), TextColumn("left"))
        columns = (TextColumn(unit), MofNCompleteColumn(), BarColumn(None), TextColumn("{task.description}"), *times)
        with Progress(*columns, console=self.console) as bar:
            task, shown = bar.add_task("", total=total), list[float]()

            def advance(done: int, description: str = "") -> None:
                now = time.monotonic()
                if not shown:
                    bar.reset(task, completed=done, description=description)
                    shown.append(now)
                    return
                bar.update(task, completed=done, description=description)
                if not self.console.is_terminal and now > shown[0] + SECONDS_PER_LINE:
                    left = bar.tasks[0].time_remaining
                    more = "" if left is None else f", {left / 60:,.0f} min left"
                    self.say(f"{unit} {done:,} of {total:,}: {description}{more}")
                    shown[0] = now

            yield advance


class Work:
    """One-time work before a model can run (compiling, packing), as a line on stderr that is erased at the end. Notes stay."""

    def __enter__(self) -> Work:
        self._status: Status | None = None
        self._noted: set[str] = set()
        return self

    def __exit__(self, *_: object) -> None:
        if self._status is not None:
            self._status.stop()

    def progress(self, what: str, done: int, total: int) -> None:
        """Show how much of a piece of work is done; a total of 0 makes it a note."""
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
        percent = f", {100 * done // total} %" if done else ""
        self._status.update(f"{what}, once{percent} …")
