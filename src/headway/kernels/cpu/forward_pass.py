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
from headway.kernels.cpu.elementwise import norm_row, rotate, soft_cap
from headway.kernels.cpu.experts import run_experts
from headway.kernels.cpu.kv_page import store_kv
from headway.kernels.cpu.layout import ACTIVATIONS_SIZE, MATRIX_SIZE, ROWS, ROWS_AT_ONCE
from headway.kernels.cpu.low_rank import project_up_with_updates, update_attention, update_output
from headway.kernels.cpu.memory import barrier, compiled, fetch_and_add, float32_view, float_field, int64_view, next_task, wait_for_all
from headway.kernels.cpu.projections import project, project_up, read_row, store_activations

F = numpy.float32


@compiled
def _prepare_rows(launch: Any, counter: int, weight: int, bias: int, num_tokens: int, scratch: int) -> int:
    """Store every token's vector for the products that follow, normalized if there is a norm."""
    size, x = launch[layout.HIDDEN_SIZE], int64_view(launch[layout.NORMED_ACTIVATIONS], ACTIVATIONS_SIZE)
    task = fetch_and_add(counter)
    while task * ROWS_AT_ONCE < num_tokens:
        for token in range(task * ROWS_AT_ONCE, min((task + 1) * ROWS_AT_ONCE, num_tokens)):
            address = launch[layout.RESIDUAL] + 4 * token * size
            if weight:
                norm_row(launch, address, weight, bias, size, scratch)
                address = scratch
            store_activations(x, token, address, 0, size)
        task = next_task(counter)
    return (num_tokens + ROWS_AT_ONCE - 1) // ROWS_AT_ONCE


@compiled
def _add_normed_rows(launch: Any, counter: int, weight: int, bias: int, factor: float, num_tokens: int) -> int:
    """Add the normalized output of a part, times a factor, to every token's vector."""
    size, scale = launch[layout.HIDDEN_SIZE], F(factor)
    token = fetch_and_add(counter)
    while token < num_tokens:
        address = launch[layout.PART_OUTPUT] + 4 * token * size
        norm_row(launch, address, weight, bias, size, address)
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
        norm_row(launch, query, layer[layout.WIDE_QUERY_NORM], 0, queries, query)
        norm_row(launch, key, layer[layout.WIDE_KEY_NORM], 0, keys, key)
        token = next_task(counter)
    return num_tokens


@compiled
def _prepare_head(launch: Any, layer: Any, token: int, kv_head: int) -> None:
    """Do this for one key head of a token and its queries: see _prepare_heads."""
    num_heads, num_kv_heads, head_dim = launch[layout.NUM_HEADS], launch[layout.NUM_KV_HEADS], launch[layout.HEAD_DIM]
    half, group, offset = layer[layout.ROTARY_HALF], num_heads // num_kv_heads, 4 * (token * num_kv_heads + kv_head) * head_dim
    position = int64_view(launch[layout.POSITIONS], token + 1)[token]
    key_address, value_address = launch[layout.NEW_KEYS] + offset, launch[layout.NEW_VALUES] + offset
    for head in range(group + 1):
        query_address = launch[layout.QUERIES] + 4 * (token * num_heads + kv_head * group + head) * head_dim
        address = key_address if head == group else query_address
        weight = layer[layout.KEY_NORM] if head == group else layer[layout.QUERY_NORM]
        if weight:
            norm_row(launch, address, weight, 0, head_dim, address)
        if half:
            cos = float32_view(layer[layout.COSINES] + 4 * position * half, half)
            sin = float32_view(layer[layout.SINES] + 4 * position * half, half)
            rotate(float32_view(address, head_dim), cos, sin, half)
    first_page = int64_view(launch[layout.FIRST_PAGES], token + 1)[token]
    store_kv(launch, layer, first_page, kv_head, position, key_address, value_address)


@compiled
def _prepare_heads(launch: Any, counter: int, layer: Any, num_tokens: int) -> int:
    """Normalize the heads of queries and keys if the model does, apply rotary embeddings, and store keys and values in the cache.

    Neighbouring tokens write to the same cache lines, so one task has several.
    """
    num_kv_heads = launch[layout.NUM_KV_HEADS]
    task = fetch_and_add(counter)
    while task * ROWS_AT_ONCE < num_tokens:
        for token in range(task * ROWS_AT_ONCE, min((task + 1) * ROWS_AT_ONCE, num_tokens)):
            for kv_head in range(num_kv_heads):
                _prepare_head(launch, layer, token, kv_head)
        task = next_task(counter)
    return (num_tokens + ROWS_AT_ONCE - 1) // ROWS_AT_ONCE


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
    task = fetch_and_add(counter)
    while task * ROWS_AT_ONCE < num_tokens:
        for token in range(task * ROWS_AT_ONCE, min((task + 1) * ROWS_AT_ONCE, num_tokens)):
            if firsts[token + 1] > firsts[token]:
                merge_partials(launch, token, firsts[token], firsts[token + 1] - firsts[token], scratch)
            store_activations(x, token, launch[layout.ATTENDED] + 4 * token * size, 0, size)
        task = next_task(counter)
    return (num_tokens + ROWS_AT_ONCE - 1) // ROWS_AT_ONCE


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
    if launch[layout.ROW_UPDATES]:
        update_attention(launch, index, address, normed, scratch)
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
    _project_to_residual(launch, counter, layer, index, layout.UPDATED_OUTPUT, output, attended, norm_address, bias_address, scratch)
    counter += 2 * line
    norm_address, bias_address = layer[layout.FEED_FORWARD_NORM], layer[layout.FEED_FORWARD_NORM_BIAS]
    if layer[layout.NUM_EXPERTS]:
        run_experts(launch, counter, layer, scratch)
        return
    wait_for_all(counter, _prepare_rows(launch, counter, norm_address, bias_address, num_tokens, scratch))
    counter += line
    if launch[layout.ROW_UPDATES]:
        project_up_with_updates(launch, index, address, normed, inner, scratch)
    else:
        wait_for_all(counter, project_up(launch, counter, address, normed, inner, num_tokens, scratch))
    counter += line
    norm_address, bias_address = layer[layout.FEED_FORWARD_OUTPUT_NORM], layer[layout.FEED_FORWARD_OUTPUT_NORM_BIAS]
    _project_to_residual(launch, counter, layer, index, layout.UPDATED_DOWN, down, inner, norm_address, bias_address, scratch)


@compiled
def _project_to_residual(
    launch: Any, counter: int, layer: Any, index: int, part: int, matrix: Any, x: Any, weight: int, bias: int, scratch: int
) -> None:
    """Multiply by the last matrix of a part and add the result to the residual, normalized if there is a norm."""
    num_tokens, factor = launch[layout.NUM_TOKENS], float_field(layer, layout.RESIDUAL_SCALE)
    out = launch[layout.PART_OUTPUT] if weight else launch[layout.RESIDUAL]
    wait_for_all(counter, project(launch, counter, matrix, x, num_tokens, out, scratch, 0.0 if weight else factor))
    if launch[layout.ROW_UPDATES]:
        update_output(launch, index, part, matrix, x, out, 1.0 if weight else factor, scratch)
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
        norm_row(launch, x, launch[layout.FINAL_NORM], launch[layout.FINAL_NORM_BIAS], size, out)
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
