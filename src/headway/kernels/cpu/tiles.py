"""Register tiles: products of a few tokens and 16 rows of a packed matrix, as LLVM code inside Numba functions.

A tile loads each part of the 16 rows once, multiplies it by the activations of several tokens, and accumulates in vector registers.
Addresses are integers; strides are in bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types

from headway.kernels.cpu.instructions import F32, I8, I16, I32, I64, call, constant, splat, vector
from headway.kernels.cpu.layout import NUM_ROWS
from headway.kernels.cpu.memory import intrinsic
from headway.kernels.cpu.numba_internals import cgutils

FLOATS = vector(F32, NUM_ROWS)
WEIGHTS_AHEAD = 1024
"""Prefetch distance in bytes, used for a single token: the hardware prefetcher stops at page boundaries."""
FIRST_CACHE, SECOND_CACHE = 3, 2
"""Caches for prefetched lines, as the locality that llvm.prefetch takes."""
Load = Callable[[ir.IRBuilder, ir.Value], ir.Value]
Add = Callable[[ir.IRBuilder, ir.Value, list[ir.Value], list[ir.Value]], None]


def pointer_to(builder: ir.IRBuilder, address: ir.Value, kind: ir.Type, offset: int = 0) -> ir.Value:
    """Return a typed pointer to an address."""
    if offset:
        address = builder.add(address, ir.Constant(I64, offset))
    return builder.inttoptr(address, kind.as_pointer())


def load(builder: ir.IRBuilder, address: ir.Value, kind: ir.Type, offset: int = 0, align: int = 1) -> ir.Value:
    """Load a value from an address."""
    return builder.load(pointer_to(builder, address, kind, offset), align=align)


def element_address(builder: ir.IRBuilder, base: ir.Value, index: ir.Value, size: int) -> ir.Value:
    """Return base + index · size."""
    return builder.add(base, builder.mul(index, ir.Constant(I64, size)))


def row_addresses(builder: ir.IRBuilder, base: ir.Value, stride: ir.Value, count: int) -> list[ir.Value]:
    """Return the addresses of `count` rows."""
    return [builder.add(base, builder.mul(stride, ir.Constant(I64, row))) for row in range(count)]


def hidden(builder: ir.IRBuilder, number: ir.Value) -> ir.Value:
    """Return a number whose origin the compiler cannot see."""
    return builder.asm(ir.FunctionType(I64, [I64]), "", "=r,0", [number], side_effect=False)


def near_rows(builder: ir.IRBuilder, base: ir.Value, stride: ir.Value, count: int) -> list[ir.Value]:
    """Return the addresses of `count` rows: those of every four are sums of one register and a multiple of the stride.

    The compiler cannot see where that register comes from. Otherwise it computes each address from the one before, in a long chain.
    """
    rows, near = [], base
    for row in range(count):
        if row % 4 == 0:
            near = hidden(builder, builder.add(base, builder.mul(stride, ir.Constant(I64, row))))
        rows.append(builder.add(near, builder.mul(stride, ir.Constant(I64, row % 4))))
    return rows


def _float32(builder: ir.IRBuilder, address: ir.Value) -> ir.Value:
    return load(builder, address, FLOATS, align=4)


def _bfloat16(builder: ir.IRBuilder, address: ir.Value) -> ir.Value:
    """Load bfloat16, which is the upper half of float32."""
    words = vector(I32, NUM_ROWS)
    halves = load(builder, address, vector(I16, NUM_ROWS), align=2)
    return builder.bitcast(builder.shl(builder.zext(halves, words), constant(words, 16)), FLOATS)


LOADS: dict[str, tuple[Load, int]] = {"float32": (_float32, 4), "bfloat16": (_bfloat16, 2)}
"""By kind, the function that loads 16 numbers as float32, and the bytes per number."""


def float_tile(kind: str, num_tokens: int) -> Any:
    """Return tile(weights, x, x_stride, num_inputs, out, out_stride, is_added): float32 activations times 16 rows of weights.

    weights  (num_inputs, 16) of the kind
    x        (num_tokens, num_inputs) float32
    out      (num_tokens, 16) float32, overwritten, or added to if is_added
    """
    load_column, size = LOADS[kind]

    def add(builder: ir.IRBuilder, weights: ir.Value, activations: list[ir.Value], totals: list[ir.Value]) -> None:
        column = load_column(builder, weights)
        for total, address in zip(totals, activations, strict=True):
            _add_product(builder, total, column, address)

    return _tile_of_floats(num_tokens, add, 1, NUM_ROWS * size, 4)


def pair_tile(instructions: Any, num_tokens: int) -> Any:
    """Return tile(weights, x, x_stride, num_inputs, out, out_stride, is_added): activations times 16 rows of bfloat16, in pairs.

    weights  (num_inputs / 2, 16, 2) bfloat16
    x        (num_tokens, num_inputs) float32, or bfloat16 if the instruction set has a bfloat16 dot product
    out      (num_tokens, 16) float32, overwritten, or added to if is_added
    """
    words = vector(I32, NUM_ROWS)

    def add_floats(builder: ir.IRBuilder, weights: ir.Value, activations: list[ir.Value], totals: list[ir.Value]) -> None:
        pairs = load(builder, weights, words, align=64)
        first = builder.bitcast(builder.shl(pairs, constant(words, 16)), FLOATS)
        second = builder.bitcast(builder.and_(pairs, constant(words, -0x10000)), FLOATS)
        for total, address in zip(totals, activations, strict=True):
            _add_product(builder, total, first, address)
            _add_product(builder, total, second, address, 4)

    def add_pairs(builder: ir.IRBuilder, weights: ir.Value, activations: list[ir.Value], totals: list[ir.Value]) -> None:
        pairs = load(builder, weights, words, align=64)
        for total, address in zip(totals, activations, strict=True):
            activation = splat(builder, load(builder, address, I32, align=4), NUM_ROWS)
            builder.store(instructions.dot_bfloat16(builder, builder.load(total), pairs, activation), total)

    add, size = (add_pairs, 2) if instructions.has_bfloat16_dot else (add_floats, 4)
    return _tile_of_floats(num_tokens, add, 2, 4 * NUM_ROWS, 2 * size)


def _add_product(builder: ir.IRBuilder, total: ir.Value, column: ir.Value, address: ir.Value, offset: int = 0) -> None:
    """Add the products of the 16 weights of one input and one token's activation."""
    activation = splat(builder, load(builder, address, F32, offset, align=4), NUM_ROWS)
    builder.store(call(builder, "llvm.fma.v16f32", FLOATS, column, activation, builder.load(total)), total)


def _tile_of_floats(num_tokens: int, add: Add, num_inputs_at_once: int, weight_bytes: int, activation_bytes: int) -> Any:
    """Return a tile that accumulates in float32.

    add                 adds the products of num_inputs_at_once inputs
    weight_bytes        bytes of 16 rows of these inputs
    activation_bytes    bytes of one token's activations of these inputs
    """

    @intrinsic
    def tile(context: Any, weights: Any, x: Any, x_stride: Any, num_inputs: Any, out: Any, out_stride: Any, is_added: Any) -> Any:
        def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
            weights, x, x_stride, num_inputs, out, out_stride, is_added = arguments
            results = row_addresses(builder, out, out_stride, num_tokens)
            totals = [cgutils.alloca_once(builder, FLOATS) for _ in range(num_tokens)]
            for total in totals:
                builder.store(constant(FLOATS, 0.0), total)
            with builder.if_then(builder.icmp_signed("!=", is_added, ir.Constant(I64, 0))):
                for total, result in zip(totals, results, strict=True):
                    builder.store(load(builder, result, FLOATS, align=4), total)
            count = builder.udiv(num_inputs, ir.Constant(I64, num_inputs_at_once))
            with cgutils.for_range(builder, count, intp=I64) as loop:
                weight_address = element_address(builder, weights, loop.index, weight_bytes)
                if num_tokens == 1:
                    prefetch(builder, weight_address, WEIGHTS_AHEAD)
                place = element_address(builder, x, loop.index, activation_bytes)
                add(builder, weight_address, near_rows(builder, place, x_stride, num_tokens), totals)
            for total, result in zip(totals, results, strict=True):
                builder.store(builder.load(total), pointer_to(builder, result, FLOATS), align=4)
            return context.get_dummy_value()

        return types.void(*[types.intp] * 7), generate

    return tile


def prefetch(builder: ir.IRBuilder, address: ir.Value, ahead: int, cache: int = FIRST_CACHE) -> None:
    """Prefetch the cache line `ahead` bytes after an address into a cache and the larger ones."""
    target = pointer_to(builder, address, I8, ahead)
    options = [ir.Constant(I32, each) for each in (0, cache, 1)]  # read, locality, data
    call(builder, "llvm.prefetch.p0", ir.VoidType(), target, *options)
