"""Tokens to text as they come: whole characters only, and cut at the first stop string."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from headway.engine import FinishReason, Hypothesis, SampledToken
from headway.tokenizers import Tokenizer


@dataclass(frozen=True)
class Chunk:
    """A step of a stream: one token, and the text that became final with it.

    text           may be empty: half a character waits for its other half, and what may become a stop string waits too
    token_id       the token; None for text that only waited
    finish_reason  set on the last chunk: "stop" or "length"
    log_prob, top_log_probs     as in SampledToken
    score, alternatives         of a beam search, set on the last chunk: as in Completion
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
    """What a model added to a prompt, or an encoder–decoder answered to it.

    text               without the end token and the stop string
    token_ids          the tokens sampled, the end token included
    finish_reason      "stop" at an end token or stop string, "length" at max_new_tokens or the end of the context
    num_prompt_tokens  how long the prompt was
    log_probs, top_log_probs     one per token where num_log_probs was given, else empty
    score              of a beam search: the log-probability of the tokens / their number ** length_penalty; else None
    alternatives       of a beam search: the num_best - 1 other completions, the next best first
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
    """One completion's tokens to text."""

    def __init__(self, tokenizer: Tokenizer, before: Sequence[int], stops: Sequence[str], end_token_ids: Collection[int]) -> None:
        """Start with no text, behind the prompt where it is continued: some tokenizers drop the space of a text's first token."""
        self.decoder = tokenizer.stream_decoder(after=before)
        self.stops, self.end_token_ids = list(stops), set(end_token_ids)
        self.waiting = ""

    def add(self, token: SampledToken) -> Chunk:
        """The chunk of one token."""
        make = partial(Chunk, token_id=token.token_id, log_prob=token.log_prob, top_log_probs=token.top_log_probs)
        if token.token_id not in self.end_token_ids:
            self.waiting += self.decoder.add(token.token_id)
        if token.finish_reason:
            self.waiting += self.decoder.flush()
        cut = min((at for at in map(self.waiting.find, self.stops) if at >= 0), default=None)
        if cut is not None:
            return make(self.waiting[:cut], finish_reason="stop")
        kept = 0 if token.finish_reason else self._possible_stop()
        text, self.waiting = self.waiting[: len(self.waiting) - kept], self.waiting[len(self.waiting) - kept :]
        return make(text, finish_reason=token.finish_reason)

    def _possible_stop(self) -> int:
        """How many characters at the end may be the beginning of a stop string."""
        return max((n for stop in self.stops for n in range(1, len(stop)) if self.waiting.endswith(stop[:n])), default=0)


def collect(chunks: Sequence[Chunk], num_prompt_tokens: int) -> Completion:
    """The whole of a stream that has ended."""
    last = chunks[-1]
    assert last.finish_reason is not None, "the engine ends every request with a reason"
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
    """What a beam search found, as a completion; `text` has not begun yet."""
    chunks: list[Chunk] = []
    for token in hypothesis.tokens(0):
        chunks.append(text.add(token))
        if chunks[-1].finish_reason:
            break
    return replace(collect(chunks, num_prompt_tokens), score=hypothesis.score)
