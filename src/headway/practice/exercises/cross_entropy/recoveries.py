"""Numbers that are measured on a loss: its unit, and the constant added before the logarithm."""

from __future__ import annotations

from typing import Any

import numpy

from headway.practice.exercise import Convention, Inputs
from headway.practice.exercises.cross_entropy.steps import log_softmax, pick, softmax
from headway.practice.message import Message
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
    added = _added(ask)
    sums = [added] if added else []
    found = _floor(ask) or _floor(lambda inputs: ask({name: value[None] for name, value in inputs.items()}))
    floors = [float(f"{number:.2g}") for _, number in found if 1e-16 < number < LARGEST_GUARD][:1]
    return [
        *(_guarded(TEXTS["guarded_sum"], number, lambda logits: _log_softmax_with(logits, sums[0])) for number in sums),
        *(_guarded(TEXTS["guarded"], number, lambda logits: numpy.log(softmax(logits) + floors[0])) for number in floors),
        *(_guarded(TEXTS["guarded"], number, lambda logits: numpy.log(numpy.maximum(softmax(logits), floors[0]))) for number in floors),
        *(
            _guarded(TEXTS["guarded"], number, lambda logits: numpy.log(numpy.clip(softmax(logits), floors[0], 1 - floors[0])))
            for number in floors
        ),
    ] or None


def _guarded(says: Message, number: float, log_probs: Any) -> Convention:
    return Convention(says.format(floor=f"{number:g}"), steps={"log_probs": log_probs})


def _added(ask: Any) -> float | None:
    """Measure the small number that is added to the sum of the exponentials: the loss of a certain prediction."""
    answer = ask({"logits": numpy.array([[0.0, -2000.0]] * 2), "targets": numpy.array([0, 0])})
    is_guard = not isinstance(answer, Raised) and numpy.shape(answer) == () and 1e-16 < float(answer) < LARGEST_GUARD
    return float(f"{float(answer):.2g}") if is_guard else None


def _log_softmax_with(logits: Any, added: float) -> Any:
    shifted = logits - logits.max(-1, keepdims=True)
    return shifted - numpy.log(numpy.exp(shifted).sum(-1, keepdims=True) + added)


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
