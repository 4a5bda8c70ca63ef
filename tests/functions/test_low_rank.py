from __future__ import annotations

import numpy as np
import pytest

from headway.arrays import ARRAY_LIBRARIES, array_namespace, from_numpy, to_numpy
from headway.errors import ShapeError
from headway.functions import LowRank, embed, linear, low_rank
from headway.kernels import operations
from headway.trees import leaves, map_tree
from tests.functions.close import assert_close

RANDOM = np.random.default_rng(0)
X, BASE, BIAS = RANDOM.standard_normal((4, 7)), RANDOM.standard_normal((5, 7)), RANDOM.standard_normal(5)
DOWN, UP = RANDOM.standard_normal((2, 7)), RANDOM.standard_normal((5, 2))
UPDATED = LowRank(BASE, DOWN, UP, scale=0.25)
MERGED = BASE + 0.25 * UP @ DOWN


def test_an_update_of_low_rank_is_that_of_the_added_matrices():
    assert_close(low_rank(X, UPDATED), linear(X, MERGED))
    assert_close(UPDATED.dense(), MERGED)


def test_an_update_of_zero_changes_nothing():
    np.testing.assert_array_equal(low_rank(X, LowRank(BASE, DOWN, np.zeros((5, 2)))), linear(X, BASE))


def test_updates_can_be_added_to_one_another():
    twice = LowRank(UPDATED, DOWN, UP)
    assert_close(linear(X, twice, BIAS), linear(X, BASE + 1.25 * UP @ DOWN, BIAS))
    assert_close(twice.dense(), BASE + 1.25 * UP @ DOWN)


@pytest.mark.parametrize("library", ARRAY_LIBRARIES)
def test_a_linear_layer_and_an_embedding_take_it_in_every_library(library):
    functions = operations(library)
    weight, *arrays = map_tree(
        lambda leaf: from_numpy(np.asarray(leaf, np.float32 if leaf.dtype.kind == "f" else None), library),
        (UPDATED, np.stack([X, 2 * X]), BIAS, np.array([[4, 0]])),
    )
    x, bias, ids = arrays
    product = functions.linear(x, weight, bias)
    assert array_namespace(product) is array_namespace(x)
    assert_close(product, linear(np.stack([X, 2 * X]), MERGED, BIAS), dtype="float32")
    assert_close(functions.embed(ids, weight), MERGED[[[4, 0]]], dtype="float32")
    assert_close(embed(ids, weight), MERGED[[[4, 0]]], dtype="float32")
    assert_close(functions.unembed(x, weight), linear(np.stack([X, 2 * X]), MERGED), dtype="float32")


@pytest.mark.parametrize("library", ARRAY_LIBRARIES)
def test_each_sequence_of_a_batch_may_have_its_own_update(library):
    x, downs, ups = RANDOM.standard_normal((3, 4, 7)), RANDOM.standard_normal((3, 2, 7)), RANDOM.standard_normal((3, 5, 2))
    ups[1] = 0
    to_library = {
        name: from_numpy(np.asarray(value, np.float32), library) for name, value in locals().items() if name in ("x", "downs", "ups")
    }
    weight = LowRank(from_numpy(BASE.astype(np.float32), library), to_library["downs"], to_library["ups"])
    came = to_numpy(operations(library).linear(to_library["x"], weight))
    for row, product in enumerate(came):
        assert_close(product, linear(x[row], BASE + ups[row] @ downs[row]), dtype="float32")


def test_the_scale_is_not_a_leaf():
    assert [path for path, _ in leaves(UPDATED)] == ["base", "down", "up"]
    assert map_tree(lambda leaf: leaf + 1, UPDATED).scale == 0.25


def test_widths_that_differ_are_an_error():
    with pytest.raises(ShapeError, match=r"got x \(3, 6\) and weight \(5, 7\)"):
        linear(np.ones((3, 6)), UPDATED)
    with pytest.raises(ShapeError, match=r"got bias \(4,\), expected \(5,\)"):
        linear(X, UPDATED, np.ones(4))
