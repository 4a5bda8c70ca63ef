"""Attention over a cache, without ever holding all scores: for use inside Numba functions.

The keys are looked at 128 at a time. What is kept of those before is their largest score, the sum of the exponentials and the
weighted sum of the values, all three rescaled when a larger score comes (Milakov and Gimelshein 2018; Dao et al. 2022).

With keys and values in whole numbers, queries and weights are rounded to 16 bits, and both products are of whole numbers.
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
    CACHE_KIND,
    CAPACITY,
    FIRST_KEY,
    FIRST_ROW,
    FLOAT32,
    HEAD_DIM,
    INT8,
    KEY_SCALES,
    KEYS,
    KEYS_AT_ONCE,
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
from headway.kernels.cpu.memory import compiled, floats, halves, shorts, signed_bytes, whole_numbers
from headway.kernels.cpu.products import INSTRUCTIONS, bfloat16_product, float32_product

F = numpy.float32
CODES_OF_A_ROW = F(32500)
"""What the sizes of a row's 16-bit integers add up to, but for their rounding."""


@compiled
def whole_rows(size: int) -> int:
    """A size filled up to whole rows of 16."""
    return (size + NUM_ROWS - 1) // NUM_ROWS * NUM_ROWS


@compiled
def _size(kind: int) -> int:
    return 4 if kind == FLOAT32 else (1 if kind == INT8 else 2)


@compiled
def key_size(kind: int, head_dim: int) -> int:
    """How many numbers a key takes: whole numbers lie in pairs."""
    return (head_dim + 1) // 2 * 2 if kind > BFLOAT16 else head_dim


def _while_they_fit(tile: Any, size: int) -> Any:
    """A tile of so many rows, again and again from a row on; the first row that is left."""

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
    six, two, one = (_while_they_fit(tile(kind, size, INSTRUCTIONS), size) for size in (6, 2, 1))

    @compiled
    def product(
        columns: int, scales: int, x: int, x_stride: int, x_scales: int, num_pairs: int, out: int, out_stride: int, num_rows: int
    ) -> None:
        row = six(columns, scales, x, x_stride, x_scales, num_pairs, out, out_stride, 0, num_rows)
        row = two(columns, scales, x, x_stride, x_scales, num_pairs, out, out_stride, row, num_rows)
        one(columns, scales, x, x_stride, x_scales, num_pairs, out, out_stride, row, num_rows)

    return product


int8_scores, int16_scores = (_code_product(key_tile, kind) for kind in ("int8", "int16"))
int8_answers, int16_answers = (_code_product(value_tile, kind) for kind in ("int8", "int16"))


@compiled(fastmath=REASSOCIATE)
def _store(kind: int, base: int, first: int, piece: int, piece_stride: int, stride: int, numbers_at: int, count: int, scale: int) -> None:
    """Numbers into a cache, from `first` on: in pieces of so many that lie piece_stride apart, `stride` apart within a piece.

    Whole numbers have a scale of their own.
    """
    x, end = floats(numbers_at, count), first + (count + piece - 1) // piece * piece_stride
    if kind == FLOAT32:
        numbers = floats(base, end)
        for i in range(count):
            numbers[first + i // piece * piece_stride + i % piece * stride] = x[i]
    elif kind == BFLOAT16:
        bits = halves(base, end)
        for i in range(count):
            bits[first + i // piece * piece_stride + i % piece * stride] = bfloat16_bits(x[i])
    else:
        largest, limit = largest_size(numbers_at, count), F(127) if kind == INT8 else F(32767)
        factor = limit / largest if largest > F(1e-30) else F(0)
        bytes_, codes = signed_bytes(base, end), shorts(base, end)
        for i in range(count):
            place, code = first + i // piece * piece_stride + i % piece * stride, numpy.int32(numpy.rint(x[i] * factor))
            if kind == INT8:
                bytes_[place] = numpy.int8(code)
            else:
                codes[place] = numpy.int16(code)
        floats(scale, 1)[0] = largest / limit + not_finite(numbers_at, count)


@compiled
def remember(plan: Any, layer: Any, sequence: int, head: int, position: int, key: int, value: int) -> None:
    """Put a key and a value of one head, at these addresses, into the cache."""
    kind, capacity, head_dim = plan[CACHE_KIND], plan[CAPACITY], plan[HEAD_DIM]
    place = sequence * plan[NUM_KV_HEADS] + head
    scale = 4 * (place * capacity + position)
    keys = layer[KEYS] + place * capacity * key_size(kind, head_dim) * _size(kind)
    values = layer[VALUES] + place * capacity * whole_rows(head_dim) * _size(kind)
    side = 2 if kind > BFLOAT16 else 1  # how many inputs of a product lie side by side
    first = position // NUM_ROWS * key_size(kind, head_dim) * NUM_ROWS + position % NUM_ROWS * side
    _store(kind, keys, first, side, side * NUM_ROWS, 1, key, head_dim, layer[KEY_SCALES] + scale)
    first = position // side * side * NUM_ROWS + position % side
    _store(kind, values, first, NUM_ROWS, capacity * NUM_ROWS, side, value, head_dim, layer[VALUE_SCALES] + scale)


@compiled
def _largest(scores: int, count: int, largest: Any) -> Any:
    """The largest score, or what came before; a NaN is passed over here, and makes the sum of the exponentials one."""
    x, whole = floats(scores, count), count // NUM_ROWS
    largest = max(largest, largest_of_rows(scores, whole))
    for i in range(NUM_ROWS * whole, count):
        largest = x[i] if x[i] > largest else largest
    return largest


@compiled(fastmath=REASSOCIATE)
def _weigh(scores: int, begin: int, end: int, state: Any) -> Any:
    """Scores to exponentials in place, zero outside begin to end; state is the largest score and the sum so far.

    Return what the answer so far must be multiplied by.
    """
    before, here, after = floats(scores, begin), floats(scores + 4 * begin, end - begin), floats(scores + 4 * end, KEYS_AT_ONCE - end)
    largest = _largest(scores + 4 * begin, end - begin, state[0])
    rescale = exp(state[0] - largest) if state[1] > F(0) else F(0)
    total = F(0)
    for i in range(begin):
        before[i] = F(0)
    for i in range(end - begin):
        weight = exp(here[i] - largest)
        here[i] = weight
        total += weight
    for i in range(KEYS_AT_ONCE - end):
        after[i] = F(0)
    state[0] = largest
    state[1] = state[1] * rescale + total
    return rescale


@compiled(fastmath=REASSOCIATE)
def _scale(numbers: int, scales: int, count: int) -> None:
    """Multiply weights by the values' own scales."""
    x, factors = floats(numbers, count), floats(scales, count)
    for i in range(count):
        x[i] *= factors[i]


@compiled(fastmath=REASSOCIATE)
def _to_codes(numbers: int, count: int, codes: int, scale: int) -> None:
    """Float32 numbers as 16-bit integers with one scale; a zero follows an odd number of them."""
    x, out, total = floats(numbers, count), shorts(codes, count + 1), F(0)
    for i in range(count):
        total += abs(x[i])
    factor = CODES_OF_A_ROW / total if total > F(1e-30) else F(0)
    for i in range(count):
        out[i] = numpy.int16(numpy.int32(numpy.rint(x[i] * factor)))
    if count % 2:
        out[count] = numpy.int16(0)
    floats(scale, 1)[0] = total / CODES_OF_A_ROW


@compiled
def attend(plan: Any, layer: Any, scale: float, item: Any, kv_head: int, scratch: int) -> None:
    """Some rows of one sequence, all query heads of one key head, over a range of keys: the answer, or a part of it."""
    kind, capacity, head_dim, num_heads = plan[CACHE_KIND], plan[CAPACITY], plan[HEAD_DIM], plan[NUM_HEADS]
    padded, group, is_whole = whole_rows(head_dim), num_heads // plan[NUM_KV_HEADS], kind > BFLOAT16
    first, num_rows = item[FIRST_ROW], (item[LAST_ROW] - item[FIRST_ROW]) * group
    positions = whole_numbers(plan[POSITIONS], item[LAST_ROW])
    place = whole_numbers(plan[SEQUENCES], item[LAST_ROW])[first] * plan[NUM_KV_HEADS] + kv_head
    keys = layer[KEYS] + place * capacity * key_size(kind, head_dim) * _size(kind)
    values = layer[VALUES] + place * capacity * padded * _size(kind)
    key_scales, value_scales = layer[KEY_SCALES] + 4 * place * capacity, layer[VALUE_SCALES] + 4 * place * capacity

    queries_at = scratch
    scores_at = queries_at + 4 * num_rows * padded
    out_at = scores_at + 4 * num_rows * KEYS_AT_ONCE
    states_at = out_at + 4 * num_rows * padded
    scales_at = states_at + 8 * num_rows
    codes_at = scales_at + 8 * num_rows
    query_codes_at = codes_at + 2 * num_rows * KEYS_AT_ONCE
    out, states = floats(out_at, num_rows * padded), floats(states_at, 2 * num_rows)
    _take_queries(plan, item, kv_head, group, num_rows, scale, queries_at, query_codes_at, scales_at)
    for row in range(num_rows):
        states[2 * row], states[2 * row + 1] = F(-3.0e38), F(0)
    for i in range(num_rows * padded):
        out[i] = F(0)

    nearest = max(positions[first] + 1 - layer[WINDOW], 0) // KEYS_AT_ONCE * KEYS_AT_ONCE if layer[WINDOW] else 0
    for block in range(max(item[FIRST_KEY], nearest), item[LAST_KEY], KEYS_AT_ONCE):
        count = min(KEYS_AT_ONCE, item[LAST_KEY] - block)
        _score(kind, keys, key_scales, block, count, head_dim, query_codes_at if is_whole else queries_at, scales_at, scores_at, num_rows)
        for row in range(num_rows):
            position, scores = positions[first + row // group], scores_at + 4 * row * KEYS_AT_ONCE
            end = min(max(position + 1 - block, 0), count)
            begin = min(max(position + 1 - layer[WINDOW] - block, 0), end) if layer[WINDOW] else 0
            rescale = _weigh(scores, begin, end, floats(states_at + 8 * row, 2))
            if rescale != F(1):
                answer = floats(out_at + 4 * row * padded, padded)
                for i in range(padded):
                    answer[i] *= rescale
            if is_whole:
                _scale(scores, value_scales + 4 * block, count)
                _to_codes(scores, KEYS_AT_ONCE, codes_at + 2 * row * KEYS_AT_ONCE, scales_at + 4 * (num_rows + row))
        weights_at = codes_at if is_whole else scores_at
        _answer(kind, values, capacity, block, count, padded, weights_at, scales_at + 4 * num_rows, out_at, num_rows)
    _deliver(plan, item, kv_head, group, num_rows, out, states)


@compiled
def _take_queries(
    plan: Any, item: Any, kv_head: int, group: int, num_rows: int, scale: float, out_at: int, codes_at: int, scales_at: int
) -> None:
    """The queries of some rows, scaled, (num_rows, head_dim) in float32; where keys are whole numbers, in those of 16 bits too."""
    kind, head_dim, num_heads = plan[CACHE_KIND], plan[HEAD_DIM], plan[NUM_HEADS]
    source, queries = floats(plan[QUERIES], item[LAST_ROW] * num_heads * head_dim), floats(out_at, num_rows * head_dim)
    for row in range(num_rows):
        start = ((item[FIRST_ROW] + row // group) * num_heads + kv_head * group + row % group) * head_dim
        for i in range(head_dim):
            queries[row * head_dim + i] = source[start + i] * F(scale)
        if kind > BFLOAT16:
            _to_codes(out_at + 4 * row * head_dim, head_dim, codes_at + 2 * row * key_size(kind, head_dim), scales_at + 4 * row)


@compiled
def _score(
    kind: int, keys: int, scales: int, block: int, count: int, head_dim: int, queries: int, query_scales: int, out: int, num_rows: int
) -> None:
    """Queries times the keys of a block, 16 at a time: (num_rows, 128)."""
    size, stride = key_size(kind, head_dim), 4 * KEYS_AT_ONCE
    for key in range(block, block + count, NUM_ROWS):
        at, out_at, scales_at = keys + key * size * _size(kind), out + 4 * (key - block), scales + 4 * key
        if kind == FLOAT32:
            float32_product(at, queries, 4 * size, size, out_at, stride, num_rows, 0)
        elif kind == BFLOAT16:
            bfloat16_product(at, queries, 4 * size, size, out_at, stride, num_rows, 0)
        elif kind == INT8:
            int8_scores(at, scales_at, queries, 2 * size, query_scales, size // 2, out_at, stride, num_rows)
        else:
            int16_scores(at, scales_at, queries, 2 * size, query_scales, size // 2, out_at, stride, num_rows)


@compiled
def _answer(
    kind: int, values: int, capacity: int, block: int, count: int, padded: int, weights: int, scales: int, out: int, num_rows: int
) -> None:
    """Weights times the values of a block, 16 of their numbers at a time, added to (num_rows, padded)."""
    pairs = (count + 1) // 2
    for column in range(0, padded, NUM_ROWS):
        at, out_at, stride = values + (column * capacity + block * NUM_ROWS) * _size(kind), out + 4 * column, 4 * padded
        if kind == FLOAT32:
            float32_product(at, weights, 4 * KEYS_AT_ONCE, count, out_at, stride, num_rows, 1)
        elif kind == BFLOAT16:
            bfloat16_product(at, weights, 4 * KEYS_AT_ONCE, count, out_at, stride, num_rows, 1)
        elif kind == INT8:
            int8_answers(at, 0, weights, 2 * KEYS_AT_ONCE, scales, pairs, out_at, stride, num_rows)
        else:
            int16_answers(at, 0, weights, 2 * KEYS_AT_ONCE, scales, pairs, out_at, stride, num_rows)


@compiled
def _deliver(plan: Any, item: Any, kv_head: int, group: int, num_rows: int, out: Any, states: Any) -> None:
    head_dim, num_heads = plan[HEAD_DIM], plan[NUM_HEADS]
    padded = whole_rows(head_dim)
    attended = floats(plan[ATTENDED], item[LAST_ROW] * num_heads * head_dim)
    for row in range(num_rows):
        head = kv_head * group + row % group
        if item[PARTIAL] < 0:
            start = ((item[FIRST_ROW] + row // group) * num_heads + head) * head_dim
            for i in range(head_dim):
                attended[start + i] = out[row * padded + i] / states[2 * row + 1]
        else:
            width = padded + 2
            part = floats(plan[PARTIALS] + 4 * (item[PARTIAL] * num_heads + head) * width, width)
            part[0], part[1] = states[2 * row], states[2 * row + 1]
            for i in range(padded):
                part[2 + i] = out[row * padded + i]


@compiled
def combine(plan: Any, row: int, first: int, count: int) -> None:
    """Put the parts of a row's answer together, in the order of the keys."""
    head_dim, num_heads = plan[HEAD_DIM], plan[NUM_HEADS]
    width = whole_rows(head_dim) + 2
    attended = floats(plan[ATTENDED] + 4 * row * num_heads * head_dim, num_heads * head_dim)
    parts = floats(plan[PARTIALS] + 4 * first * num_heads * width, count * num_heads * width)
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
