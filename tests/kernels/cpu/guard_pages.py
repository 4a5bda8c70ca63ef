"""Memory between pages without permissions: a read or a write outside of it ends the process.

`install` puts all memory of the compiled kernels there: weights, tables, buffers, caches, results, and the rows of a pass.
"""

from __future__ import annotations

import ctypes
import math
import mmap
import sys
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy

from headway.functions import Packed
from headway.kernels.cpu import compiled_decoder, compiled_encoder, layout
from headway.kernels.cpu.layout import CACHE_LINE
from headway.kernels.cpu.packing import round_up
from headway.kernels.cpu.thread_pool import ThreadPool
from headway.models.spec import RotarySpec

PAGE = mmap.PAGESIZE
_libc = ctypes.CDLL(None, use_errno=True)
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


class Guard:
    """Allocates arrays that end at a page without permissions, or with `is_before` start after one."""

    def __init__(self) -> None:
        self.is_before = False

    def zeros(self, size: int, unit: int = CACHE_LINE) -> numpy.ndarray:
        """Return zero bytes. Their end is rounded up to a unit: by default as in packing.aligned_zeros."""
        num_pages = -(-size // PAGE) + 2
        array = numpy.frombuffer(mmap.mmap(-1, num_pages * PAGE), numpy.uint8)
        for page in (0, num_pages - 1):
            assert _libc.mprotect(array.ctypes.data + page * PAGE, PAGE, 0) == 0
        start = PAGE if self.is_before else (num_pages - 1) * PAGE - round_up(size, unit)
        return array[start : start + size]

    def empty(self, shape: Any, dtype: Any = float) -> numpy.ndarray:
        """Return an array without room after its end."""
        size = math.prod(numpy.atleast_1d(shape).tolist())
        return self.zeros(size * numpy.dtype(dtype).itemsize, 1).view(dtype).reshape(shape)

    def copy(self, array: numpy.ndarray) -> numpy.ndarray:
        """Return a copy without room after its end."""
        result = self.empty(array.shape, array.dtype)
        result[...] = array
        return result

    def weight(self, leaf: Any) -> Any:
        """Return a copy of a weight whose parts are guarded each for itself; their ends are rounded up to cache lines, as in packed files."""
        if isinstance(leaf, Packed):
            return replace(leaf, codes=self.weight(leaf.codes), scales=None if leaf.scales is None else self.weight(leaf.scales))
        result = self.zeros(leaf.nbytes).view(leaf.dtype).reshape(leaf.shape)
        result[...] = leaf
        return result


ROWS = {
    layout.TOKEN_IDS: (layout.NUM_TOKENS, 1),
    layout.POSITIONS: (layout.NUM_TOKENS, 1),
    layout.TASKS: (layout.NUM_TASKS, layout.TASK_SIZE),
}
"""Addresses in a launch record of int64 of the pass: the field with their number, and a factor of it."""
ROWS_OF_DECODERS = {layout.WANTED: (layout.NUM_WANTED, 1)}
ROWS_OF_ENCODERS = {layout.TOKEN_TYPES: (layout.NUM_TOKENS, 1)}


def install(guard: Guard) -> None:
    """Have the kernels of this process take all memory from a guard; weights are copied with guard.weight by who makes the model."""
    for name, module in list(sys.modules.items()):
        if name.startswith("headway.kernels.cpu") and hasattr(module, "aligned_zeros"):
            module.aligned_zeros = guard.zeros
    compiled_decoder.numpy = SimpleNamespace(**vars(numpy) | {"empty": guard.empty})
    tables, bias, run = RotarySpec.tables, compiled_encoder.relative_position_bias, ThreadPool.run
    RotarySpec.tables = lambda self, longest: tuple(guard.copy(table) for table in tables(self, longest))
    compiled_encoder.relative_position_bias = lambda *arguments, **options: guard.copy(bias(*arguments, **options))

    def run_guarded(pool: ThreadPool, entry: Any, record: numpy.ndarray, address: int | None = None) -> None:
        fields, own = record.reshape(-1), {layout.LAUNCH_SIZE: ROWS_OF_DECODERS, layout.ENCODER_SIZE: ROWS_OF_ENCODERS}
        copies = []
        for field, (count, factor) in (ROWS | own[fields.size] if fields.size in own else {}).items():
            numbers = (ctypes.c_int64 * int(factor * fields[count])).from_address(int(fields[field])) if fields[count] else ()
            copies.append(guard.copy(numpy.array(numbers, numpy.int64)))
            fields[field] = copies[-1].ctypes.data
        run(pool, entry, record, address)

    ThreadPool.run = run_guarded
