"""rms_norm: x / √(mean x² + eps) · weight."""

from __future__ import annotations

from typing import Any

import numpy

from headway import functions
from headway.practice.exercise import Convention, Exercise, Inputs, Probe, Role
from headway.practice.message import Message
from headway.practice.recipes.norms import (
    HALF,
    LARGE,
    MATRIX,
    ONES,
    RETURNS,
    ROWS,
    SQUARE,
    VECTOR,
    WHOLE,
    eps_conventions,
    eps_of,
    eps_recovery,
    mistake,
    size_roles,
)

EPS = 1e-6


def recipe(steps: Any, x: Any, weight: Any = None, eps: float | None = None) -> Any:
    """The definition as named steps: promote, before, mean_square, eps, root, centre, divide, scale, finish."""
    x = steps.before(steps.promote(x), weight)
    root = steps.root(steps.mean_square(x), steps.eps(eps))
    answer = steps.divide(steps.centre(x), root)
    return steps.finish(answer if weight is None else steps.scale(answer, weight))


STEPS = {
    "promote": lambda x: x.astype(numpy.float64),
    "before": lambda x, weight: x,
    "mean_square": lambda x: (x**2).mean(-1, keepdims=True),
    "eps": eps_of(EPS),
    "root": lambda mean_square, eps: numpy.sqrt(mean_square + eps),
    "centre": lambda x: x,
    "divide": lambda x, root: x / root,
    "scale": lambda normed, weight: normed * weight,
    "finish": lambda answer: answer,
}

USE = Message(
    "compute x / sqrt(mean(x²) + eps) * weight, with the mean over the last axis", "计算 x / sqrt(mean(x²) + eps) * weight，均值沿最后一轴"
)
LAST = Message("compute the mean of squares over the last axis, with keepdims=True", "平方均值沿最后一轴计算，并设 keepdims=True")
ROOT = Message("divide by sqrt(mean(x²) + eps)", "除以 sqrt(mean(x²) + eps)")
UNIT = Message("the output is correct when the mean of squares is 1", "平方均值为 1 时结果正确")
CENTRED = Message("the output is the same when the mean is 0", "均值为 0 时两者相同")


def _over(axis: Any, keepdims: bool = True) -> dict[str, Any]:
    return {"mean_square": lambda x: (x**2).mean(axis(x) if callable(axis) else axis, keepdims=keepdims)}


MISTAKES = (
    mistake(
        "mean_subtracted",
        {"centre": lambda x: x - x.mean(-1, keepdims=True), "mean_square": lambda x: x.var(-1, keepdims=True)},
        ("subtracts the mean: this is LayerNorm", "减去了均值：那是 LayerNorm"),
        USE,
        CENTRED,
        r"mean\(|- ",
    ),
    mistake(
        "mean_subtracted_above_alone",
        {"centre": lambda x: x - x.mean(-1, keepdims=True)},
        ("subtracts the mean from x in the numerator; RMSNorm subtracts nothing", "分子里减去了均值，而 RMSNorm 不减均值"),
        USE,
        CENTRED,
        r"mean\(|- ",
    ),
    mistake(
        "variance_for_mean_square",
        {"mean_square": lambda x: x.var(-1, keepdims=True)},
        ("divides by the standard deviation: the mean is subtracted before squaring", "除以的是标准差：平方之前减去了均值"),
        USE,
        CENTRED,
        r"var\(|std\(",
    ),
    mistake(
        "sum_for_mean",
        {"mean_square": lambda x: (x**2).sum(-1, keepdims=True)},
        (
            "sums the squares instead of averaging them: the output is too small by a factor of √n",
            "对平方求了和，而没有取平均：输出只有应有值的 1/√n",
        ),
        Message("divide the sum by the width: use mean", "把和除以宽度，即用 mean"),
        None,
        r"sum\(|norm",
    ),
    mistake(
        "mean_over_n_minus_one",
        {"mean_square": lambda x: (x**2).sum(-1, keepdims=True) / (x.shape[-1] - 1)},
        ("divides the sum of squares by n - 1 instead of n", "平方和除以了 n - 1 而不是 n"),
        USE,
        Message("the relative difference is about 1/(2n), so it is small for wide vectors", "相对误差约为 1/(2n)，向量越宽越小"),
        r"- *1",
    ),
    mistake(
        "root_missing",
        {"root": lambda mean_square, eps: mean_square + eps},
        ("divides by the mean of squares: the square root is missing", "除以的是平方均值：没有开平方"),
        ROOT,
        UNIT,
        r"/|mean",
    ),
    mistake(
        "square_for_root",
        {"root": lambda mean_square, eps: (mean_square + eps) ** 2},
        ("divides by (mean x² + eps)² instead of the square root", "除以的是 (mean x² + eps)²，而不是平方根"),
        ROOT,
        UNIT,
        r"\*\* *2|square|pow",
    ),
    mistake(
        "multiplied_by_root",
        {"divide": lambda x, root: x * root},
        ("multiplies by the square root instead of dividing by it (or divides by rsqrt)", "乘以了平方根，而应除以它（或者除以了 rsqrt）"),
        Message("divide by sqrt, or multiply by rsqrt", "除以 sqrt，或乘以 rsqrt"),
        UNIT,
        r"\*|rsqrt",
    ),
    mistake(
        "root_returned",
        {"divide": lambda x, root: numpy.broadcast_to(root, x.shape), "scale": lambda normed, weight: normed},
        ("returns the root mean square", "返回的是均方根本身"),
        USE,
        None,
        r"return",
    ),
    mistake(
        "mean_of_root",
        {"mean_square": lambda x: numpy.abs(x).mean(-1, keepdims=True) ** 2},
        ("divides by the mean of |x|: takes the root before the mean", "除以的是 |x| 的平均：先开方再取平均了"),
        Message("square, average, then take the square root", "先平方，再平均，最后开方"),
        None,
        r"abs|sqrt",
    ),
    mistake(
        "not_squared",
        {"mean_square": lambda x: x.mean(-1, keepdims=True)},
        ("does not square x: for a negative mean the square root is NaN", "没有对 x 平方：均值为负时，开方得到 NaN"),
        Message("square, average, then take the square root", "先平方，再平均，最后开方"),
        None,
        r"mean\(",
    ),
    mistake(
        "mean_squared",
        {"mean_square": lambda x: x.mean(-1, keepdims=True) ** 2},
        ("squares the mean instead of averaging the squares", "先平均后平方了：应先平方再平均"),
        Message("square, average, then take the square root", "先平方，再平均，最后开方"),
        None,
        r"mean\(",
    ),
    mistake(
        "eps_missing",
        {"eps": lambda given: 0.0},
        ("eps is missing: a vector of zeros becomes 0/0 = NaN", "没有 eps：零向量会变成 0/0 = NaN"),
        ROOT,
        Message("the mistake is visible only for vectors close to zero", "只有接近零的向量才看得出来"),
        r"sqrt|\*\*",
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
        {"root": lambda mean_square, eps: numpy.sqrt(mean_square - eps)},
        ("subtracts eps inside the square root: a vector of zeros becomes NaN", "根号里减去了 eps：零向量会变成 NaN"),
        ROOT,
        LARGE,
        r"- *eps",
    ),
    mistake(
        "eps_before_mean",
        {"root": lambda mean_square, eps: numpy.sqrt(mean_square), "mean_square": lambda x: ((x + EPS) ** 2).mean(-1, keepdims=True)},
        ("adds eps to x before squaring", "eps 在平方之前就加到了 x 上"),
        ROOT,
        LARGE,
        r"eps",
    ),
    mistake(
        "first_axis",
        _over(0),
        ("computes the mean over axis 0, the batch: this mixes rows", "均值沿第 0 轴（批）计算：各行混在了一起"),
        LAST,
        None,
        r"axis|dim|mean\(",
    ),
    mistake(
        "second_axis",
        _over(1),
        (
            "computes the mean over axis 1, which is the position axis of (batch, seq, hidden)",
            "均值沿第 1 轴计算：对 (batch, seq, hidden) 来说那是位置的轴",
        ),
        LAST,
        MATRIX,
        r"axis|dim|mean\(",
    ),
    mistake(
        "all_axes",
        _over(None),
        ("computes the mean over the whole array", "均值取的是整个数组的"),
        LAST,
        Message("the output is the same for a single vector", "只有一个向量时两者相同"),
        r"mean\(",
    ),
    mistake(
        "all_axes_but_the_first",
        _over(lambda x: tuple(range(1, x.ndim))),
        (
            "computes the mean over all axes except the batch: this mixes the tokens of a sequence",
            "均值沿批以外的所有轴计算：序列中的词元混在了一起",
        ),
        LAST,
        Message("the output is the same for a matrix", "对矩阵来说两者相同"),
        r"axis|dim|mean\(",
    ),
    mistake(
        "no_keepdims",
        _over(-1, False),
        (
            "the mean drops its axis (no keepdims): each row is divided by the root mean squares of other rows",
            "均值丢掉了该轴（没有 keepdims）：每一行除以的是其他行的均方根",
        ),
        LAST,
        SQUARE,
        r"mean\(",
    ),
    mistake(
        "weight_missing",
        {"scale": lambda normed, weight: normed},
        ("the weight is never applied", "没有乘权重"),
        USE,
        ONES,
        r"return",
    ),
    mistake(
        "weight_before_norm",
        {"before": lambda x, weight: x if weight is None else x * weight, "scale": lambda normed, weight: normed},
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
        {"scale": lambda normed, weight: normed + weight},
        ("adds the weight instead of multiplying by it", "权重应相乘，却加上了"),
        USE,
        None,
        r"\+",
    ),
    mistake(
        "weight_divides",
        {"scale": lambda normed, weight: normed / weight},
        ("divides by the weight instead of multiplying by it", "除以了权重，而应乘以它"),
        USE,
        ONES,
        r"/",
    ),
    mistake(
        "one_plus_weight",
        {"scale": lambda normed, weight: normed * (1 + weight)},
        (
            "multiplies by 1 + weight, as in Gemma, whose weights are stored around 0; Llama's are stored around 1",
            "乘的是 1 + weight，这是 Gemma 的做法：它的权重存在 0 附近，而 Llama 的在 1 附近",
        ),
        Message("multiply by weight, not by 1 + weight", "乘以 weight，而不是 1 + weight"),
        None,
        r"1(\.0)? *\+|\+ *1",
    ),
    mistake(
        "weight_per_row",
        {"scale": lambda normed, weight: normed * weight[:, None]},
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


def probes() -> tuple[Probe, ...]:
    """Inputs with and without weight and eps: a vector, rows of different mean and scale, square ones, three axes, small numbers and zeros."""
    random = numpy.random.default_rng(10)

    def drawn(*shape: int) -> Any:
        return random.standard_normal(shape) * (1 + random.random((*shape[:-1], 1))) + random.standard_normal((*shape[:-1], 1)) * 2

    def weighted(*shape: int) -> Inputs:
        return {"x": drawn(*shape), "weight": random.standard_normal(shape[-1]) + 1.5}

    weight = {"weight": numpy.array([1.0, 2.0, 0.5, 3.0])}
    zeros = numpy.array([[0.0, 0.0, 0.0, 0.0], [1.0, 2.0, 3.0, 5.0]])
    return (
        Probe("vector", {"x": drawn(5)}, VECTOR),
        Probe("rows", {"x": drawn(3, 5)}, ROWS),
        Probe("square", {"x": drawn(4, 4)}, ROWS),
        Probe("three axes", {"x": drawn(2, 3, 4)}, ROWS),
        Probe("small numbers", {"x": drawn(3, 4) * 1e-3}, ROWS),
        Probe("zeros", {"x": zeros}, ROWS),
        Probe("large numbers", {"x": drawn(3, 4) * 400}, ROWS),
        Probe("weighted vector", weighted(5), VECTOR),
        Probe("weighted rows", weighted(3, 5), ROWS),
        Probe("weighted square", weighted(4, 4), ROWS),
        Probe("weighted, three axes", weighted(2, 3, 4), ROWS),
        Probe("weighted, small numbers", weight | {"x": drawn(3, 4) * 1e-3}, ROWS),
        Probe("weighted, zeros", weight | {"x": zeros}, ROWS),
        Probe("weighted, large numbers", weight | {"x": drawn(3, 4) * 400}, ROWS),
        Probe("given eps", {"x": drawn(3, 5), "eps": 0.3}, ROWS),
        Probe("weighted, given eps", weighted(3, 5) | {"eps": 0.3}, ROWS),
        Probe("half precision", {"x": numpy.array([[300.0, -700.0, 500.0, 100.0]], numpy.float16)}, caution=HALF),
        Probe("weighted, half precision", weight | {"x": numpy.array([[300.0, -700.0, 500.0, 100.0]], numpy.float16)}, caution=HALF),
        Probe("whole numbers", {"x": numpy.array([[1, 2, 4, 8]])}, caution=WHOLE),
    )


PLACES = (
    Convention(),
    Convention(
        Message(
            "adds eps outside the square root, √(mean x²) + eps, as some kernels do", "eps 加在根号外面：√(mean x²) + eps，有些内核这样做"
        ),
        steps={"root": lambda mean_square, eps: numpy.sqrt(mean_square) + eps},
    ),
    Convention(
        Message(
            "uses eps as a lower bound of the root mean square, max(√(mean x²), eps), as in torch's normalize",
            "eps 是均方根的下限：max(√(mean x²), eps)，与 torch 的 normalize 相同",
        ),
        steps={"root": lambda mean_square, eps: numpy.maximum(numpy.sqrt(mean_square), eps)},
    ),
)

EXERCISE = Exercise(
    name="rms_norm",
    title=Message("RMSNorm", "RMSNorm"),
    definition=functions.rms_norm,
    recipe=recipe,
    steps=STEPS,
    roles=(
        Role("x", ("input", "inputs", "z", "a", "h", "hidden", "hidden_states", "features", "in_features", "arr", "data")),
        Role(
            "weight",
            ("gamma", "g", "w", "weights", "scale", "gain", "alpha"),
            is_weight=True,
            held_as=("scale", "gain", "g", "gamma", "norm"),
        ),
        Role("eps", ("epsilon", "e", "ep", "norm_eps", "rms_norm_eps", "layer_norm_epsilon", "variance_epsilon"), neutral=EPS),
        *size_roles(),
    ),
    also_called=r"norm(ali[sz](e|ation|er))?$",
    called=r"^(?!.*(back|grad|block|linear|attn|attention|add_?norm|residual|init|optim|prop|error|loss)).*(rms_?(layer)?_?norm|^rms$|root_mean_square)",
    probes=probes,
    mistakes=MISTAKES,
    conventions=(
        eps_conventions(EPS),
        PLACES,
        (
            Convention(),
            Convention(
                Message("multiplies by 1 + weight, as the function's name says", "乘以 1 + weight，与函数名相符"),
                steps={"scale": lambda normed, weight: normed * (1 + weight)},
                called=r"gemma|zero_?cent|unit_?offset",
            ),
        ),
        RETURNS,
    ),
    recoveries=(eps_recovery(EPS, ROOT),),
    equation="rms_norm(x) = x / √(mean x² + eps) · weight",
    hints=(
        Message("Each vector is divided by its own root mean square; nothing is subtracted.", "每个向量除以自己的均方根，不减任何量。"),
        Message(
            "Square, average over the last axis, add eps and take the square root; divide x by it, then multiply by the weight.",
            "先平方，沿最后一轴平均，加 eps，再开方；x 除以它，最后乘以权重。",
        ),
        Message(
            "x / np.sqrt(np.mean(x**2, axis=-1, keepdims=True) + eps) * weight",
            "x / np.sqrt(np.mean(x**2, axis=-1, keepdims=True) + eps) * weight",
        ),
    ),
)
