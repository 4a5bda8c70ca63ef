"""The number formats of GGUF: blocks of bytes to float32.

A block has 32 or 256 numbers, integers of a few bits that a scale multiplies. The K formats have a scale for each 16 or 32 of the
numbers, which are themselves integers with a scale.

Source   ggml-org/ggml, src/ggml-common.h (layouts) and src/ggml-quants.c (dequantize_row_…)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import EllipsisType

import ml_dtypes
import numpy
from einops import rearrange

from headway.functions import Packed
from headway.functions.packed import GROUP
from headway.gguf_file import Format

CHUNK = 2**16
"""Number of blocks that are converted at once; bounds the memory for intermediate results."""
PLAIN = {"F32": numpy.dtype("<f4"), "F16": numpy.dtype("<f2"), "BF16": numpy.dtype(ml_dtypes.bfloat16)}
"""Formats that are arrays of a dtype."""
PACKED_KINDS = {"Q8_0": "int8", "Q4_0": "int4"}
"""Kinds of Packed that have the same groups, codes and scales."""
ROWS_PER_BLOCK = 16
MXFP4_VALUES = numpy.array([0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12], numpy.float32)
"""Twice the numbers of MXFP4's 4-bit codes, as in ggml."""


class QuantizedRows:
    """A quantized matrix that takes the place of a float32 array: it is converted when it is used, and not kept.

    rows          (..., bytes per row) uint8
    packed_kind   the kind of Packed that has the same groups, codes and scales; None if there is none
    """

    dtype = numpy.dtype(numpy.float32)

    def __init__(self, rows: numpy.ndarray, number_format: Format) -> None:
        self.rows, self.number_format = rows, number_format
        self.packed_kind = PACKED_KINDS.get(number_format.name)
        columns = rows.shape[-1] // number_format.num_bytes * number_format.block_size
        self.shape: tuple[int, ...] = (*rows.shape[:-1], columns)
        self.ndim, self.size = len(self.shape), math.prod(self.shape)
        self.ctypes, self.strides, self.nbytes = rows.ctypes, rows.strides, rows.nbytes  # identify the memory

    def __getitem__(self, index: tuple[slice, EllipsisType]) -> QuantizedRows:
        """Return some of the rows."""
        return QuantizedRows(self.rows[index[0]], self.number_format)

    def __array__(self, dtype: numpy.dtype | None = None, copy: bool | None = None) -> numpy.ndarray:
        """Return the matrix in float32, or in another dtype."""
        return dequantize(self.rows, self.number_format).astype(dtype or self.dtype, copy=False)

    def astype(self, dtype: numpy.dtype, copy: bool = True) -> numpy.ndarray:
        """Return the matrix in a dtype."""
        return self.__array__(dtype)

    def packed(self) -> Packed | None:
        """Return the matrix with the codes and scales of the file; None if Packed cannot have them."""
        return pack_blocks(self.rows, self.packed_kind) if self.packed_kind else None


def pack_blocks(rows: numpy.ndarray, kind: str) -> Packed | None:
    """Return rows of Q8_0 (kind int8) or Q4_0 (int4) as a packed matrix with the same codes and scales.

    None for a code of -128, which llama.cpp never writes: the kernels need codes whose absolute value is an int8.

    rows   (num_rows, bytes per row) uint8
    """
    num_rows, padding = len(rows), -len(rows) % ROWS_PER_BLOCK
    blocks = rows.reshape(num_rows, -1, 34 if kind == "int8" else 18)
    codes, scales = blocks[..., 2:], numpy.ascontiguousarray(blocks[..., :2]).view("<f2")[..., 0]
    if kind == "int8" and (codes == 128).any():  # as a byte without a sign
        return None
    codes = numpy.pad(codes, ((0, padding), (0, 0), (0, 0)))
    codes = rearrange(codes, "(block row) group (part column) -> block group part row column", row=ROWS_PER_BLOCK, column=4)
    scales = rearrange(numpy.pad(scales, ((0, padding), (0, 0))), "(block row) group -> block group row", row=ROWS_PER_BLOCK)
    codes = numpy.ascontiguousarray(codes).view(numpy.int8 if kind == "int8" else numpy.uint8)
    return Packed(codes, numpy.ascontiguousarray(scales), kind, num_rows, blocks.shape[1] * GROUP)


def dequantize(rows: numpy.ndarray, number_format: Format) -> numpy.ndarray:
    """Return the numbers (..., columns) in float32 of rows of bytes (..., bytes per row).

    float16 and bfloat16 become float32 too.
    """
    columns = rows.shape[-1] // number_format.num_bytes * number_format.block_size
    if number_format.name in PLAIN:
        return numpy.ascontiguousarray(rows).view(PLAIN[number_format.name]).astype(numpy.float32)
    blocks = rows.reshape(-1, number_format.num_bytes)
    numbers = numpy.empty((len(blocks), number_format.block_size), numpy.float32)
    for start in range(0, len(blocks), CHUNK):
        numbers[start : start + CHUNK] = BLOCKS[number_format.name](blocks[start : start + CHUNK])
    return numbers.reshape(*rows.shape[:-1], columns)


def _float16(blocks: numpy.ndarray, start: int) -> numpy.ndarray:
    """Return the float16 at a byte of each block, (num_blocks, 1) in float32."""
    return numpy.ascontiguousarray(blocks[:, start : start + 2]).view("<f2").astype(numpy.float32)


def _nibbles(codes: numpy.ndarray) -> numpy.ndarray:
    """Return the lower halves of the bytes, then the upper halves."""
    return numpy.concatenate([codes & 15, codes >> 4], axis=-1)


def _bits(codes: numpy.ndarray, width: int) -> numpy.ndarray:
    """Return the fields of `width` bits of each byte, on a new axis before the last, the lowest first."""
    shifts = numpy.arange(0, 8, width, dtype=numpy.uint8)[:, None]
    fields: numpy.ndarray = (codes[..., None, :] >> shifts) & numpy.uint8(2**width - 1)
    return fields


def _fifth_bits(blocks: numpy.ndarray, start: int) -> numpy.ndarray:
    """Return bit i of the 32-bit integer at a byte of each block for number i, as 0 or 16."""
    return numpy.unpackbits(numpy.ascontiguousarray(blocks[:, start : start + 4]), axis=-1, bitorder="little") << 4


def _q8_0(blocks: numpy.ndarray) -> numpy.ndarray:
    return _float16(blocks, 0) * numpy.ascontiguousarray(blocks[:, 2:]).view(numpy.int8)


def _q4_0(blocks: numpy.ndarray) -> numpy.ndarray:
    return _float16(blocks, 0) * (_nibbles(blocks[:, 2:]).astype(numpy.float32) - 8)


def _q4_1(blocks: numpy.ndarray) -> numpy.ndarray:
    return _float16(blocks, 0) * _nibbles(blocks[:, 4:]) + _float16(blocks, 2)


def _q5_0(blocks: numpy.ndarray) -> numpy.ndarray:
    return _float16(blocks, 0) * ((_nibbles(blocks[:, 6:]) | _fifth_bits(blocks, 2)).astype(numpy.float32) - 16)


def _q5_1(blocks: numpy.ndarray) -> numpy.ndarray:
    return _float16(blocks, 0) * (_nibbles(blocks[:, 8:]) | _fifth_bits(blocks, 4)) + _float16(blocks, 2)


def _q2_k(blocks: numpy.ndarray) -> numpy.ndarray:
    scales = blocks[:, :16]
    scale, minimum = _float16(blocks, 80) * (scales & 15), _float16(blocks, 82) * (scales >> 4)
    codes = _bits(blocks[:, 16:80].reshape(-1, 2, 32), 2).reshape(-1, 16, 16)
    return (scale[..., None] * codes - minimum[..., None]).reshape(-1, 256)


def _q3_k(blocks: numpy.ndarray) -> numpy.ndarray:
    high, codes, packed = blocks[:, :32], blocks[:, 32:96], blocks[:, 96:108]
    lower = numpy.concatenate([packed[:, :8] & 15, packed[:, :8] >> 4], axis=-1)
    upper = _bits(packed[:, 8:12], 2).reshape(-1, 16)
    scales = (lower | upper << 4).astype(numpy.float32) - 32
    low_bits = _bits(codes.reshape(-1, 2, 32), 2).reshape(-1, 16, 16).astype(numpy.float32)
    is_high = _bits(high, 1).reshape(-1, 16, 16)
    return ((_float16(blocks, 108) * scales)[..., None] * (low_bits - 4 * (1 - is_high.astype(numpy.float32)))).reshape(-1, 256)


def _six_bit_scales(packed: numpy.ndarray) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Return the 8 scales and the 8 minima of 6 bits each in 12 bytes."""
    first, second, third = packed[:, :4], packed[:, 4:8], packed[:, 8:]
    scales = numpy.concatenate([first & 63, (third & 15) | ((first >> 6) << 4)], axis=-1)
    minima = numpy.concatenate([second & 63, (third >> 4) | ((second >> 6) << 4)], axis=-1)
    return scales, minima


def _q4_k(blocks: numpy.ndarray) -> numpy.ndarray:
    scales, minima = _six_bit_scales(blocks[:, 4:16])
    scale, minimum = _float16(blocks, 0) * scales, _float16(blocks, 2) * minima
    codes = _bits(blocks[:, 16:].reshape(-1, 4, 32), 4).reshape(-1, 8, 32)
    return (scale[..., None] * codes - minimum[..., None]).reshape(-1, 256)


def _q5_k(blocks: numpy.ndarray) -> numpy.ndarray:
    scales, minima = _six_bit_scales(blocks[:, 4:16])
    scale, minimum = _float16(blocks, 0) * scales, _float16(blocks, 2) * minima
    codes = _bits(blocks[:, 48:].reshape(-1, 4, 32), 4).reshape(-1, 8, 32) | _bits(blocks[:, 16:48], 1) << 4
    return (scale[..., None] * codes - minimum[..., None]).reshape(-1, 256)


def _q6_k(blocks: numpy.ndarray) -> numpy.ndarray:
    low = _bits(blocks[:, :128].reshape(-1, 2, 64), 4).reshape(-1, 2, 4, 32)
    high = _bits(blocks[:, 128:192].reshape(-1, 2, 32), 2)
    codes = (low | high << 4).reshape(-1, 16, 16).astype(numpy.float32) - 32
    scales = _float16(blocks, 208) * numpy.ascontiguousarray(blocks[:, 192:208]).view(numpy.int8)
    return (scales[..., None] * codes).reshape(-1, 256)


def _mxfp4(blocks: numpy.ndarray) -> numpy.ndarray:
    scales = numpy.ldexp(numpy.float32(1), blocks[:, :1].astype(numpy.int32) - 128)  # half of 2^(e - 127), for the doubled values
    return scales * MXFP4_VALUES[_nibbles(blocks[:, 1:])]


BLOCKS: dict[str, Callable[[numpy.ndarray], numpy.ndarray]] = {
    **{"Q4_0": _q4_0, "Q4_1": _q4_1, "Q5_0": _q5_0, "Q5_1": _q5_1, "Q8_0": _q8_0, "MXFP4": _mxfp4},
    **{"Q2_K": _q2_k, "Q3_K": _q3_k, "Q4_K": _q4_k, "Q5_K": _q5_k, "Q6_K": _q6_k},
}
"""The conversion of blocks (num_blocks, num_bytes) to numbers (num_blocks, block_size), by the name of the format."""
