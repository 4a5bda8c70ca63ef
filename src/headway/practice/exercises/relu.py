"""relu: max(x, 0)."""

from __future__ import annotations

from typing import Any

import numpy

from headway import functions
from headway.practice.exercise import Exercise, Inputs, Mistake, Probe, Recovery, Role
from headway.practice.message import Message
from headway.practice.recipes.activations import X_NAMES, answers_at, elu, floating, gelu, probes_of, sigmoid, silu, softplus


def recipe(steps: Any, x: Any) -> Any:
    """The definition as named steps: below, above, finish."""
    x = floating(x)
    return steps.finish(numpy.where(x > 0, steps.above(x), steps.below(x)))


STEPS = {
    "above": lambda x: x,
    "below": lambda x: numpy.zeros_like(x),
    "finish": lambda answer: answer,
}

USE = Message("return max(x, 0) element by element", "逐元素返回 max(x, 0)")
POSITIVE = Message("the output is correct for positive numbers", "对正数来说结果正确")


def both_sides(function: Any) -> dict[str, Any]:
    """Return steps that replace both halves by one function."""
    return {"above": function, "below": function}


MISTAKES = (
    Mistake(
        "negative_part",
        {"above": lambda x: numpy.zeros_like(x), "below": lambda x: x},
        Message("keeps the negative part: min(x, 0) instead of max(x, 0)", "保留的是负的部分：min(x, 0)，而不是 max(x, 0)"),
        Message("use max(x, 0), not min", "使用 max(x, 0)，而不是 min"),
        pattern=r"min|<|where|clip|clamp",
    ),
    Mistake(
        "absolute_value",
        both_sides(numpy.abs),
        Message("returns |x|: negative numbers lose their sign instead of becoming 0", "返回的是 |x|：负数去掉了符号，而不是变成 0"),
        USE,
        hides=POSITIVE,
        pattern=r"abs|-x|sqrt",
    ),
    Mistake(
        "not_bent",
        both_sides(lambda x: x),
        Message("returns x unchanged", "原样返回了 x"),
        USE,
        hides=POSITIVE,
        pattern=r"return",
    ),
    Mistake(
        "sign_turned",
        both_sides(lambda x: -numpy.maximum(x, 0)),
        Message("the sign is wrong: returns -max(x, 0)", "符号反了：返回的是 -max(x, 0)"),
        USE,
        pattern=r"-",
    ),
    Mistake(
        "of_minus_x",
        both_sides(lambda x: numpy.maximum(-x, 0)),
        Message(
            "returns max(-x, 0): keeps negative numbers with the opposite sign, sets positive ones to 0",
            "返回的是 max(-x, 0)：负数取相反数后保留，正数变成了 0",
        ),
        USE,
        pattern=r"-",
    ),
    Mistake(
        "derivative_returned",
        {"above": numpy.ones_like},
        Message("returns the derivative: 1 above 0, and 0 below", "返回的是导数：大于 0 处为 1，其余为 0"),
        Message("return x itself where it is positive: x * (x > 0)", "为正处应返回 x 本身：x * (x > 0)"),
        pattern=r">|where|1",
    ),
    Mistake(
        "capped_at_six",
        {"above": lambda x: numpy.minimum(x, 6)},
        Message("clips at 6 (ReLU6)", "在 6 处截断（ReLU6）"),
        Message("do not clip large numbers: max(x, 0)", "大的数不要截断：max(x, 0)"),
        hides=Message("the output is correct for x up to 6", "不超过 6 时结果正确"),
        pattern=r"6|min|clip|clamp",
    ),
    Mistake(
        "capped_at_one",
        {"above": lambda x: numpy.minimum(x, 1)},
        Message("clips at 1", "在 1 处截断"),
        Message("do not clip large numbers: max(x, 0)", "大的数不要截断：max(x, 0)"),
        hides=Message("the output is correct for x up to 1", "不超过 1 时结果正确"),
        pattern=r"1|min|clip|clamp",
    ),
    Mistake(
        "threshold_is_one",
        both_sides(lambda x: numpy.where(x > 1, x, 0)),
        Message("the threshold is 1 instead of 0: numbers between 0 and 1 become 0 too", "阈值是 1 而不是 0：0 到 1 之间的数也变成了 0"),
        Message("compare with 0", "与 0 比较"),
        pattern=r">|<",
    ),
    Mistake(
        "floor_is_one",
        both_sides(lambda x: numpy.maximum(x, 1)),
        Message("returns max(x, 1) instead of max(x, 0)", "返回的是 max(x, 1)，而不是 max(x, 0)"),
        USE,
        pattern=r"max|clip|clamp",
    ),
    Mistake(
        "squared",
        {"above": lambda x: x * x},
        Message("returns the square of positive numbers", "正数返回的是它的平方"),
        USE,
        hides=Message("the output is correct for 0 and 1", "在 0 和 1 处结果正确"),
        pattern=r"\*|square|pow",
    ),
    Mistake(
        "sigmoid",
        both_sides(sigmoid),
        Message("computes a sigmoid: all outputs are between 0 and 1", "算的是 sigmoid：所有输出都在 0 到 1 之间"),
        USE,
        pattern=r"exp|sigmoid",
    ),
    Mistake(
        "softplus",
        both_sides(softplus),
        Message(
            "computes softplus, log(1 + exp x): smooth, and positive both_sides", "算的是 softplus，即 log(1 + exp x)：处处光滑且大于 0"
        ),
        USE,
        hides=Message("the output is nearly the same for large numbers", "数值很大时两者几乎相同"),
        pattern=r"log|softplus",
    ),
    Mistake(
        "gelu",
        both_sides(gelu),
        Message("computes GELU: slightly negative below 0", "算的是 GELU：小于 0 处略为负"),
        USE,
        hides=Message("the output is nearly the same for large numbers", "数值很大时两者几乎相同"),
        pattern=r"erf|gelu",
    ),
    Mistake(
        "silu",
        both_sides(silu),
        Message("computes SiLU, x · sigmoid(x): slightly negative below 0", "算的是 SiLU，即 x · sigmoid(x)：小于 0 处略为负"),
        USE,
        hides=Message("the output is nearly the same for large numbers", "数值很大时两者几乎相同"),
        pattern=r"exp|sigmoid|silu",
    ),
    Mistake(
        "elu",
        {"below": elu},
        Message("computes ELU: exp(x) - 1 below 0", "算的是 ELU：小于 0 处为 exp(x) - 1"),
        USE,
        hides=POSITIVE,
        pattern=r"exp",
    ),
    Mistake(
        "tanh",
        both_sides(numpy.tanh),
        Message("computes tanh: all outputs are between -1 and 1", "算的是 tanh：所有输出都在 -1 到 1 之间"),
        USE,
        pattern=r"tanh|exp",
    ),
    Mistake(
        "negatives_dropped",
        {"finish": lambda answer: answer[answer > 0]},
        Message(
            "drops negative numbers instead of setting them to 0: the output is shorter than x",
            "删掉了负数，而不是把它们变成 0：输出比 x 短",
        ),
        Message("keep the shape: set negative numbers to 0", "保持形状不变：把负数变成 0"),
        hides=POSITIVE,
        pattern=r"\[.*>|if",
    ),
    Mistake(
        "maximum_of_all",
        {"finish": lambda answer: answer.max(initial=0)},
        Message(
            "returns one number, the maximum of all elements, instead of one per element",
            "只返回一个数（所有元素的最大值），而不是每个元素一个",
        ),
        Message("compare each element with 0: np.maximum, not np.max", "逐元素与 0 比较：用 np.maximum，而不是 np.max"),
        hides=Message("the output is the same for a single number", "只有一个数时两者相同"),
        pattern=r"max",
    ),
    Mistake(
        "whole_numbers_returned",
        {"finish": numpy.trunc},
        Message("the fractional part is lost: returns integers", "小数部分丢失了：返回的是整数"),
        Message("keep floating-point numbers: no int(), no integer output array", "保持浮点数：不要用 int()，也不要写入整数数组"),
        hides=Message("the output is correct for integers", "对整数来说结果正确"),
        pattern=r"int",
    ),
)


def _slope(side: float) -> Any:
    """Return a function that measures the slope on one side of 0; it measures nothing for slopes with a named mistake."""

    def measure(ask: Any) -> list[tuple[Inputs, float]]:
        x = side * numpy.array([0.5, 1.0, 3.0])
        answer = answers_at(ask, x.tolist())
        if answer is None:
            return []
        slopes = answer / x
        is_named = min(abs(slopes[0] - each) for each in (0.0, 1.0, -1.0)) < 1e-6
        return [] if is_named or numpy.ptp(slopes) > 1e-5 else [({"x": x}, float(slopes[0]))]

    return measure


RECOVERIES = (
    Recovery(
        "slope_below_zero",
        "below",
        measure=_slope(-1.0),
        wrong=lambda number_of: lambda x: number_of({}) * x,
        sizes=lambda inputs: {},
        right=lambda inputs: 0.0,
        right_name="0",
        says=Message(
            "below 0 the output is {value}{names} · x (a leaky ReLU); expected {right}",
            "小于 0 处输出是 {value}{names} · x（leaky ReLU）；应为 {right}",
        ),
        fix=USE,
        hides=POSITIVE,
        pattern=r"0?\.\d+|\*",
    ),
    Recovery(
        "slope_above_zero",
        "above",
        measure=_slope(1.0),
        wrong=lambda number_of: lambda x: number_of({}) * x,
        sizes=lambda inputs: {},
        right=lambda inputs: 1.0,
        right_name="x itself",
        says=Message("above 0 the output is {value}{names} · x; expected x", "大于 0 处输出是 {value}{names} · x；应为 x"),
        fix=USE,
        pattern=r"\*|/",
    ),
)


def probes() -> tuple[Probe, ...]:
    """Single numbers, a row, a matrix, three axes."""
    return probes_of()


EXERCISE = Exercise(
    name="relu",
    title=Message("ReLU", "ReLU"),
    definition=functions.relu,
    recipe=recipe,
    steps=STEPS,
    roles=(Role("x", X_NAMES),),
    called=r"(?<!^p)(?<!_p)(?<!leaky)(?<!leaky_)(?<!sq)(?<![a-z]e)(?<!ge)relu(?!6|_?2|_?sq|_?backward|_?grad|_?deriv|_?prime)",
    probes=probes,
    mistakes=MISTAKES,
    recoveries=RECOVERIES,
    equation="relu(x) = max(x, 0)",
    hints=(
        Message("Positive numbers pass through unchanged.", "正数原样通过。"),
        Message("All other numbers become 0.", "其余的数都变成 0。"),
        Message("np.maximum(x, 0), element by element", "np.maximum(x, 0)，逐个元素"),
    ),
)
