"""Normalization over the last axis."""

from __future__ import annotations

from dataclasses import dataclass

from headway.arrays import Array, ArrayT, array_namespace, as_floating, at_least_float32, cast
from headway.errors import ShapeError


@dataclass(frozen=True)
class NormWeights:
    """Weights of a normalization; RMS norm has no bias.

    Shapes
        weight  (hidden_size,)
        bias    (hidden_size,) optional
    """

    weight: Array
    bias: Array | None = None


def layer_norm(x: ArrayT, weight: ArrayT | None = None, bias: ArrayT | None = None, *, eps: float = 1e-5) -> ArrayT:
    """Layer normalization: shift and scale each vector to mean 0 and variance 1, then apply weight and bias.

        (x - mean x) / √(var x + eps) · weight + bias

    Shapes
        x       (..., hidden_size)
        weight  (hidden_size,) optional
        bias    (hidden_size,) optional
        return  (..., hidden_size)

    eps      added to the variance; 1e-5 by default

    The variance divides by hidden_size, not by hidden_size - 1. float16 and bfloat16 are computed in float32.

    Errors   ShapeError if weight or bias does not have the shape (hidden_size,).

    >>> import numpy as np
    >>> layer_norm(np.array([1.0, 3.0]), eps=0.0).tolist()
    [-1.0, 1.0]

    Source   Ba et al. 2016
    """
    xp = array_namespace(x)
    _check_width(x, weight, bias)
    upcast = at_least_float32(x)
    centered = upcast - xp.mean(upcast, axis=-1, keepdims=True)
    variance = xp.mean(centered * centered, axis=-1, keepdims=True)
    normed = centered / xp.sqrt(variance + eps)
    return cast(_scale_and_shift(normed, weight, bias), as_floating(x).dtype)


def rms_norm(x: ArrayT, weight: ArrayT | None = None, *, eps: float = 1e-6) -> ArrayT:
    """Root mean square normalization: scale each vector to a root mean square of 1, then apply the weight.

        x / √(mean x² + eps) · weight

    Shapes
        x       (..., hidden_size)
        weight  (hidden_size,) optional
        return  (..., hidden_size)

    eps      added to the mean square; 1e-6 by default

    float16 and bfloat16 are computed in float32.

    Errors   ShapeError if weight does not have the shape (hidden_size,).

    >>> import numpy as np
    >>> rms_norm(np.array([3.0, 3.0]), eps=0.0).tolist()
    [1.0, 1.0]

    Source   Zhang and Sennrich 2019, equation 4
    """
    xp = array_namespace(x)
    _check_width(x, weight)
    upcast = at_least_float32(x)
    mean_square = xp.mean(upcast * upcast, axis=-1, keepdims=True)
    return cast(_scale_and_shift(upcast / xp.sqrt(mean_square + eps), weight, None), as_floating(x).dtype)


def _scale_and_shift(x: ArrayT, weight: ArrayT | None, bias: ArrayT | None) -> ArrayT:
    if weight is not None:
        x = x * at_least_float32(weight)
    return x if bias is None else x + at_least_float32(bias)


def _check_width(x: Array, *parameters: Array | None) -> None:
    for parameter in parameters:
        if parameter is not None and tuple(parameter.shape) != (x.shape[-1],):
            raise ShapeError(
                f"got x {tuple(x.shape)} and a weight or bias {tuple(parameter.shape)}, expected a weight and bias {(x.shape[-1],)}"
            )
