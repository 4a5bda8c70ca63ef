"""Common mistakes in layer norm."""

from __future__ import annotations

from typing import Any

import numpy

from headway.practice.exercises.layer_norm.steps import EPS, variance
from headway.practice.texts import Texts

TEXTS = Texts("layer_norm")

ROOT = TEXTS["root"]
AXIS = r"axis|dim|\(0|\(1"


def _over(axis: Any) -> dict[str, Any]:
    """Return steps with mean and variance over other axes."""
    return {"mean": lambda x: x.mean(axis, keepdims=True), "variance": lambda x, mean: variance(x, axis)}


MISTAKES = (
    TEXTS.mistake("variance_unbiased", {"variance": lambda x, mean: x.var(-1, ddof=1, keepdims=True)}),
    TEXTS.mistake("eps_outside_root", {"root": lambda variance, eps: numpy.sqrt(variance) + eps}),
    TEXTS.mistake("eps_missing", {"eps": lambda given: 0.0}),
    TEXTS.mistake("eps_ignored", {"eps": lambda given: EPS}),
    TEXTS.mistake("eps_subtracted", {"root": lambda variance, eps: numpy.sqrt(variance - eps)}),
    TEXTS.mistake("root_missing", {"root": lambda variance, eps: variance + eps}),
    TEXTS.mistake("square_for_root", {"root": lambda variance, eps: (variance + eps) ** 2}),
    TEXTS.mistake("multiplied_by_root", {"divide": lambda centred, root, x: centred * root}),
    TEXTS.mistake("not_divided", {"divide": lambda centred, root, x: centred}),
    TEXTS.mistake("mean_not_subtracted", {"centre": lambda x, mean: x}),
    TEXTS.mistake("mean_of_squares", {"variance": lambda x, mean: (x**2).mean(-1, keepdims=True)}),
    TEXTS.mistake("rms_norm", {"centre": lambda x, mean: x, "variance": lambda x, mean: (x**2).mean(-1, keepdims=True)}),
    TEXTS.mistake("sum_for_mean_of_squares", {"variance": lambda x, mean: ((x - mean) ** 2).sum(-1, keepdims=True)}),
    TEXTS.mistake("absolute_deviation", {"variance": lambda x, mean: numpy.abs(x - mean).mean(-1, keepdims=True) ** 2}),
    TEXTS.mistake(
        "minimum_and_maximum",
        {"divide": lambda centred, root, x: (x - x.min(-1, keepdims=True)) / (x.max(-1, keepdims=True) - x.min(-1, keepdims=True))},
    ),
    TEXTS.mistake("first_axis", _over(0)),
    TEXTS.mistake("second_axis", _over(1)),
    TEXTS.mistake("all_axes", _over(None)),
    TEXTS.mistake(
        "all_axes_but_the_first",
        {
            "mean": lambda x: x.mean(tuple(range(1, x.ndim)), keepdims=True),
            "variance": lambda x, mean: variance(x, tuple(range(1, x.ndim))),
        },
    ),
    TEXTS.mistake("first_axis_in_variance", {"variance": lambda x, mean: variance(x, 0)}),
    TEXTS.mistake("all_axes_in_variance", {"variance": lambda x, mean: variance(x, None)}),
    TEXTS.mistake("no_keepdims_in_mean", {"mean": lambda x: x.mean(-1)}),
    TEXTS.mistake(
        "no_keepdims_in_mean_used_twice",
        {"mean": lambda x: x.mean(-1), "variance": lambda x, mean: ((x - mean) ** 2).mean(-1, keepdims=True)},
    ),
    TEXTS.mistake("no_keepdims_in_variance", {"variance": lambda x, mean: variance(x, -1, False)}),
    TEXTS.mistake("no_keepdims", {"mean": lambda x: x.mean(-1), "variance": lambda x, mean: variance(x, -1, False)}),
    TEXTS.mistake("weight_missing", {"scale": lambda normed, weight, bias: normed}),
    TEXTS.mistake("bias_missing", {"shift": lambda scaled, bias, weight: scaled}),
    TEXTS.mistake("weight_and_bias_missing", {"scale": lambda normed, weight, bias: normed, "shift": lambda scaled, bias, weight: scaled}),
    TEXTS.mistake(
        "weight_and_bias_exchanged",
        {
            "scale": lambda normed, weight, bias: normed * (weight if bias is None else bias),
            "shift": lambda scaled, bias, weight: scaled + weight,
        },
    ),
    TEXTS.mistake(
        "bias_before_weight", {"scale": lambda normed, weight, bias: normed, "shift": lambda scaled, bias, weight: (scaled + bias) * weight}
    ),
    TEXTS.mistake(
        "weight_before_norm",
        {"before": lambda x, weight: x if weight is None else x * weight, "scale": lambda normed, weight, bias: normed},
    ),
    TEXTS.mistake("weight_added", {"scale": lambda normed, weight, bias: normed + weight}),
    TEXTS.mistake("one_plus_weight", {"scale": lambda normed, weight, bias: normed * (1 + weight)}),
    TEXTS.mistake("weight_per_row", {"scale": lambda normed, weight, bias: normed * weight[:, None]}),
    TEXTS.mistake(
        "computed_in_half_precision", {"promote": lambda x: x.astype(numpy.float16), "finish": lambda answer: answer.astype(numpy.float16)}
    ),
)
