"""Streams of tokens as text: whole characters only, cut at the first stop string."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from headway.engine import FinishReason, Hypothesis, SampledToken
from headway.language_model.stop_strings import StopMatcher
from headway.tokenizers import Tokenizer


@dataclass(frozen=True)
class Chunk:
    """One step of a stream: a token, and the text that became final with it.

    text           may be empty: incomplete characters, and text that may be the start of a stop string, are kept back
    token_id       the token
    finish_reason  set on the last chunk: "stop" or "length"
    log_prob, top_log_probs     see SampledToken
    score, alternatives         of a beam search, set on the last chunk: see Completion
    """

    text: str
    token_id: int | None = None
    finish_reason: FinishReason | None = None
    log_prob: float | None = None
    top_log_probs: Mapping[int, float] = field(default_factory=dict)
    score: float | None = None
    alternatives: Sequence[Completion] = ()


@dataclass(frozen=True)
class Completion:
    """Generated text: the continuation of a prompt, or the answer of an encoder–decoder.

    text               without the end token and the stop string
    token_ids          the generated tokens, including the end token
    finish_reason      "stop" at an end token or stop string, "length" at max_new_tokens or the end of the context
    num_prompt_tokens  length of the prompt
    log_probs, top_log_probs     one per token with num_log_probs, else empty
    score              of a beam search: log-probability / length ** length_penalty; else None
    alternatives       of a beam search: the num_best - 1 next best completions, best first
    """

    text: str
    token_ids: list[int]
    finish_reason: FinishReason
    num_prompt_tokens: int
    log_probs: list[float] = field(default_factory=list)
    top_log_probs: list[Mapping[int, float]] = field(default_factory=list)
    score: float | None = None
    alternatives: list[Completion] = field(default_factory=list)

    def __str__(self) -> str:
        return self.text


class TextStream:
    """Decoder of one completion's tokens."""

    def __init__(self, tokenizer: Tokenizer, before: Sequence[int], stops: StopMatcher, end_token_ids: Collection[int]) -> None:
        """Start with empty text.

        before   tokens that the text continues; some tokenizers drop the space before the first token of a text
        stops    matcher of the stop strings; a copy is used
        """
        self.decoder = tokenizer.stream_decoder(after=before)
        self.stops, self.end_token_ids = stops.copy(), set(end_token_ids)

    def add(self, token: SampledToken) -> Chunk:
        """Return the chunk of a token."""
        new = "" if token.token_id in self.end_token_ids else self.decoder.add(token.token_id)
        if token.finish_reason:
            new += self.decoder.flush()
        text, is_stopped = self.stops.add(new)
        if token.finish_reason and not is_stopped:
            text += self.stops.flush()
        reason: FinishReason | None = "stop" if is_stopped else token.finish_reason
        return Chunk(text, token.token_id, reason, token.log_prob, token.top_log_probs)


def collect(chunks: Sequence[Chunk], num_prompt_tokens: int) -> Completion:
    """Return a finished stream as one completion."""
    last = chunks[-1]
    assert last.finish_reason is not None, "the engine gives every request a finish reason"
    return Completion(
        text="".join(chunk.text for chunk in chunks),
        token_ids=[chunk.token_id for chunk in chunks if chunk.token_id is not None],
        finish_reason=last.finish_reason,
        num_prompt_tokens=num_prompt_tokens,
        log_probs=[chunk.log_prob for chunk in chunks if chunk.log_prob is not None],
        top_log_probs=[chunk.top_log_probs for chunk in chunks if chunk.top_log_probs],
        score=last.score,
        alternatives=list(last.alternatives),
    )


def completion_of(hypothesis: Hypothesis, text: TextStream, num_prompt_tokens: int) -> Completion:
    """Return a hypothesis of a beam search as a completion; `text` is a stream without tokens."""
    chunks: list[Chunk] = []
    for token in hypothesis.tokens(0):
        chunks.append(text.add(token))
        if chunks[-1].finish_reason:
            break
    return replace(collect(chunks, num_prompt_tokens), score=hypothesis.score)
