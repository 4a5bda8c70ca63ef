"""Emulation of instructions that this processor lacks, written from the makers' manuals with operations that every processor has.

An instruction set is tested as it is, except that calls of the intrinsics in EMULATED are replaced by their emulation.
"""

from __future__ import annotations

from llvmlite import ir

from headway.kernels.cpu import instructions
from headway.kernels.cpu.instructions import F32, I8, I16, I32, constant, vector

call = instructions.call


def every(builder: ir.IRBuilder, numbers: ir.Value, step: int, first: int) -> ir.Value:
    """Return every `step`-th number of a vector."""
    indices = ir.Constant(vector(I32, numbers.type.count // step), list(range(first, numbers.type.count, step)))
    return builder.shuffle_vector(numbers, numbers, indices)


def sum_of_products(builder: ir.IRBuilder, total: ir.Value, one: ir.Value, other: ir.Value) -> ir.Value:
    """Return total + Σ of four products in each lane, in 32 bits."""
    products = builder.mul(one, other)
    for place in range(4):
        total = builder.add(total, every(builder, products, 4, place))
    return total


def vpdpbusd(builder: ir.IRBuilder, total: ir.Value, unsigned: ir.Value, signed: ir.Value) -> ir.Value:
    """Intel's manual: unsigned bytes of the first source times signed bytes of the second, four sums added to the destination."""
    bytes_, words = vector(I8, 4 * total.type.count), vector(I32, 4 * total.type.count)
    first = builder.zext(builder.bitcast(unsigned, bytes_), words)
    return sum_of_products(builder, total, first, builder.sext(builder.bitcast(signed, bytes_), words))


def sdot(builder: ir.IRBuilder, total: ir.Value, one: ir.Value, other: ir.Value) -> ir.Value:
    """Arm's manual: signed bytes times signed bytes, four sums added to the destination."""
    words = vector(I32, 4 * total.type.count)
    return sum_of_products(builder, total, builder.sext(one, words), builder.sext(other, words))


def pmaddwd(builder: ir.IRBuilder, one: ir.Value, other: ir.Value) -> ir.Value:
    """Intel's manual: signed 16-bit numbers times signed 16-bit numbers, the two products of a pair added."""
    words = vector(I32, one.type.count)
    products = builder.mul(builder.sext(one, words), builder.sext(other, words))
    return builder.add(every(builder, products, 2, 0), every(builder, products, 2, 1))


def dpbf16ps(builder: ir.IRBuilder, total: ir.Value, one: ir.Value, other: ir.Value) -> ir.Value:
    """Intel's manual: products of pairs of bfloat16 added to the destination, the second of a pair first; denormals are zero."""
    count = total.type.count
    halves, words, floats = vector(I16, 2 * count), vector(I32, count), vector(F32, count)

    def flushed(numbers: ir.Value) -> ir.Value:
        size = call(builder, f"llvm.fabs.v{count}f32", floats, numbers)
        return builder.select(builder.fcmp_ordered("<", size, constant(floats, 2.0**-126)), constant(floats, 0.0), numbers)

    def number(pairs: ir.Value, place: int) -> ir.Value:
        bits = builder.zext(every(builder, builder.bitcast(pairs, halves), 2, place), words)
        return flushed(builder.bitcast(builder.shl(bits, constant(words, 16)), floats))

    for place in (1, 0):
        total = flushed(call(builder, f"llvm.fma.v{count}f32", floats, number(one, place), number(other, place), flushed(total)))
    return total


EMULATED = {
    "llvm.x86.avx512.vpdpbusd.512": vpdpbusd,
    "llvm.x86.avx512.vpdpbusd.256": vpdpbusd,
    "llvm.x86.avx512.pmaddw.d.512": pmaddwd,
    "llvm.aarch64.neon.sdot.v4i32.v16i8": sdot,
    "llvm.x86.avx512bf16.dpbf16ps.512": dpbf16ps,
}


def emulating_call(builder: ir.IRBuilder, name: str, result: ir.Type, *arguments: ir.Value) -> ir.Value:
    """Call an intrinsic, or its emulation if there is one: replaces `instructions.call`."""
    return EMULATED[name](builder, *arguments) if name in EMULATED else call(builder, name, result, *arguments)


def compile_for(name: str) -> None:
    """Compile everything in this process for an instruction set; call this before the kernels are imported."""
    instructions.call = emulating_call
    instructions.detect = lambda: next(each for each in instructions.ALL if each.name == name)
