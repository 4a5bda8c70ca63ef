"""Throughput limit of the processor for int8 products: `python -m benchmarks.limits`, one block of weights and 36 tokens, all in the first cache."""

from __future__ import annotations

import statistics
import time
from concurrent.futures import ThreadPoolExecutor

import numpy
from numba import njit

from benchmarks.peers.settings import THREADS
from headway.kernels.cpu import products
from headway.kernels.cpu.layout import ACTIVATIONS_SIZE, CODES, COLUMNS, GROUP, INT8, KIND, MATRIX_SIZE, NUM_ROWS, ROWS, SCALES
from headway.kernels.cpu.packing import aligned_zeros

NUM_TOKENS, NUM_COLUMNS, TIMES = 36, 256, 2000


@njit(nogil=True)
def _repeat(matrix: numpy.ndarray, x: numpy.ndarray, scratch: int, out: int, times: int) -> None:
    for _ in range(times):
        products.multiply(matrix, 0, x, 0, NUM_TOKENS, scratch, out)


def main() -> None:
    held = [aligned_zeros(size) for size in [1 << 16] * 12]
    places = [each.ctypes.data for each in held]

    def work(thread: int) -> None:
        matrix, x = numpy.zeros(MATRIX_SIZE, numpy.int64), numpy.zeros(ACTIVATIONS_SIZE, numpy.int64)
        matrix[KIND], matrix[ROWS], matrix[COLUMNS] = INT8, NUM_ROWS, NUM_COLUMNS
        matrix[CODES], matrix[SCALES] = places[0], places[1]
        x[0], x[1:7], x[7] = 1, places[2:8], NUM_COLUMNS
        _repeat(matrix, x, places[8 + 2 * thread], places[9 + 2 * thread], TIMES)

    work(0)
    paces = []
    with ThreadPoolExecutor(THREADS) as pool:
        for _ in range(7):
            started = time.perf_counter()
            list(pool.map(work, range(THREADS)))
            paces.append(2 * THREADS * TIMES * NUM_TOKENS * NUM_ROWS * NUM_COLUMNS / (time.perf_counter() - started))
    name, group = products.INSTRUCTIONS.name, f"scales per {GROUP} included"
    print(f"products of int8 in the first cache, {name}, {THREADS} threads, {group}: {statistics.median(paces) / 1e9:.0f} GOP/s")


if __name__ == "__main__":
    main()
