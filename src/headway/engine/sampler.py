"""One request's next token: the most likely one, or a draw from its own seed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy

from headway import functions
from headway.arrays import Operations
from headway.engine.choosing import Chooser, Step, check_numbers
from headway.engine.request import Request, SampledToken


class Sampler(Chooser):
    """Chooses one token at a time and keeps it. One seed gives the same tokens on all array libraries."""

    def __init__(self, index: int, request: Request, prompt: Sequence[int], room: int, ops: Operations = functions) -> None:
        """See Chooser."""
        super().__init__(index, request, prompt, room, ops)
        self.random = numpy.random.Generator(numpy.random.PCG64(request.sampling.seed))

    def advance(self, logits: numpy.ndarray) -> Step:
        """See Chooser."""
        check_numbers(logits)
        token_id = self._choose(self.adjusted(logits)[0])
        reason = self.reason(token_id)
        sampled = SampledToken(self.index, token_id, reason, *self._log_probs(logits[0], token_id))
        self.token_ids = numpy.append(self.token_ids, [[token_id]], axis=1)
        return Step([], [], [sampled]) if reason else Step([0], [token_id], [sampled])

    def _choose(self, logits: numpy.ndarray) -> int:
        """A token by logits (vocab_size,)."""
        options = self.request.sampling
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
        """The log-probability of the token under the model, and those of the most likely ones; None where not asked for."""
        number = self.request.sampling.num_log_probs
        if number is None:
            return None, {}
        log_probs = functions.log_softmax(logits)
        top = numpy.flatnonzero(self.ops.keep_top_k(log_probs, number) > -numpy.inf) if number else numpy.empty(0, int)
        top = top[numpy.argsort(-log_probs[top], kind="stable")][:number]
        return float(log_probs[token_id]), {int(token): float(log_probs[token]) for token in top}
