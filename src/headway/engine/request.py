"""What is asked of the engine, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from headway.errors import OptionError

FinishReason = Literal["stop", "length"]
"""Why a completion ended: at an end token or stop string, or at max_new_tokens or the end of the context."""


@dataclass(frozen=True)
class SamplingOptions:
    """How a token is chosen from the logits. Off is None.

    temperature         0 takes the most likely token; above 0 samples, flatter above 1
    top_k               keep the k most likely tokens
    top_p               keep the fewest most likely tokens that reach this probability together
    min_p               keep tokens at least this share as likely as the most likely one
    typical_p           keep the tokens nearest to the expected surprise, up to this probability
    repetition_penalty  divide the logits of tokens that occurred, in prompt or completion
    presence_penalty    subtract once from tokens that occurred in the completion
    frequency_penalty   subtract per occurrence in the completion
    logit_bias          add to the logits of these token ids
    seed                the same seed gives the same tokens; None draws a new one each time
    num_log_probs       report log-probabilities: of the chosen token, and of this many most likely ones besides
    """

    temperature: float = 0.0
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None
    typical_p: float | None = None
    repetition_penalty: float | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    logit_bias: Mapping[int, float] | None = None
    seed: int | None = None
    num_log_probs: int | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.temperature < float("inf"):
            raise OptionError(f"came: temperature={self.temperature}; expected: 0 (always the most likely token) or above")
        for name in ("top_p", "min_p", "typical_p"):
            share = getattr(self, name)
            if share is not None and not 0 < share <= 1:
                raise OptionError(f"came: {name}={share}; expected: above 0, at most 1; leave it out to keep every token")
        if self.top_k is not None and self.top_k < 1:
            raise OptionError(f"came: top_k={self.top_k}; expected: at least 1; leave it out to keep every token")
        if self.repetition_penalty is not None and not 0 < self.repetition_penalty < float("inf"):
            raise OptionError(f"came: repetition_penalty={self.repetition_penalty}; expected: above 0; 1 changes nothing")
        if self.seed is not None and self.seed < 0:
            raise OptionError(f"came: seed={self.seed}; expected: 0 or above; leave it out for a new one each time")
        if self.num_log_probs is not None and self.num_log_probs < 0:
            raise OptionError(
                f"came: num_log_probs={self.num_log_probs}; expected: 0 (the chosen token's alone) or above; leave it out for none"
            )


@dataclass(frozen=True)
class Request:
    """A prompt to continue.

    token_ids       the prompt
    max_new_tokens  how many tokens to add at most; None for as many as the context holds
    end_token_ids   tokens that end the completion; they are reported, with the reason "stop"
    """

    token_ids: Sequence[int]
    max_new_tokens: int | None = None
    end_token_ids: Sequence[int] = ()
    sampling: SamplingOptions = field(default_factory=SamplingOptions)

    def __post_init__(self) -> None:
        if self.max_new_tokens is not None and self.max_new_tokens < 1:
            raise OptionError(
                f"came: max_new_tokens={self.max_new_tokens}; expected: at least 1; leave it out for as many as the context holds"
            )


@dataclass(frozen=True)
class SampledToken:
    """One token of one request.

    index          the request's place among those started together
    token_id       the token
    finish_reason  set on the last token of a request
    log_prob       the token's log-probability under the model, before the samplers; None unless asked for
    top_log_probs  the most likely tokens' log-probabilities by token id; empty unless asked for
    """

    index: int
    token_id: int
    finish_reason: FinishReason | None = None
    log_prob: float | None = None
    top_log_probs: Mapping[int, float] = field(default_factory=dict)
