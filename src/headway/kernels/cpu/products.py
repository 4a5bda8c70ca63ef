"""A block of 16 rows of a packed matrix times the activations of some tokens: for use inside Numba functions."""

from __future__ import annotations

from functools import partial
from typing import Any

from headway.kernels.cpu.instructions import Instructions, here
from headway.kernels.cpu.layout import (
    BFLOAT16,
    CODES,
    COLUMNS,
    FLOAT32,
    GROUP,
    INT4,
    KIND,
    NUM_ROWS,
    SCALES,
    WIDE_TOKENS,
    X_BYTES,
    X_FLOATS,
    X_SCALES,
    X_SUMS,
    X_WIDE,
    X_WIDE_SCALES,
)
from headway.kernels.cpu.memory import compiled
from headway.kernels.cpu.tiles import float_tile, int_tile, pair_tile, wide_tile, widen

INSTRUCTIONS = here()
IS_WIDE, IS_PAIRED = INSTRUCTIONS.is_wide, INSTRUCTIONS.is_paired
ACTIVATION_BYTES = 196_608
"""Of widened activations that are multiplied with a block of weights before the next block."""
WIDE_FROM = 24
"""From how many tokens on it pays to widen the weights first."""


def _floats_while_they_fit(tile: Any, size: int) -> Any:
    """A tile of so many tokens, again and again from a token on; the first token that is left."""

    @compiled
    def tiles(weights: int, x: int, x_stride: int, num_inputs: int, out: int, out_stride: int, is_added: int, token: int, end: int) -> int:
        while end - token >= size:
            tile(weights, x + token * x_stride, x_stride, num_inputs, out + token * out_stride, out_stride, is_added)
            token += size
        return token

    return tiles


def _float_product(tile: Any, most: int = 6) -> Any:
    """A product by tiles of `most`, two and one tokens; `tile` makes a tile of so many."""
    many, two, one = (_floats_while_they_fit(tile(size), size) for size in (most, 2, 1))

    @compiled
    def product(weights: int, x: int, x_stride: int, num_inputs: int, out: int, out_stride: int, num_tokens: int, is_added: int) -> None:
        token = many(weights, x, x_stride, num_inputs, out, out_stride, is_added, 0, num_tokens)
        token = two(weights, x, x_stride, num_inputs, out, out_stride, is_added, token, num_tokens)
        one(weights, x, x_stride, num_inputs, out, out_stride, is_added, token, num_tokens)

    return product


def _ints_while_they_fit(tile: Any, size: int) -> Any:
    """The same for integers."""

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
    """product(weights, scales, x, x_scales, x_sums, num_groups, out, num_tokens): see int_tile."""
    most = {"int8": instructions.num_tokens, "int4": instructions.num_tokens_int4}[kind]
    many, two, one = (_ints_while_they_fit(int_tile(kind, size, instructions), size) for size in (most, 2, 1))

    @compiled
    def product(weights: int, scales: int, x: int, x_scales: int, x_sums: int, num_groups: int, out: int, num_tokens: int) -> None:
        token = many(weights, scales, x, x_scales, x_sums, num_groups, out, 0, num_tokens)
        token = two(weights, scales, x, x_scales, x_sums, num_groups, out, token, num_tokens)
        one(weights, scales, x, x_scales, x_sums, num_groups, out, token, num_tokens)

    return product


def pair_product(instructions: Instructions) -> Any:
    """product(weights, x, x_stride, num_inputs, out, out_stride, num_tokens, is_added): see pair_tile."""
    return _float_product(partial(pair_tile, instructions), instructions.num_tokens if instructions.is_paired else 6)


float32_product, bfloat16_product = (_float_product(partial(float_tile, kind)) for kind in ("float32", "bfloat16"))
bfloat16_pair_product = pair_product(INSTRUCTIONS)
int8_product, int4_product = (int_product(kind, INSTRUCTIONS) for kind in ("int8", "int4"))
six_wide: Any = wide_tile(INSTRUCTIONS) if IS_WIDE else None


@compiled
def tokens_at_once(columns: int, num_tokens: int) -> int:
    """How many tokens go with a block of weights before the next: a multiple of 12, or all.

    Their activations stay in the second cache while the weights go by.
    """
    return min(num_tokens, max(24, ACTIVATION_BYTES // (2 * columns) // 12 * 12))


@compiled
def is_widened(num_tokens: int) -> bool:
    """Whether int8 weights are widened for so many tokens; if so, tokens are taken from a multiple of 6 on."""
    return IS_WIDE and num_tokens >= WIDE_FROM


@compiled
def _multiply_wide(codes: int, scales: int, x: Any, first: int, groups: int, num_tokens: int, scratch: int, out: int) -> None:
    if IS_WIDE:
        for piece in range(groups * GROUP // 4):
            widen(codes + 64 * piece, scratch + 128 * piece)
        for token in range(first, first + num_tokens, WIDE_TOKENS):
            wide, wide_scales = x[X_WIDE] + 2 * token * groups * GROUP, x[X_WIDE_SCALES] + 4 * token * groups
            six_wide(scratch, scales, wide, wide_scales, groups, out + 4 * NUM_ROWS * (token - first))


@compiled
def multiply(matrix: Any, block: int, x: Any, first: int, last: int, scratch: int, out: int) -> None:
    """16 rows of a packed matrix times the tokens from first to last: (last - first, 16) float32 at an address.

    scratch   an address with room for 16 rows of int16
    out       has room for a number of tokens that is a multiple of 6
    """
    kind, columns, num_tokens = matrix[KIND], matrix[COLUMNS], last - first
    if kind <= BFLOAT16:
        codes = matrix[CODES] + block * NUM_ROWS * columns * (4 if kind == FLOAT32 else 2)
        stride = (2 if kind == BFLOAT16 and IS_PAIRED else 4) * columns
        activations = x[X_FLOATS] + first * stride
        if kind == FLOAT32:
            float32_product(codes, activations, stride, columns, out, 4 * NUM_ROWS, num_tokens, 0)
        else:
            bfloat16_pair_product(codes, activations, stride, columns, out, 4 * NUM_ROWS, num_tokens, 0)
        return
    groups = columns // GROUP
    scales = matrix[SCALES] + block * 2 * NUM_ROWS * groups
    x_scales, x_sums, bytes_ = x[X_SCALES] + 4 * first * groups, x[X_SUMS] + 4 * first * groups, x[X_BYTES] + first * columns
    if kind == INT4:
        codes = matrix[CODES] + block * 8 * columns
        int4_product(codes, scales, bytes_, x_scales, x_sums, groups, out, num_tokens)
        return
    codes = matrix[CODES] + block * NUM_ROWS * columns
    if is_widened(num_tokens):
        _multiply_wide(codes, scales, x, first, groups, num_tokens, scratch, out)
    else:
        int8_product(codes, scales, bytes_, x_scales, x_sums, groups, out, num_tokens)
