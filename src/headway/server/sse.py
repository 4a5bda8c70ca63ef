"""Server-sent events: data lines, comments as pings, and errors within a stream."""

from __future__ import annotations

import msgspec

from headway.server.errors import ApiError

PING = b": ping\n\n"
"""A comment. It keeps proxies from closing a stream during a long prompt, and finds clients that are gone."""

DONE = b"data: [DONE]\n\n"

encode = msgspec.json.Encoder().encode
"""Return a value as JSON."""


def data(value: object) -> bytes:
    """Return an event with a JSON value."""
    return b"data: " + encode(value) + b"\n\n"


def named(value: dict[str, object]) -> bytes:
    """Return an event whose name is the value's type."""
    return b"event: " + str(value["type"]).encode() + b"\n" + data(value)


def error_event(error: ApiError) -> bytes:
    """Return the end of a stream that fails after its first byte."""
    return data(error.body()) + DONE
