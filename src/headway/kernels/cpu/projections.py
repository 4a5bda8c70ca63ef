"""Activations in the form that products read, and products of them with a packed matrix, divided into tasks."""

from __future__ import annotations

from typing import Any

import numpy

from headway.kernels.cpu import layout
from headway.kernels.cpu.elementwise import activate, copy_row, round_to_bfloat16
from headway.kernels.cpu.lanes import add_to_rows, round_group, write_rows
from headway.kernels.cpu.layout import (
    BFLOAT16,
    COLUMNS,
    GROUP,
    GROUPS_PER_TASK,
    INT8_ROWS,
    INT16_TOKENS,
    MATRIX_SIZE,
    NUM_ROWS,
    ROWS,
    WIDE_BYTES,
)
from headway.kernels.cpu.memory import (
    compiled,
    fetch_and_add,
    float32_view,
    float_from_bits,
    int8_view,
    int64_view,
    next_task,
    uint8_view,
    uint16_view,
)
from headway.kernels.cpu.packer import float16_number
from headway.kernels.cpu.products import HAS_BFLOAT16_DOT, multiply, tokens_per_task
from headway.kernels.cpu.row_products import multiply_rows

F = numpy.float32
FEW_TOKENS = 24
"""Number of tokens up to which a task is several blocks of rows: what it reads ahead is then its own."""


@compiled
def store_activations(x: Any, row: int, numbers: int, first: int, count: int) -> None:
    """Store float32 activations as columns of a row in the form that the products read; `first` is a multiple of 32."""
    columns = x[layout.X_COLUMNS]
    for start in range(0, count, GROUP):
        length, index = min(GROUP, count - start), row * columns + first + start
        if x[layout.X_KIND] > BFLOAT16:
            store_group(x, row, numbers + 4 * start, numbers + 4 * (start + NUM_ROWS), first + start, length)
        elif x[layout.X_KIND] == BFLOAT16 and HAS_BFLOAT16_DOT:
            round_to_bfloat16(numbers + 4 * start, length, x[layout.X_FLOATS] + 2 * index)
        else:
            out, source = float32_view(x[layout.X_FLOATS] + 4 * index, GROUP), float32_view(numbers + 4 * start, length)
            for i in range(length):
                out[i] = source[i]
            for i in range(length, GROUP):
                out[i] = F(0)


@compiled
def store_group(x: Any, row: int, lower: int, upper: int, first: int, length: int) -> None:
    """Round a group of activations, whose first 16 and other numbers are at two addresses, to int8."""
    columns, lane = x[layout.X_COLUMNS], row % INT16_TOKENS
    group, row_group = (row * columns + first) // GROUP, (row // INT16_TOKENS * columns + first) // GROUP * INT16_TOKENS
    codes = x[layout.X_INT8] + 32 * group if x[layout.X_INT8] else 0
    pairs = x[layout.X_INT16] + 64 * row_group + 4 * lane if x[layout.X_INT16] else 0
    scale, pair_scale = x[layout.X_SCALES] + 4 * group, x[layout.X_INT16_SCALES] + 4 * (row_group + lane)
    round_group(lower, upper, length, codes, scale, x[layout.X_SUMS] + 4 * group, pairs, pair_scale)


@compiled
def read_row(matrix: Any, row: int, out: Any, count: int) -> None:
    """Write one row of a packed matrix to `out` as float32."""
    kind, columns = matrix[layout.KIND], matrix[COLUMNS]
    block, lane = row // NUM_ROWS, row % NUM_ROWS
    first = block * NUM_ROWS * columns
    if kind == layout.FLOAT32:
        numbers = float32_view(matrix[layout.CODES] + 4 * first, NUM_ROWS * columns)
        for i in range(count):
            out[i] = numbers[NUM_ROWS * i + lane]
    elif kind == BFLOAT16:
        bits = uint16_view(matrix[layout.CODES] + 2 * first, NUM_ROWS * columns)
        for i in range(count):
            out[i] = float_from_bits(numpy.int32(bits[NUM_ROWS * (i - i % 2) + 2 * lane + i % 2]) << numpy.int32(16))
    else:
        scales = uint16_view(matrix[layout.SCALES] + first // 16, NUM_ROWS * columns // GROUP)
        for start in range(0, count, GROUP):
            scale = float16_number(scales[NUM_ROWS * (start // GROUP) + lane])
            length = min(GROUP, count - start)
            if kind == layout.INT8:
                codes = int8_view(matrix[layout.CODES] + first + NUM_ROWS * start + 4 * lane, GROUP * NUM_ROWS)
                for i in range(length):
                    out[start + i] = F(codes[i // 4 * 64 + i % 4]) * scale
            else:
                nibbles = uint8_view(matrix[layout.CODES] + (first + NUM_ROWS * start) // 2 + 4 * lane, GROUP * NUM_ROWS // 2)
                for i in range(length):
                    byte = nibbles[i % 16 // 4 * 64 + i % 4]
                    out[start + i] = (F(byte & 15) - F(8) if i < 16 else F(byte >> 4) - F(8)) * scale


@compiled
def project(launch: Any, counter: int, matrix: Any, x: Any, num_tokens: int, out: int, scratch: int, factor: float) -> int:
    """Multiply activations by a packed matrix.

    factor   0 to write the result (num_tokens, rows) to `out`; otherwise the result times this number is added to the numbers there
    """
    return _project(launch, counter, matrix, x, num_tokens, out, scratch, factor, 0)


@compiled
def project_to_blocks(launch: Any, counter: int, matrix: Any, x: Any, num_tokens: int, out: int, scratch: int) -> int:
    """Multiply activations by a packed matrix and write the result in blocks of 16 rows of the matrix.

    out   (num_blocks, padded_tokens(num_tokens), 16) float32: each task writes to consecutive addresses
    """
    return _project(launch, counter, matrix, x, num_tokens, out, scratch, 0.0, 4 * NUM_ROWS * padded_tokens(num_tokens))


@compiled
def padded_tokens(num_tokens: int) -> int:
    """Return the number of tokens rounded up to a multiple of 6: tiles may write to the padding."""
    return (num_tokens + INT16_TOKENS - 1) // INT16_TOKENS * INT16_TOKENS


@compiled
def _project(
    launch: Any, counter: int, matrix: Any, x: Any, num_tokens: int, out: int, scratch: int, factor: float, block_bytes: int
) -> int:
    """Multiply activations by a packed matrix: see project, or project_to_blocks if the blocks of the result have a size in bytes."""
    rows = matrix[ROWS]
    num_blocks, per_task = (rows + NUM_ROWS - 1) // NUM_ROWS, tokens_per_task(matrix, num_tokens)
    unit_size = max(1, num_blocks // (8 * launch[layout.NUM_THREADS])) if num_tokens <= FEW_TOKENS else 1
    num_chunks = (num_tokens + per_task - 1) // per_task
    if matrix[layout.KIND] == INT8_ROWS:  # consecutive blocks are prefetched
        unit_size = max(unit_size, min(4, num_blocks * num_chunks // (12 * launch[layout.NUM_THREADS])))
    num_units = (num_blocks + unit_size - 1) // unit_size
    result_address = scratch + WIDE_BYTES
    task = fetch_and_add(counter)
    while task < num_units * num_chunks:
        first = task // num_units * per_task
        last, begin = min(first + per_task, num_tokens), task % num_units * unit_size
        for block in range(begin, min(begin + unit_size, num_blocks)):
            if block_bytes:
                multiply_with_bias(matrix, block, x, first, last, scratch, out + block * block_bytes + 4 * NUM_ROWS * first)
            else:
                multiply_with_bias(matrix, block, x, first, last, scratch, result_address)
                write_block(matrix, block, result_address, first, last, out, factor)
        task = next_task(counter)
    return num_units * num_chunks


@compiled
def write_block(matrix: Any, block: int, result_address: int, first: int, last: int, out: int, factor: float) -> None:
    """Write the products of a block of rows to their place in `out`, or add them, times a factor other than 0."""
    rows, row = matrix[ROWS], block * NUM_ROWS
    count, scale = min(NUM_ROWS, rows - row), F(factor)
    if count == NUM_ROWS:
        write_rows(result_address, last - first, out + 4 * (first * rows + row), 4 * rows, scale)
        return
    for token in range(first, last):
        result, target = (
            float32_view(result_address + 4 * NUM_ROWS * (token - first), count),
            float32_view(out + 4 * (token * rows + row), count),
        )
        if scale != F(0):
            for i in range(count):
                target[i] += scale * result[i]
        else:
            for i in range(count):
                target[i] = result[i]


@compiled
def multiply_with_bias(matrix: Any, block: int, x: Any, first: int, last: int, scratch: int, out: int) -> None:
    """Multiply 16 rows by some tokens and add the bias: see multiply."""
    if matrix[layout.KIND] == INT8_ROWS:
        multiply_rows(matrix, block, x, first, last, out)
        return
    multiply(matrix, block, x, first, last, scratch, out)
    if matrix[layout.BIAS]:
        count, address = min(NUM_ROWS, matrix[ROWS] - block * NUM_ROWS), matrix[layout.BIAS] + 4 * NUM_ROWS * block
        if count == NUM_ROWS:
            add_to_rows(out, last - first, address)
            return
        bias = float32_view(address, count)
        for token in range(last - first):
            result = float32_view(out + 4 * NUM_ROWS * token, count)
            for i in range(count):
                result[i] += bias[i]


@compiled
def _multiply_groups(matrix: Any, begin: int, end: int, x: Any, first: int, last: int, scratch: int, out: int, block_size: int) -> None:
    """Multiply groups of 32 rows by some tokens; the results of consecutive blocks are block_size numbers apart."""
    for block in range(2 * begin, min(2 * end, (matrix[ROWS] + NUM_ROWS - 1) // NUM_ROWS)):
        multiply_with_bias(matrix, block, x, first, last, scratch, out + 4 * (block - 2 * begin) * block_size)


@compiled
def project_up(launch: Any, counter: int, layer: int, x: Any, inner: Any, num_tokens: int, scratch: int) -> int:
    """Up-projection and activation of the feed-forward: activation(gate) · up, or activation(up), in groups of 32.

    A task has several groups, because neighbouring groups write to the same cache lines. For a few tokens it reads all of one matrix and
    then of the other: long sequential reads are faster.
    """
    up, gate = int64_view(layer + 8 * layout.UP, MATRIX_SIZE), int64_view(layer + 8 * layout.GATE, MATRIX_SIZE)
    per_task, groups = tokens_per_task(up, num_tokens), (up[ROWS] + GROUP - 1) // GROUP
    num_chunks = (num_tokens + per_task - 1) // per_task
    unit_size = min(GROUPS_PER_TASK, max(1, groups * num_chunks // (12 * launch[layout.NUM_THREADS])))
    num_units = (groups + unit_size - 1) // unit_size
    at_once = max(1, GROUPS_PER_TASK * INT16_TOKENS // (num_tokens + INT16_TOKENS - 1))  # fit into the scratch memory
    task = fetch_and_add(counter)
    while task < num_units * num_chunks:
        first, begin = task // num_units * per_task, task % num_units * unit_size
        last, end = min(first + per_task, num_tokens), min(begin + unit_size, groups)
        for group in range(begin, end, at_once):
            activate_groups(launch[layout.ACTIVATION], up, gate, x, inner, group, min(group + at_once, end), first, last, scratch)
        task = next_task(counter)
    return num_units * num_chunks


@compiled
def activate_groups(
    activation: int, up: Any, gate: Any, x: Any, inner: Any, begin: int, end: int, first: int, last: int, scratch: int
) -> None:
    """Compute the groups `begin` to `end` of the inner activations of the tokens `first` to `last`."""
    rows, num_tokens = up[ROWS], last - first
    block_size = (num_tokens + INT16_TOKENS - 1) // INT16_TOKENS * INT16_TOKENS * NUM_ROWS
    ups = scratch + WIDE_BYTES
    gates = ups + 8 * (end - begin) * block_size
    row_address = gates + 8 * (end - begin) * block_size
    _multiply_groups(up, begin, end, x, first, last, scratch, ups, block_size)
    if gate[ROWS]:
        _multiply_groups(gate, begin, end, x, first, last, scratch, gates, block_size)
    else:
        gates = ups
    for group in range(begin, end):
        lower_address = gates + 8 * (group - begin) * block_size
        upper_address = lower_address + 4 * block_size
        for half in range(2):  # all tokens of 16 units together: the loops over many numbers are vectorized
            address = lower_address + 4 * half * block_size
            activated = float32_view(address, NUM_ROWS * num_tokens)
            activate(activation, activated, NUM_ROWS * num_tokens)
            if gate[ROWS]:
                factors = float32_view(ups + (address - gates), NUM_ROWS * num_tokens)
                for i in range(NUM_ROWS * num_tokens):
                    activated[i] *= factors[i]
        length = min(GROUP, rows - GROUP * group)
        if inner[layout.X_KIND] == INT8_ROWS:  # rounded when the rows are complete
            place = inner[layout.X_FLOATS] + 4 * (first * inner[layout.X_COLUMNS] + GROUP * group)
            write_rows(lower_address, num_tokens, place, 4 * inner[layout.X_COLUMNS], F(0))
            write_rows(upper_address, num_tokens, place + 4 * NUM_ROWS, 4 * inner[layout.X_COLUMNS], F(0))
        elif inner[layout.X_KIND] > BFLOAT16:
            for token in range(num_tokens):
                place = 4 * NUM_ROWS * token
                store_group(inner, first + token, lower_address + place, upper_address + place, GROUP * group, length)
        else:
            for token in range(num_tokens):
                copy_row(lower_address + 4 * NUM_ROWS * token, NUM_ROWS, row_address)
                copy_row(upper_address + 4 * NUM_ROWS * token, NUM_ROWS, row_address + 4 * NUM_ROWS)
                store_activations(inner, first + token, row_address, GROUP * group, length)
