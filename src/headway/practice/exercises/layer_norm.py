"""layer_norm: (x - mean x) / √(var x + eps) · weight + bias."""

from __future__ import annotations

from typing import Any

import numpy

from headway import functions
from headway.practice.exercise import Convention, Exercise, Inputs, Probe, Role, optional, unchanged
from headway.practice.recipes.conventions import NUM_AXES, OF_ELEMENTS, OF_ROWS, OF_ROWS_AS_SOFTMAX, RETURNS, WITH_GRADIENTS_OF_ROWS
from headway.practice.recipes.encoding import without
from headway.practice.recipes.norms import HALF, OF_ONE_NUMBER, ROWS, VECTOR, WHOLE, eps_conventions, eps_of, eps_recovery, size_roles
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


EPS = 1e-5


def variance(x: Any, axis: Any = -1, keepdims: bool = True) -> Any:
    """Return the mean squared deviation from the mean, divided by n."""
    return x.var(axis, keepdims=keepdims)


STEPS = {
    "promote": lambda x: x.astype(numpy.float64),
    "mean": lambda x: x.mean(-1, keepdims=True),
    "centre": lambda x, mean: x - mean,
    "variance": lambda x, mean: variance(x),
    "eps": eps_of(EPS),
    "root": lambda variance, eps: numpy.sqrt(variance + eps),
    "divide": lambda centred, root, x: centred / root,
    "scale": lambda normed, weight, bias: normed * weight,
    "shift": lambda scaled, bias, weight: scaled + bias,
}


def _over(axis: Any) -> dict[str, Any]:
    """Return steps with mean and variance over other axes."""
    return {"mean": lambda x: x.mean(axis, keepdims=True), "variance": lambda x, mean: variance(x, axis)}


MISTAKES = (
    TEXTS.mistake("variance_unbiased", variance=lambda x, mean: x.var(-1, ddof=1, keepdims=True)),
    TEXTS.mistake("eps_outside_root", root=lambda variance, eps: numpy.sqrt(variance) + eps),
    TEXTS.mistake("eps_missing", eps=lambda given: 0.0),
    TEXTS.mistake("eps_ignored", eps=lambda given: EPS),
    TEXTS.mistake("eps_subtracted", root=lambda variance, eps: numpy.sqrt(variance - eps)),
    TEXTS.mistake("root_missing", root=lambda variance, eps: variance + eps),
    TEXTS.mistake("square_for_root", root=lambda variance, eps: (variance + eps) ** 2),
    TEXTS.mistake("multiplied_by_root", divide=lambda centred, root, x: centred * root),
    TEXTS.mistake("not_divided", divide=unchanged),
    TEXTS.mistake("mean_not_subtracted", centre=unchanged),
    TEXTS.mistake("mean_of_squares", variance=lambda x, mean: (x**2).mean(-1, keepdims=True)),
    TEXTS.mistake("rms_norm", centre=unchanged, variance=lambda x, mean: (x**2).mean(-1, keepdims=True)),
    TEXTS.mistake("sum_for_mean_of_squares", variance=lambda x, mean: ((x - mean) ** 2).sum(-1, keepdims=True)),
    TEXTS.mistake("absolute_deviation", variance=lambda x, mean: numpy.abs(x - mean).mean(-1, keepdims=True) ** 2),
    TEXTS.mistake(
        "minimum_and_maximum",
        divide=lambda centred, root, x: (x - x.min(-1, keepdims=True)) / (x.max(-1, keepdims=True) - x.min(-1, keepdims=True)),
    ),
    TEXTS.mistake("first_axis", **_over(0)),
    TEXTS.mistake("second_axis", **_over(1)),
    TEXTS.mistake("all_axes", **_over(None)),
    TEXTS.mistake(
        "all_axes_but_the_first",
        mean=lambda x: x.mean(tuple(range(1, x.ndim)), keepdims=True),
        variance=lambda x, mean: variance(x, tuple(range(1, x.ndim))),
    ),
    TEXTS.mistake("first_axis_in_variance", variance=lambda x, mean: variance(x, 0)),
    TEXTS.mistake("all_axes_in_variance", variance=lambda x, mean: variance(x, None)),
    TEXTS.mistake("no_keepdims_in_mean", mean=lambda x: x.mean(-1)),
    TEXTS.mistake(
        "no_keepdims_in_mean_used_twice", mean=lambda x: x.mean(-1), variance=lambda x, mean: ((x - mean) ** 2).mean(-1, keepdims=True)
    ),
    TEXTS.mistake("no_keepdims_in_variance", variance=lambda x, mean: variance(x, -1, False)),
    TEXTS.mistake("no_keepdims", mean=lambda x: x.mean(-1), variance=lambda x, mean: variance(x, -1, False)),
    TEXTS.mistake("weight_missing", scale=unchanged),
    TEXTS.mistake("bias_missing", shift=unchanged),
    TEXTS.mistake("weight_and_bias_missing", scale=unchanged, shift=unchanged),
    TEXTS.mistake(
        "weight_and_bias_exchanged",
        scale=lambda normed, weight, bias: normed * (weight if bias is None else bias),
        shift=lambda scaled, bias, weight: scaled + weight,
    ),
    TEXTS.mistake("bias_before_weight", scale=unchanged, shift=lambda scaled, bias, weight: (scaled + bias) * weight),
    TEXTS.mistake("weight_before_norm", before=lambda x, weight: x if weight is None else x * weight, scale=unchanged),
    TEXTS.mistake("weight_added", scale=lambda normed, weight, bias: normed + weight),
    TEXTS.mistake("one_plus_weight", scale=lambda normed, weight, bias: normed * (1 + weight)),
    TEXTS.mistake("weight_per_row", scale=lambda normed, weight, bias: normed * weight[:, None]),
    TEXTS.mistake(
        "computed_in_half_precision", promote=lambda x: x.astype(numpy.float16), finish=lambda answer: answer.astype(numpy.float16)
    ),
)


NO_BIAS = TEXTS["no_bias"]


def probes() -> tuple[Probe, ...]:
    """Inputs with and without weights and eps: a vector, rows of different mean and scale, square ones, three axes, small and equal numbers."""
    random = numpy.random.default_rng(9)

    def drawn(*shape: int) -> Any:
        return random.standard_normal(shape) * (1 + random.random((*shape[:-1], 1))) + random.standard_normal((*shape[:-1], 1)) * 2

    def weighted(*shape: int) -> Inputs:
        return {"x": drawn(*shape), "weight": random.standard_normal(shape[-1]) + 1.5, "bias": random.standard_normal(shape[-1])}

    def without_bias(*shape: int) -> Inputs:
        return without(weighted(*shape), "bias")

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
        Probe("vector, small numbers", {"x": drawn(4) * 1e-3}, VECTOR),
        Probe("weighted vector, small numbers", ones | {"x": drawn(4) * 1e-3}, VECTOR),
        Probe("weighted vector, given eps", weighted(5) | {"eps": 0.3}, VECTOR),
        Probe("vector, given eps", {"x": drawn(5), "eps": 0.3}, VECTOR),
    )


LIMITED = r"(?i)(clamp|clip|max(imum)?)(_min)?_?\([^\n]*\beps(ilon)?\b"
"""Pattern of the source of a norm whose variance is at least eps."""

STANDARD_DEVIATION = optional(
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
    *(
        Convention(
            TEXTS["variance_of_at_least_eps"],
            steps={"root": lambda variance, eps, added=added: numpy.sqrt(numpy.maximum(variance, eps) + added * eps)},
            source=LIMITED,
        )
        for added in (0, 1)
    ),
)
"""LayerNorm as in the paper's best-known implementation; both deviations together are its own contract."""

SCALAR = optional(
    Convention(
        TEXTS["scalar_weights"],
        steps={
            "scale": lambda normed, weight, bias: normed * weight[:1],
            "shift": lambda scaled, bias, weight: scaled + bias[:1],
        },
        source=OF_ONE_NUMBER,
    )
)
"""A gain and a shift of one number each, as in a well-known tutorial; a layer of its own."""

GAIN = r"(weight|scale|gamma|gain|self\.g)"
ZEROS = rf"\b{GAIN}( *:[^=\n]*)? *= *[^,\n]*zeros\w*\((?![^\n]*\+)|{GAIN}['\"], *[\w.]*zeros|zeros_\((self\.)?{GAIN}\b"
"""Pattern of the source of a norm whose gain is 0 at first."""

AROUND_ZERO = optional(
    Convention(
        TEXTS["weights_stored_around_0"],
        steps={"scale": lambda normed, weight, bias: normed * (1 + weight)},
        source=ZEROS,
    )
)
"""A gain that is stored as its difference from 1, and initially 0."""

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
    conventions=(
        eps_conventions(EPS),
        STANDARD_DEVIATION,
        SCALAR,
        AROUND_ZERO,
        RETURNS,
        (*NUM_AXES, OF_ELEMENTS, OF_ROWS, OF_ROWS_AS_SOFTMAX, WITH_GRADIENTS_OF_ROWS),
    ),
    recoveries=(eps_recovery(EPS, TEXTS["root"]),),
)
