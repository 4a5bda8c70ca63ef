"""One request's way from logits to a token: penalties, then samplers, then a draw from its own seed."""

from __future__ import annotations

import numpy

from headway import functions
from headway.engine.request import SamplingOptions
from headway.errors import NotFiniteError


class Sampler:
    """Chooses the tokens of one request, and remembers what occurred.

    It works on NumPy whatever library computed the logits, so that one seed gives the same tokens on all of them.
    """

    def __init__(self, options: SamplingOptions, prompt: numpy.ndarray, vocab_size: int) -> None:
        """Start with the prompt's tokens as what occurred."""
        self.options = options
        self.random = numpy.random.Generator(numpy.random.PCG64(options.seed))
        self.counts = numpy.zeros(vocab_size, numpy.int64)
        self.prompt_counts = numpy.bincount(prompt, minlength=vocab_size) if options.repetition_penalty is not None else 0

    def choose(self, logits: numpy.ndarray) -> int:
        """Choose a token from logits (vocab_size,).

        Errors   NotFiniteError where a logit is NaN.
        """
        if numpy.isnan(logits).any():
            raise NotFiniteError(
                "came: logits with NaN; expected: numbers; the weights are broken, or too large for half precision: use dtype='float32'"
            )
        options = self.options
        logits = self._penalized(logits)
        if options.temperature == 0:
            token_id = int(logits.argmax())
        else:
            logits = functions.scale_by_temperature(logits, options.temperature)
            if options.top_k is not None:
                logits = functions.keep_top_k(logits, options.top_k)
            if options.top_p is not None:
                logits = functions.keep_top_p(logits, options.top_p)
            if options.min_p is not None:
                logits = functions.keep_min_p(logits, options.min_p)
            if options.typical_p is not None:
                logits = functions.keep_typical(logits, options.typical_p)
            token_id = int(functions.sample(logits, numpy.asarray(self.random.random())))
        self.counts[token_id] += 1
        return token_id

    def log_probs(self, logits: numpy.ndarray, token_id: int) -> tuple[float | None, dict[int, float]]:
        """The log-probability of the token under the model, and those of the most likely ones; None where not asked for."""
        number = self.options.num_log_probs
        if number is None:
            return None, {}
        log_probs = functions.log_softmax(logits)
        top = numpy.flatnonzero(functions.keep_top_k(log_probs, number) > -numpy.inf) if number else numpy.empty(0, int)
        top = top[numpy.argsort(-log_probs[top], kind="stable")][:number]
        return float(log_probs[token_id]), {int(token): float(log_probs[token]) for token in top}

    def _penalized(self, logits: numpy.ndarray) -> numpy.ndarray:
        options = self.options
        if options.logit_bias:
            logits = functions.add_logit_bias(logits, dict(options.logit_bias))
        if options.repetition_penalty is not None:
            logits = functions.penalize_repetition(logits, self.prompt_counts + self.counts, options.repetition_penalty)
        if options.presence_penalty is not None or options.frequency_penalty is not None:
            logits = functions.penalize_occurrence(
                logits, self.counts, presence_penalty=options.presence_penalty or 0.0, frequency_penalty=options.frequency_penalty or 0.0
            )
        return logits
