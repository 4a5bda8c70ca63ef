"""silu: x · sigmoid(x)."""

from __future__ import annotations

from typing import Any

import numpy

from headway import functions
from headway.practice.exercise import QUIET, Exercise, Inputs, Probe
from headway.practice.recipes import activations
from headway.practice.recipes.activation_mistakes import instead, not_bent, relu_instead, softplus_instead
from headway.practice.recipes.activations import ARRAYS, X, answers_at, floating, probes_of, sigmoid
from headway.practice.recipes.conventions import RETURNS
from headway.practice.roles import Roles
from headway.practice.texts import Texts

TEXTS = Texts("silu")
ROLES = Roles("silu")


def recipe(steps: Any, x: Any) -> Any:
    """The definition as named steps: steepness, gate, apply."""
    x = floating(x)
    return steps.apply(x, steps.gate(steps.steepness() * x))


STEPS = {"steepness": lambda: 1.0, "gate": sigmoid, "apply": lambda x, gate: x * gate}

USE = TEXTS["use"]


def _derivative(x: Any) -> Any:
    gate = sigmoid(x)
    return gate * (1 + x * (1 - gate))


MISTAKES = (
    TEXTS.mistake("sigmoid_returned", apply=lambda x, gate: gate),
    TEXTS.mistake("exponent_sign", gate=lambda x: sigmoid(-x)),
    TEXTS.mistake("exponential_overflows", gate=lambda x: numpy.exp(x) / (1 + numpy.exp(x))),
    TEXTS.mistake("parentheses_missing", apply=lambda x, gate: x + numpy.exp(-x)),
    TEXTS.mistake("one_missing", gate=lambda x: numpy.exp(x)),
    TEXTS.mistake("gate_added", apply=lambda x, gate: x + gate),
    TEXTS.mistake("gate_applied_twice", apply=lambda x, gate: x * gate * gate),
    TEXTS.mistake("sigmoid_of_sigmoid", gate=lambda x: sigmoid(sigmoid(x))),
    TEXTS.mistake("tanh_for_sigmoid", gate=numpy.tanh),
    TEXTS.mistake("softmax_for_sigmoid", gate=lambda x: activations.softmax(x, None)),
    TEXTS.mistake("hard_gate", **instead(activations.hard_swish)),
    relu_instead(USE),
    TEXTS.mistake("gelu", **instead(activations.gelu)),
    TEXTS.mistake("gelu_tanh", **instead(activations.gelu_tanh)),
    softplus_instead(USE),
    TEXTS.mistake("mish", **instead(activations.mish)),
    TEXTS.mistake("derivative_returned", **instead(_derivative)),
    not_bent(USE),
    TEXTS.mistake("sign_turned", apply=lambda x, gate: -x * gate),
)


def _steepness(ask: Any) -> list[tuple[Inputs, float]]:
    """Measure the steepness of the sigmoid: the logit of output / x, per x; nothing for values with a named mistake."""
    x = numpy.array([-1.5, -0.8, 0.5, 0.9, 1.7])
    answer = answers_at(ask, x.tolist())
    if answer is None or not ((answer / x > 0) & (answer / x < 1)).all():
        return []
    gate = answer / x
    slopes = numpy.log(gate / (1 - gate)) / x
    is_even = numpy.ptp(slopes) < 1e-4 * abs(slopes[0])
    return [({"x": x}, float(slopes[0]))] if is_even and abs(slopes[0] + 1) > 1e-3 else []


RECOVERIES = (
    TEXTS.recovery(
        "steepness",
        "steepness",
        measure=_steepness,
        wrong=lambda number_of: lambda: number_of({}),
        sizes=lambda inputs: {"1.702, as in quick GELU": 1.702, "1.6": 1.6},
        right_name="x · sigmoid(x)",
    ),
)


def probes() -> tuple[Probe, ...]:
    """The usual inputs, and numbers too large for exp."""
    return probes_of(
        Probe("far numbers", {"x": numpy.array([-1000.0, 1000.0, 90.0])}, ARRAYS),
        Probe("a far number", {"x": numpy.array(1000.0)}, QUIET),
        Probe("a far negative number", {"x": numpy.array(-1000.0)}, TEXTS["far"], TEXTS["far_negative"]),
    )


EXERCISE = Exercise(
    name="silu",
    definition=functions.silu,
    recipe=recipe,
    steps=STEPS,
    roles=(X, ROLES("beta", neutral=1.0)),
    probes=probes,
    mistakes=MISTAKES,
    conventions=(RETURNS,),
    recoveries=RECOVERIES,
)
