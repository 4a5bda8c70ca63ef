"""What is asked of the engine, and what it answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, isfinite
from numbers import Integral, Real
from typing import Any, Literal

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
        _expect(
            self,
            "temperature",
            Real,
            lambda x: 0 <= x < inf and (x == 0 or x >= 1e-6),
            "0 (always the most likely token), or 1e-6 or above",
        )
        for name in ("top_p", "min_p", "typical_p"):
            _expect(self, name, Real, lambda x: 0 < x <= 1, "above 0, at most 1; None keeps every token")
        _expect(self, "top_k", Integral, lambda x: x >= 1, "a whole number of at least 1; None keeps every token")
        _expect(self, "repetition_penalty", Real, lambda x: 0 < x < inf, "above 0; 1 changes nothing")
        for name in ("presence_penalty", "frequency_penalty"):
            _expect(self, name, Real, isfinite, "a finite number; 0 changes nothing")
        _expect(self, "seed", Integral, lambda x: x >= 0, "a whole number of at least 0; None draws a new one each time")
        _expect(self, "num_log_probs", Integral, lambda x: x >= 0, "0 (the chosen token's alone) or above; None for none")
        _expect(
            self,
            "logit_bias",
            Mapping,
            lambda bias: all(isinstance(i, Integral) and isinstance(x, Real) and x < inf and x == x for i, x in bias.items()),
            "numbers by token id, below infinity",
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
        _expect(self, "max_new_tokens", Integral, lambda x: x >= 1, "a whole number of at least 1; None for as many as the context holds")


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


def _expect(options: Any, name: str, kind: type, is_in_range: Callable[[Any], bool], expected: str) -> None:
    """Raise OptionError unless an option is None, or of its kind and in its range."""
    value = getattr(options, name)
    if value is not None and not (isinstance(value, kind) and not isinstance(value, bool) and is_in_range(value)):
        raise OptionError(f"came: {name}={value!r}; expected: {expected}")
