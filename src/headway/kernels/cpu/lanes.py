"""Reductions and rounding of whole rows and groups in vector registers, as LLVM code: the vectorizer does not produce it from loops."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types

from headway.kernels.cpu.instructions import F32, I8, I16, I32, I64, call, constant, detect, splat, vector
from headway.kernels.cpu.layout import GROUP, INT16_TOKENS, NUM_ROWS
from headway.kernels.cpu.memory import intrinsic
from headway.kernels.cpu.numba_internals import cgutils
from headway.kernels.cpu.tiles import element_address, load, pointer_to, row_addresses

LOWEST = -3.0e38
WITHOUT_SIGN = 0x7FFFFFFF
SUM_FACTOR = detect().sum_factor


@intrinsic
def largest_of_rows(context: Any, numbers: Any, num_rows: Any) -> Any:
    """Return the largest of num_rows · 16 float32 numbers, at least -3e38; NaN is skipped."""
    row = vector(F32, NUM_ROWS)

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        numbers, num_rows = arguments
        largest = cgutils.alloca_once(builder, row)
        builder.store(constant(row, LOWEST), largest)
        with cgutils.for_range(builder, num_rows, intp=I64) as loop:
            current, previous = (
                load(builder, element_address(builder, numbers, loop.index, 4 * NUM_ROWS), row, align=4),
                builder.load(largest),
            )
            builder.store(builder.select(builder.fcmp_ordered(">", current, previous), current, previous), largest)
        return reduce_vector(builder, "fmax", F32, builder.load(largest))

    return types.float32(types.intp, types.intp), generate


@intrinsic
def round_group(
    context: Any, numbers: Any, upper: Any, count: Any, bytes_: Any, scale: Any, total: Any, pairs: Any, pair_scale: Any
) -> Any:
    """Quantize a group of activations to int8 with one scale, the largest being ±127; a short group is padded with zeros.

    All arguments but the count are addresses: of the first 16 float32 activations, and of the others; of 32 int8 or 0, a float32 scale, and
    the int32 sum of the int8 times the factor of this processor's instructions; and of the int8 as pairs of int16 that are interleaved with those of five other tokens (16, 6, 2) or 0, and their scale. A form whose
    address is 0 is not written. As in tiles.widen_group, the pairs are the numbers 0 and 2, and 1 and 3, of each four. NaN makes the scale
    NaN, infinity makes it infinite.
    """
    group, codes, bits = vector(F32, GROUP), vector(I8, GROUP), vector(I32, GROUP)

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        numbers, upper, count, bytes_, scale, total, pairs, pair_scale = arguments
        half = ir.Constant(I64, NUM_ROWS)
        halves = (load_padded(builder, numbers, count), load_padded(builder, upper, builder.sub(count, half)))
        x = builder.shuffle_vector(*halves, ir.Constant(bits, list(range(GROUP))))
        magnitudes = builder.and_(
            builder.bitcast(x, bits), constant(bits, WITHOUT_SIGN)
        )  # the bits of positive floats compare like integers, with NaN last
        largest = builder.bitcast(reduce_vector(builder, "smax", I32, magnitudes), F32)
        is_nonzero = builder.fcmp_ordered(">", largest, ir.Constant(F32, 0.0))
        factor = builder.select(is_nonzero, builder.fdiv(ir.Constant(F32, 127.0), largest), ir.Constant(F32, 0.0))
        rounded = call(builder, f"llvm.rint.v{GROUP}f32", group, builder.fmul(x, splat(builder, factor, GROUP)))
        integers = builder.fptosi(rounded, bits)
        int8s = builder.trunc(integers, codes)
        step = builder.fmul(largest, ir.Constant(F32, 1 / 127))
        with builder.if_then(builder.icmp_signed("!=", bytes_, ir.Constant(I64, 0))):
            builder.store(int8s, pointer_to(builder, bytes_, codes), align=1)
            builder.store(step, pointer_to(builder, scale, F32), align=4)
            sum_ = builder.mul(reduce_vector(builder, "add", I32, integers), ir.Constant(I32, SUM_FACTOR))
            builder.store(sum_, pointer_to(builder, total, I32), align=4)
        with builder.if_then(builder.icmp_signed("!=", pairs, ir.Constant(I64, 0))):
            _store_pairs(builder, int8s, pairs)
            builder.store(step, pointer_to(builder, pair_scale, F32), align=4)
        return context.get_dummy_value()

    return types.void(*[types.intp] * 8), generate


def _store_pairs(builder: ir.IRBuilder, int8s: ir.Value, address: ir.Value) -> None:
    halves, words = vector(I16, GROUP // 2), vector(I32, GROUP // 4)
    both, eight = builder.bitcast(int8s, halves), constant(halves, 8)
    for parity, numbers in enumerate((builder.ashr(builder.shl(both, eight), eight), builder.ashr(both, eight))):
        for four in range(GROUP // 4):
            pair = builder.extract_element(builder.bitcast(numbers, words), ir.Constant(I32, four))
            builder.store(pair, pointer_to(builder, address, I32, 4 * INT16_TOKENS * (2 * four + parity)), align=4)


@intrinsic
def add_to_rows(context: Any, rows: Any, num_rows: Any, numbers: Any) -> Any:
    """Add the 16 float32 numbers at an address to every row of (num_rows, 16) float32."""
    row = vector(F32, NUM_ROWS)

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        rows, num_rows, numbers = arguments
        added = load(builder, numbers, row, align=4)
        with cgutils.for_range(builder, num_rows, intp=I64) as loop:
            target = pointer_to(builder, element_address(builder, rows, loop.index, 4 * NUM_ROWS), row)
            builder.store(builder.fadd(builder.load(target, align=4), added), target, align=4)
        return context.get_dummy_value()

    return types.void(*[types.intp] * 3), generate


@intrinsic
def write_rows(context: Any, rows: Any, num_rows: Any, target: Any, stride: Any, factor: Any) -> Any:
    """Copy every row of (num_rows, 16) float32 to its target, `stride` bytes apart, or add it there, times a factor other than 0."""
    row = vector(F32, NUM_ROWS)

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        rows, num_rows, target, stride, factor = arguments
        is_added, factors = builder.fcmp_unordered("!=", factor, ir.Constant(F32, 0.0)), splat(builder, factor, NUM_ROWS)
        with cgutils.for_range(builder, num_rows, intp=I64) as loop:
            numbers = load(builder, element_address(builder, rows, loop.index, 4 * NUM_ROWS), row, align=4)
            place = pointer_to(builder, builder.add(target, builder.mul(loop.index, stride)), row)
            with builder.if_else(is_added) as (then, otherwise):
                with then:
                    builder.store(builder.fadd(builder.load(place, align=4), builder.fmul(factors, numbers)), place, align=4)
                with otherwise:
                    builder.store(numbers, place, align=4)
        return context.get_dummy_value()

    return types.void(*[types.intp] * 4, types.float32), generate


@intrinsic
def transpose_block(context: Any, rows: Any, stride: Any, target: Any) -> Any:
    """Write 16 rows of 16 float32 numbers, `stride` bytes apart, as columns of (16, 16) float32."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        rows, stride, target = arguments
        block = [load(builder, address, vector(F32, NUM_ROWS), align=4) for address in row_addresses(builder, rows, stride, NUM_ROWS)]
        for size in (8, 4, 2, 1):  # exchange the upper right and the lower left quarter of squares of 2 · size numbers
            upper = [lane if not lane & size else NUM_ROWS + lane - size for lane in range(NUM_ROWS)]
            lower = [lane + size if not lane & size else NUM_ROWS + lane for lane in range(NUM_ROWS)]
            masks = [ir.Constant(vector(I32, NUM_ROWS), indices) for indices in (upper, lower)]
            for row in (row for row in range(NUM_ROWS) if not row & size):
                pair = block[row], block[row + size]
                block[row], block[row + size] = (builder.shuffle_vector(*pair, mask) for mask in masks)
        for row, numbers in enumerate(block):
            builder.store(numbers, pointer_to(builder, target, numbers.type, 4 * NUM_ROWS * row), align=4)
        return context.get_dummy_value()

    return types.void(*[types.intp] * 3), generate


def load_padded(builder: ir.IRBuilder, address: ir.Value, count: ir.Value) -> ir.Value:
    """Load the first `count` of 16 numbers at an address, padded with zeros; memory after them is not read."""
    kind = vector(F32, NUM_ROWS)
    pointer, number = pointer_to(builder, address, kind), cgutils.alloca_once(builder, kind)
    with builder.if_else(builder.icmp_signed(">=", count, ir.Constant(I64, kind.count))) as (then, otherwise):
        with then:
            builder.store(builder.load(pointer, align=4), number)
        with otherwise:
            lanes = vector(I32, kind.count)
            indices = ir.Constant(lanes, list(range(kind.count)))
            mask = builder.icmp_signed("<", indices, splat(builder, builder.trunc(count, I32), kind.count))
            name = f"llvm.masked.load.v{kind.count}f32.p0"
            builder.store(call(builder, name, kind, pointer, ir.Constant(I32, 4), mask, constant(kind, 0.0)), number)
    return builder.load(number)


def reduce_vector(builder: ir.IRBuilder, name: str, kind: ir.Type, numbers: ir.Value) -> ir.Value:
    """Reduce a vector register to one number."""
    letter = "f32" if kind is F32 else "i32"
    return call(builder, f"llvm.vector.reduce.{name}.v{numbers.type.count}{letter}", kind, numbers)
