"""Matrices to packed matrices and back."""

from __future__ import annotations

import ml_dtypes
import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.errors import NotFiniteError
from headway.kernels.cpu.packing import KINDS, num_bytes, pack

every_kind = pytest.mark.parametrize("kind", KINDS)


def random(rows: int, columns: int, seed: int = 0) -> numpy.ndarray:
    return numpy.random.default_rng(seed).standard_normal((rows, columns)).astype(numpy.float32)


def groups(matrix: numpy.ndarray) -> numpy.ndarray:
    """Return the matrix as (rows, groups, 32), padded with zeros."""
    return numpy.pad(matrix, ((0, 0), (0, -matrix.shape[1] % 32))).reshape(len(matrix), -1, 32)


def by_the_largest(matrix: numpy.ndarray, kind: str) -> numpy.ndarray:
    """Round as llama.cpp does: the largest weight determines the scale, in float16."""
    parts = groups(matrix)
    largest = numpy.take_along_axis(parts, abs(parts).argmax(-1, keepdims=True), -1)
    if kind == "int8":
        scale = (abs(largest) / 127).astype(numpy.float16).astype(numpy.float32)
        return scale * numpy.rint(parts / (abs(largest) / 127))
    scale = largest / -8
    return scale.astype(numpy.float16).astype(numpy.float32) * (numpy.clip(numpy.floor(parts / scale + 8.5), 0, 15) - 8)


@settings(max_examples=25, deadline=None)
@given(rows=st.integers(1, 70), columns=st.integers(1, 100), seed=st.integers(0, 99))
def test_every_shape_is_unpacked(runtime, rows, columns, seed):
    matrix = random(rows, columns, seed)
    for kind, tolerance in (("float32", 0), ("bfloat16", 2**-8), ("int8", 1 / 250), ("int8_rows", 1 / 250), ("int4", 1 / 3)):
        back = pack("x", matrix, kind, runtime.pack, runtime.pool).dense()
        assert back.shape == matrix.shape
        assert abs(back - matrix).max() <= tolerance * abs(matrix).max(), kind


@pytest.mark.parametrize("kind", ["int8", "int4"])
def test_no_group_is_rounded_worse_than_by_its_largest_weight(runtime, kind):
    matrix = random(64, 96)
    mine, theirs = groups(pack("x", matrix, kind, runtime.pack, runtime.pool).dense()), by_the_largest(matrix, kind)
    errors = [((each - groups(matrix)) ** 2).sum(-1) for each in (mine, theirs)]
    assert (errors[0] <= errors[1] * 1.02).all()
    assert errors[0].sum() < 0.97 * errors[1].sum()


@every_kind
def test_strides_and_dtypes_of_the_source_change_nothing(runtime, kind):
    matrix = random(37, 45).astype(ml_dtypes.bfloat16)
    sources = [matrix, matrix.astype(numpy.float32), numpy.asfortranarray(matrix), matrix.astype(numpy.float16), matrix.astype(float)]
    packed = [pack("x", source, kind, runtime.pack, runtime.pool).dense() for source in sources]
    assert all((each == packed[0]).all() for each in packed)


@every_kind
def test_very_small_and_very_large_weights_stay_finite_and_zeros_zero(runtime, kind):
    matrix = numpy.zeros((5, 64), numpy.float32)
    matrix[1], matrix[2], matrix[3, :32] = 1e-30, 3e5, random(1, 32)
    back = pack("x", matrix, kind, runtime.pack, runtime.pool).dense()
    assert numpy.isfinite(back).all()
    assert not back[[0, 4]].any()
    numpy.testing.assert_allclose(back[2], 3e5, rtol=0.01)


@every_kind
@pytest.mark.parametrize("number", [numpy.nan, numpy.inf, -numpy.inf])
def test_a_weight_that_is_not_finite_is_an_error_that_names_the_tensor(runtime, kind, number):
    matrix = random(20, 40)
    matrix[19, 39] = number
    with pytest.raises(NotFiniteError, match=r"tensor layers\.3\.up"):
        pack("layers.3.up", matrix, kind, runtime.pack, runtime.pool)


def test_bits_per_weight():
    for kind, bits in (("float32", 32), ("bfloat16", 16), ("int8", 8.5), ("int8_rows", 8.5), ("int4", 4.5)):
        assert num_bytes(kind, (64, 128)) * 8 / (64 * 128) == bits


def test_a_row_has_one_scale_and_the_sum_of_its_codes(runtime):
    matrix = random(19, 70)
    packed = pack("x", matrix, "int8_rows", runtime.pack, runtime.pool)
    scales, sums = (packed.scales[:, part].reshape(-1) for part in (0, 1))
    numpy.testing.assert_allclose(scales[:19], abs(matrix).max(-1) / 127, rtol=1e-6)
    assert not scales[19:].any()
    numpy.testing.assert_array_equal(sums, packed.codes.transpose(0, 3, 1, 2, 4).reshape(32, -1).sum(-1, dtype=int))
