"""Memory for the activations of a pass."""

from __future__ import annotations

import numpy

from headway.kernels.cpu import records
from headway.kernels.cpu.instructions import detect
from headway.kernels.cpu.layout import GROUP, GROUPS_PER_TASK, INT16_TOKENS, MIN_INT16_TOKENS, NUM_ROWS, WIDE_BYTES
from headway.kernels.cpu.packing import KINDS, aligned_zeros, round_up

PADDED_TOKENS = 24
"""Activation buffers hold a multiple of this number of tokens: 24 are interleaved for weights with one scale per row."""


def product_scratch_bytes(num_tokens: int, columns: int) -> int:
    """Return the scratch memory of a thread for products of activations with this number of columns."""
    blocks = 4 * max(num_tokens, GROUPS_PER_TASK * INT16_TOKENS) * NUM_ROWS
    return max(WIDE_BYTES + 4 * (blocks + GROUP), 4 * columns)


class Buffers:
    """Memory for the activations of a pass of at most `num_tokens` tokens, for weights of a kind."""

    def __init__(self, num_tokens: int, kind: str) -> None:
        self.num_tokens, self._kind = num_tokens, kind
        self._allocated: list[numpy.ndarray] = []
        self._int8: list[tuple[numpy.ndarray, int]] = []

    def activations(self, num_rows: int, width: int, *, is_written_in_parts: bool = False) -> int:
        """Return the address of the record of new activations.

        is_written_in_parts   True if rows that are rounded as a whole are written in parts, and need memory for float32
        """
        columns = round_up(width, GROUP)
        record, groups = numpy.zeros(1, records.ACTIVATIONS), round_up(num_rows, PADDED_TOKENS) * columns // GROUP
        record["x_columns"], record["x_kind"] = columns, KINDS[self._kind]
        if self._kind == "int8_rows":
            bytes_per_group = {"x_int8": GROUP, "x_scales": 4, "x_sums": 4} | ({"x_floats": 4 * GROUP} if is_written_in_parts else {})
        elif self._kind in ("int8", "int4"):
            bytes_per_group = {"x_int8": GROUP, "x_scales": 4, "x_sums": 4}
            if self._kind == "int8" and detect().uses_int16_tiles:
                bytes_per_group |= {"x_int16": 2 * GROUP, "x_int16_scales": 4}
        else:
            bytes_per_group = {"x_floats": 4 * GROUP}
        for part, size in bytes_per_group.items():
            record[part] = self.allocate(groups * size).ctypes.data
        self._allocated.append(record)
        self._int8.append((record, int(record["x_int8"][0])))
        return record.ctypes.data

    def select_forms(self, num_tokens: int) -> None:
        """Have int8 activations written only if products of all rows of a pass of this number of tokens read them, and not int16."""
        is_wide = self._kind == "int8" and detect().uses_int16_tiles and num_tokens >= MIN_INT16_TOKENS
        for record, int8 in self._int8:
            record["x_int8"] = 0 if is_wide else int8

    def allocate(self, size: int) -> numpy.ndarray:
        """Return `size` zero bytes, which are freed together with this object."""
        self._allocated.append(aligned_zeros(size))
        return self._allocated[-1]
