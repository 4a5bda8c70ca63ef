"""A whole pass of a decoder, from token ids to logits, in one call: every thread runs `run`, and they share the work.

The pass is a row of phases. Within a phase threads claim pieces of work from a counter, and nobody's piece depends on another's; the
next phase begins when all pieces are done. Which thread did a piece changes nothing, so neither does the number of threads. Every phase
returns how many pieces it has.
"""

from __future__ import annotations

from typing import Any

import numpy

from headway.kernels.cpu import layout as at
from headway.kernels.cpu.attention import attend, combine, remember
from headway.kernels.cpu.elementwise import activate, norm, rotate, round_to_bfloat16, widen_group
from headway.kernels.cpu.lanes import round_group
from headway.kernels.cpu.layout import (
    ACTIVATIONS_SIZE,
    BFLOAT16,
    COLUMNS,
    GROUP,
    GROUPS_AT_ONCE,
    MATRIX_SIZE,
    NUM_ROWS,
    ROWS,
    WIDE_TOKENS,
)
from headway.kernels.cpu.memory import (
    claim,
    compiled,
    float_of,
    floats,
    halves,
    meet,
    next_piece,
    signed_bytes,
    unsigned_bytes,
    wait_for_all,
    whole_numbers,
)
from headway.kernels.cpu.packer import float16_number
from headway.kernels.cpu.products import IS_PAIRED, multiply, tokens_at_once

F = numpy.float32


@compiled
def put(x: Any, row: int, numbers: int, first: int, count: int) -> None:
    """Store float32 activations at an address as columns of a row, from a multiple of 32 on, in the form that the products take."""
    columns = x[at.X_COLUMNS]
    for start in range(0, count, GROUP):
        there, place = min(GROUP, count - start), row * columns + first + start
        if x[at.X_KIND] > BFLOAT16:
            group = place // GROUP
            bytes_, scale = x[at.X_BYTES] + 32 * group, x[at.X_SCALES] + 4 * group
            round_group(numbers + 4 * start, there, bytes_, scale, x[at.X_SUMS] + 4 * group)
            if x[at.X_WIDE]:
                side, row_group = row % WIDE_TOKENS, (row // WIDE_TOKENS * columns + first + start) // GROUP * WIDE_TOKENS
                widen_group(bytes_, x[at.X_WIDE] + 64 * row_group + 4 * side)
                floats(x[at.X_WIDE_SCALES] + 4 * (row_group + side), 1)[0] = floats(scale, 1)[0]
        elif x[at.X_KIND] == BFLOAT16 and IS_PAIRED:
            round_to_bfloat16(numbers + 4 * start, there, x[at.X_FLOATS] + 2 * place)
        else:
            out, source = floats(x[at.X_FLOATS] + 4 * place, GROUP), floats(numbers + 4 * start, there)
            for i in range(there):
                out[i] = source[i]
            for i in range(there, GROUP):
                out[i] = F(0)


@compiled
def read_row(matrix: Any, row: int, out: Any, count: int) -> None:
    """One row of a packed matrix as float32."""
    kind, columns = matrix[at.KIND], matrix[COLUMNS]
    block, lane = row // NUM_ROWS, row % NUM_ROWS
    first = block * NUM_ROWS * columns
    if kind == at.FLOAT32:
        numbers = floats(matrix[at.CODES] + 4 * first, NUM_ROWS * columns)
        for i in range(count):
            out[i] = numbers[NUM_ROWS * i + lane]
    elif kind == BFLOAT16:
        bits = halves(matrix[at.CODES] + 2 * first, NUM_ROWS * columns)
        for i in range(count):
            out[i] = float_of(numpy.int32(bits[NUM_ROWS * (i - i % 2) + 2 * lane + i % 2]) << numpy.int32(16))
    else:
        scales = halves(matrix[at.SCALES] + first // 16, NUM_ROWS * columns // GROUP)
        signed = signed_bytes(matrix[at.CODES] + first, NUM_ROWS * columns)
        nibbles = unsigned_bytes(matrix[at.CODES] + first // 2, NUM_ROWS * columns // 2)
        for i in range(count):
            group, inside = i // GROUP, i % GROUP
            scale = float16_number(scales[NUM_ROWS * group + lane])
            if kind == at.INT8:
                code = F(signed[GROUP * NUM_ROWS * group + inside // 4 * 64 + 4 * lane + inside % 4])
            else:
                byte = nibbles[16 * NUM_ROWS * group + inside % 16 // 4 * 64 + 4 * lane + inside % 4]
                code = F(byte & 15) - F(8) if inside < 16 else F(byte >> 4) - F(8)
            out[i] = code * scale


@compiled
def project(plan: Any, counter: int, matrix: Any, x: Any, num_tokens: int, out: int, scratch: int, is_added: bool) -> int:
    """Tokens' activations times a packed matrix, written to (num_tokens, rows) at an address, or added to what is there."""
    rows, columns = matrix[ROWS], matrix[COLUMNS]
    num_blocks, at_once = (rows + NUM_ROWS - 1) // NUM_ROWS, tokens_at_once(columns, num_tokens)
    unit = max(1, num_blocks // (8 * plan[at.NUM_THREADS])) if num_tokens == 1 else 1
    units = (num_blocks + unit - 1) // unit
    pieces = (num_tokens + at_once - 1) // at_once
    wide, result_at = scratch, scratch + 2 * NUM_ROWS * columns
    piece = claim(counter)
    while piece < units * pieces:
        first = piece // units * at_once
        last, begin = min(first + at_once, num_tokens), piece % units * unit
        for block in range(begin, min(begin + unit, num_blocks)):
            _multiply_with_bias(matrix, block, x, first, last, wide, result_at)
            _write_block(matrix, block, result_at, first, last, out, is_added)
        piece = next_piece(counter)
    return units * pieces


@compiled
def _write_block(matrix: Any, block: int, result_at: int, first: int, last: int, out: int, is_added: bool) -> None:
    rows, row = matrix[ROWS], block * NUM_ROWS
    count = min(NUM_ROWS, rows - row)
    for token in range(first, last):
        result, target = floats(result_at + 4 * NUM_ROWS * (token - first), count), floats(out + 4 * (token * rows + row), count)
        if is_added:
            for i in range(count):
                target[i] += result[i]
        else:
            for i in range(count):
                target[i] = result[i]


@compiled
def _multiply_with_bias(matrix: Any, block: int, x: Any, first: int, last: int, scratch: int, out: int) -> None:
    """16 rows times some tokens, their bias added: see multiply."""
    multiply(matrix, block, x, first, last, scratch, out)
    if matrix[at.BIAS]:
        count = min(NUM_ROWS, matrix[ROWS] - block * NUM_ROWS)
        bias = floats(matrix[at.BIAS] + 4 * NUM_ROWS * block, count)
        for token in range(last - first):
            result = floats(out + 4 * NUM_ROWS * token, count)
            for i in range(count):
                result[i] += bias[i]


@compiled
def _multiply_groups(matrix: Any, begin: int, end: int, x: Any, first: int, last: int, scratch: int, out: int, block_size: int) -> None:
    """Groups of 32 rows times some tokens, their blocks block_size numbers apart."""
    for block in range(2 * begin, min(2 * end, (matrix[ROWS] + NUM_ROWS - 1) // NUM_ROWS)):
        _multiply_with_bias(matrix, block, x, first, last, scratch, out + 4 * (block - 2 * begin) * block_size)


@compiled
def widen_out(plan: Any, counter: int, layer: int, x: Any, inner: Any, num_tokens: int, scratch: int) -> int:
    """The first half of the feed-forward: activation(gate) · up, or activation(up), in groups of 32.

    A single token takes some groups of one matrix and then those of the other: memory is read faster from one place on.
    """
    up, gate = whole_numbers(layer + 8 * at.UP, MATRIX_SIZE), whole_numbers(layer + 8 * at.GATE, MATRIX_SIZE)
    rows, columns = up[ROWS], up[COLUMNS]
    at_once = tokens_at_once(columns, num_tokens)
    groups = (rows + GROUP - 1) // GROUP
    unit = min(GROUPS_AT_ONCE, max(1, groups // (12 * plan[at.NUM_THREADS]))) if num_tokens == 1 else 1
    units, pieces = (groups + unit - 1) // unit, (num_tokens + at_once - 1) // at_once
    block_size = (at_once + WIDE_TOKENS - 1) // WIDE_TOKENS * WIDE_TOKENS * NUM_ROWS
    wide, ups_at = scratch, scratch + 2 * NUM_ROWS * columns
    gates_at = ups_at + 8 * unit * block_size
    row_at = gates_at + 8 * unit * block_size
    ups, gates, row = floats(ups_at, 2 * unit * block_size), floats(gates_at, 2 * unit * block_size), floats(row_at, GROUP)
    piece = claim(counter)
    while piece < units * pieces:
        first, begin = piece // units * at_once, piece % units * unit
        last, end = min(first + at_once, num_tokens), min(begin + unit, groups)
        _multiply_groups(up, begin, end, x, first, last, wide, ups_at, block_size)
        if gate[ROWS]:
            _multiply_groups(gate, begin, end, x, first, last, wide, gates_at, block_size)
        for group in range(begin, end):
            count, here = min(GROUP, rows - GROUP * group), 2 * (group - begin) * block_size
            for token in range(last - first):
                for i in range(count):
                    place = here + i // NUM_ROWS * block_size + token * NUM_ROWS + i % NUM_ROWS
                    row[i] = gates[place] if gate[ROWS] else ups[place]
                activate(plan[at.ACTIVATION], row, count)
                if gate[ROWS]:
                    for i in range(count):
                        row[i] *= ups[here + i // NUM_ROWS * block_size + token * NUM_ROWS + i % NUM_ROWS]
                put(inner, first + token, row_at, GROUP * group, count)
        piece = next_piece(counter)
    return units * pieces


@compiled
def _norm_rows(plan: Any, counter: int, weight: int, bias: int, num_tokens: int, scratch: int) -> int:
    """Norm every token's vector, for the products that follow."""
    size, eps = plan[at.HIDDEN_SIZE], numpy.float64(floats(plan[at.FLOATS], 1)[0])
    x, normed = whole_numbers(plan[at.NORMED_ACTIVATIONS], ACTIVATIONS_SIZE), floats(scratch, size)
    token = claim(counter)
    while token < num_tokens:
        norm(plan[at.NORM], floats(plan[at.RESIDUAL] + 4 * token * size, size), weight, bias, eps, size, normed)
        put(x, token, scratch, 0, size)
        token = next_piece(counter)
    return num_tokens


@compiled
def _embed_rows(plan: Any, counter: int, num_tokens: int) -> int:
    """Token ids to vectors, and learned positions added."""
    size, embedding = plan[at.HIDDEN_SIZE], whole_numbers(plan[at.EMBEDDING], MATRIX_SIZE)
    token_ids, positions = whole_numbers(plan[at.TOKEN_IDS], num_tokens), whole_numbers(plan[at.POSITIONS], num_tokens)
    token = claim(counter)
    while token < num_tokens:
        x = floats(plan[at.RESIDUAL] + 4 * token * size, size)
        read_row(embedding, token_ids[token], x, size)
        if plan[at.POSITION_TABLE]:
            learned = floats(plan[at.POSITION_TABLE] + 4 * positions[token] * size, size)
            for i in range(size):
                x[i] += learned[i]
        token = next_piece(counter)
    return num_tokens


@compiled
def _prepare_heads(plan: Any, counter: int, layer: Any, num_tokens: int) -> int:
    """Norm the heads of queries and keys where the model does, turn them by their positions, and remember keys and values."""
    num_heads, num_kv_heads, head_dim = plan[at.NUM_HEADS], plan[at.NUM_KV_HEADS], plan[at.HEAD_DIM]
    eps, half = numpy.float64(floats(plan[at.FLOATS], 1)[0]), head_dim // 2
    positions, sequences = whole_numbers(plan[at.POSITIONS], num_tokens), whole_numbers(plan[at.SEQUENCES], num_tokens)
    work = claim(counter)
    while work < num_tokens * num_kv_heads:
        token, kv_head = work // num_kv_heads, work % num_kv_heads
        position, group = positions[token], num_heads // num_kv_heads
        key_at, value_at = plan[at.NEW_KEYS] + 4 * work * head_dim, plan[at.NEW_VALUES] + 4 * work * head_dim
        for head in range(group + 1):
            query_at = plan[at.QUERIES] + 4 * (token * num_heads + kv_head * group + head) * head_dim
            x = floats(key_at if head == group else query_at, head_dim)
            weight = layer[at.KEY_NORM] if head == group else layer[at.QUERY_NORM]
            if weight:
                norm(at.RMS_NORM, x, weight, 0, eps, head_dim, x)
            if plan[at.COSINES]:
                cos = floats(plan[at.COSINES] + 4 * position * half, half)
                sin = floats(plan[at.SINES] + 4 * position * half, half)
                rotate(x, cos, sin, half)
        remember(plan, layer, sequences[token], kv_head, position, key_at, value_at)
        work = next_piece(counter)
    return num_tokens * num_kv_heads


@compiled
def _attend_all(plan: Any, counter: int, layer: Any, scale: float, scratch: int) -> int:
    items = plan[at.NUM_ITEMS] * plan[at.NUM_KV_HEADS]
    work = claim(counter)
    while work < items:
        item = whole_numbers(plan[at.ITEMS] + 8 * at.ITEM_SIZE * (work // plan[at.NUM_KV_HEADS]), at.ITEM_SIZE)
        attend(plan, layer, scale, item, work % plan[at.NUM_KV_HEADS], scratch)
        work = next_piece(counter)
    return items


@compiled
def _collect_heads(plan: Any, counter: int, num_tokens: int) -> int:
    """Put the parts of attention together, for the product that follows."""
    size = plan[at.NUM_HEADS] * plan[at.HEAD_DIM]
    x, firsts = whole_numbers(plan[at.ATTENDED_ACTIVATIONS], ACTIVATIONS_SIZE), whole_numbers(plan[at.FIRST_PARTIALS], num_tokens + 1)
    token = claim(counter)
    while token < num_tokens:
        if firsts[token + 1] > firsts[token]:
            combine(plan, token, firsts[token], firsts[token + 1] - firsts[token])
        put(x, token, plan[at.ATTENDED] + 4 * token * size, 0, size)
        token = next_piece(counter)
    return num_tokens


@compiled
def run(plan_at: int, thread: int) -> int:
    """One thread's share of a pass; the plan's counters begin at zero."""
    plan = whole_numbers(plan_at, at.PLAN_SIZE)
    scratch, counter = plan[at.SCRATCH] + thread * plan[at.SCRATCH_BYTES], plan[at.COUNTERS]
    wait_for_all(counter, _embed_rows(plan, counter, plan[at.NUM_TOKENS]))
    for index in range(plan[at.NUM_LAYERS]):
        _run_layer(plan, index, scratch, counter + at.CACHE_LINE * (1 + at.COUNTERS_PER_LAYER * index))
    _finish(plan, scratch, counter + at.CACHE_LINE * (1 + at.COUNTERS_PER_LAYER * plan[at.NUM_LAYERS]))
    meeting = meet(plan, plan[at.MEETING])
    if thread == 0:
        plan[at.MEETING] = meeting
    return 0


@compiled
def _run_layer(plan: Any, index: int, scratch: int, counter: int) -> None:
    num_tokens, line, place = plan[at.NUM_TOKENS], at.CACHE_LINE, plan[at.LAYERS] + 8 * at.LAYER_SIZE * index
    layer, scale = whole_numbers(place, at.LAYER_SIZE), numpy.float64(floats(plan[at.FLOATS] + 4 * (1 + index), 1)[0])
    normed = whole_numbers(plan[at.NORMED_ACTIVATIONS], ACTIVATIONS_SIZE)
    attended = whole_numbers(plan[at.ATTENDED_ACTIVATIONS], ACTIVATIONS_SIZE)
    inner = whole_numbers(plan[at.INNER_ACTIVATIONS], ACTIVATIONS_SIZE)
    query, key = whole_numbers(place + 8 * at.QUERY, MATRIX_SIZE), whole_numbers(place + 8 * at.KEY, MATRIX_SIZE)
    value, output = whole_numbers(place + 8 * at.VALUE, MATRIX_SIZE), whole_numbers(place + 8 * at.OUTPUT, MATRIX_SIZE)
    down = whole_numbers(place + 8 * at.DOWN, MATRIX_SIZE)

    wait_for_all(counter, _norm_rows(plan, counter, layer[at.ATTENTION_NORM], layer[at.ATTENTION_NORM_BIAS], num_tokens, scratch))
    queries = project(plan, counter + line, query, normed, num_tokens, plan[at.QUERIES], scratch, False)
    keys = project(plan, counter + 2 * line, key, normed, num_tokens, plan[at.NEW_KEYS], scratch, False)
    values = project(plan, counter + 3 * line, value, normed, num_tokens, plan[at.NEW_VALUES], scratch, False)
    wait_for_all(counter + line, queries)
    wait_for_all(counter + 2 * line, keys)
    wait_for_all(counter + 3 * line, values)
    counter += 4 * line
    wait_for_all(counter, _prepare_heads(plan, counter, layer, num_tokens))
    counter += line
    wait_for_all(counter, _attend_all(plan, counter, layer, scale, scratch))
    counter += line
    wait_for_all(counter, _collect_heads(plan, counter, num_tokens))
    counter += line
    wait_for_all(counter, project(plan, counter, output, attended, num_tokens, plan[at.RESIDUAL], scratch, True))
    counter += line
    norm_at, bias_at = layer[at.FEED_FORWARD_NORM], layer[at.FEED_FORWARD_NORM_BIAS]
    wait_for_all(counter, _norm_rows(plan, counter, norm_at, bias_at, num_tokens, scratch))
    counter += line
    wait_for_all(counter, widen_out(plan, counter, place, normed, inner, num_tokens, scratch))
    counter += line
    wait_for_all(counter, project(plan, counter, down, inner, num_tokens, plan[at.RESIDUAL], scratch, True))


@compiled
def _finish(plan: Any, scratch: int, counter: int) -> None:
    """The last norm of the tokens that are wanted, and where logits are too, the product with the head."""
    size, wanted = plan[at.HIDDEN_SIZE], whole_numbers(plan[at.WANTED], plan[at.NUM_WANTED])
    eps, normed = numpy.float64(floats(plan[at.FLOATS], 1)[0]), whole_numbers(plan[at.NORMED_ACTIVATIONS], ACTIVATIONS_SIZE)
    place = claim(counter)
    while place < plan[at.NUM_WANTED]:
        out_at = plan[at.HIDDEN_OUT] + 4 * place * size
        x = floats(plan[at.RESIDUAL] + 4 * wanted[place] * size, size)
        norm(plan[at.NORM], x, plan[at.FINAL_NORM], plan[at.FINAL_NORM_BIAS], eps, size, floats(out_at, size))
        put(normed, place, out_at, 0, size)
        place = next_piece(counter)
    wait_for_all(counter, plan[at.NUM_WANTED])
    if plan[at.LOGITS]:
        head, counter = whole_numbers(plan[at.HEAD], MATRIX_SIZE), counter + at.CACHE_LINE
        wait_for_all(counter, project(plan, counter, head, normed, plan[at.NUM_WANTED], plan[at.LOGITS], scratch, False))
