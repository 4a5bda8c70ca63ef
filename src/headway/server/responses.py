"""POST /v1/responses, without stored responses."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any, cast
from uuid import uuid4

import msgspec

from headway.language_model import Chunk
from headway.server import sse
from headway.server.answer import answer
from headway.server.chat import Chat, prepare
from headway.server.errors import ApiError
from headway.server.generation import Generation, Piece
from headway.server.message import Delta
from headway.server.replies import Call, EventStream, Reply
from headway.server.responses_wire import ResponsesRequest
from headway.server.wire import decode

Item = dict[str, Any]


def error_event(error: ApiError, number: int = 0) -> bytes:
    """Return the end of a stream that fails; `number` is that of the event."""
    return sse.named({"type": "error", "sequence_number": number, "code": error.code, "message": error.message, "param": None})


async def responses(call: Call) -> Reply | EventStream:
    """Answer an input."""
    body = decode(ResponsesRequest, call.body)
    served = await call.model(body.model, is_stream=bool(body.stream))
    call.service.check_generates(served)
    asked = await call.in_worker(body.chat)
    ready = await call.prepare(asked, 1, prepare, served, asked, call.cache_key)
    generation = call.generate(served, [ready.prepared])
    return await answer(call, ResponsesResponse(served.name, body, ready, generation), is_stream=bool(body.stream))


class ResponsesResponse:
    """The objects of one response. Its output is a list of items: a message, and calls of functions."""

    ping = sse.PING

    def __init__(self, model: str, body: ResponsesRequest, ready: Chat, generation: Generation) -> None:
        """Describe the response to a request."""
        self.generation, self.builder, self.numbers = generation, ready.new_message(), count()
        self.reason: str | None = None
        self.output = list[Item]()
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
            "text": {"format": msgspec.to_builtins(body.text.format) if body.text and body.text.format else {"type": "text"}},
            "tool_choice": msgspec.to_builtins(body.tool_choice) or "auto",
            "tools": [msgspec.to_builtins(tool) for tool in body.functions()],
            "top_p": body.top_p,
            "truncation": "disabled",
        }

    def whole(self, collected: Sequence[Sequence[Chunk]]) -> object:
        """See Response."""
        for chunk in collected[0]:
            self.piece(Piece(0, chunk))
        self.end()
        return self._response()

    def begin(self) -> list[bytes]:
        """See Response."""
        in_progress = {"response": self._response(is_running=True)}
        return [self._event("created", in_progress), self._event("in_progress", in_progress)]

    def piece(self, piece: Piece) -> list[bytes]:
        """See Response."""
        self.reason = piece.chunk.finish_reason
        return [event for delta in self.builder.add(piece.chunk.text) for event in self._delta(delta)]

    def end(self) -> list[bytes]:
        """See Response."""
        events = [event for delta in self.builder.flush() for event in self._delta(delta)]
        if not self.output:
            events += self._add(_message_item())
        events += self._finish_item()
        return [*events, self._event("incomplete" if self.reason == "length" else "completed", {"response": self._response()})]

    def error(self, error: ApiError) -> bytes:
        """See Response."""
        return error_event(error, next(self.numbers))

    def _delta(self, delta: Delta) -> list[bytes]:
        """Return the events of a part of a chat message, and add it to the output."""
        events: list[bytes] = []
        if text := delta.get("content"):
            if not self.output or self.output[-1]["type"] != "message":
                events += self._add(_message_item())
            self.output[-1]["content"][0]["text"] += text
            events.append(self._event("output_text.delta", {**self._part_place(), "delta": text, "logprobs": []}))
        for call in cast(Sequence[Mapping[str, Any]], delta.get("tool_calls", ())):
            if "id" in call:
                events += self._add(_call_item(call["id"], call["function"]["name"]))
            if arguments := call["function"]["arguments"]:
                self.output[-1]["arguments"] += arguments
                events.append(self._event("function_call_arguments.delta", {**self._place(), "delta": arguments}))
        return events

    def _add(self, item: Item) -> list[bytes]:
        """Finish the last item, and start another."""
        events = self._finish_item()
        self.output.append(item)
        shown = {**item, "content": []} if item["type"] == "message" else item
        events.append(self._event("output_item.added", {"output_index": len(self.output) - 1, "item": shown}))
        if item["type"] == "message":
            events.append(self._event("content_part.added", {**self._part_place(), "part": item["content"][0]}))
        return events

    def _finish_item(self) -> list[bytes]:
        if not self.output:
            return []
        item = self.output[-1]
        item["status"] = "incomplete" if self.reason == "length" else "completed"
        if item["type"] == "message":
            part = item["content"][0]
            events = [
                self._event("output_text.done", {**self._part_place(), "text": part["text"], "logprobs": []}),
                self._event("content_part.done", {**self._part_place(), "part": part}),
            ]
        else:
            done = {**self._place(), "name": item["name"], "arguments": item["arguments"]}
            events = [self._event("function_call_arguments.done", done)]
        return [*events, self._event("output_item.done", {"output_index": len(self.output) - 1, "item": item})]

    def _place(self) -> dict[str, object]:
        return {"item_id": self.output[-1]["id"], "output_index": len(self.output) - 1}

    def _part_place(self) -> dict[str, object]:
        return {**self._place(), "content_index": 0}

    def _response(self, *, is_running: bool = False) -> dict[str, object]:
        more: dict[str, object] = {"error": None, "incomplete_details": None}
        if is_running:
            return {**self.start, **more, "status": "in_progress", "output": []}
        if self.reason == "length":
            more["incomplete_details"] = {"reason": "max_output_tokens"}
        generation = self.generation
        usage = {
            "input_tokens": generation.num_prompt_tokens,
            "input_tokens_details": {"cached_tokens": generation.num_cached_tokens, "cache_write_tokens": 0},
            "output_tokens": generation.num_new_tokens,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": generation.num_prompt_tokens + generation.num_new_tokens,
        }
        status = "incomplete" if self.reason == "length" else "completed"
        return {**self.start, **more, "status": status, "output": self.output, "usage": usage}

    def _event(self, kind: str, values: Mapping[str, object]) -> bytes:
        return sse.named({"type": f"response.{kind}", "sequence_number": next(self.numbers), **values})


def _message_item() -> Item:
    part = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
    return {"id": f"msg_{uuid4().hex}", "type": "message", "role": "assistant", "status": "in_progress", "content": [part]}


def _call_item(call_id: str, name: str) -> Item:
    return {
        "id": f"fc_{uuid4().hex}",
        "type": "function_call",
        "call_id": call_id,
        "name": name,
        "arguments": "",
        "status": "in_progress",
    }
