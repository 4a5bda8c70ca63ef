"""feed_forward: activation(x @ upᵀ + bias) @ downᵀ + bias."""

from __future__ import annotations

from typing import Any

import numpy

from headway import functions
from headway.functions import FeedForwardWeights, LinearWeights
from headway.practice.exercise import QUIET, Convention, Exercise, Inputs, Probe, optional, unchanged
from headway.practice.recipes.activations import gelu, gelu_tanh, normed, quick_gelu, relu, sigmoid, silu, softmax
from headway.practice.recipes.conventions import NUM_AXES, RETURNS
from headway.practice.recipes.measuring import Ask, Measured, constant, factor_of, measured
from headway.practice.recipes.wrapping import ADDED, feed_forward_example, wrapped
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


def add(product: Any, bias: Any) -> Any:
    """Add the bias if there is one."""
    return product if bias is None else product + bias


def _multiply(product: Any, bias: Any) -> Any:
    return product if bias is None else product * bias


def _multiply_held(product: Any, bias: Any) -> Any:
    """Multiply by the bias of a class, which is zero where there is none."""
    return 0 * product if bias is None else product * bias


STEPS = {
    "weights": lambda up, down: (up, down),
    "up": lambda x, up: x @ up.T,
    "up_bias": add,
    "activation": relu,
    "bend": lambda hidden, activation: activation(hidden),
    "down": lambda hidden, down: hidden @ down.T,
    "down_bias": add,
}


MISTAKES = (
    TEXTS.mistake("activation_missing", bend=unchanged),
    TEXTS.mistake("activation_after_second", bend=unchanged, finish=lambda answer, x, activation: activation(answer)),
    TEXTS.mistake("activation_after_both", finish=lambda answer, x, activation: activation(answer)),
    TEXTS.mistake("activation_before_first", before=lambda x, activation: activation(x), bend=unchanged),
    TEXTS.mistake("up_bias_missing", up_bias=unchanged),
    TEXTS.mistake("down_bias_missing", down_bias=unchanged),
    TEXTS.mistake("biases_missing", up_bias=unchanged, down_bias=unchanged),
    TEXTS.mistake("up_bias_after_activation", up_bias=unchanged, middle=add),
    TEXTS.mistake("biases_multiplied", up_bias=_multiply, down_bias=_multiply),
    TEXTS.mistake("biases_multiplied_held", up_bias=_multiply_held, down_bias=_multiply_held, said_as="biases_multiplied", needs="up_bias"),
    TEXTS.mistake("residual_added", finish=lambda answer, x, activation: answer + x),
    TEXTS.mistake("normalised_first", before=lambda x, activation: normed(x)),
    TEXTS.mistake("first_map_alone", down=unchanged, down_bias=unchanged),
    TEXTS.mistake("second_map_is_first_transposed", weights=lambda up, down: (up, up.T)),
    TEXTS.mistake("weights_exchanged", weights=lambda up, down: (down, up)),
    TEXTS.mistake("up_reshaped", up=lambda x, up: x @ up.reshape(up.shape[::-1])),
    TEXTS.mistake("down_reshaped", down=lambda hidden, down: hidden @ down.reshape(down.shape[::-1])),
    TEXTS.mistake(
        "both_reshaped", up=lambda x, up: x @ up.reshape(up.shape[::-1]), down=lambda hidden, down: hidden @ down.reshape(down.shape[::-1])
    ),
    TEXTS.mistake("sigmoid_for_activation", activation=sigmoid),
    TEXTS.mistake("tanh_for_activation", activation=numpy.tanh),
    TEXTS.mistake("softmax_for_activation", activation=softmax),
    TEXTS.mistake("absolute_value_for_activation", activation=numpy.abs),
    TEXTS.mistake("minimum_for_maximum", activation=lambda x: numpy.minimum(x, 0)),
    TEXTS.mistake(
        "tokens_summed",
        middle=lambda hidden, bias: hidden if hidden.ndim < 2 else numpy.broadcast_to(hidden.sum(-2, keepdims=True), hidden.shape),
    ),
    TEXTS.mistake(
        "tokens_averaged",
        middle=lambda hidden, bias: hidden if hidden.ndim < 2 else numpy.broadcast_to(hidden.mean(-2, keepdims=True), hidden.shape),
    ),
)


def drawn(random: Any, *shape: int, inner: int = 6) -> Inputs:
    """Return x and two weights, without biases: an inner width of twice the width, which classes with a larger factor have room for."""
    size = shape[-1]
    return {
        "x": random.standard_normal(shape),
        "up_weight": random.standard_normal((inner, size)) / size**0.5,
        "down_weight": random.standard_normal((size, inner)) / inner**0.5,
    }


def _slope(ask: Ask) -> Measured:
    """Measure the slope of the activation below 0: the hidden state is -x, and it is the output."""
    weights = {"up_weight": -numpy.eye(4)[:, :1], "down_weight": numpy.eye(4)[:1], "up_bias": numpy.zeros(4), "down_bias": numpy.zeros(1)}

    def number(inputs: Inputs, answer: Any) -> float | None:
        return -float(answer[0, 0]) / float(inputs["x"][0, 0]) if numpy.shape(answer) == (1, 1) else None

    found = measured(ask, [weights | {"x": numpy.array([[size]])} for size in (0.5, 2.0)], number)
    return [] if not found or constant([slope for _, slope in found], 0, 1, -1) is None else found


def _scale(ask: Ask) -> Measured:
    """Measure the factor on the output with positive hidden states, which ReLU does not change."""
    random = numpy.random.default_rng(3)
    examples = []
    for size, inner in ((3, 12), (2, 8)):
        positive = {name: numpy.abs(value) for name, value in drawn(random, 4, size, inner=inner).items()}
        examples.append(positive | {"x": positive["x"] + 8, "up_bias": numpy.zeros(inner), "down_bias": numpy.zeros(size)})
    return measured(ask, examples, lambda inputs, answer: factor_of(answer, inputs["x"] @ inputs["up_weight"].T @ inputs["down_weight"].T))


RECOVERIES = (
    TEXTS.recovery(
        "slope_below_zero",
        "activation",
        measure=_slope,
        wrong=lambda number_of: lambda x: numpy.where(x > 0, x, number_of({}) * x),
        right=0.0,
        right_name="ReLU",
    ),
    TEXTS.recovery(
        "scale",
        "finish",
        measure=_scale,
        wrong=lambda number_of: lambda answer, x, activation: number_of({"x": x}) * answer,
        sizes=lambda inputs: {
            "hidden_size": float(inputs["x"].shape[-1]),
            "seq_len": float(inputs["x"].shape[-2]) if inputs["x"].ndim > 1 else 1.0,
        },
    ),
)


VECTOR = TEXTS["vector"]
BATCH = TEXTS["batch"]


def probes() -> tuple[Probe, ...]:
    """Inputs without and with biases: rows, a vector, three axes, an intermediate size equal to the hidden size, x = 0."""
    random = numpy.random.default_rng(12)

    def biased(*shape: int, inner: int = 6) -> Inputs:
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


def _of_one_width(inputs: Inputs) -> Inputs | None:
    """Return the inputs with the outer width as large as the inner one, filled with copies, which a norm leaves alike, or else zeros; None if it is larger."""
    inner, outer = inputs["up_weight"].shape
    if outer > inner:
        return None

    def widened(name: str, axis: int, *, is_copied: bool = True) -> Any:
        values = inputs[name]
        if is_copied and inner % outer == 0:
            return numpy.concatenate([values] * (inner // outer), axis)
        room = [(0, inner - outer) if each == axis % values.ndim else (0, 0) for each in range(values.ndim)]
        return numpy.pad(values, room)

    found = inputs | {
        "x": widened("x", -1),
        "up_weight": widened("up_weight", -1, is_copied=False),
        "down_weight": widened("down_weight", 0),
    }
    found |= {"down_bias": widened("down_bias", 0)} if inputs.get("down_bias") is not None else {}
    return found | {name: inner for name in ("hidden_size", "output_size") if name in inputs}


def _narrow(answer: Any, inputs: Inputs) -> Any:
    """Return an output without the room that the outer width has been given."""
    if isinstance(answer, tuple) and answer:
        return (_narrow(answer[0], inputs), *answer[1:])
    return answer[..., : inputs["x"].shape[-1]] if numpy.ndim(answer) else answer


UNSCALED = r"\A(?![\s\S]*(\b[2-8](\.0)? *\*|\* *[2-8]\b|mult|expan|ratio|factor))"

OF_ONE_WIDTH = (
    rf"{UNSCALED}[\s\S]*(\b(Linear|Conv1d|Dense)\( *(?:\w+\.)*(?P<width>[^\W\d]\w*), *(?:1 *\* *)?(?:\w+\.)*(?P=width)\b"
    r"|\bDense\((?:features *= *)?(?:\w+\.)*(?P<features>\w+)\b[\s\S]*\bDense\((?:features *= *)?(?:\w+\.)*(?P=features)\b)"
)
"""Pattern of the source of a feed-forward whose layers have one width, inside and outside."""

OF_ONE_WIDTH_NORMED = rf"(?=[\s\S]*(norm|\bln\b)){OF_ONE_WIDTH}"
"""Pattern of the source of one that has a norm: with a narrower x, filled with zeros, its outputs would be others."""


def _square(up: Any, down: Any) -> tuple[Any, Any]:
    """Return the weights of as many hidden units as x has numbers; both as they are if there are fewer."""
    return up[: up.shape[1]], down[:, : up.shape[1]]


def _squared(inputs: Inputs) -> Inputs | None:
    """Return the inputs with as many hidden units as x has numbers; None if there are fewer."""
    (inner, outer), bias = inputs["up_weight"].shape, inputs.get("up_bias")
    up, down = _square(inputs["up_weight"], inputs["down_weight"])
    biases = {} if bias is None else {"up_bias": bias[:outer]}
    return None if inner < outer else inputs | {"up_weight": up, "down_weight": down} | biases


ONE_WIDTH_NORMED = Convention(
    TEXTS["of_one_width"],
    _squared,
    source=OF_ONE_WIDTH_NORMED,
    without="intermediate_size",
    steps={"weights": _square, "up_bias": lambda product, bias: add(product, None if bias is None else bias[: product.shape[-1]])},
)

ENDS_HIDDEN = (
    rf"{UNSCALED}(?![\s\S]*\bout\w*(dim|size|features|channels|width))[\s\S]*\bLinear\( *(?:\w+\.)*in(put)?_\w+, *(?:\w+\.)*(?P<width>\w+)\b"
    r"[\s\S]*\bLinear\( *(?:\w+\.)*(?P=width), *(?:\w+\.)*(?P=width)\b"
)
"""Pattern of the source of a feed-forward from an input of any width to an output as wide as the hidden layer."""


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


def _expansion(inputs: Inputs) -> int | None:
    """Return the inner width as a multiple of the outer one; None if it is none."""
    inner, outer = inputs["up_weight"].shape
    return None if inner % outer else int(inner // outer)


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
        ROLES.size("output_size", extent("down_weight", 0)),
        ROLES.size("expansion", _expansion),
        ROLES.size("has_bias", lambda inputs: "up_bias" in inputs),
    ),
    probes=probes,
    mistakes=MISTAKES,
    conventions=(
        optional(
            Convention(
                TEXTS["weights_in_out"],
                transposed("up_weight", "down_weight"),
                undo=transposed("up_weight", "down_weight"),
                role="up_weight",
            ),
            Convention(TEXTS["of_one_width"], _of_one_width, _narrow, source=OF_ONE_WIDTH, without="intermediate_size"),
            ONE_WIDTH_NORMED,
            Convention(TEXTS["ends_hidden"], _of_one_width, _narrow, source=ENDS_HIDDEN),
            Convention(TEXTS["layers_as_dicts"], _layers, role="up_weight", named=r"^(?!held_).*(fc|layer|params)", without="up_bias"),
        ),
        (*wrapped(feed_forward_example("up"), feed_forward_example("up", inner=3)), ADDED),
        NUM_AXES,
        RETURNS,
        tuple(Convention(name, steps={"activation": activation} if activation is not relu else {}) for name, activation in ACTIVATIONS),
    ),
    recoveries=RECOVERIES,
    related=("gated_feed_forward",),
)
