"""Attention of one head within one text, in float32, for use inside Numba functions.

The keys of a head are copied into the form of packed float32 matrices: blocks of 16 rows, interleaved. The values have this form where heads
do not share blocks, and are copied otherwise. Both products are then those of float32 matrices, for some queries at a time.

Queries, keys and values are those of project_to_blocks: (num_blocks, num_tokens, 16), the numbers of all heads divided into blocks of 16.
"""

from __future__ import annotations

from typing import Any

import numpy

from headway.kernels.cpu import layout
from headway.kernels.cpu.elementwise import REASSOCIATE, exp, rotate
from headway.kernels.cpu.kv_page import padded_size
from headway.kernels.cpu.lanes import largest_of_rows, transpose_block, write_rows
from headway.kernels.cpu.layout import ACTIVATIONS_SIZE, GROUP, INT8_ROWS, NUM_ROWS, QUERIES_PER_CHUNK
from headway.kernels.cpu.memory import compiled, float32_view, float_field, int64_view
from headway.kernels.cpu.products import float32_product
from headway.kernels.cpu.projections import padded_tokens, store_activations

F = numpy.float32


@compiled
def _rotate(layer: Any, position: int, x: Any) -> None:
    """Apply rotary embeddings to a query or a key, in place, if the layer has them."""
    half = layer[layout.ROTARY_HALF]
    if half:
        cos, sin = (
            float32_view(layer[layout.COSINES] + 4 * position * half, half),
            float32_view(layer[layout.SINES] + 4 * position * half, half),
        )
        rotate(x, cos, sin, half)


@compiled
def _read_head(launch: Any, base: int, row: int, head: int, out: Any) -> None:
    """Copy one head of a row of queries, keys or values."""
    head_dim, num_rows = launch[layout.HEAD_DIM], padded_tokens(launch[layout.NUM_TOKENS])
    first = head * head_dim
    if head_dim % NUM_ROWS == 0:
        for start in range(0, head_dim, NUM_ROWS):
            x = float32_view(base + 4 * NUM_ROWS * ((first + start) // NUM_ROWS * num_rows + row), NUM_ROWS)
            for i in range(NUM_ROWS):
                out[start + i] = x[i]
    else:
        for i in range(head_dim):
            block, lane = (first + i) // NUM_ROWS, (first + i) % NUM_ROWS
            out[i] = float32_view(base + 4 * (NUM_ROWS * (block * num_rows + row) + lane), 1)[0]


@compiled
def _pack_keys(launch: Any, layer: Any, first: int, last: int, head: int, out_address: int, scratch: int) -> None:
    """Copy keys to (num_blocks, head_dim, 16), rotated; the last block is padded with zeros."""
    head_dim, num_rows = launch[layout.HEAD_DIM], padded_tokens(launch[layout.NUM_TOKENS])
    for key in range(0, last - first, NUM_ROWS):
        out = out_address + 4 * key * head_dim
        count = min(NUM_ROWS, last - first - key)
        if head_dim % NUM_ROWS == 0 and count == NUM_ROWS and not layer[layout.ROTARY_HALF]:
            for start in range(0, head_dim, NUM_ROWS):
                block = (head * head_dim + start) // NUM_ROWS
                source = launch[layout.NEW_KEYS] + 4 * NUM_ROWS * (block * num_rows + first + key)
                transpose_block(source, 4 * NUM_ROWS, out + 4 * NUM_ROWS * start)
        else:
            _pack_block(launch, layer, first, key, count, head, out, scratch)


@compiled
def _pack_block(launch: Any, layer: Any, first: int, key: int, count: int, head: int, out_address: int, scratch: int) -> None:
    """Copy up to 16 keys to (head_dim, 16), rotated."""
    head_dim = launch[layout.HEAD_DIM]
    rows, out = float32_view(scratch, NUM_ROWS * head_dim), float32_view(out_address, NUM_ROWS * head_dim)
    for row in range(count):
        x = float32_view(scratch + 4 * row * head_dim, head_dim)
        _read_head(launch, launch[layout.NEW_KEYS], first + key + row, head, x)
        _rotate(layer, key + row, x)
    for i in range(count * head_dim, NUM_ROWS * head_dim):
        rows[i] = F(0)
    if head_dim % NUM_ROWS == 0:
        for start in range(0, head_dim, NUM_ROWS):
            transpose_block(scratch + 4 * start, 4 * head_dim, out_address + 4 * NUM_ROWS * start)
    else:
        for row in range(NUM_ROWS):
            for i in range(head_dim):
                out[NUM_ROWS * i + row] = rows[row * head_dim + i]


@compiled
def _pack_values(launch: Any, first: int, last: int, head: int, out_address: int, scratch: int) -> None:
    """Copy values to (head_dim / 16, num_keys, 16), padded with zeros."""
    head_dim, num_keys = launch[layout.HEAD_DIM], last - first
    out, x = float32_view(out_address, num_keys * padded_size(head_dim)), float32_view(scratch, head_dim)
    for key in range(num_keys):
        _read_head(launch, launch[layout.NEW_VALUES], first + key, head, x)
        for column in range(0, head_dim, NUM_ROWS):
            start, count = (column * num_keys) + NUM_ROWS * key, min(NUM_ROWS, head_dim - column)
            for i in range(count):
                out[start + i] = x[column + i]
            for i in range(count, NUM_ROWS):
                out[start + i] = F(0)


@compiled(fastmath=REASSOCIATE)
def _softmax(scores: int, begin: int, end: int, last: int, bias: int) -> Any:
    """Replace the scores from begin to end by their exponentials, and the others up to `last` by zero; return the sum.

    bias   address of the number to add to the first score, followed by those of the next ones; 0 for none
    """
    before, x, after = (
        float32_view(scores, begin),
        float32_view(scores + 4 * begin, end - begin),
        float32_view(scores + 4 * end, last - end),
    )
    if bias:
        added = float32_view(bias + 4 * begin, end - begin)
        for i in range(end - begin):
            x[i] += added[i]
    num_whole = (end - begin) // NUM_ROWS
    largest = largest_of_rows(scores + 4 * begin, num_whole)
    for i in range(NUM_ROWS * num_whole, end - begin):
        largest = x[i] if x[i] > largest else largest
    for i in range(begin):
        before[i] = F(0)
    for i in range(last - end):
        after[i] = F(0)
    total = F(0)
    for i in range(end - begin):
        weight = exp(x[i] - largest)
        x[i] = weight
        total += weight
    return total


@compiled(fastmath=REASSOCIATE)
def _divide(x: Any, total: Any, count: int, out: Any) -> None:
    factor = F(1) / total
    for i in range(count):
        out[i] = x[i] * factor


@compiled
def attend_text(launch: Any, layer: Any, first: int, last: int, head: int, scratch: int) -> None:
    """Compute one head of the attention of one text, the rows from first to last."""
    head_dim, num_keys = launch[layout.HEAD_DIM], last - first
    padded, padded_keys = padded_size(head_dim), padded_size(num_keys)
    values, value_bytes = scratch + 4 * padded_keys * head_dim, 4 * NUM_ROWS * num_keys
    rest = values + 4 * num_keys * padded
    _pack_keys(launch, layer, first, last, head, scratch, rest)
    if head_dim % NUM_ROWS:
        _pack_values(launch, first, last, head, values, rest)
    else:
        value_bytes = 4 * NUM_ROWS * padded_tokens(launch[layout.NUM_TOKENS])
        values = launch[layout.NEW_VALUES] + head * head_dim // NUM_ROWS * value_bytes + 4 * NUM_ROWS * first
    for query in range(0, num_keys, QUERIES_PER_CHUNK):
        end = min(query + QUERIES_PER_CHUNK, num_keys)
        _attend_queries(launch, layer, first, query, end, num_keys, head, scratch, values, value_bytes, padded_keys, rest)


@compiled
def _read_queries(launch: Any, layer: Any, first: int, begin: int, count: int, head: int, scale: Any, out: int) -> None:
    """Copy queries to (count, head_dim), scaled and rotated."""
    head_dim, num_rows = launch[layout.HEAD_DIM], padded_tokens(launch[layout.NUM_TOKENS])
    if head_dim % NUM_ROWS == 0:
        for start in range(0, head_dim, NUM_ROWS):
            block = (head * head_dim + start) // NUM_ROWS
            source = launch[layout.QUERIES] + 4 * NUM_ROWS * (block * num_rows + first + begin)
            write_rows(source, count, out + 4 * start, 4 * head_dim, F(0))
    else:
        for row in range(count):
            _read_head(launch, launch[layout.QUERIES], first + begin + row, head, float32_view(out + 4 * row * head_dim, head_dim))
    x = float32_view(out, count * head_dim)
    for i in range(count * head_dim):
        x[i] *= scale
    for row in range(count):
        _rotate(layer, begin + row, float32_view(out + 4 * row * head_dim, head_dim))


@compiled
def _attend_queries(
    launch: Any,
    layer: Any,
    first: int,
    begin: int,
    end: int,
    num_keys: int,
    head: int,
    keys: int,
    values: int,
    value_bytes: int,
    padded_keys: int,
    scratch: int,
) -> None:
    """Compute the attention of the queries from begin to end of a text whose first row is `first`.

    value_bytes   size of 16 columns of the values
    """
    head_dim, scale, count = launch[layout.HEAD_DIM], F(float_field(layer, layout.SCALE)), end - begin
    padded = padded_size(head_dim)
    reach = layer[layout.WINDOW] - 1 if layer[layout.WINDOW] else num_keys
    first_key, last_key = max(begin - reach, 0) // NUM_ROWS * NUM_ROWS, min(end + reach, num_keys)
    scores = scratch + 4 * QUERIES_PER_CHUNK * head_dim
    out = scores + 4 * QUERIES_PER_CHUNK * padded_keys
    _read_queries(launch, layer, first, begin, count, head, scale, scratch)
    for key in range(first_key, last_key, NUM_ROWS):
        block, block_out = keys + 4 * key * head_dim, scores + 4 * (key - first_key)
        float32_product(block, scratch, 4 * head_dim, head_dim, block_out, 4 * padded_keys, count, 0)
    totals = float32_view(out + 4 * QUERIES_PER_CHUNK * padded, QUERIES_PER_CHUNK)
    longest, num_scores = launch[layout.LONGEST], last_key - first_key
    for row in range(count):
        query, bias = begin + row, 0
        if launch[layout.POSITION_BIAS]:
            bias = launch[layout.POSITION_BIAS] + 4 * (head * (2 * longest - 1) + longest - 1 - query + first_key)
        visible, last_visible = max(query - reach, 0) - first_key, min(query + reach + 1, num_keys) - first_key
        totals[row] = _softmax(scores + 4 * row * padded_keys, visible, last_visible, num_scores, bias)
    for column in range(0, padded, NUM_ROWS):
        block = values + column // NUM_ROWS * value_bytes + 4 * NUM_ROWS * first_key
        float32_product(block, scores, 4 * padded_keys, num_scores, out + 4 * column, 4 * padded, count, 0)
    x = int64_view(launch[layout.ATTENDED_ACTIVATIONS], ACTIVATIONS_SIZE)
    for row in range(count):
        token, address = first + begin + row, out + 4 * row * padded
        answer = float32_view(address, head_dim)
        if head_dim % GROUP or x[layout.X_KIND] == INT8_ROWS:
            place = launch[layout.ATTENDED] + 4 * (token * launch[layout.NUM_HEADS] + head) * head_dim
            _divide(answer, totals[row], head_dim, float32_view(place, head_dim))
        else:
            _divide(answer, totals[row], head_dim, answer)
            store_activations(x, token, address, head * head_dim, head_dim)
