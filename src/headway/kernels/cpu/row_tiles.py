"""Register tiles of int8 products with one scale per row, and the rounding of rows for them, as LLVM code inside Numba functions.

An activation is scale · (code - zero), with a code from 0 to 255 and a zero point of its row, so a product of two rows is

    Σ activation · weight = scale · weight_scale · (Σ code · weight_code - zero · Σ weight_code)

The sum is an int32 over all inputs. Groups with scales of their own (integer_tiles) have as many conversions and additions in float32 as
integer products of 16 rows.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types

from headway.kernels.cpu.instructions import F32, I8, I32, I64, Instructions, call, constant, splat, vector
from headway.kernels.cpu.integer_tiles import load_rows
from headway.kernels.cpu.lanes import load_padded, reduce_vector
from headway.kernels.cpu.layout import CACHE_LINE, NUM_ROWS, ROW_TOKENS
from headway.kernels.cpu.memory import intrinsic
from headway.kernels.cpu.numba_internals import cgutils
from headway.kernels.cpu.tiles import FLOATS, element_address, load, pointer_to, prefetch

WORDS = vector(I32, NUM_ROWS)
LARGEST_CODE = 255


def row_tile(instructions: Instructions, num_tokens: int) -> Any:
    """Return tile(weights, numbers, bias, bias_rows, x, num_fours, x_scales, x_zeros, out): products of some tokens and 16 rows.

    weights    (num_fours, 16, 4) int8: four inputs at a time
    numbers    (2, 16) float32: the scale of each row, and the sum of its codes
    bias       (16) float32, of which the first bias_rows are read; 0 for the others
    x          (num_fours, 24, 4) uint8, of which the first num_tokens are read
    x_scales   (num_tokens) float32
    x_zeros    (num_tokens) int32
    out        (num_tokens, 16) float32, overwritten
    """
    lanes = instructions.lanes
    words = vector(I32, lanes)

    @intrinsic
    def tile(
        context: Any, weights: Any, numbers: Any, bias: Any, bias_rows: Any, x: Any, num_fours: Any, x_scales: Any, x_zeros: Any, out: Any
    ) -> Any:
        def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
            weights, numbers, bias, bias_rows, x, num_fours, x_scales, x_zeros, out = arguments
            sums = [[cgutils.alloca_once(builder, words) for _ in range(NUM_ROWS // lanes)] for _ in range(num_tokens)]
            for part in (part for row in sums for part in row):
                builder.store(constant(words, 0), part)
            with cgutils.for_range(builder, num_fours, intp=I64) as loop:
                registers = load_rows(builder, element_address(builder, weights, loop.index, 4 * NUM_ROWS), lanes)
                activations = element_address(builder, x, loop.index, 4 * ROW_TOKENS)
                for token, row in enumerate(sums):
                    codes = splat(builder, load(builder, activations, I32, 4 * token, align=4), lanes)
                    for part, register in zip(row, registers, strict=True):
                        builder.store(instructions.dot_bytes(builder, builder.load(part), codes, register), part)
            scales, added = load(builder, numbers, FLOATS, align=64), load_padded(builder, bias, bias_rows)
            code_sums = builder.fptosi(load(builder, numbers, FLOATS, 4 * NUM_ROWS, align=64), WORDS)
            for token, row in enumerate(sums):
                zero = splat(builder, load(builder, x_zeros, I32, 4 * token, align=4), NUM_ROWS)
                scale = splat(builder, load(builder, x_scales, F32, 4 * token, align=4), NUM_ROWS)
                exact = builder.sub(_joined(builder, [builder.load(part) for part in row]), builder.mul(zero, code_sums))
                result = (builder.sitofp(exact, FLOATS), builder.fmul(scale, scales), added)
                target = pointer_to(builder, out, FLOATS, 4 * NUM_ROWS * token)
                builder.store(call(builder, "llvm.fma.v16f32", FLOATS, *result), target, align=4)
            return context.get_dummy_value()

        return types.void(*[types.intp] * 9), generate

    return tile


@intrinsic
def prefetch_lines(context: Any, address: Any, num_lines: Any) -> Any:
    """Prefetch consecutive cache lines."""

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        address, num_lines = arguments
        with cgutils.for_range(builder, num_lines, intp=I64) as loop:
            prefetch(builder, element_address(builder, address, loop.index, CACHE_LINE), 0)
        return context.get_dummy_value()

    return types.void(types.intp, types.intp), generate


def _joined(builder: ir.IRBuilder, parts: list[ir.Value]) -> ir.Value:
    """Return registers of 8 or 16 lanes as one vector of 16."""
    if len(parts) == 1:
        return parts[0]
    indices = ir.Constant(vector(I32, NUM_ROWS), list(range(NUM_ROWS)))
    return builder.shuffle_vector(*parts, indices)


@intrinsic
def round_row(context: Any, numbers: Any, count: Any, codes: Any, scale: Any, zero: Any) -> Any:
    """Quantize a row of activations to codes from 0 to 255, with a scale and a zero point.

    All arguments but the count are addresses: of float32 activations, of uint8 codes, whose number is rounded up to a multiple of 16 and
    every four of which are followed by those of 23 other rows, of a float32 scale and an int32 zero point. The range of the codes includes the activation 0. NaN and infinity make the scale NaN.
    """
    bytes_ = vector(I8, NUM_ROWS)

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        numbers, count, codes, scale, zero = arguments
        nothing, largest_code = constant(FLOATS, 0.0), ir.Constant(F32, float(LARGEST_CODE))
        slots = low_slot, high_slot, finite_slot = [cgutils.alloca_once(builder, FLOATS) for _ in range(3)]
        for slot in slots:
            builder.store(nothing, slot)
        num_vectors = builder.udiv(builder.add(count, ir.Constant(I64, NUM_ROWS - 1)), ir.Constant(I64, NUM_ROWS))

        def activations(index: ir.Value) -> ir.Value:
            first = builder.mul(index, ir.Constant(I64, NUM_ROWS))
            return load_padded(builder, element_address(builder, numbers, index, 4 * NUM_ROWS), builder.sub(count, first))

        with cgutils.for_range(builder, num_vectors, intp=I64) as loop:
            x, low, high = activations(loop.index), builder.load(low_slot), builder.load(high_slot)
            builder.store(builder.select(builder.fcmp_ordered("<", x, low), x, low), low_slot)
            builder.store(builder.select(builder.fcmp_ordered(">", x, high), x, high), high_slot)
            builder.store(builder.fadd(builder.load(finite_slot), builder.fmul(x, nothing)), finite_slot)
        low = reduce_vector(builder, "fmin", F32, builder.load(low_slot))
        high = reduce_vector(builder, "fmax", F32, builder.load(high_slot))
        size = builder.fsub(high, low)
        is_nonzero = builder.fcmp_ordered(">", size, ir.Constant(F32, 1e-30))
        factor = builder.select(is_nonzero, builder.fdiv(largest_code, size), ir.Constant(F32, 0.0))
        offset = call(builder, "llvm.rint.f32", F32, builder.fneg(builder.fmul(low, factor)))
        finite = call(builder, "llvm.vector.reduce.fadd.v16f32", F32, ir.Constant(F32, 0.0), builder.load(finite_slot))
        builder.store(builder.fadd(builder.fdiv(size, largest_code), finite), pointer_to(builder, scale, F32), align=4)
        builder.store(builder.fptosi(offset, I32), pointer_to(builder, zero, I32), align=4)
        factors, offsets = splat(builder, factor, NUM_ROWS), splat(builder, offset, NUM_ROWS)
        with cgutils.for_range(builder, num_vectors, intp=I64) as loop:
            rounded = call(builder, "llvm.rint.v16f32", FLOATS, builder.fmul(activations(loop.index), factors))
            shifted = builder.fadd(rounded, offsets)
            limit = splat(builder, largest_code, NUM_ROWS)
            limited = builder.select(builder.fcmp_ordered("<", shifted, limit), shifted, limit)
            fours = builder.bitcast(builder.trunc(builder.fptosi(limited, WORDS), bytes_), vector(I32, NUM_ROWS // 4))
            place = element_address(builder, codes, loop.index, NUM_ROWS * ROW_TOKENS)
            for four in range(NUM_ROWS // 4):
                word = builder.extract_element(fours, ir.Constant(I32, four))
                builder.store(word, pointer_to(builder, place, I32, 4 * ROW_TOKENS * four), align=4)
        return context.get_dummy_value()

    return types.void(*[types.intp] * 5), generate
