"""Events of the engine's thread in the event loop: one wake-up of the loop for all events of a pass, or of several short ones."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from time import perf_counter
from typing import NamedTuple, Protocol

from headway.engine import EngineStats, Event, Request, RequestFailed, Sink
from headway.server.errors import ApiError

MAX_BUFFERED = 4096
"""Most events that wait for a slow reader. One that falls further back loses its request."""

MAX_BUFFERED_EACH = 64
"""The same for each of many prompts: a pass has an event of every one, and up to 33 of those that are scored."""

GATHER_SECONDS = 0.02
"""Time between two deliveries of tokens: those of shorter passes are sent together, except for the first and the last of a request."""


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


class Arrival(NamedTuple):
    """Events of one engine request that the engine sent together.

    seconds   time on time.perf_counter at which it sent them; the loop may learn of them later
    """

    seconds: float
    events: Sequence[Event]


class Subscription:
    """The events of the engine requests of one HTTP request.

    numbers   position of each engine request by its id
    """

    def __init__(self, submission: Submission) -> None:
        """Subscribe to nothing yet."""
        self._submission, self.numbers = submission, dict[int, int]()
        self._arrivals, self._num_events = list[Arrival](), 0
        self._error: ApiError | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._due = 0.0

    async def next(self, timeout_seconds: float) -> list[Arrival]:
        """Return what arrived since the last call, at least one event; [] if there is none within the time.

        Errors   ApiError if the reader is too slow, or the server ends the request.
        """
        if not self._arrivals and self._error is None:
            await self._wait(timeout_seconds)
        if self._error:
            raise self._error
        arrivals, self._arrivals, self._num_events = self._arrivals, [], 0
        return arrivals

    async def _wait(self, timeout_seconds: float) -> None:
        """Wait for an event, an error, or the end of the time. The timer of an earlier call is used again: most waits end before it."""
        loop = asyncio.get_running_loop()
        self._due = loop.time() + timeout_seconds
        if self._timer is not None and self._timer.when() > self._due:
            self._timer.cancel()
            self._timer = None
        if self._timer is None:
            self._timer = loop.call_at(self._due, self._time_out, loop)
        self._waiter = loop.create_future()
        await self._waiter

    def _time_out(self, loop: asyncio.AbstractEventLoop) -> None:
        """End the wait if its time has passed; else look again when it has."""
        self._timer = None
        if loop.time() >= self._due:
            self._wake()
        elif self._waiter is not None:
            self._timer = loop.call_at(self._due, self._time_out, loop)

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
        self._waiter = None

    def fail(self, error: ApiError) -> None:
        """End the requests with an error."""
        self._error = self._error or error
        self._wake()
        self.close()

    def close(self) -> None:
        """Abort the requests that still run."""
        self._submission.abort(list(self.numbers))
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def stop(self, index: int, choice: int) -> None:
        """Abort one choice of a request."""
        self._submission.thread.abort(index, choice)

    def _add(self, arrivals: Sequence[Arrival]) -> None:
        self._arrivals.extend(arrivals)
        self._num_events += sum(len(arrival.events) for arrival in arrivals)
        self._wake()
        if self._num_events > max(MAX_BUFFERED, MAX_BUFFERED_EACH * len(self.numbers)):
            self._arrivals.clear()
            self.fail(ApiError(408, f"the client left {self._num_events} events unread", code="slow_reader"))


class Submission:
    """An engine as seen from the event loop. All methods but the sink are called in the loop's thread."""

    def __init__(self, thread: EngineConnection, loop: asyncio.AbstractEventLoop) -> None:
        """Connect a thread and a loop."""
        self.thread, self._loop = thread, loop
        self._subscriptions: dict[int, Subscription] = {}
        self._lock, self._arrived = threading.Lock(), list[Arrival]()
        self._unheard = set[int]()  # requests without a token so far
        self._next_delivery = 0.0

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
                self._unheard.add(index)
        except BaseException:
            subscription.close()
            raise
        return subscription

    def abort(self, indices: Sequence[int]) -> None:
        """Abort the engine requests that still run; they get no more events."""
        for index in indices:
            self._unheard.discard(index)
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
        """Take events of one request in the engine's thread; wake the loop unless it is about to take earlier ones and these can wait as long."""
        index, last = events[0].index, events[-1]
        is_urgent = index in self._unheard or isinstance(last, RequestFailed) or last.finish_reason is not None
        with self._lock:
            is_first = not self._arrived
            self._arrived.append(Arrival(perf_counter(), events))
        if is_first or is_urgent:
            self._unheard.discard(index)
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self._deliver if is_urgent else self._wake)

    def _wake(self) -> None:
        """Deliver at once, or with the events that arrive until the next delivery is due."""
        if self._loop.time() >= self._next_delivery:
            self._deliver()
        else:
            self._loop.call_at(self._next_delivery, self._deliver)

    def _deliver(self) -> None:
        with self._lock:
            arrived, self._arrived = self._arrived, []
        if not arrived:
            return
        self._next_delivery = self._loop.time() + GATHER_SECONDS
        by_subscription: dict[Subscription, list[Arrival]] = {}
        for arrival in arrived:
            index = arrival.events[0].index
            if subscription := self._subscriptions.get(index):
                by_subscription.setdefault(subscription, []).append(arrival)
                if isinstance(arrival.events[-1], RequestFailed):
                    del self._subscriptions[index]
        for subscription, arrivals in by_subscription.items():
            subscription._add(arrivals)
