"""A batch of requests, pass by pass: plan the rows, run the model, commit the tokens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, cast

import numpy

from headway.arrays import Array, array_namespace, from_numpy, to_numpy
from headway.engine.beam_search import BeamSearch
from headway.engine.decoding import DecodingStrategy
from headway.engine.protocols import Architecture, EncoderDecoderArchitecture
from headway.engine.request import FinishReason, Hypothesis, Request, SampledToken
from headway.engine.sampler import Sampler
from headway.trees import map_tree

if TYPE_CHECKING:
    from headway.engine.engine import Engine

PREFILL_CHUNK = 512
"""Largest number of prompt tokens per pass; bounds the memory for attention scores."""


class Row(NamedTuple):
    """One row of the next pass.

    owner      index of the request that the row belongs to
    parent     row of the last pass whose KV cache this row continues
    token_ids  tokens that the pass appends
    """

    owner: int
    parent: int
    token_ids: list[int]


class Generation:
    """A running batch of requests.

    A request starts with one row. A beam search continues with one row per beam; a finished request has no rows.
    The decoder's prompts are padded on the left, the encoder's on the right; a stack gets no padding.
    """

    def __init__(self, engine: Engine, requests: Sequence[Request]) -> None:
        """Allocate the KV cache; nothing is computed yet."""
        self.engine, self.requests = engine, list(requests)
        self.finished: list[FinishReason | None] = [None] * len(requests)
        prompts = [list(engine.decoder_prompt(request)) for request in requests]
        limits = [engine.max_new_tokens(request) for request in requests]
        self.strategies: list[DecodingStrategy] = [
            (BeamSearch if request.options.num_beams > 1 else Sampler)(index, request, prompt, limit, engine.sampling_ops)
            for index, (request, prompt, limit) in enumerate(zip(requests, prompts, limits, strict=True))
        ]
        longest = max(map(len, prompts))
        self.num_padding = numpy.array([longest - len(prompt) for prompt in prompts])
        self.next_rows = [Row(index, index, prompt) for index, prompt in enumerate(prompts)]
        self.owners = list(range(len(requests)))
        self.padding = self._padding()
        self.source: object = None
        self.kv_cache = engine.new_kv_cache(len(requests), longest + max(limits))

    def __iter__(self) -> Iterator[SampledToken]:
        """Yield the tokens of all requests as they become final; the last token of each carries the finish reason.

        A beam search yields nothing until it ends, and then all tokens of its best hypothesis.
        """
        while rows := self._plan():
            logits = self._run(rows)
            yield from self._commit(logits)

    def finish(self, index: int) -> None:
        """Stop a request; no more tokens are generated for it."""
        self.finished[index] = self.finished[index] or "stop"

    def hypotheses(self, index: int) -> list[Hypothesis]:
        """Return the num_best hypotheses of a request's beam search, best first; [] for a request without one."""
        strategy = self.strategies[index]
        return strategy.finished[: self.requests[index].options.num_best] if isinstance(strategy, BeamSearch) else []

    def _plan(self) -> list[Row]:
        """Return the rows of the next pass, with KV cache, encoder output and padding reordered to match."""
        rows = [row for row in self.next_rows if not self.finished[row.owner]]
        if self.engine.has_fixed_batch_size:
            rows += rows[-1:] * (len(self.owners) - len(rows))
        parents, owners = [row.parent for row in rows], [row.owner for row in rows]
        if rows and parents != list(range(len(self.owners))):
            for layer in self.kv_cache:
                layer.take(parents)
        if rows and owners != self.owners:
            self.source = map_tree(lambda leaf: _select_rows(leaf, parents), self.source)
            self.owners = owners
            self.padding = self._padding()
        return rows

    def _run(self, rows: Sequence[Row]) -> numpy.ndarray:
        """Return the logits after the last token of each row, (num_rows, vocab_size)."""
        engine = self.engine
        if engine.stack:
            return engine.stack.next_logits([row.token_ids for row in rows], *self.kv_cache)
        longest = max(len(row.token_ids) for row in rows)
        tokens = numpy.array([[0] * (longest - len(row.token_ids)) + row.token_ids for row in rows])
        if engine.is_encoder_decoder and self.source is None:
            self.source = self._encode()
        for first in range(0, tokens.shape[1], PREFILL_CHUNK):
            hidden = self._hidden_states(self._array(tokens[:, first : first + PREFILL_CHUNK]))
        logits: numpy.ndarray = to_numpy(engine.architecture.logits(hidden[:, -1, :], engine.weights, engine.config, ops=engine.ops))
        return logits

    def _hidden_states(self, token_ids: Array) -> Array:
        engine = self.engine
        arguments = (token_ids, engine.weights, engine.config)
        if engine.is_encoder_decoder:
            encoder_decoder = cast(EncoderDecoderArchitecture, engine.architecture)
            return encoder_decoder.hidden_states(*arguments, source=self.source, kv_cache=self.kv_cache, ops=engine.ops)
        decoder = cast(Architecture, engine.architecture)
        return decoder.hidden_states(*arguments, padding=self.padding, kv_cache=self.kv_cache, ops=engine.ops)

    def _encode(self) -> object:
        """Run the encoder on the prompts."""
        engine = self.engine
        lengths = numpy.array([len(self.requests[owner].token_ids) for owner in self.owners])
        tokens = numpy.zeros((len(lengths), lengths.max()), numpy.int64)
        for row, owner in zip(tokens, self.owners, strict=True):
            row[: len(self.requests[owner].token_ids)] = self.requests[owner].token_ids
        num_real = self._array(lengths) if (lengths < lengths.max()).any() else None
        encoder_decoder = cast(EncoderDecoderArchitecture, engine.architecture)
        return encoder_decoder.read(self._array(tokens), engine.weights, engine.config, lengths=num_real, ops=engine.ops)

    def _commit(self, logits: numpy.ndarray) -> Iterator[SampledToken]:
        """Advance every request by the logits of its rows; yield the tokens that are final."""
        self.next_rows, sampled = [], []
        for owner in dict.fromkeys(self.owners):
            strategy = self.strategies[owner]
            rows = [row for row, other in enumerate(self.owners) if other == owner][: len(strategy.token_ids)]
            step = strategy.advance(logits[rows])
            self.next_rows += [Row(owner, rows[parent], [token_id]) for parent, token_id in zip(step.parents, step.token_ids, strict=True)]
            sampled += step.sampled
        for token in sampled:
            if not self.finished[token.index]:
                self.finished[token.index] = token.finish_reason
                yield token

    def _padding(self) -> Array | None:
        """Return the number of padding tokens on the left of each row; None if there are none."""
        num_padding = self.num_padding[self.owners]
        return self._array(num_padding) if num_padding.any() else None

    def _array(self, values: numpy.ndarray) -> Array:
        array: Array = from_numpy(numpy.ascontiguousarray(values), self.engine.array, self.engine.device)
        return array


def _select_rows(x: Array, rows: Sequence[int]) -> Array:
    selected: Array = array_namespace(x).stack([x[row] for row in rows])
    return selected
