"""Logits processors: penalties and constraints, applied to the logits before a token is chosen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy

from headway import functions
from headway.engine.request import LogitsProcessor, Request


def logits_processors(request: Request, num_prompt: int, max_new_tokens: int) -> list[LogitsProcessor]:
    """Return the processors of a request, in the order of Hugging Face's generate; [] if its options need none.

    num_prompt      length of the decoder's prompt
    max_new_tokens  number of tokens after which the request ends
    """
    options, ends = request.options, request.end_token_ids
    processors: list[LogitsProcessor] = []
    if options.logit_bias:
        biases = dict(options.logit_bias)
        processors.append(lambda token_ids, logits: functions.add_logit_bias(logits, biases))
    if (repetition := options.repetition_penalty) is not None:
        processors.append(lambda token_ids, logits: functions.penalize_repetition(logits, _counts(token_ids, logits.shape[-1]), repetition))
    if options.presence_penalty is not None or options.frequency_penalty is not None:
        presence, frequency = options.presence_penalty or 0.0, options.frequency_penalty or 0.0
        processors.append(
            lambda token_ids, logits: functions.penalize_occurrence(
                logits, _counts(token_ids[:, num_prompt:], logits.shape[-1]), presence_penalty=presence, frequency_penalty=frequency
            )
        )
    if (size := options.no_repeat_ngram_size) is not None:
        processors.append(lambda token_ids, logits: functions.forbid_repeated_ngrams(logits, token_ids, size))
    if (suppressed := options.suppress_tokens) is not None and len(suppressed):
        processors.append(lambda token_ids, logits: functions.forbid_tokens(logits, suppressed))
    if options.min_new_tokens:
        processors.append(_at(range(num_prompt, num_prompt + options.min_new_tokens), lambda logits: functions.forbid_tokens(logits, ends)))
    if (bos := options.forced_bos_token_id) is not None:
        processors.append(_at(range(1, 2), lambda logits: functions.force_tokens(logits, [bos])))
    if (eos := options.forced_eos_token_id) is not None:
        last = num_prompt + max_new_tokens - 1
        processors.append(_at(range(last, last + 1), lambda logits: functions.force_tokens(logits, [eos])))
    return [*processors, *request.make_processors()]


class _OfLogits(Protocol):
    def __call__(self, logits: numpy.ndarray, /) -> numpy.ndarray: ...


def _at(lengths: Sequence[int], process: _OfLogits) -> LogitsProcessor:
    """Return a processor that applies only if the number of tokens is among these."""
    return lambda token_ids, logits: process(logits) if token_ids.shape[1] in lengths else logits


def _counts(token_ids: numpy.ndarray, vocab_size: int) -> numpy.ndarray:
    """Return the number of occurrences of each token in each row, (num_rows, vocab_size)."""
    return numpy.stack([numpy.bincount(row, minlength=vocab_size) for row in token_ids])
