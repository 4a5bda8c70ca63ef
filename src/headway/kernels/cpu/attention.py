"""Attention over a KV cache with an online softmax, for use inside Numba functions.

Keys are read in blocks of 128, which are the pages of the cache. The answer to a query is the weighted sum of the values, the largest
score so far and the sum of the exponentials; all three are rescaled when a block has a larger score (Milakov and Gimelshein 2018; Dao et
al. 2022).

With an integer cache, queries and attention weights are quantized to int16, and both products are integer products.
"""

from __future__ import annotations

from typing import Any

import numpy

from headway.kernels.cpu.attention_tiles import key_tile, value_tile
from headway.kernels.cpu.elementwise import REASSOCIATE, exp, soft_cap
from headway.kernels.cpu.kv_page import element_size, key_size, keys_address, padded_size, page_address, values_address
from headway.kernels.cpu.lanes import largest_of_rows
from headway.kernels.cpu.layout import (
    ATTENDED,
    BFLOAT16,
    FIRST_KEY,
    FIRST_PAGES,
    FIRST_PARTIALS,
    FIRST_ROW,
    FLOAT32,
    HEAD_DIM,
    INT8,
    KEY_SCALES,
    KEYS_PER_BLOCK,
    KEYS_PER_PARTIAL,
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
    SCALE,
    SOFT_CAP,
    VALUE_SCALES,
    WINDOW,
)
from headway.kernels.cpu.memory import compiled, float32_view, float_field, int16_view, int64_view
from headway.kernels.cpu.products import INSTRUCTIONS, bfloat16_product, float32_product

F = numpy.float32
ROW_CODE_SUM = F(32500)
"""Sum of the absolute values of a row's int16 codes, before rounding: below 2¹⁵, so that a dot product with int16 fits into int32."""


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
def _answer_size(padded: int) -> int:
    """Return the size of the answer to a query: the weighted sum of the values, the largest score, the sum of the exponentials, padding."""
    return padded + NUM_ROWS


@compiled
def _clear(answers: int, num_rows: int, padded: int) -> None:
    """Let the answers be those of no keys."""
    size = _answer_size(padded)
    numbers = float32_view(answers, num_rows * size)
    for row in range(num_rows):
        for i in range(size):
            numbers[row * size + i] = F(0)
        numbers[row * size + padded] = F(-3.0e38)


@compiled
def _merge(answer: int, part: int, padded: int) -> None:
    """Merge the answer for some keys into the answer for all keys before them.

    Merging into the answer for no keys changes no bit, and neither does merging the answer for no keys.
    """
    total, added = float32_view(answer, padded + 2), float32_view(part, padded + 2)
    largest = max(total[padded], added[padded])
    rescale, weight = exp(total[padded] - largest), exp(added[padded] - largest)
    for i in range(padded):
        total[i] = total[i] * rescale + added[i] * weight
    total[padded] = largest
    total[padded + 1] = total[padded + 1] * rescale + added[padded + 1] * weight


@compiled
def _write_answer(answer: int, padded: int, target: int, head_dim: int) -> None:
    """Divide the weighted sum by the sum of the exponentials."""
    numbers, attended = float32_view(answer, padded + 2), float32_view(target, head_dim)
    for i in range(head_dim):
        attended[i] = numbers[i] / numbers[padded + 1]


@compiled
def attend(launch: Any, layer: Any, task: Any, kv_head: int, scratch: int) -> None:
    """Compute one task: some rows of one sequence, all query heads of one key head, and a range of keys.

    Each part of KEYS_PER_PARTIAL keys has an answer of its own, which is merged into the answer for the keys before it. Tasks of one
    part leave this to merge_partials. The result is the same in every bit, so it does not depend on the rows that a pass has.
    """
    head_dim, group = launch[HEAD_DIM], launch[NUM_HEADS] // launch[NUM_KV_HEADS]
    padded, num_rows = padded_size(head_dim), (task[LAST_ROW] - task[FIRST_ROW]) * group
    size = 4 * _answer_size(padded)
    answers = scratch
    parts = answers + size * num_rows
    queries = parts + size * num_rows
    _load_queries(launch, task, kv_head, group, num_rows, float_field(layer, SCALE), queries)
    _clear(answers, num_rows, padded)

    first_position = int64_view(launch[POSITIONS], task[LAST_ROW])[task[FIRST_ROW]]
    first_visible = max(first_position + 1 - layer[WINDOW], 0) // KEYS_PER_BLOCK * KEYS_PER_BLOCK if layer[WINDOW] else 0
    for first in range(task[FIRST_KEY], task[LAST_KEY], KEYS_PER_PARTIAL):
        last = min(first + KEYS_PER_PARTIAL, task[LAST_KEY])
        if last > first_visible:
            _clear(parts, num_rows, padded)
            for block in range(max(first, first_visible), last, KEYS_PER_BLOCK):
                _attend_block(launch, layer, task, kv_head, group, num_rows, block, queries, parts)
            for row in range(num_rows):
                _merge(answers + size * row, parts + size * row, padded)
    _write_answers(launch, task, kv_head, group, num_rows, answers)


@compiled
def _attend_block(
    launch: Any, layer: Any, task: Any, kv_head: int, group: int, num_rows: int, block: int, queries: int, answers: int
) -> None:
    """Add a block of keys to the answers of a task.

    queries   address of the queries, followed by the other parts of the scratch memory: see _scratch
    """
    kind, head_dim = launch[KV_KIND], launch[HEAD_DIM]
    padded, is_integer, count = padded_size(head_dim), kind > BFLOAT16, min(KEYS_PER_BLOCK, task[LAST_KEY] - block)
    scores_address, codes_address, scales_address, query_codes_address = _scratch(queries, num_rows, padded)
    page = page_address(launch, int64_view(launch[FIRST_PAGES], task[LAST_ROW])[task[FIRST_ROW]], block)
    keys, values = keys_address(layer, page, kind, head_dim, kv_head), values_address(layer, page, kind, head_dim, kv_head)
    key_scales, value_scales = (
        page + layer[KEY_SCALES] + 4 * kv_head * KEYS_PER_BLOCK,
        page + layer[VALUE_SCALES] + 4 * kv_head * KEYS_PER_BLOCK,
    )
    positions, size = int64_view(launch[POSITIONS], task[LAST_ROW]), _answer_size(padded)
    query_address = query_codes_address if is_integer else queries
    _score_block(kind, keys, key_scales, count, head_dim, query_address, scales_address, scores_address, num_rows)
    for row in range(num_rows):
        position, scores = positions[task[FIRST_ROW] + row // group], scores_address + 4 * row * KEYS_PER_BLOCK
        end = min(max(position + 1 - block, 0), count)
        begin = min(max(position + 1 - layer[WINDOW] - block, 0), end) if layer[WINDOW] else 0
        answer = answers + 4 * row * size
        if layer[SOFT_CAP]:
            soft_cap(scores + 4 * begin, end - begin, float_field(layer, SOFT_CAP))
        rescale = _softmax_block(scores, begin, end, float32_view(answer + 4 * padded, 2))
        if rescale != F(1):
            output = float32_view(answer, padded)
            for i in range(padded):
                output[i] *= rescale
        if is_integer:
            _scale(scores, value_scales, count)
            _quantize_int16(scores, KEYS_PER_BLOCK, codes_address + 2 * row * KEYS_PER_BLOCK, scales_address + 4 * (num_rows + row))
    weights_address = codes_address if is_integer else scores_address
    _accumulate_values(kind, values, count, padded, weights_address, scales_address + 4 * num_rows, answers, num_rows)


@compiled
def _scratch(queries: int, num_rows: int, padded: int) -> tuple[int, int, int, int]:
    """Return the addresses of the scores, of the codes and scales of attention weights and queries, and of the queries' codes."""
    scores = queries + 4 * num_rows * padded
    codes = scores + 4 * num_rows * KEYS_PER_BLOCK
    scales = codes + 2 * num_rows * KEYS_PER_BLOCK
    return scores, codes, scales, scales + 8 * num_rows


@compiled
def _load_queries(launch: Any, task: Any, kv_head: int, group: int, num_rows: int, scale: float, out_address: int) -> None:
    """Load the queries of a task, scaled, as float32 (num_rows, head_dim); for an integer cache also as int16."""
    kind, head_dim, num_heads = launch[KV_KIND], launch[HEAD_DIM], launch[NUM_HEADS]
    source, queries = float32_view(launch[QUERIES], task[LAST_ROW] * num_heads * head_dim), float32_view(out_address, num_rows * head_dim)
    _, _, scales, codes = _scratch(out_address, num_rows, padded_size(head_dim))
    for row in range(num_rows):
        start = ((task[FIRST_ROW] + row // group) * num_heads + kv_head * group + row % group) * head_dim
        for i in range(head_dim):
            queries[row * head_dim + i] = source[start + i] * F(scale)
        if kind > BFLOAT16:
            _quantize_int16(out_address + 4 * row * head_dim, head_dim, codes + 2 * row * key_size(kind, head_dim), scales + 4 * row)


@compiled
def _score_block(
    kind: int, keys: int, scales: int, count: int, head_dim: int, queries: int, query_scales: int, out: int, num_rows: int
) -> None:
    """Multiply the queries by the keys of a page, 16 keys at a time: (num_rows, 128)."""
    size, stride = key_size(kind, head_dim), 4 * KEYS_PER_BLOCK
    for key in range(0, count, NUM_ROWS):
        block_address, out_address, scales_address = keys + key * size * element_size(kind), out + 4 * key, scales + 4 * key
        if kind == FLOAT32:
            float32_product(block_address, queries, 4 * size, size, out_address, stride, num_rows, 0)
        elif kind == BFLOAT16:
            bfloat16_product(block_address, queries, 4 * size, size, out_address, stride, num_rows, 0)
        elif kind == INT8:
            int8_scores(block_address, scales_address, queries, 2 * size, query_scales, size // 2, out_address, stride, num_rows)
        else:
            int16_scores(block_address, scales_address, queries, 2 * size, query_scales, size // 2, out_address, stride, num_rows)


@compiled
def _accumulate_values(kind: int, values: int, count: int, padded: int, weights: int, scales: int, out: int, num_rows: int) -> None:
    """Add the product of the weights and the values of a page, 16 elements of the values at a time, to the answers."""
    pairs, stride = (count + 1) // 2, 4 * _answer_size(padded)
    for column in range(0, padded, NUM_ROWS):
        block_address, out_address = values + column * KEYS_PER_BLOCK * element_size(kind), out + 4 * column
        if kind == FLOAT32:
            float32_product(block_address, weights, 4 * KEYS_PER_BLOCK, count, out_address, stride, num_rows, 1)
        elif kind == BFLOAT16:
            bfloat16_product(block_address, weights, 4 * KEYS_PER_BLOCK, count, out_address, stride, num_rows, 1)
        elif kind == INT8:
            int8_weighted_sums(block_address, 0, weights, 2 * KEYS_PER_BLOCK, scales, pairs, out_address, stride, num_rows)
        else:
            int16_weighted_sums(block_address, 0, weights, 2 * KEYS_PER_BLOCK, scales, pairs, out_address, stride, num_rows)


@compiled
def _write_answers(launch: Any, task: Any, kv_head: int, group: int, num_rows: int, answers: int) -> None:
    """Write the results of a task, or its partial results."""
    head_dim, num_heads = launch[HEAD_DIM], launch[NUM_HEADS]
    padded = padded_size(head_dim)
    size, firsts = _answer_size(padded), int64_view(launch[FIRST_PARTIALS], task[LAST_ROW])
    for row in range(num_rows):
        token, head, answer = task[FIRST_ROW] + row // group, kv_head * group + row % group, answers + 4 * row * size
        if task[PARTIAL] < 0:
            _write_answer(answer, padded, launch[ATTENDED] + 4 * (token * num_heads + head) * head_dim, head_dim)
        else:
            index = (firsts[token] + task[PARTIAL]) * num_heads + head
            source, part = float32_view(answer, size), float32_view(launch[PARTIALS] + 4 * index * size, size)
            for i in range(size):
                part[i] = source[i]


@compiled
def merge_partials(launch: Any, token: int, first: int, count: int, scratch: int) -> None:
    """Merge the partial results of a token, in the order of the keys."""
    head_dim, num_heads = launch[HEAD_DIM], launch[NUM_HEADS]
    padded = padded_size(head_dim)
    size = 4 * _answer_size(padded)
    for head in range(num_heads):
        _clear(scratch, 1, padded)
        for part in range(first, first + count):
            _merge(scratch, launch[PARTIALS] + (part * num_heads + head) * size, padded)
        _write_answer(scratch, padded, launch[ATTENDED] + 4 * (token * num_heads + head) * head_dim, head_dim)
