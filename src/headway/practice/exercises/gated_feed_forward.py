"""gated_feed_forward: (activation(x @ gateᵀ) · (x @ upᵀ)) @ downᵀ, with SiLU the SwiGLU of Llama."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from headway import functions
from headway.functions import GatedFeedForwardWeights, LinearWeights
from headway.practice.exercise import QUIET, Convention, Exercise, Inputs, Probe, optional, unchanged
from headway.practice.exercises.feed_forward import BATCH, VECTOR, add, transposed
from headway.practice.recipes.activations import gelu, gelu_tanh, quick_gelu, relu, sigmoid, silu, softmax
from headway.practice.recipes.conventions import NUM_AXES, RETURNS
from headway.practice.recipes.measuring import Ask, Measured, factor_of, measured
from headway.practice.recipes.wrapping import ADDED, feed_forward_example, wrapped
from headway.practice.roles import Roles, extent
from headway.practice.texts import Texts

TEXTS = Texts("gated_feed_forward")
ROLES = Roles("gated_feed_forward")


def recipe(
    steps: Any,
    x: Any,
    gate_weight: Any,
    up_weight: Any,
    down_weight: Any,
    gate_bias: Any = None,
    up_bias: Any = None,
    down_bias: Any = None,
) -> Any:
    """The definition as named steps: weights, gate, up, bend_gate and bend_up (activations), join (product), down, finish."""
    outside, x = x, steps.enter(x)
    gate_weight, up_weight, down_weight = steps.weights(gate_weight, up_weight, down_weight)
    gate, up = add(steps.gate(x, gate_weight), gate_bias), add(steps.up(x, up_weight), up_bias)
    hidden = steps.join(steps.bend_gate(gate, steps.activation), steps.bend_up(up, steps.activation))
    return steps.wrap(steps.finish(steps.down(hidden, down_weight, down_bias), x, steps.activation), outside)


def definition(
    x: Any, gate_weight: Any, up_weight: Any, down_weight: Any, gate_bias: Any = None, up_bias: Any = None, down_bias: Any = None
) -> Any:
    """Call headway.functions' gated feed-forward with the weights as a tree."""
    pairs = ((gate_weight, gate_bias), (up_weight, up_bias), (down_weight, down_bias))
    return functions.gated_feed_forward(x, GatedFeedForwardWeights(*(LinearWeights(*pair) for pair in pairs)))


STEPS = {
    "weights": lambda gate, up, down: (gate, up, down),
    "gate": lambda x, weight: x @ weight.T,
    "up": lambda x, weight: x @ weight.T,
    "activation": silu,
    "bend_gate": lambda gate, activation: activation(gate),
    "join": lambda gate, up: gate * up,
    "down": lambda hidden, weight, bias: add(hidden @ weight.T, bias),
}


def _product_with_reshaped(x: Any, weight: Any) -> Any:
    return x @ weight.reshape(weight.shape[::-1])


BENT_UP: dict[str, Any] = {"bend_gate": unchanged, "bend_up": lambda up, activation: activation(up)}

WITHOUT_UP = r"(?i)\A(?!(.|\n)*(\bup|_up\b|\bw_?3\b|value))(.|\n)*gate"
"""Source that calls one of the two layers a gate and the other one neither `up` nor `w3`: either may have the activation."""

UNNAMED = r"\A(?=(.|\n)*\bclass )(?!(.|\n)*(?i:gate|gating|\bup|_up\b|value|\w3\b|\bv\b))"
"""Source of a class that names neither layer and has no `w1, w2, w3`, as Qwen's `w1, w2, c_proj`: either may have the activation."""

SAME_WIDTHS, OTHER_WIDTHS = r"\w2 *= *[\w.]+\((?P=wide), *(?P=inner)\b", r"\w3 *= *[\w.]+\((?P=inner), *(?P=wide)\b"
THIRD_DOWN = (
    r"\A(?=(.|\n)*\bclass )(?!(.|\n)*(?i:gate|gating|\bup|_up\b|value|\bv\b))"
    rf"(.|\n)*\w1 *= *[\w.]+\((?P<wide>\w[\w.]*), *(?P<inner>\w[\w.]*)(.|\n)*{SAME_WIDTHS}(.|\n)*{OTHER_WIDTHS}"
)
"""Source of a class that numbers its layers, the third being the last: either of `w1, w2` may have the activation, unlike Llama's `w1, w3`."""

MISTAKES = (
    TEXTS.mistake("activation_on_up", **BENT_UP),
    TEXTS.mistake("activation_missing", bend_gate=unchanged),
    TEXTS.mistake("activation_on_both", bend_up=lambda up, activation: activation(up)),
    TEXTS.mistake("activation_on_product", bend_gate=unchanged, join=lambda gate, up: silu(gate * up)),
    TEXTS.mistake("activation_on_answer", bend_gate=unchanged, finish=lambda answer, x, activation: activation(answer)),
    TEXTS.mistake("up_not_used", join=unchanged),
    TEXTS.mistake("gate_not_used", join=lambda gate, up: up),
    TEXTS.mistake("gate_used_twice", weights=lambda gate, up, down: (gate, gate, down)),
    TEXTS.mistake("up_used_twice", weights=lambda gate, up, down: (up, up, down)),
    TEXTS.mistake("branches_added", join=lambda gate, up: gate + up),
    TEXTS.mistake("first_maps_alone", down=unchanged),
    TEXTS.mistake("residual_added", finish=lambda answer, x, activation: answer + x),
    TEXTS.mistake("sigmoid_for_silu", activation=sigmoid),
    TEXTS.mistake("exponent_sign", activation=lambda x: x * sigmoid(-x)),
    TEXTS.mistake("tanh_for_silu", activation=numpy.tanh),
    TEXTS.mistake("softmax_for_silu", activation=softmax),
    TEXTS.mistake("relu_for_silu", activation=relu),
    TEXTS.mistake("gelu_for_silu", activation=gelu),
    TEXTS.mistake("gelu_tanh_for_silu", activation=gelu_tanh),
    TEXTS.mistake("quick_gelu_for_silu", activation=quick_gelu),
    TEXTS.mistake("gate_reshaped", gate=_product_with_reshaped),
    TEXTS.mistake(
        "all_reshaped",
        gate=_product_with_reshaped,
        up=_product_with_reshaped,
        down=lambda hidden, weight, bias: add(_product_with_reshaped(hidden, weight), bias),
    ),
    TEXTS.mistake(
        "tokens_summed",
        down=lambda hidden, weight, bias: add(
            hidden @ weight.T if hidden.ndim < 2 else numpy.broadcast_to(hidden.sum(-2, keepdims=True), hidden.shape) @ weight.T, bias
        ),
    ),
)


INNER = 6
"""Intermediate size for a hidden size of 3: no larger than that of classes that compute their own, such as 8/3 of the hidden size."""


def _drawn(random: Any, *shape: int, inner: int = INNER) -> Inputs:
    size = shape[-1]
    return {
        "x": random.standard_normal(shape),
        "gate_weight": random.standard_normal((inner, size)) * 1.5 / size**0.5,
        "up_weight": random.standard_normal((inner, size)) / size**0.5,
        "down_weight": random.standard_normal((size, inner)) / inner**0.5,
    }


def _scale(ask: Ask) -> Measured:
    """Measure the factor on the output with large positive gates, for which SiLU is nearly the identity."""
    random = numpy.random.default_rng(3)
    examples = []
    for size, inner in ((3, 12), (2, 8)):
        positive = {name: numpy.abs(value) + (6 if name == "x" else 1) for name, value in _drawn(random, 4, size, inner=inner).items()}
        biases = {"gate_bias": numpy.zeros(inner), "up_bias": numpy.zeros(inner), "down_bias": numpy.zeros(size)}
        examples.append(positive | biases)
    return measured(ask, examples, lambda inputs, answer: factor_of(answer, definition(**inputs)))


RECOVERIES = (
    TEXTS.recovery(
        "scale",
        "finish",
        measure=_scale,
        wrong=lambda number_of: lambda answer, x, activation: number_of({"x": x}) * answer,
        sizes=lambda inputs: {"hidden_size": float(inputs["x"].shape[-1])},
    ),
)


def probes() -> tuple[Probe, ...]:
    """Rows, a vector, three axes, an intermediate size equal to the hidden size; with biases for functions that take them."""
    random = numpy.random.default_rng(13)
    biased = _drawn(random, 5, 3) | {
        "gate_bias": random.standard_normal(INNER),
        "up_bias": random.standard_normal(INNER),
        "down_bias": random.standard_normal(3),
    }
    return (
        Probe("rows", _drawn(random, 5, 3)),
        Probe("large numbers", _drawn(random, 5, 3) | {"x": random.standard_normal((5, 3)) * 4}),
        Probe("vector", _drawn(random, 3), VECTOR),
        Probe("three axes", _drawn(random, 2, 5, 3), BATCH),
        Probe("same intermediate size", _drawn(random, 5, 4, inner=4), QUIET),
        Probe("rows with biases", biased),
    )


def _any_silu(x: Any) -> Any:
    """Compute SiLU in any array library, for functions that take the activation as an argument."""
    return functions.silu(x)


def _second_and_third(inputs: Inputs) -> Inputs:
    """Swap up and down, for functions that take gate, up, down in this order."""
    return inputs | {"up_weight": inputs["down_weight"], "down_weight": inputs["up_weight"]}


def _projections(inputs: Inputs) -> tuple[Any, Any]:
    """Return the gate and the linear projection of x."""
    gate, up = (add(inputs["x"] @ inputs[f"{name}_weight"].T, inputs.get(f"{name}_bias")) for name in ("gate", "up"))
    return gate, up


def _halves(*, is_gate_first: bool) -> Callable[[Inputs], Inputs]:
    """Return an encoding of x as both projections of it, next to each other."""
    return lambda inputs: {"x": numpy.concatenate(_projections(inputs)[:: 1 if is_gate_first else -1], -1)}


def _by_turns(inputs: Inputs) -> Inputs:
    """Return x as both projections of it, whose elements alternate."""
    gate, up = _projections(inputs)
    return {"x": numpy.stack([gate, up], -1).reshape(*gate.shape[:-1], -1)}


def _projected(answer: Any, inputs: Inputs) -> Any:
    """Return the last projection of the product of the halves."""
    return add(answer @ inputs["down_weight"].T, inputs.get("down_bias"))


LIMIT = 7.0
"""Bound of the projections in gpt-oss, which adds 1 to the linear one."""

SPLITS = r"chunk|split|// ?2|\[\.\.\."
HALVES = (
    Convention(TEXTS["halves_gate_first"], _halves(is_gate_first=True), _projected, without="gate_weight", used_source=SPLITS),
    Convention(TEXTS["halves_gate_second"], _halves(is_gate_first=False), _projected, without="gate_weight", used_source=SPLITS),
    Convention(
        TEXTS["clamped_by_turns"],
        _by_turns,
        _projected,
        without="gate_weight",
        steps={
            "bend_gate": lambda gate, activation: quick_gelu(numpy.minimum(gate, LIMIT)),
            "bend_up": lambda up, activation: numpy.clip(up, -LIMIT, LIMIT) + 1,
        },
        is_whole=True,
        source=r"::2\](.|\n)*(clamp|clip|minimum)(.|\n)*\+ *1\b",
    ),
)
"""Conventions of a function that only applies the activation: the projections are outside of it."""

SAYS_NO_SILU = r"^(?!.*swi)(?!gated_feed_forward$)"
"""Names that leave the activation open: SwiGLU implies SiLU, and so does our own function name."""

ACTIVATIONS = optional(
    Convention(TEXTS["activation_gelu"], called=SAYS_NO_SILU, steps={"activation": gelu}),
    Convention(TEXTS["activation_gelu_tanh"], called=SAYS_NO_SILU, steps={"activation": gelu_tanh}),
    Convention(TEXTS["activation_relu"], called=r"re_?glu", steps={"activation": relu}),
    Convention(TEXTS["activation_sigmoid"], called=r"(^|_)glu", steps={"activation": sigmoid}),
    Convention(TEXTS["activation_sigmoid"], source=r"\A(?!(.|\n)*(swi|silu))(.|\n)*\bglu\b", steps={"activation": sigmoid}),
    Convention(TEXTS["no_activation"], called=r"bilinear", steps={"activation": unchanged}),
)

EXERCISE = Exercise(
    name="gated_feed_forward",
    definition=definition,
    recipe=recipe,
    steps=STEPS,
    roles=(
        ROLES("x"),
        *ROLES.weights("gate_weight", "up_weight", "down_weight"),
        *ROLES.weights("gate_bias", "up_bias", "down_bias", is_optional=True),
        ROLES("activation", neutral=lambda inputs: _any_silu),
        ROLES.size("hidden_size", extent("x", -1)),
        ROLES.size("intermediate_size", extent("gate_weight", 0)),
        ROLES.size("output_size", extent("down_weight", 0)),
    ),
    probes=probes,
    mistakes=MISTAKES,
    conventions=(
        optional(Convention(TEXTS["weights_in_out"], transposed("gate_weight", "up_weight", "down_weight"), role="gate_weight")),
        optional(*HALVES),
        optional(Convention(TEXTS["order_gate_up_down"], _second_and_third, role="down_weight", named=r"2")),
        (*wrapped(feed_forward_example("gate", "up")), ADDED),
        NUM_AXES,
        RETURNS,
        ACTIVATIONS,
        optional(Convention(TEXTS["gate_is_linear"], steps=BENT_UP, source=f"{WITHOUT_UP}|{UNNAMED}|{THIRD_DOWN}")),
    ),
    recoveries=RECOVERIES,
    fused=(("gate_weight", "up_weight"), ("gate_bias", "up_bias")),
    related=("feed_forward",),
)
