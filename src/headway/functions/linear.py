"""The affine map, and the checks that turn a bad product into a sentence."""

from __future__ import annotations

from dataclasses import dataclass

from headway.arrays import Array, array_namespace, as_floating, cast
from headway.errors import ShapeError


@dataclass(frozen=True)
class LinearWeights:
    """The weights of one affine map.

    Shapes
        weight  (out_features, in_features)
        bias    (out_features,) optional
    """

    weight: Array
    bias: Array | None = None


def linear(x: Array, weight: Array, bias: Array | None = None) -> Array:
    """Multiply by a matrix stored as (out, in), and add a bias.

        x @ weightᵀ + bias

    Shapes
        x       (..., in_features)
        weight  (out_features, in_features)
        bias    (out_features,) optional
        return  (..., out_features)

    Errors   ShapeError where the widths differ.

    >>> import numpy as np
    >>> linear(np.array([1.0, 2.0]), np.array([[3.0, 4.0], [5.0, 6.0], [7.0, 8.0]])).tolist()
    [11.0, 17.0, 23.0]

    Source   the layout is torch.nn.Linear's
    """
    if weight.ndim != 2 or x.shape[-1] != weight.shape[1]:
        raise ShapeError(_mismatch(x, weight))
    if bias is not None and tuple(bias.shape) != (weight.shape[0],):
        raise ShapeError(
            f"came: bias {tuple(bias.shape)}; expected: {(weight.shape[0],)}, one number per row of weight {tuple(weight.shape)}"
        )
    x = as_floating(x)
    product = x @ array_namespace(x, weight, bias).matrix_transpose(weight)
    return cast(product if bias is None else product + bias, x.dtype)  # NumPy multiplies bfloat16 into float32


def _mismatch(x: Array, weight: Array) -> str:
    message = (
        f"came: x {tuple(x.shape)} and weight {tuple(weight.shape)}; expected: x (..., in_features) and weight (out_features, in_features)"
    )
    if weight.ndim == 2 and x.shape[-1] == weight.shape[0]:
        message += "; the weight looks transposed: pass weight.T"
    return message
