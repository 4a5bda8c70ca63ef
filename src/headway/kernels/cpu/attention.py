"""Attention over a cache, without ever holding all scores: for use inside Numba functions.

The keys are looked at 128 at a time. What is kept of those before is their largest score, the sum of the exponentials and the
weighted sum of the values, all three rescaled when a larger score comes (Milakov and Gimelshein 2018; Dao et al. 2022).
"""

from __future__ import annotations

from typing import Any

import numpy

from headway.kernels.cpu.elementwise import NO_NAN, REASSOCIATE, bfloat16_bits, exp, largest_size, not_finite
from headway.kernels.cpu.layout import (
    ATTENDED,
    BFLOAT16,
    CACHE_KIND,
    CAPACITY,
    FIRST_KEY,
    FIRST_ROW,
    FLOAT32,
    HEAD_DIM,
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
from headway.kernels.cpu.memory import compiled, floats, halves, signed_bytes, whole_numbers
from headway.kernels.cpu.products import bfloat16_product, byte_product, float32_product

F = numpy.float32


@compiled
def whole_rows(size: int) -> int:
    """A size filled up to whole rows of 16."""
    return (size + NUM_ROWS - 1) // NUM_ROWS * NUM_ROWS


@compiled
def _size(kind: int) -> int:
    return 4 if kind == FLOAT32 else (2 if kind == BFLOAT16 else 1)


@compiled
def _product(kind: int, numbers: int, x: int, x_stride: int, num_inputs: int, out: int, out_stride: int, rows: int, is_added: int) -> None:
    if kind == FLOAT32:
        float32_product(numbers, x, x_stride, num_inputs, out, out_stride, rows, is_added)
    elif kind == BFLOAT16:
        bfloat16_product(numbers, x, x_stride, num_inputs, out, out_stride, rows, is_added)
    else:
        byte_product(numbers, x, x_stride, num_inputs, out, out_stride, rows, is_added)


@compiled(fastmath=REASSOCIATE)
def _store(kind: int, base: int, first: int, stride: int, piece_stride: int, numbers_at: int, count: int, scale: int) -> None:
    """Numbers into a cache, from `first` on: in pieces of 16 that lie piece_stride apart, `stride` apart within a piece.

    As bytes they have a scale of their own.
    """
    x, end = floats(numbers_at, count), first + (count + NUM_ROWS - 1) // NUM_ROWS * piece_stride
    if kind == FLOAT32:
        numbers = floats(base, end)
        for i in range(count):
            numbers[first + i // NUM_ROWS * piece_stride + i % NUM_ROWS * stride] = x[i]
    elif kind == BFLOAT16:
        bits = halves(base, end)
        for i in range(count):
            bits[first + i // NUM_ROWS * piece_stride + i % NUM_ROWS * stride] = bfloat16_bits(x[i])
    else:
        largest = largest_size(numbers_at, count)
        factor = F(127) / largest if largest > F(0) else F(0)
        codes = signed_bytes(base, end)
        for i in range(count):
            code = numpy.int8(numpy.int32(numpy.rint(x[i] * factor)))
            codes[first + i // NUM_ROWS * piece_stride + i % NUM_ROWS * stride] = code
        floats(scale, 1)[0] = largest / F(127) + not_finite(numbers_at, count)


@compiled
def remember(plan: Any, layer: Any, sequence: int, head: int, position: int, key: int, value: int) -> None:
    """Put a key and a value of one head, at these addresses, into the cache."""
    kind, capacity, head_dim = plan[CACHE_KIND], plan[CAPACITY], plan[HEAD_DIM]
    place = sequence * plan[NUM_KV_HEADS] + head
    scale = 4 * (place * capacity + position)
    keys = layer[KEYS] + place * capacity * head_dim * _size(kind)
    values = layer[VALUES] + place * capacity * whole_rows(head_dim) * _size(kind)
    first = position // NUM_ROWS * head_dim * NUM_ROWS + position % NUM_ROWS
    _store(kind, keys, first, NUM_ROWS, NUM_ROWS * NUM_ROWS, key, head_dim, layer[KEY_SCALES] + scale)
    _store(kind, values, position * NUM_ROWS, 1, capacity * NUM_ROWS, value, head_dim, layer[VALUE_SCALES] + scale)


@compiled(fastmath=NO_NAN)
def _largest(scores: int, count: int, largest: Any) -> Any:
    x = floats(scores, count)
    for i in range(count):
        largest = x[i] if x[i] > largest else largest
    return largest


@compiled(fastmath=REASSOCIATE)
def _weigh(scores: int, begin: int, end: int, count: int, state: Any) -> Any:
    """Scores to exponentials in place, zero outside begin to end; state is the largest score and the sum so far.

    Return what the answer so far must be multiplied by.
    """
    before, here, after = floats(scores, begin), floats(scores + 4 * begin, end - begin), floats(scores + 4 * end, count - end)
    largest = _largest(scores + 4 * begin, end - begin, state[0])
    rescale = exp(state[0] - largest) if state[1] > F(0) else F(0)
    total = F(0)
    for i in range(begin):
        before[i] = F(0)
    for i in range(end - begin):
        weight = exp(here[i] - largest)
        here[i] = weight
        total += weight
    for i in range(count - end):
        after[i] = F(0)
    state[0] = largest
    state[1] = state[1] * rescale + total
    return rescale


@compiled
def attend(plan: Any, layer: Any, scale: float, item: Any, kv_head: int, scratch: int) -> None:
    """Some rows of one sequence, all query heads of one key head, over a range of keys: the answer, or a part of it."""
    kind, capacity, head_dim, num_heads = plan[CACHE_KIND], plan[CAPACITY], plan[HEAD_DIM], plan[NUM_HEADS]
    size, padded = _size(kind), whole_rows(head_dim)
    group = num_heads // plan[NUM_KV_HEADS]
    first, num_rows = item[FIRST_ROW], (item[LAST_ROW] - item[FIRST_ROW]) * group
    positions = whole_numbers(plan[POSITIONS], item[LAST_ROW])
    place = whole_numbers(plan[SEQUENCES], item[LAST_ROW])[first] * plan[NUM_KV_HEADS] + kv_head
    keys = layer[KEYS] + place * capacity * head_dim * size
    values = layer[VALUES] + place * capacity * padded * size
    queries_at = scratch
    scores_at = queries_at + 4 * num_rows * padded
    out_at = scores_at + 4 * num_rows * KEYS_AT_ONCE
    states_at = out_at + 4 * num_rows * padded
    queries = floats(queries_at, num_rows * head_dim)
    out, states = floats(out_at, num_rows * padded), floats(states_at, 2 * num_rows)
    source = floats(plan[QUERIES], item[LAST_ROW] * num_heads * head_dim)
    for row in range(num_rows):
        start = ((first + row // group) * num_heads + kv_head * group + row % group) * head_dim
        for i in range(head_dim):
            queries[row * head_dim + i] = source[start + i] * F(scale)
        states[2 * row], states[2 * row + 1] = F(-3.0e38), F(0)
    for i in range(num_rows * padded):
        out[i] = F(0)
    nearest = max(positions[first] + 1 - layer[WINDOW], 0) // KEYS_AT_ONCE * KEYS_AT_ONCE if layer[WINDOW] else 0
    for block in range(max(item[FIRST_KEY], nearest), item[LAST_KEY], KEYS_AT_ONCE):
        count = min(KEYS_AT_ONCE, item[LAST_KEY] - block)
        for piece in range(0, count, NUM_ROWS):
            at = keys + (block + piece) * head_dim * size
            _product(kind, at, queries_at, 4 * head_dim, head_dim, scores_at + 4 * piece, 4 * KEYS_AT_ONCE, num_rows, 0)
        if kind > BFLOAT16:
            _scale(scores_at, layer[KEY_SCALES] + 4 * (place * capacity + block), num_rows, count)
        for row in range(num_rows):
            position = positions[first + row // group]
            end = min(max(position + 1 - block, 0), count)
            begin = min(max(position + 1 - layer[WINDOW] - block, 0), end) if layer[WINDOW] else 0
            rescale = _weigh(scores_at + 4 * row * KEYS_AT_ONCE, begin, end, count, floats(states_at + 8 * row, 2))
            if rescale != F(1):
                answer = floats(out_at + 4 * row * padded, padded)
                for i in range(padded):
                    answer[i] *= rescale
        if kind > BFLOAT16:
            _scale(scores_at, layer[VALUE_SCALES] + 4 * (place * capacity + block), num_rows, count)
        for piece in range(0, padded, NUM_ROWS):
            at = values + (piece * capacity + block * NUM_ROWS) * size
            _product(kind, at, scores_at, 4 * KEYS_AT_ONCE, count, out_at + 4 * piece, 4 * padded, num_rows, 1)
    _deliver(plan, item, kv_head, group, num_rows, out, states)


@compiled(fastmath=REASSOCIATE)
def _scale(scores: int, scales: int, num_rows: int, count: int) -> None:
    """Multiply every row by the keys' or the values' own scales."""
    factors = floats(scales, count)
    for row in range(num_rows):
        numbers = floats(scores + 4 * row * KEYS_AT_ONCE, count)
        for i in range(count):
            numbers[i] *= factors[i]


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
