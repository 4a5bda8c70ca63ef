"""Register tiles of integer products: int8 activations times 16 rows of int8 or int4, as LLVM code inside Numba functions.

A tile adds up the products of a group of 32 inputs in int32, and the sums of groups, times their scales, in float32.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from llvmlite import ir
from numba import types

from headway.kernels.cpu.instructions import F32, I16, I32, I64, Instructions, call, constant, splat, vector
from headway.kernels.cpu.layout import GROUP, INT16_TOKENS, NUM_ROWS
from headway.kernels.cpu.memory import intrinsic
from headway.kernels.cpu.numba_internals import cgutils
from headway.kernels.cpu.tiles import (
    FIRST_CACHE,
    FLOATS,
    SECOND_CACHE,
    WEIGHTS_AHEAD,
    element_address,
    hidden,
    load,
    near_rows,
    pointer_to,
    prefetch,
    row_addresses,
)

SCALES_AHEAD = 128
"""Prefetch distance of scales in bytes, for a single token."""
AHEAD_OF_TOKENS, SCALES_AHEAD_OF_TOKENS = 6144, 384
"""The same distances of weights and scales for several tokens, whose products take longer than reading the weights of a group.

The weights are prefetched into the second cache, which takes more requests at once than the first. The products of several tokens give the
processor's own prefetcher too little to follow.
"""
Reduce = Callable[[ir.IRBuilder, ir.Value], ir.Value]
Dot = Callable[[ir.IRBuilder, ir.Value, ir.Value, ir.Value], ir.Value]


class _Accumulators:
    """The accumulators of a tile: int32 sums of a group and float32 totals, for each token and each register of the 16 rows."""

    def __init__(self, builder: ir.IRBuilder, lanes: int, num_tokens: int, results: list[ir.Value] | None = None) -> None:
        """Set the totals to zero.

        results   addresses of totals in memory, which are not changed here; in registers by default
        """
        self.builder, self.lanes, self.parts = builder, lanes, NUM_ROWS // lanes
        self.kind, self.floats = vector(I32, lanes), vector(F32, lanes)

        def slots(kind: ir.Type) -> list[list[ir.Value]]:
            return [[cgutils.alloca_once(builder, kind) for _ in range(self.parts)] for _ in range(num_tokens)]

        self.sums = slots(self.kind)
        if results is None:
            self.totals = slots(self.floats)
            self.clear()
        else:
            self.totals = [[pointer_to(builder, row, self.floats, 4 * lanes * part) for part in range(self.parts)] for row in results]

    def clear(self) -> None:
        """Set the totals to zero."""
        for total in (total for row in self.totals for total in row):
            self.builder.store(constant(self.floats, 0.0), total, align=4)

    def start(self) -> None:
        """Set the sums of the group to zero."""
        for slot in (slot for row in self.sums for slot in row):
            self.builder.store(constant(self.kind, 0), slot)

    def add(self, dot: Dot, token: int, registers: list[ir.Value], activation: ir.Value) -> None:
        """Add the products of 16 rows and one token's activation."""
        activation = splat(self.builder, activation, self.lanes)
        for slot, register in zip(self.sums[token], registers, strict=True):
            self.builder.store(dot(self.builder, self.builder.load(slot), register, activation), slot)

    def finish(
        self, row_scales: list[ir.Value], x_scales: list[ir.Value], x_sums: list[ir.Value] | None, reduce_total: Reduce | None = None
    ) -> None:
        """Subtract the effect of the weights' offset, and add the scaled sums of the group to the totals.

        row_scales    the 16 rows' scales, float32
        x_scales      addresses of the tokens' scales, float32
        x_sums        int32 to subtract for each token
        reduce_total  conversion of the accumulated dot products to sums
        """
        builder = self.builder
        for token, row in enumerate(self.sums):
            x_scale = splat(builder, load(builder, x_scales[token], F32, align=4), self.lanes)
            for part, slot in enumerate(row):
                total = reduce_total(builder, builder.load(slot)) if reduce_total else builder.load(slot)
                if x_sums is not None:
                    total = builder.sub(total, splat(builder, x_sums[token], self.lanes))
                result = self.totals[token][part]
                scaled = (builder.sitofp(total, self.floats), builder.fmul(row_scales[part], x_scale), builder.load(result, align=4))
                builder.store(call(builder, f"llvm.fma.v{self.lanes}f32", self.floats, *scaled), result, align=4)

    def write(self, results: list[ir.Value]) -> None:
        """Store the totals."""
        for row, result in zip(self.totals, results, strict=True):
            for part, total in enumerate(row):
                self.builder.store(self.builder.load(total), pointer_to(self.builder, result, self.floats, 4 * self.lanes * part), align=4)


def _float16(builder: ir.IRBuilder, address: ir.Value, lanes: int) -> list[ir.Value]:
    """Load 16 float16 as float32: shift the bits into position and correct the exponent by a multiplication.

    This needs no conversion instruction, and subnormal numbers are exact.
    """
    words, floats, numbers = vector(I32, lanes), vector(F32, lanes), []
    for part in range(NUM_ROWS // lanes):
        halves = load(builder, address, vector(I16, lanes), 2 * lanes * part, align=2)
        bits = builder.shl(builder.sext(halves, words), constant(words, 13))
        # 0x8FFFE000 keeps the sign bit, the exponent and the mantissa, and clears the copies of the sign
        signed = builder.and_(bits, constant(words, -0x70002000))
        numbers.append(builder.fmul(builder.bitcast(signed, floats), constant(floats, 2.0**112)))
    return numbers


def int_tile(kind: str, num_tokens: int, instructions: Instructions) -> Any:
    """Return tile(weights, scales, x, x_stride, x_scales, x_sums, group_stride, num_groups, out, out_stride): int8 times packed rows.

    kind      int8 or int4
    weights   by group of 32 inputs: int8 (8, 16, 4), int4 (4, 16, 4), whose upper nibbles are the inputs 16 to 31
    scales    (num_groups, 16) float16
    x         (num_tokens, 32 · num_groups) int8
    x_scales  (num_tokens, num_groups) float32
    x_sums    (num_tokens, num_groups) int32, the sums of each group's activations times instructions.sum_factor
    out       (num_tokens, 16) float32, overwritten
    """
    add_part, num_parts = {"int8": (_add_int8, 8), "int4": (_add_int4, 4)}[kind]
    has_offset = kind == "int4" or instructions.offset
    is_single = num_tokens == 1
    weights_ahead, scales_ahead = (WEIGHTS_AHEAD, SCALES_AHEAD) if is_single else (AHEAD_OF_TOKENS, SCALES_AHEAD_OF_TOKENS)
    cache = FIRST_CACHE if is_single else SECOND_CACHE
    is_unrolled = instructions.lanes == NUM_ROWS  # 32 registers hold the weights of a group, too
    # Sums and totals of many tokens do not fit into 16 registers of 256 bits, and the compiler's own choice of what to keep is worse.
    has_totals_in_memory = num_tokens > 2 and instructions.lanes < NUM_ROWS

    @intrinsic
    def tile(
        context: Any,
        weights: Any,
        scales: Any,
        x: Any,
        x_stride: Any,
        x_scales: Any,
        x_sums: Any,
        group_stride: Any,
        num_groups: Any,
        out: Any,
        out_stride: Any,
    ) -> Any:
        def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
            weights, scales, x, x_stride, x_scales, x_sums, group_stride, num_groups, out, out_stride = arguments
            results = row_addresses(builder, out, out_stride, num_tokens)
            sums = _Accumulators(builder, instructions.lanes, num_tokens, results if has_totals_in_memory else None)
            sums.clear()
            with cgutils.for_range(builder, num_groups, intp=I64) as loop:
                activations = near_rows(builder, element_address(builder, x, loop.index, GROUP), x_stride, num_tokens)
                group_weights = element_address(builder, weights, loop.index, 64 * num_parts)
                sums.start()
                for index in _repeat(builder, num_parts, is_unrolled):
                    part_address = element_address(builder, group_weights, index, 64)
                    prefetch(builder, part_address, weights_ahead, cache)
                    registers = load_rows(builder, part_address, instructions.lanes)
                    add_part(builder, instructions, sums, registers, [element_address(builder, row, index, 4) for row in activations])
                offsets = None
                if has_offset:
                    sum_rows = near_rows(builder, element_address(builder, x_sums, loop.index, 4), group_stride, num_tokens)
                    offsets = [load(builder, row, I32, align=4) for row in sum_rows]
                prefetch(builder, element_address(builder, scales, loop.index, 2 * NUM_ROWS), scales_ahead)
                group_scales = near_rows(builder, element_address(builder, x_scales, loop.index, 4), group_stride, num_tokens)
                sums.finish(
                    _float16(builder, element_address(builder, scales, loop.index, 2 * NUM_ROWS), instructions.lanes),
                    group_scales,
                    offsets,
                    instructions.reduce_total if kind == "int4" else None,
                )
            if not has_totals_in_memory:
                sums.write(results)
            return context.get_dummy_value()

        return types.void(*[types.intp] * 10), generate

    return tile


def load_rows(builder: ir.IRBuilder, address: ir.Value, lanes: int) -> list[ir.Value]:
    """Load 64 bytes as vectors of 32-bit lanes."""
    return [load(builder, address, vector(I32, lanes), 4 * lanes * part, align=4 * lanes) for part in range(NUM_ROWS // lanes)]


def _opaque(builder: ir.IRBuilder, number: int) -> ir.Value:
    """Return a number that the compiler cannot see is constant, so that it does not unroll the loop and spill the accumulators."""
    return hidden(builder, ir.Constant(I64, number))


def _repeat(builder: ir.IRBuilder, count: int, is_unrolled: bool) -> Iterator[ir.Value]:
    """Yield an index from 0 to count: either every one, or that of a loop around the code that the caller generates."""
    if is_unrolled:
        yield from (ir.Constant(I64, index) for index in range(count))
        return
    with cgutils.for_range(builder, _opaque(builder, count), intp=I64) as loop:
        yield loop.index


def _add_int8(
    builder: ir.IRBuilder, instructions: Instructions, sums: _Accumulators, registers: list[ir.Value], activations: list[ir.Value]
) -> None:
    for token, address in enumerate(activations):
        sums.add(instructions.dot_signed, token, registers, load(builder, address, I32))


def _add_int4(
    builder: ir.IRBuilder, instructions: Instructions, sums: _Accumulators, registers: list[ir.Value], activations: list[ir.Value]
) -> None:
    words = vector(I32, instructions.lanes)
    nibble, four = constant(words, 0x0F0F0F0F), constant(words, 4)
    lower = [builder.and_(register, nibble) for register in registers]
    upper = [builder.and_(builder.lshr(register, four), nibble) for register in registers]
    if instructions.offset:
        # nibbles have an offset of 8; no byte overflows into the next
        rest = constant(words, (instructions.offset - 8) * 0x01010101)
        lower, upper = ([builder.add(register, rest) for register in half] for half in (lower, upper))
    for token, address in enumerate(activations):
        sums.add(instructions.dot_unsigned, token, lower, load(builder, address, I32))
        sums.add(instructions.dot_unsigned, token, upper, load(builder, address, I32, 16))


def int16_tile(instructions: Any, num_tokens: int) -> Any:
    """Return tile(weights, scales, x, x_scales, num_groups, out, ahead): the same for weights and activations in int16.

    A register has half as many weights as in int8, but vpmaddwd needs no handling of signs, and six tokens share cache lines.

    weights   (num_groups, 16, 16, 2) int16 and scales (num_groups, 16) float32, written by widen_group
    x         (num_groups, 16, 6, 2) int16, of which the first num_tokens are read
    x_scales  (num_groups, 6) float32
    out       (num_tokens, 16) float32, added to
    ahead     address of int8 weights that are needed next: 256 of each group's 512 bytes are prefetched
    """

    @intrinsic
    def tile(context: Any, weights: Any, scales: Any, x: Any, x_scales: Any, num_groups: Any, out: Any, ahead: Any) -> Any:
        def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
            weights, scales, x, x_scales, num_groups, out, ahead = arguments
            lanes, floats = instructions.lanes, vector(F32, instructions.lanes)
            results = [builder.add(out, ir.Constant(I64, 4 * NUM_ROWS * token)) for token in range(num_tokens)]
            sums, count = _Accumulators(builder, lanes, num_tokens, results), _opaque(builder, GROUP // 2)
            with cgutils.for_range(builder, num_groups, intp=I64) as loop:
                group_weights, group_x = (
                    element_address(builder, weights, loop.index, 64 * 16),
                    element_address(builder, x, loop.index, 4 * INT16_TOKENS * 16),
                )
                for line in range(4):
                    prefetch(builder, element_address(builder, ahead, loop.index, GROUP * NUM_ROWS), 64 * line)
                sums.start()
                with cgutils.for_range(builder, count, intp=I64) as inner:
                    registers = load_rows(builder, element_address(builder, group_weights, inner.index, 64), lanes)
                    pair = element_address(builder, group_x, inner.index, 4 * INT16_TOKENS)
                    for token in range(num_tokens):
                        sums.add(instructions.dot_int16, token, registers, load(builder, pair, I32, 4 * token, align=4))
                row = element_address(builder, x_scales, loop.index, 4 * INT16_TOKENS)
                x_rows = [builder.add(row, ir.Constant(I64, 4 * token)) for token in range(num_tokens)]
                group_scales = element_address(builder, scales, loop.index, 4 * NUM_ROWS)
                row_scales = [load(builder, group_scales, floats, 4 * lanes * part, align=64) for part in range(NUM_ROWS // lanes)]
                sums.finish(row_scales, x_rows, None)
            return context.get_dummy_value()

        return types.void(*[types.intp] * 7), generate

    return tile


@intrinsic
def widen_group(context: Any, codes: Any, scales: Any, wide_codes: Any, wide_scales: Any) -> Any:
    """Convert a group of int8 weights (8, 16, 4) to int16 (8, 2, 16, 2) and its float16 scales to float32.

    The pairs are the inputs 0 and 2, and 1 and 3, of each four: shifts within 16 bits are all that this takes.
    """

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        codes, scales, wide_codes, wide_scales = arguments
        halves, eight = vector(I16, 2 * NUM_ROWS), constant(vector(I16, 2 * NUM_ROWS), 8)
        for four in range(GROUP // 4):
            both = load(builder, codes, halves, 64 * four, align=64)
            even, odd = builder.ashr(builder.shl(both, eight), eight), builder.ashr(both, eight)
            builder.store(even, pointer_to(builder, wide_codes, halves, 128 * four), align=64)
            builder.store(odd, pointer_to(builder, wide_codes, halves, 128 * four + 64), align=64)
        (numbers,) = _float16(builder, scales, NUM_ROWS)
        builder.store(numbers, pointer_to(builder, wide_scales, FLOATS), align=64)
        return context.get_dummy_value()

    return types.void(*[types.intp] * 4), generate
