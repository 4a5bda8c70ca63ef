"""Requests to tokens, step by step: plan what runs, run it, commit what came out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy

from headway.arrays import Array, array_namespace, from_numpy, to_numpy
from headway.engine.beam_search import BeamSearch
from headway.engine.choosing import Chooser
from headway.engine.request import FinishReason, Hypothesis, Request, SampledToken
from headway.engine.sampler import Sampler
from headway.trees import map_tree

if TYPE_CHECKING:
    from headway.engine.engine import Engine

PREFILL_CHUNK = 512
"""Prompt tokens per pass, so that the attention scores are never those of the whole prompt with itself."""


class Row(NamedTuple):
    """One row of the next pass.

    owner      the request it belongs to
    parent     the row of the last pass whose cache it goes on from
    token_ids  what the pass reads
    """

    owner: int
    parent: int
    token_ids: list[int]


class Generation:
    """Some requests under way together.

    A request begins in one row. A beam search goes on in as many as it has beams; a request that has ended has none.
    What a decoder begins with is padded on the left, what an encoder reads on the right; a stack is given no padding.
    """

    def __init__(self, engine: Engine, requests: Sequence[Request]) -> None:
        """Lay out the rows; nothing is computed yet."""
        self.engine, self.requests = engine, list(requests)
        self.finished: list[FinishReason | None] = [None] * len(requests)
        prompts = [list(engine.decoder_prompt(request)) for request in requests]
        rooms = [engine.room(request) for request in requests]
        self.choosers: list[Chooser] = [
            (BeamSearch if request.beams.num_beams > 1 else Sampler)(index, request, prompt, room, engine.sampling)
            for index, (request, prompt, room) in enumerate(zip(requests, prompts, rooms, strict=True))
        ]
        longest = max(map(len, prompts))
        self.num_padding = numpy.array([longest - len(prompt) for prompt in prompts])
        self.next_rows = [Row(index, index, prompt) for index, prompt in enumerate(prompts)]
        self.owners = list(range(len(requests)))
        self.padding = self._padding()
        self.source: Any = None
        self.kv_cache = engine.new_kv_cache(len(requests), longest + max(rooms))

    def __iter__(self) -> Iterator[SampledToken]:
        """The tokens as they become final, the requests in turn; each request's last one carries the reason.

        A beam search says nothing until it ends, and then all of its best hypothesis.
        """
        while rows := self._plan():
            logits = self._run(rows)
            yield from self._commit(logits)

    def finish(self, index: int) -> None:
        """End a request from outside: nothing more is sampled for it."""
        self.finished[index] = self.finished[index] or "stop"

    def hypotheses(self, index: int) -> list[Hypothesis]:
        """What a request's beam search has found, the best first; nothing where there was no search."""
        chooser = self.choosers[index]
        return chooser.finished[: self.requests[index].beams.num_best] if isinstance(chooser, BeamSearch) else []

    def _plan(self) -> list[Row]:
        """The rows of the next pass: caches, source and padding follow the rows that go on."""
        rows = [row for row in self.next_rows if not self.finished[row.owner]]
        if self.engine.keeps_rows:
            rows += rows[-1:] * (len(self.owners) - len(rows))
        parents, owners = [row.parent for row in rows], [row.owner for row in rows]
        if rows and parents != list(range(len(self.owners))):
            for layer in self.kv_cache:
                layer.take(parents)
        if rows and owners != self.owners:
            self.source = map_tree(lambda leaf: _take(leaf, parents), self.source)
            self.owners = owners
            self.padding = self._padding()
        return rows

    def _run(self, rows: Sequence[Row]) -> numpy.ndarray:
        """Logits (num_rows, vocab_size) behind the last token of each row."""
        engine = self.engine
        if engine.stack:
            return engine.stack.next_logits([row.token_ids for row in rows], *self.kv_cache)
        longest = max(len(row.token_ids) for row in rows)
        tokens = numpy.array([[0] * (longest - len(row.token_ids)) + row.token_ids for row in rows])
        if engine.is_encoder_decoder and self.source is None:
            self.source = self._read()
        seen = {"source": self.source} if engine.is_encoder_decoder else {"padding": self.padding}
        for first in range(0, tokens.shape[1], PREFILL_CHUNK):
            chunk = self._array(tokens[:, first : first + PREFILL_CHUNK])
            hidden = engine.architecture.hidden_states(chunk, engine.weights, engine.config, kv_cache=self.kv_cache, ops=engine.ops, **seen)
        return to_numpy(engine.architecture.logits(hidden[:, -1, :], engine.weights, engine.config, ops=engine.ops))

    def _read(self) -> Any:
        """What the encoder makes of the prompts."""
        engine = self.engine
        lengths = numpy.array([len(self.requests[owner].token_ids) for owner in self.owners])
        tokens = numpy.zeros((len(lengths), lengths.max()), numpy.int64)
        for row, owner in zip(tokens, self.owners, strict=True):
            row[: len(self.requests[owner].token_ids)] = self.requests[owner].token_ids
        real = self._array(lengths) if (lengths < lengths.max()).any() else None
        return engine.architecture.read(self._array(tokens), engine.weights, engine.config, lengths=real, ops=engine.ops)

    def _commit(self, logits: numpy.ndarray) -> Iterator[SampledToken]:
        """Let every request choose by its rows' logits what goes on, and say what became final."""
        self.next_rows, sampled = [], []
        for owner in dict.fromkeys(self.owners):
            chooser = self.choosers[owner]
            places = [place for place, other in enumerate(self.owners) if other == owner][: len(chooser.token_ids)]
            step = chooser.advance(logits[places])
            self.next_rows += [
                Row(owner, places[parent], [token_id]) for parent, token_id in zip(step.parents, step.token_ids, strict=True)
            ]
            sampled += step.sampled
        for token in sampled:
            if not self.finished[token.index]:
                self.finished[token.index] = token.finish_reason
                yield token

    def _padding(self) -> Array | None:
        """How many tokens on the left of each row are padding; None where there are none."""
        num_padding = self.num_padding[self.owners]
        return self._array(num_padding) if num_padding.any() else None

    def _array(self, values: numpy.ndarray) -> Array:
        return from_numpy(numpy.ascontiguousarray(values), self.engine.array, self.engine.device)


def _take(x: Array, rows: Sequence[int]) -> Array:
    return array_namespace(x).stack([x[row] for row in rows])
