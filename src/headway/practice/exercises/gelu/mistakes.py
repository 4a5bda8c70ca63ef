"""What people get wrong in GELU."""

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
SMALL = Message("near 0 the answer is right", "在 0 附近结果是对的")


def _density(x: Any) -> Any:
    return numpy.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def _cumulative(x: Any) -> Any:
    return 0.5 * (1 + erf(x / math.sqrt(2)))


MISTAKES = (
    Mistake(
        "half_missing",
        {"half": lambda: 1.0},
        Message("the factor ½ is missing: every answer is twice too large", "缺少系数 ½：所有结果都大了一倍"),
        USE,
        pattern=r"erf|tanh|return",
    ),
    Mistake(
        "one_missing",
        {"one": lambda: 0.0},
        Message("the 1 + is missing: negative numbers come through as much as positive ones", "缺少 1 +：负数与正数通过得一样多"),
        USE,
        hides=Message("at 0 the answer is right", "在 0 处结果是对的"),
        pattern=r"erf|tanh",
    ),
    Mistake(
        "one_minus",
        {"apply": lambda x, gate: x * (1 - gate)},
        Message(
            "it is 1 - erf (or 1 - tanh) where it must be 1 +: it closes where it should open",
            "写成了 1 - erf（或 1 - tanh），应为 1 +：该打开的地方关上了",
        ),
        USE,
        pattern=r"1(\.0)? *-",
    ),
    Mistake(
        "gate_returned",
        {"apply": lambda x, gate: gate},
        Message("the factor x is missing: it returns Φ(x), a number between 0 and 1", "缺少因子 x：返回的是 Φ(x)，取值在 0 到 1 之间"),
        Message("multiply by x", "再乘以 x"),
        pattern=r"return|erf|tanh",
    ),
    Mistake(
        "erf_without_root",
        {"erf_factor": lambda: 1.0},
        Message("it takes erf(x): the division by √2 is missing", "用的是 erf(x)：没有除以 √2"),
        Message("use erf(x / √2)", "应为 erf(x / √2)"),
        hides=LARGE,
        pattern=r"erf",
    ),
    Mistake(
        "square_for_cube",
        {"cube": lambda x: x * x},
        Message("it is x² inside tanh where it must be x³", "tanh 里写的是 x²，应为 x³"),
        TANH_FORM,
        hides=SMALL,
        pattern=r"0?\.0447",
    ),
    Mistake(
        "two_over_pi_without_root",
        {"factor": lambda: 2 / math.pi},
        Message("the factor inside tanh is 2/π: the square root is missing", "tanh 里的系数是 2/π：没有开平方"),
        TANH_FORM,
        hides=LARGE,
        pattern=r"pi|0\.63",
    ),
    Mistake(
        "factor_on_x_alone",
        {"inner_tanh": lambda x, factor, coefficient, cube: factor * x + coefficient * cube(x)},
        Message(
            "√(2/π) multiplies x alone: the parentheses around x + 0.044715 x³ are missing", "√(2/π) 只乘了 x：x + 0.044715 x³ 外缺少括号"
        ),
        TANH_FORM,
        hides=SMALL,
        pattern=r"0?\.0447",
    ),
    Mistake(
        "cube_of_everything",
        {"inner_tanh": lambda x, factor, coefficient, cube: factor * cube(x + coefficient * x)},
        Message("the cube is taken of all of x + 0.044715 x", "立方作用在了整个 x + 0.044715 x 上"),
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
        Message("the term 0.044715 x³ is subtracted", "0.044715 x³ 这一项被减掉了"),
        TANH_FORM,
        hides=SMALL,
        pattern=r"0?\.0447",
    ),
    Mistake(
        "erf_of_the_tanh_form",
        {"tanh": erf, "form": lambda: "tanh"},
        Message("the two forms are mixed: erf of what belongs into tanh", "两种形式混在了一起：把 tanh 的自变量放进了 erf"),
        USE,
        hides=LARGE,
        pattern=r"erf",
    ),
    Mistake(
        "tanh_of_the_exact_form",
        {"erf": numpy.tanh},
        Message(
            "the two forms are mixed: tanh(x / √2) where it must be erf(x / √2)",
            "两种形式混在了一起：写成了 tanh(x / √2)，应为 erf(x / √2)",
        ),
        USE,
        hides=LARGE,
        pattern=r"tanh",
    ),
    Mistake(
        "sigmoid_for_tanh",
        {"tanh": sigmoid, "form": lambda: "tanh"},
        Message(
            "it is sigmoid where tanh must be: 1 + sigmoid lies between 1 and 2", "应为 tanh 的地方用了 sigmoid：1 + sigmoid 在 1 到 2 之间"
        ),
        TANH_FORM,
        pattern=r"sigmoid|exp",
    ),
    Mistake(
        "sigmoid_form",
        instead(quick_gelu),
        Message(
            "it is the sigmoid form, x · sigmoid(1.702 x) (quick GELU): up to 0.02 away",
            "这是 sigmoid 形式 x · sigmoid(1.702 x)（quick GELU）：误差可达 0.02",
        ),
        USE,
        hides=LARGE,
        pattern=r"1\.70",
    ),
    Mistake(
        "density_for_cumulative",
        instead(lambda x: x * _density(x)),
        Message(
            "it is x · φ(x), the bell curve, where it must be x · Φ(x), the area under it",
            "写成了 x · φ(x)（钟形曲线），应为 x · Φ(x)（曲线下的面积）",
        ),
        USE,
        pattern=r"exp|pdf",
    ),
    relu_instead(USE),
    Mistake(
        "silu",
        instead(silu),
        Message("it is SiLU, x · sigmoid(x)", "这是 SiLU，即 x · sigmoid(x)"),
        USE,
        hides=LARGE,
        pattern=r"sigmoid|exp|silu",
    ),
    softplus_instead(USE),
    Mistake(
        "derivative_returned",
        instead(lambda x: _cumulative(x) + x * _density(x)),
        Message("it returns the derivative of GELU", "返回的是 GELU 的导数"),
        USE,
        pattern=r"return",
    ),
    not_bent(USE),
)
