"""Products of a block of 16 rows with one scale each and the activations of some tokens, for use inside Numba functions."""

from __future__ import annotations

from typing import Any

from headway.kernels.cpu.instructions import Instructions, detect
from headway.kernels.cpu.layout import (
    BIAS,
    CACHE_LINE,
    CODES,
    COLUMNS,
    NUM_ROWS,
    ROW_NUMBERS_BYTES,
    ROW_TOKENS,
    ROWS,
    SCALES,
    X_COLUMNS,
    X_INT8,
    X_SCALES,
    X_SUMS,
)
from headway.kernels.cpu.memory import compiled
from headway.kernels.cpu.row_tiles import prefetch_lines, round_row, row_tile

INSTRUCTIONS = detect()
HAS_ROW_TILES = INSTRUCTIONS.row_tile_tokens > 0


def _repeat(tile: Any, size: int) -> Any:
    """Return a function that applies a tile of `size` tokens from a token on while it fits, and returns the first remaining token.

    Meanwhile the weights of the next block are prefetched, a part with each tile.
    """

    @compiled
    def tiles(
        weights: int, numbers: int, bias: int, bias_rows: int, x: int, columns: int, scales: int, zeros: int, out: int, token: int, end: int
    ) -> int:
        ahead, lines = weights + NUM_ROWS * columns, NUM_ROWS * columns * size // (CACHE_LINE * end) + 1
        while end - token >= size:
            prefetch_lines(ahead + CACHE_LINE * lines * (token // size), lines)
            inside = token % ROW_TOKENS
            codes, place = x + (token - inside) * columns + 4 * inside, out + 4 * NUM_ROWS * token
            tile(weights, numbers, bias, bias_rows, codes, columns // 4, scales + 4 * token, zeros + 4 * token, place)
            token += size
        return token

    return tiles


def row_product(instructions: Instructions) -> Any:
    """Return product(weights, numbers, bias, bias_rows, x, columns, scales, zeros, out, num_tokens): see row_tile."""
    largest = instructions.row_tile_tokens
    many, some, one = (_repeat(row_tile(instructions, size), size) for size in (largest, largest // 3, 1))

    @compiled
    def product(
        weights: int, numbers: int, bias: int, bias_rows: int, x: int, columns: int, scales: int, zeros: int, out: int, num_tokens: int
    ) -> None:
        token = many(weights, numbers, bias, bias_rows, x, columns, scales, zeros, out, 0, num_tokens)
        token = some(weights, numbers, bias, bias_rows, x, columns, scales, zeros, out, token, num_tokens)
        one(weights, numbers, bias, bias_rows, x, columns, scales, zeros, out, token, num_tokens)

    return product


_no_product: Any = None
_product = row_product(INSTRUCTIONS) if HAS_ROW_TILES else _no_product


@compiled
def multiply_rows(matrix: Any, block: int, x: Any, first: int, last: int, out: int) -> None:
    """Multiply 16 rows by the tokens from first, a multiple of 24, to last and add the bias: (last - first, 16) float32 at `out`."""
    if HAS_ROW_TILES:
        columns, bias = matrix[COLUMNS], matrix[BIAS]
        bias_rows = matrix[ROWS] - NUM_ROWS * block if bias else 0
        _product(
            matrix[CODES] + block * NUM_ROWS * columns,
            matrix[SCALES] + block * ROW_NUMBERS_BYTES,
            bias + 4 * NUM_ROWS * block,
            bias_rows,
            x[X_INT8] + first * columns,
            columns,
            x[X_SCALES] + 4 * first,
            x[X_SUMS] + 4 * first,
            out,
            last - first,
        )


@compiled
def store_row(x: Any, row: int, numbers: int, count: int) -> None:
    """Round a row of float32 activations."""
    inside = row % ROW_TOKENS
    codes = x[X_INT8] + (row - inside) * x[X_COLUMNS] + 4 * inside
    round_row(numbers, count, codes, x[X_SCALES] + 4 * row, x[X_SUMS] + 4 * row)
