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
    """The definition as named steps: scale, shift, power, total, logarithm, join, finish."""
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
    "compute shifted = x - x.max(axis, keepdims=True) and return shifted - log(sum(exp(shifted), axis, keepdims=True))",
    "先算 shifted = x - x.max(axis, keepdims=True)，再返回 shifted - log(sum(exp(shifted), axis, keepdims=True))",
)
SMALL = Message("the output is correct when all inputs are of moderate and similar size", "所有输入大小相近且不太大时结果正确")

MISTAKES = (
    Mistake(
        "logarithm_of_softmax",
        {"join": lambda x, shift, powers, total, logarithm: logarithm(powers / total)},
        Message(
            "takes the logarithm of a computed softmax: a probability that underflows to 0 becomes -inf",
            "先算出 softmax 再取对数：下溢为 0 的概率会变成 -inf",
        ),
        USE,
        hides=SMALL,
        pattern=r"log\(",
    ),
    Mistake(
        "no_shift",
        {"shift": lambda x, axis: 0.0},
        Message(
            "the maximum is not subtracted: for large inputs exp overflows to inf or underflows to 0",
            "没有减去最大值：输入很大时 exp 溢出为 inf，或下溢为 0",
        ),
        USE,
        hides=Message("the output is correct for inputs below 88 (float32)", "输入小于 88（float32）时结果正确"),
        pattern=r"exp\(",
    ),
    Mistake(
        "maximum_not_added_back",
        {"join": lambda x, shift, powers, total, logarithm: x - logarithm(total)},
        Message(
            "the maximum is subtracted only inside exp: the output is too large by the maximum of its row",
            "只在 exp 里减去了最大值：输出比正确值多出该行的最大值",
        ),
        Message(
            "subtract the maximum outside exp too: x - max - log Σ exp(x - max)", "在 exp 外面也减去最大值：x - max - log Σ exp(x - max)"
        ),
        hides=Message("the output is correct when the maximum is 0", "最大值为 0 时结果正确"),
        pattern=r"max|log\(",
    ),
    Mistake(
        "maximum_subtracted_twice",
        {"join": lambda x, shift, powers, total, logarithm: x - 2 * shift - logarithm(total)},
        Message("the maximum is subtracted twice outside the logarithm", "在对数外面减了两次最大值"),
        USE,
        pattern=r"max",
    ),
    Mistake(
        "maximum_added",
        {"join": lambda x, shift, powers, total, logarithm: x + shift - logarithm(total)},
        Message("adds the maximum instead of subtracting it", "最大值应减去，却加上了"),
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
            "the maximum is subtracted only outside the sum, which is over exp(x): the output is too small by the maximum",
            "只在求和外面减去了最大值，求和用的仍是 exp(x)：输出比正确值少一个最大值",
        ),
        USE,
        hides=Message("the output is correct when the maximum is 0", "最大值为 0 时结果正确"),
        pattern=r"exp\(",
    ),
    Mistake(
        "global_shift",
        {"shift": lambda x, axis: x.max()},
        Message(
            "subtracts the maximum of the whole array instead of each row's: in a row far below it every exp underflows to 0",
            "减去的是整个数组的最大值，而不是每行的最大值：远小于它的行，exp 全部下溢为 0",
        ),
        Message("subtract the maximum of each row: x.max(axis, keepdims=True)", "减去每行的最大值：x.max(axis, keepdims=True)"),
        hides=Message("the output is correct when all rows have a similar magnitude", "各行数值大小相近时结果正确"),
        pattern=r"max\(",
    ),
    Mistake(
        "sums_everything",
        {"total": lambda powers, axis: powers.sum()},
        Message("sums over the whole array instead of over each row", "对整个数组求和，而不是对每一行求和"),
        Message("sum along the axis: sum(axis, keepdims=True)", "沿该轴求和：sum(axis, keepdims=True)"),
        hides=Message("the output is correct for a single row", "只有一行时结果正确"),
        pattern=r"sum\(",
    ),
    Mistake(
        "no_keepdims_in_total",
        {"total": lambda powers, axis: powers.sum(axis)},
        Message(
            "the sum drops its axis (no keepdims), so each row uses the sums of other rows",
            "求和时丢掉了该轴（没有 keepdims），每一行用的是其他行的和",
        ),
        Message("sum with keepdims=True", "求和时加上 keepdims=True"),
        hides=SQUARE,
        pattern=r"sum\(",
    ),
    Mistake(
        "no_keepdims_in_shift",
        {"shift": lambda x, axis: x.max(axis)},
        Message(
            "the maximum drops its axis (no keepdims), so the maxima of other rows are subtracted from each row",
            "取最大值时丢掉了该轴（没有 keepdims），每一行减去的是其他行的最大值",
        ),
        Message("take the maximum with keepdims=True", "取最大值时加上 keepdims=True"),
        hides=SQUARE,
        pattern=r"max\(",
    ),
    Mistake(
        "no_keepdims",
        {"shift": lambda x, axis: x.max(axis), "total": lambda powers, axis: powers.sum(axis)},
        Message("the maximum and the sum drop their axis (no keepdims)", "取最大值与求和都丢掉了该轴（没有 keepdims）"),
        Message("use keepdims=True in both", "两处都加上 keepdims=True"),
        hides=SQUARE,
        pattern=r"max\(|sum\(",
    ),
    Mistake(
        "first_axis",
        {"shift": lambda x, axis: x.max(0, keepdims=True), "total": lambda powers, axis: powers.sum(0, keepdims=True)},
        Message("normalizes over axis 0, across the rows", "沿第 0 轴归一化，即跨行归一化"),
        Message("use axis=-1", "使用 axis=-1"),
        hides=SQUARE,
        pattern=r"axis *= *0|dim *= *0|\(0",
    ),
    Mistake(
        "second_axis",
        {"shift": lambda x, axis: x.max(1, keepdims=True), "total": lambda powers, axis: powers.sum(1, keepdims=True)},
        Message(
            "normalizes over axis 1, which is the position axis of (batch, seq, vocab)",
            "沿第 1 轴归一化：对 (batch, seq, vocab) 来说那是位置的轴",
        ),
        Message("use axis=-1", "使用 axis=-1"),
        hides=Message("axis 1 is the last axis of a matrix", "对矩阵来说，第 1 轴就是最后一轴"),
        pattern=r"axis *= *1|dim *= *1|\(1",
    ),
    Mistake(
        "given_axis_ignored",
        {"shift": lambda x, axis: x.max(-1, keepdims=True), "total": lambda powers, axis: powers.sum(-1, keepdims=True)},
        Message("ignores the argument axis: always normalizes the last axis", "没有使用参数 axis：总是沿最后一轴归一化"),
        Message("use axis in both max and sum", "在 max 与 sum 中都使用 axis"),
        pattern=r"-1",
    ),
    Mistake(
        "softmax_returned",
        {"join": lambda x, shift, powers, total, logarithm: powers / total},
        Message("returns the softmax: the logarithm is missing", "返回的是 softmax：没有取对数"),
        USE,
        pattern=r"return",
    ),
    Mistake(
        "sign_turned",
        {"finish": lambda answer: -answer},
        Message("returns the negative log-probabilities: every element is at least 0", "返回的是负的对数概率：所有元素都不小于 0"),
        Message("return the log-probabilities without a minus sign: they are at most 0", "返回对数概率，不要加负号：它们不大于 0"),
        hides=Message("a loss function negates log-probabilities later", "取负是之后损失函数的事"),
        pattern=r"-",
    ),
    Mistake(
        "logarithm_missing",
        {"join": lambda x, shift, powers, total, logarithm: x - shift - total},
        Message("subtracts the sum of the exponentials instead of its logarithm", "减去的是指数之和，而不是它的对数"),
        USE,
        pattern=r"sum\(",
    ),
    Mistake(
        "logarithm_inside_sum",
        {"join": lambda x, shift, powers, total, logarithm: x - shift - logarithm(powers).sum(-1, keepdims=True)},
        Message(
            "sums the logarithms: computes Σ log exp x = Σ x instead of log Σ exp x",
            "对对数求和：算的是 Σ log exp x = Σ x，而不是 log Σ exp x",
        ),
        Message("sum first, then take the logarithm", "先求和，再取对数"),
        pattern=r"sum\(|log\(",
    ),
    Mistake(
        "mean_for_sum",
        {"total": lambda powers, axis: powers.mean(axis, keepdims=True)},
        Message(
            "takes the mean of the exponentials instead of their sum: exp of a row sums to its length",
            "用的是指数的平均而不是总和：每行取 exp 后之和等于该行长度",
        ),
        Message("use sum", "使用 sum"),
        pattern=r"mean",
    ),
    Mistake(
        "one_added",
        {"logarithm": numpy.log1p},
        Message("computes log(1 + Σ), that is log1p, instead of log(Σ)", "算的是 log(1 + Σ)，即 log1p，而不是 log(Σ)"),
        Message("use log", "使用 log"),
        pattern=r"log1p|1 *\+|\+ *1",
    ),
    Mistake(
        "fractions_cut_off",
        {"finish": numpy.trunc},
        Message("returns integers", "返回的是整数"),
        Message("compute in floating point: convert with x.astype(float) first", "用浮点数计算：先用 x.astype(float) 转换"),
        pattern=r"int",
    ),
)


def _log_sum(x: Any) -> float:
    return float(numpy.log(numpy.exp(x).sum()))


def _scale(ask: Any) -> list[tuple[Inputs, float]]:
    """Measure the factor on x: the slope of the outputs over the inputs."""
    x = numpy.linspace(-0.7, 0.9, 5) ** 3
    answer = ask({"x": x})
    if isinstance(answer, Raised) or numpy.shape(answer) != x.shape or not numpy.isfinite(answer).all():
        return []
    slope, start = numpy.polyfit(x, numpy.asarray(answer, numpy.float64), 1)
    return [({"x": x}, float(slope))] if numpy.abs(answer - slope * x - start).max() < 1e-5 else []


def _unit(ask: Any) -> list[tuple[Inputs, float]]:
    """Measure the factor on the whole output, which is 1/ln 2 in bits."""
    x = numpy.array([0.2, -0.5, 0.9, 0.0])
    answer = ask({"x": x})
    if isinstance(answer, Raised) or numpy.shape(answer) != x.shape or not numpy.isfinite(answer).all():
        return []
    factors = numpy.asarray(answer, numpy.float64) / (x - _log_sum(x))
    return [({"x": x}, float(factors[0]))] if numpy.ptp(factors) < 1e-5 and abs(factors[0] + 1) > 1e-5 else []


def _logarithm(ask: Any) -> list[tuple[Inputs, float]]:
    """Measure the factor on the logarithm only: the maximum is 0 here, so x - output is the logarithm."""
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
    """Measure the constant added to a probability before the logarithm: it is the whole probability where softmax gives 0."""
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
            "the output rises by {value}{names} per unit of x; expected {right} = {right_name}",
            "x 每增加 1，输出变化 {value}{names}；应为 {right} = {right_name}",
        ),
        Message("use exp and log with base e and a positive sign", "使用以 e 为底的 exp 与 log，符号为正"),
        r"\*\*|exp|log",
    ),
    _recovery(
        "unit",
        "finish",
        _unit,
        lambda number_of: lambda answer: number_of({}) * answer,
        1.0,
        "1",
        Message("the output is {value}{names} times the correct one", "输出是正确值的 {value}{names} 倍"),
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
        Message("the logarithm of the sum is {value}{names} times the natural logarithm", "和的对数是自然对数的 {value}{names} 倍"),
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
            "adds {value} to the probabilities before the logarithm: small probabilities become too large, and a log-probability can exceed 0",
            "取对数之前给概率加了 {value}：小概率被抬高，对数概率甚至可能大于 0",
        ),
        USE,
        r"log\(|1e-|eps",
    ),
)


def probes() -> tuple[Probe, ...]:
    """A row, rows of different lengths and magnitudes, more axes, a given axis, inputs too large for exp, probabilities that underflow to 0."""
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
            caution=Message("integer inputs give a truncated integer output", "输入为整数时，输出被截断成整数"),
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
        Message(
            "log_softmax is the logarithm of softmax, but the quotient is never computed.", "它是 softmax 的对数，但不必真的算出那个商。"
        ),
        Message("log(a / b) = log a - log b, and log exp(x) = x.", "log(a / b) = log a - log b，而 log exp(x) = x。"),
        Message(
            "shifted - log(sum(exp(shifted))) with shifted = x - max, keepdims=True in both",
            "shifted - log(sum(exp(shifted)))，其中 shifted = x - max，两处都用 keepdims=True",
        ),
    ),
)
