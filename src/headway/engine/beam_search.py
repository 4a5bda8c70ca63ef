"""Beam search: keep the most likely continuations of a prompt."""

from __future__ import annotations

from collections.abc import Sequence

import numpy

from headway import functions
from headway.arrays import Operations
from headway.engine.decoding import DecodingStrategy, Step, check_not_nan
from headway.engine.request import Hypothesis, Request


class BeamSearch(DecodingStrategy):
    """Keep the num_beams most likely continuations, one per row, and collect those that end.

    In each pass, the candidates are the best continuations of all rows by one token. Those among the first num_beams
    candidates that end become hypotheses; the best num_beams candidates that do not end continue. The number of candidates
    is large enough for both, even if every end token is among them.

    scores    (num_rows,) log-probability of each row's continuation
    finished  the best num_beams hypotheses so far, best first

    Source   see GenerationOptions
    """

    def __init__(self, index: int, request: Request, prompt: Sequence[int], max_new_tokens: int, ops: Operations = functions) -> None:
        """See DecodingStrategy."""
        super().__init__(index, request, prompt, max_new_tokens, ops)
        self.options = request.options
        self.scores = numpy.zeros(1, numpy.float32)
        self.finished: list[Hypothesis] = []

    def advance(self, logits: numpy.ndarray) -> Step:
        """See DecodingStrategy."""
        check_not_nan(logits)
        log_probs = self.process_logits(functions.log_softmax(logits))
        if self.options.renormalize_logits:
            log_probs = functions.log_softmax(log_probs)
        scores = self.scores[:, None] + log_probs
        running: list[tuple[int, int]] = []
        for rank, (row, token_id) in enumerate(self._candidates(scores)):
            reason = self.finish_reason(token_id)
            if reason is None:
                running.append((row, token_id))
            elif rank < self.options.num_beams:
                token_ids = [*self.token_ids[row, self.num_prompt_tokens :].tolist(), token_id]
                self._add(Hypothesis(token_ids, self._score(scores[row, token_id], len(token_ids)), reason))
        parents, token_ids = ([pair[place] for pair in running[: self.options.num_beams]] for place in (0, 1))
        self.scores = scores[parents, token_ids]
        self.token_ids = numpy.append(self.token_ids[parents], numpy.reshape(token_ids, (-1, 1)).astype(numpy.int64), axis=1)
        return Step([], [], self.finished[0].tokens(self.index)) if self._has_ended() else Step(parents, token_ids, [])

    def _candidates(self, scores: numpy.ndarray) -> list[tuple[int, int]]:
        """Return row and token of the best possible continuations, best first; equal scores in order of row and token."""
        number = max(2, 1 + len(self.request.end_token_ids)) * self.options.num_beams
        flat = scores.ravel()
        threshold = numpy.partition(flat, -number)[-number] if number < flat.size else -numpy.inf
        indices = numpy.flatnonzero((flat >= threshold) & (flat > -numpy.inf))
        best = indices[numpy.argsort(-flat[indices], kind="stable")][:number]
        return [(int(index) // scores.shape[1], int(index) % scores.shape[1]) for index in best]

    def _score(self, log_prob: float, length: int) -> float:
        return float(log_prob / length**self.options.length_penalty)

    def _add(self, hypothesis: Hypothesis) -> None:
        ranked = sorted([*self.finished, hypothesis], key=lambda each: -each.score)
        self.finished = ranked[: self.options.num_beams]

    def _has_ended(self) -> bool:
        """Return True if no row continues, or none is expected to beat the hypotheses."""
        options = self.options
        if not len(self.scores):
            return True
        if len(self.finished) < options.num_beams:
            return False
        length = self.max_new_tokens if options.early_stopping == "never" and options.length_penalty > 0 else self.num_new_tokens
        return options.early_stopping is True or self._score(self.scores[0], length) <= self.finished[-1].score
