"""POST /v1/messages and /v1/messages/count_tokens, the wire of Anthropic's clients."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Annotated, Any, Literal
from uuid import uuid4

from msgspec import Meta, Struct

from headway.language_model import Chunk
from headway.server import sse
from headway.server.errors import ApiError, not_built
from headway.server.generation import Generation
from headway.server.message import TextMessage
from headway.server.replies import Call, EventStream, Reply, json_reply
from headway.server.served_model import ServedModel
from headway.server.wire import MAX_MESSAGES, MAX_STOPS, MAX_TOKENS, Name, Stop, decode

ERROR_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
}
STOP_REASONS = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use"}


class TextBlock(Struct, tag="text"):
    """Text within a message; cache_control and citations have no effect."""

    text: str


class ThinkingBlock(Struct, tag="thinking"):
    """Earlier thoughts of the model, which are not shown to it again."""


class AnthropicMessage(Struct, forbid_unknown_fields=True):
    """A message of a conversation."""

    role: Literal["user", "assistant", "system"]
    content: str | list[TextBlock | ThinkingBlock]

    @property
    def text(self) -> str:
        """The content as one string."""
        return _text(self.content)


class Thinking(Struct):
    """Extended thinking; only "disabled" is supported by every model."""

    type: Literal["enabled", "disabled", "adaptive"]


class CountRequest(Struct, kw_only=True, forbid_unknown_fields=True):
    """The body of POST /v1/messages/count_tokens, and the part that both bodies share."""

    messages: Annotated[list[AnthropicMessage], Meta(min_length=1, max_length=MAX_MESSAGES)]
    model: Name | None = None
    system: str | list[TextBlock] | None = None
    thinking: Thinking | None = None
    tools: list[Any] | None = None
    tool_choice: dict[str, Any] | None = None

    def conversation(self) -> list[dict[str, object]]:
        """Return the messages as chat templates read them.

        Errors   ApiError for tools.
        """
        if self.tools:
            raise not_built("tools", "leave them out")
        found: list[dict[str, object]] = [{"role": "system", "content": _text(self.system)}] if self.system else []
        for message in self.messages:
            found.append({"role": message.role, "content": message.text})
        return found


class MessagesRequest(CountRequest, kw_only=True, forbid_unknown_fields=True):
    """The body of POST /v1/messages."""

    max_tokens: Annotated[int, Meta(ge=1, le=MAX_TOKENS)]
    stop_sequences: Annotated[list[Stop], Meta(max_length=MAX_STOPS)] | None = None
    stream: bool | None = None
    temperature: Annotated[float, Meta(ge=0, le=100)] | None = None
    top_p: Annotated[float, Meta(ge=0, le=1)] | None = None
    top_k: Annotated[int, Meta(ge=0, le=2**31)] | None = None
    # Accepted without effect.
    metadata: dict[str, Any] | None = None
    service_tier: str | None = None

    def generation_options(self) -> dict[str, object]:
        """Return the keywords of `LanguageModel.generate`."""
        options: dict[str, object] = {"max_new_tokens": self.max_tokens}
        if self.temperature is not None:
            options["temperature"] = 0.0 if self.temperature < 1e-6 else self.temperature
        if self.top_p is not None:
            options["top_p"] = max(self.top_p, 1e-6)
        if self.top_k is not None:
            options["top_k"] = self.top_k or None
        if self.stop_sequences:
            options["stop"] = self.stop_sequences
        return options


def error_body(error: ApiError) -> dict[str, object]:
    """Return an error as Anthropic's clients read it; OpenAI's keys are in it, too."""
    kind = ERROR_TYPES.get(error.status, "invalid_request_error" if error.status < 500 else "api_error")
    own: Any = error.body()["error"]
    return {"type": "error", "error": {**own, "type": kind}}


async def messages(call: Call) -> Reply | EventStream:
    """Answer a conversation."""
    body = decode(MessagesRequest, call.body)
    served = call.service.find(body.model)
    call.service.check_generates(served)
    call.service.admit()
    token_ids = await call.service.in_worker(served.encode_chat, body.conversation())
    prepared = served.prepare(token_ids, body.generation_options(), is_chat=True, cache_key=call.cache_key)
    generation = call.service.generate(served, [prepared])
    shape = _Shape(served, body)
    if body.stream:
        stream = _stream(shape, generation, call.service.settings.ping_seconds)
        return EventStream(stream, generation.close, lambda error: sse.named(error_body(error)))
    try:
        (chunks,) = await generation.collect()
    finally:
        generation.close()
    message = TextMessage()
    for chunk in chunks:
        message.add(chunk.text)
    content = [{"type": "text", "text": message.message()["content"]}]
    return json_reply({**shape.message(generation), "content": content, **shape.end(chunks), "usage": _usage(generation)})


async def count_tokens(call: Call) -> Reply:
    """Return the length of a conversation."""
    body = decode(CountRequest, call.body)
    served = call.service.find(body.model)
    token_ids = await call.service.in_worker(served.encode_chat, body.conversation())
    return json_reply({"input_tokens": len(token_ids)})


class _Shape:
    """The objects of one response."""

    def __init__(self, served: ServedModel, body: MessagesRequest) -> None:
        self.served, self.stops, self.id = served, body.stop_sequences or [], f"msg_{uuid4().hex}"

    def message(self, generation: Generation) -> dict[str, object]:
        start: dict[str, object] = {"id": self.id, "type": "message", "role": "assistant", "model": self.served.name, "content": []}
        return {**start, "stop_reason": None, "stop_sequence": None, "usage": _usage(generation)}

    def end(self, chunks: Sequence[Chunk]) -> dict[str, object]:
        reason, found = chunks[-1].finish_reason or "stop", None
        if reason == "stop" and self.stops:
            text = "".join(chunk.text for chunk in chunks)
            raw = self.served.model.tokenizer.decode([chunk.token_id for chunk in chunks if chunk.token_id is not None])
            rest = raw[len(text) :]
            found = max((stop for stop in self.stops if rest.startswith(stop)), key=len, default=None)
        return {"stop_reason": "stop_sequence" if found else STOP_REASONS[reason], "stop_sequence": found}


async def _stream(shape: _Shape, generation: Generation, ping_seconds: float) -> AsyncIterator[bytes]:
    block: dict[str, object] = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    events = [sse.named({"type": "message_start", "message": shape.message(generation)}), sse.named(block)]
    chunks: list[Chunk] = []
    async for pieces in generation.passes(ping_seconds):
        chunks += [piece.chunk for piece in pieces]
        for piece in pieces:
            if piece.chunk.text:
                delta = {"type": "text_delta", "text": piece.chunk.text}
                events.append(sse.named({"type": "content_block_delta", "index": 0, "delta": delta}))
        if not pieces:
            events.append(sse.named({"type": "ping"}))
        if events:
            yield b"".join(events)
            events = []
    events = [sse.named({"type": "content_block_stop", "index": 0})]
    events.append(sse.named({"type": "message_delta", "delta": shape.end(chunks), "usage": {"output_tokens": generation.num_new_tokens}}))
    yield b"".join([*events, sse.named({"type": "message_stop"})])


def _usage(generation: Generation) -> dict[str, object]:
    return {
        "input_tokens": generation.num_prompt_tokens - generation.num_cached_tokens,
        "output_tokens": generation.num_new_tokens,
        "cache_read_input_tokens": generation.num_cached_tokens,
        "cache_creation_input_tokens": 0,
    }


def _text(content: str | Sequence[TextBlock | ThinkingBlock] | None) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    return "\n".join(part.text for part in content if isinstance(part, TextBlock))
