"""Input and output of the engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias, runtime_checkable

import numpy

from headway.engine.options import GenerationOptions
from headway.errors import HeadwayError


class LogitsProcessor(Protocol):
    """A change of the logits, given the tokens so far."""

    def __call__(self, token_ids: numpy.ndarray, logits: numpy.ndarray, /) -> numpy.ndarray:
        """Return the logits to choose from.

        Shapes
            token_ids  (num_rows, seq_len) integer, the decoder's prompt and the completion
            logits     (num_rows, vocab_size)
            return     (num_rows, vocab_size)
        """


@runtime_checkable
class ForcingProcessor(LogitsProcessor, Protocol):
    """A logits processor that often allows one continuation only, as a grammar does."""

    def forced_tokens(self, token_ids: list[int], /) -> list[int]:
        """Return the next tokens after all tokens so far, as far as they are likely to be the only ones allowed; [] for none."""


FinishReason = Literal["stop", "length"]
"""Reason for the end of a completion: "stop" at an end token or stop string, "length" at max_new_tokens or the end of the context."""


@dataclass(frozen=True)
class Resumption:
    """Tokens that another engine generated for a request, which continues after them with the tokens it would have had there.

    choice      number of the completion that continues; it decides the random numbers
    token_ids   tokens of the completion so far
    """

    choice: int
    token_ids: Sequence[int]


@dataclass(frozen=True)
class Request:
    """A prompt to continue, or to answer with an encoder–decoder.

    token_ids         the prompt
    options           see GenerationOptions; those about text are ignored, because the engine has token ids only
    end_token_ids     tokens that end the completion; they are reported, with the finish reason "stop"
    num_choices       number of completions, sampled independently; choice 0 is that of num_choices=1 with the same seed
    priority          requests with a smaller number go first; equal ones in the order of their arrival
    cache_key         requests share the cached keys and values of a common prefix only if they have the same key and adapter
    timeout_seconds   time from arrival after which the request fails; None for no limit
    make_processors   returns logits processors for one choice, which run after those of the options
    num_scored        number of tokens at the end of the prompt that are reported like new ones, with their log-probabilities: at most all
                      but the first; without beam search and resumption
    resumption        a begun completion to continue, without beam search and with num_choices=1; None starts at the prompt
    adapter           name of an adapter of the runner, which changes the model for this request; None for the model itself
    """

    token_ids: Sequence[int]
    options: GenerationOptions = field(default_factory=GenerationOptions)
    end_token_ids: Sequence[int] = ()
    num_choices: int = 1
    priority: int = 0
    cache_key: str = ""
    timeout_seconds: float | None = None
    make_processors: Callable[[], Sequence[LogitsProcessor]] = tuple
    num_scored: int = 0
    resumption: Resumption | None = None
    adapter: str | None = None


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


@dataclass(frozen=True, slots=True)
class SampledToken:
    """One token of one request.

    index          number of the request
    token_id       the token
    finish_reason  set on the last token of a choice
    log_prob       log-probability of the token under the model, before penalties and samplers; None without num_log_probs
    top_log_probs  log-probabilities of the most likely tokens by token id; empty without num_log_probs
    choice         number of the completion, from 0 to num_choices - 1
    num_cached     on the first token of a request, the number of prompt tokens that were found in the prefix cache
    hypotheses     of a beam search, the num_best hypotheses, best first; the tokens are those of the first
    """

    index: int
    token_id: int
    finish_reason: FinishReason | None = None
    log_prob: float | None = None
    top_log_probs: Mapping[int, float] = field(default_factory=dict)
    choice: int = 0
    num_cached: int = 0
    hypotheses: tuple[Hypothesis, ...] = ()


@dataclass(frozen=True, slots=True)
class RequestFailed:
    """End of a request by an error.

    index  number of the request
    error  the reason
    """

    index: int
    error: HeadwayError


Event: TypeAlias = SampledToken | RequestFailed
Sink: TypeAlias = Callable[[list[Event]], None]
"""Receives the events of one request after each pass that has some."""
