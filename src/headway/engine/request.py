"""Input and output of the engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

import numpy

from headway.engine.options import GenerationOptions


class LogitsProcessor(Protocol):
    """A change of the logits, given the tokens so far."""

    def __call__(self, token_ids: numpy.ndarray, logits: numpy.ndarray, /) -> numpy.ndarray:
        """Return the logits to choose from.

        Shapes
            token_ids  (num_rows, seq_len) integer, the decoder's prompt and the completion
            logits     (num_rows, vocab_size)
            return     (num_rows, vocab_size)
        """


FinishReason = Literal["stop", "length"]
"""Reason for the end of a completion: "stop" at an end token or stop string, "length" at max_new_tokens or the end of the context."""


@dataclass(frozen=True)
class Request:
    """A prompt to continue, or to answer with an encoder–decoder.

    token_ids         the prompt
    options           see GenerationOptions; those about text are ignored, because the engine has token ids only
    end_token_ids     tokens that end the completion; they are reported, with the finish reason "stop"
    make_processors   returns logits processors of one completion, which run after those of the options
    """

    token_ids: Sequence[int]
    options: GenerationOptions = field(default_factory=GenerationOptions)
    end_token_ids: Sequence[int] = ()
    make_processors: Callable[[], Sequence[LogitsProcessor]] = tuple


@dataclass(frozen=True)
class SampledToken:
    """One token of one request.

    index          index of the request in the batch
    token_id       the token
    finish_reason  set on the last token of a request
    log_prob       log-probability of the token under the model, before penalties and samplers; None without num_log_probs
    top_log_probs  log-probabilities of the most likely tokens by token id; empty without num_log_probs
    """

    index: int
    token_id: int
    finish_reason: FinishReason | None = None
    log_prob: float | None = None
    top_log_probs: Mapping[int, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Hypothesis:
    """One finished text of a beam search.

    token_ids  tokens after the prompt, including the end token
    score      log-probability / length ** length_penalty
    """

    token_ids: list[int]
    score: float
    finish_reason: FinishReason

    def tokens(self, index: int) -> list[SampledToken]:
        """Return the hypothesis as the tokens of request `index`."""
        *before, last = self.token_ids
        return [*(SampledToken(index, token_id) for token_id in before), SampledToken(index, last, self.finish_reason)]
