"""POST /v1/chat/completions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from headway.errors import OptionError
from headway.language_model import Chunk
from headway.server.answer import OpenAIResponse, answer
from headway.server.errors import invalid
from headway.server.generation import Generation, Piece
from headway.server.log_probs import chat_log_probs
from headway.server.message import MessageBuilder, TextMessage
from headway.server.replies import Call, EventStream, Reply
from headway.server.served_model import Prepared, ServedModel
from headway.server.tools import ToolUse, template_calls, tool_use
from headway.server.wire import ChatRequest, Message, decode


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
    served = await call.model(body.model, is_stream=bool(body.stream))
    call.service.check_generates(served)
    ready = await call.prepare(body, body.n or 1, prepare, served, body, call.cache_key)
    generation = call.generate(served, [ready.prepared])
    return await answer(call, ChatResponse(served, body, ready, generation), is_stream=bool(body.stream))


@dataclass(frozen=True)
class Conversation:
    """A conversation as the model reads it.

    tools   those of the request that the answer may call; None for none
    """

    token_ids: list[int]
    tools: ToolUse | None


def conversation(served: ServedModel, body: ChatRequest) -> Conversation:
    """Return the messages and tools of a request as token ids.

    Errors   ApiError or TokenizerError for a request that is wrong.
    """
    if body.continue_final_message and body.add_generation_prompt:
        raise invalid("got continue_final_message and add_generation_prompt, expected one of them", "continue_final_message")
    variables: dict[str, object] = msgspec.to_builtins(body.chat_template_kwargs or {})
    tools = tool_use(served, body)
    if tools:
        variables["tools"] = tools.definitions
    messages = [template_message(message) for message in body.messages]
    # A continued message follows the prompt for it: the template itself would end it.
    continued = str(messages.pop().get("content", "")) if body.continue_final_message else ""
    adds_prompt = bool(body.continue_final_message) or body.add_generation_prompt is not False
    return Conversation(served.encode_chat(messages, variables, add_generation_prompt=adds_prompt, continued=continued), tools)


def prepare(served: ServedModel, body: ChatRequest, cache_key: str) -> Chat:
    """Return a request ready to run. It runs in a worker thread: templates and grammars take time.

    Errors   ApiError, OptionError or TokenizerError for a request that is wrong.
    """
    options, read = body.generation_options(), conversation(served, body)
    grammar = read.tools.grammar if read.tools else None
    if grammar is not None:
        options["grammar"] = grammar
    try:
        prepared = served.prepare(
            read.token_ids,
            options,
            num_choices=body.n or 1,
            is_chat=True,
            cache_key=f"{cache_key}/{body.cache_salt or ''}",
            priority=body.priority or 0,
        )
    except OptionError as error:
        if grammar is not None and str(error).startswith("got grammar"):
            raise invalid(f"got parameters of a tool that cannot be used: {error}", "tools") from error
        raise
    return Chat(prepared, read.tools.new_message if read.tools else TextMessage)


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


class ChatResponse(OpenAIResponse):
    """The objects of one response."""

    def __init__(self, served: ServedModel, body: ChatRequest, ready: Chat, generation: Generation) -> None:
        """Describe the response to a request."""
        includes_usage = bool(body.stream_options and body.stream_options.include_usage)
        super().__init__(generation, served.name, "chatcmpl", ("chat.completion", "chat.completion.chunk"), includes_usage=includes_usage)
        self.served, self.has_log_probs = served, bool(body.logprobs)
        self.messages = [ready.new_message() for _ in range(generation.num_texts)]

    def whole(self, collected: Sequence[Sequence[Chunk]]) -> object:
        """See Response."""
        return self.choices([self._choice(index, chunks) for index, chunks in enumerate(collected)])

    def begin(self) -> list[bytes]:
        """See Response."""
        first = {"role": "assistant", "content": None}
        return [self.event([{"index": index, "delta": first, "finish_reason": None}]) for index in range(len(self.messages))]

    def piece(self, piece: Piece) -> list[bytes]:
        """See Response. Log-probabilities are with the first of the events."""
        chunk, message = piece.chunk, self.messages[piece.choice]
        deltas = message.add(chunk.text)
        if chunk.finish_reason:
            deltas += message.flush()
        log_probs = chat_log_probs(self.served, [chunk]) if self.has_log_probs else None
        if log_probs and not deltas:
            deltas = [{"content": ""}]
        events = []
        for delta in deltas:
            events.append(self.event([{"index": piece.choice, "delta": delta, "logprobs": log_probs, "finish_reason": None}]))
            log_probs = None
        if chunk.finish_reason:
            reason = message.finish_reason(chunk.finish_reason)
            events.append(self.event([{"index": piece.choice, "delta": {}, "logprobs": None, "finish_reason": reason}]))
        return events

    def _choice(self, index: int, chunks: Sequence[Chunk]) -> dict[str, object]:
        message = self.messages[index]
        for chunk in chunks:
            message.add(chunk.text)
        message.flush()
        return {
            "index": index,
            "message": message.message(),
            "logprobs": chat_log_probs(self.served, chunks) if self.has_log_probs else None,
            "finish_reason": message.finish_reason(chunks[-1].finish_reason or "stop"),
        }
