"""Keys and values of sequences under way, as the compiled attention reads them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from headway.kernels.cpu import layout as at
from headway.kernels.cpu.layout import NUM_ROWS
from headway.kernels.cpu.packing import aligned_zeros, whole

KINDS = {"float32": (at.FLOAT32, 4), "bfloat16": (at.BFLOAT16, 2), "int16": (at.INT16, 2), "int8": (at.INT8, 1)}
"""How keys and values are kept, and how many bytes a number takes; whole numbers have a scale for each key and each value."""


def cache_bytes(description: Any, num_sequences: int, max_seq_len: int, kind: str) -> int:
    """What a cache takes when it is full."""
    return num_sequences * description.num_layers * sum(_sizes(description, whole(max_seq_len, NUM_ROWS), kind).values())


def _sizes(description: Any, capacity: int, kind: str) -> dict[int, int]:
    """How many bytes one sequence takes in one layer, by what is kept."""
    tokens = description.num_kv_heads * capacity
    is_whole = kind.startswith("int")
    key_size = whole(description.head_dim, 2) if is_whole else description.head_dim  # as attention.key_size says
    key, value = (tokens * size * KINDS[kind][1] for size in (key_size, whole(description.head_dim, NUM_ROWS)))
    scale = 4 * tokens if is_whole else 0
    return {at.KEYS: key, at.VALUES: value, at.KEY_SCALES: scale, at.VALUE_SCALES: scale}


class Cache:
    """Room for some sequences; memory that no token has reached is not taken from the system.

    max_seq_len  how many tokens of each sequence it takes
    lengths      how many are in it
    slots        where each sequence lies
    """

    def __init__(self, description: Any, num_sequences: int, max_seq_len: int, kind: str) -> None:
        """Empty."""
        self.kind, self.max_seq_len, self.capacity = kind, max_seq_len, whole(max_seq_len, NUM_ROWS)
        self.lengths, self.slots = numpy.zeros(num_sequences, numpy.int64), numpy.arange(num_sequences)
        self._parts = {
            place: [aligned_zeros(num_sequences * size).reshape(num_sequences, size) for _ in range(description.num_layers)]
            for place, size in _sizes(description, self.capacity, kind).items()
        }
        tables = description.rotary(self.capacity) if description.rotary else ()
        self._rotary = [numpy.ascontiguousarray(table, numpy.float32) for table in tables]

    def take(self, parents: Sequence[int]) -> None:
        """Let sequence i go on from what sequence parents[i] was; one may be taken more than once, or not at all."""
        chosen = [int(self.slots[parent]) for parent in parents]
        self._grow(len(chosen))
        free = [slot for slot in range(self._num_slots) if slot not in chosen]
        slots: list[int] = []
        for slot in chosen:
            slots.append(self._copied(slot, free.pop()) if slot in slots else slot)
        self.lengths, self.slots = self.lengths[list(parents)], numpy.array(slots, numpy.int64)

    def place(self, plan: numpy.ndarray, layers: numpy.ndarray) -> None:
        """Give a pass the addresses of everything."""
        plan[at.CACHE_KIND], plan[at.CAPACITY] = KINDS[self.kind][0], self.capacity
        plan[at.COSINES], plan[at.SINES] = (table.ctypes.data for table in self._rotary) if self._rotary else (0, 0)
        for place, parts in self._parts.items():
            layers[:, place] = [part.ctypes.data for part in parts]

    @property
    def _num_slots(self) -> int:
        return self._parts[at.KEYS][0].shape[0]

    def _grow(self, num_slots: int) -> None:
        """Have room for so many sequences."""
        if num_slots <= self._num_slots:
            return
        for parts in self._parts.values():
            for index, part in enumerate(parts):
                parts[index] = aligned_zeros(num_slots * part.shape[1]).reshape(num_slots, part.shape[1])
                parts[index][: len(part)] = part

    def _copied(self, slot: int, copy: int) -> int:
        for parts in self._parts.values():
            for part in parts:
                part[copy] = part[slot]
        return copy
