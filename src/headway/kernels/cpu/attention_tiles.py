"""Register tiles of integer attention: a few rows of int16 times 16 columns of an integer cache.

The absolute values of a row sum to less than 2¹⁵ and the cache has at most 16 bits, so no sum overflows int32.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types

from headway.kernels.cpu.instructions import F32, I8, I16, I32, I64, Instructions, call, constant, splat, vector
from headway.kernels.cpu.layout import NUM_ROWS
from headway.kernels.cpu.memory import intrinsic
from headway.kernels.cpu.numba_internals import cgutils
from headway.kernels.cpu.tiles import element_address, load, pointer_to, row_addresses


def key_tile(kind: str, num_rows: int, instructions: Instructions) -> Any:
    """Return tile(columns, scales, x, x_stride, x_scales, num_pairs, out, out_stride): store the products of rows and 16 keys.

    kind      int8 or int16
    columns   (num_pairs, 16, 2) of the kind
    scales    (16,) float32, of the keys
    x         (num_rows, 2 · num_pairs) int16;  x_scales (num_rows,) float32
    out       (num_rows, 16) float32
    """
    return _tile(kind, num_rows, instructions, is_of_keys=True)


def value_tile(kind: str, num_rows: int, instructions: Instructions) -> Any:
    """Return the same for 16 columns of values, added to `out`; `scales` is unused, because the rows include the values' scales."""
    return _tile(kind, num_rows, instructions, is_of_keys=False)


def _tile(kind: str, num_rows: int, instructions: Instructions, *, is_of_keys: bool) -> Any:
    lanes, parts = instructions.lanes, range(NUM_ROWS // instructions.lanes)
    words, numbers = vector(I32, lanes), vector(F32, lanes)
    number, size = {"int8": (I8, 1), "int16": (I16, 2)}[kind]
    stored, pairs = vector(number, 2 * lanes), vector(I16, 2 * lanes)

    def column(builder: ir.IRBuilder, address: ir.Value, part: int) -> ir.Value:
        codes = load(builder, address, stored, 2 * lanes * size * part, align=size)
        return builder.bitcast(codes if size == 2 else builder.sext(codes, pairs), words)

    @intrinsic
    def tile(
        context: Any, columns: Any, scales: Any, x: Any, x_stride: Any, x_scales: Any, num_pairs: Any, out: Any, out_stride: Any
    ) -> Any:
        def generate(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
            columns, scales, x, x_stride, x_scales, num_pairs, out, out_stride = arguments
            rows, results = row_addresses(builder, x, x_stride, num_rows), row_addresses(builder, out, out_stride, num_rows)
            sums = [[cgutils.alloca_once(builder, words) for _ in parts] for _ in rows]
            for slot in (slot for row in sums for slot in row):
                builder.store(constant(words, 0), slot)
            with cgutils.for_range(builder, num_pairs, intp=I64) as loop:
                pair_address = element_address(builder, columns, loop.index, 2 * NUM_ROWS * size)
                registers = [column(builder, pair_address, part) for part in parts]
                for slots, row in zip(sums, rows, strict=True):
                    pair = splat(builder, load(builder, element_address(builder, row, loop.index, 4), I32, align=2), lanes)
                    for slot, register in zip(slots, registers, strict=True):
                        builder.store(instructions.dot_int16(builder, builder.load(slot), register, pair), slot)
            for row, row_address in enumerate(results):
                x_scale = splat(builder, load(builder, x_scales, F32, 4 * row, align=4), lanes)
                for part in parts:
                    total, target = (
                        builder.sitofp(builder.load(sums[row][part]), numbers),
                        pointer_to(builder, row_address, numbers, 4 * lanes * part),
                    )
                    if is_of_keys:
                        scale = builder.fmul(x_scale, load(builder, scales, numbers, 4 * lanes * part, align=4))
                        result = builder.fmul(total, scale)
                    else:
                        previous = builder.load(target, align=4)
                        result = call(builder, f"llvm.fma.v{lanes}f32", numbers, total, x_scale, previous)
                    builder.store(result, target, align=4)
            return context.get_dummy_value()

        return types.void(*[types.intp] * 8), generate

    return tile
