"""POST /v1/messages and /v1/messages/count_tokens, the API of Anthropic's clients."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast
from uuid import uuid4

from headway.language_model import Chunk
from headway.server import sse
from headway.server.answer import answer
from headway.server.anthropic_wire import CountRequest, MessagesRequest
from headway.server.chat import Chat, conversation, prepare
from headway.server.errors import ApiError
from headway.server.generation import Generation, Piece
from headway.server.message import Delta
from headway.server.replies import Call, EventStream, Reply, json_reply
from headway.server.served_model import ServedModel
from headway.server.tools import arguments_object
from headway.server.wire import decode

ERROR_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
}
STOP_REASONS = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use"}


def error_body(error: ApiError) -> dict[str, object]:
    """Return an error as Anthropic's clients read it; OpenAI's keys are in it, too."""
    kind = ERROR_TYPES.get(error.status, "invalid_request_error" if error.status < 500 else "api_error")
    own: Any = error.body()["error"]
    return {"type": "error", "error": {**own, "type": kind}}


def error_event(error: ApiError) -> bytes:
    """Return the end of a stream that fails."""
    return sse.named(error_body(error))


async def messages(call: Call) -> Reply | EventStream:
    """Answer a conversation."""
    body = decode(MessagesRequest, call.body)
    served = await call.model(body.model, is_stream=bool(body.stream))
    call.service.check_generates(served)
    asked = await call.in_worker(body.chat)
    ready = await call.prepare(asked, 1, prepare, served, asked, call.cache_key)
    generation = call.generate(served, [ready.prepared])
    return await answer(call, AnthropicResponse(served, body, ready, generation), is_stream=bool(body.stream))


async def count_tokens(call: Call) -> Reply:
    """Return the length of a conversation."""
    body = decode(CountRequest, call.body)
    served = await call.model(body.model)
    token_ids = await call.in_worker(lambda: conversation(served, body.chat()).token_ids)
    return json_reply({"input_tokens": len(token_ids)})


class AnthropicResponse:
    """The objects of one response. Its content is a list of blocks: texts and calls of tools."""

    ping = sse.named({"type": "ping"})

    def __init__(self, served: ServedModel, body: MessagesRequest, ready: Chat, generation: Generation) -> None:
        """Describe the response to a request."""
        self.served, self.generation, self.stops = served, generation, body.stop_sequences or []
        self.id, self.builder, self.chunks = f"msg_{uuid4().hex}", ready.new_message(), list[Chunk]()
        self.index, self.open_block = 0, ""

    def whole(self, collected: Sequence[Sequence[Chunk]]) -> object:
        """See Response."""
        self.chunks = list(collected[0])
        for chunk in self.chunks:
            self.builder.add(chunk.text)
        self.builder.flush()
        return {**self._message(), "content": self._content(), **self._end(), "usage": self._usage()}

    def begin(self) -> list[bytes]:
        """See Response."""
        return [sse.named({"type": "message_start", "message": self._message()})]

    def piece(self, piece: Piece) -> list[bytes]:
        """See Response."""
        self.chunks.append(piece.chunk)
        return [event for delta in self.builder.add(piece.chunk.text) for event in self._delta(delta)]

    def end(self) -> list[bytes]:
        """See Response."""
        events = [event for delta in self.builder.flush() for event in self._delta(delta)]
        if not self.open_block:
            events += self._start("text", {"type": "text", "text": ""})
        events += self._stop()
        events.append(
            sse.named({"type": "message_delta", "delta": self._end(), "usage": {"output_tokens": self.generation.num_new_tokens}})
        )
        return [*events, sse.named({"type": "message_stop"})]

    def error(self, error: ApiError) -> bytes:
        """See Response."""
        return error_event(error)

    def _delta(self, delta: Delta) -> list[bytes]:
        """Return the events of a part of a chat message."""
        events: list[bytes] = []
        if text := delta.get("content"):
            if self.open_block != "text":
                events += self._start("text", {"type": "text", "text": ""})
            events.append(self._block_delta({"type": "text_delta", "text": text}))
        for call in cast(Sequence[Mapping[str, Any]], delta.get("tool_calls", ())):
            if "id" in call:
                events += self._start(call["id"], {"type": "tool_use", "id": call["id"], "name": call["function"]["name"], "input": {}})
            if call["function"]["arguments"]:
                events.append(self._block_delta({"type": "input_json_delta", "partial_json": call["function"]["arguments"]}))
        return events

    def _start(self, name: str, block: Mapping[str, object]) -> list[bytes]:
        events = self._stop() if self.open_block else []
        self.open_block = name
        return [*events, sse.named({"type": "content_block_start", "index": self.index, "content_block": block})]

    def _stop(self) -> list[bytes]:
        self.index += 1
        return [sse.named({"type": "content_block_stop", "index": self.index - 1})]

    def _block_delta(self, delta: Mapping[str, object]) -> bytes:
        return sse.named({"type": "content_block_delta", "index": self.index, "delta": delta})

    def _message(self) -> dict[str, object]:
        start: dict[str, object] = {"id": self.id, "type": "message", "role": "assistant", "model": self.served.name, "content": []}
        return {**start, "stop_reason": None, "stop_sequence": None, "usage": self._usage()}

    def _content(self) -> list[dict[str, object]]:
        message: Mapping[str, Any] = self.builder.message()
        calls = [
            {
                "type": "tool_use",
                "id": call["id"],
                "name": call["function"]["name"],
                "input": arguments_object(call["function"]["arguments"]),
            }
            for call in message.get("tool_calls", ())
        ]
        text = message["content"] or ""
        return [*([{"type": "text", "text": text}] if text or not calls else []), *calls]

    def _end(self) -> dict[str, object]:
        reason = self.builder.finish_reason(self.chunks[-1].finish_reason or "stop")
        found = self.served.found_stop(self.chunks, self.stops) if reason == "stop" else None
        return {"stop_reason": "stop_sequence" if found else STOP_REASONS[reason], "stop_sequence": found}

    def _usage(self) -> dict[str, object]:
        generation = self.generation
        return {
            "input_tokens": generation.num_prompt_tokens - generation.num_cached_tokens,
            "output_tokens": generation.num_new_tokens,
            "cache_read_input_tokens": generation.num_cached_tokens,
            "cache_creation_input_tokens": 0,
        }
