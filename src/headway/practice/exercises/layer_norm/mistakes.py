"""What people get wrong in layer norm."""

from __future__ import annotations

from typing import Any

import numpy

from headway.practice.exercises.layer_norm.steps import EPS, variance
from headway.practice.message import Message
from headway.practice.recipes.norms import LARGE, MATRIX, ONES, SQUARE, ZEROS, mistake

USE = Message(
    "(x - mean) / sqrt(var + eps) * weight + bias, with mean and var over the last axis",
    "(x - mean) / sqrt(var + eps) * weight + bias，均值与方差都沿最后一轴",
)
LAST = Message("take mean and variance over the last axis, with keepdims=True", "均值与方差都沿最后一轴计算，并保留轴（keepdims=True）")
ROOT = Message("divide by sqrt(var + eps)", "应除以 sqrt(var + eps)")
AXIS = r"axis|dim|\(0|\(1"


def _over(axis: Any) -> dict[str, Any]:
    """Mean and variance over other axes."""
    return {"mean": lambda x: x.mean(axis, keepdims=True), "variance": lambda x, mean: variance(x, axis)}


MISTAKES = (
    mistake(
        "variance_unbiased",
        {"variance": lambda x, mean: x.var(-1, ddof=1, keepdims=True)},
        (
            "the variance is divided by n - 1, not by n (ddof=1, or torch.var without unbiased=False)",
            "方差除以了 n - 1 而不是 n（ddof=1，或 torch.var 没有写 unbiased=False）",
        ),
        Message("use ddof=0, in torch unbiased=False (correction=0)", "使用 ddof=0；在 torch 中写 unbiased=False（correction=0）"),
        Message("the wider the vector, the smaller the difference: 1/(2n)", "向量越宽差别越小，约为 1/(2n)"),
        r"var\(|std\(|- *1",
    ),
    mistake(
        "eps_outside_root",
        {"root": lambda variance, eps: numpy.sqrt(variance) + eps},
        ("eps is added to the root, not under it: √var + eps", "eps 加在了根号外面：√var + eps"),
        ROOT,
        LARGE,
        r"sqrt|std|\*\* *0?\.5|eps",
    ),
    mistake(
        "eps_missing",
        {"eps": lambda given: 0.0},
        ("there is no eps: a vector of equal numbers becomes 0/0 = NaN", "没有 eps：各数相同的向量会变成 0/0 = NaN"),
        ROOT,
        Message("only vectors that hardly vary show it", "只有几乎不变化的向量才看得出来"),
        r"sqrt|std|\*\*",
    ),
    mistake(
        "eps_ignored",
        {"eps": lambda given: EPS},
        ("the argument eps is not used", "参数 eps 没有用上"),
        ROOT,
        LARGE,
        r"1e-|sqrt",
    ),
    mistake(
        "eps_subtracted",
        {"root": lambda variance, eps: numpy.sqrt(variance - eps)},
        ("eps is subtracted under the root: a vector of equal numbers becomes NaN", "根号里减去了 eps：各数相同的向量会变成 NaN"),
        ROOT,
        LARGE,
        r"- *eps",
    ),
    mistake(
        "root_missing",
        {"root": lambda variance, eps: variance + eps},
        ("it divides by the variance: the square root is missing", "除以的是方差：没有开平方"),
        ROOT,
        Message("where the variance is 1 the answer is right", "方差为 1 时结果是对的"),
        r"/|var",
    ),
    mistake(
        "square_for_root",
        {"root": lambda variance, eps: (variance + eps) ** 2},
        ("it divides by (var + eps)², not by the square root", "除以的是 (var + eps)²，而不是平方根"),
        ROOT,
        Message("where the variance is 1 the answer is right", "方差为 1 时结果是对的"),
        r"\*\* *2|square|pow",
    ),
    mistake(
        "multiplied_by_root",
        {"divide": lambda centred, root, x: centred * root},
        ("it multiplies by the root, where it must divide (or divides by rsqrt)", "乘以了根号，而应除以它（或者除以了 rsqrt）"),
        ROOT,
        Message("where the variance is 1 the answer is right", "方差为 1 时结果是对的"),
        r"\*|rsqrt",
    ),
    mistake(
        "not_divided",
        {"divide": lambda centred, root, x: centred},
        ("only the mean is subtracted: the division by the root is missing", "只减了均值：没有除以标准差"),
        ROOT,
        Message("where the variance is 1 the answer is right", "方差为 1 时结果是对的"),
        r"mean",
    ),
    mistake(
        "mean_not_subtracted",
        {"centre": lambda x, mean: x},
        ("the mean is not subtracted", "没有减去均值"),
        USE,
        Message("where the mean is 0 the answer is right", "均值为 0 时结果是对的"),
        r"/",
    ),
    mistake(
        "mean_of_squares",
        {"variance": lambda x, mean: (x**2).mean(-1, keepdims=True)},
        (
            "the mean of squares is taken for the variance: the mean must be subtracted before squaring",
            "把平方的均值当成了方差：平方之前应先减去均值",
        ),
        Message("use mean((x - mean)²)", "使用 mean((x - mean)²)"),
        Message("where the mean is 0 the two are the same", "均值为 0 时两者相同"),
        r"\*\* *2|square|pow",
    ),
    mistake(
        "rms_norm",
        {"centre": lambda x, mean: x, "variance": lambda x, mean: (x**2).mean(-1, keepdims=True)},
        ("it is RMSNorm: the mean is not subtracted anywhere", "这是 RMSNorm：哪里都没有减去均值"),
        USE,
        Message("where the mean is 0 the two are the same", "均值为 0 时两者相同"),
        r"\*\* *2|square|pow",
    ),
    mistake(
        "sum_for_mean_of_squares",
        {"variance": lambda x, mean: ((x - mean) ** 2).sum(-1, keepdims=True)},
        ("the squares are summed, not averaged: the answer is too small by √n", "平方求了和而没有取平均：结果小了 √n 倍"),
        Message("divide the sum by the width: use mean", "把和除以宽度：使用 mean"),
        None,
        r"sum\(",
    ),
    mistake(
        "absolute_deviation",
        {"variance": lambda x, mean: numpy.abs(x - mean).mean(-1, keepdims=True) ** 2},
        ("the mean of |x - mean| is taken for the standard deviation", "把 |x - mean| 的平均当成了标准差"),
        Message("use the root of the mean of squares", "使用平方均值的平方根"),
        None,
        r"abs",
    ),
    mistake(
        "minimum_and_maximum",
        {"divide": lambda centred, root, x: (x - x.min(-1, keepdims=True)) / (x.max(-1, keepdims=True) - x.min(-1, keepdims=True))},
        ("it brings every vector to 0 … 1 by its minimum and maximum", "用最小值和最大值把每个向量缩放到 0 … 1"),
        USE,
        None,
        r"min|max",
    ),
    mistake(
        "first_axis",
        _over(0),
        (
            "mean and variance run over axis 0, the batch: rows mix (that is batch norm)",
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
            "mean and variance run over axis 1: on (batch, seq, hidden) that is over the positions",
            "均值与方差沿第 1 轴计算：对 (batch, seq, hidden) 来说是跨位置",
        ),
        LAST,
        MATRIX,
        AXIS,
    ),
    mistake(
        "all_axes",
        _over(None),
        ("mean and variance are those of the whole array", "均值与方差取的是整个数组的"),
        LAST,
        Message("for a single vector the two are the same", "只有一个向量时两者相同"),
        r"mean\(|var\(|std\(",
    ),
    mistake(
        "all_axes_but_the_first",
        {
            "mean": lambda x: x.mean(tuple(range(1, x.ndim)), keepdims=True),
            "variance": lambda x, mean: variance(x, tuple(range(1, x.ndim))),
        },
        (
            "mean and variance run over all axes but the batch: the tokens of a sequence mix",
            "均值与方差沿批以外的所有轴计算：序列中的词元混在了一起",
        ),
        LAST,
        Message("on a matrix the two are the same", "对矩阵来说两者相同"),
        AXIS,
    ),
    mistake(
        "first_axis_in_variance",
        {"variance": lambda x, mean: variance(x, 0)},
        ("the variance runs over axis 0, the mean over the last", "方差沿第 0 轴，均值沿最后一轴"),
        LAST,
        None,
        r"var\(|std\(",
    ),
    mistake(
        "all_axes_in_variance",
        {"variance": lambda x, mean: variance(x, None)},
        ("the variance is that of the whole array", "方差取的是整个数组的"),
        LAST,
        Message("for a single vector the two are the same", "只有一个向量时两者相同"),
        r"var\(|std\(",
    ),
    mistake(
        "no_keepdims_in_mean",
        {"mean": lambda x: x.mean(-1)},
        (
            "the mean lost its axis (no keepdims): each row gets other rows' means",
            "均值丢掉了轴（没有 keepdims）：每一行减去的是别的行的均值",
        ),
        LAST,
        SQUARE,
        r"mean\(",
    ),
    mistake(
        "no_keepdims_in_mean_used_twice",
        {"mean": lambda x: x.mean(-1), "variance": lambda x, mean: ((x - mean) ** 2).mean(-1, keepdims=True)},
        ("the mean lost its axis (no keepdims), and the variance is computed from it", "均值丢掉了轴（没有 keepdims），方差又由它算出"),
        LAST,
        SQUARE,
        r"mean\(",
    ),
    mistake(
        "no_keepdims_in_variance",
        {"variance": lambda x, mean: variance(x, -1, False)},
        (
            "the variance lost its axis (no keepdims): each row gets other rows' variances",
            "方差丢掉了轴（没有 keepdims）：每一行用的是别的行的方差",
        ),
        LAST,
        SQUARE,
        r"var\(|std\(",
    ),
    mistake(
        "no_keepdims",
        {"mean": lambda x: x.mean(-1), "variance": lambda x, mean: variance(x, -1, False)},
        ("mean and variance lost their axis (no keepdims)", "均值与方差都丢掉了轴（没有 keepdims）"),
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
        Message("weights of one and biases of zero, with which every norm begins, do not show it", "权重初始为 1、偏置初始为 0 时看不出来"),
        r"return",
    ),
    mistake(
        "weight_and_bias_exchanged",
        {
            "scale": lambda normed, weight, bias: normed * (weight if bias is None else bias),
            "shift": lambda scaled, bias, weight: scaled + weight,
        },
        ("weight and bias have changed places: it multiplies by beta and adds gamma", "权重与偏置互换了：乘的是 beta，加的是 gamma"),
        USE,
        None,
        r"\*|\+",
    ),
    mistake(
        "bias_before_weight",
        {"scale": lambda normed, weight, bias: normed, "shift": lambda scaled, bias, weight: (scaled + bias) * weight},
        ("the bias is added before the weight multiplies: it is scaled as well", "先加了偏置再乘权重：偏置也被缩放了"),
        USE,
        ZEROS,
        r"\+.*\)|\*",
    ),
    mistake(
        "weight_before_norm",
        {"before": lambda x, weight: x if weight is None else x * weight, "scale": lambda normed, weight, bias: normed},
        ("the weight multiplies x before the norm, which divides most of it out again", "权重在归一化之前就乘上了，又几乎被归一化除掉"),
        USE,
        ONES,
        r"\*",
    ),
    mistake(
        "weight_added",
        {"scale": lambda normed, weight, bias: normed + weight},
        ("the weight is added where it must multiply", "权重应相乘却加上了"),
        USE,
        None,
        r"\+",
    ),
    mistake(
        "one_plus_weight",
        {"scale": lambda normed, weight, bias: normed * (1 + weight)},
        (
            "it multiplies by 1 + weight: weights of zero then change nothing, but a stored weight of one counts double",
            "乘的是 1 + weight：权重存成 0 才表示不变，存成 1 的权重会被算成 2",
        ),
        Message("multiply by the weight itself", "应乘以权重本身"),
        None,
        r"1(\.0)? *\+|\+ *1",
    ),
    mistake(
        "weight_per_row",
        {"scale": lambda normed, weight, bias: normed * weight[:, None]},
        ("the weight runs down the rows, not along the vector", "权重沿行的方向，而不是沿向量的方向"),
        Message("one weight per coordinate: no reshape", "每个坐标一个权重：不要改变形状"),
        SQUARE,
        r"None|newaxis|reshape|unsqueeze",
    ),
    mistake(
        "computed_in_half_precision",
        {"promote": lambda x: x.astype(numpy.float16), "finish": lambda answer: answer.astype(numpy.float16)},
        ("it computes in float16, where squares beyond 65504 overflow", "它用 float16 计算，平方超过 65504 就会溢出"),
        Message("compute in float32", "请用 float32 计算"),
        Message("small numbers are off in the fourth decimal alone", "数值小时只有第四位小数不对"),
        r"16|half",
    ),
)
