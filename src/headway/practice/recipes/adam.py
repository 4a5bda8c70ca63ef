"""Steps and mistakes of one Adam update, shared by the exercises about Adam."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy

from headway.practice.exercise import Mistake, Step
from headway.practice.message import Message

RATE, BETA1, BETA2, EPS = 0.001, 0.9, 0.999, 1e-8


def update(
    steps: Any, point: Any, gradient: Any, moments: tuple[Any, Any], count: int, rate: float, betas: tuple[float, float], eps: float
) -> tuple[Any, Any, Any]:
    """Compute one update in the steps count, mean, square, correct_mean, correct_square, divide, move, kept."""
    t = steps.count(count)
    mean, square = steps.mean(moments[0], gradient, betas), steps.square(moments[1], gradient, betas)
    mean_hat, square_hat = steps.correct_mean(mean, betas, t), steps.correct_square(square, betas, t)
    used = steps.used({"mean": mean_hat, "square": square_hat, "old": moments, "gradient": gradient, "betas": betas, "t": t})
    moved = steps.move(point, steps.rate(rate) * steps.divide(*used, steps.eps(eps), (1 - betas[1] ** t) ** 0.5))
    return moved, *steps.kept(mean, square, mean_hat, square_hat)


STEP: dict[str, Step] = {
    "count": lambda t: t,
    "mean": lambda mean, gradient, betas: betas[0] * mean + (1 - betas[0]) * gradient,
    "square": lambda square, gradient, betas: betas[1] * square + (1 - betas[1]) * gradient * gradient,
    "correct_mean": lambda mean, betas, t: mean / numpy.float64(1 - betas[0] ** t),
    "correct_square": lambda square, betas, t: square / numpy.float64(1 - betas[1] ** t),
    "used": lambda known: (known["mean"], known["square"]),
    "eps": lambda eps: eps,
    "divide": lambda mean, square, eps, correction: mean / (numpy.sqrt(square) + eps),
    "rate": lambda rate: rate,
    "move": lambda point, change: point - change,
    "kept": lambda mean, square, mean_hat, square_hat: (mean, square),
}

EPS_HAT: Mapping[str, Step] = {"divide": lambda mean, square, eps, correction: mean / (numpy.sqrt(square) + eps / correction)}
"""Add eps to the root of the uncorrected square: √v̂ + eps / √(1 - β₂ᵗ)."""

EPS_HAT_WORDS = Message(
    "adds eps before the bias correction of the square (ε̂ in the paper, as in Keras and older PyTorch code)",
    "eps 加在二阶矩的偏差修正之前（论文中的 ε̂，Keras 与 PyTorch 旧代码如此）",
)

USE = Message(
    "point - learning_rate * mean_hat / (sqrt(square_hat) + eps)",
    "point - learning_rate * mean_hat / (sqrt(square_hat) + eps)",
)
CORRECT = Message("divide mean by 1 - beta1**t and square by 1 - beta2**t", "mean 除以 1 - beta1**t，square 除以 1 - beta2**t")
AVERAGE = Message(
    "mean = beta1 * mean + (1 - beta1) * gradient; square likewise with gradient²",
    "mean = beta1 * mean + (1 - beta1) * gradient；square 同理，用 gradient²",
)
LATER = Message("after many steps the difference vanishes", "走很多步之后差别就消失了")
ORDINARY = Message("gradients of ordinary size do not show it", "梯度大小正常时看不出来")


def _mean_with(keep: Any, take: Any) -> Step:
    return lambda mean, gradient, betas: keep(betas) * mean + take(betas) * gradient


def _square_with(keep: Any, take: Any) -> Step:
    return lambda square, gradient, betas: keep(betas) * square + take(betas) * gradient * gradient


def _first(betas: Any) -> float:
    return betas[0]


def _second(betas: Any) -> float:
    return betas[1]


def _rest(beta: Any) -> Any:
    return lambda betas: 1 - beta(betas)


def _one(betas: Any) -> float:
    return 1.0


def _plain(moment: Any, betas: Any, t: int) -> Any:
    return moment


def _old_moments(known: Mapping[str, Any]) -> tuple[Any, Any]:
    (mean, square), betas, t = known["old"], known["betas"], known["t"]
    return mean / numpy.float64(1 - betas[0] ** t), square / numpy.float64(1 - betas[1] ** t)


MISTAKES = (
    Mistake(
        "no_bias_correction",
        {"correct_mean": _plain, "correct_square": _plain},
        Message(
            "the moments have no bias correction: the first step is 3.2 times too long (0.1 / √0.001)",
            "两个矩都没有做偏差修正：第一步长了 3.2 倍（0.1 / √0.001）",
        ),
        CORRECT,
        LATER,
        r"sqrt|\*\*",
    ),
    Mistake(
        "mean_not_corrected",
        {"correct_mean": _plain},
        Message(
            "the mean has no bias correction: the first step is 10 times too short",
            "一阶矩没有做偏差修正：第一步短了 10 倍",
        ),
        CORRECT,
        LATER,
        r"sqrt|\*\*",
    ),
    Mistake(
        "square_not_corrected",
        {"correct_square": _plain},
        Message(
            "the square has no bias correction: the first step is 32 times too long",
            "二阶矩没有做偏差修正：第一步长了 32 倍",
        ),
        CORRECT,
        LATER,
        r"sqrt|\*\*",
    ),
    Mistake(
        "correction_without_power",
        {
            "correct_mean": lambda mean, betas, t: mean / (1 - betas[0]),
            "correct_square": lambda square, betas, t: square / (1 - betas[1]),
        },
        Message(
            "divides by 1 - beta instead of 1 - beta**t: the correction never fades",
            "除以的是 1 - beta，而不是 1 - beta**t：修正永远不会消失",
        ),
        CORRECT,
        Message("the first step is the same", "第一步相同"),
        r"1 *-",
    ),
    Mistake(
        "correction_multiplied",
        {
            "correct_mean": lambda mean, betas, t: mean * (1 - betas[0] ** t),
            "correct_square": lambda square, betas, t: square * (1 - betas[1] ** t),
        },
        Message("multiplies by 1 - beta**t instead of dividing by it", "乘以了 1 - beta**t，而应除以它"),
        CORRECT,
        LATER,
        r"1 *-",
    ),
    Mistake(
        "step_counted_from_zero",
        {"count": lambda t: t - 1},
        Message(
            "t is 0 in the first step, which then divides by 1 - beta**0 = 0",
            "第一步的 t 是 0，于是除以了 1 - beta**0 = 0",
        ),
        Message("count steps from 1: increment t before using it", "步数从 1 开始：先 t += 1 再使用"),
        None,
        r"\*\* *\(?t|range",
    ),
    Mistake(
        "eps_inside_root",
        {"divide": lambda mean, square, eps, correction: mean / numpy.sqrt(square + eps)},
        Message(
            "eps is inside the root, √(square + eps): 1e-4 for tiny gradients instead of 1e-8",
            "eps 写在了根号里，即 √(square + eps)：梯度很小时它是 1e-4 而不是 1e-8",
        ),
        USE,
        ORDINARY,
        r"sqrt|\*\* *0?\.5",
    ),
    Mistake(
        "eps_missing",
        {"eps": lambda eps: 0.0},
        Message("eps is missing: a zero gradient gives 0/0 = NaN", "没有 eps：梯度为零时得到 0/0 = NaN"),
        USE,
        ORDINARY,
        r"sqrt|\*\* *0?\.5",
    ),
    Mistake(
        "root_missing",
        {"divide": lambda mean, square, eps, correction: mean / (square + eps)},
        Message("divides by the square instead of its root", "除以的是二阶矩本身，没有开平方"),
        USE,
        Message("gradients of magnitude 1 give the same result", "梯度大小为 1 时结果相同"),
        r"/",
    ),
    Mistake(
        "gradient_not_squared",
        {"square": lambda square, gradient, betas: betas[1] * square + (1 - betas[1]) * gradient},
        Message(
            "the second moment averages the gradient instead of its square: the root is NaN for negative gradients",
            "二阶矩平均的是梯度而不是它的平方：梯度为负时开方得到 NaN",
        ),
        AVERAGE,
        None,
        r"1 *- *\w*b",
    ),
    Mistake(
        "average_squared",
        {"square": lambda square, gradient, betas: (betas[1] * square + (1 - betas[1]) * gradient) ** 2},
        Message("squares the average instead of averaging the squares", "对平均值取了平方，而应对平方取平均"),
        AVERAGE,
        None,
        r"\*\* *2|square",
    ),
    Mistake(
        "betas_exchanged",
        {
            "mean": _mean_with(_second, _rest(_second)),
            "square": _square_with(_first, _rest(_first)),
            "correct_mean": lambda mean, betas, t: mean / numpy.float64(1 - betas[1] ** t),
            "correct_square": lambda square, betas, t: square / numpy.float64(1 - betas[0] ** t),
        },
        Message("beta1 and beta2 are swapped", "beta1 与 beta2 互换了"),
        AVERAGE,
        None,
        r"beta|b1|b2",
    ),
    Mistake(
        "betas_exchanged_in_correction",
        {
            "correct_mean": lambda mean, betas, t: mean / numpy.float64(1 - betas[1] ** t),
            "correct_square": lambda square, betas, t: square / numpy.float64(1 - betas[0] ** t),
        },
        Message("beta1 and beta2 are swapped in the bias correction", "偏差修正中 beta1 与 beta2 互换了"),
        CORRECT,
        LATER,
        r"\*\*",
    ),
    Mistake(
        "old_and_new_exchanged",
        {"mean": _mean_with(_rest(_first), _first), "square": _square_with(_rest(_second), _second)},
        Message(
            "beta multiplies the new gradient and 1 - beta the old average: the factors are swapped",
            "beta 乘在了新梯度上，1 - beta 乘在了旧平均上：系数互换了",
        ),
        AVERAGE,
        None,
        r"1 *-",
    ),
    Mistake(
        "one_minus_beta_missing",
        {"mean": _mean_with(_first, _one), "square": _square_with(_second, _one)},
        Message(
            "the factors 1 - beta are missing: the moments are sums instead of averages", "缺少系数 1 - beta：两个矩成了累加而不是平均"
        ),
        AVERAGE,
        None,
        r"\+",
    ),
    Mistake(
        "one_minus_beta1_missing",
        {"mean": _mean_with(_first, _one)},
        Message("the factor 1 - beta1 is missing: the mean is a sum", "缺少系数 1 - beta1：一阶矩成了累加"),
        AVERAGE,
        None,
        r"\+",
    ),
    Mistake(
        "one_minus_beta2_missing",
        {"square": _square_with(_second, _one)},
        Message("the factor 1 - beta2 is missing: the square is a sum", "缺少系数 1 - beta2：二阶矩成了累加"),
        AVERAGE,
        None,
        r"\+",
    ),
    Mistake(
        "old_moments_used",
        {"used": _old_moments},
        Message("the update uses the moments without the current gradient", "更新用的是加入当前梯度之前的矩"),
        Message("update the moments first, then use them for the step", "先更新两个矩，再用它们走这一步"),
        LATER,
        r"=",
    ),
    Mistake(
        "gradient_for_mean",
        {"used": lambda known: (known["gradient"], known["square"])},
        Message("the update uses the gradient instead of its average (RMSProp)", "更新直接用了梯度，而不是它的平均（RMSProp）"),
        USE,
        Message("the first step is the same", "第一步相同"),
        r"/",
    ),
    Mistake(
        "square_not_used",
        {"divide": lambda mean, square, eps, correction: mean},
        Message("the update is not divided by the root of the square (momentum only)", "更新没有除以二阶矩的平方根（只有动量）"),
        USE,
        None,
        r"\*",
    ),
    Mistake(
        "ascent",
        {"move": lambda point, change: point + change},
        Message("moves along the gradient instead of against it", "沿着梯度走了，而应逆着梯度"),
        Message("subtract the update", "减去更新量"),
        None,
        r"\+=|\+ *\w*(lr|rate|alpha)|-=",
    ),
    Mistake(
        "corrected_moments_kept",
        {"kept": lambda mean, square, mean_hat, square_hat: (mean_hat, square_hat)},
        Message(
            "keeps the corrected moments for the next step, so they are corrected repeatedly", "把修正后的矩留给下一步，因此会被反复修正"
        ),
        Message("keep the uncorrected moments; correct copies of them", "保留未修正的矩，只修正副本"),
        Message("a single step does not show it", "只走一步时看不出来"),
        r"/=|m *=|v *=",
    ),
)

BETA1_NAMES = ("b1", "beta_1", "β1", "beta1s", "mu")
BETA2_NAMES = ("b2", "beta_2", "β2", "nu", "rho")
EPS_NAMES = ("epsilon", "ε", "e", "eps_")
