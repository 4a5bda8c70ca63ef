"""Norms, activations, rotary positions and the rounding of activations, one row at a time: for use inside Numba functions."""

from __future__ import annotations

import math
from typing import Any

import numpy

from headway.kernels.cpu.layout import GELU, GELU_TANH, GROUP, LAYER_NORM, SILU, WIDE_TOKENS
from headway.kernels.cpu.memory import bits_of, compiled, float_of, floats, halves, shorts, signed_bytes

F = numpy.float32
REASSOCIATE = {"reassoc", "contract", "nsz"}
"""Sums may be taken in lanes; NaN and infinity stay what they are."""
NO_NAN = REASSOCIATE | {"nnan"}
"""For the largest of some numbers, in lanes: of a NaN it may make anything, so what depends on it has to see the NaN otherwise."""


@compiled(fastmath={"contract"})
def exp(x: Any) -> Any:
    """e to the x in float32, within 2 units in the last place: 2 to a whole number times a polynomial in the rest.

    Below -87.3 and above 88.7 it is what it is there. A NaN is neither, and stays one.
    """
    x = F(-87.3) if x < F(-87.3) else x
    x = F(88.7) if x > F(88.7) else x
    whole = numpy.rint(x * F(1.44269504))
    rest = (x - whole * F(0.693359375)) + whole * F(2.12194440e-4)
    series = F(1.9875691500e-4)
    series = series * rest + F(1.3981999507e-3)
    series = series * rest + F(8.3334519073e-3)
    series = series * rest + F(4.1665795894e-2)
    series = series * rest + F(1.6666665459e-1)
    series = series * rest + F(5.0000001201e-1)
    series = series * (rest * rest) + (rest + F(1))
    return float_of(bits_of(series) + (numpy.int32(whole) << numpy.int32(23)))


@compiled
def _erf(x: Any) -> Any:
    """The error function, within 2e-7 (Abramowitz and Stegun, 7.1.26)."""
    size = abs(x)
    t = F(1) / (F(1) + F(0.3275911) * size)
    series = F(1.061405429)
    series = series * t + F(-1.453152027)
    series = series * t + F(1.421413741)
    series = series * t + F(-0.284496736)
    series = series * t + F(0.254829592)
    result = F(1) - series * t * exp(-size * size)
    return math.copysign(result, x)


@compiled(fastmath=REASSOCIATE)
def activate(kind: int, x: Any, count: int) -> None:
    """An activation of the first numbers of an array, in place."""
    if kind == SILU:
        for i in range(count):
            x[i] = x[i] / (F(1) + exp(-x[i]))
    elif kind == GELU:
        for i in range(count):
            x[i] = F(0.5) * x[i] * (F(1) + _erf(x[i] * F(0.70710678)))
    elif kind == GELU_TANH:  # ½(1 + tanh(y)) = 1 / (1 + e^(-2y))
        for i in range(count):
            inner = F(1.5957691216) * (x[i] + F(0.044715) * x[i] * x[i] * x[i])
            x[i] = x[i] / (F(1) + exp(-inner))
    else:
        for i in range(count):
            x[i] = (x[i] if x[i] > F(0) else F(0)) + F(0) * x[i]


@compiled(fastmath=REASSOCIATE)
def norm(kind: int, x: Any, weight: int, bias: int, eps: float, count: int, out: Any) -> None:
    """Layer norm or RMS norm of a row into another; weight and bias are addresses of float32, or 0."""
    mean, square = F(0), F(0)
    if kind == LAYER_NORM:
        for i in range(count):
            mean += x[i]
        mean /= F(count)
    for i in range(count):
        square += (x[i] - mean) * (x[i] - mean)
    factor = F(1) / numpy.sqrt(square / F(count) + F(eps))
    for i in range(count):
        out[i] = (x[i] - mean) * factor
    if weight:
        weights = floats(weight, count)
        for i in range(count):
            out[i] *= weights[i]
    if bias:
        biases = floats(bias, count)
        for i in range(count):
            out[i] += biases[i]


@compiled
def rotate(x: Any, cos: Any, sin: Any, half: int) -> None:
    """Rotary positions of one head, in place: the halves are a pair."""
    for i in range(half):
        a, b = x[i], x[half + i]
        x[i] = a * cos[i] - b * sin[i]
        x[half + i] = b * cos[i] + a * sin[i]


@compiled(fastmath=NO_NAN)
def largest_size(numbers: int, count: int) -> Any:
    """The largest absolute value of the float32 numbers at an address."""
    x, largest = floats(numbers, count), F(0)
    for i in range(count):
        size = abs(x[i])
        largest = size if size > largest else largest
    return largest


@compiled(fastmath=REASSOCIATE)
def not_finite(numbers: int, count: int) -> Any:
    """0 where all of the float32 numbers at an address are finite, else NaN."""
    x, total = floats(numbers, count), F(0)
    for i in range(count):
        total += F(0) * x[i]
    return total


@compiled
def widen_group(bytes_: int, wide: int) -> None:
    """Copy 32 int8 as int16, pair by pair, among those of six tokens."""
    codes, pairs = signed_bytes(bytes_, GROUP), shorts(wide, GROUP * WIDE_TOKENS)
    for pair in range(GROUP // 2):
        pairs[2 * WIDE_TOKENS * pair] = codes[2 * pair]
        pairs[2 * WIDE_TOKENS * pair + 1] = codes[2 * pair + 1]


@compiled
def bfloat16_bits(x: Any) -> Any:
    """The bits of the nearest bfloat16; of two as near, the even one."""
    bits = numpy.uint32(bits_of(x))
    rounded = (bits + numpy.uint32(0x7FFF) + ((bits >> numpy.uint32(16)) & numpy.uint32(1))) >> numpy.uint32(16)
    return numpy.uint16(rounded if x == x else numpy.uint32(0x7FC0))


@compiled
def round_to_bfloat16(numbers: int, count: int, out: int) -> None:
    """A group of float32 activations at an address as 32 bfloat16 at another; a short group ends in zeros."""
    x, bits = floats(numbers, count), halves(out, GROUP)
    for i in range(count):
        bits[i] = bfloat16_bits(x[i])
    for i in range(count, GROUP):
        bits[i] = numpy.uint16(0)
