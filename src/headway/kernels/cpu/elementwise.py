"""Norms, activation functions, rotary embeddings and rounding, one row at a time, for use inside Numba functions."""

from __future__ import annotations

import math
from typing import Any

import numpy

from headway.kernels.cpu.layout import EPS, GELU, GELU_TANH, GROUP, LAYER_NORM, NORM, SILU
from headway.kernels.cpu.memory import compiled, float32_view, float_bits, float_field, float_from_bits, uint16_view

F = numpy.float32
REASSOCIATE = {"reassoc", "contract", "nsz"}
"""Fast-math flags that let sums be vectorized; NaN and infinity propagate."""
NO_NAN = REASSOCIATE | {"nnan"}
"""Flags for a vectorized maximum. Its result is undefined if an input is NaN, so callers check for NaN separately."""


@compiled(fastmath={"contract"})
def exp(x: Any) -> Any:
    """Return eˣ in float32 within 2 units in the last place: a power of 2 times a polynomial of the remainder.

    The argument is clamped to -87.3 to 88.7. NaN propagates.
    """
    x = F(-87.3) if x < F(-87.3) else x
    x = F(88.7) if x > F(88.7) else x
    exponent = numpy.rint(x * F(1.44269504))
    rest = (x - exponent * F(0.693359375)) + exponent * F(2.12194440e-4)
    series = F(1.9875691500e-4)
    series = series * rest + F(1.3981999507e-3)
    series = series * rest + F(8.3334519073e-3)
    series = series * rest + F(4.1665795894e-2)
    series = series * rest + F(1.6666665459e-1)
    series = series * rest + F(5.0000001201e-1)
    series = series * (rest * rest) + (rest + F(1))
    return float_from_bits(float_bits(series) + (numpy.int32(exponent) << numpy.int32(23)))


@compiled
def _erf(x: Any) -> Any:
    """Return the error function within 2e-7 (Abramowitz and Stegun, 7.1.26)."""
    size = abs(x)
    t = F(1) / (F(1) + F(0.3275911) * size)
    series = F(1.061405429)
    series = series * t + F(-1.453152027)
    series = series * t + F(1.421413741)
    series = series * t + F(-0.284496736)
    series = series * t + F(0.254829592)
    result = F(1) - series * t * exp(-size * size)
    return math.copysign(result, x)


@compiled
def activate(kind: int, x: Any, count: int) -> None:
    """Apply an activation function to the first `count` numbers of an array, in place.

    Terms are not reordered: a number has the same bits in the vectorized loop and in the one for the last numbers.
    """
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
def norm(kind: int, x: Any, weight: int, bias: int, eps: float, count: int) -> None:
    """Replace a row by its layer norm or RMS norm; weight and bias are addresses of float32, or 0."""
    mean, square = F(0), F(0)
    if kind == LAYER_NORM:
        for i in range(count):
            mean += x[i]
        mean /= F(count)
    for i in range(count):
        square += (x[i] - mean) * (x[i] - mean)
    factor = F(1) / numpy.sqrt(square / F(count) + F(eps))
    for i in range(count):
        x[i] = (x[i] - mean) * factor
    if weight:
        weights = float32_view(weight, count)
        for i in range(count):
            x[i] *= weights[i]
    if bias:
        biases = float32_view(bias, count)
        for i in range(count):
            x[i] += biases[i]


@compiled(fastmath=REASSOCIATE)
def dot(x: Any, y: Any, count: int) -> Any:
    """Return the sum of the products of `count` numbers."""
    total = F(0)
    for i in range(count):
        total += x[i] * y[i]
    return total


@compiled
def copy_row(source: int, count: int, target: int) -> None:
    """Copy float32 numbers to another address, unless it is the same."""
    if source != target:
        x, out = float32_view(source, count), float32_view(target, count)
        for i in range(count):
            out[i] = x[i]


@compiled
def norm_row(launch: Any, x: int, weight: int, bias: int, size: int, out: int) -> None:
    """Write the model's norm of the numbers at an address to `out`; both may be the same address.

    Loops that read one array and write another are vectorized only if the two do not overlap, so the norm itself has one array.
    """
    copy_row(x, size, out)
    norm(launch[NORM], float32_view(out, size), weight, bias, float_field(launch, EPS), size)


@compiled(fastmath=REASSOCIATE)
def soft_cap(numbers: int, count: int, limit: float) -> None:
    """Limit the float32 numbers at an address: limit · tanh(x / limit)."""
    x, inverse = float32_view(numbers, count), F(2) / F(limit)
    for i in range(count):  # tanh(y) = 1 - 2 / (1 + e^(2y))
        x[i] = F(limit) * (F(1) - F(2) / (F(1) + exp(inverse * x[i])))


@compiled
def rotate(x: Any, cos: Any, sin: Any, half: int) -> None:
    """Apply rotary embeddings to the first 2 · half elements of a head, in place; element i is paired with element half + i."""
    for i in range(half):
        a, b = x[i], x[half + i]
        x[i] = a * cos[i] - b * sin[i]
        x[half + i] = b * cos[i] + a * sin[i]


@compiled(fastmath=NO_NAN)
def largest_size(numbers: int, count: int) -> Any:
    """Return the largest absolute value of the float32 numbers at an address."""
    x, largest = float32_view(numbers, count), F(0)
    for i in range(count):
        magnitude = abs(x[i])
        largest = magnitude if magnitude > largest else largest
    return largest


@compiled(fastmath=REASSOCIATE)
def not_finite(numbers: int, count: int) -> Any:
    """Return 0 if all float32 numbers at an address are finite, otherwise NaN."""
    x, total = float32_view(numbers, count), F(0)
    for i in range(count):
        total += F(0) * x[i]
    return total


@compiled
def bfloat16_bits(x: Any) -> Any:
    """Return the bits of a number rounded to bfloat16, to nearest, ties to even."""
    bits = numpy.uint32(float_bits(x))
    rounded = (bits + numpy.uint32(0x7FFF) + ((bits >> numpy.uint32(16)) & numpy.uint32(1))) >> numpy.uint32(16)
    return numpy.uint16(rounded if x == x else numpy.uint32(0x7FC0))


@compiled
def round_to_bfloat16(numbers: int, count: int, out: int) -> None:
    """Round a group of float32 activations to 32 bfloat16 at `out`; a short group is padded with zeros."""
    x, bits = float32_view(numbers, count), uint16_view(out, GROUP)
    for i in range(count):
        bits[i] = bfloat16_bits(x[i])
    for i in range(count, GROUP):
        bits[i] = numpy.uint16(0)
