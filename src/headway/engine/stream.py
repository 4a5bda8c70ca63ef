"""Iteration over the tokens of some requests, in the thread of the caller."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from headway.engine.request import Event, Request, RequestFailed, SampledToken

if TYPE_CHECKING:
    from headway.engine.engine import Engine


class RequestStream:
    """The tokens of requests that were added together, in the order in which they become final.

    The index of a token is the place of its request. Iterating runs the engine, so requests of other streams continue too; their
    tokens are kept until they are read. What is left is aborted when the stream is closed or no longer referenced.
    """

    def __init__(self, engine: Engine, requests: Sequence[Request]) -> None:
        """Add the requests to the engine; see Engine.add_all."""
        self._engine, self._events = engine, deque[Event]()
        self._numbers = engine.add_all(requests, self._events.extend)
        self._unfinished = {index: request.num_choices for index, request in enumerate(requests)}
        self._close = weakref.finalize(self, _abort, weakref.ref(engine), self._numbers)
        self._close.atexit = False

    def __iter__(self) -> Iterator[SampledToken]:
        """Yield tokens until all requests have ended.

        Errors   the error of a request that failed; the others are aborted.
        """
        events, engine = self._events, self._engine
        while self._unfinished:
            while not events:
                with engine.lock:
                    if not events:
                        engine.step()
            while events:
                event = events.popleft()
                if event.index not in self._unfinished:
                    continue
                if isinstance(event, RequestFailed):
                    self.close()
                    raise event.error
                if event.finish_reason:
                    self._count_end(event.index)
                yield event

    def finish(self, index: int) -> None:
        """Stop a request; no more tokens are generated for it."""
        if self._unfinished.pop(index, None):
            self._engine.abort(self._numbers[index])

    def close(self) -> None:
        """Stop all requests."""
        for index in list(self._unfinished):
            self.finish(index)

    def _count_end(self, index: int) -> None:
        self._unfinished[index] -= 1
        if not self._unfinished[index]:
            del self._unfinished[index]


def _abort(engine: weakref.ref[Engine], numbers: list[int]) -> None:
    """Abort requests; those that have ended are ignored."""
    running = engine()
    if running is not None:
        for number in numbers:
            running.abort(number)
