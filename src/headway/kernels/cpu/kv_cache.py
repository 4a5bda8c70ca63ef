"""Keys and values of the sequences in progress, in the layout that the compiled attention reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from headway.kernels.cpu import layout
from headway.kernels.cpu.layout import NUM_ROWS
from headway.kernels.cpu.packing import aligned_zeros, round_up

KINDS = {"float32": (layout.FLOAT32, 4), "bfloat16": (layout.BFLOAT16, 2), "int16": (layout.INT16, 2), "int8": (layout.INT8, 1)}
"""Number formats of keys and values, and the bytes per number; int16 and int8 have one scale per key and one per value."""


def cache_bytes(description: Any, num_sequences: int, max_seq_len: int, kind: str) -> int:
    """Return the number of bytes of a full cache."""
    return num_sequences * description.num_layers * sum(_sizes(description, round_up(max_seq_len, NUM_ROWS), kind).values())


def _sizes(description: Any, capacity: int, kind: str) -> dict[int, int]:
    """Return the number of bytes that one sequence needs in one layer, by the field of the layer's record."""
    tokens = description.num_kv_heads * capacity
    is_integer = kind.startswith("int")
    key_size = round_up(description.head_dim, 2) if is_integer else description.head_dim  # as in attention.key_size
    key, value = (tokens * size * KINDS[kind][1] for size in (key_size, round_up(description.head_dim, NUM_ROWS)))
    scale = 4 * tokens if is_integer else 0
    return {layout.KEYS: key, layout.VALUES: value, layout.KEY_SCALES: scale, layout.VALUE_SCALES: scale}


class CompiledKVCache:
    """The KV cache of some sequences. Memory that no token has reached is not taken from the system.

    max_seq_len  maximum number of tokens per sequence
    lengths      number of tokens of each sequence
    slots        index of each sequence's memory
    """

    def __init__(self, description: Any, num_sequences: int, max_seq_len: int, kind: str) -> None:
        """Allocate an empty cache."""
        self.kind, self.max_seq_len, self.capacity = kind, max_seq_len, round_up(max_seq_len, NUM_ROWS)
        self.lengths, self.slots = numpy.zeros(num_sequences, numpy.int64), numpy.arange(num_sequences)
        self._buffers = {
            field: [aligned_zeros(num_sequences * size).reshape(num_sequences, size) for _ in range(description.num_layers)]
            for field, size in _sizes(description, self.capacity, kind).items()
        }
        tables = description.rotary(self.capacity) if description.rotary else ()
        self._rotary = [numpy.ascontiguousarray(table, numpy.float32) for table in tables]

    def take(self, parents: Sequence[int]) -> None:
        """Let sequence i continue what sequence parents[i] was; a parent may be taken several times or not at all."""
        chosen = [int(self.slots[parent]) for parent in parents]
        self._grow(len(chosen))
        free = [slot for slot in range(self._num_slots) if slot not in chosen]
        slots: list[int] = []
        for slot in chosen:
            slots.append(self._copied(slot, free.pop()) if slot in slots else slot)
        self.lengths, self.slots = self.lengths[list(parents)], numpy.array(slots, numpy.int64)

    def write_addresses(self, launch: numpy.ndarray, layers: numpy.ndarray) -> None:
        """Fill in the fields of the launch record and of the layers' records."""
        launch[layout.KV_KIND], launch[layout.CAPACITY] = KINDS[self.kind][0], self.capacity
        launch[layout.COSINES], launch[layout.SINES] = (table.ctypes.data for table in self._rotary) if self._rotary else (0, 0)
        for field, buffers in self._buffers.items():
            layers[:, field] = [buffer.ctypes.data for buffer in buffers]

    @property
    def _num_slots(self) -> int:
        return self._buffers[layout.KEYS][0].shape[0]

    def _grow(self, num_slots: int) -> None:
        """Allocate more memory if there are fewer slots."""
        if num_slots <= self._num_slots:
            return
        for buffers in self._buffers.values():
            for index, buffer in enumerate(buffers):
                buffers[index] = aligned_zeros(num_slots * buffer.shape[1]).reshape(num_slots, buffer.shape[1])
                buffers[index][: len(buffer)] = buffer

    def _copied(self, slot: int, copy: int) -> int:
        for buffers in self._buffers.values():
            for buffer in buffers:
                buffer[copy] = buffer[slot]
        return copy
