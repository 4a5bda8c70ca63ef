"""Weights in the form that the kernels read: matrices in blocks of 16 rows, in float32, bfloat16, int8 or int4."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy

from headway.errors import NotFiniteError
from headway.functions import Packed
from headway.kernels.cpu import layout, records
from headway.kernels.cpu.layout import CACHE_LINE, GROUP, NUM_ROWS
from headway.kernels.cpu.records import check_set, unset
from headway.kernels.cpu.thread_pool import Entry, ThreadPool
from headway.trees import leaves

KINDS = {
    "float32": layout.FLOAT32,
    "bfloat16": layout.BFLOAT16,
    "int8": layout.INT8,
    "int4": layout.INT4,
    "int8_rows": layout.INT8_ROWS,
}
CODE_BITS = {"float32": 32, "bfloat16": 16, "int8": 8, "int4": 4, "int8_rows": 8}
CODES: dict[str, tuple[Any, tuple[int, ...]]] = {
    "float32": (numpy.float32, (NUM_ROWS,)),
    "bfloat16": (ml_dtypes.bfloat16, (NUM_ROWS, 2)),
    "int8": (numpy.int8, (8, NUM_ROWS, 4)),
    "int4": (numpy.uint8, (4, NUM_ROWS, 4)),
    "int8_rows": (numpy.int8, (8, NUM_ROWS, 4)),
}
"""The dtype of the codes of each kind, and their last axes: see headway.functions.Packed."""


def aligned_zeros(size: int) -> numpy.ndarray:
    """Return `size` zero bytes that start at a cache line."""
    memory = numpy.zeros(size + CACHE_LINE, numpy.uint8)
    start = -memory.ctypes.data % CACHE_LINE
    return memory[start : start + size]


def round_up(size: int, unit: int) -> int:
    """Return the smallest multiple of `unit` that is at least `size`."""
    return -(-size // unit) * unit


def matrix_record(packed: Packed | None, bias: numpy.ndarray | None = None) -> numpy.ndarray:
    """Return the record of a packed matrix and its bias, or of an absent matrix, as an array of one."""
    record = numpy.zeros(1, records.MATRIX)
    if packed is not None:
        record["kind"], record["rows"], record["columns"] = KINDS[packed.kind], packed.rows, round_up(packed.columns, GROUP)
        for name, array in (("codes", packed.codes), ("scales", packed.scales), ("bias", bias)):
            record[name] = address(array)
    return record


def address(array: Any) -> int:
    """Return the address of an array's numbers, or 0 for None."""
    return 0 if array is None else array.ctypes.data


def tree_bytes(tree: Any) -> int:
    """Return the number of bytes of all weights, shared ones once."""
    return sum({id(leaf): leaf.nbytes for _, leaf in leaves(tree)}.values())


def sizes(kind: str, rows: int, columns: int) -> tuple[int, int]:
    """Return the number of bytes of the codes and of the scales of a matrix."""
    numbers = round_up(rows, NUM_ROWS) * round_up(columns, GROUP)
    scales = {"int8": 2 * numbers // GROUP, "int4": 2 * numbers // GROUP, "int8_rows": 8 * round_up(rows, NUM_ROWS)}
    return numbers * CODE_BITS[kind] // 8, scales.get(kind, 0)


def over(kind: str, shape: tuple[int, int], memory: numpy.ndarray) -> Packed:
    """Return a packed matrix over memory that holds its codes and, from the next cache line on, its scales."""
    num_codes, num_scales = sizes(kind, *shape)
    num_blocks, num_groups = round_up(shape[0], NUM_ROWS) // NUM_ROWS, round_up(shape[1], GROUP) // GROUP
    dtype, axes = CODES[kind]
    codes = memory[:num_codes].view(dtype).reshape(num_blocks, -1, *axes)
    if not num_scales:
        return Packed(codes, None, kind, *shape)
    start = round_up(num_codes, CACHE_LINE)
    scales = memory[start : start + num_scales]
    if kind == "int8_rows":
        return Packed(codes, scales.view(numpy.float32).reshape(num_blocks, 2, NUM_ROWS), kind, *shape)
    return Packed(codes, scales.view(numpy.float16).reshape(num_blocks, num_groups, NUM_ROWS), kind, *shape)


def num_bytes(kind: str, shape: tuple[int, int]) -> int:
    """Return the number of bytes of memory that `over` needs, whole cache lines."""
    num_codes, num_scales = sizes(kind, *shape)
    return round_up(num_codes, CACHE_LINE) + round_up(num_scales, CACHE_LINE)


def pack(name: str, matrix: numpy.ndarray, kind: str, pack_blocks: Entry, pool: ThreadPool, memory: numpy.ndarray | None = None) -> Packed:
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
    job = unset(records.PACK)
    job["source"], job["source_kind"] = source.ctypes.data, layout.BFLOAT16 if is_bfloat16 else layout.FLOAT32
    job["row_stride"], job["column_stride"] = (stride // source.itemsize for stride in source.strides)
    job["num_columns"], job["pack_scratch"] = columns, scratch.ctypes.data
    job["pack_counter"], job["bad_counter"] = counters.ctypes.data, counters.ctypes.data + CACHE_LINE
    job["pack_target"] = matrix_record(packed)
    check_set(job)
    pool.run(pack_blocks, job.view(numpy.int64))
    if counters[CACHE_LINE // 8]:
        raise _not_finite(name)
    return packed


def copy(name: str, matrix: Packed, memory: numpy.ndarray) -> None:
    """Copy a packed matrix bit for bit into `num_bytes` bytes.

    Errors   NotFiniteError, which names the tensor, for NaN or infinity.
    """
    target: Any = over(matrix.kind, matrix.shape, memory)
    target.codes[...] = matrix.codes
    if matrix.scales is not None:
        target.scales[...] = matrix.scales
    if not numpy.isfinite(target.codes if matrix.scales is None else target.scales).all():
        raise _not_finite(name)


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
