"""The engines of a deployment as one. A request whose replica is lost continues on another one, with the tokens it would have had."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator, Callable, Mapping
from contextvars import Context
from dataclasses import dataclass, field, replace
from itertools import count

from headway.cluster.messages import decode_events, encode_request
from headway.cluster.placement import placement_key
from headway.engine import EngineStats, Event, Request, RequestFailed, Resumption, SampledToken, Sink
from headway.errors import HeadwayError, ResourceError

LOG = logging.getLogger("headway.cluster")
MAX_LOSSES = 5
"""Replicas that a request may lose without a token between; it may be the request that ends them."""
PAUSE_SECONDS = 0.2
"""Pause after a lost replica, times the number of losses in a row."""

Call = Callable[[str, bytes], AsyncIterator[bytes]]
"""Calls a replica with a placement key and a request; yields messages of events."""


class ReplicaLostError(Exception):
    """A replica ended, or cannot be reached, before the end of a request."""


@dataclass
class _Progress:
    """Tokens of one request, by choice, and the choices that have ended."""

    request: Request
    tokens: dict[int, list[int]] = field(default_factory=dict)
    ended: set[int] = field(default_factory=set)

    def add(self, token: SampledToken) -> None:
        self.tokens.setdefault(token.choice, []).append(token.token_id)
        if token.finish_reason:
            self.ended.add(token.choice)

    def remaining(self) -> list[Request]:
        """Return the requests that generate the rest: the same again if there is no token, else one per choice that has not ended."""
        if not self.tokens:
            return [self.request]
        begun = self.request.resumption
        choices, before = ([begun.choice], begun.token_ids) if begun else (range(self.request.num_choices), ())
        return [
            replace(self.request, num_choices=1, resumption=Resumption(choice, [*before, *self.tokens.get(choice, ())]))
            for choice in choices
            if choice not in self.ended
        ]


@dataclass
class _Open:
    """A request that has not ended here.

    stopped   choices whose events are not wanted any more
    """

    request: Request
    sink: Sink
    stopped: set[int] = field(default_factory=set)
    task: asyncio.Task[None] | None = None


class RemoteEngine:
    """An EngineConnection to the replicas of a deployment. Its methods are called in the event loop's thread.

    stats   figures of the replicas, as its owner knows them

    Each call of a replica has an empty context: Ray's router takes concurrent calls within the context of one HTTP request for one call,
    and the others would wait without end.
    """

    def __init__(self, call: Call) -> None:
        """Connect to nothing yet.

        call   raises ReplicaLostError where the request may be repeated on another replica
        """
        self._call, self._numbers = call, count()
        self._open: dict[int, _Open] = {}
        self.stats: Mapping[str, EngineStats] = {}

    @property
    def is_alive(self) -> bool:
        """True: Ray replaces the replicas that end."""
        return True

    def submit(self, request: Request, sink: Sink) -> int:
        """See EngineConnection."""
        if request.options.temperature > 0 and request.options.seed is None:  # another replica has to draw the same numbers
            request = replace(request, options=replace(request.options, seed=secrets.randbits(63)))
        number = next(self._numbers)
        self._open[number] = opened = _Open(request, sink)
        opened.task = asyncio.create_task(self._run(number, opened), context=Context())
        return number

    def abort(self, number: int, choice: int | None = None) -> None:
        """See EngineConnection. A choice of several is computed until the others end, without events."""
        opened = self._open.get(number)
        if opened is None or opened.task is None:
            return
        if choice is not None:
            opened.stopped.add(choice)
        if choice is None or len(opened.stopped) == opened.request.num_choices:
            opened.task.cancel()

    async def _run(self, number: int, opened: _Open) -> None:
        def deliver(events: list[Event]) -> None:
            if wanted := [event for event in events if isinstance(event, RequestFailed) or event.choice not in opened.stopped]:
                opened.sink(wanted)

        try:
            await self._follow(number, opened.request, deliver, placement_key(opened.request))
        except HeadwayError as error:
            deliver([RequestFailed(number, error)])
        except Exception as error:
            LOG.exception("a request failed in a replica")
            deliver([RequestFailed(number, HeadwayError(f"got {type(error).__name__} from a replica"))])
        finally:
            del self._open[number]

    async def _follow(self, number: int, request: Request, deliver: Sink, key: str, num_losses: int = 0) -> None:
        """Deliver the events of a request until all its choices have ended.

        Errors   those of the request; ResourceError if replica after replica is lost.
        """
        progress = _Progress(request)
        try:
            async for message in self._call(key, encode_request(request)):
                events = decode_events(message, number)
                for event in events:
                    if isinstance(event, RequestFailed):
                        raise event.error
                    progress.add(event)
                deliver(_without_cached(events) if request.resumption else events)
        except ReplicaLostError as error:
            LOG.warning("a replica was lost (%s); its request continues on another one", error)
        remaining = progress.remaining()
        if not remaining:
            return
        num_losses = 1 if progress.tokens else num_losses + 1
        if num_losses > MAX_LOSSES:
            raise ResourceError(f"got {num_losses} lost replicas in a row, expected one that answers", hint="see the logs of Ray")
        await asyncio.sleep(PAUSE_SECONDS * (num_losses - 1))
        if len(remaining) == 1:
            await self._follow(number, remaining[0], deliver, key, num_losses)
            return
        try:
            async with asyncio.TaskGroup() as group:
                for each in remaining:
                    group.create_task(self._follow(number, each, deliver, key, num_losses), context=Context())
        except ExceptionGroup as errors:  # the first error has ended the others
            raise errors.exceptions[0] from None


def _without_cached(events: list[Event]) -> list[Event]:
    """Return events without the number of cached tokens, which the first replica has reported."""
    return [replace(event, num_cached=0) if isinstance(event, SampledToken) and event.num_cached else event for event in events]
