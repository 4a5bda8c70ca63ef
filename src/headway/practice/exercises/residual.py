"""residual: a sublayer with a residual connection and a layer norm, as around attention and feed-forward."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy

from headway import functions
from headway.arrays import asarray_like
from headway.functions import NormWeights
from headway.practice.exercise import Convention, Exercise, Inputs, Probe, optional
from headway.practice.recipes.activations import divided_by_deviation, normed, scaled
from headway.practice.recipes.conventions import RETURNS
from headway.practice.recipes.encoding import without
from headway.practice.recipes.layers import post_norm, pre_norm
from headway.practice.recipes.norms import OF_ONE_NUMBER
from headway.practice.roles import Roles, extent
from headway.practice.texts import Texts

TEXTS = Texts("residual")
ROLES = Roles("residual", "norms")

Norm = Callable[[Any], Any]


def definition(x: Any, sublayer: Norm, weight: Any = None, bias: Any = None) -> Any:
    """Return headway.functions' residual connection with a layer norm of the sum; without weights the sum alone."""
    if weight is None:
        return x + sublayer(x)
    return functions.residual(x, sublayer, NormWeights(weight, bias), is_pre_norm=False)


def recipe(steps: Any, x: Any, sublayer: Norm, weight: Any = None, bias: Any = None) -> Any:
    """The definition as named steps: call, norm, scale, skip, add, wire."""

    def norm(x: Any) -> Any:
        return x if weight is None else steps.scale(steps.norm(x), weight, bias)

    def apply(x: Any) -> Any:
        return steps.call(sublayer, x)

    return steps.wire(x, apply, norm, lambda x, y: steps.add(steps.skip(x, norm), y))


STEPS: dict[str, Any] = {
    "call": lambda sublayer, x: sublayer(x),
    "norm": normed,
    "scale": scaled,
    "add": lambda x, y: x + y,
    "wire": post_norm,
}

MISTAKES = (
    TEXTS.mistake("residual_missing", add=lambda x, y: y),
    TEXTS.mistake("residual_normalized", skip=lambda x, norm: norm(x)),
    TEXTS.mistake("residual_twice", add=lambda x, y: 2 * x + y),
    TEXTS.mistake("subtracted", add=lambda x, y: x - y),
    TEXTS.mistake("multiplied", add=lambda x, y: x * y),
    TEXTS.mistake("sublayer_ignored", call=lambda sublayer, x: x),
    TEXTS.mistake("norm_unused", wire=lambda x, part, norm, add: add(x, part(x))),
)


def _sublayer(x: Any) -> Any:
    """A sublayer for arrays of any library."""
    return 0.5 * x * x + x - 1.0


def _output(inputs: Inputs) -> Inputs:
    """Return the inputs with the output of the sublayer in place of the sublayer."""
    return without(inputs, "sublayer") | {"output": inputs["sublayer"](inputs["x"])}


def _called(inputs: Inputs) -> Inputs:
    """Return the inputs with the output of the sublayer under the sublayer's own name."""
    return inputs | {"sublayer": inputs["sublayer"](inputs["x"])}


OF_SUBLAYER = "|".join(("sublayer", *ROLES.called("sublayer")))

NO_SUBLAYER = rf"^(?!({OF_SUBLAYER})$)"
"""Pattern of the names of operands that do not say that they are a sublayer."""

ADDS_SUBLAYER = (
    rf"\A(?=(?s:.*)(\+ *(\w+\.)*(\w+\()?({OF_SUBLAYER})\b(?! *[(.\[])|[(=] *({OF_SUBLAYER}) *\+))(?!(?s:.*)(?<!\.)\b({OF_SUBLAYER}) *\()"
)
"""Pattern of a source that adds its sublayer, without calling it: what it takes is an array."""

NOT_AROUND_SUBLAYER = r"^(?!.*sub_?layer)"
"""Pattern of the names of what does not claim to be around a sublayer, which it would call."""

NO_LAMBDA = r"\A(?!(?s:.*)\blambda\b)"
"""Pattern of a file that hands no function over where it is called."""


def _with_norm(inputs: Inputs) -> Inputs | None:
    """Return the inputs with a norm that has the weights in place of the weights; None without weights."""
    if "weight" not in inputs:
        return None
    weight, bias = inputs["weight"], inputs["bias"]

    def norm(x: Any) -> Any:
        return functions.layer_norm(x, asarray_like(weight, x), asarray_like(bias, x))

    return without(inputs, "weight", "bias") | {"norm": norm}


def _norm(eps: float, *, is_of_deviation: bool = False) -> Norm:
    return partial(divided_by_deviation, eps=eps, ddof=1) if is_of_deviation else partial(normed, eps=eps)


NORMS = optional(
    *(Convention(TEXTS["eps"].format(eps=f"{eps:g}"), steps={"norm": _norm(eps)}) for eps in (1e-6, 1e-8, 1e-12)),
    *(
        Convention(TEXTS["divides_by_deviation"], steps={"norm": _norm(eps, is_of_deviation=True)}, used_source=r"\bstd\(")
        for eps in (1e-6, 1e-5, 1e-8)
    ),
)
"""Norms that a file may have of its own, by their eps."""

SCALAR = optional(
    Convention(
        TEXTS["scalar_weights"],
        steps={"scale": lambda x, weight, bias: scaled(x, weight[:1], None if bias is None else bias[:1])},
        used_source=OF_ONE_NUMBER,
    )
)
"""A norm with a gain and a shift of one number each, as in a well-known tutorial."""


def probes() -> tuple[Probe, ...]:
    """Rows and batches, with and without weights; small numbers, for which eps counts."""
    random = numpy.random.default_rng(37)

    def drawn(*shape: int, size: float = 1.0, is_weighted: bool = True) -> Inputs:
        held = {"weight": random.standard_normal(shape[-1]) + 1, "bias": random.standard_normal(shape[-1])}
        return {"x": random.standard_normal(shape) * size, "sublayer": _sublayer} | (held if is_weighted else {})

    return (
        Probe("batch", drawn(2, 5, 6)),
        Probe("square", drawn(4, 4, 4)),
        Probe("large numbers", drawn(2, 3, 6, size=5.0)),
        Probe("rows", drawn(5, 4), TEXTS["rows"]),
        Probe("without a norm", drawn(2, 5, 6, is_weighted=False)),
        Probe("rows without a norm", drawn(5, 4, is_weighted=False), TEXTS["rows"]),
    )


EXERCISE = Exercise(
    name="residual",
    definition=definition,
    recipe=recipe,
    steps=STEPS,
    roles=(
        *ROLES.each("x", "sublayer", "output", "norm"),
        ROLES.weight("weight"),
        ROLES.weight("bias", is_optional=True),
        ROLES.size("hidden_size", extent("x", -1)),
    ),
    probes=probes,
    mistakes=MISTAKES,
    conventions=(
        optional(
            Convention(TEXTS["pre_norm"], steps={"wire": pre_norm}, role="sublayer"),
            Convention(TEXTS["norm_of_output"], steps={"wire": lambda x, part, norm, add: add(x, norm(part(x)))}),
        ),
        NORMS,
        SCALAR,
        (
            Convention(role="sublayer"),
            Convention(TEXTS["takes_output"], _output, role="output"),
            Convention(TEXTS["takes_output"], _called, role="sublayer", named=NO_SUBLAYER),
            Convention(
                TEXTS["takes_output"], _called, role="sublayer", called=NOT_AROUND_SUBLAYER, source=ADDS_SUBLAYER, file_source=NO_LAMBDA
            ),
        ),
        optional(Convention(TEXTS["takes_norm"], _with_norm, role="norm")),
        RETURNS,
    ),
)
