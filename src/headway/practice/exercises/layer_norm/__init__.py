"""layer_norm: (x - mean x) / √(var x + eps) · weight + bias."""

from __future__ import annotations

from typing import Any

import numpy

from headway import functions
from headway.practice.exercise import Convention, Exercise, Inputs, Probe, Role
from headway.practice.exercises.layer_norm.mistakes import MISTAKES, ROOT
from headway.practice.exercises.layer_norm.steps import EPS, STEPS
from headway.practice.recipes.conventions import THREE_AXES
from headway.practice.recipes.norms import HALF, RETURNS, ROWS, VECTOR, WHOLE, eps_conventions, eps_recovery, size_roles
from headway.practice.roles import Roles
from headway.practice.texts import Texts

TEXTS = Texts("layer_norm")
ROLES = Roles("layer_norm")


def recipe(steps: Any, x: Any, weight: Any = None, bias: Any = None, eps: float | None = None) -> Any:
    """The definition as named steps: promote, before, mean, centre, variance, eps, root, divide, scale, shift, finish."""
    x = steps.before(steps.promote(x), weight)
    mean = steps.mean(x)
    variance = steps.variance(x, mean)
    answer = steps.divide(steps.centre(x, mean), steps.root(variance, steps.eps(eps)), x)
    answer = answer if weight is None else steps.scale(answer, weight, bias)
    return steps.finish(answer if bias is None else steps.shift(answer, bias, weight))


NO_BIAS = TEXTS["no_bias"]


def probes() -> tuple[Probe, ...]:
    """Inputs with and without weights and eps: a vector, rows of different mean and scale, square ones, three axes, small and equal numbers."""
    random = numpy.random.default_rng(9)

    def drawn(*shape: int) -> Any:
        return random.standard_normal(shape) * (1 + random.random((*shape[:-1], 1))) + random.standard_normal((*shape[:-1], 1)) * 2

    def weighted(*shape: int) -> Inputs:
        return {"x": drawn(*shape), "weight": random.standard_normal(shape[-1]) + 1.5, "bias": random.standard_normal(shape[-1])}

    def without_bias(*shape: int) -> Inputs:
        return {name: value for name, value in weighted(*shape).items() if name != "bias"}

    ones = {"weight": numpy.array([1.0, 2.0, 0.5, 3.0]), "bias": numpy.array([0.0, 1.0, -1.0, 0.5])}
    return (
        Probe("vector", {"x": drawn(5)}, VECTOR),
        Probe("rows", {"x": drawn(3, 5)}, ROWS),
        Probe("square", {"x": drawn(4, 4)}, ROWS),
        Probe("three axes", {"x": drawn(2, 3, 4)}, ROWS),
        Probe("small numbers", {"x": drawn(3, 4) * 1e-3}, ROWS),
        Probe("equal numbers", {"x": numpy.array([[2.0, 2.0, 2.0, 2.0], [1.0, 2.0, 3.0, 5.0]])}, ROWS),
        Probe("weight only", without_bias(3, 5), NO_BIAS),
        Probe("weight only, square", without_bias(4, 4), NO_BIAS),
        Probe("weight only, three axes", without_bias(2, 3, 4), NO_BIAS),
        Probe("weight only, small numbers", {"x": drawn(3, 4) * 1e-3, "weight": ones["weight"]}, NO_BIAS),
        Probe("weighted vector", weighted(5), VECTOR),
        Probe("weighted rows", weighted(3, 5), ROWS),
        Probe("weighted square", weighted(4, 4), ROWS),
        Probe("weighted, three axes", weighted(2, 3, 4), ROWS),
        Probe("weighted, small numbers", ones | {"x": drawn(3, 4) * 1e-3}, ROWS),
        Probe("weighted, equal numbers", ones | {"x": numpy.array([[2.0, 2.0, 2.0, 2.0], [1.0, 2.0, 3.0, 5.0]])}, ROWS),
        Probe("weighted, large numbers", ones | {"x": drawn(3, 4) * 400}, ROWS),
        Probe("large numbers", {"x": drawn(3, 4) * 400}, ROWS),
        Probe("given eps", {"x": drawn(3, 5), "eps": 0.3}, ROWS),
        Probe("weighted, given eps", weighted(3, 5) | {"eps": 0.3}, ROWS),
        Probe("half precision", {"x": numpy.array([[300.0, -700.0, 500.0, 100.0]], numpy.float16)}, caution=HALF),
        Probe("weighted, half precision", ones | {"x": numpy.array([[300.0, -700.0, 500.0, 100.0]], numpy.float16)}, caution=HALF),
        Probe("whole numbers", {"x": numpy.array([[1, 2, 4, 8]])}, caution=WHOLE),
    )


STANDARD_DEVIATION = (
    Convention(),
    Convention(
        TEXTS["divides_by_sample_deviation"],
        steps={"variance": lambda x, mean: x.var(-1, keepdims=True, ddof=1), "root": lambda variance, eps: numpy.sqrt(variance) + eps},
        source=r"(?m)^[^#\n]*std",
    ),
    Convention(
        TEXTS["divides_by_deviation_and_eps"],
        steps={"root": lambda variance, eps: numpy.sqrt(variance) + eps},
        source=r"(?m)^[^#\n]*\bstd\(",
    ),
)
"""LayerNorm as in the paper's best-known implementation; both deviations together are its own contract."""

SCALAR = (
    Convention(),
    Convention(
        TEXTS["scalar_weights"],
        steps={
            "scale": lambda normed, weight, bias: normed * weight[:1],
            "shift": lambda scaled, bias, weight: scaled + bias[:1],
        },
        source=r"(ones|zeros)\(\(?1,?\)",
    ),
)
"""A gain and a shift of one number each, as in a well-known tutorial; a layer of its own."""

EXERCISE = Exercise(
    name="layer_norm",
    definition=functions.layer_norm,
    recipe=recipe,
    steps=STEPS,
    roles=(
        ROLES("x"),
        ROLES.weight("weight"),
        ROLES.weight("bias", is_optional=True),
        ROLES("eps", neutral=EPS),
        Role("ln_param", (), neutral={}),
        *size_roles(),
    ),
    probes=probes,
    mistakes=MISTAKES,
    conventions=(eps_conventions(EPS), STANDARD_DEVIATION, SCALAR, RETURNS, THREE_AXES),
    recoveries=(eps_recovery(EPS, ROOT),),
)
