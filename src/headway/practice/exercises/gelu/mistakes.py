"""Common mistakes in GELU."""

from __future__ import annotations

import math
from typing import Any

import numpy

from headway.practice.exercise import Mistake
from headway.practice.message import Message
from headway.practice.recipes.activation_mistakes import LARGE, instead, not_bent, relu_instead, softplus_instead
from headway.practice.recipes.activations import erf, quick_gelu, sigmoid, silu

USE = Message("return 0.5 * x * (1 + erf(x / √2))", "返回 0.5 * x * (1 + erf(x / √2))")
TANH_FORM = Message(
    "return 0.5 * x * (1 + tanh(√(2/π) * (x + 0.044715 * x³)))",
    "返回 0.5 * x * (1 + tanh(√(2/π) * (x + 0.044715 * x³)))",
)
SMALL = Message("the output is nearly correct near 0", "在 0 附近结果几乎正确")


def _density(x: Any) -> Any:
    return numpy.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def _cumulative(x: Any) -> Any:
    return 0.5 * (1 + erf(x / math.sqrt(2)))


MISTAKES = (
    Mistake(
        "half_missing",
        {"half": lambda: 1.0},
        Message("the factor ½ is missing: all outputs are twice too large", "缺少系数 ½：所有输出都是应有值的两倍"),
        USE,
        pattern=r"erf|tanh|return",
    ),
    Mistake(
        "one_missing",
        {"one": lambda: 0.0},
        Message("the 1 + is missing: negative inputs keep as much weight as positive ones", "缺少 1 +：负的输入与正的输入保留得一样多"),
        USE,
        hides=Message("the output is correct for x = 0", "在 0 处结果正确"),
        pattern=r"erf|tanh",
    ),
    Mistake(
        "one_minus",
        {"apply": lambda x, gate: x * (1 - gate)},
        Message(
            "uses 1 - erf (or 1 - tanh) instead of 1 +: large positive inputs become 0",
            "写成了 1 - erf（或 1 - tanh），应为 1 +：很大的正数变成了 0",
        ),
        USE,
        pattern=r"1(\.0)? *-",
    ),
    Mistake(
        "gate_returned",
        {"apply": lambda x, gate: gate},
        Message("the factor x is missing: returns Φ(x), a number between 0 and 1", "缺少因子 x：返回的是 Φ(x)，取值在 0 到 1 之间"),
        Message("multiply by x", "乘以 x"),
        pattern=r"return|erf|tanh",
    ),
    Mistake(
        "erf_without_root",
        {"erf_factor": lambda: 1.0},
        Message("computes erf(x): the division by √2 is missing", "算的是 erf(x)：没有除以 √2"),
        Message("use erf(x / √2)", "使用 erf(x / √2)"),
        hides=LARGE,
        pattern=r"erf",
    ),
    Mistake(
        "square_for_cube",
        {"cube": lambda x: x * x},
        Message("uses x² inside tanh instead of x³", "tanh 里用的是 x²，应为 x³"),
        TANH_FORM,
        hides=SMALL,
        pattern=r"0?\.0447",
    ),
    Mistake(
        "two_over_pi_without_root",
        {"factor": lambda: 2 / math.pi},
        Message("the factor inside tanh is 2/π; expected √(2/π)", "tanh 里的系数是 2/π；应为 √(2/π)"),
        TANH_FORM,
        hides=LARGE,
        pattern=r"pi|0\.63",
    ),
    Mistake(
        "factor_on_x_alone",
        {"inner_tanh": lambda x, factor, coefficient, cube: factor * x + coefficient * cube(x)},
        Message(
            "√(2/π) multiplies only x: the parentheses around x + 0.044715 x³ are missing", "√(2/π) 只乘了 x：x + 0.044715 x³ 外缺少括号"
        ),
        TANH_FORM,
        hides=SMALL,
        pattern=r"0?\.0447",
    ),
    Mistake(
        "cube_of_everything",
        {"inner_tanh": lambda x, factor, coefficient, cube: factor * cube(x + coefficient * x)},
        Message(
            "takes the cube of x + 0.044715 x instead of x only in the second term",
            "对整个 x + 0.044715 x 取了立方，而应只对第二项的 x 取立方",
        ),
        TANH_FORM,
        pattern=r"0?\.0447",
    ),
    Mistake(
        "cubic_term_missing",
        {"coefficient": lambda: 0.0},
        Message("the term 0.044715 x³ is missing", "缺少 0.044715 x³ 这一项"),
        TANH_FORM,
        hides=SMALL,
        pattern=r"tanh",
    ),
    Mistake(
        "cubic_term_subtracted",
        {"coefficient": lambda: -0.044715},
        Message("subtracts the term 0.044715 x³ instead of adding it", "减去了 0.044715 x³ 这一项，而应加上"),
        TANH_FORM,
        hides=SMALL,
        pattern=r"0?\.0447",
    ),
    Mistake(
        "erf_of_the_tanh_form",
        {"tanh": erf, "form": lambda: "tanh"},
        Message("mixes the two forms: applies erf to the argument of tanh", "混用了两种形式：对 tanh 的自变量用了 erf"),
        USE,
        hides=LARGE,
        pattern=r"erf",
    ),
    Mistake(
        "tanh_of_the_exact_form",
        {"erf": numpy.tanh},
        Message(
            "mixes the two forms: computes tanh(x / √2) instead of erf(x / √2)",
            "混用了两种形式：算的是 tanh(x / √2)，应为 erf(x / √2)",
        ),
        USE,
        hides=LARGE,
        pattern=r"tanh",
    ),
    Mistake(
        "sigmoid_for_tanh",
        {"tanh": sigmoid, "form": lambda: "tanh"},
        Message("uses sigmoid instead of tanh: 1 + sigmoid is between 1 and 2", "应为 tanh 的地方用了 sigmoid：1 + sigmoid 在 1 到 2 之间"),
        TANH_FORM,
        pattern=r"sigmoid|exp",
    ),
    Mistake(
        "sigmoid_form",
        instead(quick_gelu),
        Message(
            "computes the sigmoid form, x · sigmoid(1.702 x) (quick GELU), which differs by up to 0.02",
            "使用的是 sigmoid 形式 x · sigmoid(1.702 x)（quick GELU）：误差可达 0.02",
        ),
        USE,
        hides=LARGE,
        pattern=r"1\.70",
    ),
    Mistake(
        "density_for_cumulative",
        instead(lambda x: x * _density(x)),
        Message(
            "computes x · φ(x) with the normal density; expected x · Φ(x) with the cumulative distribution",
            "算的是 x · φ(x)（正态密度）；应为 x · Φ(x)（累积分布）",
        ),
        USE,
        pattern=r"exp|pdf",
    ),
    relu_instead(USE),
    Mistake(
        "silu",
        instead(silu),
        Message("computes SiLU, x · sigmoid(x)", "算的是 SiLU，即 x · sigmoid(x)"),
        USE,
        hides=LARGE,
        pattern=r"sigmoid|exp|silu",
    ),
    softplus_instead(USE),
    Mistake(
        "derivative_returned",
        instead(lambda x: _cumulative(x) + x * _density(x)),
        Message("returns the derivative of GELU", "返回的是 GELU 的导数"),
        USE,
        pattern=r"return",
    ),
    not_bent(USE),
)
