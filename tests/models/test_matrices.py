"""Models whose weights are matrices in other forms than arrays."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from headway.arrays import ARRAY_LIBRARIES, from_numpy
from headway.functions import LowRank
from headway.kernels import operations
from headway.models import gpt2, mixtral
from headway.trees import map_tree
from tests.functions.close import assert_close
from tests.small_models import GPT2, LLAMA, random_weights

MIXTRAL = mixtral.Config(
    **{
        field.name: getattr(LLAMA, field.name)
        for field in dataclasses.fields(LLAMA)
        if field.name in {each.name for each in dataclasses.fields(mixtral.Config)}
    },
    num_local_experts=3,
    num_experts_per_tok=2,
)
TOKENS = np.array([[3, 1, 4, 1, 5], [9, 2, 6, 5, 3]])


def with_updates(tree, random):
    """The tree with an update of low rank of every matrix, and the tree with their sums."""

    def update(leaf):
        if leaf.ndim != 2:
            return leaf
        rows, columns = leaf.shape
        down, up = (random.standard_normal(shape).astype(np.float32) * 0.3 for shape in ((2, columns), (rows, 2)))
        return LowRank(leaf, down, up, scale=0.5)

    updated = map_tree(update, tree)
    if getattr(tree, "position_embedding", None) is not None:  # a table, which nothing is multiplied by
        updated = dataclasses.replace(updated, position_embedding=tree.position_embedding)
    return updated, map_tree(lambda leaf, matrix: matrix.dense() if isinstance(matrix, LowRank) else leaf, tree, updated)


@pytest.mark.parametrize("library", ARRAY_LIBRARIES)
@pytest.mark.parametrize(("architecture", "config"), [(gpt2, GPT2), (mixtral, MIXTRAL)])
def test_updates_of_low_rank_equal_the_sums(architecture, config, library):
    updated, merged = with_updates(random_weights(architecture, config), np.random.default_rng(0))
    converted = map_tree(lambda leaf: from_numpy(leaf, library), updated)
    expected = architecture.forward(TOKENS, merged, config)
    came = architecture.forward(from_numpy(TOKENS, library), converted, config, ops=operations(library))
    assert_close(came, expected, dtype="float32")
