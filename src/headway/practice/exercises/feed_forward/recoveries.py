"""Numbers that are measured on a feed-forward."""

from __future__ import annotations

from typing import Any

import numpy

from headway.practice.exercise import Inputs
from headway.practice.outputs import Raised
from headway.practice.texts import Texts

TEXTS = Texts("feed_forward")


def drawn(random: Any, *shape: int, inner: int = 12) -> Inputs:
    """Return x and two weights, without biases."""
    size = shape[-1]
    return {
        "x": random.standard_normal(shape),
        "up_weight": random.standard_normal((inner, size)) / size**0.5,
        "down_weight": random.standard_normal((size, inner)) / inner**0.5,
    }


def factor_of(answer: Any, right: Any) -> float | None:
    """Return the constant factor between two arrays; None if there is none."""
    if isinstance(answer, Raised) or numpy.shape(answer) != right.shape or not numpy.isfinite(answer).all():
        return None
    factor = float((answer * right).sum() / (right * right).sum())
    return factor if numpy.abs(answer - factor * right).max() < 1e-5 * numpy.abs(right).max() else None


def _slope(ask: Any) -> list[tuple[Inputs, float]]:
    """Measure the slope of the activation below 0: the hidden state is -x, and it is the output."""
    measured = []
    for size in (0.5, 2.0):
        inputs = {
            "x": numpy.array([[size]]),
            "up_weight": -numpy.eye(4)[:, :1],
            "down_weight": numpy.eye(4)[:1],
            "up_bias": numpy.zeros(4),
            "down_bias": numpy.zeros(1),
        }
        answer = ask(inputs)
        if isinstance(answer, Raised) or numpy.shape(answer) != (1, 1):
            return []
        measured.append((inputs, -float(answer[0, 0]) / size))
    return measured if abs(measured[0][1] - measured[1][1]) < 1e-5 and min(abs(measured[0][1] - each) for each in (0, 1, -1)) > 1e-5 else []


def _scale(ask: Any) -> list[tuple[Inputs, float]]:
    """Measure the factor on the output with positive hidden states, which ReLU does not change."""
    random, measured = numpy.random.default_rng(3), []
    for size, inner in ((3, 12), (2, 8)):
        inputs = drawn(random, 4, size, inner=inner)
        inputs = {name: numpy.abs(value) + 8 if name == "x" else numpy.abs(value) for name, value in inputs.items()}
        inputs |= {"up_bias": numpy.zeros(inner), "down_bias": numpy.zeros(size)}
        factor = factor_of(ask(inputs), inputs["x"] @ inputs["up_weight"].T @ inputs["down_weight"].T)
        if factor is None:
            return []
        measured.append((inputs, factor))
    return measured


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
