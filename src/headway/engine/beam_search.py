"""One request's likeliest continuations, several of them side by side."""

from __future__ import annotations

from collections.abc import Sequence

import numpy

from headway import functions
from headway.arrays import Operations
from headway.engine.choosing import Chooser, Step, check_numbers
from headway.engine.request import Hypothesis, Request


class BeamSearch(Chooser):
    """Keeps the num_beams likeliest continuations, one in each row, and sets aside those that end.

    Each pass, the best continuations of all rows by one more token are the candidates: those among the first num_beams that end
    are hypotheses, and the best num_beams that do not end go on. There are enough candidates for both, however many end.

    scores    (num_rows,) the log-probability of each row's continuation
    finished  the best num_beams hypotheses so far, the best first

    Source   as in BeamOptions
    """

    def __init__(self, index: int, request: Request, prompt: Sequence[int], room: int, ops: Operations = functions) -> None:
        """See Chooser."""
        super().__init__(index, request, prompt, room, ops)
        self.options = request.beams
        self.scores = numpy.zeros(1, numpy.float32)
        self.finished: list[Hypothesis] = []

    def advance(self, logits: numpy.ndarray) -> Step:
        """See Chooser."""
        check_numbers(logits)
        log_probs = self.adjusted(functions.log_softmax(logits))
        if self.options.renormalize_logits:
            log_probs = functions.log_softmax(log_probs)
        scores = self.scores[:, None] + log_probs
        going: list[tuple[int, int]] = []
        for rank, (row, token_id) in enumerate(self._candidates(scores)):
            reason = self.reason(token_id)
            if reason is None:
                going.append((row, token_id))
            elif rank < self.options.num_beams:
                token_ids = [*self.token_ids[row, self.num_prompt_tokens :].tolist(), token_id]
                self._set_aside(Hypothesis(token_ids, self._score(scores[row, token_id], len(token_ids)), reason))
        parents, token_ids = ([pair[place] for pair in going[: self.options.num_beams]] for place in (0, 1))
        self.scores = scores[parents, token_ids]
        self.token_ids = numpy.append(self.token_ids[parents], numpy.reshape(token_ids, (-1, 1)).astype(numpy.int64), axis=1)
        return Step([], [], self.finished[0].tokens(self.index)) if self._is_over() else Step(parents, token_ids, [])

    def _candidates(self, scores: numpy.ndarray) -> list[tuple[int, int]]:
        """The row and the token of the best continuations that are possible, the best first; of equals, the first."""
        number = max(2, 1 + len(self.request.end_token_ids)) * self.options.num_beams
        flat = scores.ravel()
        least = numpy.partition(flat, -number)[-number] if number < flat.size else -numpy.inf
        places = numpy.flatnonzero((flat >= least) & (flat > -numpy.inf))
        best = places[numpy.argsort(-flat[places], kind="stable")][:number]
        return [(int(place) // scores.shape[1], int(place) % scores.shape[1]) for place in best]

    def _score(self, log_prob: float, length: int) -> float:
        return float(log_prob) / length**self.options.length_penalty

    def _set_aside(self, hypothesis: Hypothesis) -> None:
        ranked = sorted([*self.finished, hypothesis], key=lambda each: -each.score)
        self.finished = ranked[: self.options.num_beams]

    def _is_over(self) -> bool:
        """Whether nothing goes on, or nothing that goes on is expected to be better than what has ended."""
        options = self.options
        if not len(self.scores):
            return True
        if len(self.finished) < options.num_beams:
            return False
        length = self.room if options.early_stopping == "never" and options.length_penalty > 0 else self.num_new_tokens
        return options.early_stopping is True or self._score(self.scores[0], length) <= self.finished[-1].score
