"""Weights in the form that the kernels read: matrices in blocks of 16 rows, in float32, bfloat16, int8 or int4."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy

from headway.errors import NotFiniteError
from headway.kernels.cpu import layout
from headway.kernels.cpu.layout import CACHE_LINE, GROUP, MATRIX_SIZE, NUM_ROWS
from headway.kernels.cpu.thread_pool import Entry, ThreadPool

KINDS = {"float32": layout.FLOAT32, "bfloat16": layout.BFLOAT16, "int8": layout.INT8, "int4": layout.INT4}
CODE_BITS = {"float32": 32, "bfloat16": 16, "int8": 8, "int4": 4}


def aligned_zeros(size: int) -> numpy.ndarray:
    """Return `size` zero bytes that start at a cache line."""
    memory = numpy.zeros(size + CACHE_LINE, numpy.uint8)
    start = -memory.ctypes.data % CACHE_LINE
    return memory[start : start + size]


def round_up(size: int, unit: int) -> int:
    """Return the smallest multiple of `unit` that is at least `size`."""
    return -(-size // unit) * unit


@dataclass(frozen=True)
class PackedMatrix:
    """A packed matrix (rows, columns): see layout.

    kind    float32, bfloat16, int8 or int4
    codes   its bytes
    scales  (num_blocks, num_groups, 16) float16; empty for float32 and bfloat16
    """

    kind: str
    rows: int
    columns: int
    codes: numpy.ndarray
    scales: numpy.ndarray

    @property
    def num_bytes(self) -> int:
        """Number of bytes that a product reads."""
        return self.codes.nbytes + self.scales.nbytes

    def record(self, bias: numpy.ndarray | None = None) -> list[int]:
        """Return the fields of its record for the compiled code: see layout.KIND."""
        scales = self.scales.ctypes.data if self.scales.size else 0
        bias_address = 0 if bias is None else bias.ctypes.data
        return [KINDS[self.kind], self.codes.ctypes.data, scales, bias_address, self.rows, round_up(self.columns, GROUP)]


NO_MATRIX = [0] * MATRIX_SIZE
"""The record of an absent matrix."""


@dataclass(frozen=True)
class PackedWeights:
    """A decoder's weights by their path in the tree, such as layers.3.attention.query.

    kind      kind of every matrix
    matrices  the packed matrices; output_head and token_embedding may be the same object
    vectors   norms, biases and the table of learned positions, float32
    """

    kind: str
    matrices: dict[str, PackedMatrix]
    vectors: dict[str, numpy.ndarray]

    @property
    def num_bytes(self) -> int:
        """Number of bytes of all weights."""
        matrices = {id(matrix): matrix.num_bytes for matrix in self.matrices.values()}
        return sum(matrices.values()) + sum(vector.nbytes for vector in self.vectors.values())


def sizes(kind: str, rows: int, columns: int) -> tuple[int, int]:
    """Return the number of bytes of the codes and of the scales of a matrix."""
    numbers = round_up(rows, NUM_ROWS) * round_up(columns, GROUP)
    return numbers * CODE_BITS[kind] // 8, 2 * numbers // GROUP if kind in ("int8", "int4") else 0


def over(kind: str, shape: tuple[int, int], memory: numpy.ndarray) -> PackedMatrix:
    """Return a packed matrix over memory that holds its codes and, from the next cache line on, its scales."""
    num_codes, num_scales = sizes(kind, *shape)
    start = round_up(num_codes, CACHE_LINE)
    scales = memory[start : start + num_scales].view(numpy.float16)
    if num_scales:
        scales = scales.reshape(-1, round_up(shape[1], GROUP) // GROUP, NUM_ROWS)
    return PackedMatrix(kind, *shape, memory[:num_codes], scales)


def num_bytes(kind: str, shape: tuple[int, int]) -> int:
    """Return the number of bytes of memory that `over` needs, whole cache lines."""
    num_codes, num_scales = sizes(kind, *shape)
    return round_up(num_codes, CACHE_LINE) + round_up(num_scales, CACHE_LINE)


def pack(
    name: str, matrix: numpy.ndarray, kind: str, pack_blocks: Entry, pool: ThreadPool, memory: numpy.ndarray | None = None
) -> PackedMatrix:
    """Pack a matrix (rows, columns) of any strides.

    memory  `num_bytes` bytes to pack into; newly allocated by default

    Errors   NotFiniteError, which names the tensor, for NaN or infinity.
    """
    rows, columns = matrix.shape
    packed = over(kind, (rows, columns), aligned_zeros(num_bytes(kind, (rows, columns))) if memory is None else memory)
    is_bfloat16 = matrix.dtype.name == "bfloat16"
    source = matrix.view(numpy.uint16) if is_bfloat16 else matrix.astype(numpy.float32, copy=False)
    counters = aligned_zeros(2 * CACHE_LINE).view(numpy.int64)  # one cache line each
    scratch = numpy.empty((pool.num_threads, GROUP), numpy.float32)
    job = numpy.zeros(layout.PACK_SIZE, numpy.int64)
    job[layout.SOURCE], job[layout.SOURCE_KIND] = source.ctypes.data, layout.BFLOAT16 if is_bfloat16 else layout.FLOAT32
    job[layout.ROW_STRIDE], job[layout.COLUMN_STRIDE] = (stride // source.itemsize for stride in source.strides)
    job[layout.NUM_COLUMNS], job[layout.PACK_SCRATCH] = columns, scratch.ctypes.data
    job[layout.PACK_COUNTER], job[layout.BAD_COUNTER] = counters.ctypes.data, counters.ctypes.data + CACHE_LINE
    job[layout.PACK_TARGET :] = packed.record()
    pool.run(pack_blocks, job)
    if counters[CACHE_LINE // 8]:
        raise _not_finite(name)
    return packed


def unpack(packed: PackedMatrix) -> numpy.ndarray:
    """Return the matrix (rows, columns) in float32 that packed weights represent: the reference for every product with them."""
    groups = round_up(packed.columns, GROUP) // GROUP
    weights: numpy.ndarray
    if packed.kind == "float32":
        weights = packed.codes.view(numpy.float32).reshape(-1, groups * GROUP, NUM_ROWS).transpose(0, 2, 1)
    elif packed.kind == "bfloat16":
        numbers = (packed.codes.view(numpy.uint16).astype(numpy.uint32) << 16).view(numpy.float32)
        weights = numbers.reshape(-1, groups * GROUP // 2, NUM_ROWS, 2).transpose(0, 2, 1, 3)
    else:
        if packed.kind == "int8":
            codes = packed.codes.view(numpy.int8).reshape(-1, groups, 8, NUM_ROWS, 4)
        else:
            nibbles = packed.codes.reshape(-1, groups, 4, NUM_ROWS, 4)
            codes = numpy.concatenate([nibbles & 15, nibbles >> 4], axis=2).astype(numpy.int8) - 8
        scaled = codes * packed.scales.astype(numpy.float32)[:, :, None, :, None]
        weights = scaled.transpose(0, 3, 1, 2, 4)
    return weights.reshape(-1, groups * GROUP)[: packed.rows, : packed.columns].astype(numpy.float32)


def vector(name: str, numbers: Any) -> numpy.ndarray:
    """Return a norm's weight or a bias in float32.

    Errors   NotFiniteError, which names the tensor, for NaN or infinity.
    """
    copy = numpy.ascontiguousarray(numbers, numpy.float32)
    if not numpy.isfinite(copy).all():
        raise _not_finite(name)
    return copy


def _not_finite(name: str) -> NotFiniteError:
    return NotFiniteError(f"got the tensor {name} with NaN or infinity, expected finite numbers", hint="download the checkpoint again")
