"""Activation functions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import array_api_compat

from headway.arrays import ArrayT, array_namespace, as_floating, at_least_float32, cast, is_torch
from headway.errors import OptionError

if TYPE_CHECKING:
    import numpy


def relu(x: ArrayT) -> ArrayT:
    """Rectified linear unit.

        max(x, 0)

    Shapes
        x       (..., size)
        return  (..., size)

    >>> import numpy as np
    >>> relu(np.array([-1.0, 2.0])).tolist()
    [0.0, 2.0]

    Source   Nair and Hinton 2010
    """
    xp = array_namespace(x)
    x = as_floating(x)
    return xp.where(x <= 0, xp.zeros_like(x), x)  # NaN <= 0 is False, so NaN stays NaN


def soft_cap(x: ArrayT, limit: float) -> ArrayT:
    """Soft cap: limit values smoothly to an interval around 0.

        limit · tanh(x / limit)

    Shapes
        x       (..., size)
        return  (..., size)

    limit    bound of the absolute values, above 0

    float16 and bfloat16 are computed in float32.

    Errors   OptionError for a limit not above 0.

    >>> import numpy as np
    >>> soft_cap(np.array([0.0, 1000.0]), 30.0).tolist()
    [0.0, 30.0]

    Source   Gemma Team 2024 (Gemma 2), section 2
    """
    if not limit > 0:
        raise OptionError(f"got limit={limit}, expected above 0")
    return cast(limit * array_namespace(x).tanh(at_least_float32(x) / limit), as_floating(x).dtype)


def clamped_swiglu(gate: ArrayT, up: ArrayT, *, limit: float = 7.0, slope: float = 1.702) -> ArrayT:
    """Clamped SwiGLU: the hidden layer of a gated feed-forward network whose projections are limited.

        g · sigmoid(slope · g) · (u + 1),   g = min(gate, limit),   u = max(-limit, min(up, limit))

    Shapes
        gate    (..., size)
        up      (..., size)
        return  (..., size)

    limit    bound of the projections; 7 by default
    slope    factor within the sigmoid; 1.702 by default, which makes g · sigmoid(slope · g) close to gelu(g)

    float16 and bfloat16 are computed in float32.

    >>> import numpy as np
    >>> clamped_swiglu(np.array([1000.0]), np.array([-1000.0])).round(4).tolist()
    [-41.9997]

    Source   the code of gpt-oss (OpenAI 2025)
    """
    xp = array_namespace(gate, up)
    given, u = at_least_float32(gate), at_least_float32(up)
    g = xp.where(given > limit, xp.full_like(given, limit), given)
    u = xp.where(u > limit, xp.full_like(u, limit), xp.where(u < -limit, xp.full_like(u, -limit), u))
    sloped: ArrayT = slope * g
    return cast(g * sigmoid(sloped) * (u + 1), as_floating(gate).dtype)


def sigmoid(x: ArrayT) -> ArrayT:
    """Logistic sigmoid, without overflow for large positive or negative inputs.

        1 / (1 + exp(-x)) = (1 + tanh(x / 2)) / 2

    Shapes
        x       (..., size)
        return  (..., size)

    >>> import numpy as np
    >>> sigmoid(np.array([0.0, -1000.0])).tolist()
    [0.5, 0.0]
    """
    xp = array_namespace(x)
    return cast(0.5 + 0.5 * xp.tanh(0.5 * at_least_float32(x)), as_floating(x).dtype)


def silu(x: ArrayT) -> ArrayT:
    """Sigmoid linear unit, also called swish.

        x · sigmoid(x)

    Shapes
        x       (..., size)
        return  (..., size)

    >>> import numpy as np
    >>> silu(np.array([0.0, 1.0])).round(4).tolist()
    [0.0, 0.7311]

    Source   Elfwing et al. 2018; Ramachandran et al. 2017
    """
    upcast = at_least_float32(x)
    return cast(upcast * sigmoid(upcast), as_floating(x).dtype)


def gelu(x: ArrayT) -> ArrayT:
    """Gaussian error linear unit (GELU), computed exactly with the error function.

        x · Φ(x) = x/2 · (1 + erf(x / √2)),   Φ the cumulative distribution function of the standard normal distribution

    Shapes
        x       (..., size)
        return  (..., size)

    >>> import numpy as np
    >>> gelu(np.array([0.0, 1.0])).round(4).tolist()
    [0.0, 0.8413]

    Source   Hendrycks and Gimpel 2016, equation 1
    """
    upcast = at_least_float32(x)
    return cast(0.5 * upcast * (1 + _erf(upcast / math.sqrt(2))), as_floating(x).dtype)


def gelu_tanh(x: ArrayT) -> ArrayT:
    """Tanh approximation of GELU, as in GPT-2.

        x/2 · (1 + tanh(√(2/π) · (x + 0.044715 x³)))

    Shapes
        x       (..., size)
        return  (..., size)

    >>> import numpy as np
    >>> gelu_tanh(np.array([0.0, 1.0])).round(4).tolist()
    [0.0, 0.8412]

    Source   Hendrycks and Gimpel 2016, section 2
    """
    xp = array_namespace(x)
    upcast = at_least_float32(x)
    inner = math.sqrt(2 / math.pi) * (upcast + 0.044715 * upcast * upcast * upcast)
    return cast(0.5 * upcast * (1 + xp.tanh(inner)), as_floating(x).dtype)


def _erf(x: Any) -> Any:
    """Error function, which the array API standard lacks."""
    if is_torch(x):
        import torch

        return torch.erf(x)
    if array_api_compat.is_jax_array(x):
        import jax

        return jax.lax.erf(x)
    xp = array_namespace(x)
    if xp.__name__ == "mlx.core":
        return xp.erf(x)
    return _erf_numpy(x)


# erf(x) ≈ x · P(x²) / Q(x²), coefficients from the lowest power up: relative error 2.6e-9 for |x| ≤ 4. Beyond that erf is ±1 in float32.
_ERF_P = (1.128379169974637, 0.19287878567887703, 0.055749579222003576, 0.004226494737127478, 0.00041127936938220653, 6.79141567825577e-06)
_ERF_Q = (1.0, 0.5042678070951707, 0.1174953984970793, 0.016295154841232545, 0.001421209909348394, 7.256427695850153e-05, 2.6048835244019924e-07)  # fmt: skip
_ERF_CHUNK = 16384
"""Number of values per pass, small enough for the CPU cache."""


def _erf_numpy(x: numpy.ndarray) -> numpy.ndarray:
    """Error function for NumPy: math.erf in float64; otherwise a rational approximation, within one float32 ulp."""
    import numpy

    if x.dtype == numpy.float64:
        return numpy.vectorize(math.erf, otypes=[x.dtype])(x) if x.size else x
    values, result = numpy.reshape(x, -1), numpy.empty(x.size, x.dtype)
    for first in range(0, x.size, _ERF_CHUNK):
        chunk = numpy.clip(values[first : first + _ERF_CHUNK].astype(numpy.float64), -4, 4)
        square = chunk * chunk
        result[first : first + _ERF_CHUNK] = chunk * _polynomial(_ERF_P, square) / _polynomial(_ERF_Q, square)
    return numpy.reshape(result, x.shape)


def _polynomial(coefficients: Sequence[float], x: numpy.ndarray) -> numpy.ndarray:
    """Evaluate a polynomial by Horner's rule, in place: one more copy per power would not fit in the CPU cache."""
    value = coefficients[-1] * x
    for coefficient in coefficients[-2:0:-1]:
        value += coefficient
        value *= x
    value += coefficients[0]
    return value
