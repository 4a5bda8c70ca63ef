"""Greedy decoding and sampling, one token at a time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy

from headway import functions
from headway.arrays import Operations
from headway.engine.decoding import DecodingStrategy, Step, check_not_nan
from headway.engine.request import Request, SampledToken


class Sampler(DecodingStrategy):
    """Choose the most likely token, or sample. The same seed gives the same tokens on all array libraries."""

    def __init__(self, index: int, request: Request, prompt: Sequence[int], max_new_tokens: int, ops: Operations = functions) -> None:
        """See DecodingStrategy."""
        super().__init__(index, request, prompt, max_new_tokens, ops)
        self.random = numpy.random.Generator(numpy.random.PCG64(request.options.seed))

    def advance(self, logits: numpy.ndarray) -> Step:
        """See DecodingStrategy."""
        check_not_nan(logits)
        token_id = self._choose(self.process_logits(logits)[0])
        reason = self.finish_reason(token_id)
        sampled = SampledToken(self.index, token_id, reason, *self._log_probs(logits[0], token_id))
        self.token_ids = numpy.append(self.token_ids, [[token_id]], axis=1)
        return Step([], [], [sampled]) if reason else Step([0], [token_id], [sampled])

    def _choose(self, logits: numpy.ndarray) -> int:
        """Return a token given logits (vocab_size,)."""
        options = self.request.options
        if options.temperature == 0:
            return int(logits.argmax())
        logits = functions.scale_by_temperature(logits, options.temperature)
        if options.top_k is not None:
            logits = self.ops.keep_top_k(logits, options.top_k)
        if options.top_p is not None:
            logits = self.ops.keep_top_p(logits, options.top_p)
        if options.min_p is not None:
            logits = functions.keep_min_p(logits, options.min_p)
        if options.typical_p is not None:
            logits = functions.keep_typical(logits, options.typical_p)
        return int(functions.sample(logits, numpy.asarray(self.random.random())))

    def _log_probs(self, logits: numpy.ndarray, token_id: int) -> tuple[float | None, dict[int, float]]:
        """Return the log-probability of the token and those of the most likely tokens; None and {} without num_log_probs."""
        number = self.request.options.num_log_probs
        if number is None:
            return None, {}
        log_probs = functions.log_softmax(logits)
        top = numpy.flatnonzero(self.ops.keep_top_k(log_probs, number) > -numpy.inf) if number else numpy.empty(0, int)
        top = top[numpy.argsort(-log_probs[top], kind="stable")][:number]
        return float(log_probs[token_id]), {int(token): float(log_probs[token]) for token in top}
