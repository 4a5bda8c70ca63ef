from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from headway.errors import DtypeError, ShapeError
from headway.functions import LinearWeights, linear
from tests.functions.close import assert_close


def test_the_weight_is_stored_as_out_by_in():
    weight = np.array([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]])  # three outputs of two inputs
    assert linear(np.array([1.0, 1.0]), weight, np.array([0.5, 0.0, 0.0])).tolist() == [11.5, 22.0, 33.0]


@settings(deadline=None, derandomize=True, max_examples=30)
@given(hnp.array_shapes(min_dims=0, max_dims=3, max_side=5), st.integers(1, 7), st.integers(1, 7))
def test_any_leading_axes_are_kept(leading, in_features, out_features):
    x, weight = np.ones((*leading, in_features)), np.ones((out_features, in_features))
    came = linear(x, weight)
    assert came.shape == (*leading, out_features)
    assert (came == in_features).all()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("has_bias", [True, False])
def test_torch_computes_the_same(dtype, has_bias):
    random = np.random.default_rng(0)
    x, weight, bias = (torch.from_numpy(random.standard_normal(shape)).to(dtype) for shape in ((2, 5, 7), (11, 7), (11,)))
    bias = bias if has_bias else None
    assert_close(linear(x, weight, bias), torch.nn.functional.linear(x, weight, bias))


def test_linear_is_linear():
    random = np.random.default_rng(1)
    weight, x, y = random.standard_normal((11, 7)), random.standard_normal((3, 7)), random.standard_normal((3, 7))
    assert_close(linear(2 * x - 3 * y, weight), 2 * linear(x, weight) - 3 * linear(y, weight))


def test_a_transposed_weight_is_recognised():
    with pytest.raises(ShapeError, match=r"(?s)x \(3, 7\) and weight \(7, 11\).*looks transposed: pass weight\.T"):
        linear(np.ones((3, 7)), np.ones((7, 11)))


def test_widths_that_differ_are_said_with_both_shapes():
    with pytest.raises(ShapeError, match=r"got x \(3, 7\) and weight \(11, 5\), expected x \(\.\.\., in_features\)") as error:
        linear(np.ones((3, 7)), np.ones((11, 5)))
    assert "transposed" not in str(error.value)


@pytest.mark.parametrize("shape", [(7,), (2, 11, 7)])
def test_a_weight_that_is_no_matrix_is_an_error(shape):
    with pytest.raises(ShapeError, match="out_features"):
        linear(np.ones((3, 7)), np.ones(shape))


@pytest.mark.parametrize("shape", [(7,), (1,), (), (1, 11)])
def test_a_bias_of_another_shape_is_an_error_even_where_it_would_broadcast(shape):
    with pytest.raises(ShapeError, match=r"got bias .* expected \(11,\)"):
        linear(np.ones((3, 7)), np.ones((11, 7)), np.ones(shape))


def test_arrays_of_two_libraries_are_an_error():
    with pytest.raises(DtypeError, match="got numpy.ndarray and torch.Tensor, expected arrays of one library"):
        linear(np.ones((3, 7)), torch.ones((11, 7)))


def test_a_bias_is_optional():
    assert LinearWeights(np.ones((3, 2))).bias is None
