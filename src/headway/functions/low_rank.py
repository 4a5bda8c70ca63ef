"""A linear layer with an update of low rank."""

from __future__ import annotations

from dataclasses import dataclass

from headway import functions
from headway.arrays import Array, ArrayT, Operations, cast
from headway.functions.linear import LinearWeights


@dataclass(frozen=True)
class LowRankWeights:
    """Weights of a linear layer with an update of low rank.

    Shapes
        base  LinearWeights
        down  (rank, in_features)
        up    (out_features, rank)
    """

    base: LinearWeights
    down: Array
    up: Array


def low_rank(x: ArrayT, weights: LowRankWeights, *, scale: float = 1.0, ops: Operations = functions) -> ArrayT:
    """Linear layer with an update of low rank (LoRA), without computing the sum of the matrices.

        x @ baseᵀ + bias + scale · (x @ downᵀ) @ upᵀ

    Shapes
        x        (..., in_features)
        weights  LowRankWeights
        return   (..., out_features)

    scale    factor of the update, alpha / rank in the paper; 1 by default
    ops      namespace with the function linear; headway.functions by default

    The result equals that of a linear layer with the weight base + scale · up @ down.

    Errors   ShapeError if the shapes do not match.

    >>> import numpy as np
    >>> ones = np.ones((1, 1))
    >>> low_rank(np.array([3.0]), LowRankWeights(LinearWeights(ones), ones, ones), scale=0.5).tolist()
    [4.5]

    Source   Hu et al. 2021, equation 3 (their A is down here, and B is up)
    """
    update = ops.linear(ops.linear(x, weights.down), weights.up)
    base = ops.linear(x, weights.base.weight, weights.base.bias)
    return cast(base + scale * update, base.dtype)
