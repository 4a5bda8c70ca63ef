from __future__ import annotations

import numpy as np

from headway.functions import LinearWeights, LowRankWeights, linear, low_rank
from tests.functions.close import assert_close

RANDOM = np.random.default_rng(0)
X, BASE, BIAS = RANDOM.standard_normal((4, 7)), RANDOM.standard_normal((5, 7)), RANDOM.standard_normal(5)
DOWN, UP = RANDOM.standard_normal((2, 7)), RANDOM.standard_normal((5, 2))


def test_an_update_of_low_rank_is_that_of_the_added_matrices():
    came = low_rank(X, LowRankWeights(LinearWeights(BASE, BIAS), DOWN, UP), scale=0.25)
    assert_close(came, linear(X, BASE + 0.25 * UP @ DOWN, BIAS))


def test_an_update_of_zero_changes_nothing():
    came = low_rank(X, LowRankWeights(LinearWeights(BASE, BIAS), DOWN, np.zeros((5, 2))))
    np.testing.assert_array_equal(came, linear(X, BASE, BIAS))
