"""softmax: exp(x - max x) / Σ exp(x - max x)."""

from __future__ import annotations

from typing import Any

import numpy

from headway import functions
from headway.practice.diagnosis.compare import Raised
from headway.practice.exercise import Exercise, Inputs, Mistake, Probe, Recovery, Role
from headway.practice.message import Message


def recipe(steps: Any, x: Any, axis: int = -1) -> Any:
    """The definition in steps: promote, axis, shift, power, total, divide, finish."""
    x, axis = steps.promote(x), steps.axis(axis)
    powers = steps.power(x - steps.shift(x, axis))
    return steps.finish(steps.divide(powers, steps.total(powers, x, axis)), axis)


def _softmax(x: Any, axis: int) -> Any:
    powers = numpy.exp(x - x.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)


STEPS = {
    "promote": lambda x: x if x.dtype.kind == "f" else x.astype(numpy.float64),
    "axis": lambda axis: axis,
    "shift": lambda x, axis: x.max(axis, keepdims=True),
    "power": numpy.exp,
    "total": lambda powers, x, axis: powers.sum(axis, keepdims=True),
    "divide": lambda powers, total: powers / total,
    "finish": lambda answer, axis: answer,
}

ROWS = Message("more than one row", "多于一行的输入")
WHOLE = Message("whole numbers", "整数")
SQUARE = Message("on a square array, or in a single row, this gives numbers of the right shape", "在方阵或单行上，输出的形状看不出问题")

MISTAKES = (
    Mistake(
        "no_shift",
        {"shift": lambda x, axis: 0.0},
        Message(
            "the maximum is not subtracted, so exp overflows to inf and the answer is NaN for large numbers",
            "没有先减去最大值：数值大时 exp 溢出为 inf，结果为 NaN",
        ),
        Message("subtract x.max(axis, keepdims=True) before exp", "在 exp 之前减去 x.max(axis, keepdims=True)"),
        hides=Message("for numbers below 88 (float32) the answer is right", "数值小于 88（float32）时结果是对的"),
        pattern=r"exp\(",
    ),
    Mistake(
        "global_shift",
        {"shift": lambda x, axis: x.max()},
        Message(
            "the maximum of the whole array is subtracted, so a row far below it becomes 0/0 = NaN",
            "减去的是整个数组的最大值：远小于它的行会变成 0/0 = NaN",
        ),
        Message("take the maximum per row: x.max(axis, keepdims=True)", "按行取最大值：x.max(axis, keepdims=True)"),
        hides=Message("where all rows are of similar size the answer is right", "各行大小相近时结果是对的"),
        pattern=r"max\(",
    ),
    Mistake(
        "divides_by_sum_of_inputs",
        {"total": lambda powers, x, axis: x.sum(axis, keepdims=True)},
        Message(
            "it divides by the sum of x, not of exp(x): the rows do not sum to 1", "除以的是 x 之和，而不是 exp(x) 之和：每行之和不为 1"
        ),
        Message("divide by exp(x - max).sum(axis, keepdims=True)", "应除以 exp(x - max).sum(axis, keepdims=True)"),
        pattern=r"sum\(",
    ),
    Mistake(
        "sums_everything",
        {"total": lambda powers, x, axis: powers.sum()},
        Message(
            "it divides by the sum over the whole array: all elements together sum to 1, not each row",
            "除以了整个数组之和：所有元素之和为 1，而不是每行之和为 1",
        ),
        Message("sum along the axis: sum(axis, keepdims=True)", "沿该轴求和：sum(axis, keepdims=True)"),
        hides=Message("for a single row the answer is right", "只有一行时结果是对的"),
        pattern=r"sum\(",
    ),
    Mistake(
        "no_keepdims_in_total",
        {"total": lambda powers, x, axis: powers.sum(axis)},
        Message(
            "the sum lost its axis (no keepdims), so each row is divided by other rows' sums",
            "求和时丢掉了轴（没有 keepdims），每一行除以的是别的行的和",
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
        {"shift": lambda x, axis: x.max(axis), "total": lambda powers, x, axis: powers.sum(axis)},
        Message("maximum and sum lost their axis (no keepdims)", "最大值与求和都丢掉了轴（没有 keepdims）"),
        Message("use keepdims=True in both", "两处都加上 keepdims=True"),
        hides=SQUARE,
        pattern=r"max\(|sum\(",
    ),
    Mistake(
        "first_axis",
        {"axis": lambda axis: 0},
        Message("it normalises along axis 0: columns sum to 1, rows do not", "沿第 0 轴归一化：每列之和为 1，而不是每行"),
        Message("use axis=-1", "使用 axis=-1"),
        hides=SQUARE,
        pattern=r"axis *= *0|dim *= *0|\(0",
    ),
    Mistake(
        "second_axis",
        {"axis": lambda axis: 1},
        Message(
            "it normalises along axis 1: on (batch, heads, queries, keys) that is over the heads",
            "沿第 1 轴归一化：对 (batch, heads, queries, keys) 来说是在各头之间归一化",
        ),
        Message("use axis=-1", "使用 axis=-1"),
        hides=Message("on a matrix axis 1 is the last axis", "对矩阵来说，第 1 轴就是最后一轴"),
        pattern=r"axis *= *1|dim *= *1|\(1",
    ),
    Mistake(
        "given_axis_ignored",
        {"axis": lambda axis: -1},
        Message("the argument axis is not used: it always normalises the last axis", "参数 axis 没有用上：总是沿最后一轴归一化"),
        Message("use axis in both max and sum", "在 max 与 sum 中都使用 axis"),
        pattern=r"-1",
    ),
    Mistake(
        "applied_twice",
        {"finish": _softmax},
        Message("softmax is applied twice: even certain rows come out nearly uniform", "softmax 用了两次：再确定的行也几乎变成均匀"),
        Message("apply it once", "只用一次"),
    ),
    Mistake(
        "logarithm_returned",
        {"divide": lambda powers, total: numpy.log(powers) - numpy.log(total)},
        Message(
            "it returns the logarithm of the softmax: all numbers are at most 0, and exp of them is right",
            "返回的是 softmax 的对数：所有数都不大于 0，取 exp 之后才对",
        ),
        Message("return exp(x - max) / sum, or call it log_softmax", "返回 exp(x - max) / sum，或把它命名为 log_softmax"),
        pattern=r"log",
    ),
    Mistake(
        "whole_numbers_returned",
        {"finish": lambda answer, axis: numpy.zeros_like(answer)},
        Message("it returns whole numbers", "返回的是整数"),
        Message("compute in floating point: x.astype(float) first", "先转成浮点数：x.astype(float)"),
    ),
    Mistake(
        "sigmoid",
        {"shift": lambda x, axis: 0.0, "power": lambda x: x, "divide": lambda powers, total: 0.5 + 0.5 * numpy.tanh(0.5 * powers)},
        Message("each number is squashed by itself (sigmoid); the rows are not normalised", "每个数单独压缩（sigmoid），没有按行归一化"),
        Message("divide by the sum over the row", "应除以整行之和"),
        pattern=r"1 *\+|\+ *1|sigmoid",
    ),
    Mistake(
        "not_divided",
        {"divide": lambda powers, total: powers},
        Message("the division by the sum is missing", "没有除以总和"),
        Message("divide by exp(x - max).sum(axis, keepdims=True)", "应除以 exp(x - max).sum(axis, keepdims=True)"),
        pattern=r"return",
    ),
    Mistake(
        "hard_maximum",
        {"power": lambda x: (x == 0).astype(x.dtype)},
        Message("it puts everything on the largest number (argmax)", "把全部权重放在最大的数上（argmax）"),
        Message("exponentiate: exp(x - max)", "应取指数：exp(x - max)"),
        hides=Message("where one number is far above the others the answer is right", "当某个数远大于其他数时结果是对的"),
        pattern=r"argmax|==|one_hot",
    ),
)


def _base(ask: Any) -> list[tuple[Inputs, float]]:
    """The slope of the answers' logarithm on the inputs: 1 for exp, ln 2 for powers of 2, -1 for exp(-x)."""
    measured = []
    for size in (4, 6):
        x = numpy.linspace(-0.7, 0.9, size) ** 3
        answer = ask({"x": x})
        if isinstance(answer, Raised) or numpy.shape(answer) != x.shape or not (numpy.asarray(answer) > 0).all():
            return []
        logs = numpy.log(numpy.asarray(answer, numpy.float64))
        slope, rest, *_ = numpy.polyfit(x, logs, 1, full=True)
        if rest.size and rest[0] > 1e-6:
            return []
        measured.append(({"x": x}, float(slope[0])))
    return measured


RECOVERIES = (
    Recovery(
        "base",
        "power",
        measure=_base,
        wrong=lambda number_of: lambda x: numpy.exp(number_of({}) * x),
        sizes=lambda inputs: {},
        right=lambda inputs: 1.0,
        right_name="1 (the base e)",
        says=Message(
            "the logarithm of your answer rises by {value}{names} per unit of x; it must rise by {right} = {right_name}",
            "输出的对数随 x 每单位变化 {value}{names}；应为 {right} = {right_name}",
        ),
        fix=Message("use exp(x - max), base e and a plus sign", "使用 exp(x - max)：底为 e，符号为正"),
        pattern=r"\*\*|exp|pow",
    ),
)


def probes() -> tuple[Probe, ...]:
    """A row, rows of unlike length and height, four axes, an axis given, numbers too large for exp, whole numbers."""
    random = numpy.random.default_rng(3)
    return (
        Probe("row", {"x": random.standard_normal(5) * 2}),
        Probe("large", {"x": numpy.array([1000.0, 1001.0, 1002.0, 1000.5])}),
        Probe("rows", {"x": random.standard_normal((3, 5))}, ROWS),
        Probe("square", {"x": random.standard_normal((3, 3))}, ROWS),
        Probe("sums to zero", {"x": numpy.array([[1.0, -1.0, 0.0], [2.0, 1.0, -3.5]])}, ROWS),
        Probe("three axes", {"x": random.standard_normal((2, 3, 5))}, ROWS),
        Probe("four axes", {"x": random.standard_normal((2, 3, 4, 5))}, ROWS),
        Probe("large rows", {"x": numpy.array([[1000.0, 1001.0, 1002.0], [-1000.0, -1001.0, -1003.0]])}, ROWS),
        Probe("a row far below", {"x": numpy.array([[0.0, 1.0], [-2000.0, -2001.0]])}, ROWS),
        Probe("whole numbers", {"x": numpy.array([1, 2, 4])}, WHOLE),
        Probe("whole rows", {"x": numpy.array([[1, 2, 4], [0, 3, 1]])}, WHOLE),
        Probe("given axis", {"x": random.standard_normal((3, 4, 5)), "axis": 1}),
    )


EXERCISE = Exercise(
    name="softmax",
    title=Message("softmax", "softmax"),
    definition=functions.softmax,
    recipe=recipe,
    steps=STEPS,
    roles=(
        Role("x", ("z", "logits", "scores", "a", "input", "inputs", "vector", "values", "arr", "v")),
        Role("axis", ("dim",), neutral=-1),
    ),
    called=r"^(?!.*mask).*(?<!log_)(?<!log)soft_?max(?!.*(attention|cross|loss|temp))",
    probes=probes,
    mistakes=MISTAKES,
    recoveries=RECOVERIES,
    equation="softmax(x)ᵢ = exp(xᵢ - max x) / Σⱼ exp(xⱼ - max x)",
    hints=(
        Message("The answer is positive and sums to 1 along the axis.", "结果为正数，并且沿该轴之和为 1。"),
        Message(
            "Subtract the largest number first: it changes nothing, and exp cannot overflow.", "先减去最大值：结果不变，而 exp 不会溢出。"
        ),
        Message("exp(x - max) / sum(exp(x - max)), with keepdims=True in both", "exp(x - max) / sum(exp(x - max))，两处都用 keepdims=True"),
    ),
)
