"""A pass of an encoder, from token ids to hidden states, in one call: every thread runs `run`, and the threads share the work.

The rows of a pass are the tokens of texts of any lengths, one text after the other, without padding. Phases are those of forward_pass;
residual connections and norms are computed together, and so are the quantization of what the next product reads.
"""

from __future__ import annotations

from typing import Any

from headway.kernels.cpu import layout
from headway.kernels.cpu.elementwise import norm_row
from headway.kernels.cpu.encoder_attention import attend_text
from headway.kernels.cpu.layout import (
    ACTIVATIONS_SIZE,
    CACHE_LINE,
    GROUP,
    INT8_ROWS,
    LAYER_SIZE,
    MATRIX_SIZE,
    ROW_TOKENS,
    ROWS_AT_ONCE,
    TASK_SIZE,
)
from headway.kernels.cpu.memory import barrier, compiled, fetch_and_add, float32_view, int64_view, next_task, wait_for_all
from headway.kernels.cpu.projections import project, project_to_blocks, project_up, read_row, store_activations
from headway.kernels.cpu.row_products import store_row


@compiled
def _normalize(launch: Any, x: int, weight: int, bias: int, out: int) -> None:
    """Write the layer norm of the vector at an address to `out`, which may be the same address."""
    norm_row(launch, x, weight, bias, launch[layout.HIDDEN_SIZE], out)


@compiled
def _embed_row(launch: Any, token: int, scratch: int) -> None:
    """Look up the embeddings of a token, its position and its type, and normalize their sum."""
    size, num_tokens = launch[layout.HIDDEN_SIZE], launch[layout.NUM_TOKENS]
    address = launch[layout.RESIDUAL] + 4 * token * size
    x, other = float32_view(address, size), float32_view(scratch, size)
    read_row(int64_view(launch[layout.EMBEDDING], MATRIX_SIZE), int64_view(launch[layout.TOKEN_IDS], num_tokens)[token], x, size)
    if launch[layout.POSITION_TABLE]:
        position = int64_view(launch[layout.POSITIONS], num_tokens)[token]
        learned = float32_view(launch[layout.POSITION_TABLE] + 4 * position * size, size)
        for i in range(size):
            x[i] += learned[i]
    if launch[layout.TYPE_TABLE]:
        read_row(int64_view(launch[layout.TYPE_TABLE], MATRIX_SIZE), int64_view(launch[layout.TOKEN_TYPES], num_tokens)[token], other, size)
        for i in range(size):
            x[i] += other[i]
    _normalize(launch, address, launch[layout.EMBEDDING_NORM], launch[layout.EMBEDDING_NORM_BIAS], address)


@compiled
def _store_row(launch: Any, token: int, weight: int, bias: int, scratch: int) -> None:
    """Store a token's vector for the products that follow, normalized if there is a norm."""
    address = launch[layout.RESIDUAL] + 4 * token * launch[layout.HIDDEN_SIZE]
    if weight:
        _normalize(launch, address, weight, bias, scratch)
        address = scratch
    _store(int64_view(launch[layout.NORMED_ACTIVATIONS], ACTIVATIONS_SIZE), token, address, launch[layout.HIDDEN_SIZE])


@compiled
def _store(x: Any, token: int, numbers: int, count: int) -> None:
    """Store all activations of a token."""
    if x[layout.X_KIND] == INT8_ROWS:
        store_row(x, token, numbers, count)
    else:
        store_activations(x, token, numbers, 0, count)


@compiled
def _rows_at_once(x: Any) -> int:
    """Return the number of rows that one task rounds: they share cache lines."""
    return ROW_TOKENS if x[layout.X_KIND] == INT8_ROWS else ROWS_AT_ONCE


@compiled
def _embed_rows(launch: Any, counter: int, layer: Any, scratch: int) -> int:
    num_tokens, at_once = launch[layout.NUM_TOKENS], _rows_at_once(int64_view(launch[layout.NORMED_ACTIVATIONS], ACTIVATIONS_SIZE))
    task = fetch_and_add(counter)
    while task * at_once < num_tokens:
        for token in range(task * at_once, min((task + 1) * at_once, num_tokens)):
            _embed_row(launch, token, scratch)
            _store_row(launch, token, layer[layout.ATTENTION_NORM], layer[layout.ATTENTION_NORM_BIAS], scratch)
        task = next_task(counter)
    return (num_tokens + at_once - 1) // at_once


@compiled
def _finish_rows(launch: Any, counter: int, sum_norm: int, sum_bias: int, weight: int, bias: int, is_last: bool, scratch: int) -> int:
    """Normalize the sums of a residual connection, if there is a post-norm, and store them for the next part or apply the final norm."""
    num_tokens, at_once = launch[layout.NUM_TOKENS], _rows_at_once(int64_view(launch[layout.NORMED_ACTIVATIONS], ACTIVATIONS_SIZE))
    task = fetch_and_add(counter)
    while task * at_once < num_tokens:
        for token in range(task * at_once, min((task + 1) * at_once, num_tokens)):
            address = launch[layout.RESIDUAL] + 4 * token * launch[layout.HIDDEN_SIZE]
            if sum_norm:
                _normalize(launch, address, sum_norm, sum_bias, address)
            if not is_last:
                _store_row(launch, token, weight, bias, scratch)
            elif weight:
                _normalize(launch, address, weight, bias, address)
        task = next_task(counter)
    return (num_tokens + at_once - 1) // at_once


@compiled
def _attend_all(launch: Any, counter: int, layer: Any, scratch: int) -> int:
    """Compute the attention of every head of every text, head by head: neighbouring heads of a text write to the same cache lines."""
    num_texts = launch[layout.NUM_TASKS]
    num_tasks = num_texts * launch[layout.NUM_HEADS]
    index = fetch_and_add(counter)
    while index < num_tasks:
        task = int64_view(launch[layout.TASKS] + 8 * TASK_SIZE * (index % num_texts), TASK_SIZE)
        attend_text(launch, layer, task[layout.FIRST_ROW], task[layout.LAST_ROW], index // num_texts, scratch)
        index = next_task(counter)
    return num_tasks


@compiled
def _store_rows(counter: int, x: Any, numbers: int, stride: int, count: int, num_tokens: int) -> int:
    """Store rows of `count` float32 numbers, whose addresses are `stride` bytes apart, for the product that follows."""
    at_once = _rows_at_once(x)
    task = fetch_and_add(counter)
    while task * at_once < num_tokens:
        for token in range(task * at_once, min((task + 1) * at_once, num_tokens)):
            _store(x, token, numbers + token * stride, count)
        task = next_task(counter)
    return (num_tokens + at_once - 1) // at_once


@compiled
def run(launch_address: int, thread: int) -> int:
    """Compute one thread's share of a pass; the counters of the launch record must be zero."""
    launch = int64_view(launch_address, layout.ENCODER_SIZE)
    scratch, counter = launch[layout.SCRATCH] + thread * launch[layout.SCRATCH_BYTES], launch[layout.COUNTERS]
    wait_for_all(counter, _embed_rows(launch, counter, int64_view(launch[layout.LAYERS], LAYER_SIZE), scratch))
    for index in range(launch[layout.NUM_LAYERS]):
        _run_layer(launch, index, scratch, counter + CACHE_LINE * (1 + layout.COUNTERS_PER_LAYER * index))
    num_barriers = barrier(launch, launch[layout.NUM_BARRIERS])
    if thread == 0:
        launch[layout.NUM_BARRIERS] = num_barriers
    return 0


@compiled
def _run_layer(launch: Any, index: int, scratch: int, counter: int) -> None:
    num_tokens, line, address = launch[layout.NUM_TOKENS], CACHE_LINE, launch[layout.LAYERS] + 8 * LAYER_SIZE * index
    layer, normed = int64_view(address, LAYER_SIZE), int64_view(launch[layout.NORMED_ACTIVATIONS], ACTIVATIONS_SIZE)
    attended = int64_view(launch[layout.ATTENDED_ACTIVATIONS], ACTIVATIONS_SIZE)
    inner = int64_view(layer[layout.INNER_ACTIVATIONS], ACTIVATIONS_SIZE)
    query, key = int64_view(address + 8 * layout.QUERY, MATRIX_SIZE), int64_view(address + 8 * layout.KEY, MATRIX_SIZE)
    value, output = int64_view(address + 8 * layout.VALUE, MATRIX_SIZE), int64_view(address + 8 * layout.OUTPUT, MATRIX_SIZE)
    down = int64_view(address + 8 * layout.DOWN, MATRIX_SIZE)

    queries = project_to_blocks(launch, counter, query, normed, num_tokens, launch[layout.QUERIES], scratch)
    keys = project_to_blocks(launch, counter + line, key, normed, num_tokens, launch[layout.NEW_KEYS], scratch)
    values = project_to_blocks(launch, counter + 2 * line, value, normed, num_tokens, launch[layout.NEW_VALUES], scratch)
    wait_for_all(counter, queries)
    wait_for_all(counter + line, keys)
    wait_for_all(counter + 2 * line, values)
    counter += 3 * line
    wait_for_all(counter, _attend_all(launch, counter, layer, scratch))
    counter += line
    if launch[layout.HEAD_DIM] % GROUP or attended[layout.X_KIND] == INT8_ROWS:
        size = launch[layout.NUM_HEADS] * launch[layout.HEAD_DIM]
        wait_for_all(counter, _store_rows(counter, attended, launch[layout.ATTENDED], 4 * size, size, num_tokens))
    counter += line
    wait_for_all(counter, project(launch, counter, output, attended, num_tokens, launch[layout.RESIDUAL], scratch, 1.0))
    counter += line
    sum_norm, sum_bias = layer[layout.ATTENTION_OUTPUT_NORM], layer[layout.ATTENTION_OUTPUT_NORM_BIAS]
    weight, bias = layer[layout.FEED_FORWARD_NORM], layer[layout.FEED_FORWARD_NORM_BIAS]
    wait_for_all(counter, _finish_rows(launch, counter, sum_norm, sum_bias, weight, bias, False, scratch))
    counter += line
    wait_for_all(counter, project_up(launch, counter, address, normed, inner, num_tokens, scratch))
    counter += line
    if inner[layout.X_KIND] == INT8_ROWS:
        count, stride = int64_view(address + 8 * layout.UP, MATRIX_SIZE)[layout.ROWS], 4 * inner[layout.X_COLUMNS]
        wait_for_all(counter, _store_rows(counter, inner, inner[layout.X_FLOATS], stride, count, num_tokens))
    counter += line
    wait_for_all(counter, project(launch, counter, down, inner, num_tokens, launch[layout.RESIDUAL], scratch, 1.0))
    counter += line
    sum_norm, sum_bias = layer[layout.FEED_FORWARD_OUTPUT_NORM], layer[layout.FEED_FORWARD_OUTPUT_NORM_BIAS]
    is_last = index == launch[layout.NUM_LAYERS] - 1
    weight, bias = launch[layout.FINAL_NORM], launch[layout.FINAL_NORM_BIAS]
    if not is_last:
        following = int64_view(address + 8 * LAYER_SIZE, LAYER_SIZE)
        weight, bias = following[layout.ATTENTION_NORM], following[layout.ATTENTION_NORM_BIAS]
    wait_for_all(counter, _finish_rows(launch, counter, sum_norm, sum_bias, weight, bias, is_last, scratch))
