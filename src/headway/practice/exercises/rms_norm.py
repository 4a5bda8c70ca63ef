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
    """The definition in steps: promote, before, mean_square, eps, root, centre, divide, scale, finish."""
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

USE = Message("x / sqrt(mean(x²) + eps) * weight, with the mean over the last axis", "x / sqrt(mean(x²) + eps) * weight，均值沿最后一轴")
LAST = Message("take the mean of squares over the last axis, with keepdims=True", "平方均值沿最后一轴计算，并保留轴（keepdims=True）")
ROOT = Message("divide by sqrt(mean(x²) + eps)", "应除以 sqrt(mean(x²) + eps)")
UNIT = Message("where the mean square is 1 the answer is right", "平方均值为 1 时结果是对的")
CENTRED = Message("where the mean is 0 the two are the same", "均值为 0 时两者相同")


def _over(axis: Any, keepdims: bool = True) -> dict[str, Any]:
    return {"mean_square": lambda x: (x**2).mean(axis(x) if callable(axis) else axis, keepdims=keepdims)}


MISTAKES = (
    mistake(
        "mean_subtracted",
        {"centre": lambda x: x - x.mean(-1, keepdims=True), "mean_square": lambda x: x.var(-1, keepdims=True)},
        ("the mean is subtracted: that is LayerNorm", "减去了均值：那是 LayerNorm"),
        USE,
        CENTRED,
        r"mean\(|- ",
    ),
    mistake(
        "mean_subtracted_above_alone",
        {"centre": lambda x: x - x.mean(-1, keepdims=True)},
        ("the mean is subtracted from x above, where RMSNorm subtracts none", "分子里减去了均值，而 RMSNorm 不减均值"),
        USE,
        CENTRED,
        r"mean\(|- ",
    ),
    mistake(
        "variance_for_mean_square",
        {"mean_square": lambda x: x.var(-1, keepdims=True)},
        ("it divides by the root of the variance: the mean is subtracted before squaring", "除以的是方差的平方根：平方之前减去了均值"),
        USE,
        CENTRED,
        r"var\(|std\(",
    ),
    mistake(
        "sum_for_mean",
        {"mean_square": lambda x: (x**2).sum(-1, keepdims=True)},
        ("the squares are summed, not averaged: the answer is too small by √n", "平方求了和而没有取平均：结果小了 √n 倍"),
        Message("divide the sum by the width: use mean", "把和除以宽度：使用 mean"),
        None,
        r"sum\(|norm",
    ),
    mistake(
        "mean_over_n_minus_one",
        {"mean_square": lambda x: (x**2).sum(-1, keepdims=True) / (x.shape[-1] - 1)},
        ("the sum of squares is divided by n - 1, not by n", "平方和除以了 n - 1 而不是 n"),
        USE,
        Message("the wider the vector, the smaller the difference: 1/(2n)", "向量越宽差别越小，约为 1/(2n)"),
        r"- *1",
    ),
    mistake(
        "root_missing",
        {"root": lambda mean_square, eps: mean_square + eps},
        ("it divides by the mean of squares: the square root is missing", "除以的是平方均值：没有开平方"),
        ROOT,
        UNIT,
        r"/|mean",
    ),
    mistake(
        "square_for_root",
        {"root": lambda mean_square, eps: (mean_square + eps) ** 2},
        ("it divides by (mean x² + eps)², not by the square root", "除以的是 (mean x² + eps)²，而不是平方根"),
        ROOT,
        UNIT,
        r"\*\* *2|square|pow",
    ),
    mistake(
        "multiplied_by_root",
        {"divide": lambda x, root: x * root},
        ("it multiplies by the root, where it must divide (or divides by rsqrt)", "乘以了根号，而应除以它（或者除以了 rsqrt）"),
        Message("divide by sqrt, or multiply by rsqrt", "除以 sqrt，或乘以 rsqrt"),
        UNIT,
        r"\*|rsqrt",
    ),
    mistake(
        "root_returned",
        {"divide": lambda x, root: numpy.broadcast_to(root, x.shape), "scale": lambda normed, weight: normed},
        ("it returns the root mean square itself", "返回的是均方根本身"),
        USE,
        None,
        r"return",
    ),
    mistake(
        "mean_of_root",
        {"mean_square": lambda x: numpy.abs(x).mean(-1, keepdims=True) ** 2},
        ("it divides by the mean of |x|: the root was taken before the mean", "除以的是 |x| 的平均：先开方再取平均了"),
        Message("square, average, then take the root", "先平方，再平均，最后开方"),
        None,
        r"abs|sqrt",
    ),
    mistake(
        "not_squared",
        {"mean_square": lambda x: x.mean(-1, keepdims=True)},
        ("x is not squared: the root of the mean of x is NaN for a negative mean", "没有平方：均值为负时，开方得到 NaN"),
        Message("square, average, then take the root", "先平方，再平均，最后开方"),
        None,
        r"mean\(",
    ),
    mistake(
        "mean_squared",
        {"mean_square": lambda x: x.mean(-1, keepdims=True) ** 2},
        ("the mean is squared, where the squares must be averaged", "先平均后平方了：应先平方再平均"),
        Message("square, average, then take the root", "先平方，再平均，最后开方"),
        None,
        r"mean\(",
    ),
    mistake(
        "eps_missing",
        {"eps": lambda given: 0.0},
        ("there is no eps: a vector of zeros becomes 0/0 = NaN", "没有 eps：零向量会变成 0/0 = NaN"),
        ROOT,
        Message("only vectors next to zero show it", "只有接近零的向量才看得出来"),
        r"sqrt|\*\*",
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
        {"root": lambda mean_square, eps: numpy.sqrt(mean_square - eps)},
        ("eps is subtracted under the root: a vector of zeros becomes NaN", "根号里减去了 eps：零向量会变成 NaN"),
        ROOT,
        LARGE,
        r"- *eps",
    ),
    mistake(
        "eps_before_mean",
        {"root": lambda mean_square, eps: numpy.sqrt(mean_square), "mean_square": lambda x: ((x + EPS) ** 2).mean(-1, keepdims=True)},
        ("eps is added to x before squaring", "eps 在平方之前就加到了 x 上"),
        ROOT,
        LARGE,
        r"eps",
    ),
    mistake(
        "first_axis",
        _over(0),
        ("the mean runs over axis 0, the batch: rows mix", "均值沿第 0 轴（批）计算：各行混在了一起"),
        LAST,
        None,
        r"axis|dim|mean\(",
    ),
    mistake(
        "second_axis",
        _over(1),
        (
            "the mean runs over axis 1: on (batch, seq, hidden) that is over the positions",
            "均值沿第 1 轴计算：对 (batch, seq, hidden) 来说是跨位置",
        ),
        LAST,
        MATRIX,
        r"axis|dim|mean\(",
    ),
    mistake(
        "all_axes",
        _over(None),
        ("the mean is that of the whole array", "均值取的是整个数组的"),
        LAST,
        Message("for a single vector the two are the same", "只有一个向量时两者相同"),
        r"mean\(",
    ),
    mistake(
        "all_axes_but_the_first",
        _over(lambda x: tuple(range(1, x.ndim))),
        ("the mean runs over all axes but the batch: the tokens of a sequence mix", "均值沿批以外的所有轴计算：序列中的词元混在了一起"),
        LAST,
        Message("on a matrix the two are the same", "对矩阵来说两者相同"),
        r"axis|dim|mean\(",
    ),
    mistake(
        "no_keepdims",
        _over(-1, False),
        (
            "the mean lost its axis (no keepdims): each row is divided by other rows' roots",
            "均值丢掉了轴（没有 keepdims）：每一行除以的是别的行的均方根",
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
        ("the weight multiplies x before the norm, which divides most of it out again", "权重在归一化之前就乘上了，又几乎被归一化除掉"),
        USE,
        ONES,
        r"\*",
    ),
    mistake(
        "weight_added",
        {"scale": lambda normed, weight: normed + weight},
        ("the weight is added where it must multiply", "权重应相乘却加上了"),
        USE,
        None,
        r"\+",
    ),
    mistake(
        "weight_divides",
        {"scale": lambda normed, weight: normed / weight},
        ("it divides by the weight, where it must multiply", "除以了权重，而应乘以它"),
        USE,
        ONES,
        r"/",
    ),
    mistake(
        "one_plus_weight",
        {"scale": lambda normed, weight: normed * (1 + weight)},
        (
            "it multiplies by 1 + weight, as Gemma does: its weights are stored around 0, those of Llama around 1",
            "乘的是 1 + weight，这是 Gemma 的做法：它的权重存在 0 附近，而 Llama 的在 1 附近",
        ),
        Message("multiply by the weight itself", "应乘以权重本身"),
        None,
        r"1(\.0)? *\+|\+ *1",
    ),
    mistake(
        "weight_per_row",
        {"scale": lambda normed, weight: normed * weight[:, None]},
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


def probes() -> tuple[Probe, ...]:
    """With and without weight and eps; a vector, rows of unlike mean and size, square ones, three axes, small numbers and zeros."""
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
            "eps is added outside the root, √(mean x²) + eps, as some kernels do", "eps 加在根号外面：√(mean x²) + eps，有些内核这样做"
        ),
        steps={"root": lambda mean_square, eps: numpy.sqrt(mean_square) + eps},
    ),
    Convention(
        Message(
            "eps is a floor under the root, max(√(mean x²), eps), as in torch's normalize",
            "eps 是根号的下限：max(√(mean x²), eps)，与 torch 的 normalize 相同",
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
    called=r"^(?!.*(back|grad|block|linear|attn|attention|add_?norm|residual|init|optim|prop|error|loss)).*(rms_?(layer)?_?norm|^rms$|root_mean_square)",
    probes=probes,
    mistakes=MISTAKES,
    conventions=(
        eps_conventions(EPS),
        PLACES,
        (
            Convention(),
            Convention(
                Message("it multiplies by 1 + weight, as its name says", "它乘以 1 + weight，与它的名字相符"),
                steps={"scale": lambda normed, weight: normed * (1 + weight)},
                called=r"gemma|zero_?cent|unit_?offset",
            ),
        ),
        RETURNS,
    ),
    recoveries=(eps_recovery(EPS, ROOT),),
    equation="rms_norm(x) = x / √(mean x² + eps) · weight",
    hints=(
        Message("Every vector is divided by its own root mean square; nothing is subtracted.", "每个向量除以自己的均方根；什么也不减。"),
        Message(
            "Square, average over the last axis, add eps, take the root; divide by it, then multiply by the weight.",
            "先平方，沿最后一轴平均，加 eps，再开方；用它去除，最后乘以权重。",
        ),
        Message(
            "x / np.sqrt(np.mean(x**2, axis=-1, keepdims=True) + eps) * weight",
            "x / np.sqrt(np.mean(x**2, axis=-1, keepdims=True) + eps) * weight",
        ),
    ),
)
