"""A thread that runs an engine, for servers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import suppress

from headway.engine.engine import Engine
from headway.engine.request import Request, Sink
from headway.engine.stats import EngineStats


class EngineThread:
    """Runs an engine as long as it has requests, and waits otherwise.

    on_pass  called from the thread after each pass, when all events of the pass are in their sinks
    """

    def __init__(self, engine: Engine, on_pass: Callable[[], None] | None = None) -> None:
        """Start the thread."""
        self.engine, self._on_pass = engine, on_pass
        self._wake, self._is_closed = threading.Event(), False
        self.error: BaseException | None = None
        self._thread = threading.Thread(target=self._loop, name="headway-engine", daemon=True)
        self._thread.start()

    @property
    def stats(self) -> Mapping[str, EngineStats]:
        """Figures of the engine under its name, 0: connections to several engines have several."""
        return {"0": self.engine.stats}

    @property
    def is_alive(self) -> bool:
        """True if the thread runs; False after `close`, or after an error of a sink or of on_pass, which `error` holds."""
        return self._thread.is_alive()

    def submit(self, request: Request, sink: Sink) -> int:
        """Add a request; return its number. The sink is called from the engine's thread. Errors are those of Engine.add."""
        number = self.engine.add(request, sink)
        self._wake.set()
        return number

    def abort(self, number: int, choice: int | None = None) -> None:
        """End a request, or one of its choices, before the next pass and without an event."""
        self.engine.abort(number, choice)
        self._wake.set()

    def close(self) -> None:
        """Stop after the present pass."""
        self._is_closed = True
        self._wake.set()
        with suppress(RuntimeError):  # close may be called from a sink
            self._thread.join()

    def _loop(self) -> None:
        try:
            while not self._is_closed:
                if not self.engine.has_requests:
                    self._wake.wait()
                    self._wake.clear()
                    continue
                self.engine.step()
                if self._on_pass:
                    self._on_pass()
        except BaseException as error:
            self.error = error
            raise
