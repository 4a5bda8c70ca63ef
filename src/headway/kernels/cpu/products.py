"""Products of a block of 16 rows of a packed matrix and the activations of some tokens, for use inside Numba functions."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy

from headway.kernels.cpu.instructions import Instructions, detect
from headway.kernels.cpu.integer_tiles import int16_tile, int_tile, widen_group
from headway.kernels.cpu.layout import (
    BFLOAT16,
    CODES,
    COLUMNS,
    FLOAT32,
    GROUP,
    GROUPS_AT_ONCE,
    INT4,
    INT8,
    INT8_ROWS,
    INT16_TOKENS,
    KIND,
    MIN_INT16_TOKENS,
    NUM_ROWS,
    SCALES,
    WIDE_CODES_BYTES,
    X_FLOATS,
    X_INT8,
    X_INT16,
    X_INT16_SCALES,
    X_SCALES,
    X_SUMS,
)
from headway.kernels.cpu.memory import compiled, float32_view
from headway.kernels.cpu.tiles import float_tile, pair_tile

F = numpy.float32
INSTRUCTIONS = detect()
USES_INT16_TILES, HAS_BFLOAT16_DOT = INSTRUCTIONS.uses_int16_tiles, INSTRUCTIONS.has_bfloat16_dot
ACTIVATION_BYTES = 196_608
"""Bytes of activations, in int16, that are multiplied by one block of weights before the next block: they stay in the L2 cache."""
INT16_TOKENS_PER_TASK = 120
"""The same for weights that are converted to int16, in tokens: their results stay in the first cache."""


def _repeat_float_tile(tile: Any, size: int) -> Any:
    """Return a function that applies a tile of `size` tokens from a token on while it fits, and returns the first remaining token."""

    @compiled
    def tiles(weights: int, x: int, x_stride: int, num_inputs: int, out: int, out_stride: int, is_added: int, token: int, end: int) -> int:
        while end - token >= size:
            tile(weights, x + token * x_stride, x_stride, num_inputs, out + token * out_stride, out_stride, is_added)
            token += size
        return token

    return tiles


def _float_product(tile: Any, largest: int = 6) -> Any:
    """Return a product that uses tiles of `largest` tokens, a third of them, and one; `tile(n)` makes a tile of n tokens."""
    many, some, one = (_repeat_float_tile(tile(size), size) for size in (largest, largest // 3, 1))

    @compiled
    def product(weights: int, x: int, x_stride: int, num_inputs: int, out: int, out_stride: int, num_tokens: int, is_added: int) -> None:
        token = many(weights, x, x_stride, num_inputs, out, out_stride, is_added, 0, num_tokens)
        token = some(weights, x, x_stride, num_inputs, out, out_stride, is_added, token, num_tokens)
        one(weights, x, x_stride, num_inputs, out, out_stride, is_added, token, num_tokens)

    return product


def _repeat_int_tile(tile: Any, size: int) -> Any:
    """Return the same for an integer tile: see _repeat_float_tile."""

    @compiled
    def tiles(weights: int, scales: int, x: int, x_scales: int, x_sums: int, num_groups: int, out: int, token: int, end: int) -> int:
        columns, stride, out_stride = GROUP * num_groups, 4 * num_groups, 4 * NUM_ROWS
        while end - token >= size:
            row, row_scales, row_sums = x + token * columns, x_scales + token * stride, x_sums + token * stride
            tile(weights, scales, row, columns, row_scales, row_sums, stride, num_groups, out + token * out_stride, out_stride)
            token += size
        return token

    return tiles


def int_product(kind: str, instructions: Instructions) -> Any:
    """Return product(weights, scales, x, x_scales, x_sums, num_groups, out, num_tokens): see int_tile."""
    largest = {"int8": instructions.int8_tile_tokens, "int4": instructions.int4_tile_tokens}[kind]
    many, two, one = (_repeat_int_tile(int_tile(kind, size, instructions), size) for size in (largest, 2, 1))

    @compiled
    def product(weights: int, scales: int, x: int, x_scales: int, x_sums: int, num_groups: int, out: int, num_tokens: int) -> None:
        token = many(weights, scales, x, x_scales, x_sums, num_groups, out, 0, num_tokens)
        token = two(weights, scales, x, x_scales, x_sums, num_groups, out, token, num_tokens)
        one(weights, scales, x, x_scales, x_sums, num_groups, out, token, num_tokens)

    return product


def pair_product(instructions: Instructions) -> Any:
    """Return product(weights, x, x_stride, num_inputs, out, out_stride, num_tokens, is_added): see pair_tile."""
    return _float_product(partial(pair_tile, instructions), 12 if instructions.has_bfloat16_dot else 6)


FLOAT_TOKENS = 12 if INSTRUCTIONS.lanes == NUM_ROWS else 6
"""Number of tokens of a tile of floating-point products: with one register for 16 rows, fewer totals would wait for one another."""
float32_product, bfloat16_product = (_float_product(partial(float_tile, kind), FLOAT_TOKENS) for kind in ("float32", "bfloat16"))
bfloat16_pair_product = pair_product(INSTRUCTIONS)
int8_product, int4_product = (int_product(kind, INSTRUCTIONS) for kind in ("int8", "int4"))
_no_tile: Any = None
six_tokens, four_tokens, two_tokens = (int16_tile(INSTRUCTIONS, size) if USES_INT16_TILES else _no_tile for size in (6, 4, 2))


@compiled
def tokens_per_task(matrix: Any, num_tokens: int) -> int:
    """Return the number of tokens that one task multiplies by a block of weights: a multiple of 24 (tiles have 8 or 12) or 120, or all.

    Weights in int16 are cut into pieces of few inputs, and those with one scale per row are exact sums, so only the results have to stay in a cache. Otherwise the activations stay in the
    L2 cache while the weights stream through.
    """
    if matrix[KIND] == INT8_ROWS or (USES_INT16_TILES and matrix[KIND] == INT8):
        return min(num_tokens, INT16_TOKENS_PER_TASK)
    return min(num_tokens, max(24, ACTIVATION_BYTES // (2 * matrix[COLUMNS]) // 24 * 24))


@compiled
def uses_int16(num_tokens: int) -> bool:
    """Return True if int8 weights are converted to int16 for this number of tokens; tiles then start at a multiple of 6."""
    return USES_INT16_TILES and num_tokens >= MIN_INT16_TOKENS


@compiled
def _multiply_int16(codes: int, scales: int, x: Any, first: int, groups: int, num_tokens: int, scratch: int, out: int) -> None:
    """Multiply 16 rows by some tokens in int16, some groups at a time: their weights stay in the first cache for all tokens."""
    if USES_INT16_TILES:
        totals, wide_scales = float32_view(out, NUM_ROWS * num_tokens), scratch + WIDE_CODES_BYTES
        for i in range(NUM_ROWS * num_tokens):
            totals[i] = F(0)
        for begin in range(0, groups, GROUPS_AT_ONCE):
            count = min(GROUPS_AT_ONCE, groups - begin)
            for group in range(count):
                source = begin + group
                widen_group(
                    codes + 512 * source, scales + 2 * NUM_ROWS * source, scratch + 1024 * group, wide_scales + 4 * NUM_ROWS * group
                )
            for token in range(0, num_tokens, INT16_TOKENS):
                pairs = x[X_INT16] + 2 * GROUP * ((first + token) * groups + INT16_TOKENS * begin)
                pair_scales = x[X_INT16_SCALES] + 4 * ((first + token) * groups + INT16_TOKENS * begin)
                result, left = out + 4 * NUM_ROWS * token, num_tokens - token
                # The other half of each group's weights every second time; the block that follows the last one is prefetched, too.
                ahead = codes + 512 * (begin + count) + 256 * (token // INT16_TOKENS % 2)
                if left > 4:
                    six_tokens(scratch, wide_scales, pairs, pair_scales, count, result, ahead)
                elif left > 2:
                    four_tokens(scratch, wide_scales, pairs, pair_scales, count, result, ahead)
                else:
                    two_tokens(scratch, wide_scales, pairs, pair_scales, count, result, ahead)


@compiled
def multiply(matrix: Any, block: int, x: Any, first: int, last: int, scratch: int, out: int) -> None:
    """Multiply 16 rows of a packed matrix by the tokens from first to last: (last - first, 16) float32 at `out`.

    scratch   address of WIDE_BYTES of memory
    out       address of memory for the number of tokens rounded up to a multiple of 6
    """
    kind, columns, num_tokens = matrix[KIND], matrix[COLUMNS], last - first
    if kind <= BFLOAT16:
        codes = matrix[CODES] + block * NUM_ROWS * columns * (4 if kind == FLOAT32 else 2)
        stride = (2 if kind == BFLOAT16 and HAS_BFLOAT16_DOT else 4) * columns
        activations = x[X_FLOATS] + first * stride
        if kind == FLOAT32:
            float32_product(codes, activations, stride, columns, out, 4 * NUM_ROWS, num_tokens, 0)
        else:
            bfloat16_pair_product(codes, activations, stride, columns, out, 4 * NUM_ROWS, num_tokens, 0)
        return
    groups = columns // GROUP
    scales = matrix[SCALES] + block * 2 * NUM_ROWS * groups
    x_scales, x_sums, x_codes = x[X_SCALES] + 4 * first * groups, x[X_SUMS] + 4 * first * groups, x[X_INT8] + first * columns
    if kind == INT4:
        codes = matrix[CODES] + block * 8 * columns
        int4_product(codes, scales, x_codes, x_scales, x_sums, groups, out, num_tokens)
        return
    codes = matrix[CODES] + block * NUM_ROWS * columns
    if uses_int16(num_tokens) or (USES_INT16_TILES and not x[X_INT8]):
        _multiply_int16(codes, scales, x, first, groups, num_tokens, scratch, out)
    else:
        int8_product(codes, scales, x_codes, x_scales, x_sums, groups, out, num_tokens)
