"""POST /v1/chat/completions."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from uuid import uuid4

import msgspec

import headway
from headway.errors import OptionError
from headway.server import sse
from headway.server.errors import invalid
from headway.server.generation import Generation
from headway.server.log_probs import chat_log_probs
from headway.server.message import MessageBuilder, TextMessage
from headway.server.replies import Call, EventStream, Reply, json_reply
from headway.server.served_model import Prepared, ServedModel
from headway.server.tools import template_calls, tool_use
from headway.server.wire import ChatRequest, Message, decode

FINGERPRINT = f"build-{headway.__version__}"


@dataclass(frozen=True)
class Chat:
    """A chat request, ready to run.

    new_message   returns the builder of one choice's message
    """

    prepared: Prepared
    new_message: Callable[[], MessageBuilder]


async def chat(call: Call) -> Reply | EventStream:
    """Answer a conversation."""
    body = decode(ChatRequest, call.body)
    served = call.service.find(body.model)
    call.service.check_generates(served)
    call.service.admit(body.n or 1)
    ready = await call.service.in_worker(prepare, served, body, call.cache_key)
    generation = call.service.generate(served, [ready.prepared])
    shape = _Shape(served, bool(body.logprobs))
    if body.stream:
        include_usage = bool(body.stream_options and body.stream_options.include_usage)
        messages = [ready.new_message() for _ in range(body.n or 1)]
        return EventStream(_stream(shape, messages, generation, include_usage, call.service.settings.ping_seconds), generation.close)
    try:
        collected = await generation.collect()
    finally:
        generation.close()
    choices = [shape.choice(index, ready.new_message(), chunks) for index, chunks in enumerate(collected)]
    return json_reply({**shape.start, "object": "chat.completion", "choices": choices, "usage": generation.usage})


def prepare(served: ServedModel, body: ChatRequest, cache_key: str) -> Chat:
    """Return a request ready to run. It runs in a worker thread: templates and grammars take time.

    Errors   ApiError, OptionError or TokenizerError for a request that is wrong.
    """
    variables: dict[str, object] = msgspec.to_builtins(body.chat_template_kwargs or {})
    tools = tool_use(served, body)
    options = body.generation_options()
    if tools:
        variables["tools"] = tools.definitions
        if tools.grammar is not None:
            options["grammar"] = tools.grammar
    token_ids = served.encode_chat([template_message(message) for message in body.messages], variables)
    try:
        prepared = served.prepare(
            token_ids,
            options,
            num_choices=body.n or 1,
            is_chat=True,
            cache_key=f"{cache_key}/{body.cache_salt or ''}",
            priority=body.priority or 0,
        )
    except OptionError as error:
        if tools and tools.grammar is not None and str(error).startswith("got grammar"):
            raise invalid(f"got parameters of a tool that cannot be used: {error}", "tools") from error
        raise
    return Chat(prepared, tools.new_message if tools else TextMessage)


def template_message(message: Message) -> dict[str, object]:
    """Return a message as chat templates read it: text content, and the role system for developer."""
    fields: Mapping[str, object] = {
        "role": "system" if message.role == "developer" else message.role,
        "content": message.text,
        "name": message.name,
        "tool_calls": template_calls(message.tool_calls),
        "tool_call_id": message.tool_call_id,
        "reasoning_content": message.reasoning_content,
    }
    return {name: value for name, value in fields.items() if value is not None}


class _Shape:
    """The objects of one response."""

    def __init__(self, served: ServedModel, has_log_probs: bool) -> None:
        self.served, self.has_log_probs = served, has_log_probs
        self.start = {
            "id": f"chatcmpl-{uuid4().hex}",
            "created": int(time.time()),
            "model": served.name,
            "system_fingerprint": FINGERPRINT,
        }

    def choice(self, index: int, message: MessageBuilder, chunks: Sequence[headway.Chunk]) -> dict[str, object]:
        for chunk in chunks:
            message.add(chunk.text)
        message.flush()
        return {
            "index": index,
            "message": message.message(),
            "logprobs": chat_log_probs(self.served, chunks) if self.has_log_probs else None,
            "finish_reason": message.finish_reason(chunks[-1].finish_reason or "stop"),
        }

    def event(self, choices: Sequence[object], **more: object) -> bytes:
        return sse.data({**self.start, "object": "chat.completion.chunk", "choices": choices, **more})

    def deltas(self, index: int, message: MessageBuilder, chunk: headway.Chunk, more: Mapping[str, object]) -> list[bytes]:
        """Return the events of a chunk. Log-probabilities are with the first of them."""
        deltas = message.add(chunk.text)
        if chunk.finish_reason:
            deltas += message.flush()
        log_probs = chat_log_probs(self.served, [chunk]) if self.has_log_probs else None
        if log_probs and not deltas:
            deltas = [{"content": ""}]
        events = []
        for delta in deltas:
            events.append(self.event([{"index": index, "delta": delta, "logprobs": log_probs, "finish_reason": None}], **more))
            log_probs = None
        if chunk.finish_reason:
            reason = message.finish_reason(chunk.finish_reason)
            events.append(self.event([{"index": index, "delta": {}, "logprobs": None, "finish_reason": reason}], **more))
        return events


async def _stream(
    shape: _Shape, messages: Sequence[MessageBuilder], generation: Generation, include_usage: bool, ping_seconds: float
) -> AsyncIterator[bytes]:
    more: Mapping[str, object] = {"usage": None} if include_usage else {}
    first = [{"index": index, "delta": {"role": "assistant", "content": None}, "finish_reason": None} for index in range(len(messages))]
    events = [shape.event([choice], **more) for choice in first]
    async for pieces in generation.passes(ping_seconds):
        for piece in pieces:
            events += shape.deltas(piece.choice, messages[piece.choice], piece.chunk, more)
        if not pieces:
            yield sse.PING
        elif events:
            yield b"".join(events)
            events = []
    if include_usage:
        events.append(shape.event([], usage=generation.usage))
    yield b"".join([*events, sse.DONE])
