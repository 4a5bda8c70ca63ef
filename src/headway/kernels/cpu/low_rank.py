"""Updates of low rank (LoRA) for the rows of a pass that have an adapter, added to the products of the packed matrices.

An update needs two phases: every row is multiplied by the `down` of its adapter, and the result, of a few numbers, by `up`. A row is
computed alone, so its bits do not depend on the other rows and their adapters.
"""

from __future__ import annotations

from typing import Any

import numpy

from headway.kernels.cpu import layout
from headway.kernels.cpu.elementwise import activate, dot
from headway.kernels.cpu.layout import (
    BFLOAT16,
    CACHE_LINE,
    GROUP,
    MATRIX_SIZE,
    ROWS,
    UPDATE_COLUMNS,
    UPDATE_RANK,
    UPDATE_SIZE,
    UPDATED_ROWS,
)
from headway.kernels.cpu.memory import (
    compiled,
    fetch_and_add,
    float32_view,
    float_from_bits,
    int8_view,
    int64_view,
    next_task,
    uint16_view,
    wait_for_all,
)
from headway.kernels.cpu.products import HAS_BFLOAT16_DOT
from headway.kernels.cpu.projections import project, store_activations

F = numpy.float32


@compiled
def _find(launch: Any, layer: int, part: int, token: int) -> int:
    """Return the address of the update of a matrix for a row; 0 if there is none."""
    table = int64_view(launch[layout.ROW_UPDATES], token + 1)[token]
    address = table + 8 * UPDATE_SIZE * (layout.UPDATED_PARTS * layer + part)
    return address if table and int64_view(address, UPDATE_SIZE)[UPDATE_RANK] else 0


@compiled
def _read_activations(x: Any, row: int, out: Any, count: int) -> None:
    """Write the activations of a row to `out` as float32, as the products of packed matrices see them."""
    columns, kind = x[layout.X_COLUMNS], x[layout.X_KIND]
    if kind > BFLOAT16:
        codes = int8_view(x[layout.X_INT8] + row * columns, columns)
        scales = float32_view(x[layout.X_SCALES] + 4 * (row * columns // GROUP), columns // GROUP)
        for i in range(count):
            out[i] = F(codes[i]) * scales[i // GROUP]
    elif kind == BFLOAT16 and HAS_BFLOAT16_DOT:
        bits = uint16_view(x[layout.X_FLOATS] + 2 * row * columns, columns)
        for i in range(count):
            out[i] = float_from_bits(numpy.int32(bits[i]) << numpy.int32(16))
    else:
        numbers = float32_view(x[layout.X_FLOATS] + 4 * row * columns, columns)
        for i in range(count):
            out[i] = numbers[i]


@compiled
def _multiply_down(launch: Any, counter: int, layer: int, part: int, num_parts: int, x: Any, scratch: int) -> int:
    """Multiply the rows by the `down` matrices of some parts, which read the same activations."""
    num_tokens = launch[layout.NUM_TOKENS]
    task = fetch_and_add(counter)
    while task < num_tokens * num_parts:
        address = _find(launch, layer, part + task % num_parts, task // num_parts)
        if address:
            update = int64_view(address, UPDATE_SIZE)
            count, rank = update[UPDATE_COLUMNS], update[UPDATE_RANK]
            numbers, out = float32_view(scratch, count), float32_view(launch[layout.REDUCED] + 4 * launch[layout.MAX_RANK] * task, rank)
            _read_activations(x, task // num_parts, numbers, count)
            for row in range(rank):
                out[row] = dot(float32_view(update[layout.UPDATE_DOWN] + 4 * count * row, count), numbers, count)
        task = next_task(counter)
    return num_tokens * num_parts


@compiled
def _multiply_up(
    launch: Any, counter: int, layer: int, part: int, place: int, num_parts: int, rows: int, out: int, factor: float, scratch: int
) -> int:
    """Add the products with `up`, times a factor, to the numbers (num_tokens, rows) at an address; `place` is the index of the part among
    the num_parts that share `reduced`."""
    num_tokens, num_chunks, scale = launch[layout.NUM_TOKENS], (rows + UPDATED_ROWS - 1) // UPDATED_ROWS, F(factor)
    task = fetch_and_add(counter)
    while task < num_tokens * num_chunks:
        token, first = task // num_chunks, task % num_chunks * UPDATED_ROWS
        address = _find(launch, layer, part, token)
        if address:
            update, count = int64_view(address, UPDATE_SIZE), min(UPDATED_ROWS, rows - first)
            rank = update[UPDATE_RANK]
            reduced = float32_view(launch[layout.REDUCED] + 4 * launch[layout.MAX_RANK] * (token * num_parts + place), rank)
            total, target = float32_view(scratch, count), float32_view(out + 4 * (token * rows + first), count)
            for i in range(count):
                total[i] = F(0)
            for index in range(rank):
                up, number = float32_view(update[layout.UPDATE_UP] + 4 * (index * rows + first), count), reduced[index]
                for i in range(count):
                    total[i] += number * up[i]
            for i in range(count):
                target[i] += scale * total[i]
        task = next_task(counter)
    return num_tokens * num_chunks


@compiled
def update_attention(launch: Any, layer: int, address: int, x: Any, scratch: int) -> None:
    """Add the updates of query, key and value to their products; `address` is that of the layer's record."""
    counter = _counters(launch, layer, layout.UPDATED_QUERY)
    wait_for_all(counter, _multiply_down(launch, counter, layer, layout.UPDATED_QUERY, 3, x, scratch))
    counter += CACHE_LINE
    for place in range(3):
        out = launch[layout.QUERIES] if place == 0 else (launch[layout.NEW_KEYS] if place == 1 else launch[layout.NEW_VALUES])
        rows = int64_view(address + 8 * (layout.QUERY + place * MATRIX_SIZE), MATRIX_SIZE)[ROWS]
        wait_for_all(counter, _multiply_up(launch, counter, layer, layout.UPDATED_QUERY + place, place, 3, rows, out, 1.0, scratch))
        counter += CACHE_LINE


@compiled
def update_output(launch: Any, layer: int, part: int, matrix: Any, x: Any, out: int, factor: float, scratch: int) -> None:
    """Add the update of the last matrix of a part, times a factor, to its product."""
    counter = _counters(launch, layer, part)
    wait_for_all(counter, _multiply_down(launch, counter, layer, part, 1, x, scratch))
    counter += CACHE_LINE
    wait_for_all(counter, _multiply_up(launch, counter, layer, part, 0, 1, matrix[ROWS], out, factor, scratch))


@compiled
def project_up_with_updates(launch: Any, layer: int, address: int, x: Any, inner: Any, scratch: int) -> None:
    """Compute the inner activations of the feed-forward network as project_up does, with updates of the gate and up matrices."""
    counter, num_tokens = _counters(launch, layer, layout.UPDATED_GATE), launch[layout.NUM_TOKENS]
    gate, up = int64_view(address + 8 * layout.GATE, MATRIX_SIZE), int64_view(address + 8 * layout.UP, MATRIX_SIZE)
    rows = up[ROWS]
    wait_for_all(counter, project(launch, counter, up, x, num_tokens, launch[layout.UPS], scratch, 0.0))
    counter += CACHE_LINE
    if gate[ROWS]:
        wait_for_all(counter, project(launch, counter, gate, x, num_tokens, launch[layout.GATES], scratch, 0.0))
    counter += CACHE_LINE
    wait_for_all(counter, _multiply_down(launch, counter, layer, layout.UPDATED_GATE, 2, x, scratch))
    counter += CACHE_LINE
    wait_for_all(counter, _multiply_up(launch, counter, layer, layout.UPDATED_UP, 1, 2, rows, launch[layout.UPS], 1.0, scratch))
    counter += CACHE_LINE
    if gate[ROWS]:
        wait_for_all(counter, _multiply_up(launch, counter, layer, layout.UPDATED_GATE, 0, 2, rows, launch[layout.GATES], 1.0, scratch))
    counter += CACHE_LINE
    wait_for_all(counter, _activate_all(launch, counter, gate[ROWS] > 0, rows, inner))


@compiled
def _activate_all(launch: Any, counter: int, is_gated: bool, rows: int, inner: Any) -> int:
    """Store activation(gate) · up, or activation(up), of all rows."""
    num_tokens = launch[layout.NUM_TOKENS]
    token = fetch_and_add(counter)
    while token < num_tokens:
        ups = launch[layout.UPS] + 4 * token * rows
        gates = launch[layout.GATES] + 4 * token * rows
        activated = gates if is_gated else ups
        numbers, factors = float32_view(activated, rows), float32_view(ups, rows)
        activate(launch[layout.ACTIVATION], numbers, rows)
        if is_gated:
            for i in range(rows):
                numbers[i] *= factors[i]
        store_activations(inner, token, activated, 0, rows)
        token = next_task(counter)
    return num_tokens


@compiled
def _counters(launch: Any, layer: int, part: int) -> int:
    """Return the address of the counters of a part: six for each."""
    return launch[layout.UPDATE_COUNTERS] + 6 * CACHE_LINE * (layout.UPDATED_PARTS * layer + part)
