"""The vector instructions that the register tiles are made of, for the processor at hand.

A tile multiplies 16 rows of a packed matrix at once; `lanes` of them share a register. A set of instructions says how four bytes
of a row are multiplied by four bytes of an activation and added to a sum of 32 bits, which is the one thing that processors do
differently.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from llvmlite import binding, ir

I1, I8, I16, I32, I64, F32 = (ir.IntType(1), ir.IntType(8), ir.IntType(16), ir.IntType(32), ir.IntType(64), ir.FloatType())


def vector(kind: ir.Type, count: int) -> ir.VectorType:
    """The type of `count` numbers in one register."""
    return ir.VectorType(kind, count)


def constant(kind: ir.VectorType, number: float) -> ir.Constant:
    """The same number in every lane."""
    return ir.Constant(kind, [number] * kind.count)


def splat(builder: ir.IRBuilder, scalar: ir.Value, count: int) -> ir.Value:
    """A scalar in every lane."""
    kind = vector(scalar.type, count)
    undefined = ir.Constant(kind, ir.Undefined)
    first = builder.insert_element(undefined, scalar, ir.Constant(I32, 0))
    return builder.shuffle_vector(first, undefined, ir.Constant(vector(I32, count), [0] * count))


def call(builder: ir.IRBuilder, name: str, result: ir.Type, *arguments: ir.Value) -> ir.Value:
    """Call one of LLVM's intrinsics."""
    function = builder.module.declare_intrinsic(name, (), ir.FunctionType(result, [argument.type for argument in arguments]))
    return builder.call(function, arguments)


@dataclass(frozen=True)
class Instructions:
    """How sums of products of bytes are made: here with shifts and multiplications that every processor has.

    lanes      how many rows share a register
    offset     what is added to the bytes of a signed weight before it is multiplied, and taken off the sum by the tile
    num_tokens how many activations a tile of int8 multiplies with each weight it loads
    num_tokens_int4
               how many a tile of int4 does
    is_wide    whether many tokens are multiplied with weights widened to 16 bits beforehand
    is_paired  whether pairs of bfloat16 are multiplied with pairs of bfloat16, to which activations are rounded then
    """

    name: str = "portable"
    lanes: int = 4
    offset: int = 0
    num_tokens: int = 4
    num_tokens_int4: int = 4
    is_wide: bool = False
    is_paired: bool = False
    features: tuple[str, ...] = field(default=())

    def dot_signed(self, builder: ir.IRBuilder, total: ir.Value, weights: ir.Value, activation: ir.Value) -> ir.Value:
        """total + Σ of four products of signed bytes, in each lane; the activation is the same four bytes in every lane."""
        for byte in range(4):
            total = builder.add(total, builder.mul(_byte(builder, weights, byte), _byte(builder, activation, byte)))
        return total

    def dot_unsigned(self, builder: ir.IRBuilder, total: ir.Value, weights: ir.Value, activation: ir.Value) -> ir.Value:
        """The same for weights between 0 and 15; a total of up to eight of them is what `settle` makes of it."""
        return self.dot_signed(builder, total, weights, activation)

    def settle(self, builder: ir.IRBuilder, total: ir.Value) -> ir.Value:
        """The total of products of unsigned weights."""
        return total

    def dot_wide(self, builder: ir.IRBuilder, total: ir.Value, weights: ir.Value, activation: ir.Value) -> ir.Value:
        """total + Σ of two products of signed 16-bit numbers, in each lane."""
        for half in range(2):
            total = builder.add(total, builder.mul(_half(builder, weights, half), _half(builder, activation, half)))
        return total


def _byte(builder: ir.IRBuilder, words: ir.Value, byte: int) -> ir.Value:
    """A signed byte of every 32-bit word, widened to 32 bits."""
    kind = words.type
    return builder.ashr(builder.shl(words, constant(kind, 24 - 8 * byte)), constant(kind, 24))


def _half(builder: ir.IRBuilder, words: ir.Value, half: int) -> ir.Value:
    """A signed half of every 32-bit word, widened to 32 bits."""
    kind = words.type
    return builder.ashr(builder.shl(words, constant(kind, 16 - 16 * half)), constant(kind, 16))


class X86(Instructions):
    """What x86 processors have in common."""

    def dot_wide(self, builder: ir.IRBuilder, total: ir.Value, weights: ir.Value, activation: ir.Value) -> ir.Value:
        """See Instructions; one instruction adds the two products, whose sum fits into 32 bits."""
        name = {8: "llvm.x86.avx2.pmadd.wd", 16: "llvm.x86.avx512.pmaddw.d.512"}[self.lanes]
        pairs = vector(I16, 2 * self.lanes)
        return builder.add(total, call(builder, name, total.type, builder.bitcast(weights, pairs), builder.bitcast(activation, pairs)))


@dataclass(frozen=True)
class Avx2(X86):
    """x86 processors since 2013: bytes are multiplied unsigned by signed, and pairs of products added in 16 bits.

    |activation| · (weight with the activation's sign) is the same product, and its pairs fit into 16 bits: 2 · 127 · 127 < 2¹⁵.
    """

    name: str = "avx2"
    lanes: int = 8
    num_tokens: int = 4
    is_wide: bool = True
    features: tuple[str, ...] = ("avx2", "fma")

    def dot_signed(self, builder: ir.IRBuilder, total: ir.Value, weights: ir.Value, activation: ir.Value) -> ir.Value:
        """See Instructions."""
        bytes_ = vector(I8, 32)
        weights, activation = builder.bitcast(weights, bytes_), builder.bitcast(activation, bytes_)
        size = call(builder, "llvm.abs.v32i8", bytes_, activation, ir.Constant(I1, 0))
        return self._dot(builder, total, size, call(builder, "llvm.x86.avx2.psign.b", bytes_, weights, activation))

    def dot_unsigned(self, builder: ir.IRBuilder, total: ir.Value, weights: ir.Value, activation: ir.Value) -> ir.Value:
        """See Instructions; pairs are kept in 16 bits, which eight of them fit: 8 · 2 · 15 · 127 < 2¹⁵."""
        pairs = self._pairs(builder, builder.bitcast(weights, vector(I8, 32)), builder.bitcast(activation, vector(I8, 32)))
        return builder.bitcast(builder.add(builder.bitcast(total, pairs.type), pairs), total.type)

    def settle(self, builder: ir.IRBuilder, total: ir.Value) -> ir.Value:
        """See Instructions."""
        return self._halves(builder, builder.bitcast(total, vector(I16, 16)))

    def _dot(self, builder: ir.IRBuilder, total: ir.Value, unsigned: ir.Value, signed: ir.Value) -> ir.Value:
        return builder.add(total, self._halves(builder, self._pairs(builder, unsigned, signed)))

    def _pairs(self, builder: ir.IRBuilder, unsigned: ir.Value, signed: ir.Value) -> ir.Value:
        return call(builder, "llvm.x86.avx2.pmadd.ub.sw", vector(I16, 16), unsigned, signed)

    def _halves(self, builder: ir.IRBuilder, pairs: ir.Value) -> ir.Value:
        return call(builder, "llvm.x86.avx2.pmadd.wd", vector(I32, 8), pairs, constant(vector(I16, 16), 1))


@dataclass(frozen=True)
class Vnni(X86):
    """x86 processors with one instruction for the whole sum, of unsigned by signed bytes: a signed weight is made unsigned by 128."""

    name: str = "avx512vnni"
    lanes: int = 16
    offset: int = 128
    num_tokens: int = 12
    num_tokens_int4: int = 12
    features: tuple[str, ...] = ("avx512f", "avx512vl", "avx512bw", "avx512vnni")

    def dot_signed(self, builder: ir.IRBuilder, total: ir.Value, weights: ir.Value, activation: ir.Value) -> ir.Value:
        """See Instructions."""
        return self.dot_unsigned(builder, total, builder.xor(weights, constant(weights.type, -0x7F7F7F80)), activation)

    def dot_unsigned(self, builder: ir.IRBuilder, total: ir.Value, weights: ir.Value, activation: ir.Value) -> ir.Value:
        """See Instructions."""
        return call(builder, f"llvm.x86.avx512.vpdpbusd.{32 * self.lanes}", total.type, total, weights, activation)


@dataclass(frozen=True)
class Bfloat16(Vnni):
    """x86 processors since 2022 with one instruction for the sum of two products of bfloat16, besides that of bytes."""

    name: str = "avx512bf16"
    is_paired: bool = True
    features: tuple[str, ...] = (*Vnni.features, "avx512bf16")

    def dot_pairs(self, builder: ir.IRBuilder, total: ir.Value, weights: ir.Value, activation: ir.Value) -> ir.Value:
        """total + Σ of two products of bfloat16, in each lane, in float32."""
        return call(builder, "llvm.x86.avx512bf16.dpbf16ps.512", total.type, total, weights, activation)


@dataclass(frozen=True)
class Dotprod(Instructions):
    """ARM processors with a dot product of signed bytes."""

    name: str = "dotprod"
    num_tokens: int = 4
    features: tuple[str, ...] = ("dotprod",)

    def dot_signed(self, builder: ir.IRBuilder, total: ir.Value, weights: ir.Value, activation: ir.Value) -> ir.Value:
        """See Instructions."""
        bytes_ = vector(I8, 16)
        return call(
            builder,
            "llvm.aarch64.neon.sdot.v4i32.v16i8",
            total.type,
            total,
            builder.bitcast(weights, bytes_),
            builder.bitcast(activation, bytes_),
        )


ALL = (
    Bfloat16(),
    Vnni(),
    Vnni(name="avxvnni", lanes=8, num_tokens=6, num_tokens_int4=4, features=("avx2", "fma", "avxvnni")),
    Avx2(),
    Dotprod(),
    Instructions(),
)
"""The sets of instructions, the best first; the last one runs anywhere."""


def here() -> Instructions:
    """The best set of instructions that this processor has."""
    features = binding.get_host_cpu_features()
    return next(each for each in ALL if all(features.get(name) for name in each.features))
