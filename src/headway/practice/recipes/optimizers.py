"""Recipe, probes and mistakes of Adam as an optimizer that holds its state, with and without decoupled weight decay."""

from __future__ import annotations

from typing import Any

import numpy

from headway import functions
from headway.practice.exercise import Convention, Inputs, Mistake, Probe, Role, Step
from headway.practice.message import Message
from headway.practice.recipes import adam as one_step
from headway.practice.recipes.adam import BETA1, BETA2, EPS, EPS_HAT, EPS_HAT_WORDS, RATE, STEP, update


def recipe(
    steps: Any,
    points: Any,
    gradients: Any,
    learning_rate: float = RATE,
    beta1: float = BETA1,
    beta2: float = BETA2,
    eps: float = EPS,
    weight_decay: float = 0.0,
) -> Any:
    """The definition in the steps of recipes.adam, and: turn, slope, before, after; the output is every point after each step."""
    now = [numpy.asarray(point, numpy.float64) for point in points]
    moments = [(0 * point, 0 * point) for point in now]
    found: list[Any] = []
    for count, slopes in enumerate(gradients, 1):
        for place, slope in enumerate(slopes):
            point = now[place]
            slope = steps.slope(slope, point, weight_decay)
            t = steps.turn(count, place, len(now))
            decayed = steps.before(point, learning_rate, weight_decay)
            moved, mean, square = update(steps, decayed, slope, moments[place], t, learning_rate, (beta1, beta2), eps)
            now[place] = steps.after(moved, point, learning_rate, weight_decay, ((1 - beta2**t) ** 0.5 / (1 - beta1**t)) if t else 1.0)
            moments[place] = (mean, square)
        found += now
    return tuple(found)


def definition(
    points: Any,
    gradients: Any,
    learning_rate: float = RATE,
    beta1: float = BETA1,
    beta2: float = BETA2,
    eps: float = EPS,
    weight_decay: float = 0.0,
) -> Any:
    """Take headway.functions' Adam steps for every point, each after multiplying the point by 1 - learning_rate · weight_decay."""
    now, moments = list(points), [None] * len(points)
    found: list[Any] = []
    for count, slopes in enumerate(gradients, 1):
        for place, slope in enumerate(slopes):
            decayed = now[place] * (1 - learning_rate * weight_decay)
            now[place], mean, square = functions.adam_step(
                decayed, slope, moments[place], step=count, learning_rate=learning_rate, betas=(beta1, beta2), eps=eps
            )
            moments[place] = (mean, square)
        found += now
    return tuple(found)


STEPS: dict[str, Step] = {
    **STEP,
    "turn": lambda count, place, num_points: count,
    "slope": lambda slope, point, weight_decay: slope,
    "before": lambda point, rate, weight_decay: point * (1 - rate * weight_decay),
    "after": lambda moved, point, rate, weight_decay, correction: moved,
}
COUPLED: dict[str, Step] = {
    "slope": lambda slope, point, weight_decay: slope + weight_decay * point,
    "before": lambda point, rate, weight_decay: point,
}
"""Steps of weight decay as a part of the gradient (L2)."""

ONE = Message("the first step is the same", "第一步相同")
SETTING = Message("more than one parameter", "多于一个参数")
DECOUPLED = Message(
    "multiply the parameter by 1 - lr * weight_decay, apart from the moments", "参数单独乘以 1 - lr * weight_decay，不经过两个矩"
)

SHARED = (
    Mistake(
        "step_counted_per_parameter",
        {"turn": lambda count, place, num_points: (count - 1) * num_points + place + 1},
        Message(
            "t is incremented for every parameter instead of once per step: the bias correction fades too early",
            "t 对每个参数都加 1，而应每步只加一次：偏差修正消失得太早",
        ),
        Message("increment t once per step, or keep it per parameter", "每步只加一次 t，或为每个参数单独计数"),
        Message("the mistake is not visible with a single parameter", "只有一个参数时看不出来"),
        r"\+= *1|\+ *1",
    ),
    *one_step.MISTAKES,
)
DECAY_MISTAKES = (
    Mistake(
        "decay_in_gradient",
        COUPLED,
        Message(
            "adds weight_decay · parameter to the gradient (L2): the decay is divided by √square like the gradient; AdamW decays the parameter itself",
            "把 weight_decay · 参数 加进了梯度（L2）：衰减也会被除以二阶矩的平方根；AdamW 直接衰减参数",
        ),
        DECOUPLED,
        None,
        r"grad.*(decay|wd)|(decay|wd).*grad",
    ),
    Mistake(
        "decay_missing",
        {"before": lambda point, rate, weight_decay: point},
        Message("weight_decay has no effect", "weight_decay 没有作用"),
        DECOUPLED,
        None,
        r"decay|wd",
    ),
    Mistake(
        "decay_without_rate",
        {"before": lambda point, rate, weight_decay: point * (1 - weight_decay)},
        Message("the decay is not multiplied by the learning rate", "衰减没有乘以学习率"),
        DECOUPLED,
        None,
        r"decay|wd",
    ),
    Mistake(
        "decay_added",
        {"before": lambda point, rate, weight_decay: point * (1 + rate * weight_decay)},
        Message("the decay has the wrong sign: parameters grow", "衰减的符号反了：参数会变大"),
        DECOUPLED,
        None,
        r"decay|wd",
    ),
    Mistake(
        "decay_with_corrected_rate",
        {
            "before": lambda point, rate, weight_decay: point,
            "after": lambda moved, point, rate, weight_decay, correction: moved * (1 - rate * correction * weight_decay),
        },
        Message(
            "the decay is multiplied by the learning rate with the bias correction, instead of the learning rate itself",
            "衰减乘的是经过偏差修正的学习率，而应为学习率本身",
        ),
        DECOUPLED,
        Message("the bias correction fades after many steps", "走很多步之后偏差修正会消失"),
        r"decay|wd",
    ),
    Mistake(
        "decay_of_ones",
        {"before": lambda point, rate, weight_decay: point - rate * weight_decay},
        Message("subtracts lr * weight_decay without multiplying by the parameter", "减去的是 lr * weight_decay，没有乘以参数"),
        DECOUPLED,
        None,
        r"decay|wd",
    ),
)
AFTER = Convention(
    Message(
        "decays the parameter after the step instead of before: differs by lr · weight_decay · update",
        "在更新之后而不是之前衰减参数：相差 lr · weight_decay · 更新量",
    ),
    steps={
        "before": lambda point, rate, weight_decay: point,
        "after": lambda moved, point, rate, weight_decay, correction: moved * (1 - rate * weight_decay),
    },
)
EPSILONS = (Convention(), Convention(EPS_HAT_WORDS, steps=EPS_HAT))

ROLES = (
    Role("points"),
    Role("gradients"),
    Role("learning_rate", neutral=RATE),
    Role("beta1", neutral=BETA1),
    Role("beta2", neutral=BETA2),
    Role("eps", neutral=EPS),
    Role("weight_decay", neutral=0.0),
)


def probes(*, has_decay: bool) -> tuple[Probe, ...]:
    """One step and several, of one and of two parameters; tiny gradients; with given betas and eps; with decay."""
    random = numpy.random.default_rng(71)
    shapes = ((3,), (2, 2))

    def run(num_steps: int, rate: float, num_points: int = 1, size: float = 1.0, **more: Any) -> Inputs:
        points = [random.standard_normal(shape) for shape in shapes[:num_points]]
        gradients = [[size * random.standard_normal(shape) for shape in shapes[:num_points]] for _ in range(num_steps)]
        return {"points": points, "gradients": gradients, "learning_rate": rate} | more

    decays = (
        Probe("decay", run(3, 0.2, weight_decay=0.3)),
        Probe("decay of two parameters", run(3, 0.1, 2, weight_decay=0.5), SETTING),
    )
    return (
        Probe("one step", run(1, 0.1)),
        Probe("four steps", run(4, 0.2)),
        Probe("two parameters", run(3, 0.1, 2), SETTING),
        Probe("tiny gradient", run(3, 0.1, size=1e-8)),
        *(decays if has_decay else ()),
        Probe("betas given", run(4, 0.2, beta1=0.8, beta2=0.95)),
        Probe("eps given", run(3, 0.2, eps=1e-2)),
    )
