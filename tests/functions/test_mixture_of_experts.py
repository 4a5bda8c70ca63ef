from __future__ import annotations

import numpy as np
import pytest
import torch

from headway.arrays import from_numpy, to_numpy
from headway.errors import OptionError
from headway.functions import (
    GatedFeedForwardWeights,
    LinearWeights,
    MixtureOfExpertsWeights,
    gated_feed_forward,
    mixture_of_experts,
    route_top_k,
)
from headway.kernels import chosen_experts, operations
from headway.trees import map_tree
from tests.functions.close import assert_close

RANDOM = np.random.default_rng(0)
X = RANDOM.standard_normal((2, 7, 5)).astype(np.float32)


def linear(rows, columns):
    return LinearWeights(RANDOM.standard_normal((rows, columns)).astype(np.float32))


ROUTER = LinearWeights(linear(6, 5).weight, RANDOM.standard_normal(6).astype(np.float32))
WEIGHTS = MixtureOfExpertsWeights(linear(6, 5), tuple(GatedFeedForwardWeights(linear(8, 5), linear(8, 5), linear(5, 8)) for _ in range(6)))


@pytest.mark.parametrize("is_normalized", [True, False])
@pytest.mark.parametrize("top_k", [1, 2, 6])
def test_shares_are_those_of_torch(top_k, is_normalized):
    scores = torch.nn.functional.linear(torch.from_numpy(X), torch.from_numpy(ROUTER.weight), torch.from_numpy(ROUTER.bias))
    values, indices = torch.topk(scores.softmax(-1), top_k)
    values = values / values.sum(-1, keepdim=True) if is_normalized else values
    expected = torch.zeros_like(scores).scatter(-1, indices, values).numpy()
    assert_close(route_top_k(X, ROUTER, top_k=top_k, is_normalized=is_normalized), expected)


def test_normalized_shares_are_the_softmax_of_the_largest_scores():
    scores = torch.from_numpy(X @ ROUTER.weight.T + ROUTER.bias)
    values, indices = torch.topk(scores, 3)
    expected = torch.zeros_like(scores).scatter(-1, indices, values.softmax(-1)).numpy()
    assert_close(route_top_k(X, ROUTER, top_k=3), expected)


def test_equal_scores_choose_exactly_top_k_experts():
    shares = route_top_k(np.ones((3, 5)), LinearWeights(np.zeros((6, 5))), top_k=2)
    np.testing.assert_array_equal(shares, [[0.5, 0.5, 0, 0, 0, 0]] * 3)


@pytest.mark.parametrize("top_k", [0, 7])
def test_a_wrong_number_of_experts_is_an_error(top_k):
    with pytest.raises(OptionError, match=f"got top_k={top_k}, expected 1 to 6"):
        mixture_of_experts(X, WEIGHTS, top_k=top_k)


def test_one_expert_per_token_is_that_experts_feed_forward():
    mixed, chosen = mixture_of_experts(X, WEIGHTS, top_k=1), (X @ WEIGHTS.router.weight.T).argmax(-1)
    assert len(set(chosen.flat)) > 1
    for position in np.ndindex(2, 7):
        assert_close(mixed[position], gated_feed_forward(X[position], WEIGHTS.experts[chosen[position]]))


@pytest.mark.parametrize("is_normalized", [True, False])
@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_computing_only_the_chosen_experts_gives_the_same(library, is_normalized):
    x, weights = from_numpy(X, library), map_tree(lambda leaf: from_numpy(leaf, library), WEIGHTS)
    assert operations(library).mixture_of_experts is chosen_experts.mixture_of_experts
    counts = []

    def gated(rows, expert, **options):
        counts.append(len(rows))
        return gated_feed_forward(rows, expert, **options)

    ops = operations(library)
    ops.gated_feed_forward = gated
    mine = ops.mixture_of_experts(x, weights, top_k=2, is_normalized=is_normalized, ops=ops)
    assert_close(mine, to_numpy(mixture_of_experts(x, weights, top_k=2, is_normalized=is_normalized)))
    assert sum(counts) == 2 * 2 * 7
