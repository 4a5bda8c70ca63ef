"""Packing of a matrix, block by block: every thread runs `run`.

The scale of a row that has only one maps its largest weight to 127. The scale of a group is the one of several candidates with the least squared error. The first candidate maps the largest weight to the
largest code, which is the rule of llama.cpp's Q8_0 and Q4_0.
"""

from __future__ import annotations

from typing import Any

import numpy

from headway.kernels.cpu import layout
from headway.kernels.cpu.elementwise import REASSOCIATE, bfloat16_bits
from headway.kernels.cpu.layout import BFLOAT16, FLOAT32, GROUP, INT8, INT8_ROWS, MATRIX_SIZE, NUM_ROWS, ROW_NUMBERS_BYTES
from headway.kernels.cpu.memory import (
    barrier,
    compiled,
    fetch_and_add,
    float32_view,
    float_bits,
    float_from_bits,
    int8_view,
    int64_view,
    uint8_view,
    uint16_view,
)

F = numpy.float32


@compiled
def _read(job: Any, row: int, column: int) -> Any:
    index = row * job[layout.ROW_STRIDE] + column * job[layout.COLUMN_STRIDE]
    if job[layout.SOURCE_KIND] == FLOAT32:
        return float32_view(job[layout.SOURCE] + 4 * index, 1)[0]
    return float_from_bits(numpy.int32(uint16_view(job[layout.SOURCE] + 2 * index, 1)[0]) << numpy.int32(16))


@compiled
def float16_bits(x: Any) -> Any:
    """Return the bits of the nearest float16 of a number with an absolute value below 65,504."""
    magnitude = abs(x)
    bits = float_bits(magnitude * F(2.0**-112))
    rounded = (bits + numpy.int32(0xFFF) + ((bits >> numpy.int32(13)) & numpy.int32(1))) >> numpy.int32(13)
    return numpy.uint16(min(rounded, numpy.int32(0x7BFF)) | (numpy.int32(0x8000) if x < F(0) else numpy.int32(0)))


@compiled
def float16_number(bits: Any) -> Any:
    """Return the float32 value of the bits of a float16."""
    magnitude = float_from_bits(numpy.int32(bits & numpy.uint16(0x7FFF)) << numpy.int32(13)) * F(2.0**112)
    return -magnitude if bits & numpy.uint16(0x8000) else magnitude


@compiled
def _round(weight: Any, inverse: Any, low: Any, high: Any) -> Any:
    return min(max(numpy.rint(weight * inverse), low), high)


@compiled(fastmath=REASSOCIATE)
def _error_and_fit(weights: Any, scale: Any, low: Any, high: Any) -> Any:
    """Return the squared error with this scale, and the least-squares scale for the same codes."""
    inverse = F(1) / scale if scale != F(0) else F(0)
    product, square, error = F(0), F(0), F(0)
    for i in range(GROUP):
        code = _round(weights[i], inverse, low, high)
        product += weights[i] * code
        square += code * code
        error += (weights[i] - scale * code) * (weights[i] - scale * code)
    return error, (product / square if square > F(0) else F(0))


@compiled
def best_scale(weights: Any, low: Any, high: Any, num_tries: int) -> Any:
    """Return the float16 bits of the best scale found for quantizing a group of 32 weights to integers from low to high."""
    largest = F(0)
    for i in range(GROUP):
        if abs(weights[i]) > abs(largest):
            largest = weights[i]
    best, least = float16_bits(largest / low), F(3.0e38)
    for attempt in range(num_tries):
        # a smaller scale clips the largest weight and rounds the others more finely
        bits = float16_bits(largest / (low * (F(1) + F(0.05) * F(attempt))))
        for _ in range(2):
            error, fitted = _error_and_fit(weights, float16_number(bits), low, high)
            if error < least:
                least, best = error, bits
            bits = float16_bits(fitted)
    return best


@compiled
def _pack_row(job: Any, matrix: Any, row: int, weights: Any) -> None:
    """Pack one row into its lane of a block; a row after the last is zeros."""
    kind, columns, lane = matrix[layout.KIND], matrix[layout.COLUMNS], row % NUM_ROWS
    if kind == INT8_ROWS:
        _pack_whole_row(job, matrix, row)
        return
    first = row // NUM_ROWS * NUM_ROWS * columns
    for start in range(0, columns, GROUP):
        finite = F(0)
        for i in range(GROUP):
            is_inside = row < matrix[layout.ROWS] and start + i < job[layout.NUM_COLUMNS]
            weights[i] = _read(job, row, start + i) if is_inside else F(0)
            finite += F(0) * weights[i]
        if finite != F(0):  # NaN: one of the weights is NaN or infinite
            fetch_and_add(job[layout.BAD_COUNTER])
        _write_group(kind, matrix, first, columns, lane, start, weights)


@compiled
def _pack_whole_row(job: Any, matrix: Any, row: int) -> None:
    """Pack one row with one scale, by its largest weight, and the sum of its codes; a row after the last is zeros."""
    columns, block, lane = matrix[layout.COLUMNS], row // NUM_ROWS, row % NUM_ROWS
    num_weights = job[layout.NUM_COLUMNS] if row < matrix[layout.ROWS] else 0
    codes = int8_view(matrix[layout.CODES] + block * NUM_ROWS * columns, NUM_ROWS * columns)
    numbers = float32_view(matrix[layout.SCALES] + block * ROW_NUMBERS_BYTES, 2 * NUM_ROWS)
    largest, finite, total = F(0), F(0), numpy.int32(0)
    for i in range(num_weights):
        weight = _read(job, row, i)
        finite += F(0) * weight
        largest = max(largest, abs(weight))
    if finite != F(0):
        fetch_and_add(job[layout.BAD_COUNTER])
    is_zero = largest < F(1e-35)
    inverse = F(0) if is_zero else F(127) / largest
    for i in range(columns):
        code = numpy.int32(_round(_read(job, row, i), inverse, F(-127), F(127))) if i < num_weights else numpy.int32(0)
        codes[NUM_ROWS * (i - i % 4) + 4 * lane + i % 4] = numpy.int8(code)
        total += code
    numbers[lane], numbers[NUM_ROWS + lane] = F(0) if is_zero else largest / F(127), F(total)


@compiled
def _write_group(kind: int, matrix: Any, first: int, columns: int, lane: int, start: int, weights: Any) -> None:
    if kind == FLOAT32:
        numbers = float32_view(matrix[layout.CODES] + 4 * first, NUM_ROWS * columns)
        for i in range(GROUP):
            numbers[NUM_ROWS * (start + i) + lane] = weights[i]
        return
    if kind == BFLOAT16:
        bits = uint16_view(matrix[layout.CODES] + 2 * first, NUM_ROWS * columns)
        for i in range(GROUP):
            bits[NUM_ROWS * (start + i - i % 2) + 2 * lane + i % 2] = bfloat16_bits(weights[i])
        return
    low, high, tries = (F(-127), F(127), 1) if kind == INT8 else (F(-8), F(7), 6)
    scale = best_scale(weights, low, high, tries)
    uint16_view(matrix[layout.SCALES] + 2 * (first // GROUP), NUM_ROWS * columns // GROUP)[NUM_ROWS * (start // GROUP) + lane] = scale
    number = float16_number(scale)
    inverse = F(1) / number if number != F(0) else F(0)
    if kind == INT8:
        codes = int8_view(matrix[layout.CODES] + first, NUM_ROWS * columns)
        for i in range(GROUP):
            index = NUM_ROWS * start + i // 4 * 64 + 4 * lane + i % 4
            codes[index] = numpy.int8(numpy.int32(_round(weights[i], inverse, low, high)))
    else:
        nibbles = uint8_view(matrix[layout.CODES] + first // 2, NUM_ROWS * columns // 2)
        for i in range(GROUP // 2):
            lower = numpy.int32(_round(weights[i], inverse, low, high)) + 8
            upper = numpy.int32(_round(weights[i + GROUP // 2], inverse, low, high)) + 8
            nibbles[NUM_ROWS * start // 2 + i // 4 * 64 + 4 * lane + i % 4] = numpy.uint8(lower | upper << 4)


@compiled
def run(job_address: int, thread: int) -> int:
    """Pack one thread's share of a matrix; groups with NaN or infinity are counted."""
    job = int64_view(job_address, layout.PACK_SIZE)
    matrix = int64_view(job_address + 8 * layout.PACK_TARGET, MATRIX_SIZE)
    num_blocks = (matrix[layout.ROWS] + NUM_ROWS - 1) // NUM_ROWS
    weights = float32_view(job[layout.PACK_SCRATCH] + 4 * GROUP * thread, GROUP)
    block = fetch_and_add(job[layout.PACK_COUNTER])
    while block < num_blocks:
        for lane in range(NUM_ROWS):
            _pack_row(job, matrix, NUM_ROWS * block + lane, weights)
        block = fetch_and_add(job[layout.PACK_COUNTER])
    num_barriers = barrier(job, job[layout.NUM_BARRIERS])
    if thread == 0:
        job[layout.NUM_BARRIERS] = num_barriers
    return 0
