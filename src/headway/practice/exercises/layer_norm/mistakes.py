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
    TEXTS.mistake("variance_unbiased", {"variance": lambda x, mean: x.var(-1, ddof=1, keepdims=True)}, pattern=r"var\(|std\(|- *1"),
    TEXTS.mistake("eps_outside_root", {"root": lambda variance, eps: numpy.sqrt(variance) + eps}, pattern=r"sqrt|std|\*\* *0?\.5|eps"),
    TEXTS.mistake("eps_missing", {"eps": lambda given: 0.0}, pattern=r"sqrt|std|\*\*"),
    TEXTS.mistake("eps_ignored", {"eps": lambda given: EPS}, pattern=r"1e-|sqrt"),
    TEXTS.mistake("eps_subtracted", {"root": lambda variance, eps: numpy.sqrt(variance - eps)}, pattern=r"- *eps"),
    TEXTS.mistake("root_missing", {"root": lambda variance, eps: variance + eps}, pattern=r"/|var"),
    TEXTS.mistake("square_for_root", {"root": lambda variance, eps: (variance + eps) ** 2}, pattern=r"\*\* *2|square|pow"),
    TEXTS.mistake("multiplied_by_root", {"divide": lambda centred, root, x: centred * root}, pattern=r"\*|rsqrt"),
    TEXTS.mistake("not_divided", {"divide": lambda centred, root, x: centred}, pattern=r"mean"),
    TEXTS.mistake("mean_not_subtracted", {"centre": lambda x, mean: x}, pattern=r"/"),
    TEXTS.mistake("mean_of_squares", {"variance": lambda x, mean: (x**2).mean(-1, keepdims=True)}, pattern=r"\*\* *2|square|pow"),
    TEXTS.mistake(
        "rms_norm", {"centre": lambda x, mean: x, "variance": lambda x, mean: (x**2).mean(-1, keepdims=True)}, pattern=r"\*\* *2|square|pow"
    ),
    TEXTS.mistake("sum_for_mean_of_squares", {"variance": lambda x, mean: ((x - mean) ** 2).sum(-1, keepdims=True)}, pattern=r"sum\("),
    TEXTS.mistake("absolute_deviation", {"variance": lambda x, mean: numpy.abs(x - mean).mean(-1, keepdims=True) ** 2}, pattern=r"abs"),
    TEXTS.mistake(
        "minimum_and_maximum",
        {"divide": lambda centred, root, x: (x - x.min(-1, keepdims=True)) / (x.max(-1, keepdims=True) - x.min(-1, keepdims=True))},
        pattern=r"min|max",
    ),
    TEXTS.mistake("first_axis", _over(0), pattern=AXIS),
    TEXTS.mistake("second_axis", _over(1), pattern=AXIS),
    TEXTS.mistake("all_axes", _over(None), pattern=r"mean\(|var\(|std\("),
    TEXTS.mistake(
        "all_axes_but_the_first",
        {
            "mean": lambda x: x.mean(tuple(range(1, x.ndim)), keepdims=True),
            "variance": lambda x, mean: variance(x, tuple(range(1, x.ndim))),
        },
        pattern=AXIS,
    ),
    TEXTS.mistake("first_axis_in_variance", {"variance": lambda x, mean: variance(x, 0)}, pattern=r"var\(|std\("),
    TEXTS.mistake("all_axes_in_variance", {"variance": lambda x, mean: variance(x, None)}, pattern=r"var\(|std\("),
    TEXTS.mistake("no_keepdims_in_mean", {"mean": lambda x: x.mean(-1)}, pattern=r"mean\("),
    TEXTS.mistake(
        "no_keepdims_in_mean_used_twice",
        {"mean": lambda x: x.mean(-1), "variance": lambda x, mean: ((x - mean) ** 2).mean(-1, keepdims=True)},
        pattern=r"mean\(",
    ),
    TEXTS.mistake("no_keepdims_in_variance", {"variance": lambda x, mean: variance(x, -1, False)}, pattern=r"var\(|std\("),
    TEXTS.mistake(
        "no_keepdims", {"mean": lambda x: x.mean(-1), "variance": lambda x, mean: variance(x, -1, False)}, pattern=r"mean\(|var\(|std\("
    ),
    TEXTS.mistake("weight_missing", {"scale": lambda normed, weight, bias: normed}, pattern=r"return"),
    TEXTS.mistake("bias_missing", {"shift": lambda scaled, bias, weight: scaled}, pattern=r"return"),
    TEXTS.mistake(
        "weight_and_bias_missing",
        {"scale": lambda normed, weight, bias: normed, "shift": lambda scaled, bias, weight: scaled},
        pattern=r"return",
    ),
    TEXTS.mistake(
        "weight_and_bias_exchanged",
        {
            "scale": lambda normed, weight, bias: normed * (weight if bias is None else bias),
            "shift": lambda scaled, bias, weight: scaled + weight,
        },
        pattern=r"\*|\+",
    ),
    TEXTS.mistake(
        "bias_before_weight",
        {"scale": lambda normed, weight, bias: normed, "shift": lambda scaled, bias, weight: (scaled + bias) * weight},
        pattern=r"\+.*\)|\*",
    ),
    TEXTS.mistake(
        "weight_before_norm",
        {"before": lambda x, weight: x if weight is None else x * weight, "scale": lambda normed, weight, bias: normed},
        pattern=r"\*",
    ),
    TEXTS.mistake("weight_added", {"scale": lambda normed, weight, bias: normed + weight}, pattern=r"\+"),
    TEXTS.mistake("one_plus_weight", {"scale": lambda normed, weight, bias: normed * (1 + weight)}, pattern=r"1(\.0)? *\+|\+ *1"),
    TEXTS.mistake(
        "weight_per_row", {"scale": lambda normed, weight, bias: normed * weight[:, None]}, pattern=r"None|newaxis|reshape|unsqueeze"
    ),
    TEXTS.mistake(
        "computed_in_half_precision",
        {"promote": lambda x: x.astype(numpy.float16), "finish": lambda answer: answer.astype(numpy.float16)},
        pattern=r"16|half",
    ),
)
