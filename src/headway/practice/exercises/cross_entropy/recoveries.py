"""Numbers that are measured on a loss: its unit, and the constant added before the logarithm."""

from __future__ import annotations

from typing import Any

import numpy

from headway.practice.exercise import Convention, Inputs
from headway.practice.exercises.cross_entropy.steps import log_softmax, pick, softmax
from headway.practice.outputs import Raised
from headway.practice.texts import Texts

TEXTS = Texts("cross_entropy")


def _unit(ask: Any) -> list[tuple[Inputs, float]]:
    """Measure the factor on the loss, which is 1/ln 2 in bits."""
    measured = []
    for vocab_size in (4, 7):
        inputs = {
            "logits": numpy.linspace(-1, 1, 3 * vocab_size).reshape(3, vocab_size) ** 3,
            "targets": numpy.array([1, 0, vocab_size - 1]),
        }
        answer = ask(inputs)
        if isinstance(answer, Raised) or numpy.shape(answer) != () or not numpy.isfinite(answer):
            return []
        measured.append((inputs, float(answer) / float(-pick(log_softmax(inputs["logits"]), inputs["targets"]).mean())))
    is_named = min(abs(measured[0][1] - each) for each in (3, -1, 1 / 4)) < 1e-5
    return [] if is_named else measured


LARGEST_GUARD = 1.5e-7
"""Largest number in place of a probability of 0 that is a guard against log(0), not a change of the loss."""


def guards(ask: Any) -> list[Convention] | None:
    """Return the conventions of a loss that computes a softmax and guards its logarithm against 0; None for another loss."""
    floors = [number for _, number in _floor(ask) if 1e-16 < number < LARGEST_GUARD]
    if not floors:
        return None
    floor = float(f"{floors[0]:.2g}")
    says = TEXTS["guarded"].format(floor=f"{floor:g}")
    return [
        Convention(says, steps={"log_probs": lambda logits: numpy.log(softmax(logits) + floor)}),
        Convention(says, steps={"log_probs": lambda logits: numpy.log(numpy.maximum(softmax(logits), floor))}),
        Convention(says, steps={"log_probs": lambda logits: numpy.log(numpy.clip(softmax(logits), floor, 1 - floor))}),
    ]


def _floor(ask: Any) -> list[tuple[Inputs, float]]:
    """Measure the smallest probability that the loss takes the logarithm of."""
    inputs = {"logits": numpy.array([[0.0, -2000.0]] * 2), "targets": numpy.array([1, 1])}
    answer = ask(inputs)
    if isinstance(answer, Raised) or numpy.shape(answer) != () or not 1 < float(answer) < 700:
        return []
    return [(inputs, float(numpy.exp(-numpy.float64(answer))))]


RECOVERIES = (
    TEXTS.recovery("unit", "unit", measure=_unit, wrong=lambda number_of: lambda: number_of({}), right_name="nats"),
    TEXTS.recovery(
        "floor",
        "log_probs",
        measure=_floor,
        wrong=lambda number_of: lambda logits: numpy.log(softmax(logits) + number_of({})),
        right=0.0,
        right_name="nothing",
    ),
    TEXTS.recovery(
        "clipped_at",
        "log_probs",
        measure=_floor,
        wrong=lambda number_of: lambda logits: numpy.log(numpy.maximum(softmax(logits), number_of({}))),
        right=0.0,
        right_name="nothing",
    ),
)
