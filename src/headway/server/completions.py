"""POST /v1/completions."""

from __future__ import annotations

from collections.abc import Sequence

from headway.language_model import Chunk
from headway.server.answer import OpenAIResponse, answer
from headway.server.errors import invalid, not_built
from headway.server.generation import Generation, Piece
from headway.server.log_probs import completion_log_probs
from headway.server.replies import Call, EventStream, Reply
from headway.server.served_model import Prepared, ServedModel
from headway.server.wire import MAX_PROMPTS, CompletionRequest, decode, prompts_of


async def completions(call: Call) -> Reply | EventStream:
    """Continue one prompt or several."""
    body = decode(CompletionRequest, call.body)
    served = await call.model(body.model)
    call.service.check_generates(served)
    _check(body)
    prompts = prompts_of(body.prompt, "prompt")
    num_choices = len(prompts) * (body.n or 1)
    if num_choices > MAX_PROMPTS:
        raise invalid(f"got {len(prompts)} prompts and n={body.n}, expected at most {MAX_PROMPTS} choices in all", "n")
    call.service.admit(num_choices)
    prepared = await call.prepare(body, prepare, served, body, prompts, call.cache_key)
    generation = call.generate(served, prepared)
    return await answer(call, CompletionResponse(served, body, prompts, generation), is_stream=bool(body.stream))


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


class CompletionResponse(OpenAIResponse):
    """The objects of one response."""

    def __init__(self, served: ServedModel, body: CompletionRequest, prompts: Sequence[str | list[int]], generation: Generation) -> None:
        """Describe the response to a request."""
        includes_usage = bool(body.stream_options and body.stream_options.include_usage)
        super().__init__(generation, served.name, "cmpl", ("text_completion", "text_completion"), includes_usage=includes_usage)
        self.served, self.has_log_probs = served, body.logprobs is not None
        # The text of each choice so far: its prompt with echo.
        self.texts = [""] * generation.num_texts
        if body.echo:
            before = [prompt if isinstance(prompt, str) else served.model.tokenizer.decode(prompt) for prompt in prompts]
            self.texts = [text for text in before for _ in range(body.n or 1)]

    def whole(self, collected: Sequence[Sequence[Chunk]]) -> object:
        """See Response."""
        texts = self.texts
        return self.choices([self._choice(index, texts[index], chunks, texts[index]) for index, chunks in enumerate(collected)])

    def begin(self) -> list[bytes]:
        """See Response."""
        return [self.event([self._choice(index, text, [], "")]) for index, text in enumerate(self.texts) if text]

    def piece(self, piece: Piece) -> list[bytes]:
        """See Response."""
        chunk, index = piece.chunk, piece.choice
        if not (chunk.text or chunk.finish_reason or self.has_log_probs):
            return []
        choice = self._choice(index, "", [chunk], self.texts[index])
        self.texts[index] += chunk.text
        return [self.event([choice])]

    def _choice(self, index: int, text: str, chunks: Sequence[Chunk], before: str) -> dict[str, object]:
        """Return a choice: `text`, and the text of the chunks.

        before   text of the choice before the chunks
        """
        return {
            "index": index,
            "text": text + "".join(chunk.text for chunk in chunks),
            "logprobs": completion_log_probs(self.served, chunks, len(before)) if self.has_log_probs else None,
            "finish_reason": chunks[-1].finish_reason if chunks else None,
        }
