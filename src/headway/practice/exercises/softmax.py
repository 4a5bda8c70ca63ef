"""softmax: exp(x - max x) / Σ exp(x - max x)."""

from __future__ import annotations

from typing import Any

import numpy

from headway import functions
from headway.practice.diagnosis.compare import Raised
from headway.practice.exercise import Exercise, Inputs, Mistake, Probe, Recovery, Role
from headway.practice.message import Message


def recipe(steps: Any, x: Any, axis: int = -1) -> Any:
    """The definition as named steps: promote, axis, shift, power, total, divide, finish."""
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
WHOLE = Message("integers", "整数")
SQUARE = Message("no error is raised on a square array or a single row, and the shape is right", "在方阵或单行上不报错，形状也看不出问题")

MISTAKES = (
    Mistake(
        "no_shift",
        {"shift": lambda x, axis: 0.0},
        Message(
            "the maximum is not subtracted before exp: exp overflows to inf and the output is NaN for large inputs",
            "没有先减去最大值：输入较大时 exp 溢出为 inf，结果为 NaN",
        ),
        Message("subtract x.max(axis, keepdims=True) before exp", "在 exp 之前减去 x.max(axis, keepdims=True)"),
        hides=Message("the output is correct for inputs below 88 (float32)", "输入小于 88（float32）时结果正确"),
        pattern=r"exp\(",
    ),
    Mistake(
        "global_shift",
        {"shift": lambda x, axis: x.max()},
        Message(
            "subtracts the maximum of the whole array instead of each row's: a row far below it becomes 0/0 = NaN",
            "减去的是整个数组的最大值，而不是每行的最大值：远小于它的行会变成 0/0 = NaN",
        ),
        Message("subtract the maximum of each row: x.max(axis, keepdims=True)", "减去每行的最大值：x.max(axis, keepdims=True)"),
        hides=Message("the output is correct when all rows have a similar magnitude", "各行数值大小相近时结果正确"),
        pattern=r"max\(",
    ),
    Mistake(
        "divides_by_sum_of_inputs",
        {"total": lambda powers, x, axis: x.sum(axis, keepdims=True)},
        Message(
            "divides by the sum of x instead of the sum of exp(x): the rows do not sum to 1",
            "除以的是 x 之和，而不是 exp(x) 之和：每行之和不为 1",
        ),
        Message("divide by exp(x - max).sum(axis, keepdims=True)", "除以 exp(x - max).sum(axis, keepdims=True)"),
        pattern=r"sum\(",
    ),
    Mistake(
        "sums_everything",
        {"total": lambda powers, x, axis: powers.sum()},
        Message(
            "divides by the sum over the whole array: all elements together sum to 1 instead of each row",
            "除以的是整个数组之和：全部元素之和为 1，而不是每行之和为 1",
        ),
        Message("sum along the axis: sum(axis, keepdims=True)", "沿该轴求和：sum(axis, keepdims=True)"),
        hides=Message("the output is correct for a single row", "只有一行时结果正确"),
        pattern=r"sum\(",
    ),
    Mistake(
        "no_keepdims_in_total",
        {"total": lambda powers, x, axis: powers.sum(axis)},
        Message(
            "the sum drops its axis (no keepdims), so each row is divided by the sums of other rows",
            "求和时丢掉了该轴（没有 keepdims），每一行除以的是其他行的和",
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
        {"shift": lambda x, axis: x.max(axis), "total": lambda powers, x, axis: powers.sum(axis)},
        Message("the maximum and the sum drop their axis (no keepdims)", "取最大值与求和都丢掉了该轴（没有 keepdims）"),
        Message("use keepdims=True in both", "两处都加上 keepdims=True"),
        hides=SQUARE,
        pattern=r"max\(|sum\(",
    ),
    Mistake(
        "first_axis",
        {"axis": lambda axis: 0},
        Message("normalizes over axis 0: the columns sum to 1, the rows do not", "沿第 0 轴归一化：每列之和为 1，而不是每行"),
        Message("use axis=-1", "使用 axis=-1"),
        hides=SQUARE,
        pattern=r"axis *= *0|dim *= *0|\(0",
    ),
    Mistake(
        "second_axis",
        {"axis": lambda axis: 1},
        Message(
            "normalizes over axis 1, which is the head axis of (batch, heads, queries, keys)",
            "沿第 1 轴归一化：对 (batch, heads, queries, keys) 来说那是头的轴",
        ),
        Message("use axis=-1", "使用 axis=-1"),
        hides=Message("axis 1 is the last axis of a matrix", "对矩阵来说，第 1 轴就是最后一轴"),
        pattern=r"axis *= *1|dim *= *1|\(1",
    ),
    Mistake(
        "given_axis_ignored",
        {"axis": lambda axis: -1},
        Message("ignores the argument axis: always normalizes the last axis", "没有使用参数 axis：总是沿最后一轴归一化"),
        Message("use axis in both max and sum", "在 max 与 sum 中都使用 axis"),
        pattern=r"-1",
    ),
    Mistake(
        "applied_twice",
        {"finish": _softmax},
        Message(
            "softmax is applied twice: even a one-hot row becomes nearly uniform", "softmax 用了两次：即使接近 one-hot 的行也变得几乎均匀"
        ),
        Message("apply it only once", "只用一次"),
    ),
    Mistake(
        "logarithm_returned",
        {"divide": lambda powers, total: numpy.log(powers) - numpy.log(total)},
        Message(
            "returns the logarithm of the softmax: every element is at most 0, and its exp is correct",
            "返回的是 softmax 的对数：所有元素都不大于 0，取 exp 之后才正确",
        ),
        Message("return exp(x - max) / sum, or name the function log_softmax", "返回 exp(x - max) / sum，或把函数命名为 log_softmax"),
        pattern=r"log",
    ),
    Mistake(
        "whole_numbers_returned",
        {"finish": lambda answer, axis: numpy.zeros_like(answer)},
        Message("returns integers", "返回的是整数"),
        Message("compute in floating point: convert with x.astype(float) first", "用浮点数计算：先用 x.astype(float) 转换"),
    ),
    Mistake(
        "sigmoid",
        {"shift": lambda x, axis: 0.0, "power": lambda x: x, "divide": lambda powers, total: 0.5 + 0.5 * numpy.tanh(0.5 * powers)},
        Message("applies a sigmoid to each number separately; the rows are not normalized", "对每个数单独做 sigmoid，没有按行归一化"),
        Message("divide by the sum of the row", "除以整行之和"),
        pattern=r"1 *\+|\+ *1|sigmoid",
    ),
    Mistake(
        "not_divided",
        {"divide": lambda powers, total: powers},
        Message("the division by the sum is missing", "缺少除以总和这一步"),
        Message("divide by exp(x - max).sum(axis, keepdims=True)", "除以 exp(x - max).sum(axis, keepdims=True)"),
        pattern=r"return",
    ),
    Mistake(
        "hard_maximum",
        {"power": lambda x: (x == 0).astype(x.dtype)},
        Message("puts all weight on the largest element (argmax)", "把全部权重放在最大的元素上（argmax）"),
        Message("exponentiate: exp(x - max)", "取指数：exp(x - max)"),
        hides=Message("the output is nearly correct when one element is far above the others", "某个元素远大于其他元素时结果几乎正确"),
        pattern=r"argmax|==|one_hot",
    ),
)


def _base(ask: Any) -> list[tuple[Inputs, float]]:
    """Measure the slope of the log-probabilities over the inputs: 1 for exp, ln 2 for powers of 2, -1 for exp(-x)."""
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
            "the log-probabilities rise by {value}{names} per unit of x; expected {right} = {right_name}",
            "x 每增加 1，输出的对数变化 {value}{names}；应为 {right} = {right_name}",
        ),
        fix=Message("use exp(x - max): base e, positive sign", "使用 exp(x - max)：底为 e，符号为正"),
        pattern=r"\*\*|exp|pow",
    ),
)


def probes() -> tuple[Probe, ...]:
    """A row, rows of different lengths and magnitudes, four axes, a given axis, inputs too large for exp, integers."""
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
        Message("All outputs are positive and sum to 1 along the axis.", "所有输出为正，沿该轴之和为 1。"),
        Message(
            "Subtract the maximum first: the result does not change, and exp cannot overflow.", "先减去最大值：结果不变，而 exp 不会溢出。"
        ),
        Message("exp(x - max) / sum(exp(x - max)), with keepdims=True in both", "exp(x - max) / sum(exp(x - max))，两处都用 keepdims=True"),
    ),
)
