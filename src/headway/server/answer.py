"""A generation as the reply of a route: one JSON object, or a stream of events."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Protocol
from uuid import uuid4

import headway
from headway.language_model import Chunk
from headway.server import sse
from headway.server.errors import ApiError
from headway.server.generation import Generation, Piece
from headway.server.replies import Call, EventStream, Reply, json_reply

FINGERPRINT = f"build-{headway.__version__}"


class Response(Protocol):
    """The objects of one response, in the format of one API."""

    generation: Generation

    @property
    def ping(self) -> bytes:
        """Event that keeps the connection open."""

    def whole(self, collected: Sequence[Sequence[Chunk]]) -> object:
        """Return the response as one JSON object, given the chunks of each choice."""

    def begin(self) -> list[bytes]:
        """Return the events before the first token."""

    def piece(self, piece: Piece) -> list[bytes]:
        """Return the events of a token; [] if it has no text yet."""

    def end(self) -> list[bytes]:
        """Return the events after the last token."""

    def error(self, error: ApiError) -> bytes:
        """Return the end of a stream that fails after its first event."""


async def answer(call: Call, response: Response, *, is_stream: bool) -> Reply | EventStream:
    """Return the response to a request whose generation has started."""
    generation = response.generation
    if is_stream:
        return EventStream(_events(response, call.service.settings.ping_seconds), response.error)
    return json_reply(response.whole(await generation.collect()))


async def _events(response: Response, ping_seconds: float) -> AsyncIterator[bytes]:
    """Yield the events of a stream, those of a pass together."""
    events = response.begin()
    async for pieces in response.generation.passes(ping_seconds):
        for piece in pieces:
            events += response.piece(piece)
        if not pieces:
            events.append(response.ping)
        if events:
            yield b"".join(events)
            events = []
    yield b"".join([*events, *response.end()])


class OpenAIResponse:
    """The parts that chat completions and completions share.

    object_name   of a whole response
    chunk_name    of an event
    """

    ping = sse.PING

    def __init__(self, generation: Generation, model: str, prefix: str, names: tuple[str, str], *, includes_usage: bool) -> None:
        """Describe a response.

        prefix           start of its id
        names            values of `object`, of a whole response and of an event
        includes_usage   True for a stream that ends with the usage
        """
        self.generation, self.names, self.includes_usage = generation, names, includes_usage
        self.start = {"id": f"{prefix}-{uuid4().hex}", "created": int(time.time()), "model": model, "system_fingerprint": FINGERPRINT}
        # Of an event only the choices differ; the rest is encoded once.
        self._before = sse.data({**self.start, "object": names[1], "choices": 0}).removesuffix(b"0}\n\n")
        self._after = b',"usage":null}\n\n' if includes_usage else b"}\n\n"

    def choices(self, choices: Sequence[object]) -> dict[str, object]:
        """Return a whole response."""
        return {**self.start, "object": self.names[0], "choices": choices, "usage": self.usage}

    def event(self, choices: Sequence[object], more: Mapping[str, object] | None = None) -> bytes:
        """Return an event. With the usage at the end of the stream, all other events have the key, too."""
        if more is None:
            return self._before + sse.encode(choices) + self._after
        return sse.data({**self.start, "object": self.names[1], "choices": choices, **more})

    @property
    def usage(self) -> Mapping[str, object]:
        """Numbers of tokens."""
        return self.generation.usage

    def end(self) -> list[bytes]:
        """See Response."""
        return [*([self.event([], {"usage": self.usage})] if self.includes_usage else []), sse.DONE]

    def error(self, error: ApiError) -> bytes:
        """See Response."""
        return sse.error_event(error)
