"""Packing a matrix, block by block: every thread runs `run`.

A group's scale is the one, of several, with which the rounded weights come nearest to the weights, in the sum of squares. The
largest weight alone decides in the simplest scheme (llama.cpp's Q8_0 and Q4_0); that is the first of those tried here.
"""

from __future__ import annotations

from typing import Any

import numpy

from headway.kernels.cpu import layout as at
from headway.kernels.cpu.elementwise import REASSOCIATE, bfloat16_bits
from headway.kernels.cpu.layout import BFLOAT16, FLOAT32, GROUP, INT8, MATRIX_SIZE, NUM_ROWS
from headway.kernels.cpu.memory import bits_of, claim, compiled, float_of, floats, halves, meet, signed_bytes, unsigned_bytes, whole_numbers

F = numpy.float32


@compiled
def _read(job: Any, row: int, column: int) -> Any:
    place = row * job[at.ROW_STRIDE] + column * job[at.COLUMN_STRIDE]
    if job[at.SOURCE_KIND] == FLOAT32:
        return floats(job[at.SOURCE] + 4 * place, 1)[0]
    return float_of(numpy.int32(halves(job[at.SOURCE] + 2 * place, 1)[0]) << numpy.int32(16))


@compiled
def float16_bits(x: Any) -> Any:
    """The bits of the nearest float16 of a number below 65,504 in size."""
    size = abs(x)
    bits = bits_of(size * F(2.0**-112))
    rounded = (bits + numpy.int32(0xFFF) + ((bits >> numpy.int32(13)) & numpy.int32(1))) >> numpy.int32(13)
    return numpy.uint16(min(rounded, numpy.int32(0x7BFF)) | (numpy.int32(0x8000) if x < F(0) else numpy.int32(0)))


@compiled
def float16_number(bits: Any) -> Any:
    """The number of a float16's bits."""
    size = float_of(numpy.int32(bits & numpy.uint16(0x7FFF)) << numpy.int32(13)) * F(2.0**112)
    return -size if bits & numpy.uint16(0x8000) else size


@compiled
def _round(weight: Any, inverse: Any, low: Any, high: Any) -> Any:
    return min(max(numpy.rint(weight * inverse), low), high)


@compiled(fastmath=REASSOCIATE)
def _judge(weights: Any, scale: Any, low: Any, high: Any) -> Any:
    """With this scale: the squared error, and the scale that would fit the same codes best."""
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
    """The float16 bits of the scale that rounds a group of 32 weights best to whole numbers from low to high."""
    largest = F(0)
    for i in range(GROUP):
        if abs(weights[i]) > abs(largest):
            largest = weights[i]
    best, least = float16_bits(largest / low), F(3.0e38)
    for attempt in range(num_tries):
        # a smaller scale cuts off the largest weight, and rounds the others better
        bits = float16_bits(largest / (low * (F(1) + F(0.05) * F(attempt))))
        for _ in range(2):
            error, fitted = _judge(weights, float16_number(bits), low, high)
            if error < least:
                least, best = error, bits
            bits = float16_bits(fitted)
    return best


@compiled
def _pack_row(job: Any, matrix: Any, row: int, weights: Any) -> None:
    """One row into its lane of a block; a row behind the last is zeros."""
    kind, columns, lane = matrix[at.KIND], matrix[at.COLUMNS], row % NUM_ROWS
    first = row // NUM_ROWS * NUM_ROWS * columns
    for start in range(0, columns, GROUP):
        sound = F(0)
        for i in range(GROUP):
            is_there = row < matrix[at.ROWS] and start + i < job[at.NUM_COLUMNS]
            weights[i] = _read(job, row, start + i) if is_there else F(0)
            sound += F(0) * weights[i]
        if sound != F(0):  # NaN: one of them is NaN or infinite
            claim(job[at.BAD_COUNTER])
        _write_group(kind, matrix, first, columns, lane, start, weights)


@compiled
def _write_group(kind: int, matrix: Any, first: int, columns: int, lane: int, start: int, weights: Any) -> None:
    if kind == FLOAT32:
        numbers = floats(matrix[at.CODES] + 4 * first, NUM_ROWS * columns)
        for i in range(GROUP):
            numbers[NUM_ROWS * (start + i) + lane] = weights[i]
        return
    if kind == BFLOAT16:
        bits = halves(matrix[at.CODES] + 2 * first, NUM_ROWS * columns)
        for i in range(GROUP):
            bits[NUM_ROWS * (start + i - i % 2) + 2 * lane + i % 2] = bfloat16_bits(weights[i])
        return
    low, high, tries = (F(-127), F(127), 1) if kind == INT8 else (F(-8), F(7), 6)
    scale = best_scale(weights, low, high, tries)
    halves(matrix[at.SCALES] + 2 * (first // GROUP), NUM_ROWS * columns // GROUP)[NUM_ROWS * (start // GROUP) + lane] = scale
    number = float16_number(scale)
    inverse = F(1) / number if number != F(0) else F(0)
    if kind == INT8:
        codes = signed_bytes(matrix[at.CODES] + first, NUM_ROWS * columns)
        for i in range(GROUP):
            place = NUM_ROWS * start + i // 4 * 64 + 4 * lane + i % 4
            codes[place] = numpy.int8(numpy.int32(_round(weights[i], inverse, low, high)))
    else:
        nibbles = unsigned_bytes(matrix[at.CODES] + first // 2, NUM_ROWS * columns // 2)
        for i in range(GROUP // 2):
            lower = numpy.int32(_round(weights[i], inverse, low, high)) + 8
            upper = numpy.int32(_round(weights[i + GROUP // 2], inverse, low, high)) + 8
            nibbles[NUM_ROWS * start // 2 + i // 4 * 64 + 4 * lane + i % 4] = numpy.uint8(lower | upper << 4)


@compiled
def run(job_at: int, thread: int) -> int:
    """One thread's share of a matrix; groups of weights that hold a NaN or an infinity are counted."""
    job = whole_numbers(job_at, at.PACK_SIZE)
    matrix = whole_numbers(job_at + 8 * at.PACK_TARGET, MATRIX_SIZE)
    num_blocks = (matrix[at.ROWS] + NUM_ROWS - 1) // NUM_ROWS
    weights = floats(job[at.PACK_SCRATCH] + 4 * GROUP * thread, GROUP)
    block = claim(job[at.PACK_COUNTER])
    while block < num_blocks:
        for lane in range(NUM_ROWS):
            _pack_row(job, matrix, NUM_ROWS * block + lane, weights)
        block = claim(job[at.PACK_COUNTER])
    meeting = meet(job, job[at.MEETING])
    if thread == 0:
        job[at.MEETING] = meeting
    return 0
