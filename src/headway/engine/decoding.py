"""The interface of sampling and beam search: logits of a request's sequences in, tokens out."""

from __future__ import annotations

from math import isnan
from typing import Protocol

import numpy

from headway.engine.request import FinishReason, Request, SampledToken
from headway.engine.sequence import Sequence
from headway.errors import NotFiniteError, OptionError


class DecodingStrategy(Protocol):
    """Turns the logits of a request's sequences into tokens. Runs on NumPy, whichever library computed the logits."""

    sequences: list[Sequence]
    """The sequences that continue, each of which needs logits; empty once the request has ended. Replaced, never changed in place."""

    def advance(self) -> list[SampledToken]:
        """Append a token to each sequence given its logits; replace the sequences that end or branch.

        A sequence with a parent_id other than its id is a copy of a sequence that was there before.

        Errors   NotFiniteError for NaN among the logits; OptionError if the options forbid every token.
        """


def finish_reason(request: Request, token_id: int, num_new_tokens: int, max_new_tokens: int) -> FinishReason | None:
    """Return why a completion ends if token_id is its token number num_new_tokens; None if it continues."""
    if token_id in request.end_token_ids:
        return "stop"
    return "length" if num_new_tokens >= max_new_tokens else None


def fork(sequence: Sequence) -> Sequence:
    """Return a copy of a sequence that continues the same cache; the pool has to be notified."""
    return Sequence(
        list(sequence.token_ids),
        sequence.num_prompt,
        sequence.num_computed,
        list(sequence.pages),
        sequence.num_shared,
        parent_id=sequence.parent_id,
    )


def most_likely(logits: numpy.ndarray) -> int:
    """Return the index of the largest logit, of any shape.

    Errors   NotFiniteError if a logit is NaN.
    """
    index = int(logits.argmax())
    if isnan(logits.item(index)):  # argmax finds NaN first
        raise NotFiniteError(
            "got NaN among the logits, expected numbers",
            hint="load the model with dtype='float32'; if that does not help, the weights are broken: download the model again",
        )
    return index


def check_not_all_forbidden(logits: numpy.ndarray) -> None:
    """Raise OptionError if no token is possible."""
    if numpy.isneginf(logits.max()):
        raise OptionError(
            "got options that forbid every token, expected at least one allowed token",
            hint="check logit_bias, suppress_tokens, no_repeat_ngram_size and min_new_tokens",
        )
