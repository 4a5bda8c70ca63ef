"""Products with every instruction set, emulated if this processor lacks it, against NumPy."""

from __future__ import annotations

import ctypes

import numpy
import pytest
from llvmlite import binding
from ml_dtypes import bfloat16
from numba import njit

from headway.kernels.cpu import instructions, layout
from headway.kernels.cpu.activation_buffers import Buffers
from headway.kernels.cpu.instructions import ALL
from headway.kernels.cpu.products import int_product, multiply, pair_product
from headway.kernels.cpu.projections import store_activations
from headway.kernels.cpu.row_products import row_product
from headway.kernels.cpu.row_tiles import round_row
from tests.kernels.cpu.emulation import emulating_call

NUM_TOKENS = 27  # uses tiles of every size: 27 = 24 + 3 = 2 · 12 + 3 = 3 · 8 + 2 + 1 = 4 · 6 + 2 + 1 = 6 · 4 + 2 + 1


def int64_array(address, count):
    return numpy.ctypeslib.as_array(ctypes.cast(address, ctypes.POINTER(ctypes.c_int64)), (count,))


def at_a_cache_line(array):
    bytes_ = numpy.zeros(array.nbytes + 64, numpy.uint8)
    start = -bytes_.ctypes.data % 64
    bytes_[start : start + array.nbytes] = numpy.ascontiguousarray(array).reshape(-1).view(numpy.uint8)
    return bytes_[start : start + array.nbytes]


def random_weights(random, kind, num_groups):
    """Return integers (num_groups, 16, 32), with extreme values in the first groups, and their packed codes."""
    low, high = {"int8": (-127, 127), "int4": (-8, 7)}[kind]
    weights = random.integers(low, high + 1, (num_groups, 16, 32))
    weights[0], weights[1:2] = high, low
    if kind == "int8":
        return weights, weights.reshape(-1, 16, 8, 4).transpose(0, 2, 1, 3).astype(numpy.int8)
    nibbles = (weights + 8).reshape(-1, 16, 2, 4, 4).transpose(2, 0, 3, 1, 4).astype(numpy.uint8)
    return weights, nibbles[0] | nibbles[1] << 4


def random_activations(random, num_groups):
    """Return int8 (num_tokens, num_groups, 32), with extreme values for some tokens."""
    x = random.integers(-127, 128, (NUM_TOKENS, num_groups, 32)).astype(numpy.int8)
    for tokens, number in ((slice(0, None, 5), -127), (slice(1, None, 5), 127)):
        x[tokens] = number
    return x


def in_numpy(weights, scales, x, x_scales):
    """Return the exact sums of groups, each multiplied by its scales and added in float32, rounded once."""
    total = numpy.zeros((NUM_TOKENS, 16), numpy.float32)
    for group in range(len(weights)):
        sums = x[:, group].astype(numpy.int64) @ weights[group].T
        scale = scales[group].astype(numpy.float32) * x_scales[:, group, None]
        total = (sums * scale.astype(numpy.float64) + total).astype(numpy.float32)
    return total


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["int8", "int4"])
@pytest.mark.parametrize("each", ALL[1:], ids=lambda each: each.name)
def test_sums_are_exact_and_scaled_once(each, kind, monkeypatch):
    if each.name == "avx2" and not binding.get_host_cpu_features().get("avx2"):
        pytest.skip("this processor has no AVX2")
    monkeypatch.setattr(instructions, "call", emulating_call)
    product = int_product(kind, each)

    @njit
    def multiply(codes, scales, x, x_scales, x_sums, num_groups, out, num_tokens):
        product(codes, scales, x, x_scales, x_sums, num_groups, out, num_tokens)

    random = numpy.random.default_rng(3)
    for num_groups in (1, 2, 3, 28):
        weights, codes = random_weights(random, kind, num_groups)
        scales = random.standard_normal((num_groups, 16)).astype(numpy.float16)
        x, x_scales = random_activations(random, num_groups), random.standard_normal((NUM_TOKENS, num_groups)).astype(numpy.float32)
        x_sums, out = each.sum_factor * x.sum(-1, dtype=numpy.int32), numpy.full((NUM_TOKENS, 16), numpy.nan, numpy.float32)
        arrays = [at_a_cache_line(codes), scales, x, x_scales, x_sums]
        multiply(*(array.ctypes.data for array in arrays), num_groups, out.ctypes.data, NUM_TOKENS)
        numpy.testing.assert_array_equal(out, in_numpy(weights, scales, x, x_scales))


def interleaved(codes):
    """Return uint8 (num_tokens, num_inputs) as the tiles of rows read them: (num_tokens / 24, num_inputs / 4, 24, 4)."""
    padded = numpy.pad(codes, ((0, -len(codes) % 24), (0, 0)))
    return padded.reshape(-1, 24, codes.shape[1] // 4, 4).transpose(0, 2, 1, 3)


def place(argument):
    """Return the address of an array, and a number as it is."""
    return argument if isinstance(argument, int) else argument.ctypes.data


@pytest.mark.slow
@pytest.mark.parametrize("each", [each for each in ALL if each.row_tile_tokens], ids=lambda each: each.name)
def test_sums_of_whole_rows_are_exact_and_scaled_once(each, monkeypatch):
    monkeypatch.setattr(instructions, "call", emulating_call)
    product = row_product(each)

    @njit
    def multiply(weights, numbers, bias, bias_rows, x, columns, scales, zeros, out, num_tokens):
        product(weights, numbers, bias, bias_rows, x, columns, scales, zeros, out, num_tokens)

    random, num_tokens = numpy.random.default_rng(3), 59  # 2 · 24 + 8 + 3 = 9 · 6 + 2 · 2 + 1
    for columns, bias_rows in ((32, 0), (96, 16), (1088, 5)):
        weights, x = random.integers(-127, 128, (16, columns)), random.integers(0, 256, (num_tokens, columns))
        weights[0], weights[1], x[0], x[1] = 127, -127, 255, 0
        zeros, x_scales = random.integers(0, 256, num_tokens, numpy.int32), random.random(num_tokens, numpy.float32)
        numbers, bias = numpy.stack([random.random(16), weights.sum(-1)]).astype(numpy.float32), random.random(16, numpy.float32)
        out = numpy.full((num_tokens, 16), numpy.nan, numpy.float32)
        codes = weights.reshape(16, -1, 4).transpose(1, 0, 2).astype(numpy.int8)
        first = at_a_cache_line(codes), at_a_cache_line(numbers), bias
        second = numpy.ascontiguousarray(interleaved(x.astype(numpy.uint8))), columns, x_scales, zeros, out
        multiply(*map(place, first), bias_rows, *map(place, second), num_tokens)
        sums = (x - zeros[:, None]) @ weights.T
        expected = sums.astype(numpy.float32) * (x_scales[:, None] * numbers[0]).astype(float) + bias * (numpy.arange(16) < bias_rows)
        numpy.testing.assert_array_equal(out, expected.astype(numpy.float32))


@pytest.mark.parametrize("count", [1, 16, 45, 128])
def test_rows_are_rounded_to_256_codes_from_their_least_to_their_greatest_number(count):
    @njit
    def round_numbers(numbers, codes, scale, zero):
        round_row(numbers, count, codes, scale, zero)

    random, padded = numpy.random.default_rng(count), -(-count // 16) * 16
    rows = random.standard_normal((5, count)).astype(numpy.float32) * numpy.float32([[1], [1e-5], [3e4], [0], [1]])
    rows[4] = abs(rows[4])
    for row in rows:
        codes, scale, zero = numpy.full((padded // 4, 24, 4), 7, numpy.uint8), numpy.zeros(1, numpy.float32), numpy.zeros(1, numpy.int32)
        round_numbers(*(array.ctypes.data for array in (row, codes, scale, zero)))
        back = scale * (codes[:, 0].reshape(-1)[:count].astype(numpy.int32) - zero)
        assert abs(back - row).max() <= 1.01 * scale[0]  # half a step, and half a step of the zero point
        assert (codes[:, 1:] == 7).all()
        assert 0 <= zero[0] <= 255
        for number in (numpy.nan, numpy.inf, -numpy.inf):
            changed = row.copy()
            changed[-1] = number
            round_numbers(*(array.ctypes.data for array in (changed, codes, scale, zero)))
            assert numpy.isnan(scale[0])


@njit
def store(x, row, numbers, num_columns):
    store_activations(x, row, numbers, 0, num_columns)


@njit
def multiply_by(matrix, x, first, last, scratch, out):
    multiply(matrix, 0, x, first, last, scratch, out)


@pytest.mark.slow
@pytest.mark.parametrize("num_columns", [32, 96, 1088])
def test_many_tokens_have_the_bits_of_each_alone(num_columns):
    random, num_tokens, num_groups = numpy.random.default_rng(3), 36, num_columns // 32
    codes = at_a_cache_line(random.integers(-127, 128, 16 * num_columns).astype(numpy.int8))
    scales = random.standard_normal((num_groups, 16)).astype(numpy.float16)
    matrix = numpy.array([layout.INT8, codes.ctypes.data, scales.ctypes.data, 0, 16, num_columns], numpy.int64)
    buffers = Buffers(num_tokens, "int8")
    record = int64_array(buffers.activations(num_tokens, num_columns), layout.ACTIVATIONS_SIZE)
    for row, numbers in enumerate(random.standard_normal((num_tokens, num_columns)).astype(numpy.float32)):
        store(record, row, numbers.ctypes.data, num_columns)
    scratch = buffers.allocate(layout.WIDE_BYTES)

    def products(first, last):
        out = buffers.allocate(64 * 48).view(numpy.float32).reshape(-1, 16)
        multiply_by(matrix, record, first, last, scratch.ctypes.data, out.ctypes.data)
        return out[: last - first]

    alone = numpy.concatenate([products(token, token + 1) for token in range(num_tokens)])
    for first, last in ((0, 12), (0, 13), (6, 22), (12, 29), (24, 36), (0, 36)):
        numpy.testing.assert_array_equal(products(first, last), alone[first:last])


@pytest.mark.parametrize("each", [ALL[0], ALL[-1]], ids=lambda each: each.name)
def test_pairs_of_bfloat16_are_added_in_float32(each, monkeypatch):
    monkeypatch.setattr(instructions, "call", emulating_call)
    product = pair_product(each)

    @njit
    def multiply(weights, x, x_stride, num_inputs, out, num_tokens):
        product(weights, x, x_stride, num_inputs, out, 64, num_tokens, 0)

    random = numpy.random.default_rng(3)
    for num_inputs in (32, 96):
        weights = random.standard_normal((num_inputs, 16)).astype(bfloat16)
        x = random.standard_normal((NUM_TOKENS, num_inputs)).astype(bfloat16 if each.has_bfloat16_dot else numpy.float32)
        out, expected = numpy.full((NUM_TOKENS, 16), numpy.nan, numpy.float32), numpy.zeros((NUM_TOKENS, 16), numpy.float32)
        packed = at_a_cache_line(weights.reshape(-1, 2, 16).transpose(0, 2, 1))
        multiply(packed.ctypes.data, x.ctypes.data, x.strides[0], num_inputs, out.ctypes.data, NUM_TOKENS)
        order = numpy.arange(num_inputs).reshape(-1, 2)[:, ::-1].reshape(-1) if each.has_bfloat16_dot else range(num_inputs)
        for i in order:
            expected = (x[:, i, None].astype(float) * weights[i].astype(float) + expected).astype(numpy.float32)
        numpy.testing.assert_array_equal(out, expected)
