"""gelu: x · Φ(x), exactly or in the tanh form of GPT-2."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any

import numpy

from headway import functions
from headway.practice.exercise import Convention, Exercise, Inputs, Mistake, Probe, Recovery, Role
from headway.practice.recipes.activations import (
    ARRAYS,
    X_NAMES,
    answers_at,
    erf,
    floating,
    probes_of,
    quick_gelu,
    relu,
    sigmoid,
    silu,
    softplus,
)
from headway.practice.words import Words


def recipe(steps: Any, x: Any, approximate: str | None = None) -> Any:
    """The definition in steps: form, then inner_exact and erf, or inner_tanh and tanh; one, half, apply."""
    x = floating(x)
    is_tanh = (approximate or steps.form()) == "tanh"
    bent = (
        steps.tanh(steps.inner_tanh(x, steps.factor(), steps.coefficient(), steps.cube)) if is_tanh else steps.erf(x * steps.erf_factor())
    )
    return steps.apply(x, steps.half() * (steps.one() + bent))


def definition(x: Any, approximate: str = "none") -> Any:
    """headway.functions has the two forms as two functions."""
    return (functions.gelu_tanh if approximate == "tanh" else functions.gelu)(x)


STEPS = {
    "form": lambda: "none",
    "factor": lambda: math.sqrt(2 / math.pi),
    "coefficient": lambda: 0.044715,
    "cube": lambda x: x * x * x,
    "inner_tanh": lambda x, factor, coefficient, cube: factor * (x + coefficient * cube(x)),
    "tanh": numpy.tanh,
    "erf_factor": lambda: 1 / math.sqrt(2),
    "erf": erf,
    "one": lambda: 1.0,
    "half": lambda: 0.5,
    "apply": lambda x, gate: x * gate,
}

USE = Words("return 0.5 * x * (1 + erf(x / √2))", "返回 0.5 * x * (1 + erf(x / √2))")
TANH_FORM = Words(
    "return 0.5 * x * (1 + tanh(√(2/π) * (x + 0.044715 * x³)))",
    "返回 0.5 * x * (1 + tanh(√(2/π) * (x + 0.044715 * x³)))",
)
LARGE = Words("for large numbers the two are the same", "数值很大时两者相同")
SMALL = Words("near 0 the answer is right", "在 0 附近结果是对的")


def instead(function: Any) -> dict[str, Any]:
    """Another function in place of all of it."""
    return {"apply": lambda x, gate: function(x)}


def _density(x: Any) -> Any:
    return numpy.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def _cumulative(x: Any) -> Any:
    return 0.5 * (1 + erf(x / math.sqrt(2)))


MISTAKES = (
    Mistake(
        "half_missing",
        {"half": lambda: 1.0},
        Words("the factor ½ is missing: every answer is twice too large", "缺少系数 ½：所有结果都大了一倍"),
        USE,
        pattern=r"erf|tanh|return",
    ),
    Mistake(
        "one_missing",
        {"one": lambda: 0.0},
        Words("the 1 + is missing: negative numbers come through as much as positive ones", "缺少 1 +：负数与正数通过得一样多"),
        USE,
        hides=Words("at 0 the answer is right", "在 0 处结果是对的"),
        pattern=r"erf|tanh",
    ),
    Mistake(
        "one_minus",
        {"apply": lambda x, gate: x * (1 - gate)},
        Words(
            "it is 1 - erf (or 1 - tanh) where it must be 1 +: it closes where it should open",
            "写成了 1 - erf（或 1 - tanh），应为 1 +：该打开的地方关上了",
        ),
        USE,
        pattern=r"1(\.0)? *-",
    ),
    Mistake(
        "gate_returned",
        {"apply": lambda x, gate: gate},
        Words("the factor x is missing: it returns Φ(x), a number between 0 and 1", "缺少因子 x：返回的是 Φ(x)，取值在 0 到 1 之间"),
        Words("multiply by x", "再乘以 x"),
        pattern=r"return|erf|tanh",
    ),
    Mistake(
        "erf_without_root",
        {"erf_factor": lambda: 1.0},
        Words("it takes erf(x): the division by √2 is missing", "用的是 erf(x)：没有除以 √2"),
        Words("use erf(x / √2)", "应为 erf(x / √2)"),
        hides=LARGE,
        pattern=r"erf",
    ),
    Mistake(
        "square_for_cube",
        {"cube": lambda x: x * x},
        Words("it is x² inside tanh where it must be x³", "tanh 里写的是 x²，应为 x³"),
        TANH_FORM,
        hides=SMALL,
        pattern=r"0?\.0447",
    ),
    Mistake(
        "two_over_pi_without_root",
        {"factor": lambda: 2 / math.pi},
        Words("the factor inside tanh is 2/π: the square root is missing", "tanh 里的系数是 2/π：没有开平方"),
        TANH_FORM,
        hides=LARGE,
        pattern=r"pi|0\.63",
    ),
    Mistake(
        "factor_on_x_alone",
        {"inner_tanh": lambda x, factor, coefficient, cube: factor * x + coefficient * cube(x)},
        Words(
            "√(2/π) multiplies x alone: the parentheses around x + 0.044715 x³ are missing", "√(2/π) 只乘了 x：x + 0.044715 x³ 外缺少括号"
        ),
        TANH_FORM,
        hides=SMALL,
        pattern=r"0?\.0447",
    ),
    Mistake(
        "cube_of_everything",
        {"inner_tanh": lambda x, factor, coefficient, cube: factor * cube(x + coefficient * x)},
        Words("the cube is taken of all of x + 0.044715 x", "立方作用在了整个 x + 0.044715 x 上"),
        TANH_FORM,
        pattern=r"0?\.0447",
    ),
    Mistake(
        "cubic_term_missing",
        {"coefficient": lambda: 0.0},
        Words("the term 0.044715 x³ is missing", "缺少 0.044715 x³ 这一项"),
        TANH_FORM,
        hides=SMALL,
        pattern=r"tanh",
    ),
    Mistake(
        "cubic_term_subtracted",
        {"coefficient": lambda: -0.044715},
        Words("the term 0.044715 x³ is subtracted", "0.044715 x³ 这一项被减掉了"),
        TANH_FORM,
        hides=SMALL,
        pattern=r"0?\.0447",
    ),
    Mistake(
        "erf_of_the_tanh_form",
        {"tanh": erf, "form": lambda: "tanh"},
        Words("the two forms are mixed: erf of what belongs into tanh", "两种形式混在了一起：把 tanh 的自变量放进了 erf"),
        USE,
        hides=LARGE,
        pattern=r"erf",
    ),
    Mistake(
        "tanh_of_the_exact_form",
        {"erf": numpy.tanh},
        Words(
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
        Words(
            "it is sigmoid where tanh must be: 1 + sigmoid lies between 1 and 2", "应为 tanh 的地方用了 sigmoid：1 + sigmoid 在 1 到 2 之间"
        ),
        TANH_FORM,
        pattern=r"sigmoid|exp",
    ),
    Mistake(
        "sigmoid_form",
        instead(quick_gelu),
        Words(
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
        Words(
            "it is x · φ(x), the bell curve, where it must be x · Φ(x), the area under it",
            "写成了 x · φ(x)（钟形曲线），应为 x · Φ(x)（曲线下的面积）",
        ),
        USE,
        pattern=r"exp|pdf",
    ),
    Mistake(
        "relu",
        instead(relu),
        Words("it is ReLU: nothing comes through below 0", "这是 ReLU：小于 0 处什么也不通过"),
        USE,
        hides=LARGE,
        pattern=r"max|relu|>",
    ),
    Mistake(
        "silu",
        instead(silu),
        Words("it is SiLU, x · sigmoid(x)", "这是 SiLU，即 x · sigmoid(x)"),
        USE,
        hides=LARGE,
        pattern=r"sigmoid|exp|silu",
    ),
    Mistake(
        "softplus",
        instead(softplus),
        Words("it is softplus, log(1 + exp x)", "这是 softplus，即 log(1 + exp x)"),
        USE,
        hides=LARGE,
        pattern=r"log|softplus",
    ),
    Mistake(
        "derivative_returned",
        instead(lambda x: _cumulative(x) + x * _density(x)),
        Words("it returns the derivative of GELU", "返回的是 GELU 的导数"),
        USE,
        pattern=r"return",
    ),
    Mistake(
        "not_bent",
        instead(lambda x: x),
        Words("it returns x as it is", "原样返回了 x"),
        USE,
        hides=LARGE,
        pattern=r"return",
    ),
)

NUMBERS = numpy.array([-1.4, -0.9, -0.35, 0.45, 0.8, 1.3, 1.6])


def _bent(ask: Any) -> Any:
    """What stands behind 1 +: 2 · answer / x - 1; None where it does not lie between -1 and 1."""
    answer = answers_at(ask, NUMBERS.tolist())
    bent = None if answer is None else 2 * answer / NUMBERS - 1
    return bent if bent is not None and (numpy.abs(bent) < 1).all() else None


def _tanh_line(ask: Any) -> tuple[float, float] | None:
    """The inner of tanh, per x, is factor + factor · coefficient · x²: both numbers, where it is a straight line over x²."""
    bent = _bent(ask)
    if bent is None:
        return None
    slope, start = numpy.polyfit(NUMBERS**2, numpy.arctanh(bent) / NUMBERS, 1)
    rest = numpy.abs(numpy.arctanh(bent) / NUMBERS - start - slope * NUMBERS**2).max()
    return (float(start), float(slope / start)) if rest < 2e-6 * max(abs(start), 1) and abs(start) > 1e-3 else None


def _factor(ask: Any) -> list[tuple[Inputs, float]]:
    found = _tanh_line(ask)
    return [] if found is None or min(abs(found[0] - each) for each in (2 / math.pi, -math.sqrt(2 / math.pi))) < 1e-5 else [({}, found[0])]


def _coefficient(ask: Any) -> list[tuple[Inputs, float]]:
    found = _tanh_line(ask)
    named = (0.0, 0.044715, -0.044715, 0.044715 / math.sqrt(2 / math.pi))
    return [] if found is None or min(abs(found[1] - each) for each in named) < 1e-5 else [({}, found[1])]


def _erf_factor(ask: Any) -> list[tuple[Inputs, float]]:
    """The factor inside erf: the inverse of erf, per x, where that is the same everywhere."""
    bent = _bent(ask)
    if bent is None:
        return []
    inverse = [NormalDist().inv_cdf((1 + each) / 2) / math.sqrt(2) for each in bent]
    factors = numpy.array(inverse) / NUMBERS
    is_named = min(abs(factors[0] - each) for each in (1.0, -math.sqrt(0.5))) < 1e-5
    return [] if numpy.ptp(factors) > 1e-5 * abs(factors[0]) or is_named else [({}, float(factors[0]))]


def _sigmoid_factor(ask: Any) -> list[tuple[Inputs, float]]:
    """The factor inside a sigmoid: tanh of half of it, where x is alone in it; 1 and 1.702 have names."""
    bent = _bent(ask)
    if bent is None:
        return []
    factors = 2 * numpy.arctanh(bent) / NUMBERS
    is_named = min(abs(factors[0] - each) for each in (1.0, 1.702, 2 * math.sqrt(2 / math.pi), math.sqrt(2))) < 1e-5
    return [] if numpy.ptp(factors) > 1e-5 * abs(factors[0]) or is_named else [({}, float(factors[0]))]


def _recovery(name: str, measure: Any, right: float, right_name: str, says: Words, fix: Words, pattern: str) -> Recovery:
    return Recovery(
        name,
        name,
        measure=measure,
        wrong=lambda number_of: lambda: number_of({}),
        sizes=lambda inputs: {"(2/π)": 2 / math.pi, "π": math.pi, "√2/π": math.sqrt(2) / math.pi, "0.44715": 0.44715, "1.702": 1.702},
        right=lambda inputs: right,
        right_name=right_name,
        says=says,
        fix=fix,
        hides=LARGE,
        pattern=pattern,
    )


RECOVERIES = (
    _recovery(
        "factor",
        _factor,
        math.sqrt(2 / math.pi),
        "√(2/π)",
        Words(
            "the factor inside your tanh is {value}{names}; it must be {right} = {right_name}",
            "tanh 里的系数是 {value}{names}；应为 {right} = {right_name}",
        ),
        TANH_FORM,
        r"pi|0\.79|sqrt",
    ),
    _recovery(
        "coefficient",
        _coefficient,
        0.044715,
        "0.044715",
        Words("x³ has the coefficient {value}{names}; it must be {right_name}", "x³ 的系数是 {value}{names}；应为 {right_name}"),
        TANH_FORM,
        r"\.0?0?4\d*|\*\* *3",
    ),
    _recovery(
        "erf_factor",
        _erf_factor,
        1 / math.sqrt(2),
        "1/√2",
        Words(
            "the factor inside your erf is {value}{names}; it must be {right} = {right_name}",
            "erf 里的系数是 {value}{names}；应为 {right} = {right_name}",
        ),
        USE,
        r"erf",
    ),
    Recovery(
        "sigmoid_factor",
        "apply",
        measure=_sigmoid_factor,
        wrong=lambda number_of: lambda x, gate: x * sigmoid(number_of({}) * x),
        sizes=lambda inputs: {"√(8/π)": math.sqrt(8 / math.pi), "1.7": 1.7},
        right=lambda inputs: math.nan,
        right_name="no sigmoid at all",
        says=Words(
            "it is a sigmoid form, x · sigmoid({value} x){names}; GELU is x · Φ(x)",
            "这是 sigmoid 形式 x · sigmoid({value} x){names}；GELU 是 x · Φ(x)",
        ),
        fix=USE,
        hides=LARGE,
        pattern=r"sigmoid|exp",
    ),
)


def probes() -> tuple[Probe, ...]:
    """The usual ones, where the two forms differ most, and both forms for who takes an argument for it."""
    random = numpy.random.default_rng(4)
    return probes_of(
        Probe("where the forms differ", {"x": numpy.array([-2.7, -2.2, 2.2, 2.7])}, ARRAYS),
        Probe("asked for tanh", {"x": random.standard_normal(6) * 2, "approximate": "tanh"}, ARRAYS),
        Probe("asked for the exact form", {"x": random.standard_normal(6) * 2, "approximate": "none"}, ARRAYS),
    )


def _as_flag(inputs: Inputs) -> Inputs:
    return inputs | {"approximate": inputs["approximate"] == "tanh"} if "approximate" in inputs else inputs


EXERCISE = Exercise(
    name="gelu",
    title=Words("GELU", "GELU"),
    definition=definition,
    recipe=recipe,
    steps=STEPS,
    roles=(Role("x", X_NAMES), Role("approximate", ("approx", "approximation", "is_approximate", "use_tanh", "tanh"), neutral="none")),
    called=r"(?<!r)gelu(?!_?back|_?grad|_?deriv|_?prime)",
    probes=probes,
    mistakes=MISTAKES,
    conventions=(
        (
            Convention(Words("it is the exact form, with erf", "这是精确形式，用 erf")),
            Convention(Words("it is the tanh form, as in GPT-2", "这是 tanh 形式，与 GPT-2 相同"), steps={"form": lambda: "tanh"}),
            Convention(
                Words(
                    "it is the sigmoid form, x · sigmoid(1.702 x), as its name says",
                    "这是 sigmoid 形式 x · sigmoid(1.702 x)，与它的名字相符",
                ),
                steps=instead(quick_gelu),
                called="quick",
            ),
        ),
        (Convention(), Convention(encode=_as_flag, role="approximate")),
    ),
    recoveries=RECOVERIES,
    equation="gelu(x) = x · Φ(x) = ½ x (1 + erf(x / √2)) ≈ ½ x (1 + tanh(√(2/π) (x + 0.044715 x³)))",
    hints=(
        Words("The input is multiplied by the chance that a standard normal draw lies below it.", "输入乘以“标准正态随机数小于它”的概率。"),
        Words("That chance is ½ (1 + erf(x / √2)).", "这个概率是 ½ (1 + erf(x / √2))。"),
        Words(
            "0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))) is right too",
            "写成 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))) 也对",
        ),
    ),
)
