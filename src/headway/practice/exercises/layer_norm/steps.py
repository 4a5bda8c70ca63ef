"""The steps of layer norm."""

from __future__ import annotations

from typing import Any

import numpy

from headway.practice.recipes.norms import eps_of

EPS = 1e-5


def variance(x: Any, axis: Any = -1, keepdims: bool = True) -> Any:
    """Return the mean squared deviation from the mean, divided by n."""
    return x.var(axis, keepdims=keepdims)


STEPS = {
    "promote": lambda x: x.astype(numpy.float64),
    "before": lambda x, weight: x,
    "mean": lambda x: x.mean(-1, keepdims=True),
    "centre": lambda x, mean: x - mean,
    "variance": lambda x, mean: variance(x),
    "eps": eps_of(EPS),
    "root": lambda variance, eps: numpy.sqrt(variance + eps),
    "divide": lambda centred, root, x: centred / root,
    "scale": lambda normed, weight, bias: normed * weight,
    "shift": lambda scaled, bias, weight: scaled + bias,
    "finish": lambda answer: answer,
}
