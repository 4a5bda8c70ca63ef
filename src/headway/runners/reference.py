"""The definitions as a runner: any array library, over a module of headway.models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

import numpy

from headway.arrays import Array, array_namespace, fetch
from headway.engine import Batch, SequenceRows
from headway.errors import HeadwayError, OptionError, ResourceError, expect_adapter
from headway.models.adapter import Update, with_updates
from headway.models.past import prefill_chunk
from headway.runners.model import Model
from headway.runners.protocols import Architecture, EncoderDecoderArchitecture, JoinableKVCache, KVCache, Weights
from headway.trees import map_tree


@dataclass(eq=False)
class Group:
    """Sequences that are computed together. They share a KV cache, with one row each.

    owners       number of the sequence in each row
    num_padding  number of padding tokens on the left of each row
    max_lens     maximum number of tokens of each row
    kv_cache     one cache per layer, or one for all layers
    source       output of an encoder–decoder's encoder, a tree of arrays with a row for each sequence
    adapter      name of the adapter of all sequences; None for the model itself
    """

    owners: list[int]
    num_padding: numpy.ndarray
    max_lens: numpy.ndarray
    kv_cache: Sequence[KVCache]
    source: object = None
    adapter: str | None = None
    padding: Array | None = field(default=None)

    def take(self, parents: list[int], owners: list[int]) -> None:
        """Let row i continue what row parents[i] was."""
        if parents != list(range(len(self.owners))):
            for layer in self.kv_cache:
                layer.take(parents)
            self.source = map_tree(lambda leaf: _select_rows(leaf, parents), self.source)
            self.num_padding, self.max_lens = self.num_padding[parents], self.max_lens[parents]
            if self.padding is not None:
                self.padding = _select_rows(self.padding, parents)
        self.owners = owners


@dataclass(frozen=True)
class Result:
    """The logits of a group's pass, (num_rows, vocab_size), and the sequence of each row."""

    sequence_ids: list[int]
    logits: numpy.ndarray


class ReferenceRunner:
    """Runs a model by its definitions, or by the array library's own twins of them (Model.ops).

    Prompts that start in the same pass are computed together, with padding on the left. Afterwards they are computed together with the
    sequences that are running, except where has_fixed_batch_size is true, and with encoder–decoders: there the sequences of each start
    are a group of their own, and the groups are computed one after another, in the same pass of the engine. So are the sequences of
    each adapter.

    adapters   weight trees by the name of their adapter
    """

    page_size: int | None = None
    max_rows = 1 << 30

    def __init__(self, model: Model) -> None:
        """Start without sequences."""
        self.model = model
        self.adapters: dict[str, Weights] = {}
        self._groups: list[Group] = []

    def add_adapter(self, name: str, updates: Mapping[str, Update]) -> None:
        """Provide an adapter for later batches.

        updates   its updates by the path of the weight

        Errors   OptionError for a name that it has.
        """
        model = self.model
        weights = with_updates(model.weights, updates, model.array, model.device)
        if self.adapters.setdefault(name, weights) is not weights:
            raise OptionError(f"got a second adapter named {name!r}, expected another name")

    def remove_adapter(self, name: str) -> None:
        """Free an adapter, which later batches cannot name.

        Errors   OptionError for an adapter that it does not have.
        """
        expect_adapter(name, self.adapters)
        del self.adapters[name]

    @numpy.errstate(invalid="ignore")  # BLAS may set this flag for numbers outside of the result; the engine looks for NaN itself
    def run(self, batch: Batch) -> numpy.ndarray:
        """See headway.engine.Runner. Every sequence has to want the logits after its last token.

        Errors   OptionError for an adapter that it does not have.
        """
        for rows in batch:
            expect_adapter(rows.adapter, self.adapters)
        started: dict[str | None, list[SequenceRows]] = {}
        for rows in batch:
            if rows.start == 0:
                started.setdefault(rows.adapter, []).append(rows)
        results: list[Result] = []
        for group in list(self._groups):
            continued = [rows for rows in batch if rows.start and rows.parent_id in group.owners]
            if continued:
                results.append(self._continue(group, continued))
            else:
                self._groups.remove(group)
        for together in started.values():
            results.append(self._start(together))
        if not self.has_fixed_batch_size and not self.model.is_encoder_decoder:
            self._merge_groups()
        return _ordered(results, [rows.sequence_id for rows in batch])

    def release(self, sequence_ids: Sequence[int]) -> None:
        """Forget sequences. The memory of a group is freed when the last one has ended."""
        for group in list(self._groups):
            if all(owner in sequence_ids for owner in group.owners):
                self._groups.remove(group)

    @property
    def has_fixed_batch_size(self) -> bool:
        """True if a smaller batch would have to be compiled again; copies of a running row then replace those that have ended."""
        return self.model.array == "jax"

    def _start(self, batch: Batch) -> Result:
        """Compute prompts together, as a group."""
        model, longest = self.model, max(len(rows.token_ids) for rows in batch)
        num_padding = numpy.array([longest - len(rows.token_ids) for rows in batch])
        max_lens = numpy.array([rows.max_len for rows in batch])
        # The shorter of two rows starts further right and ends there too.
        group = Group(
            [rows.sequence_id for rows in batch],
            num_padding,
            max_lens,
            self._new_kv_cache(len(batch), int((num_padding + max_lens).max())),
            adapter=batch[0].adapter,
            padding=model.asarray(num_padding) if num_padding.any() else None,
        )
        if model.is_encoder_decoder:
            group.source = self._encode([rows.source_ids for rows in batch])
        self._groups.append(group)
        return Result(group.owners, self._next_logits(group, batch))

    def _merge_groups(self) -> None:
        """Join the groups of the same adapter."""
        by_adapter: dict[str | None, list[Group]] = {}
        for group in self._groups:
            by_adapter.setdefault(group.adapter, []).append(group)
        self._groups = [groups[0] if len(groups) == 1 else self._merge(groups) for groups in by_adapter.values()]

    def _merge(self, groups: Sequence[Group]) -> Group:
        """Return the rows of several groups as one, aligned at their last positions, with as little padding as that needs."""
        layers = [[cast(JoinableKVCache, cache) for cache in layer] for layer in zip(*(group.kv_cache for group in groups), strict=True)]
        filled = [cache.length for cache in next(iter(layers))]
        length = max(each - int(group.num_padding.min()) for each, group in zip(filled, groups, strict=True))
        num_padding = numpy.concatenate([group.num_padding + length - each for each, group in zip(filled, groups, strict=True)])
        max_lens = numpy.concatenate([group.max_lens for group in groups])
        max_seq_len = int((num_padding + max_lens).max())
        return Group(
            [owner for group in groups for owner in group.owners],
            num_padding,
            max_lens,
            [type(layer[0]).join(layer, length, max_seq_len) for layer in layers],
            adapter=groups[0].adapter,
            padding=self.model.asarray(num_padding) if num_padding.any() else None,
        )

    def _continue(self, group: Group, batch: Batch) -> Result:
        """Compute the next tokens of a group, some of whose sequences may have ended or branched."""
        rows = list(batch)
        if self.has_fixed_batch_size:
            rows += rows[-1:] * (len(group.owners) - len(rows))
        group.take([group.owners.index(each.parent_id) for each in rows], [each.sequence_id for each in rows])
        return Result(group.owners, self._next_logits(group, rows))

    def _next_logits(self, group: Group, batch: Batch) -> numpy.ndarray:
        """Return the logits after the last token of each row, (num_rows, vocab_size)."""
        model, longest = self.model, max(len(rows.token_ids) for rows in batch)
        tokens = numpy.array([[0] * (longest - len(rows.token_ids)) + list(rows.token_ids) for rows in batch])
        chunk = prefill_chunk(model.weights.token_embedding)
        for first in range(0, longest, chunk):
            hidden = self._hidden_states(model.asarray(tokens[:, first : first + chunk]), group)
        logits: numpy.ndarray = fetch(model.architecture.logits(hidden[:, -1, :], self._weights(group), model.config, ops=model.ops))
        return logits

    def _weights(self, group: Group) -> Weights:
        return self.model.weights if group.adapter is None else self.adapters[group.adapter]

    def _hidden_states(self, token_ids: Array, group: Group) -> Array:
        model = self.model
        arguments = (token_ids, self._weights(group), model.config)
        if model.is_encoder_decoder:
            encoder_decoder = cast(EncoderDecoderArchitecture, model.architecture)
            return encoder_decoder.hidden_states(*arguments, source=group.source, kv_cache=group.kv_cache, ops=model.ops)
        decoder = cast(Architecture, model.architecture)
        return decoder.hidden_states(*arguments, padding=group.padding, kv_cache=group.kv_cache, ops=model.ops)

    def _encode(self, prompts: Sequence[Sequence[int]]) -> object:
        """Run the encoder on prompts, padded on the right."""
        model, lengths = self.model, numpy.array([len(prompt) for prompt in prompts])
        tokens = numpy.zeros((len(lengths), lengths.max()), numpy.int64)
        for row, prompt in zip(tokens, prompts, strict=True):
            row[: len(prompt)] = prompt
        num_real = model.asarray(lengths) if (lengths < lengths.max()).any() else None
        encoder_decoder = cast(EncoderDecoderArchitecture, model.architecture)
        return encoder_decoder.read(model.asarray(tokens), model.weights, model.config, lengths=num_real, ops=model.ops)

    def _new_kv_cache(self, num_rows: int, max_seq_len: int) -> Sequence[KVCache]:
        """Return empty KV caches.

        Errors   ResourceError if they do not fit in memory.
        """
        try:
            return self._empty_kv_cache(num_rows, max_seq_len)
        except MemoryError as error:
            if isinstance(error, HeadwayError):
                raise
            raise ResourceError(
                f"got a KV cache of {num_rows} x {max_seq_len:,} tokens, which does not fit in memory",
                hint="set a smaller max_new_tokens, or use fewer prompts",
            ) from error

    def _empty_kv_cache(self, num_rows: int, max_seq_len: int) -> Sequence[KVCache]:
        model = self.model
        return model.architecture.new_kv_cache(model.config, num_rows, max_seq_len, model.weights.token_embedding)


def _select_rows(x: Array, rows: Sequence[int]) -> Array:
    selected: Array = array_namespace(x).stack([x[row] for row in rows])
    return selected


def _ordered(results: Sequence[Result], sequence_ids: list[int]) -> numpy.ndarray:
    """Return the logits of the sequences. They are not copied if they are the first rows of a single result."""
    first, num_rows = results[0], len(sequence_ids)
    if len(results) == 1 and first.sequence_ids[:num_rows] == sequence_ids:
        return first.logits[:num_rows]
    by_sequence = {owner: row for result in results for owner, row in zip(result.sequence_ids, result.logits, strict=True)}
    return numpy.stack([by_sequence[each] for each in sequence_ids])
