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

    temperature           0 takes the most likely token; above 0 samples, flatter above 1
    top_k                 keep the k most likely tokens
    top_p                 keep the fewest most likely tokens that reach this probability together
    min_p                 keep tokens at least this share as likely as the most likely one
    typical_p             keep the tokens nearest to the expected surprise, up to this probability
    repetition_penalty    divide the logits of tokens that occurred, in prompt or completion
    presence_penalty      subtract once from tokens that occurred in the completion
    frequency_penalty     subtract per occurrence in the completion
    logit_bias            add to the logits of these token ids
    no_repeat_ngram_size  never say a run of so many tokens twice, in prompt and completion
    suppress_tokens       never say these token ids
    forced_bos_token_id   the token behind the start token of an encoder–decoder, such as the target language
    forced_eos_token_id   the last token where there is room for no more
    seed                  the same seed gives the same tokens; None draws a new one each time
    num_log_probs         report log-probabilities: of the chosen token, and of this many most likely ones besides

    What occurred is counted in what the decoder sees: the prompt of an encoder–decoder is not part of it.
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
    no_repeat_ngram_size: int | None = None
    suppress_tokens: Sequence[int] | None = None
    forced_bos_token_id: int | None = None
    forced_eos_token_id: int | None = None
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
        _expect(self, "no_repeat_ngram_size", Integral, lambda x: x >= 1, "a whole number of at least 1; None lets runs repeat")
        _expect(self, "suppress_tokens", Sequence, lambda ids: all(map(_is_integer, ids)), "a list of token ids; None suppresses none")
        for name in ("forced_bos_token_id", "forced_eos_token_id"):
            _expect(self, name, Integral, lambda x: x >= 0, "a token id; None forces nothing")
        _expect(self, "seed", Integral, lambda x: x >= 0, "a whole number of at least 0; None draws a new one each time")
        _expect(self, "num_log_probs", Integral, lambda x: x >= 0, "0 (the chosen token's alone) or above; None for none")
        _expect(
            self,
            "logit_bias",
            Mapping,
            lambda bias: all(_is_integer(i) and isinstance(x, Real) and x < inf and x == x for i, x in bias.items()),
            "numbers by token id, below infinity",
        )


@dataclass(frozen=True)
class BeamOptions:
    """How many continuations are kept side by side, and which of them are the best.

    num_beams           how many go on at a time; 1 is no search: the token chosen is kept
    num_best            how many are reported in the end, the best first; at most num_beams
    length_penalty      a continuation's score is its log-probability / length ** length_penalty: above 0 favours long ones
    early_stopping      True ends the search with the num_beams-th finished continuation; False where none that is under way
                        would beat the worst finished one if it ended now; "never" where none could however it went on
    renormalize_logits  whether penalties and prohibitions leave probabilities that sum to 1, or take away from the sum

    Source   Graves 2012, section 3 (beam search); Wu et al. 2016, section 7 (the length in the score); the rules of ending are those
             of Hugging Face's generate
    """

    num_beams: int = 1
    num_best: int = 1
    length_penalty: float = 1.0
    early_stopping: bool | Literal["never"] = False
    renormalize_logits: bool = False

    def __post_init__(self) -> None:
        _expect(self, "num_beams", Integral, lambda x: x >= 1, "a whole number of at least 1; 1 for no search", may_be_none=False)
        _expect(
            self,
            "num_best",
            Integral,
            lambda x: 1 <= x <= self.num_beams,
            f"a whole number from 1 to num_beams={self.num_beams}; a search finds no more than it keeps",
            may_be_none=False,
        )
        _expect(self, "length_penalty", Real, lambda x: -50 <= x <= 50, "a number from -50 to 50; 1 for the mean", may_be_none=False)
        if not isinstance(self.early_stopping, bool) and self.early_stopping != "never":
            raise OptionError(f"came: early_stopping={self.early_stopping!r}; expected: True, False or 'never'")
        if not isinstance(self.renormalize_logits, bool):
            raise OptionError(f"came: renormalize_logits={self.renormalize_logits!r}; expected: True or False")


@dataclass(frozen=True)
class Request:
    """A prompt to continue, or for an encoder–decoder to answer.

    token_ids       the prompt
    max_new_tokens  how many tokens to add at most; None for as many as the context holds
    end_token_ids   tokens that end the completion; they are reported, with the reason "stop"
    min_new_tokens  how many tokens to add at least: before, no end token is chosen; None for none
    """

    token_ids: Sequence[int]
    max_new_tokens: int | None = None
    end_token_ids: Sequence[int] = ()
    sampling: SamplingOptions = field(default_factory=SamplingOptions)
    beams: BeamOptions = field(default_factory=BeamOptions)
    min_new_tokens: int | None = None

    def __post_init__(self) -> None:
        _expect(self, "max_new_tokens", Integral, lambda x: x >= 1, "a whole number of at least 1; None for as many as the context holds")
        _expect(self, "min_new_tokens", Integral, lambda x: x >= 0, "a whole number of at least 0; None for none")
        if self.beams.num_beams > 1 and self.sampling.temperature > 0:
            raise OptionError(
                f"came: num_beams={self.beams.num_beams} with temperature={self.sampling.temperature}; expected: one or the other; "
                "temperature=0 searches, num_beams=1 samples"
            )
        if self.beams.num_beams > 1 and self.sampling.num_log_probs is not None:
            raise OptionError(
                f"came: num_beams={self.beams.num_beams} with num_log_probs={self.sampling.num_log_probs}; expected: one or the other; "
                "a search reports the score of each continuation"
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


@dataclass(frozen=True)
class Hypothesis:
    """One finished continuation of a beam search.

    token_ids  what was added to the prompt, the end token included
    score      log-probability / length ** length_penalty
    """

    token_ids: list[int]
    score: float
    finish_reason: FinishReason

    def tokens(self, index: int) -> list[SampledToken]:
        """The same as the tokens of a request."""
        *before, last = self.token_ids
        return [*(SampledToken(index, token_id) for token_id in before), SampledToken(index, last, self.finish_reason)]


def _is_integer(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _expect(options: Any, name: str, kind: type, is_in_range: Callable[[Any], bool], expected: str, *, may_be_none: bool = True) -> None:
    """Raise OptionError unless an option is None, where it may be, or of its kind and in its range."""
    value = getattr(options, name)
    if value is None and may_be_none:
        return
    if not isinstance(value, kind) or isinstance(value, bool | str) or not is_in_range(value):
        raise OptionError(f"came: {name}={value!r}; expected: {expected}")
