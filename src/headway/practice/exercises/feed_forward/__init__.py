"""feed_forward: activation(x @ upᵀ + bias) @ downᵀ + bias."""

from __future__ import annotations

from typing import Any

import numpy

from headway import functions
from headway.functions import FeedForwardWeights, LinearWeights
from headway.practice.exercise import QUIET, Convention, Exercise, Inputs, Probe
from headway.practice.exercises.feed_forward.mistakes import MISTAKES
from headway.practice.exercises.feed_forward.recoveries import RECOVERIES, drawn
from headway.practice.exercises.feed_forward.steps import STEPS
from headway.practice.recipes.activations import gelu, gelu_tanh, quick_gelu, relu, silu
from headway.practice.recipes.conventions import THREE_AXES
from headway.practice.recipes.wrapping import feed_forward_example, wrapped
from headway.practice.roles import Roles, extent
from headway.practice.texts import Texts

TEXTS = Texts("feed_forward")
ROLES = Roles("feed_forward")


def recipe(steps: Any, x: Any, up_weight: Any, down_weight: Any, up_bias: Any = None, down_bias: Any = None) -> Any:
    """The definition as named steps: enter, before, weights, up, up_bias, bend (apply the activation), middle, down, down_bias, finish, wrap."""
    up, down = steps.weights(up_weight, down_weight)
    outside, x = x, steps.enter(x)
    given = steps.before(x, steps.activation)
    hidden = steps.bend(steps.up_bias(steps.up(given, up), up_bias), steps.activation)
    answer = steps.down_bias(steps.down(steps.middle(hidden, up_bias), down), down_bias)
    return steps.wrap(steps.finish(answer, x, steps.activation), outside)


def definition(x: Any, up_weight: Any, down_weight: Any, up_bias: Any = None, down_bias: Any = None) -> Any:
    """Call headway.functions' feed-forward with the weights as a tree."""
    return functions.feed_forward(x, FeedForwardWeights(LinearWeights(up_weight, up_bias), LinearWeights(down_weight, down_bias)))


VECTOR = TEXTS["vector"]
BATCH = TEXTS["batch"]


def probes() -> tuple[Probe, ...]:
    """Inputs without and with biases: rows, a vector, three axes, an intermediate size equal to the hidden size, x = 0."""
    random = numpy.random.default_rng(12)

    def biased(*shape: int, inner: int = 12) -> Inputs:
        return drawn(random, *shape, inner=inner) | {
            "up_bias": random.standard_normal(inner),
            "down_bias": random.standard_normal(shape[-1]),
        }

    return (
        Probe("rows", drawn(random, 5, 3)),
        Probe("vector", drawn(random, 3), VECTOR),
        Probe("three axes", drawn(random, 2, 5, 3), BATCH),
        Probe("same intermediate size", drawn(random, 5, 4, inner=4), QUIET),
        Probe("rows with biases", biased(5, 3)),
        Probe("zeros with biases", biased(5, 3) | {"x": numpy.zeros((5, 3))}),
        Probe("vector with biases", biased(3), VECTOR),
        Probe("three axes with biases", biased(2, 5, 3), BATCH),
        Probe("same intermediate size, with biases", biased(4, 4, inner=4), QUIET),
    )


def _layers(inputs: Inputs) -> Inputs:
    """Return the weights as GPT-2's layers, {"w": (in, out), "b": (out,)}."""
    layers = {
        f"{name}_weight": {"w": inputs[f"{name}_weight"].T, "b": inputs.get(f"{name}_bias", numpy.zeros(len(inputs[f"{name}_weight"])))}
        for name in ("up", "down")
    }
    return {name: value for name, value in inputs.items() if not name.endswith("_bias")} | layers


def transposed(*names: str) -> Any:
    """Return an encoding with these weights as (in, out)."""
    return lambda inputs: inputs | {name: numpy.ascontiguousarray(inputs[name].T) for name in names if inputs.get(name) is not None}


ACTIVATIONS = (
    (TEXTS["activation_relu"], relu),
    (TEXTS["activation_gelu"], gelu),
    (TEXTS["activation_gelu_tanh"], gelu_tanh),
    (TEXTS["activation_silu"], silu),
    (TEXTS["activation_quick_gelu"], quick_gelu),
    (TEXTS["activation_squared_relu"], lambda x: relu(x) ** 2),
)

EXERCISE = Exercise(
    name="feed_forward",
    definition=definition,
    recipe=recipe,
    steps=STEPS,
    roles=(
        ROLES("x"),
        ROLES.weight("up_weight"),
        ROLES.weight("up_bias", is_optional=True),
        ROLES.weight("down_weight"),
        ROLES.weight("down_bias", is_optional=True),
        ROLES("activation", neutral=lambda inputs: lambda x: x * (x > 0)),
        ROLES.size("hidden_size", extent("x", -1)),
        ROLES.size("intermediate_size", extent("up_weight", 0)),
        ROLES.size("has_bias", lambda inputs: "up_bias" in inputs),
    ),
    probes=probes,
    mistakes=MISTAKES,
    conventions=(
        (
            Convention(),
            Convention(
                TEXTS["weights_in_out"],
                transposed("up_weight", "down_weight"),
                undo=transposed("up_weight", "down_weight"),
                role="up_weight",
            ),
            Convention(TEXTS["layers_as_dicts"], _layers, role="up_weight", named=r"^(?!held_).*(fc|layer|params)", without="up_bias"),
        ),
        wrapped(feed_forward_example("up")),
        THREE_AXES,
        tuple(Convention(name, steps={"activation": activation} if activation is not relu else {}) for name, activation in ACTIVATIONS),
    ),
    recoveries=RECOVERIES,
    related=("gated_feed_forward",),
)
