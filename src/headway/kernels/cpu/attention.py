"""Attention over a KV cache with an online softmax, for use inside Numba functions.

Keys are read in blocks of 128. The state of a query is its largest score so far, the sum of the exponentials and the weighted sum of
the values; all three are rescaled when a block has a larger score (Milakov and Gimelshein 2018; Dao et al. 2022).

With an integer cache, queries and attention weights are quantized to int16, and both products are integer products.
"""

from __future__ import annotations

from typing import Any

import numpy

from headway.kernels.cpu.attention_tiles import key_tile, value_tile
from headway.kernels.cpu.elementwise import REASSOCIATE, bfloat16_bits, exp, largest_size, not_finite
from headway.kernels.cpu.lanes import largest_of_rows
from headway.kernels.cpu.layout import (
    ATTENDED,
    BFLOAT16,
    CAPACITY,
    FIRST_KEY,
    FIRST_ROW,
    FLOAT32,
    HEAD_DIM,
    INT8,
    KEY_SCALES,
    KEYS,
    KEYS_PER_BLOCK,
    KV_KIND,
    LAST_KEY,
    LAST_ROW,
    NUM_HEADS,
    NUM_KV_HEADS,
    NUM_ROWS,
    PARTIAL,
    PARTIALS,
    POSITIONS,
    QUERIES,
    SEQUENCES,
    VALUE_SCALES,
    VALUES,
    WINDOW,
)
from headway.kernels.cpu.memory import compiled, float32_view, int8_view, int16_view, int64_view, uint16_view
from headway.kernels.cpu.products import INSTRUCTIONS, bfloat16_product, float32_product

F = numpy.float32
ROW_CODE_SUM = F(32500)
"""Sum of the absolute values of a row's int16 codes, before rounding: below 2¹⁵, so that a dot product with int16 fits into int32."""


@compiled
def padded_size(size: int) -> int:
    """Return a number rounded up to a multiple of 16."""
    return (size + NUM_ROWS - 1) // NUM_ROWS * NUM_ROWS


@compiled
def _size(kind: int) -> int:
    return 4 if kind == FLOAT32 else (1 if kind == INT8 else 2)


@compiled
def key_size(kind: int, head_dim: int) -> int:
    """Return the number of elements of a stored key: integers are stored in pairs."""
    return (head_dim + 1) // 2 * 2 if kind > BFLOAT16 else head_dim


def _repeat_tile(tile: Any, size: int) -> Any:
    """Return a function that applies a tile of `size` rows from a row on while it fits, and returns the first remaining row."""

    @compiled
    def tiles(
        columns: int, scales: int, x: int, x_stride: int, x_scales: int, num_pairs: int, out: int, out_stride: int, row: int, end: int
    ) -> int:
        while end - row >= size:
            tile(columns, scales, x + row * x_stride, x_stride, x_scales + 4 * row, num_pairs, out + row * out_stride, out_stride)
            row += size
        return row

    return tiles


def _code_product(tile: Any, kind: str) -> Any:
    six, two, one = (_repeat_tile(tile(kind, size, INSTRUCTIONS), size) for size in (6, 2, 1))

    @compiled
    def product(
        columns: int, scales: int, x: int, x_stride: int, x_scales: int, num_pairs: int, out: int, out_stride: int, num_rows: int
    ) -> None:
        row = six(columns, scales, x, x_stride, x_scales, num_pairs, out, out_stride, 0, num_rows)
        row = two(columns, scales, x, x_stride, x_scales, num_pairs, out, out_stride, row, num_rows)
        one(columns, scales, x, x_stride, x_scales, num_pairs, out, out_stride, row, num_rows)

    return product


int8_scores, int16_scores = (_code_product(key_tile, kind) for kind in ("int8", "int16"))
int8_weighted_sums, int16_weighted_sums = (_code_product(value_tile, kind) for kind in ("int8", "int16"))


@compiled(fastmath=REASSOCIATE)
def _store(
    kind: int, base: int, first: int, piece: int, piece_stride: int, stride: int, numbers_address: int, count: int, scale: int
) -> None:
    """Store `count` float32 numbers into a cache from element `first` on, quantized with one scale if the cache has integers.

    The numbers are stored in pieces of `piece` elements: consecutive pieces are piece_stride elements apart, and consecutive elements
    of a piece are `stride` apart.
    """
    x, end = float32_view(numbers_address, count), first + (count + piece - 1) // piece * piece_stride
    if kind == FLOAT32:
        numbers = float32_view(base, end)
        for i in range(count):
            numbers[first + i // piece * piece_stride + i % piece * stride] = x[i]
    elif kind == BFLOAT16:
        bits = uint16_view(base, end)
        for i in range(count):
            bits[first + i // piece * piece_stride + i % piece * stride] = bfloat16_bits(x[i])
    else:
        largest, limit = largest_size(numbers_address, count), F(127) if kind == INT8 else F(32767)
        factor = limit / largest if largest > F(1e-30) else F(0)
        int8_codes, int16_codes = int8_view(base, end), int16_view(base, end)
        for i in range(count):
            index, code = first + i // piece * piece_stride + i % piece * stride, numpy.int32(numpy.rint(x[i] * factor))
            if kind == INT8:
                int8_codes[index] = numpy.int8(code)
            else:
                int16_codes[index] = numpy.int16(code)
        float32_view(scale, 1)[0] = largest / limit + not_finite(numbers_address, count)


@compiled
def store_kv(launch: Any, layer: Any, sequence: int, head: int, position: int, key: int, value: int) -> None:
    """Store one head's key and value, given by their addresses, into the cache."""
    kind, capacity, head_dim = launch[KV_KIND], launch[CAPACITY], launch[HEAD_DIM]
    index = sequence * launch[NUM_KV_HEADS] + head
    scale = 4 * (index * capacity + position)
    keys = layer[KEYS] + index * capacity * key_size(kind, head_dim) * _size(kind)
    values = layer[VALUES] + index * capacity * padded_size(head_dim) * _size(kind)
    pair_size = 2 if kind > BFLOAT16 else 1  # integers are interleaved in pairs along the inputs of the product
    first = position // NUM_ROWS * key_size(kind, head_dim) * NUM_ROWS + position % NUM_ROWS * pair_size
    _store(kind, keys, first, pair_size, pair_size * NUM_ROWS, 1, key, head_dim, layer[KEY_SCALES] + scale)
    first = position // pair_size * pair_size * NUM_ROWS + position % pair_size
    _store(kind, values, first, NUM_ROWS, capacity * NUM_ROWS, pair_size, value, head_dim, layer[VALUE_SCALES] + scale)


@compiled
def _largest(scores: int, count: int, largest: Any) -> Any:
    """Return the largest score, at least `largest`. NaN is skipped here; it turns the sum of the exponentials into NaN."""
    x, num_whole = float32_view(scores, count), count // NUM_ROWS
    largest = max(largest, largest_of_rows(scores, num_whole))
    for i in range(NUM_ROWS * num_whole, count):
        largest = x[i] if x[i] > largest else largest
    return largest


@compiled(fastmath=REASSOCIATE)
def _softmax_block(scores: int, begin: int, end: int, state: Any) -> Any:
    """Replace a block of scores by exp(score - largest), and by zero outside of begin to end.

    state    the largest score and the sum of the exponentials so far, updated

    Returns the factor that rescales the weighted sum so far.
    """
    before, visible, after = (
        float32_view(scores, begin),
        float32_view(scores + 4 * begin, end - begin),
        float32_view(scores + 4 * end, KEYS_PER_BLOCK - end),
    )
    largest = _largest(scores + 4 * begin, end - begin, state[0])
    rescale = exp(state[0] - largest) if state[1] > F(0) else F(0)
    total = F(0)
    for i in range(begin):
        before[i] = F(0)
    for i in range(end - begin):
        weight = exp(visible[i] - largest)
        visible[i] = weight
        total += weight
    for i in range(KEYS_PER_BLOCK - end):
        after[i] = F(0)
    state[0] = largest
    state[1] = state[1] * rescale + total
    return rescale


@compiled(fastmath=REASSOCIATE)
def _scale(numbers: int, scales: int, count: int) -> None:
    """Multiply attention weights by the scales of the values."""
    x, factors = float32_view(numbers, count), float32_view(scales, count)
    for i in range(count):
        x[i] *= factors[i]


@compiled(fastmath=REASSOCIATE)
def _quantize_int16(numbers: int, count: int, codes: int, scale: int) -> None:
    """Quantize float32 numbers to int16 with one scale; an odd count is padded with a zero."""
    x, out, total = float32_view(numbers, count), int16_view(codes, count + 1), F(0)
    for i in range(count):
        total += abs(x[i])
    factor = ROW_CODE_SUM / total if total > F(1e-30) else F(0)
    for i in range(count):
        out[i] = numpy.int16(numpy.int32(numpy.rint(x[i] * factor)))
    if count % 2:
        out[count] = numpy.int16(0)
    float32_view(scale, 1)[0] = total / ROW_CODE_SUM


@compiled
def attend(launch: Any, layer: Any, scale: float, task: Any, kv_head: int, scratch: int) -> None:
    """Compute one task: some rows of one sequence, all query heads of one key head, and a range of keys."""
    kind, capacity, head_dim, num_heads = launch[KV_KIND], launch[CAPACITY], launch[HEAD_DIM], launch[NUM_HEADS]
    padded, group, is_integer = padded_size(head_dim), num_heads // launch[NUM_KV_HEADS], kind > BFLOAT16
    first, num_rows = task[FIRST_ROW], (task[LAST_ROW] - task[FIRST_ROW]) * group
    positions = int64_view(launch[POSITIONS], task[LAST_ROW])
    index = int64_view(launch[SEQUENCES], task[LAST_ROW])[first] * launch[NUM_KV_HEADS] + kv_head
    keys = layer[KEYS] + index * capacity * key_size(kind, head_dim) * _size(kind)
    values = layer[VALUES] + index * capacity * padded * _size(kind)
    key_scales, value_scales = layer[KEY_SCALES] + 4 * index * capacity, layer[VALUE_SCALES] + 4 * index * capacity

    queries_address = scratch
    scores_address = queries_address + 4 * num_rows * padded
    out_address = scores_address + 4 * num_rows * KEYS_PER_BLOCK
    states_address = out_address + 4 * num_rows * padded
    scales_address = states_address + 8 * num_rows
    codes_address = scales_address + 8 * num_rows
    query_codes_address = codes_address + 2 * num_rows * KEYS_PER_BLOCK
    out, states = float32_view(out_address, num_rows * padded), float32_view(states_address, 2 * num_rows)
    _load_queries(launch, task, kv_head, group, num_rows, scale, queries_address, query_codes_address, scales_address)
    for row in range(num_rows):
        states[2 * row], states[2 * row + 1] = F(-3.0e38), F(0)
    for i in range(num_rows * padded):
        out[i] = F(0)

    first_visible = max(positions[first] + 1 - layer[WINDOW], 0) // KEYS_PER_BLOCK * KEYS_PER_BLOCK if layer[WINDOW] else 0
    for block in range(max(task[FIRST_KEY], first_visible), task[LAST_KEY], KEYS_PER_BLOCK):
        count = min(KEYS_PER_BLOCK, task[LAST_KEY] - block)
        _score_block(
            kind,
            keys,
            key_scales,
            block,
            count,
            head_dim,
            query_codes_address if is_integer else queries_address,
            scales_address,
            scores_address,
            num_rows,
        )
        for row in range(num_rows):
            position, scores = positions[first + row // group], scores_address + 4 * row * KEYS_PER_BLOCK
            end = min(max(position + 1 - block, 0), count)
            begin = min(max(position + 1 - layer[WINDOW] - block, 0), end) if layer[WINDOW] else 0
            rescale = _softmax_block(scores, begin, end, float32_view(states_address + 8 * row, 2))
            if rescale != F(1):
                output = float32_view(out_address + 4 * row * padded, padded)
                for i in range(padded):
                    output[i] *= rescale
            if is_integer:
                _scale(scores, value_scales + 4 * block, count)
                _quantize_int16(scores, KEYS_PER_BLOCK, codes_address + 2 * row * KEYS_PER_BLOCK, scales_address + 4 * (num_rows + row))
        weights_address = codes_address if is_integer else scores_address
        _accumulate_values(
            kind, values, capacity, block, count, padded, weights_address, scales_address + 4 * num_rows, out_address, num_rows
        )
    _write_output(launch, task, kv_head, group, num_rows, out, states)


@compiled
def _load_queries(
    launch: Any, task: Any, kv_head: int, group: int, num_rows: int, scale: float, out_address: int, codes_address: int, scales_address: int
) -> None:
    """Load the queries of a task, scaled, as float32 (num_rows, head_dim); for an integer cache also as int16."""
    kind, head_dim, num_heads = launch[KV_KIND], launch[HEAD_DIM], launch[NUM_HEADS]
    source, queries = float32_view(launch[QUERIES], task[LAST_ROW] * num_heads * head_dim), float32_view(out_address, num_rows * head_dim)
    for row in range(num_rows):
        start = ((task[FIRST_ROW] + row // group) * num_heads + kv_head * group + row % group) * head_dim
        for i in range(head_dim):
            queries[row * head_dim + i] = source[start + i] * F(scale)
        if kind > BFLOAT16:
            _quantize_int16(
                out_address + 4 * row * head_dim, head_dim, codes_address + 2 * row * key_size(kind, head_dim), scales_address + 4 * row
            )


@compiled
def _score_block(
    kind: int, keys: int, scales: int, block: int, count: int, head_dim: int, queries: int, query_scales: int, out: int, num_rows: int
) -> None:
    """Multiply the queries by the keys of a block, 16 keys at a time: (num_rows, 128)."""
    size, stride = key_size(kind, head_dim), 4 * KEYS_PER_BLOCK
    for key in range(block, block + count, NUM_ROWS):
        block_address, out_address, scales_address = keys + key * size * _size(kind), out + 4 * (key - block), scales + 4 * key
        if kind == FLOAT32:
            float32_product(block_address, queries, 4 * size, size, out_address, stride, num_rows, 0)
        elif kind == BFLOAT16:
            bfloat16_product(block_address, queries, 4 * size, size, out_address, stride, num_rows, 0)
        elif kind == INT8:
            int8_scores(block_address, scales_address, queries, 2 * size, query_scales, size // 2, out_address, stride, num_rows)
        else:
            int16_scores(block_address, scales_address, queries, 2 * size, query_scales, size // 2, out_address, stride, num_rows)


@compiled
def _accumulate_values(
    kind: int, values: int, capacity: int, block: int, count: int, padded: int, weights: int, scales: int, out: int, num_rows: int
) -> None:
    """Add the product of the weights and the values of a block, 16 elements of the values at a time, to (num_rows, padded)."""
    pairs = (count + 1) // 2
    for column in range(0, padded, NUM_ROWS):
        block_address, out_address, stride = values + (column * capacity + block * NUM_ROWS) * _size(kind), out + 4 * column, 4 * padded
        if kind == FLOAT32:
            float32_product(block_address, weights, 4 * KEYS_PER_BLOCK, count, out_address, stride, num_rows, 1)
        elif kind == BFLOAT16:
            bfloat16_product(block_address, weights, 4 * KEYS_PER_BLOCK, count, out_address, stride, num_rows, 1)
        elif kind == INT8:
            int8_weighted_sums(block_address, 0, weights, 2 * KEYS_PER_BLOCK, scales, pairs, out_address, stride, num_rows)
        else:
            int16_weighted_sums(block_address, 0, weights, 2 * KEYS_PER_BLOCK, scales, pairs, out_address, stride, num_rows)


@compiled
def _write_output(launch: Any, task: Any, kv_head: int, group: int, num_rows: int, out: Any, states: Any) -> None:
    head_dim, num_heads = launch[HEAD_DIM], launch[NUM_HEADS]
    padded = padded_size(head_dim)
    attended = float32_view(launch[ATTENDED], task[LAST_ROW] * num_heads * head_dim)
    for row in range(num_rows):
        head = kv_head * group + row % group
        if task[PARTIAL] < 0:
            start = ((task[FIRST_ROW] + row // group) * num_heads + head) * head_dim
            for i in range(head_dim):
                attended[start + i] = out[row * padded + i] / states[2 * row + 1]
        else:
            width = padded + 2
            part = float32_view(launch[PARTIALS] + 4 * (task[PARTIAL] * num_heads + head) * width, width)
            part[0], part[1] = states[2 * row], states[2 * row + 1]
            for i in range(padded):
                part[2 + i] = out[row * padded + i]


@compiled
def merge_partials(launch: Any, row: int, first: int, count: int) -> None:
    """Merge the partial results of a row, in the order of the keys, so that the result does not depend on the threads."""
    head_dim, num_heads = launch[HEAD_DIM], launch[NUM_HEADS]
    width = padded_size(head_dim) + 2
    attended = float32_view(launch[ATTENDED] + 4 * row * num_heads * head_dim, num_heads * head_dim)
    parts = float32_view(launch[PARTIALS] + 4 * first * num_heads * width, count * num_heads * width)
    for head in range(num_heads):
        largest, total = F(-3.0e38), F(0)
        for part in range(count):
            largest = max(largest, parts[(part * num_heads + head) * width])
        for i in range(head_dim):
            attended[head * head_dim + i] = F(0)
        for part in range(count):
            start = (part * num_heads + head) * width
            weight = exp(parts[start] - largest)
            total += weight * parts[start + 1]
            for i in range(head_dim):
                attended[head * head_dim + i] += weight * parts[start + 2 + i]
        for i in range(head_dim):
            attended[head * head_dim + i] /= total
