"""A decoder whose forward passes are compiled code over packed weights: the twin of an architecture's hidden_states and logits."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy

from headway.errors import HeadwayError, PromptError, TokenIdError
from headway.kernels.cpu import layout
from headway.kernels.cpu.kv_cache import CompiledKVCache, cache_bytes
from headway.kernels.cpu.layout import (
    CACHE_LINE,
    GROUP,
    GROUPS_PER_TASK,
    KEYS_PER_BLOCK,
    KEYS_PER_PARTIAL,
    NUM_ROWS,
    ROWS_PER_TASK,
    TOKENS_PER_PASS,
)
from headway.kernels.cpu.memory_check import check_memory
from headway.kernels.cpu.packing import KINDS, NO_MATRIX, PackedWeights, aligned_zeros, round_up
from headway.kernels.cpu.thread_pool import Entry, ThreadPool

NORMS = {"layer_norm": layout.LAYER_NORM, "rms_norm": layout.RMS_NORM}
ACTIVATIONS = {"silu": layout.SILU, "gelu": layout.GELU, "gelu_tanh": layout.GELU_TANH, "relu": layout.RELU}
MATRICES = {
    "attention.query": layout.QUERY,
    "attention.key": layout.KEY,
    "attention.value": layout.VALUE,
    "attention.output": layout.OUTPUT,
    "feed_forward.gate": layout.GATE,
    "feed_forward.up": layout.UP,
    "feed_forward.down": layout.DOWN,
}
VECTORS = {
    "attention_norm.weight": layout.ATTENTION_NORM,
    "attention_norm.bias": layout.ATTENTION_NORM_BIAS,
    "feed_forward_norm.weight": layout.FEED_FORWARD_NORM,
    "feed_forward_norm.bias": layout.FEED_FORWARD_NORM_BIAS,
    "attention.query_norm.weight": layout.QUERY_NORM,
    "attention.key_norm.weight": layout.KEY_NORM,
}
PADDED_TOKENS = 12
"""Activation buffers hold a multiple of this number of tokens: the largest tile computes 12 tokens, the int16 tile 6."""


class CompiledDecoder:
    """A decoder whose forward passes are compiled code.

    description  sizes and options of the architecture: see headway.models.stack
    pool         the threads; they belong to the decoder, which closes them
    cache_kind   number format of keys and values: float32, bfloat16, int16 or int8

    A decoder that is no longer referenced frees its threads and memory; `close` does so at once.
    """

    def __init__(
        self, description: Any, weights: PackedWeights, forward_pass: Entry, pool: ThreadPool, *, cache_kind: str = "float32"
    ) -> None:
        """Fill in the parts of the launch record that are the same for every pass."""
        self.description, self.weights, self.cache_kind = description, weights, cache_kind
        self.vocab_size = weights.matrices["token_embedding"].rows
        positions = weights.vectors.get("position_embedding")
        self._num_positions = None if positions is None else len(positions)
        self._forward_pass, self._pool, self._lock, self._is_closed = forward_pass, pool, threading.Lock(), False
        self._launch = numpy.zeros(layout.LAUNCH_SIZE, numpy.int64)
        self._layers = numpy.zeros((description.num_layers, layout.LAYER_SIZE), numpy.int64)
        self._floats = numpy.array([description.eps, *description.scales], numpy.float32)
        self._records = {name: numpy.array(self._record(name), numpy.int64) for name in ("token_embedding", "output_head")}
        self._counters = aligned_zeros((layout.COUNTERS_PER_LAYER * description.num_layers + 3) * CACHE_LINE)
        self._buffers = _Buffers(0, self._widths(), weights.kind)
        self._fill_in_model()

    def new_cache(self, num_sequences: int, max_seq_len: int) -> CompiledKVCache:
        """Return an empty KV cache for `num_sequences` sequences of at most `max_seq_len` tokens.

        Errors   ResourceError if there is not enough memory.
        """
        size = cache_bytes(self.description, num_sequences, max_seq_len, self.cache_kind)
        check_memory(size, f"keys and values of {num_sequences} x {max_seq_len} tokens")
        return CompiledKVCache(self.description, num_sequences, max_seq_len, self.cache_kind)

    def next_logits(self, token_ids: Sequence[Sequence[int]], cache: CompiledKVCache) -> numpy.ndarray:
        """Read further tokens of every sequence; return the logits (num_sequences, vocab_size) after the last token of each.

        Errors   PromptError if the cache or the position table is too short, or a sequence has no tokens; TokenIdError for an id out of
                 range; HeadwayError if the decoder is closed.
        """
        self._check(token_ids, cache)
        logits, done = numpy.empty((len(token_ids), self.vocab_size), numpy.float32), 0
        for rows, wanted in _passes(token_ids, cache.lengths):
            self._run_pass(rows, wanted, cache, logits[done : done + len(wanted)])
            done += len(wanted)
        cache.lengths += numpy.array([len(tokens) for tokens in token_ids])
        return logits

    def hidden_states(self, token_ids: Sequence[int]) -> numpy.ndarray:
        """Return the normalized vectors (seq_len, hidden_size) of one text's tokens, the input of the output head."""
        cache, hidden = self.new_cache(1, len(token_ids)), []
        self._check([token_ids], cache)
        for rows, _ in _passes([token_ids], cache.lengths):
            hidden.append(self._run_pass(rows, list(range(len(rows))), cache, None))
        return numpy.concatenate(hidden)

    def close(self) -> None:
        """End the threads and release the weights, which unmaps their file. A closed decoder can be closed again, but not run."""
        with self._lock:
            self._is_closed = True
            self._pool.close()
            self.weights = PackedWeights(self.weights.kind, {}, {})
            self._buffers = _Buffers(0, {}, self.weights.kind)

    def _check(self, token_ids: Sequence[Sequence[int]], cache: CompiledKVCache) -> None:
        """Check the input. The compiled code has no checks: a wrong index would read or write other memory."""
        limit = cache.max_seq_len if self._num_positions is None else min(cache.max_seq_len, self._num_positions)
        if len(token_ids) != len(cache.lengths):
            raise PromptError(
                f"got tokens for {len(token_ids)} sequences, expected {len(cache.lengths)}",
                hint="pass tokens for every sequence of the cache",
            )
        for length, tokens in zip(cache.lengths, token_ids, strict=True):
            if not len(tokens) or length + len(tokens) > limit:
                raise PromptError(
                    f"got {len(tokens)} tokens after {length}, expected at least 1 and at most {limit} in total", hint="shorten the prompt"
                )
            if min(tokens) < 0 or max(tokens) >= self.vocab_size:
                raise TokenIdError(
                    f"got token ids from {min(tokens)} to {max(tokens)}, expected 0 to {self.vocab_size - 1}",
                    hint="use the tokenizer of this model",
                )

    def _run_pass(
        self, rows: list[tuple[int, int, int]], wanted: list[int], cache: CompiledKVCache, logits: numpy.ndarray | None
    ) -> numpy.ndarray:
        """Run one pass over rows (sequence, position, token id); return the normalized vectors of the wanted rows."""
        with self._lock:  # the decoder has one launch record
            if self._is_closed:
                raise HeadwayError("got a call of a closed model, expected an open one", hint="load the model again")
            return self._run_locked(rows, wanted, cache, logits)

    def _run_locked(
        self, rows: list[tuple[int, int, int]], wanted: list[int], cache: CompiledKVCache, logits: numpy.ndarray | None
    ) -> numpy.ndarray:
        launch, description = self._launch, self.description
        if len(rows) > self._buffers.num_tokens:
            num_tokens = min(round_up(len(rows), PADDED_TOKENS), round_up(TOKENS_PER_PASS, PADDED_TOKENS))
            self._buffers = _Buffers(num_tokens, self._widths(), self.weights.kind)
            self._fill_in_buffers()
        sequences, positions, token_ids = numpy.array(rows, numpy.int64).T.copy()
        slots = cache.slots[sequences]
        tasks, first_partials = _attention_tasks(sequences, positions, description.num_heads // description.num_kv_heads)
        partial_size = description.num_heads * (round_up(description.head_dim, NUM_ROWS) + 2)
        partials = numpy.empty(first_partials[-1] * partial_size, numpy.float32)
        wanted_rows = numpy.array(wanted, numpy.int64)
        hidden = numpy.empty((len(wanted), description.hidden_size), numpy.float32)
        cache.write_addresses(launch, self._layers)
        launch[layout.NUM_TOKENS], launch[layout.TOKEN_IDS] = len(rows), token_ids.ctypes.data
        launch[layout.POSITIONS], launch[layout.SEQUENCES] = positions.ctypes.data, slots.ctypes.data
        launch[layout.NUM_TASKS], launch[layout.TASKS] = len(tasks), tasks.ctypes.data
        launch[layout.FIRST_PARTIALS], launch[layout.PARTIALS] = first_partials.ctypes.data, partials.ctypes.data
        launch[layout.NUM_WANTED], launch[layout.WANTED] = len(wanted), wanted_rows.ctypes.data
        launch[layout.HIDDEN_OUT] = hidden.ctypes.data
        launch[layout.LOGITS] = 0 if logits is None or not wanted else logits.ctypes.data
        self._counters[:] = 0
        self._pool.run(self._forward_pass, launch)
        return hidden

    def _fill_in_model(self) -> None:
        launch, description = self._launch, self.description
        for index, layer in enumerate(self._layers):
            prefix = f"layers.{index}."
            for name, field in VECTORS.items():
                layer[field] = self._address(prefix + name)
            for name, field in MATRICES.items():
                layer[field : field + layout.MATRIX_SIZE] = self._record(prefix + name)
            layer[layout.WINDOW] = description.windows[index] or 0
        launch[layout.COUNTERS], launch[layout.LAYERS] = self._counters.ctypes.data, self._layers.ctypes.data
        launch[layout.FLOATS] = self._floats.ctypes.data
        launch[layout.NUM_LAYERS], launch[layout.HIDDEN_SIZE] = description.num_layers, description.hidden_size
        launch[layout.NUM_HEADS], launch[layout.NUM_KV_HEADS] = description.num_heads, description.num_kv_heads
        launch[layout.HEAD_DIM] = description.head_dim
        launch[layout.NORM], launch[layout.ACTIVATION] = NORMS[description.norm], ACTIVATIONS[description.activation]
        launch[layout.POSITION_TABLE] = self._address("position_embedding")
        launch[layout.EMBEDDING] = self._records["token_embedding"].ctypes.data
        launch[layout.HEAD] = self._records["output_head"].ctypes.data
        launch[layout.FINAL_NORM], launch[layout.FINAL_NORM_BIAS] = self._address("norm.weight"), self._address("norm.bias")

    def _record(self, name: str) -> list[int]:
        matrices, vectors = self.weights.matrices, self.weights.vectors
        matrix = matrices.get(name) or matrices.get(f"{name}.weight")
        return matrix.record(vectors.get(f"{name}.bias")) if matrix else NO_MATRIX

    def _address(self, name: str) -> int:
        vector = self.weights.vectors.get(name)
        return 0 if vector is None else vector.ctypes.data

    def _widths(self) -> dict[int, int]:
        """Return the number of columns of each kind of activations, by its field of the launch record."""
        description = self.description
        return {
            layout.NORMED_ACTIVATIONS: description.hidden_size,
            layout.ATTENDED_ACTIVATIONS: description.num_heads * description.head_dim,
            layout.INNER_ACTIVATIONS: description.intermediate_size,
        }

    def _fill_in_buffers(self) -> None:
        launch, description, buffers = self._launch, self.description, self._buffers
        queries, keys = description.num_heads * description.head_dim, description.num_kv_heads * description.head_dim
        fields = (layout.RESIDUAL, layout.QUERIES, layout.NEW_KEYS, layout.NEW_VALUES, layout.ATTENDED)
        for field, size in zip(fields, (description.hidden_size, queries, keys, keys, queries), strict=True):
            launch[field] = buffers.allocate(4 * buffers.num_tokens * size)
        for field, record in buffers.records.items():
            launch[field] = record.ctypes.data
        columns = round_up(max(self._widths().values()), GROUP)
        heads = max(ROWS_PER_TASK, description.num_heads // description.num_kv_heads)
        attention = heads * (10 * round_up(description.head_dim, NUM_ROWS) + 6 * KEYS_PER_BLOCK + 16)
        blocks = 4 * max(buffers.num_tokens, GROUPS_PER_TASK * layout.INT16_TOKENS) * NUM_ROWS
        product = 2 * NUM_ROWS * columns + 4 * (blocks + GROUP)
        launch[layout.SCRATCH_BYTES] = round_up(max(attention, product, 4 * columns), CACHE_LINE)
        launch[layout.SCRATCH] = buffers.allocate(int(launch[layout.SCRATCH_BYTES]) * self._pool.num_threads)


class _Buffers:
    """Memory for the activations of a pass of at most `num_tokens` tokens.

    records   by field of the launch record, the record of these activations
    """

    def __init__(self, num_tokens: int, widths: dict[int, int], kind: str) -> None:
        self.num_tokens = num_tokens
        self._allocated: list[numpy.ndarray] = []
        self.records: dict[int, numpy.ndarray] = {}
        for field, width in widths.items():
            columns, record = round_up(width, GROUP), numpy.zeros(layout.ACTIVATIONS_SIZE, numpy.int64)
            record[layout.X_COLUMNS], record[layout.X_KIND] = columns, KINDS[kind]
            if kind in ("int8", "int4"):
                groups = num_tokens * columns // GROUP
                for part, bytes_per_group in (
                    (layout.X_INT8, GROUP),
                    (layout.X_SCALES, 4),
                    (layout.X_SUMS, 4),
                    (layout.X_INT16, 2 * GROUP),
                    (layout.X_INT16_SCALES, 4),
                ):
                    record[part] = self.allocate(groups * bytes_per_group)
            else:
                record[layout.X_FLOATS] = self.allocate(4 * num_tokens * columns)
            self.records[field] = record

    def allocate(self, size: int) -> int:
        """Return the address of `size` zero bytes, which are freed together with this object."""
        self._allocated.append(aligned_zeros(size))
        return self._allocated[-1].ctypes.data


def _passes(token_ids: Sequence[Sequence[int]], lengths: numpy.ndarray) -> list[tuple[list[tuple[int, int, int]], list[int]]]:
    """Return the rows (sequence, position, token id) of each pass, and the indices of those that are the last of their sequence."""
    rows = [
        (sequence, int(lengths[sequence]) + index, token_id)
        for sequence, tokens in enumerate(token_ids)
        for index, token_id in enumerate(tokens)
    ]
    ends = numpy.cumsum([len(tokens) for tokens in token_ids]) - 1
    return [
        (rows[first : first + TOKENS_PER_PASS], [int(end) - first for end in ends if first <= end < first + TOKENS_PER_PASS])
        for first in range(0, len(rows), TOKENS_PER_PASS)
    ]


def _attention_tasks(sequences: numpy.ndarray, positions: numpy.ndarray, group_size: int) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Return the attention tasks of a pass, and for each row the index of its first partial result.

    A row that is alone in its sequence is split by keys; the rows of a longer run are computed several at a time.
    """
    tasks: list[tuple[int, int, int, int, int]] = []
    first_partials, num_partials, row, num_rows = [], 0, 0, len(sequences)
    max_rows = max(1, ROWS_PER_TASK // group_size)
    while row < num_rows:
        end = row + 1
        while end < num_rows and end - row < max_rows and sequences[end] == sequences[row]:
            end += 1
        num_keys = int(positions[end - 1]) + 1
        if end - row == 1 and num_keys > KEYS_PER_PARTIAL:
            first_partials.append(num_partials)
            for first in range(0, num_keys, KEYS_PER_PARTIAL):
                tasks.append((row, end, first, min(first + KEYS_PER_PARTIAL, num_keys), num_partials))
                num_partials += 1
        else:
            first_partials += [num_partials] * (end - row)
            tasks.append((row, end, 0, num_keys, -1))
        row = end
    return numpy.array(tasks, numpy.int64), numpy.array([*first_partials, num_partials], numpy.int64)
