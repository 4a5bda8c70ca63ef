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
from headway.kernels.cpu.elementwise import activate, norm, rotate, round_to_bfloat16, soft_cap, store_int16_pairs
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
    float_field,
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
def project(launch: Any, counter: int, matrix: Any, x: Any, num_tokens: int, out: int, scratch: int, factor: float) -> int:
    """Multiply activations by a packed matrix.

    factor   0 to write the result (num_tokens, rows) to `out`; otherwise the result times this number is added to the numbers there
    """
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
            _write_block(matrix, block, result_address, first, last, out, factor)
        task = next_task(counter)
    return num_units * num_chunks


@compiled
def _write_block(matrix: Any, block: int, result_address: int, first: int, last: int, out: int, factor: float) -> None:
    rows, row = matrix[ROWS], block * NUM_ROWS
    count, scale = min(NUM_ROWS, rows - row), F(factor)
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
def _norm_row(launch: Any, x: int, weight: int, bias: int, size: int, out: int) -> None:
    """Write the norm of the numbers at an address to `out`; both may be the same address."""
    norm(launch[layout.NORM], float32_view(x, size), weight, bias, float_field(launch, layout.EPS), size, float32_view(out, size))


@compiled
def _prepare_rows(launch: Any, counter: int, weight: int, bias: int, num_tokens: int, scratch: int) -> int:
    """Store every token's vector for the products that follow, normalized if there is a norm."""
    size, x = launch[layout.HIDDEN_SIZE], int64_view(launch[layout.NORMED_ACTIVATIONS], ACTIVATIONS_SIZE)
    token = fetch_and_add(counter)
    while token < num_tokens:
        address = launch[layout.RESIDUAL] + 4 * token * size
        if weight:
            _norm_row(launch, address, weight, bias, size, scratch)
            address = scratch
        store_activations(x, token, address, 0, size)
        token = next_task(counter)
    return num_tokens


@compiled
def _add_normed_rows(launch: Any, counter: int, weight: int, bias: int, factor: float, num_tokens: int) -> int:
    """Add the normalized output of a part, times a factor, to every token's vector."""
    size, scale = launch[layout.HIDDEN_SIZE], F(factor)
    token = fetch_and_add(counter)
    while token < num_tokens:
        address = launch[layout.PART_OUTPUT] + 4 * token * size
        _norm_row(launch, address, weight, bias, size, address)
        normed, x = float32_view(address, size), float32_view(launch[layout.RESIDUAL] + 4 * token * size, size)
        for i in range(size):
            x[i] += scale * normed[i]
        token = next_task(counter)
    return num_tokens


@compiled
def _embed_rows(launch: Any, counter: int, num_tokens: int) -> int:
    """Look up token embeddings, scale them, and add learned positions."""
    size, embedding, scale = (
        launch[layout.HIDDEN_SIZE],
        int64_view(launch[layout.EMBEDDING], MATRIX_SIZE),
        F(float_field(launch, layout.EMBEDDING_SCALE)),
    )
    token_ids, positions = int64_view(launch[layout.TOKEN_IDS], num_tokens), int64_view(launch[layout.POSITIONS], num_tokens)
    token = fetch_and_add(counter)
    while token < num_tokens:
        x = float32_view(launch[layout.RESIDUAL] + 4 * token * size, size)
        read_row(embedding, token_ids[token], x, size)
        for i in range(size):
            x[i] *= scale
        if launch[layout.POSITION_TABLE]:
            learned = float32_view(launch[layout.POSITION_TABLE] + 4 * positions[token] * size, size)
            for i in range(size):
                x[i] += learned[i]
        token = next_task(counter)
    return num_tokens


@compiled
def _norm_all_heads(launch: Any, counter: int, layer: Any, num_tokens: int) -> int:
    """Normalize all queries and all keys of every token together."""
    queries, keys = launch[layout.NUM_HEADS] * launch[layout.HEAD_DIM], launch[layout.NUM_KV_HEADS] * launch[layout.HEAD_DIM]
    token = fetch_and_add(counter)
    while token < num_tokens:
        query, key = launch[layout.QUERIES] + 4 * token * queries, launch[layout.NEW_KEYS] + 4 * token * keys
        _norm_row(launch, query, layer[layout.WIDE_QUERY_NORM], 0, queries, query)
        _norm_row(launch, key, layer[layout.WIDE_KEY_NORM], 0, keys, key)
        token = next_task(counter)
    return num_tokens


@compiled
def _prepare_heads(launch: Any, counter: int, layer: Any, num_tokens: int) -> int:
    """Normalize the heads of queries and keys if the model does, apply rotary embeddings, and store keys and values in the cache."""
    num_heads, num_kv_heads, head_dim = launch[layout.NUM_HEADS], launch[layout.NUM_KV_HEADS], launch[layout.HEAD_DIM]
    half, group = layer[layout.ROTARY_HALF], num_heads // num_kv_heads
    positions, first_pages = int64_view(launch[layout.POSITIONS], num_tokens), int64_view(launch[layout.FIRST_PAGES], num_tokens)
    task = fetch_and_add(counter)
    while task < num_tokens * num_kv_heads:
        token, kv_head = task // num_kv_heads, task % num_kv_heads
        position = positions[token]
        key_address, value_address = launch[layout.NEW_KEYS] + 4 * task * head_dim, launch[layout.NEW_VALUES] + 4 * task * head_dim
        for head in range(group + 1):
            query_address = launch[layout.QUERIES] + 4 * (token * num_heads + kv_head * group + head) * head_dim
            address = key_address if head == group else query_address
            weight = layer[layout.KEY_NORM] if head == group else layer[layout.QUERY_NORM]
            if weight:
                _norm_row(launch, address, weight, 0, head_dim, address)
            if half:
                cos = float32_view(layer[layout.COSINES] + 4 * position * half, half)
                sin = float32_view(layer[layout.SINES] + 4 * position * half, half)
                rotate(float32_view(address, head_dim), cos, sin, half)
        store_kv(launch, layer, first_pages[token], kv_head, position, key_address, value_address)
        task = next_task(counter)
    return num_tokens * num_kv_heads


@compiled
def _attend_all(launch: Any, counter: int, layer: Any, scratch: int) -> int:
    """Compute the attention of every task and key head."""
    num_kv_heads = launch[layout.NUM_KV_HEADS]
    num_tasks = launch[layout.NUM_TASKS] * num_kv_heads
    index = fetch_and_add(counter)
    while index < num_tasks:
        task = int64_view(launch[layout.TASKS] + 8 * layout.TASK_SIZE * (index // num_kv_heads), layout.TASK_SIZE)
        attend(launch, layer, task, index % num_kv_heads, scratch)
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
    layer, normed = int64_view(address, layout.LAYER_SIZE), int64_view(launch[layout.NORMED_ACTIVATIONS], ACTIVATIONS_SIZE)
    attended = int64_view(launch[layout.ATTENDED_ACTIVATIONS], ACTIVATIONS_SIZE)
    inner = int64_view(layer[layout.INNER_ACTIVATIONS], ACTIVATIONS_SIZE)
    query, key = int64_view(address + 8 * layout.QUERY, MATRIX_SIZE), int64_view(address + 8 * layout.KEY, MATRIX_SIZE)
    value, output = int64_view(address + 8 * layout.VALUE, MATRIX_SIZE), int64_view(address + 8 * layout.OUTPUT, MATRIX_SIZE)
    down = int64_view(address + 8 * layout.DOWN, MATRIX_SIZE)

    norm_address, bias_address = layer[layout.ATTENTION_NORM], layer[layout.ATTENTION_NORM_BIAS]
    wait_for_all(counter, _prepare_rows(launch, counter, norm_address, bias_address, num_tokens, scratch))
    queries = project(launch, counter + line, query, normed, num_tokens, launch[layout.QUERIES], scratch, 0.0)
    keys = project(launch, counter + 2 * line, key, normed, num_tokens, launch[layout.NEW_KEYS], scratch, 0.0)
    values = project(launch, counter + 3 * line, value, normed, num_tokens, launch[layout.NEW_VALUES], scratch, 0.0)
    wait_for_all(counter + line, queries)
    wait_for_all(counter + 2 * line, keys)
    wait_for_all(counter + 3 * line, values)
    counter += 4 * line
    if layer[layout.WIDE_QUERY_NORM]:
        wait_for_all(counter, _norm_all_heads(launch, counter, layer, num_tokens))
    counter += line
    wait_for_all(counter, _prepare_heads(launch, counter, layer, num_tokens))
    counter += line
    wait_for_all(counter, _attend_all(launch, counter, layer, scratch))
    counter += line
    wait_for_all(counter, _merge_heads(launch, counter, num_tokens, scratch))
    counter += line
    norm_address, bias_address = layer[layout.ATTENTION_OUTPUT_NORM], layer[layout.ATTENTION_OUTPUT_NORM_BIAS]
    _project_to_residual(launch, counter, layer, output, attended, norm_address, bias_address, scratch)
    counter += 2 * line
    norm_address, bias_address = layer[layout.FEED_FORWARD_NORM], layer[layout.FEED_FORWARD_NORM_BIAS]
    wait_for_all(counter, _prepare_rows(launch, counter, norm_address, bias_address, num_tokens, scratch))
    counter += line
    wait_for_all(counter, project_up(launch, counter, address, normed, inner, num_tokens, scratch))
    counter += line
    norm_address, bias_address = layer[layout.FEED_FORWARD_OUTPUT_NORM], layer[layout.FEED_FORWARD_OUTPUT_NORM_BIAS]
    _project_to_residual(launch, counter, layer, down, inner, norm_address, bias_address, scratch)


@compiled
def _project_to_residual(launch: Any, counter: int, layer: Any, matrix: Any, x: Any, weight: int, bias: int, scratch: int) -> None:
    """Multiply by the last matrix of a part and add the result to the residual, normalized if there is a norm."""
    num_tokens, factor = launch[layout.NUM_TOKENS], float_field(layer, layout.RESIDUAL_SCALE)
    out = launch[layout.PART_OUTPUT] if weight else launch[layout.RESIDUAL]
    wait_for_all(counter, project(launch, counter, matrix, x, num_tokens, out, scratch, 0.0 if weight else factor))
    if weight:
        counter += layout.CACHE_LINE
        wait_for_all(counter, _add_normed_rows(launch, counter, weight, bias, factor, num_tokens))


@compiled
def _finish(launch: Any, scratch: int, counter: int) -> None:
    """Apply the final norm to the wanted rows and, if logits are wanted, multiply by the output head."""
    size, wanted = launch[layout.HIDDEN_SIZE], int64_view(launch[layout.WANTED], launch[layout.NUM_WANTED])
    normed = int64_view(launch[layout.NORMED_ACTIVATIONS], ACTIVATIONS_SIZE)
    index = fetch_and_add(counter)
    while index < launch[layout.NUM_WANTED]:
        out = launch[layout.HIDDEN_OUT] + 4 * index * size
        x = launch[layout.RESIDUAL] + 4 * wanted[index] * size
        _norm_row(launch, x, launch[layout.FINAL_NORM], launch[layout.FINAL_NORM_BIAS], size, out)
        store_activations(normed, index, out, 0, size)
        index = next_task(counter)
    wait_for_all(counter, launch[layout.NUM_WANTED])
    if launch[layout.LOGITS]:
        head, counter = int64_view(launch[layout.HEAD], MATRIX_SIZE), counter + layout.CACHE_LINE
        wait_for_all(counter, project(launch, counter, head, normed, launch[layout.NUM_WANTED], launch[layout.LOGITS], scratch, 0.0))
        counter += layout.CACHE_LINE
        wait_for_all(counter, _scale_logits(launch, counter, head[ROWS]))


@compiled
def _scale_logits(launch: Any, counter: int, vocab_size: int) -> int:
    """Multiply the logits by the model's factor and limit them, in chunks of a row."""
    scale, limit = F(float_field(launch, layout.LOGIT_SCALE)), float_field(launch, layout.LOGIT_SOFT_CAP)
    if scale == F(1) and limit == 0.0:
        return 0
    num_chunks = (vocab_size + layout.LOGITS_PER_TASK - 1) // layout.LOGITS_PER_TASK
    task = fetch_and_add(counter)
    while task < launch[layout.NUM_WANTED] * num_chunks:
        first = task % num_chunks * layout.LOGITS_PER_TASK
        address = launch[layout.LOGITS] + 4 * (task // num_chunks * vocab_size + first)
        count = min(layout.LOGITS_PER_TASK, vocab_size - first)
        logits = float32_view(address, count)
        for i in range(count):
            logits[i] *= scale
        if limit != 0.0:
            soft_cap(address, count, limit)
        task = next_task(counter)
    return launch[layout.NUM_WANTED] * num_chunks
