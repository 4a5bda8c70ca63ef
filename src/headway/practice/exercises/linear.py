"""linear: x @ weightᵀ + bias."""

from __future__ import annotations

from typing import Any

import numpy

from headway import functions
from headway.practice.exercise import Convention, Exercise, Inputs, Probe, optional, unchanged
from headway.practice.recipes.conventions import NUM_AXES, ONE_VECTOR, PRODUCT_OF_LISTS, RETURNS
from headway.practice.recipes.encoding import changed
from headway.practice.recipes.measuring import Ask, Measured, factor_of, measured
from headway.practice.roles import Roles, extent
from headway.practice.texts import Texts

TEXTS = Texts("linear")
ROLES = Roles("linear")


def recipe(steps: Any, x: Any, weight: Any, bias: Any = None) -> Any:
    """The definition as named steps: input, scale, product, bias_scale, add (the bias), finish."""
    product = steps.scale({"x": x, "weight": weight}) * steps.product(steps.input(x, bias), weight)
    return steps.finish(product if bias is None else steps.add(product, steps.bias_scale({"x": x, "weight": weight}) * bias))


STEPS = {
    "scale": lambda inputs: 1.0,
    "product": lambda x, weight: x @ weight.T,
    "bias_scale": lambda inputs: 1.0,
    "add": lambda product, bias: product + bias,
}

ROWS = TEXTS["rows"]

MISTAKES = (
    TEXTS.mistake("bias_missing", add=unchanged),
    TEXTS.mistake("bias_per_row", add=lambda product, bias: product + bias[:, None]),
    TEXTS.mistake("bias_subtracted", add=lambda product, bias: product - bias),
    TEXTS.mistake("bias_multiplied", add=lambda product, bias: product * bias),
    TEXTS.mistake(  # of a class, whose bias is zero where there is none
        "bias_multiplied_held",
        input=lambda x, bias: 0 * x if bias is None else x,
        add=lambda product, bias: product * bias,
        said_as="bias_multiplied",
        needs="bias",
    ),
    TEXTS.mistake("bias_summed", add=lambda product, bias: product + bias.sum()),
    TEXTS.mistake("first_bias_for_all", add=lambda product, bias: product + bias[0]),
    TEXTS.mistake("bias_before_product", input=lambda x, bias: x if bias is None else x + bias, add=unchanged),
    TEXTS.mistake("weight_reshaped", product=lambda x, weight: x @ weight.reshape(weight.shape[::-1])),
    TEXTS.mistake("elementwise_product", product=lambda x, weight: x * weight),
    TEXTS.mistake("answer_transposed", product=lambda x, weight: weight @ x.T),
    TEXTS.mistake("input_transposed", product=lambda x, weight: x.T @ weight.T),
    TEXTS.mistake("summed_over_rows", product=lambda x, weight: (x @ weight.T).sum(tuple(range(x.ndim - 1)))),
    TEXTS.mistake("relu_applied", finish=lambda answer: numpy.maximum(answer, 0)),
    TEXTS.mistake("sigmoid_applied", finish=lambda answer: 0.5 + 0.5 * numpy.tanh(0.5 * answer)),
    TEXTS.mistake("tanh_applied", finish=numpy.tanh),
    TEXTS.mistake("whole_numbers_returned", finish=numpy.trunc),
)


def _operands(random: Any, rows: int, inner: int, outer: int) -> Inputs:
    return {"x": random.standard_normal((rows, inner)), "weight": random.standard_normal((outer, inner))}


SIZES = ((3, 5, 4), (2, 7, 6))
"""Rows, inner and outer sizes of the examples on which factors are measured."""


def _scale(ask: Ask) -> Measured:
    """Measure the factor on the product: the output for a bias of zeros."""
    random = numpy.random.default_rng(2)
    return measured(
        lambda inputs: ask(inputs | {"bias": numpy.zeros(len(inputs["weight"]))}),
        [_operands(random, *sizes) for sizes in SIZES],
        lambda inputs, answer: factor_of(answer, inputs["x"] @ inputs["weight"].T),
    )


def _bias_scale(ask: Ask) -> Measured:
    """Measure the factor on the bias: the output for x = 0. Factors with a named mistake are left out."""
    random = numpy.random.default_rng(2)
    examples = [_operands(random, *sizes) | {"bias": random.standard_normal(sizes[-1])} for sizes in SIZES]
    found = measured(
        lambda inputs: ask(inputs | {"x": 0 * inputs["x"]}),
        examples,
        lambda inputs, answer: factor_of(answer, numpy.broadcast_to(inputs["bias"], (len(inputs["x"]), len(inputs["bias"])))),
    )
    return [] if any(min(abs(factor), abs(factor + 1)) < 1e-5 for _, factor in found) else found


def _sizes(inputs: Inputs) -> dict[str, float]:
    return {
        "in_features": float(inputs["weight"].shape[1]),
        "out_features": float(inputs["weight"].shape[0]),
        "rows": float(inputs["x"].shape[0]),
    }


RECOVERIES = (
    TEXTS.recovery("scale", "scale", measure=_scale, wrong=lambda number_of: number_of, sizes=_sizes),
    TEXTS.recovery("bias_scale", "bias_scale", measure=_bias_scale, wrong=lambda number_of: number_of, sizes=_sizes),
)

BATCH = TEXTS["batch"]
VECTOR = TEXTS["vector"]


def probes() -> tuple[Probe, ...]:
    """Inputs without and with a bias: distinct sizes, as many rows as outputs, all sizes equal; a vector, three axes, x = 0."""
    random = numpy.random.default_rng(6)

    def operands(outer: int, *shape: int) -> Inputs:
        return {"x": random.standard_normal(shape), "weight": random.standard_normal((outer, shape[-1]))}

    def biased(outer: int, *shape: int) -> Inputs:
        return operands(outer, *shape) | {"bias": random.standard_normal(outer) * 2}

    return (
        Probe("no bias", operands(4, 3, 5)),
        Probe("no bias, square", operands(4, 4, 4)),
        Probe("no bias, vector", operands(4, 5), VECTOR),
        Probe("no bias, three axes", operands(4, 2, 3, 5), BATCH),
        Probe("bias", biased(4, 3, 5)),
        Probe("bias, zeros", biased(4, 3, 5) | {"x": numpy.zeros((3, 5))}),
        Probe("bias, as many rows as outputs", biased(4, 4, 5)),
        Probe("bias, square", biased(4, 4, 4)),
        Probe("bias, vector", biased(4, 5), VECTOR),
        Probe("bias, three axes", biased(4, 2, 3, 5), BATCH),
    )


TURNED = changed(weight=lambda weight: numpy.ascontiguousarray(weight.T))


def _columns(inputs: Inputs) -> Inputs | None:
    if inputs["x"].ndim != 2:
        return None
    bias = {"bias": inputs["bias"][:, None]} if inputs.get("bias") is not None else {}
    return inputs | {"x": numpy.ascontiguousarray(inputs["x"].T)} | bias


OF_FUNCTION = r"^(?!weight__)"
"""Pattern of a parameter that takes the weight: an array that a class holds shows its form by its shape."""

CLASS = r"\A\s*(@.*\n)*class [\s\S]*\b"
"""Pattern of the source of a class, up to a word in it."""


EXERCISE = Exercise(
    name="linear",
    definition=functions.linear,
    recipe=recipe,
    steps=STEPS,
    roles=(
        ROLES("x"),
        ROLES.weight("weight"),
        ROLES.weight("bias", is_optional=True),
        ROLES.size("in_features", extent("x", -1)),
        ROLES.size("out_features", extent("weight", 0)),
        ROLES("nonlin", neutral=False),
    ),
    probes=probes,
    mistakes=MISTAKES,
    conventions=(
        (*NUM_AXES, ONE_VECTOR, PRODUCT_OF_LISTS),
        RETURNS,
        optional(
            Convention(TEXTS["weight_in_out"], TURNED, undo=TURNED, role="weight", named=OF_FUNCTION),
            Convention(
                TEXTS["columns"],
                _columns,
                lambda answer, inputs: answer.T if isinstance(answer, numpy.ndarray) and answer.ndim == 2 else answer,
                role="weight",
            ),
        ),
        optional(
            Convention(
                TEXTS["with_relu"],
                steps={"finish": lambda answer: numpy.maximum(answer, 0)},
                called=r"dense_?layer|layer_?forward",
                source="relu",
            ),
            Convention(TEXTS["with_log_softmax"], steps={"finish": functions.log_softmax}, source=rf"{CLASS}log_?softmax\("),
            Convention(
                TEXTS["with_softmax"],
                steps={"finish": functions.softmax},
                called=r"generator|classifier|head|output|final|vocab",
                source=rf"{CLASS}softmax\(",
            ),
        ),
    ),
    recoveries=RECOVERIES,
)
