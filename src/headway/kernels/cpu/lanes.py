"""Whole rows and groups of numbers in registers, as LLVM code: what a compiler does not make of a loop by itself."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils

from headway.kernels.cpu.instructions import F32, I8, I32, I64, call, constant, splat, vector
from headway.kernels.cpu.layout import GROUP, NUM_ROWS
from headway.kernels.cpu.memory import intrinsic
from headway.kernels.cpu.tiles import at, load, step

LOWEST = -3.0e38
SIGN_OFF = 0x7FFFFFFF


@intrinsic
def largest_of_rows(context: Any, numbers: Any, num_rows: Any) -> Any:
    """The largest of num_rows · 16 float32, at least -3e38; a NaN is passed over."""
    row = vector(F32, NUM_ROWS)

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        numbers, num_rows = arguments
        largest = cgutils.alloca_once(builder, row)
        builder.store(constant(row, LOWEST), largest)
        with cgutils.for_range(builder, num_rows, intp=I64) as loop:
            here, before = load(builder, step(builder, numbers, loop.index, 4 * NUM_ROWS), row, align=4), builder.load(largest)
            builder.store(builder.select(builder.fcmp_ordered(">", here, before), here, before), largest)
        return _reduce(builder, "fmax", F32, builder.load(largest))

    return types.float32(types.intp, types.intp), generate


@intrinsic
def round_group(context: Any, numbers: Any, count: Any, bytes_: Any, scale: Any, total: Any) -> Any:
    """Round a group of activations to signed bytes with one scale, the largest being ±127; a short group ends in zeros.

    All but the count are addresses: of the float32 activations, of 32 int8, of a float32 scale, and of the int32 sum of the bytes.
    A NaN makes the scale NaN, an infinity makes it infinite.
    """
    group, codes, bits = vector(F32, GROUP), vector(I8, GROUP), vector(I32, GROUP)

    def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        numbers, count, bytes_, scale, total = arguments
        x = _first(builder, numbers, count, group)
        sizes = builder.and_(builder.bitcast(x, bits), constant(bits, SIGN_OFF))  # as integers they are in the same order, NaN last
        largest = builder.bitcast(_reduce(builder, "smax", I32, sizes), F32)
        is_some = builder.fcmp_ordered(">", largest, ir.Constant(F32, 0.0))
        factor = builder.select(is_some, builder.fdiv(ir.Constant(F32, 127.0), largest), ir.Constant(F32, 0.0))
        rounded = call(builder, f"llvm.rint.v{GROUP}f32", group, builder.fmul(x, splat(builder, factor, GROUP)))
        whole = builder.fptosi(rounded, bits)
        builder.store(builder.trunc(whole, codes), at(builder, bytes_, codes), align=1)
        builder.store(builder.fmul(largest, ir.Constant(F32, 1 / 127)), at(builder, scale, F32), align=4)
        builder.store(_reduce(builder, "add", I32, whole), at(builder, total, I32), align=4)
        return context.get_dummy_value()

    return types.void(*[types.intp] * 5), generate


def _first(builder: ir.IRBuilder, address: ir.Value, count: ir.Value, kind: ir.VectorType) -> ir.Value:
    """The first numbers at an address, and zeros behind them; what lies behind them is not looked at."""
    pointer, number = at(builder, address, kind), cgutils.alloca_once(builder, kind)
    with builder.if_else(builder.icmp_signed("==", count, ir.Constant(I64, kind.count))) as (then, otherwise):
        with then:
            builder.store(builder.load(pointer, align=4), number)
        with otherwise:
            lanes = vector(I32, kind.count)
            places = ir.Constant(lanes, list(range(kind.count)))
            mask = builder.icmp_signed("<", places, splat(builder, builder.trunc(count, I32), kind.count))
            name = f"llvm.masked.load.v{kind.count}f32.p0"
            builder.store(call(builder, name, kind, pointer, ir.Constant(I32, 4), mask, constant(kind, 0.0)), number)
    return builder.load(number)


def _reduce(builder: ir.IRBuilder, name: str, kind: ir.Type, numbers: ir.Value) -> ir.Value:
    """One number of a register's numbers."""
    letter = "f32" if kind is F32 else "i32"
    return call(builder, f"llvm.vector.reduce.{name}.v{numbers.type.count}{letter}", kind, numbers)
