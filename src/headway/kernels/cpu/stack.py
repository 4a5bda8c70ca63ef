"""A decoder of packed weights: the twin of an architecture's hidden_states and logits together, one compiled call per pass."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy

from headway.errors import PromptError, TokenIdError
from headway.kernels.cpu import layout as at
from headway.kernels.cpu.cache import Cache, cache_bytes
from headway.kernels.cpu.layout import (
    CACHE_LINE,
    GROUP,
    GROUPS_AT_ONCE,
    KEYS_AT_ONCE,
    KEYS_OF_A_PART,
    NUM_ROWS,
    ROWS_AT_ONCE,
    TOKENS_AT_ONCE,
)
from headway.kernels.cpu.memory_check import check_memory
from headway.kernels.cpu.packing import KINDS, NOTHING, Packed, aligned_zeros, whole
from headway.kernels.cpu.team import Entry, Team

NORMS = {"layer_norm": at.LAYER_NORM, "rms_norm": at.RMS_NORM}
ACTIVATIONS = {"silu": at.SILU, "gelu": at.GELU, "gelu_tanh": at.GELU_TANH, "relu": at.RELU}
MATRICES = {
    "attention.query": at.QUERY,
    "attention.key": at.KEY,
    "attention.value": at.VALUE,
    "attention.output": at.OUTPUT,
    "feed_forward.gate": at.GATE,
    "feed_forward.up": at.UP,
    "feed_forward.down": at.DOWN,
}
VECTORS = {
    "attention_norm.weight": at.ATTENTION_NORM,
    "attention_norm.bias": at.ATTENTION_NORM_BIAS,
    "feed_forward_norm.weight": at.FEED_FORWARD_NORM,
    "feed_forward_norm.bias": at.FEED_FORWARD_NORM_BIAS,
    "attention.query_norm.weight": at.QUERY_NORM,
    "attention.key_norm.weight": at.KEY_NORM,
}


@dataclass(frozen=True)
class PackedWeights:
    """A decoder's weights by their path in the tree, such as layers.3.attention.query.weight.

    kind      that of every matrix
    matrices  the packed ones; output_head may be the very token_embedding
    vectors   norms, biases and the table of learned positions, float32
    """

    kind: str
    matrices: dict[str, Packed]
    vectors: dict[str, numpy.ndarray]

    @property
    def num_bytes(self) -> int:
        """What all of it takes."""
        matrices = {id(matrix): matrix.num_bytes for matrix in self.matrices.values()}
        return sum(matrices.values()) + sum(vector.nbytes for vector in self.vectors.values())


class Stack:
    """A decoder whose passes are compiled code.

    description  the architecture's own, see headway.models.stack
    cache_kind   how keys and values are kept: float32, bfloat16, int16 or int8
    """

    def __init__(self, description: Any, weights: PackedWeights, run: Entry, team: Team, *, cache_kind: str = "float32") -> None:
        """Lay out what does not change from pass to pass."""
        self.description, self.weights, self.cache_kind = description, weights, cache_kind
        self._run, self._team, self._lock = run, team, threading.Lock()
        self._plan = numpy.zeros(at.PLAN_SIZE, numpy.int64)
        self._layers = numpy.zeros((description.num_layers, at.LAYER_SIZE), numpy.int64)
        self._floats = numpy.array([description.eps, *description.scales], numpy.float32)
        self._records = {name: numpy.array(self._record(name), numpy.int64) for name in ("token_embedding", "output_head")}
        self._counters = aligned_zeros((at.COUNTERS_PER_LAYER * description.num_layers + 3) * CACHE_LINE)
        self._room = _Room(0, self._sizes(), weights.kind)
        self._lay_out()

    def new_cache(self, num_sequences: int, max_seq_len: int) -> Cache:
        """An empty cache for so many sequences of so many tokens each."""
        size = cache_bytes(self.description, num_sequences, max_seq_len, self.cache_kind)
        check_memory(size, f"keys and values of {num_sequences} x {max_seq_len} tokens")
        return Cache(self.description, num_sequences, max_seq_len, self.cache_kind)

    def next_logits(self, token_ids: Sequence[Sequence[int]], cache: Cache) -> numpy.ndarray:
        """Read some more tokens of every sequence: the logits (num_sequences, vocab_size) behind the last of each.

        Errors   PromptError where the cache or the model's positions have no room for them, or a sequence brings none; TokenIdError for
                 an id out of range.
        """
        self._check(token_ids, cache)
        logits, done = numpy.empty((len(token_ids), self.weights.matrices["output_head"].rows), numpy.float32), 0
        for rows, wanted in _passes(token_ids, cache.lengths):
            self._pass(rows, wanted, cache, logits[done : done + len(wanted)])
            done += len(wanted)
        cache.lengths += numpy.array([len(tokens) for tokens in token_ids])
        return logits

    def hidden_states(self, token_ids: Sequence[int]) -> numpy.ndarray:
        """The vectors (seq_len, hidden_size) of one text's tokens, below the output head."""
        cache, hidden = self.new_cache(1, len(token_ids)), []
        self._check([token_ids], cache)
        for rows, _ in _passes([token_ids], cache.lengths):
            hidden.append(self._pass(rows, list(range(len(rows))), cache, None))
        return numpy.concatenate(hidden)

    def _check(self, token_ids: Sequence[Sequence[int]], cache: Cache) -> None:
        """Compiled code trusts what it is given: nothing wrong may come to it."""
        table = self.weights.vectors.get("position_embedding")
        limit = cache.max_seq_len if table is None else min(cache.max_seq_len, len(table))
        vocab_size = self.weights.matrices["token_embedding"].rows
        if len(token_ids) != len(cache.lengths):
            raise PromptError(f"came: tokens for {len(token_ids)} sequences; expected: for {len(cache.lengths)}, as many as the cache has")
        for length, tokens in zip(cache.lengths, token_ids, strict=True):
            if not len(tokens) or length + len(tokens) > limit:
                raise PromptError(f"came: {len(tokens)} tokens behind {length}; expected: at least 1, and at most {limit} in all")
            if min(tokens) < 0 or max(tokens) >= vocab_size:
                raise TokenIdError(f"came: token ids from {min(tokens)} to {max(tokens)}; expected: 0 to {vocab_size - 1}")

    def _pass(self, rows: list[tuple[int, int, int]], wanted: list[int], cache: Cache, logits: numpy.ndarray | None) -> numpy.ndarray:
        """One call: rows are (sequence, position, token id). Return the normed vectors of the wanted rows."""
        with self._lock:  # one plan, whoever asks
            return self._locked_pass(rows, wanted, cache, logits)

    def _locked_pass(
        self, rows: list[tuple[int, int, int]], wanted: list[int], cache: Cache, logits: numpy.ndarray | None
    ) -> numpy.ndarray:
        plan, description = self._plan, self.description
        if len(rows) > self._room.num_tokens:
            self._room = _Room(min(whole(len(rows), 12), whole(TOKENS_AT_ONCE, 12)), self._sizes(), self.weights.kind)
            self._take_room()
        table = numpy.array(rows, numpy.int64).T.copy()
        slots = cache.slots[table[0]]
        items, firsts = _items(table[0], table[1], description.num_heads // description.num_kv_heads)
        parts = numpy.empty(firsts[-1] * description.num_heads * (whole(description.head_dim, NUM_ROWS) + 2), numpy.float32)
        chosen, hidden = numpy.array(wanted, numpy.int64), numpy.empty((len(wanted), description.hidden_size), numpy.float32)
        cache.place(plan, self._layers)
        plan[at.NUM_TOKENS], plan[at.TOKEN_IDS], plan[at.POSITIONS] = len(rows), table[2].ctypes.data, table[1].ctypes.data
        plan[at.SEQUENCES], plan[at.NUM_ITEMS], plan[at.ITEMS] = slots.ctypes.data, len(items), items.ctypes.data
        plan[at.FIRST_PARTIALS], plan[at.PARTIALS] = firsts.ctypes.data, parts.ctypes.data
        plan[at.NUM_WANTED], plan[at.WANTED], plan[at.HIDDEN_OUT] = len(wanted), chosen.ctypes.data, hidden.ctypes.data
        plan[at.LOGITS] = 0 if logits is None or not wanted else logits.ctypes.data
        self._counters[:] = 0
        self._team.run(self._run, plan)
        return hidden

    def _lay_out(self) -> None:
        plan, description = self._plan, self.description
        for index, layer in enumerate(self._layers):
            prefix = f"layers.{index}."
            for name, place in VECTORS.items():
                layer[place] = self._address(prefix + name)
            for name, place in MATRICES.items():
                layer[place : place + at.MATRIX_SIZE] = self._record(prefix + name)
            layer[at.WINDOW] = description.windows[index] or 0
        plan[at.COUNTERS], plan[at.LAYERS], plan[at.FLOATS] = (each.ctypes.data for each in (self._counters, self._layers, self._floats))
        plan[at.NUM_LAYERS], plan[at.HIDDEN_SIZE] = description.num_layers, description.hidden_size
        plan[at.NUM_HEADS], plan[at.NUM_KV_HEADS], plan[at.HEAD_DIM] = description.num_heads, description.num_kv_heads, description.head_dim
        plan[at.NORM], plan[at.ACTIVATION] = NORMS[description.norm], ACTIVATIONS[description.activation]
        plan[at.POSITION_TABLE] = self._address("position_embedding")
        plan[at.EMBEDDING], plan[at.HEAD] = (self._records[name].ctypes.data for name in ("token_embedding", "output_head"))
        plan[at.FINAL_NORM], plan[at.FINAL_NORM_BIAS] = self._address("norm.weight"), self._address("norm.bias")

    def _record(self, name: str) -> list[int]:
        matrices, vectors = self.weights.matrices, self.weights.vectors
        matrix = matrices.get(name) or matrices.get(f"{name}.weight")
        return matrix.record(vectors.get(f"{name}.bias")) if matrix else NOTHING

    def _address(self, name: str) -> int:
        vector = self.weights.vectors.get(name)
        return 0 if vector is None else vector.ctypes.data

    def _sizes(self) -> dict[int, int]:
        """How many columns the activations of each kind have."""
        description = self.description
        return {
            at.NORMED_ACTIVATIONS: description.hidden_size,
            at.ATTENDED_ACTIVATIONS: description.num_heads * description.head_dim,
            at.INNER_ACTIVATIONS: description.intermediate_size,
        }

    def _take_room(self) -> None:
        plan, description, room = self._plan, self.description, self._room
        queries, keys = description.num_heads * description.head_dim, description.num_kv_heads * description.head_dim
        places = (at.RESIDUAL, at.QUERIES, at.NEW_KEYS, at.NEW_VALUES, at.ATTENDED)
        for place, size in zip(places, (description.hidden_size, queries, keys, keys, queries), strict=True):
            plan[place] = room.memory(4 * room.num_tokens * size)
        for place, record in room.records.items():
            plan[place] = record.ctypes.data
        columns = whole(max(self._sizes().values()), GROUP)
        heads = max(ROWS_AT_ONCE, description.num_heads // description.num_kv_heads)
        attention = heads * (10 * whole(description.head_dim, NUM_ROWS) + 6 * KEYS_AT_ONCE + 16)
        blocks = 4 * max(room.num_tokens, GROUPS_AT_ONCE * at.WIDE_TOKENS) * NUM_ROWS
        product = 2 * NUM_ROWS * columns + 4 * (blocks + GROUP)
        plan[at.SCRATCH_BYTES] = whole(max(attention, product, 4 * columns), CACHE_LINE)
        plan[at.SCRATCH] = room.memory(int(plan[at.SCRATCH_BYTES]) * self._team.num_threads)


class _Room:
    """Memory for the numbers of a pass of so many tokens."""

    def __init__(self, num_tokens: int, sizes: dict[int, int], kind: str) -> None:
        self.num_tokens = num_tokens
        self._held: list[numpy.ndarray] = []
        self.records: dict[int, numpy.ndarray] = {}
        for place, size in sizes.items():
            columns, record = whole(size, GROUP), numpy.zeros(at.ACTIVATIONS_SIZE, numpy.int64)
            record[at.X_COLUMNS], record[at.X_KIND] = columns, KINDS[kind]
            if kind in ("int8", "int4"):
                groups = num_tokens * columns // GROUP
                for place_of, size_of in (
                    (at.X_BYTES, GROUP),
                    (at.X_SCALES, 4),
                    (at.X_SUMS, 4),
                    (at.X_WIDE, 2 * GROUP),
                    (at.X_WIDE_SCALES, 4),
                ):
                    record[place_of] = self.memory(groups * size_of)
            else:
                record[at.X_FLOATS] = self.memory(4 * num_tokens * columns)
            self.records[place] = record

    def memory(self, size: int) -> int:
        """The address of so many new bytes, which live as long as this."""
        self._held.append(aligned_zeros(size))
        return self._held[-1].ctypes.data


def _passes(token_ids: Sequence[Sequence[int]], lengths: numpy.ndarray) -> list[tuple[list[tuple[int, int, int]], list[int]]]:
    """Rows (sequence, position, token id), a pass's worth at a time, and which of them are the last of their sequence."""
    rows = [
        (sequence, int(lengths[sequence]) + place, token_id)
        for sequence, tokens in enumerate(token_ids)
        for place, token_id in enumerate(tokens)
    ]
    ends = numpy.cumsum([len(tokens) for tokens in token_ids]) - 1
    return [
        (rows[first : first + TOKENS_AT_ONCE], [int(end) - first for end in ends if first <= end < first + TOKENS_AT_ONCE])
        for first in range(0, len(rows), TOKENS_AT_ONCE)
    ]


def _items(sequences: numpy.ndarray, positions: numpy.ndarray, group_size: int) -> tuple[numpy.ndarray, numpy.ndarray]:
    """The pieces of attention of a pass, and by row the number of its first partial answer.

    A row alone of its sequence is cut by keys, others go together, some rows at a time.
    """
    items: list[tuple[int, int, int, int, int]] = []
    firsts, num_parts, row, num_rows = [], 0, 0, len(sequences)
    together = max(1, ROWS_AT_ONCE // group_size)
    while row < num_rows:
        end = row + 1
        while end < num_rows and end - row < together and sequences[end] == sequences[row]:
            end += 1
        num_keys = int(positions[end - 1]) + 1
        if end - row == 1 and num_keys > KEYS_OF_A_PART:
            firsts.append(num_parts)
            for first in range(0, num_keys, KEYS_OF_A_PART):
                items.append((row, end, first, min(first + KEYS_OF_A_PART, num_keys), num_parts))
                num_parts += 1
        else:
            firsts += [num_parts] * (end - row)
            items.append((row, end, 0, num_keys, -1))
        row = end
    return numpy.array(items, numpy.int64), numpy.array([*firsts, num_parts], numpy.int64)
