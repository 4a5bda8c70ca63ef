"""A forward pass of a decoder, from token ids to logits, in one call: every thread runs `run`, and the threads share the work.

A pass is a sequence of phases, and a phase is a set of independent tasks that threads claim from a counter. The next phase begins when
all tasks are done. The result of a task does not depend on the thread that computes it, so the number of threads changes no bit.
Every phase returns its number of tasks.
"""

from __future__ import annotations

from typing import Any

import numpy

from headway.kernels.cpu import layout
from headway.kernels.cpu.attention import attend, merge_partials
from headway.kernels.cpu.elementwise import activate, norm, rotate, round_to_bfloat16, store_int16_pairs
from headway.kernels.cpu.kv_page import store_kv
from headway.kernels.cpu.lanes import round_group
from headway.kernels.cpu.layout import (
    ACTIVATIONS_SIZE,
    BFLOAT16,
    COLUMNS,
    GROUP,
    GROUPS_PER_TASK,
    INT16_TOKENS,
    MATRIX_SIZE,
    NUM_ROWS,
    ROWS,
)
from headway.kernels.cpu.memory import (
    barrier,
    compiled,
    fetch_and_add,
    float32_view,
    float_from_bits,
    int8_view,
    int64_view,
    next_task,
    uint8_view,
    uint16_view,
    wait_for_all,
)
from headway.kernels.cpu.packer import float16_number
from headway.kernels.cpu.products import HAS_BFLOAT16_DOT, multiply, tokens_per_task

F = numpy.float32


@compiled
def store_activations(x: Any, row: int, numbers: int, first: int, count: int) -> None:
    """Store float32 activations as columns of a row in the form that the products read; `first` is a multiple of 32."""
    columns = x[layout.X_COLUMNS]
    for start in range(0, count, GROUP):
        length, index = min(GROUP, count - start), row * columns + first + start
        if x[layout.X_KIND] > BFLOAT16:
            group = index // GROUP
            codes, scale = x[layout.X_INT8] + 32 * group, x[layout.X_SCALES] + 4 * group
            round_group(numbers + 4 * start, length, codes, scale, x[layout.X_SUMS] + 4 * group)
            if x[layout.X_INT16]:
                lane, row_group = row % INT16_TOKENS, (row // INT16_TOKENS * columns + first + start) // GROUP * INT16_TOKENS
                store_int16_pairs(codes, x[layout.X_INT16] + 64 * row_group + 4 * lane)
                float32_view(x[layout.X_INT16_SCALES] + 4 * (row_group + lane), 1)[0] = float32_view(scale, 1)[0]
        elif x[layout.X_KIND] == BFLOAT16 and HAS_BFLOAT16_DOT:
            round_to_bfloat16(numbers + 4 * start, length, x[layout.X_FLOATS] + 2 * index)
        else:
            out, source = float32_view(x[layout.X_FLOATS] + 4 * index, GROUP), float32_view(numbers + 4 * start, length)
            for i in range(length):
                out[i] = source[i]
            for i in range(length, GROUP):
                out[i] = F(0)


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
        signed = int8_view(matrix[layout.CODES] + first, NUM_ROWS * columns)
        nibbles = uint8_view(matrix[layout.CODES] + first // 2, NUM_ROWS * columns // 2)
        for i in range(count):
            group, inside = i // GROUP, i % GROUP
            scale = float16_number(scales[NUM_ROWS * group + lane])
            if kind == layout.INT8:
                code = F(signed[GROUP * NUM_ROWS * group + inside // 4 * 64 + 4 * lane + inside % 4])
            else:
                byte = nibbles[16 * NUM_ROWS * group + inside % 16 // 4 * 64 + 4 * lane + inside % 4]
                code = F(byte & 15) - F(8) if inside < 16 else F(byte >> 4) - F(8)
            out[i] = code * scale


@compiled
def project(launch: Any, counter: int, matrix: Any, x: Any, num_tokens: int, out: int, scratch: int, is_added: bool) -> int:
    """Multiply activations by a packed matrix; write the result (num_tokens, rows) to an address, or add it to the numbers there."""
    rows, columns = matrix[ROWS], matrix[COLUMNS]
    num_blocks, per_task = (rows + NUM_ROWS - 1) // NUM_ROWS, tokens_per_task(columns, num_tokens)
    unit_size = max(1, num_blocks // (8 * launch[layout.NUM_THREADS])) if num_tokens == 1 else 1
    num_units = (num_blocks + unit_size - 1) // unit_size
    num_chunks = (num_tokens + per_task - 1) // per_task
    int16_scratch, result_address = scratch, scratch + 2 * NUM_ROWS * columns
    task = fetch_and_add(counter)
    while task < num_units * num_chunks:
        first = task // num_units * per_task
        last, begin = min(first + per_task, num_tokens), task % num_units * unit_size
        for block in range(begin, min(begin + unit_size, num_blocks)):
            _multiply_with_bias(matrix, block, x, first, last, int16_scratch, result_address)
            _write_block(matrix, block, result_address, first, last, out, is_added)
        task = next_task(counter)
    return num_units * num_chunks


@compiled
def _write_block(matrix: Any, block: int, result_address: int, first: int, last: int, out: int, is_added: bool) -> None:
    rows, row = matrix[ROWS], block * NUM_ROWS
    count = min(NUM_ROWS, rows - row)
    for token in range(first, last):
        result, target = (
            float32_view(result_address + 4 * NUM_ROWS * (token - first), count),
            float32_view(out + 4 * (token * rows + row), count),
        )
        if is_added:
            for i in range(count):
                target[i] += result[i]
        else:
            for i in range(count):
                target[i] = result[i]


@compiled
def _multiply_with_bias(matrix: Any, block: int, x: Any, first: int, last: int, scratch: int, out: int) -> None:
    """Multiply 16 rows by some tokens and add the bias: see multiply."""
    multiply(matrix, block, x, first, last, scratch, out)
    if matrix[layout.BIAS]:
        count = min(NUM_ROWS, matrix[ROWS] - block * NUM_ROWS)
        bias = float32_view(matrix[layout.BIAS] + 4 * NUM_ROWS * block, count)
        for token in range(last - first):
            result = float32_view(out + 4 * NUM_ROWS * token, count)
            for i in range(count):
                result[i] += bias[i]


@compiled
def _multiply_groups(matrix: Any, begin: int, end: int, x: Any, first: int, last: int, scratch: int, out: int, block_size: int) -> None:
    """Multiply groups of 32 rows by some tokens; the results of consecutive blocks are block_size numbers apart."""
    for block in range(2 * begin, min(2 * end, (matrix[ROWS] + NUM_ROWS - 1) // NUM_ROWS)):
        _multiply_with_bias(matrix, block, x, first, last, scratch, out + 4 * (block - 2 * begin) * block_size)


@compiled
def project_up(launch: Any, counter: int, layer: int, x: Any, inner: Any, num_tokens: int, scratch: int) -> int:
    """Up-projection and activation of the feed-forward: activation(gate) · up, or activation(up), in groups of 32.

    For a single token a task reads several groups of one matrix and then of the other: long sequential reads are faster.
    """
    up, gate = int64_view(layer + 8 * layout.UP, MATRIX_SIZE), int64_view(layer + 8 * layout.GATE, MATRIX_SIZE)
    rows, columns = up[ROWS], up[COLUMNS]
    per_task = tokens_per_task(columns, num_tokens)
    groups = (rows + GROUP - 1) // GROUP
    unit_size = min(GROUPS_PER_TASK, max(1, groups // (12 * launch[layout.NUM_THREADS]))) if num_tokens == 1 else 1
    num_units, num_chunks = (groups + unit_size - 1) // unit_size, (num_tokens + per_task - 1) // per_task
    block_size = (per_task + INT16_TOKENS - 1) // INT16_TOKENS * INT16_TOKENS * NUM_ROWS
    int16_scratch, ups_address = scratch, scratch + 2 * NUM_ROWS * columns
    gates_address = ups_address + 8 * unit_size * block_size
    row_address = gates_address + 8 * unit_size * block_size
    ups, gates, row = (
        float32_view(ups_address, 2 * unit_size * block_size),
        float32_view(gates_address, 2 * unit_size * block_size),
        float32_view(row_address, GROUP),
    )
    task = fetch_and_add(counter)
    while task < num_units * num_chunks:
        first, begin = task // num_units * per_task, task % num_units * unit_size
        last, end = min(first + per_task, num_tokens), min(begin + unit_size, groups)
        _multiply_groups(up, begin, end, x, first, last, int16_scratch, ups_address, block_size)
        if gate[ROWS]:
            _multiply_groups(gate, begin, end, x, first, last, int16_scratch, gates_address, block_size)
        for group in range(begin, end):
            count, base = min(GROUP, rows - GROUP * group), 2 * (group - begin) * block_size
            for token in range(last - first):
                for i in range(count):
                    index = base + i // NUM_ROWS * block_size + token * NUM_ROWS + i % NUM_ROWS
                    row[i] = gates[index] if gate[ROWS] else ups[index]
                activate(launch[layout.ACTIVATION], row, count)
                if gate[ROWS]:
                    for i in range(count):
                        row[i] *= ups[base + i // NUM_ROWS * block_size + token * NUM_ROWS + i % NUM_ROWS]
                store_activations(inner, first + token, row_address, GROUP * group, count)
        task = next_task(counter)
    return num_units * num_chunks


@compiled
def _norm_rows(launch: Any, counter: int, weight: int, bias: int, num_tokens: int, scratch: int) -> int:
    """Normalize every token's vector for the products that follow."""
    size, eps = launch[layout.HIDDEN_SIZE], numpy.float64(float32_view(launch[layout.FLOATS], 1)[0])
    x, normed = int64_view(launch[layout.NORMED_ACTIVATIONS], ACTIVATIONS_SIZE), float32_view(scratch, size)
    token = fetch_and_add(counter)
    while token < num_tokens:
        norm(launch[layout.NORM], float32_view(launch[layout.RESIDUAL] + 4 * token * size, size), weight, bias, eps, size, normed)
        store_activations(x, token, scratch, 0, size)
        token = next_task(counter)
    return num_tokens


@compiled
def _embed_rows(launch: Any, counter: int, num_tokens: int) -> int:
    """Look up token embeddings and add learned positions."""
    size, embedding = launch[layout.HIDDEN_SIZE], int64_view(launch[layout.EMBEDDING], MATRIX_SIZE)
    token_ids, positions = int64_view(launch[layout.TOKEN_IDS], num_tokens), int64_view(launch[layout.POSITIONS], num_tokens)
    token = fetch_and_add(counter)
    while token < num_tokens:
        x = float32_view(launch[layout.RESIDUAL] + 4 * token * size, size)
        read_row(embedding, token_ids[token], x, size)
        if launch[layout.POSITION_TABLE]:
            learned = float32_view(launch[layout.POSITION_TABLE] + 4 * positions[token] * size, size)
            for i in range(size):
                x[i] += learned[i]
        token = next_task(counter)
    return num_tokens


@compiled
def _prepare_heads(launch: Any, counter: int, layer: Any, num_tokens: int) -> int:
    """Normalize the heads of queries and keys if the model does, apply rotary embeddings, and store keys and values in the cache."""
    num_heads, num_kv_heads, head_dim = launch[layout.NUM_HEADS], launch[layout.NUM_KV_HEADS], launch[layout.HEAD_DIM]
    eps, half = numpy.float64(float32_view(launch[layout.FLOATS], 1)[0]), head_dim // 2
    positions, first_pages = int64_view(launch[layout.POSITIONS], num_tokens), int64_view(launch[layout.FIRST_PAGES], num_tokens)
    task = fetch_and_add(counter)
    while task < num_tokens * num_kv_heads:
        token, kv_head = task // num_kv_heads, task % num_kv_heads
        position, group = positions[token], num_heads // num_kv_heads
        key_address, value_address = launch[layout.NEW_KEYS] + 4 * task * head_dim, launch[layout.NEW_VALUES] + 4 * task * head_dim
        for head in range(group + 1):
            query_address = launch[layout.QUERIES] + 4 * (token * num_heads + kv_head * group + head) * head_dim
            x = float32_view(key_address if head == group else query_address, head_dim)
            weight = layer[layout.KEY_NORM] if head == group else layer[layout.QUERY_NORM]
            if weight:
                norm(layout.RMS_NORM, x, weight, 0, eps, head_dim, x)
            if launch[layout.COSINES]:
                cos = float32_view(launch[layout.COSINES] + 4 * position * half, half)
                sin = float32_view(launch[layout.SINES] + 4 * position * half, half)
                rotate(x, cos, sin, half)
        store_kv(launch, layer, first_pages[token], kv_head, position, key_address, value_address)
        task = next_task(counter)
    return num_tokens * num_kv_heads


@compiled
def _attend_all(launch: Any, counter: int, layer: Any, scale: float, scratch: int) -> int:
    """Compute the attention of every task and key head."""
    num_kv_heads = launch[layout.NUM_KV_HEADS]
    num_tasks = launch[layout.NUM_TASKS] * num_kv_heads
    index = fetch_and_add(counter)
    while index < num_tasks:
        task = int64_view(launch[layout.TASKS] + 8 * layout.TASK_SIZE * (index // num_kv_heads), layout.TASK_SIZE)
        attend(launch, layer, scale, task, index % num_kv_heads, scratch)
        index = next_task(counter)
    return num_tasks


@compiled
def _merge_heads(launch: Any, counter: int, num_tokens: int, scratch: int) -> int:
    """Merge the partial results of attention for the product that follows."""
    size = launch[layout.NUM_HEADS] * launch[layout.HEAD_DIM]
    x, firsts = int64_view(launch[layout.ATTENDED_ACTIVATIONS], ACTIVATIONS_SIZE), int64_view(launch[layout.FIRST_PARTIALS], num_tokens + 1)
    token = fetch_and_add(counter)
    while token < num_tokens:
        if firsts[token + 1] > firsts[token]:
            merge_partials(launch, token, firsts[token], firsts[token + 1] - firsts[token], scratch)
        store_activations(x, token, launch[layout.ATTENDED] + 4 * token * size, 0, size)
        token = next_task(counter)
    return num_tokens


@compiled
def run(launch_address: int, thread: int) -> int:
    """Compute one thread's share of a pass; the counters of the launch record must be zero."""
    launch = int64_view(launch_address, layout.LAUNCH_SIZE)
    scratch, counter = launch[layout.SCRATCH] + thread * launch[layout.SCRATCH_BYTES], launch[layout.COUNTERS]
    wait_for_all(counter, _embed_rows(launch, counter, launch[layout.NUM_TOKENS]))
    for index in range(launch[layout.NUM_LAYERS]):
        _run_layer(launch, index, scratch, counter + layout.CACHE_LINE * (1 + layout.COUNTERS_PER_LAYER * index))
    _finish(launch, scratch, counter + layout.CACHE_LINE * (1 + layout.COUNTERS_PER_LAYER * launch[layout.NUM_LAYERS]))
    num_barriers = barrier(launch, launch[layout.NUM_BARRIERS])
    if thread == 0:
        launch[layout.NUM_BARRIERS] = num_barriers
    return 0


@compiled
def _run_layer(launch: Any, index: int, scratch: int, counter: int) -> None:
    num_tokens, line, address = launch[layout.NUM_TOKENS], layout.CACHE_LINE, launch[layout.LAYERS] + 8 * layout.LAYER_SIZE * index
    layer, scale = int64_view(address, layout.LAYER_SIZE), numpy.float64(float32_view(launch[layout.FLOATS] + 4 * (1 + index), 1)[0])
    normed = int64_view(launch[layout.NORMED_ACTIVATIONS], ACTIVATIONS_SIZE)
    attended = int64_view(launch[layout.ATTENDED_ACTIVATIONS], ACTIVATIONS_SIZE)
    inner = int64_view(launch[layout.INNER_ACTIVATIONS], ACTIVATIONS_SIZE)
    query, key = int64_view(address + 8 * layout.QUERY, MATRIX_SIZE), int64_view(address + 8 * layout.KEY, MATRIX_SIZE)
    value, output = int64_view(address + 8 * layout.VALUE, MATRIX_SIZE), int64_view(address + 8 * layout.OUTPUT, MATRIX_SIZE)
    down = int64_view(address + 8 * layout.DOWN, MATRIX_SIZE)

    wait_for_all(counter, _norm_rows(launch, counter, layer[layout.ATTENTION_NORM], layer[layout.ATTENTION_NORM_BIAS], num_tokens, scratch))
    queries = project(launch, counter + line, query, normed, num_tokens, launch[layout.QUERIES], scratch, False)
    keys = project(launch, counter + 2 * line, key, normed, num_tokens, launch[layout.NEW_KEYS], scratch, False)
    values = project(launch, counter + 3 * line, value, normed, num_tokens, launch[layout.NEW_VALUES], scratch, False)
    wait_for_all(counter + line, queries)
    wait_for_all(counter + 2 * line, keys)
    wait_for_all(counter + 3 * line, values)
    counter += 4 * line
    wait_for_all(counter, _prepare_heads(launch, counter, layer, num_tokens))
    counter += line
    wait_for_all(counter, _attend_all(launch, counter, layer, scale, scratch))
    counter += line
    wait_for_all(counter, _merge_heads(launch, counter, num_tokens, scratch))
    counter += line
    wait_for_all(counter, project(launch, counter, output, attended, num_tokens, launch[layout.RESIDUAL], scratch, True))
    counter += line
    norm_address, bias_address = layer[layout.FEED_FORWARD_NORM], layer[layout.FEED_FORWARD_NORM_BIAS]
    wait_for_all(counter, _norm_rows(launch, counter, norm_address, bias_address, num_tokens, scratch))
    counter += line
    wait_for_all(counter, project_up(launch, counter, address, normed, inner, num_tokens, scratch))
    counter += line
    wait_for_all(counter, project(launch, counter, down, inner, num_tokens, launch[layout.RESIDUAL], scratch, True))


@compiled
def _finish(launch: Any, scratch: int, counter: int) -> None:
    """Apply the final norm to the wanted rows and, if logits are wanted, multiply by the output head."""
    size, wanted = launch[layout.HIDDEN_SIZE], int64_view(launch[layout.WANTED], launch[layout.NUM_WANTED])
    eps, normed = numpy.float64(float32_view(launch[layout.FLOATS], 1)[0]), int64_view(launch[layout.NORMED_ACTIVATIONS], ACTIVATIONS_SIZE)
    index = fetch_and_add(counter)
    while index < launch[layout.NUM_WANTED]:
        out_address = launch[layout.HIDDEN_OUT] + 4 * index * size
        x = float32_view(launch[layout.RESIDUAL] + 4 * wanted[index] * size, size)
        norm(launch[layout.NORM], x, launch[layout.FINAL_NORM], launch[layout.FINAL_NORM_BIAS], eps, size, float32_view(out_address, size))
        store_activations(normed, index, out_address, 0, size)
        index = next_task(counter)
    wait_for_all(counter, launch[layout.NUM_WANTED])
    if launch[layout.LOGITS]:
        head, counter = int64_view(launch[layout.HEAD], MATRIX_SIZE), counter + layout.CACHE_LINE
        wait_for_all(counter, project(launch, counter, head, normed, launch[layout.NUM_WANTED], launch[layout.LOGITS], scratch, False))
