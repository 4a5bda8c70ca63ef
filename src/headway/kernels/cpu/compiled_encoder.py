"""An encoder whose passes are compiled code over packed weights: the twin of an architecture's encode."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import numpy

from headway.errors import HeadwayError, PromptError, TokenIdError, UnsupportedError
from headway.functions import relative_position_bias
from headway.kernels.cpu import layout, records
from headway.kernels.cpu.activation_buffers import PADDED_TOKENS, Buffers, product_scratch_bytes
from headway.kernels.cpu.layout import CACHE_LINE, GROUP, NUM_ROWS, QUERIES_PER_CHUNK
from headway.kernels.cpu.model_records import ACTIVATIONS, fill_attention, fill_norm, linear_record
from headway.kernels.cpu.packing import address, aligned_zeros, matrix_record, round_up
from headway.kernels.cpu.thread_pool import Entry, ThreadPool
from headway.models.encoder_spec import EncoderLayerSpec, EncoderSpec

TOKENS_PER_PASS = 1024
"""Number of tokens of a pass, unless a text is longer: their activations stay in the caches."""
UNUSED_OF_LAYERS = (
    *("keys", "values", "key_scales", "value_scales"),
    *("num_experts", "top_k", "is_normalized", "router", "experts", "expert_size"),
)
UNUSED = (
    *("logit_scale", "logit_soft_cap", "embedding_scale"),
    *("expert_activations", "chosen", "shares", "slots", "slot_ranges", "slot_output"),
    *("row_updates", "max_rank", "reduced", "gates", "ups", "update_counters"),
    *(
        "head",
        "kv_kind",
        "pages",
        "first_pages",
        "first_partials",
        "partials",
        "part_output",
        "num_wanted",
        "wanted",
        "hidden_out",
        "logits",
    ),
)
"""Fields of the records of layers and of the launch record that only decoders use."""


def check_encoder_supported(spec: EncoderSpec) -> None:
    """Raise UnsupportedError for an encoder that the kernels do not support."""
    attentions = {(layer.attention.num_heads, layer.attention.head_dim) for layer in spec.layers}
    norms = {getattr(layer, name) for layer in spec.layers for name in NORMS} | {spec.embedding_norm, spec.norm}
    unsupported = {
        "layers of different sizes": len(attentions) > 1 or len({layer.feed_forward for layer in spec.layers}) > 1,
        "several kinds of norms": len({(norm.kind, norm.eps) for norm in norms if norm}) > 1 or spec.embedding_norm.kind != "layer_norm",
        "rotary positions of a part of each head": any(
            layer.attention.rotary and layer.attention.rotary.dim != layer.attention.head_dim for layer in spec.layers
        ),
    }
    found = [part for part, is_there in unsupported.items() if is_there]
    if found:
        raise UnsupportedError(f"got an encoder with {', '.join(found)}, expected one that the compiled kernels support")


NORMS = ("attention_norm", "attention_sum_norm", "feed_forward_norm", "feed_forward_sum_norm")


class CompiledEncoder:
    """An encoder whose passes are compiled code. Texts of any lengths are computed together, without padding.

    spec      the parts of the layers: see headway.models.encoder_spec
    weights   the weight tree, with Packed matrices, and with norms, biases, learned positions and the position bias in float32
    pool      the threads; they belong to the encoder, which closes them

    An encoder that is no longer referenced frees its threads and memory; `close` does so at once.

    Errors   UnsupportedError for an encoder that the kernels do not support.
    """

    def __init__(self, spec: EncoderSpec, weights: Any, encoder_pass: Entry, pool: ThreadPool, *, max_seq_len: int) -> None:
        """Fill in the parts of the launch record that are the same for every pass."""
        check_encoder_supported(spec)
        self.spec, self.weights, self.max_seq_len = spec, weights, max_seq_len
        self._encoder_pass, self._pool, self._lock, self._is_closed = encoder_pass, pool, threading.Lock(), False
        self._kind: str = weights.layers[0].attention.query.weight.kind
        self._embedding, self._types = matrix_record(weights.token_embedding), matrix_record(weights.token_type_embedding)
        self._layers = records.unset(records.LAYER, len(spec.layers))
        self._launches = records.unset(records.ENCODER)
        self._counters = aligned_zeros((1 + layout.COUNTERS_PER_LAYER * len(spec.layers)) * CACHE_LINE)
        self._buffers, self._longest = Buffers(0, self._kind), 0
        for record, layer, layer_weights in zip(self._layers, spec.layers, weights.layers, strict=True):
            _fill_layer(record, layer, layer_weights)
        self._fill_in_model()

    def encode(self, texts: Sequence[Sequence[int]], token_types: Sequence[Sequence[int]] | None = None) -> list[numpy.ndarray]:
        """Return the hidden states of each text, (seq_len, hidden_size) in float32.

        token_types   0 for the tokens of a first text, 1 for those of a second; all 0 by default

        The result of a text does not depend on the other texts, or on the number of threads.

        Errors   PromptError for a text without tokens, or with more than max_seq_len; TokenIdError for a token or a type out of range;
                 HeadwayError if the encoder is closed.
        """
        types = [[0] * len(text) for text in texts] if token_types is None else token_types
        self._check(texts, types)
        results: list[numpy.ndarray] = []
        with self._lock:  # the encoder has one launch record
            if self._is_closed:
                raise HeadwayError("got a call of a closed model, expected an open one", hint="load the model again")
            for first, last in _passes([len(text) for text in texts]):
                results += self._run(texts[first:last], types[first:last])
        return results

    def close(self) -> None:
        """End the threads and release the weights, which unmaps their file. A closed encoder can be closed again, but not run."""
        with self._lock:
            self._is_closed = True
            self._pool.close()
            self.weights, self._buffers = None, Buffers(0, self._kind)

    def _check(self, texts: Sequence[Sequence[int]], types: Sequence[Sequence[int]]) -> None:
        for text, text_types in zip(texts, types, strict=True):
            if not 0 < len(text) <= self.max_seq_len:
                raise PromptError(f"got a text of {len(text)} tokens, expected 1 to {self.max_seq_len}", hint="shorten the text")
            for values, size in ((text, self.spec.vocab_size), (text_types, self.spec.num_token_types or 1)):
                if len(values) != len(text) or min(values) < 0 or max(values) >= size:
                    raise TokenIdError(
                        f"got {len(values)} ids from {min(values, default=0)} to {max(values, default=0)} for {len(text)} tokens, "
                        f"expected 0 to {size - 1}",
                        hint="use the tokenizer of this model",
                    )

    def _run(self, texts: Sequence[Sequence[int]], types: Sequence[Sequence[int]]) -> list[numpy.ndarray]:
        launch, lengths = self._launches[0], [len(text) for text in texts]
        starts = numpy.cumsum([0, *lengths])
        if starts[-1] > self._buffers.num_tokens or max(lengths) > self._longest:
            self._allocate_buffers(int(starts[-1]), max(lengths))
        self._buffers.select_forms(int(starts[-1]))
        rows = {
            "token_ids": numpy.concatenate([numpy.asarray(text, numpy.int64) for text in texts]),
            "token_types": numpy.concatenate([numpy.asarray(text, numpy.int64) for text in types]),
            "positions": numpy.concatenate([numpy.arange(length) + self.spec.first_position for length in lengths]),
        }
        tasks = numpy.zeros(len(texts), records.TASK)
        tasks["first_row"], tasks["last_row"] = starts[:-1], starts[1:]
        for name, values in rows.items():
            launch[name] = values.ctypes.data
        launch["num_tokens"], launch["num_tasks"], launch["tasks"] = starts[-1], len(texts), tasks.ctypes.data
        records.check_set(self._launches)
        self._counters[:] = 0
        self._pool.run(self._encoder_pass, self._launches.view(numpy.int64))
        return [self._residual[start:end].copy() for start, end in itertools.pairwise(starts)]

    def _fill_in_model(self) -> None:
        launch, spec, weights, first = self._launches[0], self.spec, self.weights, self.spec.layers[0]
        for name in UNUSED:
            launch[name] = 0
        launch["num_layers"], launch["layers"], launch["counters"] = len(spec.layers), self._layers.ctypes.data, self._counters.ctypes.data
        launch["hidden_size"], launch["head_dim"] = spec.hidden_size, first.attention.head_dim
        launch["num_heads"] = launch["num_kv_heads"] = first.attention.num_heads
        launch["norm"], launch["eps"] = layout.LAYER_NORM, spec.embedding_norm.eps
        launch["activation"] = ACTIVATIONS[first.feed_forward.activation]
        launch["position_table"], launch["embedding"] = address(weights.position_embedding), address(self._embedding)
        launch["type_table"] = address(self._types) if spec.num_token_types else 0
        fill_norm(launch, "embedding_norm", weights.embedding_norm)
        fill_norm(launch, "final_norm", weights.norm)

    def _allocate_buffers(self, num_rows: int, longest: int) -> None:
        """Allocate the activations of passes of at least this number of rows, and the tables for texts of this number of tokens."""
        num_tokens = round_up(max(num_rows, self._buffers.num_tokens, min(2 * num_rows, TOKENS_PER_PASS)), PADDED_TOKENS)
        self._longest = min(max(1 << (longest - 1).bit_length(), self._longest), max(self.max_seq_len, 1))
        self._compute_tables()
        spec, launch, first = self.spec, self._launches[0], self.spec.layers[0]
        size, inner = first.attention.num_heads * first.attention.head_dim, first.feed_forward.intermediate_size
        self._buffers = buffers = Buffers(num_tokens, self._kind)
        launch["normed_activations"] = buffers.activations(num_tokens, spec.hidden_size)
        launch["attended_activations"] = buffers.activations(num_tokens, size)
        self._layers["inner_activations"] = buffers.activations(num_tokens, inner, is_written_in_parts=True)
        records.check_set(self._layers)
        for name in ("queries", "new_keys", "new_values", "attended"):
            launch[name] = buffers.allocate(4 * num_tokens * round_up(size, NUM_ROWS)).ctypes.data
        residual = buffers.allocate(4 * num_tokens * spec.hidden_size)
        self._residual = residual.view(numpy.float32).reshape(num_tokens, -1)
        launch["residual"], launch["longest"] = residual.ctypes.data, self._longest
        launch["scratch_bytes"] = scratch = self._scratch_bytes(num_tokens, round_up(max(spec.hidden_size, size, inner), GROUP))
        launch["scratch"] = buffers.allocate(scratch * self._pool.num_threads).ctypes.data

    def _compute_tables(self) -> None:
        """Compute the rotary tables and the position biases of texts of at most self._longest tokens."""
        longest, spec = self._longest, self.spec
        kinds = {layer.attention.rotary for layer in spec.layers}
        self._rotary = {rotary: rotary.tables(longest) for rotary in kinds if rotary}
        for record, layer in zip(self._layers, spec.layers, strict=True):
            if layer.attention.rotary:
                record["cosines"], record["sines"] = (table.ctypes.data for table in self._rotary[layer.attention.rotary])
        self._bias = None
        if spec.num_position_buckets is not None:
            table = numpy.asarray(self.weights.position_bias, numpy.float32)
            bias = relative_position_bias(table, 1, 2 * longest - 1, offset=longest - 1)
            self._bias = numpy.ascontiguousarray(bias[:, 0])
        self._launches[0]["position_bias"] = address(self._bias)

    def _scratch_bytes(self, num_tokens: int, columns: int) -> int:
        """Return the scratch memory of a thread for attention and for products with this number of columns."""
        padded, keys = round_up(self.spec.layers[0].attention.head_dim, NUM_ROWS), round_up(self._longest, NUM_ROWS)
        attention = 4 * (2 * padded * keys + QUERIES_PER_CHUNK * (2 * padded + keys + 1))
        return round_up(max(attention, product_scratch_bytes(num_tokens, columns)), CACHE_LINE)


def _fill_layer(record: Any, layer: EncoderLayerSpec, weights: Any) -> None:
    fill_norm(record, "attention_norm", weights.attention_norm)
    fill_norm(record, "attention_output_norm", weights.attention_sum_norm)
    fill_norm(record, "feed_forward_norm", weights.feed_forward_norm)
    fill_norm(record, "feed_forward_output_norm", weights.feed_forward_sum_norm)
    fill_attention(record, layer.attention, weights.attention)
    for name in ("gate", "up", "down"):
        record[name] = linear_record(getattr(weights.feed_forward, name, None))
    record["residual_scale"] = 1.0
    for name in UNUSED_OF_LAYERS:
        record[name] = 0


def _passes(lengths: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield ranges of consecutive texts with at most TOKENS_PER_PASS tokens, or one text each."""
    first, num_tokens = 0, 0
    for index, length in enumerate(lengths):
        if index > first and num_tokens + length > TOKENS_PER_PASS:
            yield first, index
            first, num_tokens = index, 0
        num_tokens += length
    if lengths:
        yield first, len(lengths)
