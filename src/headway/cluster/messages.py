"""Requests and tokens as bytes between processes: MessagePack of plain fields, nothing that is code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from headway import errors
from headway.engine import Event, GenerationOptions, Request, RequestFailed, Resumption, SampledToken
from headway.errors import HeadwayError


@dataclass(frozen=True)
class RequestMessage:
    """The fields of a Request but its processors, which the receiver makes from the options."""

    token_ids: list[int]
    options: GenerationOptions
    end_token_ids: list[int]
    num_choices: int
    priority: int
    cache_key: str
    timeout_seconds: float | None
    resumption: Resumption | None
    adapter: str | None


@dataclass(frozen=True)
class ErrorMessage:
    """An error of the engine: the name of its class in headway.errors, and its texts."""

    name: str
    text: str
    hint: str | None


@dataclass(frozen=True)
class PassMessage:
    """Tokens of one request, and the error that ends it."""

    tokens: list[SampledToken]
    error: ErrorMessage | None = None


_encode = msgspec.msgpack.Encoder().encode
_decode_request = msgspec.msgpack.Decoder(RequestMessage).decode
_decode_pass = msgspec.msgpack.Decoder(PassMessage).decode


def encode_request(request: Request) -> bytes:
    """Return a request as bytes."""
    return _encode(
        RequestMessage(
            list(map(int, request.token_ids)),
            request.options,
            list(request.end_token_ids),
            request.num_choices,
            request.priority,
            request.cache_key,
            request.timeout_seconds,
            request.resumption,
            request.adapter,
        )
    )


def decode_request(message: bytes) -> Request:
    """Return a request without processors.

    Errors   msgspec.MsgspecError for other bytes; OptionError for wrong options.
    """
    fields = _decode_request(message)
    return Request(**{name: getattr(fields, name) for name in RequestMessage.__dataclass_fields__})


def encode_events(events: Sequence[Event]) -> bytes:
    """Return the events of one request as bytes."""
    tokens = [event for event in events if isinstance(event, SampledToken)]
    failed = next((event.error for event in events if isinstance(event, RequestFailed)), None)
    error = None if failed is None else ErrorMessage(type(failed).__name__, str(failed), failed.hint)
    return _encode(PassMessage(tokens, error))


def decode_events(message: bytes, index: int) -> list[Event]:
    """Return the events of a message, with the number that the request has here.

    Errors   msgspec.MsgspecError for other bytes.
    """
    given = _decode_pass(message)
    events: list[Event] = [
        SampledToken(index, each.token_id, each.finish_reason, each.log_prob, each.top_log_probs, each.choice, each.num_cached)
        for each in given.tokens
    ]
    if given.error is not None:
        events.append(RequestFailed(index, _error(given.error)))
    return events


def _error(message: ErrorMessage) -> HeadwayError:
    kind = getattr(errors, message.name, HeadwayError)
    is_known = isinstance(kind, type) and issubclass(kind, HeadwayError)
    return (kind if is_known else HeadwayError)(message.text, hint=message.hint)
