"""gelu: x · Φ(x), exactly or in the tanh form of GPT-2."""

from __future__ import annotations

from typing import Any

import numpy

from headway import functions
from headway.practice.exercise import Convention, Exercise, Inputs, Probe
from headway.practice.exercises.gelu.mistakes import MISTAKES
from headway.practice.exercises.gelu.recoveries import RECOVERIES
from headway.practice.exercises.gelu.steps import STEPS
from headway.practice.recipes.activation_mistakes import instead
from headway.practice.recipes.activations import ARRAYS, X, floating, probes_of, quick_gelu
from headway.practice.roles import Roles
from headway.practice.texts import Texts

TEXTS = Texts("gelu")
ROLES = Roles("gelu")


def recipe(steps: Any, x: Any, approximate: str | None = None) -> Any:
    """The definition as named steps: form, then inner_exact and erf, or inner_tanh and tanh; one, half, apply."""
    x = floating(x)
    is_tanh = (approximate or steps.form()) == "tanh"
    term = (
        steps.tanh(steps.inner_tanh(x, steps.factor(), steps.coefficient(), steps.cube)) if is_tanh else steps.erf(x * steps.erf_factor())
    )
    return steps.apply(x, steps.half() * (steps.one() + term))


def definition(x: Any, approximate: str = "none") -> Any:
    """Select one of the two forms, which are two functions in headway.functions."""
    return (functions.gelu_tanh if approximate == "tanh" else functions.gelu)(x)


def probes() -> tuple[Probe, ...]:
    """The usual inputs, inputs where the two forms differ most, and both values of the argument that selects the form."""
    random = numpy.random.default_rng(4)
    return probes_of(
        Probe("where the forms differ", {"x": numpy.array([-2.7, -2.2, 2.2, 2.7])}, ARRAYS),
        Probe("requested tanh form", {"x": random.standard_normal(6) * 2, "approximate": "tanh"}, ARRAYS),
        Probe("requested exact form", {"x": random.standard_normal(6) * 2, "approximate": "none"}, ARRAYS),
    )


def _as_flag(inputs: Inputs) -> Inputs:
    return inputs | {"approximate": inputs["approximate"] == "tanh"} if "approximate" in inputs else inputs


EXERCISE = Exercise(
    name="gelu",
    definition=definition,
    recipe=recipe,
    steps=STEPS,
    roles=(X, ROLES("approximate", neutral="none")),
    probes=probes,
    mistakes=MISTAKES,
    conventions=(
        (
            Convention(TEXTS["exact_form"]),
            Convention(TEXTS["form_of_gpt2"], steps={"form": lambda: "tanh"}),
            Convention(TEXTS["sigmoid_form"], steps=instead(quick_gelu), called="quick"),
        ),
        (Convention(), Convention(encode=_as_flag, role="approximate")),
    ),
    recoveries=RECOVERIES,
)
