"""Calls that a route receives, and replies that it returns."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias
from uuid import uuid4

import msgspec

from headway.server.errors import ApiError
from headway.server.service import Service
from headway.server.sse import error_event

JSON = "application/json"


@dataclass(frozen=True)
class Call:
    """One HTTP request.

    body         the whole body
    cache_key    separates the prompt caches of callers with different keys
    path_values  parts of the path by the names of the route
    id           returned as x-request-id
    """

    service: Service
    body: bytes = b""
    cache_key: str = ""
    path_values: Mapping[str, str] = field(default_factory=dict)
    id: str = field(default_factory=lambda: f"req_{uuid4().hex}")


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

    close        called at the end, and when the client leaves
    error_event  returns the end of a stream that fails after its first event
    """

    events: AsyncIterator[bytes]
    close: Callable[[], None]
    error_event: Callable[[ApiError], bytes] = error_event


Handler: TypeAlias = Callable[[Call], Awaitable[Reply | EventStream]]


class Row(NamedTuple):
    """A route: method, path, the function that answers, and the body of its errors."""

    method: str
    path: str
    handler: Handler
    error_body: Callable[[ApiError], dict[str, object]] = ApiError.body


def json_reply(value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Reply:
    """Return a value as JSON."""
    return Reply(msgspec.json.encode(value), status, headers=headers or {})
