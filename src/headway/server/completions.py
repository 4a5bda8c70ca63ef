"""POST /v1/completions."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping, Sequence
from uuid import uuid4

from headway.language_model import Chunk
from headway.server import sse
from headway.server.chat import FINGERPRINT
from headway.server.errors import invalid, not_built
from headway.server.generation import Generation
from headway.server.log_probs import completion_log_probs
from headway.server.replies import Call, EventStream, Reply, json_reply
from headway.server.served_model import Prepared, ServedModel
from headway.server.wire import MAX_PROMPTS, CompletionRequest, decode, prompts_of


async def completions(call: Call) -> Reply | EventStream:
    """Continue one prompt or several."""
    body = decode(CompletionRequest, call.body)
    served = call.service.find(body.model)
    call.service.check_generates(served)
    _check(body)
    prompts = prompts_of(body.prompt, "prompt")
    num_choices = len(prompts) * (body.n or 1)
    if num_choices > MAX_PROMPTS:
        raise invalid(f"got {len(prompts)} prompts and n={body.n}, expected at most {MAX_PROMPTS} choices in all", "n")
    call.service.admit(num_choices)
    prepared = await call.service.in_worker(prepare, served, body, prompts, call.cache_key)
    generation = call.service.generate(served, prepared)
    shape = _Shape(served, body, prompts)
    if body.stream:
        include_usage = bool(body.stream_options and body.stream_options.include_usage)
        return EventStream(_stream(shape, generation, include_usage, call.service.settings.ping_seconds), generation.close)
    try:
        collected = await generation.collect()
    finally:
        generation.close()
    choices = [shape.choice(index, shape.before(index), chunks, shape.before(index)) for index, chunks in enumerate(collected)]
    return json_reply({**shape.start, "choices": choices, "usage": generation.usage})


def prepare(served: ServedModel, body: CompletionRequest, prompts: Sequence[str | list[int]], cache_key: str) -> list[Prepared]:
    """Return one engine request per prompt, in a worker thread."""
    options, key = body.generation_options(), f"{cache_key}/{body.cache_salt or ''}"
    return [
        served.prepare(served.encode(prompt), options, num_choices=body.n or 1, cache_key=key, priority=body.priority or 0)
        for prompt in prompts
    ]


def _check(body: CompletionRequest) -> None:
    """Raise a 400 for combinations that are not supported."""
    if body.suffix:
        raise not_built("suffix", "no model here fills in the middle; leave it out")
    if body.best_of not in (None, body.n or 1):
        raise not_built("best_of", "use n, which returns all texts")
    if body.echo and body.logprobs is not None:
        raise not_built("echo", "log-probabilities of the prompt are not computed; leave echo or logprobs out")


class _Shape:
    """The objects of one response."""

    def __init__(self, served: ServedModel, body: CompletionRequest, prompts: Sequence[str | list[int]]) -> None:
        self.served, self.body, self.prompts = served, body, prompts
        self.has_log_probs = body.logprobs is not None
        self.start = {
            "id": f"cmpl-{uuid4().hex}",
            "object": "text_completion",
            "created": int(time.time()),
            "model": served.name,
            "system_fingerprint": FINGERPRINT,
        }

    def before(self, index: int) -> str:
        """Return the text that precedes a choice: its prompt with echo."""
        if not self.body.echo:
            return ""
        prompt = self.prompts[index // (self.body.n or 1)]
        return prompt if isinstance(prompt, str) else self.served.model.tokenizer.decode(prompt)

    def choice(self, index: int, text: str, chunks: Sequence[Chunk], before: str) -> dict[str, object]:
        """Return a choice: `text`, and the text of the chunks.

        before   text of the choice before the chunks
        """
        return {
            "index": index,
            "text": text + "".join(chunk.text for chunk in chunks),
            "logprobs": completion_log_probs(self.served, chunks, len(before)) if self.has_log_probs else None,
            "finish_reason": chunks[-1].finish_reason if chunks else None,
        }

    def event(self, choices: Sequence[Mapping[str, object]], **more: object) -> bytes:
        return sse.data({**self.start, "choices": choices, **more})


async def _stream(shape: _Shape, generation: Generation, include_usage: bool, ping_seconds: float) -> AsyncIterator[bytes]:
    more: Mapping[str, object] = {"usage": None} if include_usage else {}
    texts = [shape.before(index) for index in range(generation.num_texts)]
    events = [shape.event([shape.choice(index, text, [], "")], **more) for index, text in enumerate(texts) if text]
    async for pieces in generation.passes(ping_seconds):
        for piece in pieces:
            if piece.chunk.text or piece.chunk.finish_reason or shape.has_log_probs:
                choice = shape.choice(piece.choice, "", [piece.chunk], texts[piece.choice])
                events.append(shape.event([choice], **more))
                texts[piece.choice] += piece.chunk.text
        if not pieces:
            yield sse.PING
        elif events:
            yield b"".join(events)
            events = []
    if include_usage:
        events.append(shape.event([], usage=generation.usage))
    yield b"".join([*events, sse.DONE])
