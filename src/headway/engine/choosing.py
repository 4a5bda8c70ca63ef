"""What a sampler and a beam search have in common: what was said so far, and what is done to logits before a choice."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy

from headway import functions
from headway.arrays import Operations
from headway.engine.request import FinishReason, Request, SampledToken
from headway.errors import NotFiniteError, OptionError


@dataclass(frozen=True)
class Step:
    """What a request makes of one pass.

    parents    which of its rows each row of the next pass goes on from; none where the request has ended
    token_ids  the token that each of those rows goes on with
    sampled    what became final; the last token of a request carries the reason
    """

    parents: list[int]
    token_ids: list[int]
    sampled: list[SampledToken]


class Chooser(ABC):
    """One request's way from logits to tokens, on NumPy whatever library computed the logits.

    token_ids  (num_rows, seq_len) what its rows have seen: the decoder's prompt, and what was added
    room       how many tokens may be added in all
    ops        the functions that keep some tokens, in the fastest form there is
    """

    def __init__(self, index: int, request: Request, prompt: Sequence[int], room: int, ops: Operations = functions) -> None:
        """Start behind the decoder's prompt, in one row."""
        self.index, self.request, self.room, self.ops = index, request, room, ops
        self.token_ids = numpy.array([prompt], numpy.int64)
        self.num_prompt_tokens = len(prompt)

    @abstractmethod
    def advance(self, logits: numpy.ndarray) -> Step:
        """Choose what the rows go on with, by their logits (num_rows, vocab_size).

        Errors   NotFiniteError where a logit is NaN; OptionError where the options forbid every token.
        """

    @property
    def num_new_tokens(self) -> int:
        """How many tokens were added so far."""
        return self.token_ids.shape[1] - self.num_prompt_tokens

    def reason(self, token_id: int) -> FinishReason | None:
        """Why the request would end with this token as its next one; None where it goes on."""
        if token_id in self.request.end_token_ids:
            return "stop"
        return "length" if self.num_new_tokens + 1 == self.room else None

    def adjusted(self, logits: numpy.ndarray) -> numpy.ndarray:
        """Logits or log-probabilities (num_rows, vocab_size) after the penalties and prohibitions that the request asks for."""
        options = self.request.sampling
        if options.logit_bias:
            logits = functions.add_logit_bias(logits, dict(options.logit_bias))
        if options.repetition_penalty is not None:
            logits = functions.penalize_repetition(logits, self._counts(0, logits.shape[-1]), options.repetition_penalty)
        if options.presence_penalty is not None or options.frequency_penalty is not None:
            logits = functions.penalize_occurrence(
                logits,
                self._counts(self.num_prompt_tokens, logits.shape[-1]),
                presence_penalty=options.presence_penalty or 0.0,
                frequency_penalty=options.frequency_penalty or 0.0,
            )
        if options.no_repeat_ngram_size is not None:
            logits = functions.forbid_repeated_ngrams(logits, self.token_ids, options.no_repeat_ngram_size)
        if options.suppress_tokens:
            logits = functions.forbid_tokens(logits, options.suppress_tokens)
        if self.num_new_tokens < (self.request.min_new_tokens or 0):
            logits = functions.forbid_tokens(logits, self.request.end_token_ids)
        if options.forced_bos_token_id is not None and self.token_ids.shape[1] == 1:
            logits = functions.force_tokens(logits, [options.forced_bos_token_id])
        if options.forced_eos_token_id is not None and self.num_new_tokens + 1 == self.room:
            logits = functions.force_tokens(logits, [options.forced_eos_token_id])
        if numpy.isneginf(logits.max()):
            raise OptionError(
                "came: options that forbid every token; expected: one that is left; loosen logit_bias, no_repeat_ngram_size …"
            )
        return logits

    def _counts(self, first: int, vocab_size: int) -> numpy.ndarray:
        """How often each token occurs in each row, from a position on."""
        return numpy.stack([numpy.bincount(row, minlength=vocab_size) for row in self.token_ids[:, first:]])


def check_numbers(logits: numpy.ndarray) -> None:
    """Raise NotFiniteError where a logit is NaN."""
    if numpy.isnan(logits).any():
        raise NotFiniteError(
            "came: logits with NaN; expected: numbers; the weights are broken, or too large for half precision: use dtype='float32'"
        )
