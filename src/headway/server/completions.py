"""POST /v1/completions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headway.language_model import Chunk
from headway.server.answer import OpenAIResponse, answer
from headway.server.errors import invalid, not_built
from headway.server.generation import Generation, Piece
from headway.server.log_probs import completion_log_probs, prompt_log_probs
from headway.server.replies import Call, EventStream, Reply
from headway.server.served_model import Prepared, ServedModel
from headway.server.wire import MAX_PROMPTS, CompletionRequest, decode, prompts_of


async def completions(call: Call) -> Reply | EventStream:
    """Continue one prompt or several."""
    body = decode(CompletionRequest, call.body)
    served = await call.model(body.model, is_stream=bool(body.stream))
    call.service.check_generates(served)
    _check(body, served)
    prompts = prompts_of(body.prompt, "prompt")
    num_choices = len(prompts) * (body.n or 1)
    if num_choices > MAX_PROMPTS:
        raise invalid(f"got {len(prompts)} prompts and n={body.n}, expected at most {MAX_PROMPTS} choices in all", "n")
    prepared = await call.prepare(body, num_choices, prepare, served, body, prompts, call.cache_key)
    generation = call.generate(served, prepared)
    return await answer(call, CompletionResponse(served, body, prompts, generation), is_stream=bool(body.stream))


def prepare(served: ServedModel, body: CompletionRequest, prompts: Sequence[str | list[int]], cache_key: str) -> list[Prepared]:
    """Return one engine request per prompt, in a worker thread."""
    options, key = body.generation_options(), f"{cache_key}/{body.cache_salt or ''}"
    token_ids = [served.encode(prompt) for prompt in prompts]
    return [
        served.prepare(
            each,
            options,
            num_choices=body.n or 1,
            cache_key=key,
            priority=body.priority or 0,
            num_scored=len(each) - 1 if body.echo and body.logprobs is not None else 0,
        )
        for each in token_ids
    ]


def _check(body: CompletionRequest, served: ServedModel) -> None:
    """Raise a 400 for combinations that are not supported."""
    if body.suffix:
        raise not_built("suffix", "no model here fills in the middle; leave it out")
    if body.best_of not in (None, body.n or 1):
        raise not_built("best_of", "use n, which returns all texts")
    if body.echo and body.logprobs is not None:
        if served.remote is not None:
            raise not_built("echo", "engines of a Ray cluster compute no log-probabilities of prompts; leave echo or logprobs out")
        if served.model.kind != "decoder":
            raise not_built("echo", f"{served.name} answers prompts, which have no log-probabilities; leave echo or logprobs out")


class CompletionResponse(OpenAIResponse):
    """The objects of one response."""

    def __init__(self, served: ServedModel, body: CompletionRequest, prompts: Sequence[str | list[int]], generation: Generation) -> None:
        """Describe the response to a request."""
        includes_usage = bool(body.stream_options and body.stream_options.include_usage)
        super().__init__(generation, served.name, "cmpl", ("text_completion", "text_completion"), includes_usage=includes_usage)
        self.served, self.has_log_probs = served, body.logprobs is not None
        # The engine generates at least one token.
        self.is_without_tokens, self.num_choices = body.max_tokens == 0, body.n or 1
        self.scores_prompt = bool(body.echo) and self.has_log_probs
        self.is_begun = [False] * generation.num_texts
        # The text of each choice so far: its prompt with echo.
        self.texts = [""] * generation.num_texts
        if body.echo:
            before = [prompt if isinstance(prompt, str) else served.model.tokenizer.decode(prompt) for prompt in prompts]
            self.texts = [text for text in before for _ in range(body.n or 1)]

    def whole(self, collected: Sequence[Sequence[Chunk]]) -> object:
        """See Response."""
        texts = self.texts
        return self.choices([self._choice(index, texts[index], self._kept(chunks), texts[index]) for index, chunks in enumerate(collected)])

    def begin(self) -> list[bytes]:
        """See Response. A prompt with log-probabilities is sent when they are there."""
        if self.scores_prompt:
            return []
        return [self.event([self._choice(index, text, [], "")]) for index, text in enumerate(self.texts) if text]

    def piece(self, piece: Piece) -> list[bytes]:
        """See Response."""
        (chunk,), index = self._kept([piece.chunk]), piece.choice
        if self.scores_prompt and not self.is_begun[index]:
            self.is_begun[index] = True
            choice = self._choice(index, self.texts[index], [chunk], self.texts[index])
            self.texts[index] += chunk.text
            return [self.event([choice])]
        if not (chunk.text or chunk.finish_reason or self.has_log_probs):
            return []
        choice = self._choice(index, "", [chunk], self.texts[index])
        self.texts[index] += chunk.text
        return [self.event([choice])]

    @property
    def usage(self) -> Mapping[str, object]:
        """See OpenAIResponse."""
        usage = self.generation.usage
        if not self.is_without_tokens:
            return usage
        return {**usage, "completion_tokens": 0, "total_tokens": self.generation.num_prompt_tokens}

    def _kept(self, chunks: Sequence[Chunk]) -> Sequence[Chunk]:
        """Return the chunks to send: without the token that nobody asked for, if max_tokens is 0."""
        return [Chunk("", finish_reason="length")] if self.is_without_tokens else chunks

    def _log_probs(self, index: int, text: str, chunks: Sequence[Chunk], before: str) -> dict[str, list[object]]:
        """Return the log-probabilities of the chunks, and of the prompt before them if `text` is the prompt."""
        new = completion_log_probs(self.served, chunks, len(before))
        if not (self.scores_prompt and text):
            return new
        number = index // self.num_choices
        of_prompt = prompt_log_probs(self.served, self.generation.requests[number].token_ids, self.generation.scored[number])
        return {name: [*of_prompt[name], *new[name]] for name in new}

    def _choice(self, index: int, text: str, chunks: Sequence[Chunk], before: str) -> dict[str, object]:
        """Return a choice: `text`, and the text of the chunks.

        before   text of the choice before the chunks
        """
        return {
            "index": index,
            "text": text + "".join(chunk.text for chunk in chunks),
            "logprobs": self._log_probs(index, text, chunks, before) if self.has_log_probs else None,
            "finish_reason": chunks[-1].finish_reason if chunks else None,
        }
