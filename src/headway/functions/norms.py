"""Normalisation over the last axis."""

from __future__ import annotations

from dataclasses import dataclass

from headway.arrays import Array, array_namespace, as_floating, at_least_float32, cast
from headway.errors import ShapeError


@dataclass(frozen=True)
class NormWeights:
    """The weights of one norm; an RMS norm has no bias.

    Shapes
        weight  (hidden_size,)
        bias    (hidden_size,) optional
    """

    weight: Array
    bias: Array | None = None


def layer_norm(x: Array, weight: Array | None = None, bias: Array | None = None, *, eps: float = 1e-5) -> Array:
    """Bring every vector to mean 0 and variance 1, then scale and shift each coordinate.

        (x - mean x) / √(var x + eps) · weight + bias

    Shapes
        x       (..., hidden_size)
        weight  (hidden_size,) optional
        bias    (hidden_size,) optional
        return  (..., hidden_size)

    eps      added to the variance (divided by hidden_size, not by hidden_size - 1); 1e-5 by default

    Computed in float32 for half precision.

    Errors   ShapeError where weight or bias is not as wide as x.

    >>> import numpy as np
    >>> layer_norm(np.array([1.0, 3.0]), eps=0.0).tolist()
    [-1.0, 1.0]

    Source   Ba et al. 2016
    """
    xp = array_namespace(x)
    _check_width(x, weight, bias)
    wide = at_least_float32(x)
    centred = wide - xp.mean(wide, axis=-1, keepdims=True)
    variance = xp.mean(centred * centred, axis=-1, keepdims=True)
    normed = centred / xp.sqrt(variance + eps)
    return cast(_scale_and_shift(normed, weight, bias), as_floating(x).dtype)


def rms_norm(x: Array, weight: Array | None = None, *, eps: float = 1e-6) -> Array:
    """Bring every vector to a root mean square of 1, then scale each coordinate.

        x / √(mean x² + eps) · weight

    Shapes
        x       (..., hidden_size)
        weight  (hidden_size,) optional
        return  (..., hidden_size)

    eps      added to the mean square; 1e-6 by default

    Computed in float32 for half precision.

    Errors   ShapeError where weight is not as wide as x.

    >>> import numpy as np
    >>> rms_norm(np.array([3.0, 3.0]), eps=0.0).tolist()
    [1.0, 1.0]

    Source   Zhang and Sennrich 2019, equation 4
    """
    xp = array_namespace(x)
    _check_width(x, weight)
    wide = at_least_float32(x)
    mean_square = xp.mean(wide * wide, axis=-1, keepdims=True)
    return cast(_scale_and_shift(wide / xp.sqrt(mean_square + eps), weight, None), as_floating(x).dtype)


def _scale_and_shift(x: Array, weight: Array | None, bias: Array | None) -> Array:
    if weight is not None:
        x = x * at_least_float32(weight)
    return x if bias is None else x + at_least_float32(bias)


def _check_width(x: Array, *parameters: Array | None) -> None:
    for parameter in parameters:
        if parameter is not None and tuple(parameter.shape) != (x.shape[-1],):
            raise ShapeError(
                f"came: x {tuple(x.shape)} and a norm's weight or bias {tuple(parameter.shape)}; expected: {(x.shape[-1],)}, one number per coordinate"
            )
