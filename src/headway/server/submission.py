"""Events of the engine's thread in the event loop: one wake-up of the loop for all events of a pass."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Protocol

from headway.engine import EngineStats, Event, Request, RequestFailed, Sink
from headway.server.errors import ApiError

MAX_BUFFERED = 4096
"""Most events that wait for a slow reader. One that falls further back loses its request."""


class EngineConnection(Protocol):
    """An engine as the server uses it: an EngineThread, or engines of other processes. Methods are called in the loop's thread."""

    @property
    def is_alive(self) -> bool:
        """True while requests can be submitted."""

    @property
    def stats(self) -> Mapping[str, EngineStats]:
        """Figures of the engines that are known, by a name."""

    def submit(self, request: Request, sink: Sink) -> int:
        """Start a request; return its number. The sink receives its events, from any thread."""

    def abort(self, number: int, choice: int | None = None) -> None:
        """End a request, or one of its choices, without an event."""


class Subscription:
    """The events of the engine requests of one HTTP request.

    numbers   position of each engine request by its id
    """

    def __init__(self, submission: Submission) -> None:
        """Subscribe to nothing yet."""
        self._submission, self.numbers = submission, dict[int, int]()
        self._events: deque[Event] = deque()
        self._arrived = asyncio.Event()
        self._error: ApiError | None = None

    async def next(self, timeout_seconds: float) -> list[Event]:
        """Return the events since the last call, at least one; [] if there is none within the time.

        Errors   ApiError if the reader is too slow, or the server ends the request.
        """
        if not self._events and self._error is None:
            timer = asyncio.get_running_loop().call_later(timeout_seconds, self._arrived.set)
            await self._arrived.wait()
            timer.cancel()
        self._arrived.clear()
        if self._error:
            raise self._error
        events = list(self._events)
        self._events.clear()
        return events

    def fail(self, error: ApiError) -> None:
        """End the requests with an error."""
        self._error = self._error or error
        self._arrived.set()
        self.close()

    def close(self) -> None:
        """Abort the requests that still run."""
        self._submission.abort(list(self.numbers))

    def stop(self, index: int, choice: int) -> None:
        """Abort one choice of a request."""
        self._submission.thread.abort(index, choice)

    def _add(self, events: Sequence[Event]) -> None:
        self._events.extend(events)
        self._arrived.set()
        if len(self._events) > MAX_BUFFERED:
            self._events.clear()
            self.fail(ApiError(408, f"the client left {MAX_BUFFERED} events unread", code="slow_reader"))


class Submission:
    """An engine as seen from the event loop. All methods but the sink are called in the loop's thread."""

    def __init__(self, thread: EngineConnection, loop: asyncio.AbstractEventLoop) -> None:
        """Connect a thread and a loop."""
        self.thread, self._loop = thread, loop
        self._subscriptions: dict[int, Subscription] = {}
        self._lock, self._arrived = threading.Lock(), list[Event]()

    @property
    def num_open(self) -> int:
        """Number of engine requests that have not ended."""
        return len(self._subscriptions)

    def open(self, requests: Sequence[Request]) -> Subscription:
        """Start requests.

        Errors   those of the engine for a request that can never run; none of the requests runs then.
        """
        subscription = Subscription(self)
        try:
            for number, request in enumerate(requests):
                index = self.thread.submit(request, self._sink)
                subscription.numbers[index] = number
                self._subscriptions[index] = subscription
        except BaseException:
            subscription.close()
            raise
        return subscription

    def abort(self, indices: Sequence[int]) -> None:
        """Abort the engine requests that still run; they get no more events."""
        for index in indices:
            if self._subscriptions.pop(index, None):
                self.thread.abort(index)

    def close(self) -> None:
        """Abort all requests."""
        self.abort(list(self._subscriptions))

    def fail_all(self, error: ApiError) -> None:
        """End every request with an error."""
        for subscription in set(self._subscriptions.values()):
            subscription.fail(error)

    def _sink(self, events: list[Event]) -> None:
        """Take events in the engine's thread; wake the loop unless it is about to take the earlier ones."""
        with self._lock:
            is_first = not self._arrived
            self._arrived.extend(events)
        if is_first:
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self._deliver)

    def _deliver(self) -> None:
        with self._lock:
            arrived, self._arrived = self._arrived, []
        by_subscription: dict[Subscription, list[Event]] = {}
        for event in arrived:
            if subscription := self._subscriptions.get(event.index):
                by_subscription.setdefault(subscription, []).append(event)
                if isinstance(event, RequestFailed):
                    del self._subscriptions[event.index]
        for subscription, events in by_subscription.items():
            subscription._add(events)
