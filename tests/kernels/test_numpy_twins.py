from __future__ import annotations

import numpy as np
import pytest

from headway import functions
from headway.errors import ShapeError
from headway.kernels import numpy_twins, operations

RANDOM = np.random.default_rng(0)


@pytest.mark.parametrize("leading", [(), (5,), (2, 5), (3, 2, 5), (0, 5), (2, 0)])
@pytest.mark.parametrize("has_bias", [True, False])
def test_rows_at_once_equal_the_definition(leading, has_bias):
    x, weight = RANDOM.standard_normal((*leading, 7)), RANDOM.standard_normal((11, 7))
    bias = RANDOM.standard_normal(11) if has_bias else None
    np.testing.assert_allclose(numpy_twins.linear(x, weight, bias), functions.linear(x, weight, bias), atol=1e-12)
    np.testing.assert_allclose(numpy_twins.unembed(x, weight), functions.unembed(x, weight), atol=1e-12)


@pytest.mark.parametrize("dtype", ["float16", "float32", "int64"])
def test_the_dtype_is_the_definitions(dtype):
    x, weight = np.ones((2, 3, 7), dtype), np.ones((5, 7), "float32" if dtype == "int64" else dtype)
    assert numpy_twins.linear(x, weight).dtype == functions.linear(x, weight).dtype


def test_a_wrong_width_is_the_definitions_error():
    with pytest.raises(ShapeError, match="expected: x"):
        numpy_twins.linear(np.ones((2, 3, 6)), np.ones((5, 7)))


def test_they_are_what_numpy_runs_on():
    assert operations("numpy").linear is numpy_twins.linear
