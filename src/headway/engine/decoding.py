"""Common part of sampling and beam search: the tokens of a request so far, and penalties and constraints on logits."""

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
    """Result of one pass for one request.

    parents    for each row of the next pass, the row of this pass that it continues; empty if the request has ended
    token_ids  the token that each of those rows appends
    sampled    tokens that are final; the last token of a request carries the finish reason
    """

    parents: list[int]
    token_ids: list[int]
    sampled: list[SampledToken]


class DecodingStrategy(ABC):
    """Turn the logits of one request into tokens. Runs on NumPy, whichever library computed the logits.

    token_ids       (num_rows, seq_len) tokens of each row: the decoder's prompt and the completion
    max_new_tokens  number of tokens after which the request ends
    ops             implementation of the samplers: headway.functions, or the NumPy twins of headway.kernels
    """

    def __init__(self, index: int, request: Request, prompt: Sequence[int], max_new_tokens: int, ops: Operations = functions) -> None:
        """Start with one row, after the decoder's prompt."""
        self.index, self.request, self.max_new_tokens, self.ops = index, request, max_new_tokens, ops
        self.token_ids = numpy.array([prompt], numpy.int64)
        self.num_prompt_tokens = len(prompt)
        self.processors = request.make_processors()

    @abstractmethod
    def advance(self, logits: numpy.ndarray) -> Step:
        """Choose the next tokens from the logits of the rows, (num_rows, vocab_size).

        Errors   NotFiniteError for NaN among the logits; OptionError if the options forbid every token.
        """

    @property
    def num_new_tokens(self) -> int:
        """Number of tokens generated so far."""
        return int(self.token_ids.shape[1]) - self.num_prompt_tokens

    def finish_reason(self, token_id: int) -> FinishReason | None:
        """Return why the request ends if this is its next token; None if it continues."""
        if token_id in self.request.end_token_ids:
            return "stop"
        return "length" if self.num_new_tokens + 1 == self.max_new_tokens else None

    def process_logits(self, logits: numpy.ndarray) -> numpy.ndarray:
        """Apply penalties and constraints to logits or log-probabilities (num_rows, vocab_size).

        The order is that of Hugging Face's generate.
        """
        options = self.request.options
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
        if options.suppress_tokens is not None and len(options.suppress_tokens):
            logits = functions.forbid_tokens(logits, options.suppress_tokens)
        if self.num_new_tokens < (options.min_new_tokens or 0):
            logits = functions.forbid_tokens(logits, self.request.end_token_ids)
        if options.forced_bos_token_id is not None and self.token_ids.shape[1] == 1:
            logits = functions.force_tokens(logits, [options.forced_bos_token_id])
        if options.forced_eos_token_id is not None and self.num_new_tokens + 1 == self.max_new_tokens:
            logits = functions.force_tokens(logits, [options.forced_eos_token_id])
        for process in self.processors:
            logits = process(self.token_ids, logits)
        if numpy.isneginf(logits.max()):
            raise OptionError(
                "got options that forbid every token, expected at least one allowed token",
                hint="check logit_bias, suppress_tokens, no_repeat_ngram_size and min_new_tokens",
            )
        return logits

    def _counts(self, first: int, vocab_size: int) -> numpy.ndarray:
        """Return how often each token occurs in each row from position `first`, (num_rows, vocab_size)."""
        return numpy.stack([numpy.bincount(row, minlength=vocab_size) for row in self.token_ids[:, first:]])


def check_not_nan(logits: numpy.ndarray) -> None:
    """Raise NotFiniteError if a logit is NaN."""
    if numpy.isnan(logits).any():
        raise NotFiniteError(
            "got NaN among the logits, expected numbers",
            hint="load the model with dtype='float32'; if that does not help, the weights are broken: download the model again",
        )
