"""Beam search: keep the most likely continuations of a prompt."""

from __future__ import annotations

from dataclasses import replace

import numpy

from headway import functions
from headway.arrays import Operations
from headway.engine.decoding import check_not_all_forbidden, finish_reason, fork, most_likely
from headway.engine.processors import logits_processors
from headway.engine.request import Hypothesis, Request, SampledToken
from headway.engine.sequence import Sequence


class BeamSearch:
    """Keep the num_beams most likely continuations, each a sequence, and collect those that end.

    In each pass, the candidates are the best continuations of all sequences by one token. Those among the first num_beams
    candidates that end become hypotheses; the best num_beams candidates that do not end continue. The number of candidates
    is large enough for both, even if every end token is among them.

    scores    (num_sequences,) log-probability of each continuation
    finished  the best num_beams hypotheses so far, best first

    Source   see GenerationOptions
    """

    def __init__(self, index: int, request: Request, sequence: Sequence, max_new_tokens: int, ops: Operations = functions) -> None:
        """Start with one sequence, the decoder's prompt."""
        self.index, self.request, self.options, self.max_new_tokens = index, request, request.options, max_new_tokens
        self.processors = logits_processors(request, sequence.num_prompt, max_new_tokens)
        self.sequences = [sequence]
        self.scores = numpy.zeros(1, numpy.float32)
        self.finished: list[Hypothesis] = []

    def advance(self) -> list[SampledToken]:
        """See DecodingStrategy. Yields nothing until the search ends, and then all tokens of its best hypothesis."""
        scores = self.scores[:, None] + self._log_probs()
        num_new = self.sequences[0].num_new_tokens + 1
        running: list[tuple[int, int]] = []
        for rank, (row, token_id) in enumerate(self._candidates(scores)):
            reason = finish_reason(self.request, token_id, num_new, self.max_new_tokens)
            if reason is None:
                running.append((row, token_id))
            elif rank < self.options.num_beams:
                sequence = self.sequences[row]
                token_ids = [*sequence.token_ids[sequence.num_prompt :], token_id]
                self._add(Hypothesis(token_ids, self._score(scores[row, token_id], len(token_ids)), reason))
        running = running[: self.options.num_beams]
        self.scores = scores[tuple(numpy.array(running, int).reshape(-1, 2).T)]
        self._continue(running)
        if not self._has_ended(num_new):
            return []
        self.sequences = []
        return self._best()

    def _log_probs(self) -> numpy.ndarray:
        """Return the log-probabilities after penalties and constraints, (num_sequences, vocab_size)."""
        logits = numpy.stack([sequence.logits for sequence in self.sequences if sequence.logits is not None])
        most_likely(logits)  # refuses NaN
        log_probs: numpy.ndarray = functions.log_softmax(logits)
        if self.processors:
            token_ids = numpy.array([sequence.token_ids for sequence in self.sequences])
            for process in self.processors:
                log_probs = process(token_ids, log_probs)
            check_not_all_forbidden(log_probs)
        return functions.log_softmax(log_probs) if self.options.renormalize_logits else log_probs

    def _continue(self, pairs: list[tuple[int, int]]) -> None:
        """Replace the sequences by those of the pairs of row and token; a row that is taken again is copied."""
        taken: set[int] = set()
        sequences = []
        for row, _ in pairs:
            sequences.append(fork(self.sequences[row]) if row in taken else self.sequences[row])
            taken.add(row)
        for sequence, (_, token_id) in zip(sequences, pairs, strict=True):
            sequence.token_ids.append(token_id)
            sequence.logits = None
        self.sequences = sequences

    def _best(self) -> list[SampledToken]:
        """Return the tokens of the best hypothesis, each with all of them."""
        hypotheses = tuple(self.finished[: self.options.num_best])
        return [replace(token, hypotheses=hypotheses) for token in hypotheses[0].tokens(self.index)]

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

    def _has_ended(self, num_new: int) -> bool:
        """Return True if no sequence continues, or none is expected to beat the hypotheses."""
        options = self.options
        if not len(self.scores):
            return True
        if len(self.finished) < options.num_beams:
            return False
        length = self.max_new_tokens if options.early_stopping == "never" and options.length_penalty > 0 else num_new
        return options.early_stopping is True or self._score(self.scores[0], length) <= self.finished[-1].score
