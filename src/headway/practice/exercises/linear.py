"""linear: x @ weightᵀ + bias."""

from __future__ import annotations

from typing import Any

import numpy

from headway import functions
from headway.practice.diagnosis.compare import Raised
from headway.practice.exercise import Convention, Exercise, Inputs, Mistake, Probe, Recovery, Role
from headway.practice.message import Message


def recipe(steps: Any, x: Any, weight: Any, bias: Any = None) -> Any:
    """The definition as named steps: input, scale, product, bias_scale, add (the bias), finish."""
    product = steps.scale({"x": x, "weight": weight}) * steps.product(steps.input(x, bias), weight)
    return steps.finish(product if bias is None else steps.add(product, steps.bias_scale({"x": x, "weight": weight}) * bias))


STEPS = {
    "input": lambda x, bias: x,
    "scale": lambda inputs: 1.0,
    "product": lambda x, weight: x @ weight.T,
    "bias_scale": lambda inputs: 1.0,
    "add": lambda product, bias: product + bias,
    "finish": lambda answer: answer,
}

ROWS = Message("no error is raised when the number of rows equals the number of outputs", "行数与输出个数相同时不会报错")
SQUARE = Message("no error is raised when the weight is square", "权重是方阵时不会报错")
ADD = Message("return x @ weight.T + bias, which adds the bias to every row", "返回 x @ weight.T + bias，即每一行都加上偏置")

MISTAKES = (
    Mistake(
        "bias_missing",
        {"add": lambda product, bias: product},
        Message("the bias is never added; for x = 0 the output must equal the bias", "没有加偏置；x = 0 时输出应等于偏置"),
        ADD,
        hides=Message("the mistake is not visible with a bias of zeros, the usual initial value", "偏置初始为零时看不出来"),
        pattern=r"return|@|dot|matmul|einsum",
    ),
    Mistake(
        "bias_per_row",
        {"add": lambda product, bias: product + bias[:, None]},
        Message(
            "adds the bias along the wrong axis: one number per row instead of one per column",
            "偏置加错了轴：每一行加一个数，而应每一列加一个数",
        ),
        ADD,
        hides=ROWS,
        pattern=r"None|newaxis|reshape|unsqueeze|\.T",
    ),
    Mistake(
        "bias_subtracted",
        {"add": lambda product, bias: product - bias},
        Message("subtracts the bias instead of adding it", "减去了偏置，而应加上"),
        ADD,
        pattern=r"-",
    ),
    Mistake(
        "bias_multiplied",
        {"add": lambda product, bias: product * bias},
        Message("multiplies by the bias instead of adding it", "乘了偏置，而应加上"),
        ADD,
        pattern=r"\*",
    ),
    Mistake(
        "bias_summed",
        {"add": lambda product, bias: product + bias.sum()},
        Message("adds the sum of the bias to every element", "把偏置之和加到了每个元素上"),
        ADD,
        pattern=r"sum",
    ),
    Mistake(
        "first_bias_for_all",
        {"add": lambda product, bias: product + bias[0]},
        Message("adds the first element of the bias to all columns", "所有列加的都是偏置的第一个元素"),
        ADD,
        pattern=r"\[0\]",
    ),
    Mistake(
        "bias_before_product",
        {"input": lambda x, bias: x if bias is None else x + bias, "add": lambda product, bias: product},
        Message("adds the bias to x before the matrix product", "在矩阵乘法之前就把偏置加到了 x 上"),
        ADD,
        hides=SQUARE,
        pattern=r"\(.*\+.*\) *@|\+",
    ),
    Mistake(
        "weight_reshaped",
        {"product": lambda x, weight: x @ weight.reshape(weight.shape[::-1])},
        Message(
            "reshapes the weight instead of transposing it: the shape is right, but the elements are in the wrong places",
            "对权重做了 reshape 而不是转置：形状对了，但元素的位置是错的",
        ),
        Message("use weight.T", "使用 weight.T"),
        hides=Message("the mistake is not visible for a weight with a single row or column", "权重只有一行或一列时看不出来"),
        pattern=r"reshape|view",
    ),
    Mistake(
        "elementwise_product",
        {"product": lambda x, weight: x * weight},
        Message("multiplies x and weight element by element", "x 与 weight 逐元素相乘了"),
        Message("use the matrix product: x @ weight.T", "使用矩阵乘法：x @ weight.T"),
        hides=ROWS,
        pattern=r"\*",
    ),
    Mistake(
        "answer_transposed",
        {"product": lambda x, weight: weight @ x.T},
        Message("the output is transposed: weight @ xᵀ has one column per row of x", "输出被转置了：weight @ xᵀ 的每一列对应 x 的一行"),
        Message("use x @ weight.T", "使用 x @ weight.T"),
        hides=Message("the output is the same for a single vector", "对单个向量来说两者相同"),
        pattern=r"@|dot|matmul|einsum",
    ),
    Mistake(
        "input_transposed",
        {"product": lambda x, weight: x.T @ weight.T},
        Message("transposes x before the matrix product", "矩阵乘法之前把 x 转置了"),
        Message("use x @ weight.T", "使用 x @ weight.T"),
        hides=SQUARE,
        pattern=r"\.T|transpose",
    ),
    Mistake(
        "summed_over_rows",
        {"product": lambda x, weight: (x @ weight.T).sum(tuple(range(x.ndim - 1)))},
        Message("sums over the rows: returns one vector instead of one per row", "对各行求和：只返回一个向量，而应每行一个"),
        Message("keep the rows: einsum('...i,oi->...o', x, weight)", "保留行的轴：einsum('...i,oi->...o', x, weight)"),
        hides=Message("the output is the same for a single vector", "对单个向量来说两者相同"),
        pattern=r"einsum|sum",
    ),
    Mistake(
        "relu_applied",
        {"finish": lambda answer: numpy.maximum(answer, 0)},
        Message("applies a ReLU to the output: negative numbers become 0", "对输出做了 ReLU：负数都变成了 0"),
        Message("return the output without an activation", "直接返回结果，不加激活函数"),
        pattern=r"max|relu|clamp|clip",
    ),
    Mistake(
        "sigmoid_applied",
        {"finish": lambda answer: 0.5 + 0.5 * numpy.tanh(0.5 * answer)},
        Message("applies a sigmoid to the output", "对输出做了 sigmoid"),
        Message("return the output without an activation", "直接返回结果，不加激活函数"),
        pattern=r"sigmoid|exp",
    ),
    Mistake(
        "tanh_applied",
        {"finish": numpy.tanh},
        Message("applies tanh to the output", "对输出做了 tanh"),
        Message("return the output without an activation", "直接返回结果，不加激活函数"),
        pattern=r"tanh",
    ),
    Mistake(
        "whole_numbers_returned",
        {"finish": numpy.trunc},
        Message("the fractional part is lost: the output is written into an integer array", "小数部分丢失了：结果写进了整数数组"),
        Message(
            "give the output array a floating-point dtype: np.zeros(shape), not dtype=int",
            "用浮点数组存放结果：np.zeros(shape)，不要 dtype=int",
        ),
        pattern=r"int|zeros",
    ),
)


def _operands(random: Any, rows: int, inner: int, outer: int) -> Inputs:
    return {"x": random.standard_normal((rows, inner)), "weight": random.standard_normal((outer, inner))}


def _ratio(answer: Any, right: Any) -> float | None:
    """Return the constant factor between two arrays; None if there is none."""
    if isinstance(answer, Raised) or numpy.shape(answer) != right.shape:
        return None
    factor = float((answer * right).sum() / (right * right).sum())
    return factor if numpy.abs(answer - factor * right).max() < 1e-5 * numpy.abs(right).max() else None


def _scale(ask: Any) -> list[tuple[Inputs, float]]:
    """Measure the factor on the product: the output for a bias of zeros."""
    random, measured = numpy.random.default_rng(2), []
    for rows, inner, outer in ((3, 5, 4), (2, 7, 6)):
        inputs = _operands(random, rows, inner, outer)
        factor = _ratio(ask(inputs | {"bias": numpy.zeros(outer)}), inputs["x"] @ inputs["weight"].T)
        if factor is None:
            return []
        measured.append((inputs, factor))
    return measured


def _bias_scale(ask: Any) -> list[tuple[Inputs, float]]:
    """Measure the factor on the bias: the output for x = 0. Factors with a named mistake are left out."""
    random, measured = numpy.random.default_rng(2), []
    for rows, inner, outer in ((3, 5, 4), (2, 7, 6)):
        inputs = _operands(random, rows, inner, outer)
        bias = random.standard_normal(outer)
        factor = _ratio(ask(inputs | {"x": numpy.zeros((rows, inner)), "bias": bias}), numpy.broadcast_to(bias, (rows, outer)))
        if factor is None or min(abs(factor), abs(factor + 1)) < 1e-5:
            return []
        measured.append((inputs, factor))
    return measured


def _sizes(inputs: Inputs) -> dict[str, float]:
    return {
        "in_features": float(inputs["weight"].shape[1]),
        "out_features": float(inputs["weight"].shape[0]),
        "rows": float(inputs["x"].shape[0]),
    }


RECOVERIES = (
    Recovery(
        "scale",
        "scale",
        measure=_scale,
        wrong=lambda number_of: number_of,
        sizes=_sizes,
        right=lambda inputs: 1.0,
        right_name="1",
        says=Message("the product is {value}{names} times the correct one", "乘积是正确值的 {value}{names} 倍"),
        fix=Message(
            "return x @ weight.T without scaling: scaling belongs in attention and in initialization",
            "直接返回 x @ weight.T，不要缩放：缩放属于注意力和初始化",
        ),
        pattern=r"sqrt|/|\*\*|mean",
    ),
    Recovery(
        "bias_scale",
        "bias_scale",
        measure=_bias_scale,
        wrong=lambda number_of: number_of,
        sizes=_sizes,
        right=lambda inputs: 1.0,
        right_name="1",
        says=Message("the bias is multiplied by {value}{names}", "偏置被乘以 {value}{names}"),
        fix=ADD,
        hides=Message("the mistake is not visible with a bias of zeros", "偏置为零时看不出来"),
        pattern=r"bias|\bb\b|\+",
    ),
)

BATCH = Message("more than one leading axis", "多于一个前导轴")
VECTOR = Message("a single vector", "单个向量")


def probes() -> tuple[Probe, ...]:
    """Inputs without and with a bias: distinct sizes, as many rows as outputs, all sizes equal; a vector, three axes, x = 0."""
    random = numpy.random.default_rng(6)

    def operands(outer: int, *shape: int) -> Inputs:
        return {"x": random.standard_normal(shape), "weight": random.standard_normal((outer, shape[-1]))}

    def biased(outer: int, *shape: int) -> Inputs:
        return operands(outer, *shape) | {"bias": random.standard_normal(outer) * 2}

    return (
        Probe("no bias", operands(4, 3, 5)),
        Probe("no bias, square", operands(4, 4, 4)),
        Probe("no bias, vector", operands(4, 5), VECTOR),
        Probe("no bias, three axes", operands(4, 2, 3, 5), BATCH),
        Probe("bias", biased(4, 3, 5)),
        Probe("bias, zeros", biased(4, 3, 5) | {"x": numpy.zeros((3, 5))}),
        Probe("bias, as many rows as outputs", biased(4, 4, 5)),
        Probe("bias, square", biased(4, 4, 4)),
        Probe("bias, vector", biased(4, 5), VECTOR),
        Probe("bias, three axes", biased(4, 2, 3, 5), BATCH),
    )


def _transposed_weight(inputs: Inputs) -> Inputs:
    return inputs | {"weight": numpy.ascontiguousarray(inputs["weight"].T)}


def _columns(inputs: Inputs) -> Inputs | None:
    if inputs["x"].ndim != 2:
        return None
    bias = {"bias": inputs["bias"][:, None]} if inputs.get("bias") is not None else {}
    return inputs | {"x": numpy.ascontiguousarray(inputs["x"].T)} | bias


def _columns_back(answer: Any, inputs: Inputs) -> Any:
    return answer.T if isinstance(answer, numpy.ndarray) and answer.ndim == 2 else answer


EXERCISE = Exercise(
    name="linear",
    title=Message("linear layer", "线性层"),
    definition=functions.linear,
    recipe=recipe,
    steps=STEPS,
    roles=(
        Role("x", ("input", "inputs", "a", "a_prev", "h", "hidden", "hidden_states", "features")),
        Role("weight", ("w", "weights", "kernel", "w_t", "wt", "matrix", "theta"), is_weight=True),
        Role("bias", ("b", "biases", "beta"), is_weight=True, is_optional=True),
        Role(
            "in_features",
            ("d_in", "in_dim", "input_dim", "in_size", "input_size", "dim_in", "fan_in", "n_in", "nin", "input_dims"),
            is_size=True,
            size_of=lambda inputs: inputs["x"].shape[-1] if "x" in inputs else None,
        ),
        Role(
            "out_features",
            ("d_out", "out_dim", "output_dim", "out_size", "output_size", "dim_out", "fan_out", "n_out", "nout", "output_dims", "units"),
            is_size=True,
            size_of=lambda inputs: inputs["weight"].shape[0] if "weight" in inputs else None,
        ),
    ),
    called=r"^(?!.*(relu|gelu|silu|swi|glu|gated|regression|unit|attn|attention|back|grad|bilinear|nonlin|schedule|norm))"
    r".*(linear|dense|affine|fully_?connected|fc_(layer|forward))",
    probes=probes,
    mistakes=MISTAKES,
    conventions=(
        (
            Convention(),
            Convention(
                Message("the weight has shape (in, out): x @ weight", "权重的形状是 (in, out)：x @ weight"),
                _transposed_weight,
                undo=_transposed_weight,
                role="weight",
            ),
            Convention(
                Message("x has one vector per column: weight @ x", "x 的每一列是一个向量：weight @ x"),
                _columns,
                _columns_back,
                role="weight",
            ),
        ),
    ),
    recoveries=RECOVERIES,
    equation="linear(x) = x @ weightᵀ + bias",
    hints=(
        Message("Each output is the dot product of x with one row of the weight.", "每个输出是 x 与权重某一行的点积。"),
        Message(
            "The weight of shape (out, in) is transposed; the bias of shape (out,) is added to every row.",
            "形状为 (out, in) 的权重要转置；形状为 (out,) 的偏置加到每一行。",
        ),
        Message("x @ weight.T + bias", "x @ weight.T + bias"),
    ),
)
