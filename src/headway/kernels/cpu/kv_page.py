"""Pages of a KV cache, for use inside Numba functions: where a head's keys and values are, and how they are stored."""

from __future__ import annotations

from typing import Any

import numpy

from headway.kernels.cpu.elementwise import REASSOCIATE, bfloat16_bits, largest_size, not_finite
from headway.kernels.cpu.layout import (
    BFLOAT16,
    FLOAT32,
    HEAD_DIM,
    INT8,
    KEY_SCALES,
    KEYS,
    KEYS_PER_BLOCK,
    KV_KIND,
    NUM_ROWS,
    PAGES,
    VALUE_SCALES,
    VALUES,
)
from headway.kernels.cpu.memory import compiled, float32_view, int8_view, int16_view, int64_view, uint16_view

F = numpy.float32


@compiled
def padded_size(size: int) -> int:
    """Return a number rounded up to a multiple of 16."""
    return (size + NUM_ROWS - 1) // NUM_ROWS * NUM_ROWS


@compiled
def element_size(kind: int) -> int:
    """Return the number of bytes of an element of a cache."""
    return 4 if kind == FLOAT32 else (1 if kind == INT8 else 2)


@compiled
def key_size(kind: int, head_dim: int) -> int:
    """Return the number of elements of a stored key: integers are stored in pairs."""
    return (head_dim + 1) // 2 * 2 if kind > BFLOAT16 else head_dim


@compiled
def page_address(launch: Any, first_page: int, position: int) -> int:
    """Return the address of the page of a position; first_page is the index of the sequence's first page in the addresses of all pages."""
    index = first_page + position // KEYS_PER_BLOCK
    return int64_view(launch[PAGES], index + 1)[index]


@compiled
def keys_address(layer: Any, page: int, kind: int, head_dim: int, head: int) -> int:
    """Return the address of a head's keys in a page."""
    return page + layer[KEYS] + head * KEYS_PER_BLOCK * key_size(kind, head_dim) * element_size(kind)


@compiled
def values_address(layer: Any, page: int, kind: int, head_dim: int, head: int) -> int:
    """Return the address of a head's values in a page."""
    return page + layer[VALUES] + head * KEYS_PER_BLOCK * padded_size(head_dim) * element_size(kind)


@compiled(fastmath=REASSOCIATE)
def _store(
    kind: int, base: int, first: int, piece: int, piece_stride: int, stride: int, numbers_address: int, count: int, scale: int
) -> None:
    """Store `count` float32 numbers into a cache from element `first` on, quantized with one scale if the cache has integers.

    The numbers are stored in pieces of `piece` elements: consecutive pieces are piece_stride elements apart, and consecutive elements
    of a piece are `stride` apart.
    """
    x, end = float32_view(numbers_address, count), first + (count + piece - 1) // piece * piece_stride
    if kind == FLOAT32:
        numbers = float32_view(base, end)
        for i in range(count):
            numbers[first + i // piece * piece_stride + i % piece * stride] = x[i]
    elif kind == BFLOAT16:
        bits = uint16_view(base, end)
        for i in range(count):
            bits[first + i // piece * piece_stride + i % piece * stride] = bfloat16_bits(x[i])
    else:
        largest, limit = largest_size(numbers_address, count), F(127) if kind == INT8 else F(32767)
        factor = limit / largest if largest > F(1e-30) else F(0)
        int8_codes, int16_codes = int8_view(base, end), int16_view(base, end)
        for i in range(count):
            index, code = first + i // piece * piece_stride + i % piece * stride, numpy.int32(numpy.rint(x[i] * factor))
            if kind == INT8:
                int8_codes[index] = numpy.int8(code)
            else:
                int16_codes[index] = numpy.int16(code)
        float32_view(scale, 1)[0] = largest / limit + not_finite(numbers_address, count)


@compiled
def store_kv(launch: Any, layer: Any, first_page: int, head: int, position: int, key: int, value: int) -> None:
    """Store one head's key and value, given by their addresses, into the page of their position.

    first_page   index of the sequence's first page in the addresses of all pages
    """
    kind, head_dim, inside = launch[KV_KIND], launch[HEAD_DIM], position % KEYS_PER_BLOCK
    page = page_address(launch, first_page, position)
    keys, values = keys_address(layer, page, kind, head_dim, head), values_address(layer, page, kind, head_dim, head)
    scale = page + 4 * (head * KEYS_PER_BLOCK + inside)
    pair_size = 2 if kind > BFLOAT16 else 1  # integers are interleaved in pairs along the inputs of the product
    first = inside // NUM_ROWS * key_size(kind, head_dim) * NUM_ROWS + inside % NUM_ROWS * pair_size
    _store(kind, keys, first, pair_size, pair_size * NUM_ROWS, 1, key, head_dim, layer[KEY_SCALES] + scale)
    first = inside // pair_size * pair_size * NUM_ROWS + inside % pair_size
    _store(kind, values, first, NUM_ROWS, KEYS_PER_BLOCK * NUM_ROWS, pair_size, value, head_dim, layer[VALUE_SCALES] + scale)
