"""gradient_clipping: all gradients scaled down together if their global norm is above a maximum."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy

from headway import functions
from headway.practice.exercise import Convention, Exercise, Inputs, Mistake, Probe, Step, optional
from headway.practice.roles import Roles
from headway.practice.texts import Texts

TEXTS = Texts("gradient_clipping")
ROLES = Roles("gradient_clipping")


def definition(gradients: Any, max_norm: float, eps: float = 1e-6) -> Any:
    """Return the gradients multiplied by headway.functions' factor."""
    factor = functions.clipping_factor(gradients, max_norm, eps=eps)
    return tuple(each * factor for each in gradients)


def recipe(steps: Any, gradients: Any, max_norm: float, eps: float = 1e-6) -> Any:
    """The definition as named steps: norms, factor, scale, for the groups of gradients that share a norm: all of them."""
    groups = steps.groups(list(gradients))
    factors = [steps.factor(steps.norm(group), max_norm, eps) for group in groups]
    return tuple(steps.scale(each, factor, max_norm) for group, factor in zip(groups, factors, strict=True) for each in group)


def sum_of_squares(gradients: Any) -> float:
    """Return the sum of the squares of all elements."""
    return float(sum((each * each).sum() for each in gradients))


def length(gradients: Any) -> float:
    """Return the global norm."""
    return math.sqrt(sum_of_squares(gradients))


def limited(norm: float, max_norm: float, eps: float) -> float:
    """Return the factor of the definition."""
    return max_norm / (norm + eps) if norm > max_norm else 1.0


STEPS: dict[str, Step] = {
    "groups": lambda gradients: [gradients],
    "norm": length,
    "factor": limited,
    "scale": lambda gradient, factor, max_norm: gradient * factor,
}

EACH_ALONE: dict[str, Step] = {"groups": lambda gradients: [[each] for each in gradients]}


def _of_norm(name: str, norm: Callable[[Any], float]) -> Mistake:
    return TEXTS.mistake(name, norm=norm)


MISTAKES = (
    TEXTS.mistake("each_alone", groups=EACH_ALONE["groups"]),
    _of_norm("root_missing", sum_of_squares),
    _of_norm("sum_of_norms", lambda gradients: float(sum(length([each]) for each in gradients))),
    _of_norm("norm_of_the_last", lambda gradients: length(gradients[-1:])),
    _of_norm("largest_norm", lambda gradients: max(length([each]) for each in gradients)),
    _of_norm("absolute_values", lambda gradients: float(sum(abs(each).sum() for each in gradients))),
    _of_norm("mean_of_squares", lambda gradients: math.sqrt(sum_of_squares(gradients) / sum(each.size for each in gradients))),
    TEXTS.mistake("always_scaled", factor=lambda norm, max_norm, eps: max_norm / (norm + eps)),
    TEXTS.mistake("inverted", factor=lambda norm, max_norm, eps: norm / max_norm if norm > max_norm else 1.0),
    TEXTS.mistake("small_ones_scaled", factor=lambda norm, max_norm, eps: max_norm / (norm + eps) if norm < max_norm else 1.0),
    TEXTS.mistake("to_norm_one", factor=lambda norm, max_norm, eps: 1 / (norm + eps) if norm > max_norm else 1.0),
    TEXTS.mistake("not_clipped", factor=lambda norm, max_norm, eps: 1.0),
    TEXTS.mistake(
        "set_to_the_factor", scale=lambda gradient, factor, max_norm: gradient * factor if factor == 1.0 else 0 * gradient + factor
    ),
    TEXTS.mistake("set_to_the_maximum", scale=lambda gradient, factor, max_norm: gradient if factor == 1.0 else 0 * gradient + max_norm),
)


def probes() -> tuple[Probe, ...]:
    """Gradients above the maximum and below it; one array and several of other shapes.

    The norms of all of them are so large that eps, whatever it is, changes no digit that is compared.
    """
    random = numpy.random.default_rng(41)

    def drawn(size: float, *shapes: tuple[int, ...]) -> list[Any]:
        return [random.standard_normal(shape) * size for shape in shapes]

    matrix, bias = (3, 4), (4,)
    return (
        Probe("one large gradient", {"gradients": drawn(3000.0, (5,)), "max_norm": 1000.0}),
        Probe("one small gradient", {"gradients": drawn(900.0, (5,)), "max_norm": 25000.0}),
        Probe("large gradients", {"gradients": drawn(4000.0, matrix, bias, (2, 3)), "max_norm": 2000.0}, TEXTS["several"]),
        Probe("small gradients", {"gradients": drawn(700.0, matrix, bias), "max_norm": 35000.0}, TEXTS["several"]),
        Probe("small alone", {"gradients": _of_length(random, 800.0, matrix, bias, (2, 2)), "max_norm": 1000.0}, TEXTS["several"]),
        Probe("one of them large", {"gradients": [*drawn(9000.0, bias), *drawn(1.0, matrix)], "max_norm": 500.0}, TEXTS["several"]),
    )


def _of_length(random: Any, size: float, *shapes: tuple[int, ...]) -> list[Any]:
    """Return gradients that have this norm each."""
    found = [random.standard_normal(shape) for shape in shapes]
    return [size * each / length([each]) for each in found]


def _with_norm(answer: Any, inputs: Inputs) -> Any:
    """Return the gradients of what also returns their norm, before or after them."""
    if not (isinstance(answer, tuple) and len(answer) == 2):
        return answer
    return next((each for each in answer if isinstance(each, tuple)), answer)


OF_ALL = r"(?i)\A(?!.*(global|combined|overall|max_l2_norm|clip_grad_norm))"
"""Pattern of the source of a function that does not say that its norm is that of all gradients."""

EXERCISE = Exercise(
    name="gradient_clipping",
    definition=definition,
    recipe=recipe,
    steps=STEPS,
    roles=(ROLES("gradients", may_change=True), ROLES("max_norm"), ROLES("eps", neutral=1e-6), ROLES("norm_type", neutral=2.0)),
    probes=probes,
    mistakes=MISTAKES,
    conventions=(
        optional(Convention(TEXTS["clips_each_alone"], steps=EACH_ALONE, source=rf"(?s){OF_ALL}", is_whole=True)),
        optional(Convention(TEXTS["returns_norm"], decode=_with_norm)),
    ),
    calls="clipping",
    is_trained_through=False,
)
