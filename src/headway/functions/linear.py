"""The linear layer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from headway.arrays import Array, ArrayT, array_namespace, as_floating, cast
from headway.errors import ShapeError


class Matrix(ABC):
    """A matrix (out_features, in_features) in another form than an array, such as Packed and LowRank.

    A weight tree may have one wherever it has an array that a function multiplies by.
    """

    ndim = 2

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """The number of rows and of columns."""

    @abstractmethod
    def dense(self) -> Array:
        """Return the matrix as an array."""

    def multiply(self, x: ArrayT) -> ArrayT:
        """Return x @ selfᵀ, in the dtype of x."""
        weight = cast(self.dense(), x.dtype)
        return x @ array_namespace(x, weight).matrix_transpose(weight)


@dataclass(frozen=True)
class LinearWeights:
    """Weights of a linear layer; the weight is an array or a Matrix.

    Shapes
        weight  (out_features, in_features)
        bias    (out_features,) optional
    """

    weight: Array | Matrix
    bias: Array | None = None


def linear(x: ArrayT, weight: ArrayT | Matrix, bias: ArrayT | None = None) -> ArrayT:
    """Linear layer: multiply by a matrix of shape (out_features, in_features), and add a bias.

        x @ weightᵀ + bias

    Shapes
        x       (..., in_features)
        weight  (out_features, in_features)
        bias    (out_features,) optional
        return  (..., out_features)

    The weight is an array, or a Matrix: packed, or with an update of low rank.

    Errors   ShapeError if the shapes do not match.

    >>> import numpy as np
    >>> linear(np.array([1.0, 2.0]), np.array([[3.0, 4.0], [5.0, 6.0], [7.0, 8.0]])).tolist()
    [11.0, 17.0, 23.0]

    Source   weight layout of torch.nn.Linear
    """
    if weight.ndim != 2 or x.shape[-1] != weight.shape[1]:
        is_transposed = weight.ndim == 2 and x.shape[-1] == weight.shape[0]
        raise ShapeError(
            f"got x {tuple(x.shape)} and weight {tuple(weight.shape)}, expected x (..., in_features) and weight (out_features, in_features)",
            hint="the weight looks transposed: pass weight.T" if is_transposed else None,
        )
    if bias is not None and tuple(bias.shape) != (weight.shape[0],):
        raise ShapeError(
            f"got bias {tuple(bias.shape)}, expected {(weight.shape[0],)}, one element per row of weight {tuple(weight.shape)}"
        )
    x = as_floating(x)
    product = weight.multiply(x) if isinstance(weight, Matrix) else x @ array_namespace(x, weight, bias).matrix_transpose(weight)
    return cast(product if bias is None else product + bias, x.dtype)  # NumPy returns float32 for a product of bfloat16 matrices


def as_array(weight: Array | Matrix) -> Array:
    """Return a weight as an array."""
    return weight.dense() if isinstance(weight, Matrix) else weight
