"""The vector instructions that the register tiles use, by processor.

A tile multiplies 16 rows of a packed matrix at once; `lanes` of them share a vector register. Processors differ in how four int8 of a
row are multiplied by four int8 of an activation and added to an int32, so each instruction set has its own dot products.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from llvmlite import binding, ir

I1, I8, I16, I32, I64, F32 = (ir.IntType(1), ir.IntType(8), ir.IntType(16), ir.IntType(32), ir.IntType(64), ir.FloatType())


def vector(kind: ir.Type, count: int) -> ir.VectorType:
    """Return the type of a vector of `count` numbers."""
    return ir.VectorType(kind, count)


def constant(kind: ir.VectorType, number: float) -> ir.Constant:
    """Return a vector with the same number in every lane."""
    return ir.Constant(kind, [number] * kind.count)


def splat(builder: ir.IRBuilder, scalar: ir.Value, count: int) -> ir.Value:
    """Broadcast a scalar to every lane."""
    kind = vector(scalar.type, count)
    undefined = ir.Constant(kind, ir.Undefined)
    first = builder.insert_element(undefined, scalar, ir.Constant(I32, 0))
    return builder.shuffle_vector(first, undefined, ir.Constant(vector(I32, count), [0] * count))


def call(builder: ir.IRBuilder, name: str, result: ir.Type, *arguments: ir.Value) -> ir.Value:
    """Call an LLVM intrinsic."""
    function = builder.module.declare_intrinsic(name, (), ir.FunctionType(result, [argument.type for argument in arguments]))
    return builder.call(function, arguments)


@dataclass(frozen=True)
class Instructions:
    """An instruction set, and the dot products built from it; this one uses shifts and multiplications that every processor has.

    lanes              number of rows that share a register
    offset             number that dot_signed adds to every weight if the instruction takes unsigned weights, which the tile subtracts
                       again; dot_unsigned of int4 weights then has the same offset
    int8_tile_tokens   number of tokens that an int8 tile multiplies by each weight it loads
    int4_tile_tokens   the same for an int4 tile
    uses_int16_tiles   True if int8 weights are converted to int16 first when there are many tokens
    row_tile_tokens    number of tokens that a tile of int8 weights with one scale per row multiplies by each weight it loads; 0 if no
                       instruction multiplies codes from 0 to 255 by int8 exactly, and encoders keep a scale per 32 inputs
    has_bfloat16_dot   True if pairs of bfloat16 are multiplied by pairs of bfloat16, to which activations are then rounded
    """

    name: str = "portable"
    lanes: int = 4
    offset: int = 0
    int8_tile_tokens: int = 4
    int4_tile_tokens: int = 4
    uses_int16_tiles: bool = False
    row_tile_tokens: int = 0
    has_bfloat16_dot: bool = False
    features: tuple[str, ...] = field(default=())

    @property
    def sum_factor(self) -> int:
        """The number that x_sums, the sums of the activations of a group, are multiplied by: what an offset of the weights adds."""
        return self.offset or 8

    def dot_signed(self, builder: ir.IRBuilder, total: ir.Value, weights: ir.Value, activation: ir.Value) -> ir.Value:
        """Return total + Σ of four int8 products in each lane; the activation has the same four int8 in every lane."""
        for byte in range(4):
            total = builder.add(total, builder.mul(_byte(builder, weights, byte), _byte(builder, activation, byte)))
        return total

    def dot_unsigned(self, builder: ir.IRBuilder, total: ir.Value, weights: ir.Value, activation: ir.Value) -> ir.Value:
        """Return the same for weights without signs, from 0 to 15 if there is no offset.

        The total may have an intermediate form, which holds up to eight sums: see reduce_total.
        """
        return self.dot_signed(builder, total, weights, activation)

    def reduce_total(self, builder: ir.IRBuilder, total: ir.Value) -> ir.Value:
        """Convert a total of dot_unsigned to one int32 per lane."""
        return total

    def dot_bytes(self, builder: ir.IRBuilder, total: ir.Value, codes: ir.Value, weights: ir.Value) -> ir.Value:
        """Return total + Σ of four products of a code from 0 to 255 and an int8 weight in each lane; for sets with row_tile_tokens."""
        raise NotImplementedError

    def dot_int16(self, builder: ir.IRBuilder, total: ir.Value, weights: ir.Value, activation: ir.Value) -> ir.Value:
        """Return total + Σ of two int16 products in each lane."""
        for half in range(2):
            total = builder.add(total, builder.mul(_half(builder, weights, half), _half(builder, activation, half)))
        return total


def _byte(builder: ir.IRBuilder, words: ir.Value, byte: int) -> ir.Value:
    """Return an int8 of every 32-bit lane, sign-extended to 32 bits."""
    kind = words.type
    return builder.ashr(builder.shl(words, constant(kind, 24 - 8 * byte)), constant(kind, 24))


def _half(builder: ir.IRBuilder, words: ir.Value, half: int) -> ir.Value:
    """Return an int16 of every 32-bit lane, sign-extended to 32 bits."""
    kind = words.type
    return builder.ashr(builder.shl(words, constant(kind, 16 - 16 * half)), constant(kind, 16))


class X86(Instructions):
    """Dot products that all x86 instruction sets share."""

    def dot_int16(self, builder: ir.IRBuilder, total: ir.Value, weights: ir.Value, activation: ir.Value) -> ir.Value:
        """See Instructions: vpmaddwd adds the two products, whose sum fits into int32."""
        name = {8: "llvm.x86.avx2.pmadd.wd", 16: "llvm.x86.avx512.pmaddw.d.512"}[self.lanes]
        pairs = vector(I16, 2 * self.lanes)
        return builder.add(total, call(builder, name, total.type, builder.bitcast(weights, pairs), builder.bitcast(activation, pairs)))


@dataclass(frozen=True)
class Avx2(X86):
    """AVX2, on x86 processors since 2013: vpmaddubsw multiplies uint8 by int8 and adds pairs of products in int16.

    |activation| · (weight with the activation's sign) is the same product, and a pair fits into int16: 2 · 127 · 127 < 2¹⁵.
    """

    name: str = "avx2"
    lanes: int = 8
    int8_tile_tokens: int = 4
    uses_int16_tiles: bool = True
    features: tuple[str, ...] = ("avx2", "fma")

    def dot_signed(self, builder: ir.IRBuilder, total: ir.Value, weights: ir.Value, activation: ir.Value) -> ir.Value:
        """See Instructions."""
        int8s = vector(I8, 32)
        weights, activation = builder.bitcast(weights, int8s), builder.bitcast(activation, int8s)
        magnitude = call(builder, "llvm.abs.v32i8", int8s, activation, ir.Constant(I1, 0))
        return self._dot(builder, total, magnitude, call(builder, "llvm.x86.avx2.psign.b", int8s, weights, activation))

    def dot_unsigned(self, builder: ir.IRBuilder, total: ir.Value, weights: ir.Value, activation: ir.Value) -> ir.Value:
        """See Instructions: pairs are summed in int16, where eight of them fit: 8 · 2 · 15 · 127 < 2¹⁵."""
        pairs = self._pairs(builder, builder.bitcast(weights, vector(I8, 32)), builder.bitcast(activation, vector(I8, 32)))
        return builder.bitcast(builder.add(builder.bitcast(total, pairs.type), pairs), total.type)

    def reduce_total(self, builder: ir.IRBuilder, total: ir.Value) -> ir.Value:
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
    """VNNI: vpdpbusd computes the whole sum of uint8 times int8. An offset of 128 makes signed weights unsigned."""

    name: str = "avx512vnni"
    lanes: int = 16
    offset: int = 128
    int8_tile_tokens: int = 8
    int4_tile_tokens: int = 8
    row_tile_tokens: int = 24
    features: tuple[str, ...] = ("avx512f", "avx512vl", "avx512bw", "avx512vnni")

    def dot_signed(self, builder: ir.IRBuilder, total: ir.Value, weights: ir.Value, activation: ir.Value) -> ir.Value:
        """See Instructions."""
        return self.dot_unsigned(builder, total, builder.xor(weights, constant(weights.type, -0x7F7F7F80)), activation)

    def dot_unsigned(self, builder: ir.IRBuilder, total: ir.Value, weights: ir.Value, activation: ir.Value) -> ir.Value:
        """See Instructions."""
        return call(builder, f"llvm.x86.avx512.vpdpbusd.{32 * self.lanes}", total.type, total, weights, activation)

    def dot_bytes(self, builder: ir.IRBuilder, total: ir.Value, codes: ir.Value, weights: ir.Value) -> ir.Value:
        """See Instructions."""
        return self.dot_unsigned(builder, total, codes, weights)


@dataclass(frozen=True)
class Bfloat16(Vnni):
    """AVX-512 BF16, on x86 processors since 2022: vdpbf16ps adds two bfloat16 products; also has VNNI."""

    name: str = "avx512bf16"
    has_bfloat16_dot: bool = True
    features: tuple[str, ...] = (*Vnni.features, "avx512bf16")

    def dot_bfloat16(self, builder: ir.IRBuilder, total: ir.Value, weights: ir.Value, activation: ir.Value) -> ir.Value:
        """Return total + Σ of two bfloat16 products in each lane, in float32."""
        return call(builder, "llvm.x86.avx512bf16.dpbf16ps.512", total.type, total, weights, activation)


@dataclass(frozen=True)
class Dotprod(Instructions):
    """The dot product extension of ARM: sdot computes the whole sum of int8 times int8."""

    name: str = "dotprod"
    int8_tile_tokens: int = 4
    features: tuple[str, ...] = ("dotprod",)

    def dot_signed(self, builder: ir.IRBuilder, total: ir.Value, weights: ir.Value, activation: ir.Value) -> ir.Value:
        """See Instructions."""
        int8s = vector(I8, 16)
        return call(
            builder,
            "llvm.aarch64.neon.sdot.v4i32.v16i8",
            total.type,
            total,
            builder.bitcast(weights, int8s),
            builder.bitcast(activation, int8s),
        )


ALL = (
    Bfloat16(),
    Vnni(),
    Vnni(name="avxvnni", lanes=8, int8_tile_tokens=6, int4_tile_tokens=4, row_tile_tokens=6, features=("avx2", "fma", "avxvnni")),
    Avx2(),
    Dotprod(),
    Instructions(),
)
"""The instruction sets, best first; the last one runs on every processor."""


def detect() -> Instructions:
    """Return the best instruction set that this processor has."""
    features = binding.get_host_cpu_features()
    return next(each for each in ALL if all(features.get(name) for name in each.features))
