"""A mixture of experts: each expert's matrices are multiplied by the tokens that use it.

The tokens of an expert get consecutive slots: slot s of the experts' activations is a copy of a token's activations. An expert's first slot is
a multiple of 12, as products need it. The outputs of a token's experts are added in the order of the experts, so that the result depends
on the token alone.
"""

from __future__ import annotations

from typing import Any

import numpy

from headway.kernels.cpu import layout
from headway.kernels.cpu.elementwise import dot, exp, norm_row
from headway.kernels.cpu.layout import ACTIVATIONS_SIZE, GROUP, MATRIX_SIZE, NUM_ROWS, ROWS, SLOTS_PER_TILE, WIDE_BYTES
from headway.kernels.cpu.memory import compiled, fetch_and_add, float32_view, float_field, int64_view, next_task, wait_for_all
from headway.kernels.cpu.products import tokens_per_task
from headway.kernels.cpu.projections import activate_groups, multiply_with_bias, store_activations, write_block

F = numpy.float32


@compiled
def run_experts(launch: Any, counter: int, layer: Any, scratch: int) -> None:
    """Add the mixture of experts of the normalized vectors to the residual, in five phases."""
    line, num_tokens = layout.CACHE_LINE, launch[layout.NUM_TOKENS]
    wait_for_all(counter, _route(launch, counter, layer, scratch))
    counter += line
    wait_for_all(counter, _assign_slots(launch, counter, layer))
    counter += line
    wait_for_all(counter, _fill_slots(launch, counter, layer))
    counter += line
    wait_for_all(counter, _project(launch, counter, layer, scratch, False))
    counter += line
    wait_for_all(counter, _project(launch, counter, layer, scratch, True))
    counter += line
    wait_for_all(counter, _combine(launch, counter, layer, num_tokens))


@compiled
def _route(launch: Any, counter: int, layer: Any, scratch: int) -> int:
    """Normalize every token's vector, and choose its experts and their shares."""
    size, num_experts, num_tokens = launch[layout.HIDDEN_SIZE], layer[layout.NUM_EXPERTS], launch[layout.NUM_TOKENS]
    router, scores = float32_view(layer[layout.ROUTER], num_experts * size), float32_view(scratch, num_experts)
    token = fetch_and_add(counter)
    while token < num_tokens:
        address, normed = launch[layout.RESIDUAL] + 4 * token * size, launch[layout.PART_OUTPUT] + 4 * token * size
        norm_row(launch, address, layer[layout.FEED_FORWARD_NORM], layer[layout.FEED_FORWARD_NORM_BIAS], size, normed)
        x = float32_view(normed, size)
        for expert in range(num_experts):
            scores[expert] = dot(x, router[expert * size : (expert + 1) * size], size)
        _choose(layer, scores, token, launch)
        token = next_task(counter)
    return num_tokens


@compiled
def _choose(layer: Any, scores: Any, token: int, launch: Any) -> None:
    """Write the experts with the largest probabilities, in the order of the experts, and their shares; of equal ones the first."""
    num_experts, top_k = layer[layout.NUM_EXPERTS], layer[layout.TOP_K]
    chosen, shares = (
        int64_view(launch[layout.CHOSEN] + 8 * token * top_k, top_k),
        float32_view(launch[layout.SHARES] + 4 * token * top_k, top_k),
    )
    largest, total = scores[0], F(0)
    for expert in range(num_experts):
        largest = max(largest, scores[expert])
    for expert in range(num_experts):
        scores[expert] = exp(scores[expert] - largest)
        total += scores[expert]
    count, sum_of_chosen = 0, F(0)
    for expert in range(num_experts):
        rank = 0
        for other in range(num_experts):
            if scores[other] > scores[expert] or (scores[other] == scores[expert] and other < expert):
                rank += 1
        if rank < top_k and count < top_k:
            chosen[count], shares[count] = expert, scores[expert] / total
            sum_of_chosen += shares[count]
            count += 1
    for index in range(count, top_k):  # only NaN leaves places
        chosen[index], shares[index] = index, largest + F(0) * total
    if layer[layout.IS_NORMALIZED]:
        for index in range(top_k):
            shares[index] /= sum_of_chosen


@compiled
def _assign_slots(launch: Any, counter: int, layer: Any) -> int:
    """Give each expert its range of slots and each choice of a token its slot; one task."""
    num_experts, top_k, num_tokens = layer[layout.NUM_EXPERTS], layer[layout.TOP_K], launch[layout.NUM_TOKENS]
    if fetch_and_add(counter) == 0:
        chosen, slots = int64_view(launch[layout.CHOSEN], num_tokens * top_k), int64_view(launch[layout.SLOTS], num_tokens * top_k)
        ranges = int64_view(launch[layout.SLOT_RANGES], 2 * num_experts)
        for index in range(2 * num_experts):
            ranges[index] = 0
        for index in range(num_tokens * top_k):
            ranges[2 * chosen[index] + 1] += 1
        first = 0
        for expert in range(num_experts):
            count, ranges[2 * expert], ranges[2 * expert + 1] = ranges[2 * expert + 1], first, first
            first += (count + SLOTS_PER_TILE - 1) // SLOTS_PER_TILE * SLOTS_PER_TILE
        for index in range(num_tokens * top_k):
            slots[index] = ranges[2 * chosen[index] + 1]
            ranges[2 * chosen[index] + 1] += 1
        next_task(counter)
    return 1


@compiled
def _fill_slots(launch: Any, counter: int, layer: Any) -> int:
    """Store the normalized vectors in the slots."""
    size, top_k = launch[layout.HIDDEN_SIZE], layer[layout.TOP_K]
    total = launch[layout.NUM_TOKENS] * top_k
    x, slots = int64_view(launch[layout.EXPERT_ACTIVATIONS], ACTIVATIONS_SIZE), int64_view(launch[layout.SLOTS], total)
    index = fetch_and_add(counter)
    while index < total:
        store_activations(x, slots[index], launch[layout.PART_OUTPUT] + 4 * (index // top_k) * size, 0, size)
        index = next_task(counter)
    return total


@compiled
def _project(launch: Any, counter: int, layer: Any, scratch: int, is_down: bool) -> int:
    """Compute the inner activations of all experts, or their outputs: a task is 32 rows of an expert's matrices."""
    num_experts, x = layer[layout.NUM_EXPERTS], int64_view(launch[layout.EXPERT_ACTIVATIONS], ACTIVATIONS_SIZE)
    inner, ranges = int64_view(layer[layout.INNER_ACTIVATIONS], ACTIVATIONS_SIZE), int64_view(launch[layout.SLOT_RANGES], 2 * num_experts)
    rows = launch[layout.HIDDEN_SIZE] if is_down else layer[layout.EXPERT_SIZE]
    num_groups = (rows + GROUP - 1) // GROUP
    task = fetch_and_add(counter)
    while task < num_experts * num_groups:
        expert, group = task // num_groups, task % num_groups
        matrices = layer[layout.EXPERTS] + 8 * layout.EXPERT_SIZES * expert
        gate, up = int64_view(matrices, MATRIX_SIZE), int64_view(matrices + 8 * MATRIX_SIZE, MATRIX_SIZE)
        down = int64_view(matrices + 16 * MATRIX_SIZE, MATRIX_SIZE)
        begin, end = ranges[2 * expert], ranges[2 * expert + 1]
        per_task = tokens_per_task(down if is_down else up, max(end - begin, 1))
        for first in range(begin, end, per_task):
            last = min(first + per_task, end)
            if is_down:
                _project_down(down, group, inner, first, last, launch[layout.SLOT_OUTPUT], scratch)
            else:
                activate_groups(launch[layout.ACTIVATION], up, gate, x, inner, group, group + 1, first, last, scratch)
        task = next_task(counter)
    return num_experts * num_groups


@compiled
def _project_down(down: Any, group: int, inner: Any, first: int, last: int, out: int, scratch: int) -> None:
    result = scratch + WIDE_BYTES
    for block in range(2 * group, min(2 * group + 2, (down[ROWS] + NUM_ROWS - 1) // NUM_ROWS)):
        multiply_with_bias(down, block, inner, first, last, scratch, result)
        write_block(down, block, result, first, last, out, 0.0)


@compiled
def _combine(launch: Any, counter: int, layer: Any, num_tokens: int) -> int:
    """Add the outputs of every token's experts, weighted by their shares, to the residual."""
    size, top_k, factor = launch[layout.HIDDEN_SIZE], layer[layout.TOP_K], F(float_field(layer, layout.RESIDUAL_SCALE))
    token = fetch_and_add(counter)
    while token < num_tokens:
        slots, shares = (
            int64_view(launch[layout.SLOTS] + 8 * token * top_k, top_k),
            float32_view(launch[layout.SHARES] + 4 * token * top_k, top_k),
        )
        mixed_address = launch[layout.PART_OUTPUT] + 4 * token * size
        mixed, x = float32_view(mixed_address, size), float32_view(launch[layout.RESIDUAL] + 4 * token * size, size)
        for i in range(size):
            mixed[i] = F(0)
        for index in range(top_k):
            output = float32_view(launch[layout.SLOT_OUTPUT] + 4 * slots[index] * size, size)
            for i in range(size):
                mixed[i] += shares[index] * output[i]
        if layer[layout.FEED_FORWARD_OUTPUT_NORM]:
            weight, bias = layer[layout.FEED_FORWARD_OUTPUT_NORM], layer[layout.FEED_FORWARD_OUTPUT_NORM_BIAS]
            norm_row(launch, mixed_address, weight, bias, size, mixed_address)
        for i in range(size):
            x[i] += factor * mixed[i]
        token = next_task(counter)
    return num_tokens
