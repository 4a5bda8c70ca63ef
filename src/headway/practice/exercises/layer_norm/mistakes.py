"""Common mistakes in layer norm."""

from __future__ import annotations

from typing import Any

import numpy

from headway.practice.exercises.layer_norm.steps import EPS, variance
from headway.practice.message import Message
from headway.practice.recipes.norms import LARGE, MATRIX, ONES, SQUARE, ZEROS, mistake

USE = Message(
    "compute (x - mean) / sqrt(var + eps) * weight + bias, with mean and var over the last axis",
    "计算 (x - mean) / sqrt(var + eps) * weight + bias，均值与方差都沿最后一轴",
)
LAST = Message("compute mean and variance over the last axis, with keepdims=True", "均值与方差都沿最后一轴计算，并设 keepdims=True")
ROOT = Message("divide by sqrt(var + eps)", "除以 sqrt(var + eps)")
AXIS = r"axis|dim|\(0|\(1"


def _over(axis: Any) -> dict[str, Any]:
    """Return steps with mean and variance over other axes."""
    return {"mean": lambda x: x.mean(axis, keepdims=True), "variance": lambda x, mean: variance(x, axis)}


MISTAKES = (
    mistake(
        "variance_unbiased",
        {"variance": lambda x, mean: x.var(-1, ddof=1, keepdims=True)},
        (
            "the variance divides by n - 1 instead of n (ddof=1, or torch.var without unbiased=False)",
            "方差除以了 n - 1 而不是 n（ddof=1，或 torch.var 没有写 unbiased=False）",
        ),
        Message("use ddof=0; in torch unbiased=False (correction=0)", "使用 ddof=0；在 torch 中写 unbiased=False（correction=0）"),
        Message("the relative difference is about 1/(2n), so it is small for wide vectors", "相对误差约为 1/(2n)，向量越宽越小"),
        r"var\(|std\(|- *1",
    ),
    mistake(
        "eps_outside_root",
        {"root": lambda variance, eps: numpy.sqrt(variance) + eps},
        ("adds eps outside the square root: √var + eps instead of √(var + eps)", "eps 加在了根号外面：√var + eps，而应为 √(var + eps)"),
        ROOT,
        LARGE,
        r"sqrt|std|\*\* *0?\.5|eps",
    ),
    mistake(
        "eps_missing",
        {"eps": lambda given: 0.0},
        ("eps is missing: a vector of equal numbers becomes 0/0 = NaN", "没有 eps：元素全相同的向量会变成 0/0 = NaN"),
        ROOT,
        Message("the mistake is visible only for vectors with almost no variance", "只有方差几乎为零的向量才看得出来"),
        r"sqrt|std|\*\*",
    ),
    mistake(
        "eps_ignored",
        {"eps": lambda given: EPS},
        ("the argument eps is not used", "没有使用参数 eps"),
        ROOT,
        LARGE,
        r"1e-|sqrt",
    ),
    mistake(
        "eps_subtracted",
        {"root": lambda variance, eps: numpy.sqrt(variance - eps)},
        ("subtracts eps inside the square root: a vector of equal numbers becomes NaN", "根号里减去了 eps：元素全相同的向量会变成 NaN"),
        ROOT,
        LARGE,
        r"- *eps",
    ),
    mistake(
        "root_missing",
        {"root": lambda variance, eps: variance + eps},
        ("divides by the variance: the square root is missing", "除以的是方差：没有开平方"),
        ROOT,
        Message("the output is correct when the variance is 1", "方差为 1 时结果正确"),
        r"/|var",
    ),
    mistake(
        "square_for_root",
        {"root": lambda variance, eps: (variance + eps) ** 2},
        ("divides by (var + eps)² instead of the square root", "除以的是 (var + eps)²，而不是平方根"),
        ROOT,
        Message("the output is correct when the variance is 1", "方差为 1 时结果正确"),
        r"\*\* *2|square|pow",
    ),
    mistake(
        "multiplied_by_root",
        {"divide": lambda centred, root, x: centred * root},
        ("multiplies by the square root instead of dividing by it (or divides by rsqrt)", "乘以了平方根，而应除以它（或者除以了 rsqrt）"),
        ROOT,
        Message("the output is correct when the variance is 1", "方差为 1 时结果正确"),
        r"\*|rsqrt",
    ),
    mistake(
        "not_divided",
        {"divide": lambda centred, root, x: centred},
        ("subtracts the mean but does not divide by the standard deviation", "只减了均值，没有除以标准差"),
        ROOT,
        Message("the output is correct when the variance is 1", "方差为 1 时结果正确"),
        r"mean",
    ),
    mistake(
        "mean_not_subtracted",
        {"centre": lambda x, mean: x},
        ("the mean is not subtracted", "没有减去均值"),
        USE,
        Message("the output is correct when the mean is 0", "均值为 0 时结果正确"),
        r"/",
    ),
    mistake(
        "mean_of_squares",
        {"variance": lambda x, mean: (x**2).mean(-1, keepdims=True)},
        (
            "uses the mean of squares as the variance: the mean must be subtracted before squaring",
            "把平方的均值当成了方差：应先减去均值再平方",
        ),
        Message("use mean((x - mean)²)", "使用 mean((x - mean)²)"),
        Message("the output is the same when the mean is 0", "均值为 0 时两者相同"),
        r"\*\* *2|square|pow",
    ),
    mistake(
        "rms_norm",
        {"centre": lambda x, mean: x, "variance": lambda x, mean: (x**2).mean(-1, keepdims=True)},
        ("computes RMSNorm: the mean is never subtracted", "算的是 RMSNorm：没有减去均值"),
        USE,
        Message("the output is the same when the mean is 0", "均值为 0 时两者相同"),
        r"\*\* *2|square|pow",
    ),
    mistake(
        "sum_for_mean_of_squares",
        {"variance": lambda x, mean: ((x - mean) ** 2).sum(-1, keepdims=True)},
        (
            "sums the squared deviations instead of averaging them: the output is too small by a factor of √n",
            "对偏差平方求了和，而没有取平均：输出只有应有值的 1/√n",
        ),
        Message("divide the sum by the width: use mean", "把和除以宽度，即用 mean"),
        None,
        r"sum\(",
    ),
    mistake(
        "absolute_deviation",
        {"variance": lambda x, mean: numpy.abs(x - mean).mean(-1, keepdims=True) ** 2},
        ("uses the mean of |x - mean| as the standard deviation", "把 |x - mean| 的平均当成了标准差"),
        Message("use the square root of the mean of squares", "使用平方均值的平方根"),
        None,
        r"abs",
    ),
    mistake(
        "minimum_and_maximum",
        {"divide": lambda centred, root, x: (x - x.min(-1, keepdims=True)) / (x.max(-1, keepdims=True) - x.min(-1, keepdims=True))},
        ("rescales each vector to 0 … 1 by its minimum and maximum", "用最小值和最大值把每个向量缩放到 0 … 1"),
        USE,
        None,
        r"min|max",
    ),
    mistake(
        "first_axis",
        _over(0),
        (
            "computes mean and variance over axis 0, the batch: this mixes rows (batch norm)",
            "均值与方差沿第 0 轴（批）计算：各行混在了一起（那是 batch norm）",
        ),
        LAST,
        None,
        AXIS,
    ),
    mistake(
        "second_axis",
        _over(1),
        (
            "computes mean and variance over axis 1, which is the position axis of (batch, seq, hidden)",
            "均值与方差沿第 1 轴计算：对 (batch, seq, hidden) 来说那是位置的轴",
        ),
        LAST,
        MATRIX,
        AXIS,
    ),
    mistake(
        "all_axes",
        _over(None),
        ("computes mean and variance over the whole array", "均值与方差取的是整个数组的"),
        LAST,
        Message("the output is the same for a single vector", "只有一个向量时两者相同"),
        r"mean\(|var\(|std\(",
    ),
    mistake(
        "all_axes_but_the_first",
        {
            "mean": lambda x: x.mean(tuple(range(1, x.ndim)), keepdims=True),
            "variance": lambda x, mean: variance(x, tuple(range(1, x.ndim))),
        },
        (
            "computes mean and variance over all axes except the batch: this mixes the tokens of a sequence",
            "均值与方差沿批以外的所有轴计算：序列中的词元混在了一起",
        ),
        LAST,
        Message("the output is the same for a matrix", "对矩阵来说两者相同"),
        AXIS,
    ),
    mistake(
        "first_axis_in_variance",
        {"variance": lambda x, mean: variance(x, 0)},
        ("computes the variance over axis 0, the mean over the last axis", "方差沿第 0 轴计算，均值沿最后一轴计算"),
        LAST,
        None,
        r"var\(|std\(",
    ),
    mistake(
        "all_axes_in_variance",
        {"variance": lambda x, mean: variance(x, None)},
        ("computes the variance over the whole array", "方差取的是整个数组的"),
        LAST,
        Message("the output is the same for a single vector", "只有一个向量时两者相同"),
        r"var\(|std\(",
    ),
    mistake(
        "no_keepdims_in_mean",
        {"mean": lambda x: x.mean(-1)},
        (
            "the mean drops its axis (no keepdims): each row uses the means of other rows",
            "均值丢掉了该轴（没有 keepdims）：每一行减去的是其他行的均值",
        ),
        LAST,
        SQUARE,
        r"mean\(",
    ),
    mistake(
        "no_keepdims_in_mean_used_twice",
        {"mean": lambda x: x.mean(-1), "variance": lambda x, mean: ((x - mean) ** 2).mean(-1, keepdims=True)},
        ("the mean drops its axis (no keepdims), and the variance is computed from it", "均值丢掉了该轴（没有 keepdims），方差又由它算出"),
        LAST,
        SQUARE,
        r"mean\(",
    ),
    mistake(
        "no_keepdims_in_variance",
        {"variance": lambda x, mean: variance(x, -1, False)},
        (
            "the variance drops its axis (no keepdims): each row uses the variances of other rows",
            "方差丢掉了该轴（没有 keepdims）：每一行用的是其他行的方差",
        ),
        LAST,
        SQUARE,
        r"var\(|std\(",
    ),
    mistake(
        "no_keepdims",
        {"mean": lambda x: x.mean(-1), "variance": lambda x, mean: variance(x, -1, False)},
        ("mean and variance drop their axis (no keepdims)", "均值与方差都丢掉了该轴（没有 keepdims）"),
        LAST,
        SQUARE,
        r"mean\(|var\(|std\(",
    ),
    mistake(
        "weight_missing",
        {"scale": lambda normed, weight, bias: normed},
        ("the weight (gamma) is never applied", "没有乘权重（gamma）"),
        USE,
        ONES,
        r"return",
    ),
    mistake(
        "bias_missing",
        {"shift": lambda scaled, bias, weight: scaled},
        ("the bias (beta) is never added", "没有加偏置（beta）"),
        USE,
        ZEROS,
        r"return",
    ),
    mistake(
        "weight_and_bias_missing",
        {"scale": lambda normed, weight, bias: normed, "shift": lambda scaled, bias, weight: scaled},
        ("neither weight (gamma) nor bias (beta) is applied", "既没有乘权重（gamma），也没有加偏置（beta）"),
        USE,
        Message(
            "the mistake is not visible with the initial weights of one and biases of zero", "权重为初始值 1、偏置为初始值 0 时看不出来"
        ),
        r"return",
    ),
    mistake(
        "weight_and_bias_exchanged",
        {
            "scale": lambda normed, weight, bias: normed * (weight if bias is None else bias),
            "shift": lambda scaled, bias, weight: scaled + weight,
        },
        ("weight and bias are swapped: multiplies by beta and adds gamma", "权重与偏置互换了：乘的是 beta，加的是 gamma"),
        USE,
        None,
        r"\*|\+",
    ),
    mistake(
        "bias_before_weight",
        {"scale": lambda normed, weight, bias: normed, "shift": lambda scaled, bias, weight: (scaled + bias) * weight},
        ("adds the bias before multiplying by the weight: the bias is scaled too", "先加偏置再乘权重：偏置也被缩放了"),
        USE,
        ZEROS,
        r"\+.*\)|\*",
    ),
    mistake(
        "weight_before_norm",
        {"before": lambda x, weight: x if weight is None else x * weight, "scale": lambda normed, weight, bias: normed},
        (
            "multiplies x by the weight before the norm, which cancels most of its effect",
            "在归一化之前就乘上了权重，归一化又抵消了大部分作用",
        ),
        USE,
        ONES,
        r"\*",
    ),
    mistake(
        "weight_added",
        {"scale": lambda normed, weight, bias: normed + weight},
        ("adds the weight instead of multiplying by it", "权重应相乘，却加上了"),
        USE,
        None,
        r"\+",
    ),
    mistake(
        "one_plus_weight",
        {"scale": lambda normed, weight, bias: normed * (1 + weight)},
        (
            "multiplies by 1 + weight: a stored weight of one counts double",
            "乘的是 1 + weight：存为 1 的权重被当成了 2",
        ),
        Message("multiply by weight, not by 1 + weight", "乘以 weight，而不是 1 + weight"),
        None,
        r"1(\.0)? *\+|\+ *1",
    ),
    mistake(
        "weight_per_row",
        {"scale": lambda normed, weight, bias: normed * weight[:, None]},
        ("applies the weight along the rows instead of along the vector", "权重沿行的方向起作用，而不是沿向量的方向"),
        Message("use one weight per feature, without a reshape", "每个特征一个权重，不要改变形状"),
        SQUARE,
        r"None|newaxis|reshape|unsqueeze",
    ),
    mistake(
        "computed_in_half_precision",
        {"promote": lambda x: x.astype(numpy.float16), "finish": lambda answer: answer.astype(numpy.float16)},
        ("computes in float16, where squares above 65504 overflow", "用 float16 计算，平方超过 65504 就会溢出"),
        Message("compute in float32", "用 float32 计算"),
        Message("for small numbers only the fourth digit is wrong", "数值小时只有第四位数字不对"),
        r"16|half",
    ),
)
