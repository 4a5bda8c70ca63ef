"""Norms, activations, rotary positions and the rounding of activations, one row at a time: for use inside Numba functions."""

from __future__ import annotations

import math
from typing import Any

import numpy

from headway.kernels.cpu.layout import GELU, GELU_TANH, GROUP, LAYER_NORM, SILU
from headway.kernels.cpu.memory import bits_of, compiled, float_of, floats, shorts, signed_bytes, words

F = numpy.float32
REASSOCIATE = {"reassoc", "contract", "nsz"}
"""Sums may be taken in lanes; NaN and infinity stay what they are."""


@compiled
def exp(x: Any) -> Any:
    """e to the x in float32, within 2 units in the last place: 2 to a whole number times a polynomial in the rest."""
    x = min(max(x, F(-87.3)), F(88.7)) + F(0) * x
    whole = numpy.rint(x * F(1.44269504))
    rest = (x - whole * F(0.693359375)) + whole * F(2.12194440e-4)
    series = F(1.9875691500e-4)
    series = series * rest + F(1.3981999507e-3)
    series = series * rest + F(8.3334519073e-3)
    series = series * rest + F(4.1665795894e-2)
    series = series * rest + F(1.6666665459e-1)
    series = series * rest + F(5.0000001201e-1)
    series = series * rest * rest + rest + F(1)
    half = numpy.int32(whole) >> numpy.int32(1)
    other = numpy.int32(whole) - half
    return series * float_of((half + numpy.int32(127)) << numpy.int32(23)) * float_of((other + numpy.int32(127)) << numpy.int32(23))


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
            x[i] = max(x[i], F(0)) + F(0) * x[i]


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


@compiled(fastmath=REASSOCIATE)
def round_group(x: Any, first: int, count: int, bytes_: int, wide: int, scale: int, total: int) -> None:
    """Round a group of activations to signed bytes with one scale, the largest being ±127; a short group ends in zeros.

    bytes_, wide, scale and total are addresses: of 32 int8, the same 32 as int16 (or 0), a float32, and the int32 sum of the bytes.
    A NaN or an infinity makes the scale NaN.
    """
    largest, poison = F(0), F(0)
    for i in range(count):
        largest = max(largest, abs(x[first + i]))
        poison += F(0) * x[first + i]
    factor = F(127) / largest if largest > F(0) else F(0)
    out, sum_ = signed_bytes(bytes_, GROUP), numpy.int32(0)
    for i in range(count):
        out[i] = numpy.int8(numpy.int32(numpy.rint(x[first + i] * factor)))
    for i in range(count, GROUP):
        out[i] = numpy.int8(0)
    for i in range(GROUP):
        sum_ += numpy.int32(out[i])
    floats(scale, 1)[0] = largest / F(127) + poison
    words(total, 1)[0] = sum_
    if wide:
        copy = shorts(wide, GROUP)
        for i in range(GROUP):
            copy[i] = numpy.int16(out[i])


@compiled
def bfloat16_bits(x: Any) -> Any:
    """The bits of the nearest bfloat16; of two as near, the even one."""
    bits = numpy.uint32(bits_of(x))
    rounded = (bits + numpy.uint32(0x7FFF) + ((bits >> numpy.uint32(16)) & numpy.uint32(1))) >> numpy.uint32(16)
    return numpy.uint16(rounded if x == x else numpy.uint32(0x7FC0))
