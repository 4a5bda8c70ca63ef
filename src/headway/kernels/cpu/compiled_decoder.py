"""A decoder whose forward passes are compiled code over packed weights: the twin of an architecture's hidden_states and logits."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from typing import Any

import numpy

from headway.errors import HeadwayError
from headway.kernels.cpu import layout
from headway.kernels.cpu.kv_cache import KINDS as CACHE_KINDS
from headway.kernels.cpu.kv_cache import PAGE_SIZE, PagedKVCache
from headway.kernels.cpu.layout import (
    CACHE_LINE,
    GROUP,
    GROUPS_PER_TASK,
    KEYS_PER_BLOCK,
    NUM_ROWS,
    ROWS_PER_TASK,
    TOKENS_PER_PASS,
)
from headway.kernels.cpu.packing import KINDS, NO_MATRIX, PackedWeights, aligned_zeros, round_up
from headway.kernels.cpu.pass_plan import Limits, PassPlan, Rows, SequenceRows, plan_pass
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
MIN_ROTARY = 1024
"""Minimum number of positions of the rotary tables, which are doubled when a text is longer."""
ROW_FIELDS = (layout.TOKEN_IDS, layout.POSITIONS, layout.FIRST_PAGES, layout.WANTED, layout.FIRST_PARTIALS)
"""The fields of the launch record with numbers per row, in the order of PassPlan.rows."""


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
        positions, windows = weights.vectors.get("position_embedding"), description.windows
        self._limits = Limits(
            self.vocab_size,
            None if positions is None else len(positions),
            max(windows) if all(windows) else None,
            description.num_heads // description.num_kv_heads,
        )
        self._forward_pass, self._pool, self._lock, self._is_closed = forward_pass, pool, threading.Lock(), False
        self._kv_cache = PagedKVCache(description, cache_kind)
        self._launch = numpy.zeros(layout.LAUNCH_SIZE, numpy.int64)
        self._layers = numpy.zeros((description.num_layers, layout.LAYER_SIZE), numpy.int64)
        self._rows = numpy.zeros((len(ROW_FIELDS), self.max_rows + 1), numpy.int64)
        self._partial_size = description.num_heads * (round_up(description.head_dim, NUM_ROWS) + NUM_ROWS)
        self._num_rotary: float = math.inf if description.rotary is None else 0
        self._floats = numpy.array([description.eps, *description.scales], numpy.float32)
        self._records = {name: numpy.array(self._record(name), numpy.int64) for name in ("token_embedding", "output_head")}
        self._counters = aligned_zeros((layout.COUNTERS_PER_LAYER * description.num_layers + 3) * CACHE_LINE)
        self._buffers = _Buffers(0, self._widths(), weights.kind)
        self._fill_in_model()

    @property
    def max_rows(self) -> int:
        """Maximum number of tokens in a pass."""
        return TOKENS_PER_PASS

    @property
    def page_size(self) -> int:
        """Number of tokens in a page of the KV cache."""
        return PAGE_SIZE

    @property
    def page_bytes(self) -> int:
        """Size of a page in all layers."""
        return self._kv_cache.page_bytes

    @property
    def window(self) -> int | None:
        """Number of positions that every layer is limited to; None if a layer attends to all positions."""
        return self._limits.window

    def allocate(self, num_pages: int) -> None:
        """Provide the pages 0 to num_pages - 1 of the KV cache, keeping those that exist with their content.

        Memory that no token has reached is not taken from the system.

        Errors   ResourceError if there is not enough memory.
        """
        with self._lock:
            self._kv_cache.allocate(num_pages)

    def copy_page(self, source: int, target: int) -> None:
        """Copy the content of a page.

        Errors   HeadwayError for a page that does not exist.
        """
        with self._lock:
            self._kv_cache.copy_page(source, target)

    def release(self, sequence_ids: Sequence[int]) -> None:
        """Do nothing: the pages belong to the caller."""

    def run(self, batch: Sequence[SequenceRows]) -> numpy.ndarray:
        """Append the tokens of a batch to the KV cache; return the wanted logits, (sum of num_wanted, vocab_size), in the order of the batch.

        The logits of a row depend on the tokens of its sequence alone: not on the other rows of the pass, on how the tokens are divided
        into passes, on the pages, or on the number of threads.

        Errors   PromptError for no tokens, more than max_rows, or positions out of range; TokenIdError for an id out of range;
                 HeadwayError for wrong pages, or if the decoder is closed.
        """
        return self._run(batch, self._kv_cache)

    def hidden_states(self, token_ids: Sequence[int]) -> numpy.ndarray:
        """Return the normalized vectors (seq_len, hidden_size) of one text's tokens, the input of the output head."""
        kv_cache, hidden, num_pages = PagedKVCache(self.description, self.cache_kind), [], -(-len(token_ids) // PAGE_SIZE)
        kv_cache.allocate(num_pages)
        for first in range(0, len(token_ids) or 1, self.max_rows):
            chunk = token_ids[first : first + self.max_rows]
            with self._lock:
                self._launch_pass(self._plan([Rows(first, chunk, range(num_pages), len(chunk))], kv_cache), kv_cache, 0)
                hidden.append(self._hidden[: len(chunk)].copy())
        return numpy.concatenate(hidden)

    def close(self) -> None:
        """End the threads and release the weights, which unmaps their file. A closed decoder can be closed again, but not run."""
        with self._lock:
            self._is_closed = True
            self._pool.close()
            self.weights = PackedWeights(self.weights.kind, {}, {})
            self._buffers = _Buffers(0, {}, self.weights.kind)
            self._kv_cache = PagedKVCache(self.description, self.cache_kind)

    def _run(self, batch: Sequence[SequenceRows], kv_cache: PagedKVCache) -> numpy.ndarray:
        with self._lock:  # the decoder has one launch record
            plan = self._plan(batch, kv_cache)
            logits = numpy.empty((len(plan.wanted), self.vocab_size), numpy.float32)
            if plan.token_ids:
                self._launch_pass(plan, kv_cache, logits.ctypes.data if plan.wanted else 0)
        return logits

    def _plan(self, batch: Sequence[SequenceRows], kv_cache: PagedKVCache) -> PassPlan:
        if self._is_closed:
            raise HeadwayError("got a call of a closed model, expected an open one", hint="load the model again")
        return plan_pass(batch, self._limits, kv_cache.num_pages)

    def _launch_pass(self, plan: PassPlan, kv_cache: PagedKVCache, logits_address: int) -> None:
        """Run a pass; the normalized vectors of the wanted rows are in self._hidden."""
        launch, num_rows, num_partials = self._launch, len(plan.positions), plan.first_partials[-1]
        if num_rows > self._buffers.num_tokens:
            self._allocate_buffers(num_rows)
        if max(plan.positions) >= self._num_rotary:
            self._compute_rotary(max(plan.positions) + 1)
        for row, values in zip(self._rows, plan.rows, strict=True):
            row[: len(values)] = values
        pages, tasks = kv_cache.addresses(plan.pages), numpy.array(plan.tasks, numpy.int64)
        partials = numpy.empty(num_partials * self._partial_size, numpy.float32) if num_partials else None
        launch[layout.NUM_TOKENS], launch[layout.NUM_WANTED] = num_rows, len(plan.wanted)
        launch[layout.PAGES], launch[layout.LOGITS] = pages.ctypes.data, logits_address
        launch[layout.NUM_TASKS], launch[layout.TASKS] = len(tasks), tasks.ctypes.data
        launch[layout.PARTIALS] = 0 if partials is None else partials.ctypes.data
        self._counters[:] = 0
        self._pool.run(self._forward_pass, launch)

    def _fill_in_model(self) -> None:
        launch, description = self._launch, self.description
        for index, layer in enumerate(self._layers):
            prefix = f"layers.{index}."
            for name, field in VECTORS.items():
                layer[field] = self._address(prefix + name)
            for name, field in MATRICES.items():
                layer[field : field + layout.MATRIX_SIZE] = self._record(prefix + name)
            layer[layout.WINDOW] = description.windows[index] or 0
        self._kv_cache.write_offsets(self._layers)
        for row, field in zip(self._rows, ROW_FIELDS, strict=True):
            launch[field] = row.ctypes.data
        launch[layout.KV_KIND] = CACHE_KINDS[self.cache_kind][0]
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

    def _compute_rotary(self, num_positions: int) -> None:
        """Compute the rotary tables of at least this number of positions."""
        assert self.description.rotary is not None
        self._num_rotary = max(MIN_ROTARY, 1 << (num_positions - 1).bit_length())
        self._rotary = [numpy.ascontiguousarray(table, numpy.float32) for table in self.description.rotary(self._num_rotary)]
        self._launch[layout.COSINES], self._launch[layout.SINES] = (table.ctypes.data for table in self._rotary)

    def _widths(self) -> dict[int, int]:
        """Return the number of columns of each kind of activations, by its field of the launch record."""
        description = self.description
        return {
            layout.NORMED_ACTIVATIONS: description.hidden_size,
            layout.ATTENDED_ACTIVATIONS: description.num_heads * description.head_dim,
            layout.INNER_ACTIVATIONS: description.intermediate_size,
        }

    def _allocate_buffers(self, num_rows: int) -> None:
        """Allocate the activations of passes of at least this number of rows."""
        num_tokens = min(round_up(max(num_rows, 2 * self._buffers.num_tokens), PADDED_TOKENS), round_up(self.max_rows, PADDED_TOKENS))
        self._buffers = buffers = _Buffers(num_tokens, self._widths(), self.weights.kind)
        launch, description = self._launch, self.description
        queries, keys = description.num_heads * description.head_dim, description.num_kv_heads * description.head_dim
        fields = (layout.RESIDUAL, layout.QUERIES, layout.NEW_KEYS, layout.NEW_VALUES, layout.ATTENDED)
        for field, size in zip(fields, (description.hidden_size, queries, keys, keys, queries), strict=True):
            launch[field] = buffers.allocate(4 * num_tokens * size).ctypes.data
        for field, record in buffers.records.items():
            launch[field] = record.ctypes.data
        self._hidden = buffers.allocate(4 * num_tokens * description.hidden_size).view(numpy.float32).reshape(num_tokens, -1)
        launch[layout.HIDDEN_OUT] = self._hidden.ctypes.data
        columns = round_up(max(self._widths().values()), GROUP)
        heads = max(ROWS_PER_TASK, description.num_heads // description.num_kv_heads)
        attention = heads * (14 * round_up(description.head_dim, NUM_ROWS) + 8 * NUM_ROWS + 6 * KEYS_PER_BLOCK + 8)
        blocks = 4 * max(num_tokens, GROUPS_PER_TASK * layout.INT16_TOKENS) * NUM_ROWS
        product = 2 * NUM_ROWS * columns + 4 * (blocks + GROUP)
        launch[layout.SCRATCH_BYTES] = round_up(max(attention, product, 4 * columns), CACHE_LINE)
        launch[layout.SCRATCH] = buffers.allocate(int(launch[layout.SCRATCH_BYTES]) * self._pool.num_threads).ctypes.data


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
                    record[part] = self.allocate(groups * bytes_per_group).ctypes.data
            else:
                record[layout.X_FLOATS] = self.allocate(4 * num_tokens * columns).ctypes.data
            self.records[field] = record

    def allocate(self, size: int) -> numpy.ndarray:
        """Return `size` zero bytes, which are freed together with this object."""
        self._allocated.append(aligned_zeros(size))
        return self._allocated[-1]
