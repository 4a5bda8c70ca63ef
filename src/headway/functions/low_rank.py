"""A matrix with an update of low rank."""

from __future__ import annotations

from dataclasses import dataclass

from headway import functions
from headway.arrays import Array, ArrayT, Operations, array_namespace, as_floating, cast
from headway.functions.linear import Matrix, as_array
from headway.trees import static


@dataclass(frozen=True)
class LowRank(Matrix):
    """A matrix with an update of low rank, base + scale · up @ down, without its sum: a LoRA adapter.

    Shapes
        base  (out_features, in_features)
        down  (rank, in_features)
        up    (out_features, rank)

    scale   factor of the update, alpha / rank in the paper; 1 by default

    down and up may have leading axes, which are broadcast with those of x: with down (batch_size, rank, in_features) and up
    (batch_size, out_features, rank), each sequence of x (batch_size, seq_len, in_features) has an update of its own. An update of zeros
    changes nothing.
    """

    base: Array | Matrix
    down: Array
    up: Array
    scale: float = static(1.0)

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the base."""
        return self.base.shape[0], self.base.shape[1]

    def dense(self) -> Array:
        """Return the sum; with leading axes, one for each update."""
        base = as_array(self.base)
        return cast(base + self.scale * (self.up @ self.down), base.dtype)

    def multiply(self, x: ArrayT) -> ArrayT:
        """Return low_rank(x, self)."""
        return low_rank(x, self)


def low_rank(x: ArrayT, weights: LowRank, *, ops: Operations = functions) -> ArrayT:
    """Multiply by a matrix with an update of low rank (LoRA), without computing the sum.

        x @ baseᵀ + scale · (x @ downᵀ) @ upᵀ

    Shapes
        x        (..., in_features)
        weights  LowRank
        return   (..., out_features)

    ops      namespace with the function linear; headway.functions by default

    The result equals x @ (base + scale · up @ down)ᵀ.

    Errors   ShapeError if the shapes do not match.

    >>> import numpy as np
    >>> ones = np.ones((1, 1))
    >>> low_rank(np.array([3.0]), LowRank(ones, ones, ones, scale=0.5)).tolist()
    [4.5]

    Source   Hu et al. 2021, equation 3 (their A is down here, and B is up)
    """
    product = ops.linear(x, weights.base)
    transpose = array_namespace(product, weights.down, weights.up).matrix_transpose
    update = as_floating(x) @ transpose(weights.down) @ transpose(weights.up)
    return cast(product + weights.scale * update, product.dtype)
