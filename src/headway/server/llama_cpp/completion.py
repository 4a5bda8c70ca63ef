"""POST /completion of llama-server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headway.language_model import Chunk
from headway.server import sse
from headway.server.answer import answer
from headway.server.errors import ApiError, invalid
from headway.server.generation import Generation, Piece
from headway.server.llama_cpp.results import probabilities, result, timings
from headway.server.llama_cpp.wire import Fields, prompts_of, read, translate
from headway.server.replies import Call, EventStream, Reply
from headway.server.served_model import Prepared, ServedModel
from headway.server.wire import MAX_PROMPTS, Sampling


def error_event(error: ApiError) -> bytes:
    """Return the end of a stream that fails."""
    return sse.data(error.body())


async def complete(call: Call) -> Reply | EventStream:
    """Continue one prompt or several."""
    fields, values = read(call.body)
    served = await call.model(fields.model, is_stream=values.get("stream") is True)
    call.service.check_generates(served)
    body, prompts = await call.in_worker(lambda: (translate(fields, values, served, Sampling), prompts_of(fields.prompt, served)))
    num_choices = len(prompts) * (body.n or 1)
    if num_choices > MAX_PROMPTS:
        raise invalid(f"got {len(prompts)} prompts and n={body.n}, expected at most {MAX_PROMPTS} choices in all", "n")

    def prepare() -> list[Prepared]:
        options, key = body.generation_options(), f"{call.cache_key}/{body.cache_salt or ''}"
        if fields.n_probs:
            options["num_log_probs"] = fields.n_probs
        more: dict[str, Any] = {"num_choices": body.n or 1, "cache_key": key, "priority": body.priority or 0}
        return [served.prepare(prompt, options, **more) for prompt in prompts]

    generation = call.generate(served, await call.prepare(body, num_choices, prepare))
    return await answer(call, CompletionResponse(served, fields, generation), is_stream=bool(body.stream))


class CompletionResponse:
    """The objects of one response: one result, or a list of them for several texts."""

    ping = sse.PING

    def __init__(self, served: ServedModel, fields: Fields, generation: Generation) -> None:
        """Describe the response to a request."""
        self.served, self.fields, self.generation = served, fields, generation
        self.chunks: list[list[Chunk]] = [[] for _ in range(generation.num_texts)]

    def whole(self, collected: Sequence[Sequence[Chunk]]) -> object:
        """See Response."""
        results = []
        for index, chunks in enumerate(collected):
            found = result(self.served, self.generation, index, chunks, has_tokens=bool(self.fields.return_tokens))
            if self.fields.n_probs:
                found["completion_probabilities"] = probabilities(self.served, chunks)
            results.append(_chosen(found, self.fields.response_fields))
        return results[0] if len(results) == 1 else results

    def begin(self) -> list[bytes]:
        """See Response."""
        return []

    def piece(self, piece: Piece) -> list[bytes]:
        """See Response."""
        chunk, chunks = piece.chunk, self.chunks[piece.choice]
        chunks.append(chunk)
        number = piece.choice // self.generation.num_choices
        event: dict[str, object] = {
            "index": piece.choice,
            "content": chunk.text,
            "tokens": [chunk.token_id],
            "stop": False,
            "id_slot": -1,
            "tokens_predicted": len(chunks),
            "tokens_evaluated": len(self.generation.requests[number].token_ids),
        }
        if self.fields.n_probs:
            event["completion_probabilities"] = probabilities(self.served, [chunk])
        if self.fields.timings_per_token:
            event["timings"] = timings(self.generation, number, len(chunks))
        events = [sse.data(event)]
        if chunk.finish_reason:
            last = {**result(self.served, self.generation, piece.choice, chunks), "content": ""}
            events.append(sse.data(_chosen(last, self.fields.response_fields)))
        return events

    def end(self) -> list[bytes]:
        """See Response."""
        return []

    def error(self, error: ApiError) -> bytes:
        """See Response."""
        return error_event(error)


def _chosen(found: dict[str, object], names: Sequence[str] | None) -> dict[str, object]:
    """Return the fields of a result that a request wants; "a/b" is the field b of the object a."""
    if not names:
        return found
    chosen: dict[str, object] = {}
    for name in names:
        value: object = found
        for part in name.split("/"):
            value = value.get(part) if isinstance(value, dict) else None
        if value is not None:
            chosen[name] = value
    return chosen
