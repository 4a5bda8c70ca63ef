"""POST /v1/responses, without stored responses."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping
from itertools import count
from typing import Annotated, Any, Literal
from uuid import uuid4

from msgspec import Meta, Struct

from headway.server import sse
from headway.server.errors import ApiError, not_built
from headway.server.generation import Generation
from headway.server.replies import Call, EventStream, Reply, json_reply
from headway.server.wire import MAX_MESSAGES, MAX_TOKENS, Name, decode


class InputPart(Struct, tag_field="type", tag="input_text"):
    """Text of a user."""

    text: str


class OutputPart(Struct, tag_field="type", tag="output_text"):
    """Text of the assistant, as an earlier response returned it."""

    text: str


class InputMessage(Struct):
    """A message of the input; ids and statuses of earlier responses have no effect."""

    role: Literal["user", "assistant", "system", "developer"]
    content: str | list[InputPart | OutputPart]
    type: Literal["message"] = "message"


class TextFormat(Struct):
    """Format of the answer; only text is supported."""

    type: Literal["text"]


class TextSettings(Struct):
    """Settings of the answer's text."""

    format: TextFormat | None = None
    verbosity: None = None


class ResponsesRequest(Struct, kw_only=True, forbid_unknown_fields=True):
    """The body of POST /v1/responses."""

    input: str | Annotated[list[InputMessage], Meta(max_length=MAX_MESSAGES)] = ""
    model: Name | None = None
    instructions: str | None = None
    max_output_tokens: Annotated[int, Meta(ge=1, le=MAX_TOKENS)] | None = None
    temperature: Annotated[float, Meta(ge=0, le=100)] | None = None
    top_p: Annotated[float, Meta(ge=0, le=1)] | None = None
    stream: bool | None = None
    text: TextSettings | None = None
    tools: list[dict[str, Any]] | None = None
    tool_choice: Any = None
    previous_response_id: str | None = None
    conversation: None = None
    background: bool | None = None
    truncation: Literal["disabled"] | None = None
    # Accepted without effect.
    parallel_tool_calls: bool | None = None
    metadata: dict[str, str] | None = None
    store: bool | None = None
    include: list[str] | None = None
    user: Name | None = None
    service_tier: str | None = None
    safety_identifier: Name | None = None
    prompt_cache_key: Name | None = None
    prompt_cache_retention: str | None = None
    stream_options: dict[str, Any] | None = None

    def conversation_messages(self) -> list[dict[str, object]]:
        """Return the input as chat templates read it.

        Errors   ApiError for fields that are not supported.
        """
        # Clients offer tools of OpenAI's own, such as web_search; a model that does not know them answers without.
        if any(tool.get("type") == "function" for tool in self.tools or ()):
            raise not_built("tools", "leave functions out, or use /v1/chat/completions")
        if self.previous_response_id:
            raise not_built("previous_response_id", "responses are not stored; send the earlier messages in input")
        if self.background:
            raise not_built("background", "responses are not stored")
        found: list[dict[str, object]] = [{"role": "system", "content": self.instructions}] if self.instructions else []
        if isinstance(self.input, str):
            return [*found, {"role": "user", "content": self.input}]
        for message in self.input:
            text = message.content if isinstance(message.content, str) else "\n".join(part.text for part in message.content)
            found.append({"role": "system" if message.role == "developer" else message.role, "content": text})
        return found

    def generation_options(self) -> dict[str, object]:
        """Return the keywords of `LanguageModel.generate`."""
        options: dict[str, object] = {}
        if self.max_output_tokens is not None:
            options["max_new_tokens"] = self.max_output_tokens
        if self.temperature is not None:
            options["temperature"] = 0.0 if self.temperature < 1e-6 else self.temperature
        if self.top_p is not None:
            options["top_p"] = max(self.top_p, 1e-6)
        return options


async def responses(call: Call) -> Reply | EventStream:
    """Answer an input."""
    body = decode(ResponsesRequest, call.body)
    served = call.service.find(body.model)
    call.service.check_generates(served)
    call.service.admit()
    token_ids = await call.service.in_worker(served.encode_chat, body.conversation_messages())
    prepared = served.prepare(token_ids, body.generation_options(), is_chat=True, cache_key=call.cache_key)
    generation = call.service.generate(served, [prepared])
    shape = _Shape(served.name, body)
    if body.stream:
        return EventStream(_stream(shape, generation, call.service.settings.ping_seconds), generation.close, shape.error)
    try:
        (chunks,) = await generation.collect()
    finally:
        generation.close()
    return json_reply(shape.response("".join(chunk.text for chunk in chunks), chunks[-1].finish_reason, generation))


class _Shape:
    """The objects of one response."""

    def __init__(self, model: str, body: ResponsesRequest) -> None:
        self.body, self.numbers = body, count()
        self.item_id = f"msg_{uuid4().hex}"
        self.start: dict[str, object] = {
            "id": f"resp_{uuid4().hex}",
            "object": "response",
            "created_at": int(time.time()),
            "model": model,
            "instructions": body.instructions,
            "max_output_tokens": body.max_output_tokens,
            "metadata": body.metadata or {},
            "parallel_tool_calls": True if body.parallel_tool_calls is None else body.parallel_tool_calls,
            "previous_response_id": None,
            "store": False,
            "temperature": body.temperature,
            "text": {"format": {"type": "text"}},
            "tool_choice": "auto",
            "tools": [],
            "top_p": body.top_p,
            "truncation": "disabled",
        }

    def item(self, text: str | None, status: str) -> dict[str, object]:
        """Return the message; without content if the text is None."""
        content = [] if text is None else [self.part(text)]
        return {"id": self.item_id, "type": "message", "role": "assistant", "status": status, "content": content}

    def part(self, text: str) -> dict[str, object]:
        return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}

    def response(self, text: str | None, reason: str | None, generation: Generation) -> dict[str, object]:
        """Return the response; in progress if the text is None."""
        more: dict[str, object] = {"error": None, "incomplete_details": None}
        if text is None:
            return {**self.start, **more, "status": "in_progress", "output": [], "usage": None}
        if reason == "length":
            more["incomplete_details"] = {"reason": "max_output_tokens"}
        status = "incomplete" if reason == "length" else "completed"
        usage = {
            "input_tokens": generation.num_prompt_tokens,
            "input_tokens_details": {"cached_tokens": generation.num_cached_tokens, "cache_write_tokens": 0},
            "output_tokens": generation.num_new_tokens,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": generation.num_prompt_tokens + generation.num_new_tokens,
        }
        return {**self.start, **more, "status": status, "output": [self.item(text, status)], "usage": usage}

    def event(self, kind: str, values: Mapping[str, object]) -> bytes:
        return sse.named({"type": f"response.{kind}", "sequence_number": next(self.numbers), **values})

    def error(self, error: ApiError) -> bytes:
        return sse.named(
            {"type": "error", "sequence_number": next(self.numbers), "code": error.code, "message": error.message, "param": None}
        )


async def _stream(shape: _Shape, generation: Generation, ping_seconds: float) -> AsyncIterator[bytes]:
    in_progress = {"response": shape.response(None, None, generation)}
    place: dict[str, object] = {"item_id": shape.item_id, "output_index": 0, "content_index": 0}
    events = [
        shape.event("created", in_progress),
        shape.event("in_progress", in_progress),
        shape.event("output_item.added", {"output_index": 0, "item": shape.item(None, "in_progress")}),
        shape.event("content_part.added", {**place, "part": shape.part("")}),
    ]
    texts, reason = [], None
    async for pieces in generation.passes(ping_seconds):
        for piece in pieces:
            reason = piece.chunk.finish_reason
            if piece.chunk.text:
                texts.append(piece.chunk.text)
                events.append(shape.event("output_text.delta", {**place, "delta": piece.chunk.text, "logprobs": []}))
        if not pieces:
            yield sse.PING
        elif events:
            yield b"".join(events)
            events = []
    text = "".join(texts)
    response = shape.response(text, reason, generation)
    yield b"".join(
        [
            shape.event("output_text.done", {**place, "text": text, "logprobs": []}),
            shape.event("content_part.done", {**place, "part": shape.part(text)}),
            shape.event("output_item.done", {"output_index": 0, "item": shape.item(text, str(response["status"]))}),
            shape.event("incomplete" if reason == "length" else "completed", {"response": response}),
        ]
    )
