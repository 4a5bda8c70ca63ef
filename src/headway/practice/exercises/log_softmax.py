"""log_softmax: x - max x - log Σ exp(x - max x)."""

from __future__ import annotations

from typing import Any

import numpy

from headway import functions
from headway.practice.diagnosis.compare import Raised
from headway.practice.exercise import Exercise, Inputs, Mistake, Probe, Recovery, Role
from headway.practice.exercises.softmax import ROWS, SQUARE
from headway.practice.message import Message


def recipe(steps: Any, x: Any, axis: int = -1) -> Any:
    """The definition in steps: scale, shift, power, total, logarithm, join, finish."""
    x = steps.scale(x if x.dtype.kind == "f" else x.astype(numpy.float64))
    shift = steps.shift(x, axis)
    powers = steps.power(x - shift)
    return steps.finish(steps.join(x, shift, powers, steps.total(powers, axis), steps.logarithm))


STEPS = {
    "scale": lambda x: x,
    "shift": lambda x, axis: x.max(axis, keepdims=True),
    "power": numpy.exp,
    "total": lambda powers, axis: powers.sum(axis, keepdims=True),
    "logarithm": numpy.log,
    "join": lambda x, shift, powers, total, logarithm: x - shift - logarithm(total),
    "finish": lambda answer: answer,
}

USE = Message(
    "shifted = x - x.max(axis, keepdims=True); return shifted - log(sum(exp(shifted), axis, keepdims=True))",
    "shifted = x - x.max(axis, keepdims=True)；返回 shifted - log(sum(exp(shifted), axis, keepdims=True))",
)
SMALL = Message("while all numbers are of similar, moderate size the answer is right", "当所有数大小相近且不大时结果是对的")

MISTAKES = (
    Mistake(
        "logarithm_of_softmax",
        {"join": lambda x, shift, powers, total, logarithm: logarithm(powers / total)},
        Message(
            "it takes the logarithm of a finished softmax: a probability that rounds to 0 becomes -inf",
            "对算好的 softmax 取对数：舍入成 0 的概率会变成 -inf",
        ),
        USE,
        hides=SMALL,
        pattern=r"log\(",
    ),
    Mistake(
        "no_shift",
        {"shift": lambda x, axis: 0.0},
        Message(
            "the maximum is not subtracted, so exp overflows, or all of it becomes 0, for large numbers",
            "没有减去最大值：数值很大时 exp 溢出，或者全部变成 0",
        ),
        USE,
        hides=Message("for numbers below 88 (float32) the answer is right", "数值小于 88（float32）时结果是对的"),
        pattern=r"exp\(",
    ),
    Mistake(
        "maximum_not_added_back",
        {"join": lambda x, shift, powers, total, logarithm: x - logarithm(total)},
        Message(
            "the maximum is subtracted inside exp alone: the answer is too large by the maximum of its row",
            "只在 exp 里减去了最大值：结果多出了该行的最大值",
        ),
        Message("subtract it outside as well: x - max - log Σ exp(x - max)", "外面也要减：x - max - log Σ exp(x - max)"),
        hides=Message("where the maximum is 0 the answer is right", "当最大值为 0 时结果是对的"),
        pattern=r"max|log\(",
    ),
    Mistake(
        "maximum_subtracted_twice",
        {"join": lambda x, shift, powers, total, logarithm: x - 2 * shift - logarithm(total)},
        Message("the maximum is subtracted twice outside the logarithm", "在对数之外减了两次最大值"),
        USE,
        pattern=r"max",
    ),
    Mistake(
        "maximum_added",
        {"join": lambda x, shift, powers, total, logarithm: x + shift - logarithm(total)},
        Message("the maximum is added where it must be subtracted: the sign is wrong", "最大值应减却加了：符号错误"),
        USE,
        pattern=r"max",
    ),
    Mistake(
        "maximum_not_in_sum",
        {
            "total": lambda powers, axis: powers,
            "join": lambda x, shift, powers, total, logarithm: x - shift - logarithm(numpy.exp(x).sum(-1, keepdims=True)),
        },
        Message(
            "the maximum is subtracted outside alone: the sum is of exp(x), so the answer is too small by the maximum",
            "只在外面减去了最大值：求和用的是 exp(x)，结果少了一个最大值",
        ),
        USE,
        hides=Message("where the maximum is 0 the answer is right", "当最大值为 0 时结果是对的"),
        pattern=r"exp\(",
    ),
    Mistake(
        "global_shift",
        {"shift": lambda x, axis: x.max()},
        Message(
            "the maximum of the whole array is subtracted: in a row far below it all powers become 0",
            "减去的是整个数组的最大值：远小于它的行，指数全部变成 0",
        ),
        Message("take the maximum per row: x.max(axis, keepdims=True)", "按行取最大值：x.max(axis, keepdims=True)"),
        hides=Message("where all rows are of similar size the answer is right", "各行大小相近时结果是对的"),
        pattern=r"max\(",
    ),
    Mistake(
        "sums_everything",
        {"total": lambda powers, axis: powers.sum()},
        Message("the sum runs over the whole array, not over each row", "对整个数组求和，而不是对每一行"),
        Message("sum along the axis: sum(axis, keepdims=True)", "沿该轴求和：sum(axis, keepdims=True)"),
        hides=Message("for a single row the answer is right", "只有一行时结果是对的"),
        pattern=r"sum\(",
    ),
    Mistake(
        "no_keepdims_in_total",
        {"total": lambda powers, axis: powers.sum(axis)},
        Message(
            "the sum lost its axis (no keepdims), so each row gets other rows' sums",
            "求和时丢掉了轴（没有 keepdims），每一行减去的是别的行的和",
        ),
        Message("sum with keepdims=True", "求和时加上 keepdims=True"),
        hides=SQUARE,
        pattern=r"sum\(",
    ),
    Mistake(
        "no_keepdims_in_shift",
        {"shift": lambda x, axis: x.max(axis)},
        Message(
            "the maximum lost its axis (no keepdims), so each row is shifted by other rows' maxima",
            "取最大值时丢掉了轴（没有 keepdims），每一行减去的是别的行的最大值",
        ),
        Message("take the maximum with keepdims=True", "取最大值时加上 keepdims=True"),
        hides=SQUARE,
        pattern=r"max\(",
    ),
    Mistake(
        "no_keepdims",
        {"shift": lambda x, axis: x.max(axis), "total": lambda powers, axis: powers.sum(axis)},
        Message("maximum and sum lost their axis (no keepdims)", "最大值与求和都丢掉了轴（没有 keepdims）"),
        Message("use keepdims=True in both", "两处都加上 keepdims=True"),
        hides=SQUARE,
        pattern=r"max\(|sum\(",
    ),
    Mistake(
        "first_axis",
        {"shift": lambda x, axis: x.max(0, keepdims=True), "total": lambda powers, axis: powers.sum(0, keepdims=True)},
        Message("it normalises along axis 0, over the rows", "沿第 0 轴归一化，即跨行进行"),
        Message("use axis=-1", "使用 axis=-1"),
        hides=SQUARE,
        pattern=r"axis *= *0|dim *= *0|\(0",
    ),
    Mistake(
        "second_axis",
        {"shift": lambda x, axis: x.max(1, keepdims=True), "total": lambda powers, axis: powers.sum(1, keepdims=True)},
        Message(
            "it normalises along axis 1: on (batch, seq, vocab) that is over the positions",
            "沿第 1 轴归一化：对 (batch, seq, vocab) 来说是跨位置进行",
        ),
        Message("use axis=-1", "使用 axis=-1"),
        hides=Message("on a matrix axis 1 is the last axis", "对矩阵来说，第 1 轴就是最后一轴"),
        pattern=r"axis *= *1|dim *= *1|\(1",
    ),
    Mistake(
        "given_axis_ignored",
        {"shift": lambda x, axis: x.max(-1, keepdims=True), "total": lambda powers, axis: powers.sum(-1, keepdims=True)},
        Message("the argument axis is not used: it always normalises the last axis", "参数 axis 没有用上：总是沿最后一轴归一化"),
        Message("use axis in both max and sum", "在 max 与 sum 中都使用 axis"),
        pattern=r"-1",
    ),
    Mistake(
        "softmax_returned",
        {"join": lambda x, shift, powers, total, logarithm: powers / total},
        Message("it returns the softmax itself: the logarithm is missing", "返回的是 softmax 本身：没有取对数"),
        USE,
        pattern=r"return",
    ),
    Mistake(
        "sign_turned",
        {"finish": lambda answer: -answer},
        Message("it returns the negative of it: all numbers are at least 0", "返回的是它的相反数：所有数都不小于 0"),
        Message("leave the sign: log-probabilities are at most 0", "不要取负：对数概率不大于 0"),
        hides=Message("a loss takes the negative, but only afterwards", "损失函数才取负，那是之后的事"),
        pattern=r"-",
    ),
    Mistake(
        "logarithm_missing",
        {"join": lambda x, shift, powers, total, logarithm: x - shift - total},
        Message("it subtracts the sum of the powers, not its logarithm", "减去的是指数之和，而不是它的对数"),
        USE,
        pattern=r"sum\(",
    ),
    Mistake(
        "logarithm_inside_sum",
        {"join": lambda x, shift, powers, total, logarithm: x - shift - logarithm(powers).sum(-1, keepdims=True)},
        Message("it sums the logarithms: log Σ exp became Σ log exp, which is Σ x", "对对数求和：log Σ exp 变成了 Σ log exp，也就是 Σ x"),
        Message("sum first, then take the logarithm", "先求和，再取对数"),
        pattern=r"sum\(|log\(",
    ),
    Mistake(
        "mean_for_sum",
        {"total": lambda powers, axis: powers.mean(axis, keepdims=True)},
        Message(
            "it takes the mean of the powers, not their sum: exp of a row sums to its length",
            "用的是指数的平均而不是总和：每行取 exp 后之和等于它的长度",
        ),
        Message("use sum", "应使用 sum"),
        pattern=r"mean",
    ),
    Mistake(
        "one_added",
        {"logarithm": numpy.log1p},
        Message("it takes log(1 + Σ), that is log1p", "用的是 log(1 + Σ)，即 log1p"),
        Message("use log", "应使用 log"),
        pattern=r"log1p|1 *\+|\+ *1",
    ),
    Mistake(
        "fractions_cut_off",
        {"finish": numpy.trunc},
        Message("it returns whole numbers", "返回的是整数"),
        Message("compute in floating point: x.astype(float) first", "先转成浮点数：x.astype(float)"),
        pattern=r"int",
    ),
)


def _log_sum(x: Any) -> float:
    return float(numpy.log(numpy.exp(x).sum()))


def _scale(ask: Any) -> list[tuple[Inputs, float]]:
    """The factor on x: the slope of the answers on the inputs."""
    x = numpy.linspace(-0.7, 0.9, 5) ** 3
    answer = ask({"x": x})
    if isinstance(answer, Raised) or numpy.shape(answer) != x.shape or not numpy.isfinite(answer).all():
        return []
    slope, start = numpy.polyfit(x, numpy.asarray(answer, numpy.float64), 1)
    return [({"x": x}, float(slope))] if numpy.abs(answer - slope * x - start).max() < 1e-5 else []


def _unit(ask: Any) -> list[tuple[Inputs, float]]:
    """The factor on the whole answer, which is 1/ln 2 in bits."""
    x = numpy.array([0.2, -0.5, 0.9, 0.0])
    answer = ask({"x": x})
    if isinstance(answer, Raised) or numpy.shape(answer) != x.shape or not numpy.isfinite(answer).all():
        return []
    factors = numpy.asarray(answer, numpy.float64) / (x - _log_sum(x))
    return [({"x": x}, float(factors[0]))] if numpy.ptp(factors) < 1e-5 and abs(factors[0] + 1) > 1e-5 else []


def _logarithm(ask: Any) -> list[tuple[Inputs, float]]:
    """The factor on the logarithm alone: the maximum is 0 here, so that x - answer is the logarithm."""
    measured = []
    for x in (numpy.array([0.0, -0.5, -0.9]), numpy.zeros(5)):
        answer = ask({"x": x})
        if isinstance(answer, Raised) or numpy.shape(answer) != x.shape or not numpy.isfinite(answer).all():
            return []
        factors = (x - numpy.asarray(answer, numpy.float64)) / _log_sum(x)
        if numpy.ptp(factors) > 1e-5:
            return []
        measured.append(({"x": x}, float(factors[0])))
    return measured


def _floor(ask: Any) -> list[tuple[Inputs, float]]:
    """What is added to a probability before its logarithm is taken: all that is left of one that is 0."""
    x = numpy.array([0.0, -2000.0])
    answer = ask({"x": x})
    if isinstance(answer, Raised) or numpy.shape(answer) != x.shape or not -700 < float(answer[1]) < 0:
        return []
    return [({"x": x}, float(numpy.exp(numpy.float64(answer[1]))))]


def _recovery(
    name: str, step: str, measure: Any, wrong: Any, right: float, right_name: str, says: Message, fix: Message, pattern: str
) -> Recovery:
    return Recovery(name, step, measure, wrong, lambda inputs: {}, lambda inputs: right, right_name, says, fix, None, pattern)


RECOVERIES = (
    _recovery(
        "scale",
        "scale",
        _scale,
        lambda number_of: lambda x: number_of({}) * x,
        1.0,
        "1 (the base e)",
        Message(
            "your answer rises by {value}{names} per unit of x; it must rise by {right} = {right_name}",
            "输出随 x 每单位变化 {value}{names}；应为 {right} = {right_name}",
        ),
        Message("use exp and log, base e, and a plus sign", "使用 exp 与 log：底为 e，符号为正"),
        r"\*\*|exp|log",
    ),
    _recovery(
        "unit",
        "finish",
        _unit,
        lambda number_of: lambda answer: number_of({}) * answer,
        1.0,
        "1",
        Message("your answer is {value}{names} times the right one", "你的结果是正确值的 {value}{names} 倍"),
        Message("use the natural logarithm: log, not log2 or log10", "使用自然对数：log，而不是 log2 或 log10"),
        r"log2|log10|/|\*",
    ),
    _recovery(
        "logarithm",
        "logarithm",
        _logarithm,
        lambda number_of: lambda total: number_of({}) * numpy.log(total),
        1.0,
        "1",
        Message("your logarithm of the sum is {value}{names} times the natural one", "和的对数是自然对数的 {value}{names} 倍"),
        Message("use the natural logarithm: log, not log2 or log10", "使用自然对数：log，而不是 log2 或 log10"),
        r"log2|log10|log\(",
    ),
    _recovery(
        "floor",
        "join",
        _floor,
        lambda number_of: lambda x, shift, powers, total, logarithm: logarithm(powers / total + number_of({})),
        0.0,
        "nothing",
        Message(
            "{value} is added to the probabilities before the logarithm: rare ones come out too likely, and log_probs can rise above 0",
            "取对数之前给概率加了 {value}：罕见的概率被抬高，对数概率甚至会大于 0",
        ),
        USE,
        r"log\(|1e-|eps",
    ),
)


def probes() -> tuple[Probe, ...]:
    """A row, rows of unlike length and height, more axes, an axis given, numbers too large for exp, probabilities that round to 0."""
    random = numpy.random.default_rng(3)
    return (
        Probe("row", {"x": random.standard_normal(5) * 2}),
        Probe("large", {"x": numpy.array([1000.0, 1001.0, 1002.0, 1000.5])}),
        Probe("small", {"x": numpy.array([-1000.0, -1001.0, -1002.0, -1003.5])}),
        Probe("unlikely", {"x": numpy.array([0.0, 1000.0, 3.0])}),
        Probe("rows", {"x": random.standard_normal((3, 5))}, ROWS),
        Probe("square", {"x": random.standard_normal((3, 3))}, ROWS),
        Probe("three axes", {"x": random.standard_normal((2, 3, 5))}, ROWS),
        Probe("four axes", {"x": random.standard_normal((2, 3, 4, 5))}, ROWS),
        Probe("large rows", {"x": numpy.array([[1000.0, 1001.0, 1002.0], [-1000.0, -1001.0, -1003.0]])}, ROWS),
        Probe("a row far below", {"x": numpy.array([[0.0, 1.0], [-2000.0, -2001.0]])}, ROWS),
        Probe(
            "whole numbers",
            {"x": numpy.array([1, 2, 4])},
            caution=Message("given whole numbers it cuts off the fractions", "输入为整数时，小数部分会被截掉"),
        ),
        Probe("given axis", {"x": random.standard_normal((3, 4, 5)), "axis": 1}),
    )


EXERCISE = Exercise(
    name="log_softmax",
    title=Message("log-softmax", "log-softmax"),
    definition=functions.log_softmax,
    recipe=recipe,
    steps=STEPS,
    roles=(
        Role("x", ("z", "logits", "scores", "a", "input", "inputs", "vector", "values", "arr", "v")),
        Role("axis", ("dim",), neutral=-1),
    ),
    called=r"log_?soft_?max(?!.*(cross|loss|nll|back|grad))|^log_?probs?$",
    probes=probes,
    mistakes=MISTAKES,
    recoveries=RECOVERIES,
    equation="log_softmax(x)ᵢ = xᵢ - max x - log Σⱼ exp(xⱼ - max x)",
    hints=(
        Message("It is the logarithm of softmax, but the quotient need never be formed.", "它是 softmax 的对数，但不必真的算出那个商。"),
        Message("log(a / b) = log a - log b, and log exp(x) = x.", "log(a / b) = log a - log b，而 log exp(x) = x。"),
        Message(
            "shifted - log(sum(exp(shifted))) with shifted = x - max, keepdims=True in both",
            "shifted - log(sum(exp(shifted)))，其中 shifted = x - max，两处都用 keepdims=True",
        ),
    ),
)
