"""silu: x · sigmoid(x)."""

from __future__ import annotations

from typing import Any

import numpy

from headway import functions
from headway.practice.exercise import Exercise, Inputs, Mistake, Probe, Recovery, Role
from headway.practice.message import Message
from headway.practice.recipes.activation_mistakes import LARGE, instead, not_bent, relu_instead, softplus_instead
from headway.practice.recipes.activations import (
    ARRAYS,
    QUIET,
    X_NAMES,
    answers_at,
    floating,
    gelu,
    gelu_tanh,
    hard_swish,
    mish,
    probes_of,
    sigmoid,
)


def recipe(steps: Any, x: Any) -> Any:
    """The definition as named steps: steepness, gate, apply."""
    x = floating(x)
    return steps.apply(x, steps.gate(steps.steepness() * x))


STEPS = {
    "steepness": lambda: 1.0,
    "gate": sigmoid,
    "apply": lambda x, gate: x * gate,
}

USE = Message("return x * sigmoid(x), that is x / (1 + exp(-x))", "返回 x * sigmoid(x)，即 x / (1 + exp(-x))")


def _derivative(x: Any) -> Any:
    gate = sigmoid(x)
    return gate * (1 + x * (1 - gate))


def _softmax(x: Any) -> Any:
    powers = numpy.exp(x - x.max())
    return powers / powers.sum()


MISTAKES = (
    Mistake(
        "sigmoid_returned",
        {"apply": lambda x, gate: gate},
        Message("returns sigmoid(x): the factor x is missing", "返回的是 sigmoid(x)：缺少因子 x"),
        USE,
        pattern=r"return|exp|sigmoid",
    ),
    Mistake(
        "exponent_sign",
        {"gate": lambda x: sigmoid(-x)},
        Message(
            "the sign inside exp is wrong: computes x · sigmoid(-x), which is near 0 for large x",
            "exp 里的符号反了：算的是 x · sigmoid(-x)，x 很大时接近 0",
        ),
        Message("use exp(-x)", "使用 exp(-x)"),
        hides=Message("the output is correct for x = 0", "在 0 处结果正确"),
        pattern=r"exp|sigmoid",
    ),
    Mistake(
        "exponential_overflows",
        {"gate": lambda x: numpy.exp(x) / (1 + numpy.exp(x))},
        Message("for large x, exp(x) overflows to inf, and inf/inf is NaN", "x 很大时 exp(x) 溢出为 inf，而 inf/inf 是 NaN"),
        Message("use 1 / (1 + exp(-x)), which becomes 1 for large x", "使用 1 / (1 + exp(-x))，x 很大时它等于 1"),
        hides=Message("the output is correct for x up to 88 (float32)", "不超过 88（float32）时结果正确"),
        pattern=r"exp",
    ),
    Mistake(
        "parentheses_missing",
        {"apply": lambda x, gate: x + numpy.exp(-x)},
        Message("parentheses are missing: 1 / 1 + exp(-x) means (1 / 1) + exp(-x)", "缺少括号：1 / 1 + exp(-x) 的含义是 (1 / 1) + exp(-x)"),
        Message("write x / (1 + exp(-x))", "写成 x / (1 + exp(-x))"),
        pattern=r"exp",
    ),
    Mistake(
        "one_missing",
        {"gate": lambda x: numpy.exp(x)},
        Message("the 1 in 1 + exp(-x) is missing", "1 + exp(-x) 中缺少 1"),
        Message("write x / (1 + exp(-x))", "写成 x / (1 + exp(-x))"),
        pattern=r"exp",
    ),
    Mistake(
        "gate_added",
        {"apply": lambda x, gate: x + gate},
        Message("adds x and sigmoid(x)", "把 x 与 sigmoid(x) 相加了"),
        Message("multiply x by sigmoid(x)", "把 x 与 sigmoid(x) 相乘"),
        pattern=r"\+",
    ),
    Mistake(
        "gate_applied_twice",
        {"apply": lambda x, gate: x * gate * gate},
        Message("multiplies by sigmoid(x) twice", "sigmoid(x) 乘了两次"),
        Message("multiply x by sigmoid(x) once", "x 只乘一次 sigmoid(x)"),
        hides=LARGE,
        pattern=r"\*",
    ),
    Mistake(
        "sigmoid_of_sigmoid",
        {"gate": lambda x: sigmoid(sigmoid(x))},
        Message("applies the sigmoid twice", "sigmoid 套了两次"),
        Message("apply it only once", "只用一次"),
        pattern=r"sigmoid|exp",
    ),
    Mistake(
        "tanh_for_sigmoid",
        {"gate": numpy.tanh},
        Message("the gate is tanh, not sigmoid: its values are between -1 and 1", "门用的是 tanh 而不是 sigmoid：取值在 -1 到 1 之间"),
        Message("use sigmoid, 1 / (1 + exp(-x))", "使用 sigmoid，即 1 / (1 + exp(-x))"),
        pattern=r"tanh",
    ),
    Mistake(
        "softmax_for_sigmoid",
        {"gate": _softmax},
        Message(
            "the gate is a softmax over the array instead of a sigmoid of each element",
            "门用的是整个数组上的 softmax，而不是逐元素的 sigmoid",
        ),
        Message("apply sigmoid element by element", "逐元素使用 sigmoid"),
        pattern=r"softmax|sum",
    ),
    Mistake(
        "hard_gate",
        instead(hard_swish),
        Message(
            "computes hard swish: a piecewise linear function in place of the sigmoid", "算的是 hard swish：用分段线性函数代替了 sigmoid"
        ),
        USE,
        hides=Message("the output is nearly the same for |x| above 3", "绝对值大于 3 时两者几乎相同"),
        pattern=r"clip|clamp|relu6|6",
    ),
    relu_instead(USE),
    Mistake(
        "gelu",
        instead(gelu),
        Message("computes GELU, x · Φ(x)", "算的是 GELU，即 x · Φ(x)"),
        USE,
        hides=LARGE,
        pattern=r"erf|gelu",
    ),
    Mistake(
        "gelu_tanh",
        instead(gelu_tanh),
        Message("computes GELU in its tanh form", "算的是 tanh 形式的 GELU"),
        USE,
        hides=LARGE,
        pattern=r"tanh|gelu",
    ),
    softplus_instead(USE),
    Mistake(
        "mish",
        instead(mish),
        Message("computes Mish, x · tanh(softplus x)", "算的是 Mish，即 x · tanh(softplus x)"),
        USE,
        hides=LARGE,
        pattern=r"tanh|mish",
    ),
    Mistake(
        "derivative_returned",
        instead(_derivative),
        Message("returns the derivative of SiLU", "返回的是 SiLU 的导数"),
        USE,
        pattern=r"1 *-",
    ),
    not_bent(USE),
    Mistake(
        "sign_turned",
        {"apply": lambda x, gate: -x * gate},
        Message("the sign of the output is wrong", "输出的符号反了"),
        USE,
        pattern=r"-",
    ),
)


def _steepness(ask: Any) -> list[tuple[Inputs, float]]:
    """Measure the steepness of the sigmoid: the logit of output / x, per x; nothing for values with a named mistake."""
    x = numpy.array([-1.5, -0.8, 0.5, 0.9, 1.7])
    answer = answers_at(ask, x.tolist())
    if answer is None or not ((answer / x > 0) & (answer / x < 1)).all():
        return []
    gate = answer / x
    slopes = numpy.log(gate / (1 - gate)) / x
    is_even = numpy.ptp(slopes) < 1e-4 * abs(slopes[0])
    return [({"x": x}, float(slopes[0]))] if is_even and abs(slopes[0] + 1) > 1e-3 else []


RECOVERIES = (
    Recovery(
        "steepness",
        "steepness",
        measure=_steepness,
        wrong=lambda number_of: lambda: number_of({}),
        sizes=lambda inputs: {"1.702, as in quick GELU": 1.702, "1.6": 1.6},
        right=lambda inputs: 1.0,
        right_name="x · sigmoid(x)",
        says=Message(
            "the factor inside sigmoid is {value}{names}; expected {right}, that is {right_name}",
            "sigmoid 里的系数是 {value}{names}；应为 {right}，即 {right_name}",
        ),
        fix=USE,
        hides=LARGE,
        pattern=r"\d\.\d|sigmoid|exp",
    ),
)

FAR = Message("numbers below -709, where math.exp overflows", "小于 -709 的数（math.exp 会溢出）")


def probes() -> tuple[Probe, ...]:
    """The usual inputs, and numbers too large for exp."""
    return probes_of(
        Probe("far numbers", {"x": numpy.array([-1000.0, 1000.0, 90.0])}, ARRAYS),
        Probe("a far number", {"x": numpy.array(1000.0)}, QUIET),
        Probe("a far negative number", {"x": numpy.array(-1000.0)}, FAR),
    )


EXERCISE = Exercise(
    name="silu",
    title=Message("SiLU (swish)", "SiLU（swish）激活函数"),
    definition=functions.silu,
    recipe=recipe,
    steps=STEPS,
    roles=(Role("x", X_NAMES), Role("beta", ("b",), neutral=1.0)),
    called=r"(?<!hard)(?<!hard_)(?<!h_)(?:silu|swish)(?!_?glu|_?and_?mul|_?back|_?grad|_?deriv|_?prime)",
    probes=probes,
    mistakes=MISTAKES,
    recoveries=RECOVERIES,
    equation="silu(x) = x · sigmoid(x) = x / (1 + exp(-x))",
    hints=(
        Message(
            "The input is multiplied by a gate between 0 and 1 that is computed from the input itself.",
            "输入乘以一个 0 到 1 之间的门，门的值由输入自己算出。",
        ),
        Message("The gate is sigmoid(x) = 1 / (1 + exp(-x)).", "门是 sigmoid(x) = 1 / (1 + exp(-x))。"),
        Message("x / (1 + np.exp(-x)), element by element", "x / (1 + np.exp(-x))，逐元素计算"),
    ),
)
