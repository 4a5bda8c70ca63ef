"""Greedy decoding and sampling, one token at a time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy

from headway import functions
from headway.arrays import Operations
from headway.engine.decoding import check_not_all_forbidden, finish_reason, fork, most_likely
from headway.engine.options import GenerationOptions
from headway.engine.processors import logits_processors
from headway.engine.request import FinishReason, ForcingProcessor, LogitsProcessor, Request, SampledToken
from headway.engine.sequence import Sequence


@dataclass(eq=False)
class _Choice:
    """One completion: its sequence, and the state of its random numbers and processors."""

    index: int
    sequence: Sequence
    random: numpy.random.Generator
    processors: list[LogitsProcessor]


class Sampler:
    """Choose the most likely token, or sample. The same seed gives the same tokens on all array libraries.

    A request with several choices starts with one sequence, which is copied when the prompt is computed.
    """

    def __init__(self, index: int, request: Request, sequence: Sequence, max_new_tokens: int, ops: Operations = functions) -> None:
        """Start with one sequence: the decoder's prompt without its scored tokens, and the tokens of a resumption."""
        self.index, self.request, self.max_new_tokens, self.ops = index, request, max_new_tokens, ops
        first = self._choice(request.resumption.choice if request.resumption else 0, sequence)
        if request.options.temperature > 0:  # each token of a resumption took one random number
            bits = first.random.bit_generator
            assert isinstance(bits, numpy.random.PCG64)
            bits.advance(max(0, sequence.num_new_tokens))
        self._continue([first])

    def advance(self) -> list[SampledToken]:
        """See DecodingStrategy."""
        if self.request.num_choices > 1 and self.sequences[0].num_new_tokens == 0:
            self._branch(self.sequences[0])
        return [self._append(choice, choice.sequence.logits) for choice in self._choices if choice.sequence.logits is not None]

    def drop(self, index: int) -> list[Sequence]:
        """End a choice; return its sequence in a list, [] if it has ended or none of several has started."""
        if len(self._choices) == 1 and self.request.num_choices > 1 and self._choices[0].sequence.num_new_tokens <= 0:
            return []
        dropped = [choice for choice in self._choices if choice.index == index]
        self._continue([choice for choice in self._choices if choice.index != index])
        return [choice.sequence for choice in dropped]

    def advance_drafted(self, logits: numpy.ndarray, drafted: list[int]) -> list[SampledToken]:
        """Append tokens to the only sequence given the logits (num_drafted + 1, vocab_size) after its last token and after each drafted one.

        A drafted token counts only if it is the token that is chosen from the logits before it, so the tokens are those of
        `advance`, one after the other. They end before a token that fails: the next pass computes it alone, and raises its error.
        """
        (choice,) = self._choices
        num_tokens = len(choice.sequence.token_ids)
        sampled: list[SampledToken] = []
        for row, draft in zip(logits, [*drafted, None], strict=True):
            try:
                sampled.append(self._append(choice, row))
            except Exception:
                if not sampled or len(choice.sequence.token_ids) > num_tokens + len(sampled):
                    raise
                break
            if sampled[-1].finish_reason or sampled[-1].token_id != draft:
                break
        return sampled

    def scored_tokens(self, token_ids: list[int]) -> list[int]:
        """Return the tokens of the prompt after these that are scored, except for the last: choices branch in a pass of its own."""
        return list(map(int, self.request.token_ids[len(token_ids) : -1]))

    @property
    def forcing_processor(self) -> ForcingProcessor | None:
        """The processor of the only choice that knows tokens in advance; None if there is none, or others may change its choice."""
        processors = self._choices[0].processors
        return processors[0] if len(processors) == 1 and isinstance(processors[0], ForcingProcessor) else None

    def _branch(self, sequence: Sequence) -> None:
        """Let the other choices continue copies of the first one's sequence."""
        copies = [fork(sequence) for _ in range(1, self.request.num_choices)]
        for copy in copies:
            copy.logits = sequence.logits
        self._continue([*self._choices, *(self._choice(index, copy) for index, copy in enumerate(copies, 1))])

    def _continue(self, choices: list[_Choice]) -> None:
        """Replace the choices that continue."""
        self._choices, self.sequences = choices, [choice.sequence for choice in choices]

    def _choice(self, index: int, sequence: Sequence) -> _Choice:
        seed = self.request.options.seed
        # The streams of further choices are independent of the first one's, which is PCG64(seed).
        entropy = numpy.random.SeedSequence(seed, spawn_key=(index,)) if index else seed
        processors = logits_processors(self.request, sequence.num_prompt, self.max_new_tokens)
        return _Choice(index, sequence, numpy.random.Generator(numpy.random.PCG64(entropy)), processors)

    def _append(self, choice: _Choice, logits: numpy.ndarray) -> SampledToken:
        """Append a token to a choice given logits (vocab_size,), and drop the choice if it ends."""
        token_id = most_likely(logits)
        sequence, processed, options = choice.sequence, logits, self.request.options
        if sequence.num_new_tokens < 0:
            return self._score(choice, logits)
        if choice.processors:
            history, rows = numpy.array([sequence.token_ids]), logits[None]
            for process in choice.processors:
                rows = process(history, rows)
            check_not_all_forbidden(rows)
            processed = rows[0]
        if choice.processors or options.temperature:
            token_id = _choose(processed, options, choice.random, self.ops)
        sequence.token_ids.append(token_id)
        sequence.logits = None
        reason = finish_reason(self.request, token_id, sequence.num_new_tokens, self.max_new_tokens)
        if reason:
            self._continue([each for each in self._choices if each is not choice])
        return self._event(choice, token_id, reason, logits)

    def _score(self, choice: _Choice, logits: numpy.ndarray) -> SampledToken:
        """Append the next token of the prompt, given the logits before it."""
        sequence = choice.sequence
        token_id = int(self.request.token_ids[len(sequence.token_ids)])
        sequence.token_ids.append(token_id)
        sequence.logits = None
        return self._event(choice, token_id, None, logits)

    def _event(self, choice: _Choice, token_id: int, reason: FinishReason | None, logits: numpy.ndarray) -> SampledToken:
        number = self.request.options.num_log_probs
        if number is None:
            return SampledToken(self.index, token_id, reason, choice=choice.index)
        return SampledToken(self.index, token_id, reason, *_log_probs(logits, token_id, number, self.ops), choice=choice.index)


def _choose(logits: numpy.ndarray, options: GenerationOptions, random: numpy.random.Generator, ops: Operations) -> int:
    """Return a token given logits (vocab_size,)."""
    if options.temperature == 0:
        return int(logits.argmax())
    logits = functions.scale_by_temperature(logits, options.temperature)
    if options.top_k is not None:
        logits = ops.keep_top_k(logits, options.top_k)
    if options.top_p is not None:
        logits = ops.keep_top_p(logits, options.top_p)
    if options.min_p is not None:
        logits = ops.keep_min_p(logits, options.min_p)
    if options.typical_p is not None:
        logits = functions.keep_typical(logits, options.typical_p)
    return int(ops.sample(logits, numpy.asarray(random.random())))


def _log_probs(logits: numpy.ndarray, token_id: int, number: int, ops: Operations) -> tuple[float, dict[int, float]]:
    """Return the log-probability of the token, and those of the most likely tokens."""
    log_probs = functions.log_softmax(logits)
    top = numpy.flatnonzero(ops.keep_top_k(log_probs, number) > -numpy.inf) if number else numpy.empty(0, int)
    top = top[numpy.argsort(-log_probs[top], kind="stable")][:number]
    return float(log_probs[token_id]), {int(token): float(log_probs[token]) for token in top}
