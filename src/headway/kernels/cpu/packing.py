"""Weights as the kernels read them: matrices cut into blocks, in float32, bfloat16, int8 or int4."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy

from headway.errors import NotFiniteError
from headway.kernels.cpu import layout as at
from headway.kernels.cpu.layout import CACHE_LINE, GROUP, MATRIX_SIZE, NUM_ROWS
from headway.kernels.cpu.team import Entry, Team

KINDS = {"float32": at.FLOAT32, "bfloat16": at.BFLOAT16, "int8": at.INT8, "int4": at.INT4}
CODE_BITS = {"float32": 32, "bfloat16": 16, "int8": 8, "int4": 4}


def aligned_zeros(size: int) -> numpy.ndarray:
    """So many bytes of zeros that begin at a cache line."""
    bytes_ = numpy.zeros(size + CACHE_LINE, numpy.uint8)
    start = -bytes_.ctypes.data % CACHE_LINE
    return bytes_[start : start + size]


def whole(size: int, unit: int) -> int:
    """A size filled up to whole units."""
    return -(-size // unit) * unit


@dataclass(frozen=True)
class Packed:
    """A matrix (rows, columns), packed: see layout.

    kind    float32, bfloat16, int8 or int4
    codes   its bytes
    scales  (num_blocks, num_groups, 16) float16; empty where the kind has none
    """

    kind: str
    rows: int
    columns: int
    codes: numpy.ndarray
    scales: numpy.ndarray

    @property
    def num_bytes(self) -> int:
        """What a product reads."""
        return self.codes.nbytes + self.scales.nbytes

    def record(self, bias: numpy.ndarray | None = None) -> list[int]:
        """What the compiled code knows of it."""
        scales = self.scales.ctypes.data if self.scales.size else 0
        place = 0 if bias is None else bias.ctypes.data
        return [KINDS[self.kind], self.codes.ctypes.data, scales, place, self.rows, whole(self.columns, GROUP)]


NOTHING = [0] * MATRIX_SIZE
"""The record of no matrix."""


def sizes(kind: str, rows: int, columns: int) -> tuple[int, int]:
    """How many bytes the codes and the scales of a matrix take."""
    numbers = whole(rows, NUM_ROWS) * whole(columns, GROUP)
    return numbers * CODE_BITS[kind] // 8, 2 * numbers // GROUP if kind in ("int8", "int4") else 0


def over(kind: str, shape: tuple[int, int], memory: numpy.ndarray) -> Packed:
    """A packed matrix over memory that holds its codes and, from the next cache line on, its scales."""
    num_codes, num_scales = sizes(kind, *shape)
    start = whole(num_codes, CACHE_LINE)
    scales = memory[start : start + num_scales].view(numpy.float16)
    return Packed(kind, *shape, memory[:num_codes], scales.reshape(-1, whole(shape[1], GROUP) // GROUP, NUM_ROWS) if num_scales else scales)


def num_bytes(kind: str, shape: tuple[int, int]) -> int:
    """How much memory `over` needs."""
    num_codes, num_scales = sizes(kind, *shape)
    return whole(num_codes, CACHE_LINE) + whole(num_scales, CACHE_LINE)


def pack(name: str, matrix: numpy.ndarray, kind: str, pack_blocks: Entry, team: Team, memory: numpy.ndarray | None = None) -> Packed:
    """Pack a matrix (rows, columns) of any strides, with all threads.

    memory  where to put it, `num_bytes` of it; new memory by default

    Errors   NotFiniteError, with the name, for a NaN or an infinity.
    """
    rows, columns = matrix.shape
    packed = over(kind, (rows, columns), aligned_zeros(num_bytes(kind, (rows, columns))) if memory is None else memory)
    is_half = matrix.dtype.name == "bfloat16"
    source = matrix.view(numpy.uint16) if is_half else matrix.astype(numpy.float32, copy=False)
    shared = aligned_zeros(2 * CACHE_LINE).view(numpy.int64)
    scratch = numpy.empty((team.num_threads, GROUP), numpy.float32)
    job = numpy.zeros(at.PACK_SIZE, numpy.int64)
    job[at.SOURCE], job[at.SOURCE_KIND] = source.ctypes.data, at.BFLOAT16 if is_half else at.FLOAT32
    job[at.ROW_STRIDE], job[at.COLUMN_STRIDE] = (stride // source.itemsize for stride in source.strides)
    job[at.NUM_COLUMNS], job[at.PACK_SCRATCH] = columns, scratch.ctypes.data
    job[at.PACK_COUNTER], job[at.BAD_COUNTER] = shared.ctypes.data, shared.ctypes.data + CACHE_LINE
    job[at.PACK_TARGET :] = packed.record()
    team.run(pack_blocks, job)
    if shared[CACHE_LINE // 8]:
        raise _not_finite(name)
    return packed


def unpack(packed: Packed) -> numpy.ndarray:
    """The matrix (rows, columns) in float32 that packed weights stand for: what every product with them is checked against."""
    groups = whole(packed.columns, GROUP) // GROUP
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
    """A norm's weight or a bias, in float32.

    Errors   NotFiniteError, with the name, for a NaN or an infinity.
    """
    copy = numpy.ascontiguousarray(numbers, numpy.float32)
    if not numpy.isfinite(copy).all():
        raise _not_finite(name)
    return copy


def _not_finite(name: str) -> NotFiniteError:
    return NotFiniteError(f"came: the tensor {name} with NaN or infinite numbers; expected: finite ones; download the checkpoint again")
