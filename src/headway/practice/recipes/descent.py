"""The gradient descent loop in steps, with its mistakes and return conventions; shared by several exercises."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from headway.practice.exercise import Convention, Inputs, Mistake, Step
from headway.practice.message import Message

Slope = Callable[[Any], Any]


def descend(steps: Any, start: Any, slope: Slope, learning_rate: float, num_steps: int) -> Any:
    """Run gradient descent in the steps begin, count, look, direction, rate, move, finish."""
    points: list[Any] = [steps.begin(numpy.asarray(start, numpy.float64))]
    used: list[Any] = []
    for step in range(steps.count(num_steps)):
        used.append(steps.direction(steps.look(slope, points, used)))
        points.append(steps.move(points[-1], used[-1], steps.rate(learning_rate, step), slope))
    return steps.finish(points, used, slope)


LOOP: dict[str, Step] = {
    "begin": lambda start: start,
    "count": lambda num_steps: num_steps,
    "look": lambda slope, points, used: slope(points[-1]),
    "direction": lambda gradient: gradient,
    "rate": lambda learning_rate, step: learning_rate,
    "move": lambda point, gradient, rate, slope: point - rate * gradient,
    "finish": lambda points, used, slope: points[-1],
}


def _one_by_one(point: Any, gradient: Any, rate: float, slope: Slope) -> Any:
    """Update coordinates one by one, each with the gradient after the previous updates."""
    moved = point.copy()
    for place in numpy.ndindex(moved.shape):
        moved[place] -= rate * slope(moved)[place]
    return moved


USE = Message("repeat: point = point - learning_rate * gradient(point)", "重复执行：point = point - learning_rate * gradient(point)")
ONE_STEP = Message("a single step does not show it", "只走一步时看不出来")

MISTAKES = (
    Mistake(
        "ascent",
        {"move": lambda point, gradient, rate, slope: point + rate * gradient},
        Message("moves along the gradient instead of against it: the loss increases", "沿着梯度走了，而应逆着梯度：损失会上升"),
        Message("subtract: point - learning_rate * gradient", "应相减：point - learning_rate * gradient"),
        pattern=r"\+=|\+ *\w*(lr|rate|alpha|eta)|-=",
    ),
    Mistake(
        "gradient_of_the_start",
        {"look": lambda slope, points, used: slope(points[0])},
        Message("computes the gradient once at the start and uses it in every step", "梯度只在起点算了一次，之后每一步都用它"),
        Message("compute the gradient inside the loop, at the current point", "在循环内、对当前点重新计算梯度"),
        hides=ONE_STEP,
        pattern=r"grad|for ",
    ),
    Mistake(
        "gradients_accumulated",
        {"look": lambda slope, points, used: slope(points[-1]) + (used[-1] if used else 0)},
        Message("gradients accumulate over the steps: they are never reset to zero", "梯度逐步累加：从未清零"),
        Message("reset the gradient to zero in every step (zero_grad)", "每一步都把梯度清零（zero_grad）"),
        hides=ONE_STEP,
        pattern=r"\+=|backward|grad",
    ),
    Mistake(
        "one_step_too_few",
        {"count": lambda num_steps: num_steps - 1},
        Message("takes num_steps - 1 steps", "只走了 num_steps - 1 步"),
        Message("use range(num_steps)", "使用 range(num_steps)"),
        pattern=r"range|while",
    ),
    Mistake(
        "one_step_too_many",
        {"count": lambda num_steps: num_steps + 1},
        Message("takes num_steps + 1 steps", "走了 num_steps + 1 步"),
        Message("use range(num_steps)", "使用 range(num_steps)"),
        pattern=r"range|while",
    ),
    Mistake(
        "returned_inside_the_loop",
        {"count": lambda num_steps: min(num_steps, 1)},
        Message("takes a single step: return is inside the loop", "只走了一步：return 写在了循环里面"),
        Message("move return after the loop", "把 return 移到循环之后"),
        hides=ONE_STEP,
        pattern=r"return",
    ),
    Mistake(
        "never_moved",
        {"count": lambda num_steps: 0},
        Message("returns the start: the new point is not stored", "返回的是起点：新的点没有保存下来"),
        USE,
        pattern=r"return|=",
    ),
    Mistake(
        "point_forgotten",
        {"move": lambda point, gradient, rate, slope: -rate * gradient},
        Message(
            "the new point is -learning_rate * gradient; the old point is missing", "新的点是 -learning_rate * gradient，漏掉了原来的点"
        ),
        USE,
        pattern=r"= *-",
    ),
    Mistake(
        "start_ignored",
        {"begin": numpy.zeros_like},
        Message("starts at zero instead of the given start", "从零开始，而不是从给定的起点开始"),
        Message("begin at the given start", "从给定的起点开始"),
        pattern=r"zeros|= *0",
    ),
    Mistake(
        "one_coordinate_after_another",
        {"move": _one_by_one},
        Message(
            "updates the coordinates one by one, each with the gradient after the previous updates",
            "坐标逐个更新：后面的坐标用的是前面坐标更新之后的梯度",
        ),
        Message("compute the whole gradient first, then update all coordinates at once", "先算出整个梯度，再同时更新所有坐标"),
        hides=Message(
            "a single coordinate, or coordinates that do not interact, do not show it",
            "只有一个坐标，或坐标之间互不影响时看不出来",
        ),
        pattern=r"for .* in range|\[\w+\] *-?=",
    ),
    Mistake(
        "sign_of_gradient",
        {"direction": numpy.sign},
        Message("uses only the sign of the gradient: every step has the same length", "只用了梯度的符号：每一步都一样长"),
        USE,
        pattern=r"sign",
    ),
    Mistake(
        "gradient_of_length_one",
        {"direction": lambda gradient: gradient / numpy.linalg.norm(gradient)},
        Message(
            "normalizes the gradient to length 1: steps do not get shorter near the minimum",
            "梯度被归一化为长度 1：接近最小值时步长不会变小",
        ),
        USE,
        pattern=r"norm",
    ),
    Mistake(
        "learning_rate_decays",
        {"rate": lambda learning_rate, step: learning_rate / (step + 1)},
        Message("divides the learning rate by the step number", "学习率除以了步数"),
        Message("use the learning rate as given", "直接使用给定的学习率"),
        hides=ONE_STEP,
        pattern=r"/",
    ),
    Mistake(
        "gradient_returned",
        {"finish": lambda points, used, slope: slope(points[-1])},
        Message("returns the gradient at the last point instead of the point", "返回的是最后一点处的梯度，而不是那个点"),
        Message("return the point", "返回点本身"),
        pattern=r"return",
    ),
    Mistake(
        "last_gradient_returned",
        {"finish": lambda points, used, slope: used[-1] if used else slope(points[-1])},
        Message("returns the gradient of the last step instead of the point", "返回的是最后一步用的梯度，而不是点"),
        Message("return the point", "返回点本身"),
        pattern=r"return",
        said_as="gradient_returned",
    ),
    Mistake(
        "last_change_returned",
        {"finish": lambda points, used, slope: points[-1] - points[-2] if len(points) > 1 else 0 * points[-1]},
        Message("returns the last update instead of the point", "返回的是最后一步的更新量，而不是点"),
        Message("return the point", "返回点本身"),
        pattern=r"return",
    ),
)


def first_of_tuple(answer: Any, inputs: Inputs) -> Any:
    """Return the point from an output that also contains losses or a history."""
    return answer[0] if isinstance(answer, tuple) and answer else answer


def last_of_path(answer: Any, inputs: Inputs) -> Any:
    """Return the last point of a path."""
    return answer[-1] if isinstance(answer, numpy.ndarray) and answer.ndim and len(answer) == inputs["num_steps"] + 1 else answer


RETURNS: Sequence[Convention] = (
    Convention(),
    Convention(
        Message("returns more than the point; its first value was checked", "返回的不止点；检查的是第一个值"), decode=first_of_tuple
    ),
    Convention(Message("returns the whole path; its last point was checked", "返回整条路径；检查的是最后一个点"), decode=last_of_path),
)

RATE_NAMES = ("lr", "alpha", "eta", "rate", "step_size", "learn_rate", "gamma", "a", "step", "lr_rate", "learningrate")
STEPS_NAMES = (
    "steps", "n_steps", "iterations", "num_iterations", "n_iterations", "iters", "n_iters", "num_iters", "epochs", "n_epochs", "num_epochs", "max_iter", "max_iters",
    "max_steps", "n", "max_iterations", "n_iter", "iter", "niter", "nsteps", "t", "k", "iteration",
)  # fmt: skip
START_NAMES = (
    "x0", "x_0", "init", "x_init", "initial", "initial_point", "start_point", "theta", "theta0", "theta_0", "w", "w_in", "weights", "w_init", "x", "point", "initial_x",
    "params", "init_x", "starting_point", "theta_init", "initial_weights", "initial_theta", "w0", "x_start", "guess", "initial_guess", "initial_value", "initial_w", "init_w",
)  # fmt: skip
