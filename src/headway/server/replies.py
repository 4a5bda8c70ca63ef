"""Calls that a route receives, and replies that it returns."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias, TypeVar
from uuid import uuid4

import msgspec

from headway.server.errors import ApiError
from headway.server.generation import Generation
from headway.server.model_pool import ModelSlot
from headway.server.served_model import Prepared, ServedModel
from headway.server.service import Service
from headway.server.sse import error_event
from headway.server.wire import Sampling

JSON = "application/json"
_Result = TypeVar("_Result")


@dataclass(eq=False)
class Call:
    """One HTTP request. Close it at its end: that aborts what it generates, and gives back its models.

    body         the whole body
    cache_key    separates the prompt caches of callers with different keys
    path_values  parts of the path by the names of the route
    id           returned as x-request-id
    arrived      time on time.perf_counter
    is_stream    True once it is known that the reply will be a stream
    """

    service: Service
    body: bytes = b""
    cache_key: str = ""
    path_values: Mapping[str, str] = field(default_factory=dict)
    id: str = field(default_factory=lambda: f"req_{uuid4().hex}")
    arrived: float = field(default_factory=time.perf_counter)
    is_stream: bool = False
    _slots: list[ModelSlot] = field(default_factory=list)
    _generations: list[Generation] = field(default_factory=list)

    async def model(self, name: str | None, *, is_stream: bool = False) -> ServedModel:
        """Return the model of that name, which stays loaded until the end of the call; the first one for None.

        is_stream   True if the reply will be a stream: it has pings from now on

        Errors   ApiError 404 for another name, 429 or 503 for a server that refuses requests, 500 or 503 for a model that cannot be loaded.
        """
        slot, self.is_stream = self.service.find(name), is_stream
        served = await self.service.acquire(slot)
        self._slots.append(slot)
        return served.named(name)

    async def in_worker(self, function: Callable[..., _Result], *arguments: object) -> _Result:
        """Return the result of a function that prepares a request, from a thread for these.

        Errors   those of Service.admit and of the function.
        """
        self.service.admit()
        return await self.service.in_thread(self.service.workers, self._slots, function, *arguments)

    async def prepare(self, body: Sampling, num_choices: int, function: Callable[..., _Result], *arguments: object) -> _Result:
        """Return the result of a function that prepares a request and may compile its grammar; see Service.prepare."""
        return await self.service.prepare(body, num_choices, self._slots, function, *arguments)

    async def encode(self, function: Callable[[Callable[[int], None]], tuple[_Result, int]]) -> tuple[_Result, int]:
        """Return the result of a function that computes vectors or ranks, and the number of tokens; see Service.encode."""
        return await self.service.encode(self._slots, function)

    async def in_tracer(self, function: Callable[..., _Result], *arguments: object) -> _Result:
        """Return the result of a function that traces a prompt, from the thread for these.

        Errors   those of Service.admit and of the function.
        """
        self.service.admit()
        return await self.service.in_thread(self.service.tracers, self._slots, function, *arguments)

    def generate(self, served: ServedModel, prepared: Sequence[Prepared]) -> Generation:
        """Start the engine requests of this call.

        Errors   the engine's errors for requests that can never run.
        """
        self._generations.append(self.service.generate(served, prepared, self.arrived))
        return self._generations[-1]

    def close(self) -> None:
        """Abort what still runs, and give back the models; closing it twice is allowed."""
        while self._generations:
            self._generations.pop().close()
        while self._slots:
            self.service.pool.release(self._slots.pop())


@dataclass(frozen=True)
class Reply:
    """A response with a body."""

    body: bytes
    status: int = 200
    content_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class EventStream:
    """A stream of server-sent events.

    error_event  returns the end of a stream that fails after its first event
    """

    events: AsyncIterator[bytes]
    error_event: Callable[[ApiError], bytes] = error_event


Handler: TypeAlias = Callable[[Call], Awaitable[Reply | EventStream]]


class Row(NamedTuple):
    """A route.

    handler       the function that answers
    error_body    returns the body of an error
    error_event   returns the end of a stream that fails before there is an EventStream, after a ping
    """

    method: str
    path: str
    handler: Handler
    error_body: Callable[[ApiError], dict[str, object]] = ApiError.body
    error_event: Callable[[ApiError], bytes] = error_event


def json_reply(value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Reply:
    """Return a value as JSON."""
    return Reply(msgspec.json.encode(value), status, headers=headers or {})
