"""rms_norm: x / √(mean x² + eps) · weight."""

from __future__ import annotations

from typing import Any

import numpy

from headway import functions
from headway.practice.exercise import Convention, Exercise, Inputs, Probe, optional, unchanged
from headway.practice.recipes.conventions import NUM_AXES, OF_ELEMENTS, RETURNS
from headway.practice.recipes.norms import HALF, ROWS, VECTOR, WHOLE, eps_conventions, eps_of, eps_recovery, size_roles
from headway.practice.roles import Roles
from headway.practice.texts import Texts

TEXTS = Texts("rms_norm")
ROLES = Roles("rms_norm")

EPS = 1e-6


def recipe(steps: Any, x: Any, weight: Any = None, eps: float | None = None) -> Any:
    """The definition as named steps: promote, before, mean_square, eps, root, centre, divide, scale, finish."""
    x = steps.before(steps.promote(x), weight)
    root = steps.root(steps.mean_square(x), steps.eps(eps))
    answer = steps.divide(steps.centre(x), root)
    return steps.finish(answer if weight is None else steps.scale(answer, weight))


STEPS = {
    "promote": lambda x: x.astype(numpy.float64),
    "mean_square": lambda x: (x**2).mean(-1, keepdims=True),
    "eps": eps_of(EPS),
    "root": lambda mean_square, eps: numpy.sqrt(mean_square + eps),
    "divide": lambda x, root: x / root,
    "scale": lambda normed, weight: normed * weight,
}

ROOT = TEXTS["root"]


def _over(axis: Any, keepdims: bool = True) -> dict[str, Any]:
    return {"mean_square": lambda x: (x**2).mean(axis(x) if callable(axis) else axis, keepdims=keepdims)}


MISTAKES = (
    TEXTS.mistake("mean_subtracted", centre=lambda x: x - x.mean(-1, keepdims=True), mean_square=lambda x: x.var(-1, keepdims=True)),
    TEXTS.mistake("mean_subtracted_above_alone", centre=lambda x: x - x.mean(-1, keepdims=True)),
    TEXTS.mistake("variance_for_mean_square", mean_square=lambda x: x.var(-1, keepdims=True)),
    TEXTS.mistake("sum_for_mean", mean_square=lambda x: (x**2).sum(-1, keepdims=True)),
    TEXTS.mistake("mean_over_n_minus_one", mean_square=lambda x: (x**2).sum(-1, keepdims=True) / (x.shape[-1] - 1)),
    TEXTS.mistake("root_missing", root=lambda mean_square, eps: mean_square + eps),
    TEXTS.mistake("square_for_root", root=lambda mean_square, eps: (mean_square + eps) ** 2),
    TEXTS.mistake("multiplied_by_root", divide=lambda x, root: x * root),
    TEXTS.mistake("root_returned", divide=lambda x, root: numpy.broadcast_to(root, x.shape), scale=unchanged),
    TEXTS.mistake("mean_of_root", mean_square=lambda x: numpy.abs(x).mean(-1, keepdims=True) ** 2),
    TEXTS.mistake("not_squared", mean_square=lambda x: x.mean(-1, keepdims=True)),
    TEXTS.mistake("mean_squared", mean_square=lambda x: x.mean(-1, keepdims=True) ** 2),
    TEXTS.mistake("eps_missing", eps=lambda given: 0.0),
    TEXTS.mistake("eps_ignored", eps=lambda given: EPS),
    TEXTS.mistake("eps_subtracted", root=lambda mean_square, eps: numpy.sqrt(mean_square - eps)),
    TEXTS.mistake(
        "eps_before_mean",
        root=lambda mean_square, eps: numpy.sqrt(mean_square),
        mean_square=lambda x: ((x + EPS) ** 2).mean(-1, keepdims=True),
    ),
    TEXTS.mistake("first_axis", **_over(0)),
    TEXTS.mistake("second_axis", **_over(1)),
    TEXTS.mistake("all_axes", **_over(None)),
    TEXTS.mistake("all_axes_but_the_first", **_over(lambda x: tuple(range(1, x.ndim)))),
    TEXTS.mistake("no_keepdims", **_over(-1, False)),
    TEXTS.mistake("weight_missing", scale=unchanged),
    TEXTS.mistake("weight_before_norm", before=lambda x, weight: x if weight is None else x * weight, scale=unchanged),
    TEXTS.mistake("weight_added", scale=lambda normed, weight: normed + weight),
    TEXTS.mistake("weight_divides", scale=lambda normed, weight: normed / weight),
    TEXTS.mistake("one_plus_weight", scale=lambda normed, weight: normed * (1 + weight)),
    TEXTS.mistake("weight_per_row", scale=lambda normed, weight: normed * weight[:, None]),
    TEXTS.mistake(
        "computed_in_half_precision", promote=lambda x: x.astype(numpy.float16), finish=lambda answer: answer.astype(numpy.float16)
    ),
)


def probes() -> tuple[Probe, ...]:
    """Inputs with and without weight and eps: a vector, rows of different mean and scale, square ones, three axes, small numbers and zeros."""
    random = numpy.random.default_rng(10)

    def drawn(*shape: int) -> Any:
        return random.standard_normal(shape) * (1 + random.random((*shape[:-1], 1))) + random.standard_normal((*shape[:-1], 1)) * 2

    def weighted(*shape: int) -> Inputs:
        return {"x": drawn(*shape), "weight": random.standard_normal(shape[-1]) + 1.5}

    weight = {"weight": numpy.array([1.0, 2.0, 0.5, 3.0])}
    zeros = numpy.array([[0.0, 0.0, 0.0, 0.0], [1.0, 2.0, 3.0, 5.0]])
    return (
        Probe("vector", {"x": drawn(5)}, VECTOR),
        Probe("rows", {"x": drawn(3, 5)}, ROWS),
        Probe("square", {"x": drawn(4, 4)}, ROWS),
        Probe("three axes", {"x": drawn(2, 3, 4)}, ROWS),
        Probe("small numbers", {"x": drawn(3, 4) * 1e-3}, ROWS),
        Probe("zeros", {"x": zeros}, ROWS),
        Probe("large numbers", {"x": drawn(3, 4) * 400}, ROWS),
        Probe("weighted vector", weighted(5), VECTOR),
        Probe("weighted rows", weighted(3, 5), ROWS),
        Probe("weighted square", weighted(4, 4), ROWS),
        Probe("weighted, three axes", weighted(2, 3, 4), ROWS),
        Probe("weighted, small numbers", weight | {"x": drawn(3, 4) * 1e-3}, ROWS),
        Probe("weighted, zeros", weight | {"x": zeros}, ROWS),
        Probe("weighted, large numbers", weight | {"x": drawn(3, 4) * 400}, ROWS),
        Probe("given eps", {"x": drawn(3, 5), "eps": 0.3}, ROWS),
        Probe("weighted, given eps", weighted(3, 5) | {"eps": 0.3}, ROWS),
        Probe("half precision", {"x": numpy.array([[300.0, -700.0, 500.0, 100.0]], numpy.float16)}, caution=HALF),
        Probe("weighted, half precision", weight | {"x": numpy.array([[300.0, -700.0, 500.0, 100.0]], numpy.float16)}, caution=HALF),
        Probe("whole numbers", {"x": numpy.array([[1, 2, 4, 8]])}, caution=WHOLE),
        Probe("vector, small numbers", {"x": drawn(4) * 1e-3}, VECTOR),
        Probe("weighted vector, small numbers", weight | {"x": drawn(4) * 1e-3}, VECTOR),
        Probe("weighted vector, given eps", weighted(5) | {"eps": 0.3}, VECTOR),
        Probe("vector, given eps", {"x": drawn(5), "eps": 0.3}, VECTOR),
    )


AROUND_0 = {"scale": lambda normed, weight: normed * (1 + weight)}
"""Steps of a norm whose weights are stored around 0."""

SAYS_AROUND_0 = r"\A(?![\s\S]*\bones(_like)?\()[\s\S]*(gemma|qwen[ _-]?3[ _.-]?(5|next)|zero[ _-]?cent|unit[ _-]?offset)"
"""Pattern of the source of a norm whose docstring or comments name a model whose weights are stored around 0; it stores none at 1."""

PLACES = optional(
    Convention(TEXTS["eps_outside"], steps={"root": lambda mean_square, eps: numpy.sqrt(mean_square) + eps}),
    Convention(TEXTS["eps_as_bound"], steps={"root": lambda mean_square, eps: numpy.maximum(numpy.sqrt(mean_square), eps)}),
)

EXERCISE = Exercise(
    name="rms_norm",
    definition=functions.rms_norm,
    recipe=recipe,
    steps=STEPS,
    roles=(ROLES("x"), ROLES.weight("weight"), ROLES("eps", neutral=EPS), *size_roles()),
    probes=probes,
    mistakes=MISTAKES,
    conventions=(
        eps_conventions(EPS),
        PLACES,
        (*NUM_AXES, OF_ELEMENTS),
        optional(
            Convention(
                TEXTS["one_plus_weight"],
                steps=AROUND_0,
                called=r"gemma|zero_?cent|unit_?offset",
            ),
            Convention(
                TEXTS["one_plus_weight"],
                steps=AROUND_0,
                file_source=r"(?i)\bgemma\w* *[:=] *(bool|False|True)",
            ),
            Convention(
                TEXTS["weights_stored_around_0"],
                steps=AROUND_0,
                file_source=r"\bclass \w*(?-i:Gemma|Qwen3_?(5|Next))\w*",
            ),
            Convention(
                TEXTS["weights_stored_around_0"],
                steps=AROUND_0,
                source=SAYS_AROUND_0,
            ),
            Convention(
                TEXTS["weights_stored_around_0"],
                steps=AROUND_0,
                source=r"(weight|scale|gamma|gain|self\.g)\b.*zeros",
            ),
        ),
        RETURNS,
    ),
    recoveries=(eps_recovery(EPS, ROOT),),
)
