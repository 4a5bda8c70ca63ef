"""A decoder whose forward passes are compiled code over packed weights: the twin of an architecture's hidden_states and logits."""

from __future__ import annotations

import threading
from array import array
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy

from headway.errors import HeadwayError, OptionError, expect_adapter
from headway.kernels.cpu import layout, records
from headway.kernels.cpu.activation_buffers import PADDED_TOKENS, Buffers, product_scratch_bytes
from headway.kernels.cpu.adapter_records import AdapterRecords
from headway.kernels.cpu.kv_cache import KINDS as CACHE_KINDS
from headway.kernels.cpu.kv_cache import PAGE_SIZE, PagedKVCache
from headway.kernels.cpu.layout import CACHE_LINE, GROUP, KEYS_PER_BLOCK, NUM_ROWS, ROWS_PER_TASK, TOKENS_PER_PASS, UPDATED_ROWS
from headway.kernels.cpu.model_records import ModelRecords
from headway.kernels.cpu.packing import aligned_zeros, round_up
from headway.kernels.cpu.pass_plan import Limits, PassPlan, Rows, SequenceRows, plan_pass
from headway.kernels.cpu.support import check_supported
from headway.kernels.cpu.thread_pool import Entry, ThreadPool
from headway.models.adapter import Update
from headway.models.spec import DecoderSpec, FeedForwardSpec, RotarySpec
from headway.trees import leaves

MIN_ROTARY = 1024
"""Minimum number of positions of the rotary tables, which are doubled when a text is longer."""


class CompiledDecoder:
    """A decoder whose forward passes are compiled code.

    spec         the parts of the layers: see headway.models.spec
    weights      the weight tree, with Packed matrices, and with norms, biases and learned positions in float32
    pool         the threads; they belong to the decoder, which closes them
    cache_kind   number format of keys and values: float32, bfloat16, int16 or int8

    A decoder that is no longer referenced frees its threads and memory; `close` does so at once.

    Errors   UnsupportedError for a decoder that the kernels do not support.
    """

    def __init__(self, spec: DecoderSpec, weights: Any, forward_pass: Entry, pool: ThreadPool, *, cache_kind: str = "float32") -> None:
        """Fill in the parts of the launch record that are the same for every pass."""
        check_supported(spec)
        self.spec, self.weights, self.cache_kind, attention = spec, weights, cache_kind, spec.layers[0].attention
        windows = [layer.attention.window for layer in spec.layers]
        self._limits = Limits(
            spec.vocab_size,
            spec.num_positions,
            max(window for window in windows if window) if all(windows) else None,
            attention.num_heads // attention.num_kv_heads,
        )
        self._forward_pass, self._pool, self._lock, self._is_closed = forward_pass, pool, threading.Lock(), False
        self._kind = _activation_kind(weights)
        self._kv_cache = PagedKVCache(spec, cache_kind)
        self._model = ModelRecords(spec, weights)
        self._launches = records.unset(records.LAUNCH)
        self._launch, self._launch_address = self._launches.view(numpy.int64), self._launches.ctypes.data
        self._partial_size = attention.num_heads * (round_up(attention.head_dim, NUM_ROWS) + NUM_ROWS)
        self._num_rotary, self._rotary = 0, dict[RotarySpec, tuple[numpy.ndarray, numpy.ndarray]]()
        self._adapters: dict[str, AdapterRecords] = {}
        self._update_counters = aligned_zeros(layout.UPDATE_COUNTERS_PER_LAYER * len(spec.layers) * CACHE_LINE)
        self._counters = aligned_zeros((layout.COUNTERS_PER_LAYER * len(spec.layers) + 4) * CACHE_LINE)
        self._buffers = Buffers(0, self._kind)
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

    @property
    def adapters(self) -> Collection[str]:
        """Names of the adapters."""
        return self._adapters

    def add_adapter(self, name: str, updates: Mapping[str, Update]) -> None:
        """Provide an adapter for later batches. Its updates are computed in float32 next to the packed matrices.

        updates   the updates by the path of the weight

        Errors   as AdapterRecords; OptionError for a name that it has; HeadwayError if the decoder is closed.
        """
        self._check_open()
        adapter = AdapterRecords(updates, self.weights)  # without the lock, so that passes run meanwhile
        with self._lock:
            self._check_open()
            if name in self._adapters:
                raise OptionError(f"got a second adapter named {name!r}, expected another name")
            self._adapters[name] = adapter
            self._buffers = Buffers(0, self._kind)  # passes with adapters need more

    def remove_adapter(self, name: str) -> None:
        """Free an adapter, which later batches cannot name.

        Errors   OptionError for an adapter that it does not have.
        """
        with self._lock:
            expect_adapter(name, self._adapters)
            del self._adapters[name]
            self._buffers = Buffers(0, self._kind)  # those of its rank

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
                 OptionError for an adapter that it does not have; HeadwayError for wrong pages, or if the decoder is closed.
        """
        with self._lock:  # the decoder has one launch record
            plan = self._plan(batch, self._kv_cache)
            logits = numpy.empty((len(plan.wanted), self.spec.vocab_size), numpy.float32)
            if plan.token_ids:
                self._launch_pass(plan, self._kv_cache, records.writable_address(logits) if plan.wanted else 0)
        return logits

    def hidden_states(self, token_ids: Sequence[int]) -> numpy.ndarray:
        """Return the normalized vectors (seq_len, hidden_size) of one text's tokens, the input of the output head."""
        kv_cache, hidden, num_pages = PagedKVCache(self.spec, self.cache_kind), [], -(-len(token_ids) // PAGE_SIZE)
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
            self.weights = None
            self._adapters = {}
            self._buffers = Buffers(0, self._kind)
            self._kv_cache = PagedKVCache(self.spec, self.cache_kind)

    def _check_open(self) -> None:
        if self._is_closed:
            raise HeadwayError("got a call of a closed model, expected an open one", hint="load the model again")

    def _plan(self, batch: Sequence[SequenceRows], kv_cache: PagedKVCache) -> PassPlan:
        self._check_open()
        return plan_pass(batch, self._limits, kv_cache.num_pages)

    def _launch_pass(self, plan: PassPlan, kv_cache: PagedKVCache, logits_address: int) -> None:
        """Run a pass; the normalized vectors of the wanted rows are in self._hidden."""
        launch, num_rows, num_partials = self._launch, len(plan.token_ids), plan.first_partials[-1]
        if num_rows > self._buffers.num_tokens:
            self._allocate_buffers(num_rows)
        if plan.num_positions > self._num_rotary:
            self._compute_rotary(plan.num_positions)
        pages, updates = kv_cache.addresses(plan.pages), self._row_updates(plan.adapters) if plan.adapters else None
        partials = numpy.empty(num_partials * self._partial_size, numpy.float32) if num_partials else None
        launch[layout.NUM_TOKENS], launch[layout.NUM_WANTED] = num_rows, len(plan.wanted)
        launch[layout.NUM_TASKS] = len(plan.tasks) // layout.TASK_SIZE
        launch[layout.TOKEN_IDS], launch[layout.POSITIONS] = _address(plan.token_ids), _address(plan.positions)
        launch[layout.PAGES], launch[layout.FIRST_PAGES] = _address(pages), _address(plan.first_pages)
        launch[layout.TASKS], launch[layout.FIRST_PARTIALS] = _address(plan.tasks), _address(plan.first_partials)
        launch[layout.PARTIALS] = 0 if partials is None else partials.ctypes.data
        launch[layout.WANTED], launch[layout.LOGITS] = _address(plan.wanted), logits_address
        launch[layout.ROW_UPDATES] = 0 if updates is None else _address(updates)
        self._counters.fill(0)
        records.check_set(self._launches)
        self._pool.run(self._forward_pass, launch, self._launch_address)

    def _row_updates(self, adapters: Sequence[str | None]) -> array[int]:
        """Return the address of the table of updates of each row, 0 for none, and prepare the pass for them."""
        for name in set(adapters):
            expect_adapter(name, self._adapters)
        self._update_counters.fill(0)
        return array("q", [0 if name is None else self._adapters[name].address for name in adapters])

    def _fill_in_model(self) -> None:
        launch = self._launches[0]
        self._model.fill_launch(launch, self.spec, self.weights)
        self._kv_cache.write_offsets(self._model.layers)
        launch["kv_kind"], launch["counters"] = CACHE_KINDS[self.cache_kind][0], self._counters.ctypes.data
        launch["update_counters"] = self._update_counters.ctypes.data

    def _compute_rotary(self, num_positions: int) -> None:
        """Compute the rotary tables of at least this number of positions."""
        self._num_rotary = max(MIN_ROTARY, 1 << (num_positions - 1).bit_length())
        self._rotary = {rotary: rotary.tables(self._num_rotary) for rotary in self.spec.rotary_specs}
        for record, layer in zip(self._model.layers, self.spec.layers, strict=True):
            if layer.attention.rotary:
                record["cosines"], record["sines"] = (table.ctypes.data for table in self._rotary[layer.attention.rotary])

    def _allocate_buffers(self, num_rows: int) -> None:
        """Allocate the activations of passes of at least this number of rows."""
        num_tokens = min(round_up(max(num_rows, 2 * self._buffers.num_tokens), PADDED_TOKENS), round_up(self.max_rows, PADDED_TOKENS))
        spec, launch, attention = self.spec, self._launches[0], self.spec.layers[0].attention
        hidden, queries, keys = spec.hidden_size, attention.num_heads * attention.head_dim, attention.num_kv_heads * attention.head_dim
        self._buffers = buffers = Buffers(num_tokens, self._kind)
        launch["normed_activations"] = buffers.activations(num_tokens, hidden)
        launch["attended_activations"] = buffers.activations(num_tokens, queries)
        inner = {
            each: buffers.activations(_num_slots(each, num_tokens), each.intermediate_size)
            for each in {layer.feed_forward for layer in spec.layers}
        }
        for record, layer in zip(self._model.layers, spec.layers, strict=True):
            record["inner_activations"] = inner[layer.feed_forward]
        records.check_set(self._model.layers)
        self._allocate_slots(num_tokens)
        self._allocate_updates(num_tokens)
        sizes = {"residual": hidden, "queries": queries, "new_keys": keys, "new_values": keys, "attended": queries, "part_output": hidden}
        for name, size in sizes.items():
            launch[name] = buffers.allocate(4 * num_tokens * size).ctypes.data
        self._hidden = buffers.allocate(4 * num_tokens * hidden).view(numpy.float32).reshape(num_tokens, -1)
        launch["hidden_out"] = self._hidden.ctypes.data
        launch["scratch_bytes"] = size = self._scratch_bytes(
            num_tokens, round_up(max(hidden, queries, *(each.intermediate_size for each in inner)), GROUP)
        )
        launch["scratch"] = buffers.allocate(size * self._pool.num_threads).ctypes.data

    def _allocate_slots(self, num_tokens: int) -> None:
        """Allocate what a mixture of experts needs: see experts."""
        launch, mixtures = self._launches[0], {layer.feed_forward for layer in self.spec.layers if layer.feed_forward.experts}
        slots = max((_num_slots(each, num_tokens) for each in mixtures), default=0)
        top_k = max((each.experts.top_k for each in mixtures if each.experts), default=0)
        num_experts = max((each.experts.num_experts for each in mixtures if each.experts), default=0)
        launch["expert_activations"] = self._buffers.activations(slots, self.spec.hidden_size)
        sizes = {"chosen": 8 * num_tokens * top_k, "slots": 8 * num_tokens * top_k, "shares": 4 * num_tokens * top_k}
        sizes |= {"slot_ranges": 16 * num_experts, "slot_output": 4 * slots * self.spec.hidden_size}
        for name, size in sizes.items():
            launch[name] = self._buffers.allocate(size).ctypes.data

    def _allocate_updates(self, num_tokens: int) -> None:
        """Allocate what passes with adapters need: see records.LAUNCH."""
        launch = self._launches[0]
        rank = max((each.max_rank for each in self._adapters.values()), default=0)
        inner = max(layer.feed_forward.intermediate_size for layer in self.spec.layers) if self._adapters else 0
        launch["max_rank"] = rank
        for name, size in {"reduced": 3 * rank, "gates": inner, "ups": inner}.items():
            launch[name] = self._buffers.allocate(4 * num_tokens * size).ctypes.data

    def _scratch_bytes(self, num_tokens: int, columns: int) -> int:
        """Return the scratch memory of a thread for attention and for products with this number of columns."""
        attention = self.spec.layers[0].attention
        heads = max(ROWS_PER_TASK, attention.num_heads // attention.num_kv_heads)
        attended = heads * (14 * round_up(attention.head_dim, NUM_ROWS) + 8 * NUM_ROWS + 6 * KEYS_PER_BLOCK + 8)
        experts = max((layer.feed_forward.experts.num_experts for layer in self.spec.layers if layer.feed_forward.experts), default=0)
        return round_up(max(attended, product_scratch_bytes(num_tokens, columns), 4 * experts, 4 * columns, 4 * UPDATED_ROWS), CACHE_LINE)


def _address(numbers: array[int]) -> int:
    return numbers.buffer_info()[0]


def _num_slots(feed_forward: FeedForwardSpec, num_tokens: int) -> int:
    """Return the number of rows of a feed-forward network's activations."""
    experts = feed_forward.experts
    return num_tokens if experts is None else num_tokens * experts.top_k + layout.SLOTS_PER_TILE * experts.num_experts


def _activation_kind(weights: Any) -> str:
    """Return the kind of matrix that activations are prepared for: int8 if there is one, because int4 matrices need less of them."""
    has_int8 = any(leaf.dtype == numpy.int8 for _, leaf in leaves(weights))
    return "int8" if has_int8 else str(weights.output_head.kind)
