"""POST /chat/completions of llama-server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from headway.language_model import Chunk
from headway.server.answer import answer
from headway.server.chat import Chat, ChatResponse, conversation, prepare
from headway.server.errors import invalid
from headway.server.generation import Generation, Piece
from headway.server.llama_cpp.results import result, timings
from headway.server.llama_cpp.wire import Fields, read, translate
from headway.server.replies import Call, EventStream, Reply, json_reply
from headway.server.served_model import ServedModel
from headway.server.wire import ChatRequest


async def chat(call: Call) -> Reply | EventStream:
    """Answer a conversation."""
    fields, values = read(call.body)
    served = await call.model(fields.model, is_stream=values.get("stream") is True)
    call.service.check_generates(served)
    body = await call.in_worker(_chat_request, fields, values, served)
    ready = await call.prepare(body, body.n or 1, prepare, served, body, call.cache_key)
    generation = call.generate(served, [ready.prepared])
    return await answer(call, LlamaChatResponse(served, body, ready, generation, fields), is_stream=bool(body.stream))


async def count_tokens(call: Call) -> Reply:
    """Return the length of a conversation."""
    fields, values = read(call.body)
    served = await call.model(fields.model)
    token_ids = await call.in_worker(lambda: conversation(served, _chat_request(fields, values, served)).token_ids)
    return json_reply({"input_tokens": len(token_ids)})


def _chat_request(fields: Fields, values: Mapping[str, Any], served: ServedModel) -> ChatRequest:
    """Return the body in OpenAI's format. A last message of the assistant is continued, as llama-server does."""
    body = translate(fields, values, served, ChatRequest)
    roles = [message.role for message in body.messages[-2:]]
    if roles == ["assistant", "assistant"]:
        raise invalid("got two messages of the assistant at the end, expected at most one, which is continued", "messages")
    if roles[-1] == "assistant" and body.continue_final_message is None and not body.add_generation_prompt:
        body.continue_final_message = True
    return body


class LlamaChatResponse(ChatResponse):
    """OpenAI's objects, with timings and, on request, everything about the text."""

    def __init__(self, served: ServedModel, body: ChatRequest, ready: Chat, generation: Generation, fields: Fields) -> None:
        """Describe the response to a request."""
        super().__init__(served, body, ready, generation)
        self.fields = fields

    def whole(self, collected: Sequence[Sequence[Chunk]]) -> object:
        """See Response."""
        response = cast(dict[str, object], super().whole(collected))
        response["timings"] = self._timings()
        if self.fields.verbose:
            response["__verbose"] = result(self.served, self.generation, 0, collected[0], has_tokens=bool(self.fields.return_tokens))
        return response

    def piece(self, piece: Piece) -> list[bytes]:
        """See Response."""
        self._has_tokens = True
        return super().piece(piece)

    _has_tokens = False

    def event(self, choices: Sequence[object], more: Mapping[str, object] | None = None) -> bytes:
        """See OpenAIResponse. Timings are with the usage; with timings_per_token, and in a stream without usage, with choices, too."""
        has_timings = self._has_tokens and (not choices or self.fields.timings_per_token or not self.includes_usage)
        return super().event(choices, {**(more or {}), **({"timings": self._timings()} if has_timings else {})})

    def _timings(self) -> dict[str, object]:
        return timings(self.generation, 0, self.generation.num_new_tokens)
