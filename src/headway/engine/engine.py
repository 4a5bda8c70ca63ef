"""Requests to tokens, step by step: plan what runs, run it, commit what came out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy

from headway import functions
from headway.arrays import Array, Operations, from_numpy, to_numpy
from headway.engine.request import FinishReason, Request, SampledToken
from headway.engine.sampler import Sampler
from headway.errors import PromptError, TokenIdError

PREFILL_CHUNK = 512
"""Prompt tokens per pass, so that the attention scores are never those of the whole prompt with itself."""


@dataclass(frozen=True)
class Engine:
    """A model that requests can be started on.

    architecture  the module of headway.models
    array         the array library of the weights
    ops           what forward calls: the definitions, or headway.kernels.operations(array)
    """

    architecture: ModuleType
    config: Any
    weights: Any
    array: str = "numpy"
    device: str | None = None
    ops: Operations = functions

    def start(self, requests: Sequence[Request]) -> Generation:
        """Begin to continue some prompts together; iterate over the result for the tokens.

        Errors   PromptError for an empty prompt, or one that leaves no room in the context; TokenIdError for an id out of range.
        """
        for request in requests:
            self._check(request)
        return Generation(self, requests)

    def _check(self, request: Request) -> None:
        vocab_size, max_seq_len = self.config.vocab_size, self.config.max_seq_len
        if not len(request.token_ids):
            raise PromptError("came: an empty prompt; expected: at least one token to continue")
        wrong = [token_id for token_id in request.token_ids if not 0 <= token_id < vocab_size]
        if wrong:
            raise TokenIdError(
                f"came: token id {wrong[0]} in the prompt; expected: 0 to {vocab_size - 1}; does the tokenizer belong to this model?"
            )
        wrong = [token_id for token_id in request.sampling.logit_bias or () if not 0 <= token_id < vocab_size]
        if wrong:
            raise TokenIdError(f"came: logit_bias for token id {wrong[0]}; expected: 0 to {vocab_size - 1}")
        if len(request.token_ids) >= max_seq_len:
            raise PromptError(
                f"came: a prompt of {len(request.token_ids)} tokens; expected: at most {max_seq_len - 1}, "
                f"so that the context of {max_seq_len} has room for a new one; shorten the prompt"
            )


class Generation:
    """Some requests under way together, each in its own row, padded on the left to the longest prompt."""

    def __init__(self, engine: Engine, requests: Sequence[Request]) -> None:
        """Lay out the rows; nothing is computed yet."""
        self.engine, self.requests = engine, list(requests)
        lengths = numpy.array([len(request.token_ids) for request in requests])
        longest = int(lengths.max())
        self.room = [self._room(request) for request in requests]
        self.token_ids = numpy.zeros((len(requests), longest), numpy.int64)
        for row, request in zip(self.token_ids, requests, strict=True):
            row[longest - len(request.token_ids) :] = request.token_ids
        self.samplers = [Sampler(r.sampling, numpy.asarray(r.token_ids), engine.config.vocab_size) for r in requests]
        self.num_sampled = [0] * len(requests)
        self.finished: list[FinishReason | None] = [None] * len(requests)
        self.num_padding = longest - lengths
        self.padding = self._array(self.num_padding) if self.num_padding.any() else None
        self.kv_cache = engine.architecture.new_kv_cache(
            engine.config, len(requests), longest + max(self.room), engine.weights.token_embedding
        )

    def __iter__(self) -> Iterator[SampledToken]:
        """The tokens as they are sampled, the requests' rows in turn; each request's last one carries the reason."""
        while not all(self.finished):
            tokens = self._plan()
            logits = self._run(tokens)
            yield from self._commit(logits)

    def finish(self, index: int) -> None:
        """End a request from outside: nothing more is sampled for it."""
        self._finish(index, "stop")

    def _finish(self, index: int, reason: FinishReason) -> None:
        """End a row. Where rows are padded, the whole of it becomes padding: it may not run past the context while others go on."""
        self.finished[index] = self.finished[index] or reason
        if self.padding is not None:
            self.num_padding[index] = self.kv_cache[0].max_seq_len
            self.padding = self._array(self.num_padding)

    def _plan(self) -> numpy.ndarray:
        """The tokens of the next pass: what of the rows is not in the cache yet."""
        return self.token_ids[:, self.kv_cache[0].length :]

    def _run(self, tokens: numpy.ndarray) -> numpy.ndarray:
        """Logits (batch_size, vocab_size) behind the last of the tokens."""
        engine = self.engine
        for first in range(0, tokens.shape[1], PREFILL_CHUNK):
            chunk = self._array(tokens[:, first : first + PREFILL_CHUNK])
            hidden = engine.architecture.hidden_states(
                chunk, engine.weights, engine.config, kv_cache=self.kv_cache, padding=self.padding, ops=engine.ops
            )
        return to_numpy(engine.architecture.logits(hidden[:, -1, :], engine.weights, engine.config, ops=engine.ops))

    def _commit(self, logits: numpy.ndarray) -> Iterator[SampledToken]:
        """Choose a token for every row that goes on, and say which rows end with it."""
        column = numpy.zeros((len(self.requests), 1), numpy.int64)
        sampled = []
        for index, (request, sampler) in enumerate(zip(self.requests, self.samplers, strict=True)):
            if self.finished[index]:
                continue
            token_id = sampler.choose(logits[index])
            column[index] = token_id
            self.num_sampled[index] += 1
            if token_id in request.end_token_ids:
                self._finish(index, "stop")
            elif self.num_sampled[index] == self.room[index]:
                self._finish(index, "length")
            sampled.append(SampledToken(index, token_id, self.finished[index], *sampler.log_probs(logits[index], token_id)))
        self.token_ids = numpy.concatenate([self.token_ids, column], axis=1)
        yield from sampled

    def _room(self, request: Request) -> int:
        room = self.engine.config.max_seq_len - len(request.token_ids)
        return room if request.max_new_tokens is None else min(room, request.max_new_tokens)

    def _array(self, values: numpy.ndarray) -> Array:
        return from_numpy(numpy.ascontiguousarray(values), self.engine.array, self.engine.device)
