"""Temperature: softmax(logits / temperature)."""

from __future__ import annotations

from typing import Any

import numpy

from headway import functions
from headway.practice.exercise import Exercise, Inputs, Probe, Step
from headway.practice.recipes.distributions import (
    AXIS,
    BATCH,
    GIVEN,
    LOGITS,
    RETURNED,
    RNG,
    ROWS,
    ROWS_APART,
    TEMPERATURE,
    TOKENS,
    required,
    softmax,
)
from headway.practice.texts import Texts

TEXTS = Texts("temperature")


def recipe(steps: Any, logits: Any, temperature: Any = 1.0, **rest: Any) -> Any:
    """The definition as named steps: scale, normalise."""
    if temperature == 0:
        return largest(logits)
    return steps.normalise(steps.scale(logits, temperature), logits, temperature)


def definition(logits: Any, temperature: float = 1.0, **rest: Any) -> Any:
    """Return the probabilities of headway.functions' scaled logits; at temperature 0, all on the largest."""
    if temperature == 0:
        return largest(logits)
    return functions.softmax(functions.scale_by_temperature(logits, temperature))


def largest(logits: Any) -> Any:
    """Return a probability of 1 for the largest logit."""
    return (logits == logits.max(-1, keepdims=True)).astype(logits.dtype)


STEPS: dict[str, Step] = {
    "scale": lambda logits, temperature: logits / temperature,
    "normalise": lambda scaled, logits, temperature: softmax(scaled),
}


MISTAKES = (
    TEXTS.mistake("divides_probabilities", {"normalise": lambda scaled, logits, temperature: softmax(logits) / temperature}),
    TEXTS.mistake("scales_probabilities", {"normalise": lambda scaled, logits, temperature: softmax(softmax(logits) / temperature)}),
    TEXTS.mistake("softmax_missing", {"normalise": lambda scaled, logits, temperature: scaled / scaled.sum(-1, keepdims=True)}),
    TEXTS.mistake(
        "powers_of_probabilities_not_normalised", {"normalise": lambda scaled, logits, temperature: softmax(logits) ** (1 / temperature)}
    ),
    TEXTS.mistake(
        "exponential_not_normalised", {"normalise": lambda scaled, logits, temperature: numpy.exp(scaled - scaled.max(-1, keepdims=True))}
    ),
    TEXTS.mistake("softmax_along_first_axis", {"normalise": lambda scaled, logits, temperature: softmax(scaled, 0)}),
)


def _slope(ask: Any) -> list[tuple[Inputs, float]]:
    """Measure the slope of the log-probabilities over the logits."""
    measured = []
    for temperature, logits in ((3.0, numpy.array([0.4, -0.3, 1.1, 0.2])), (0.7, numpy.array([0.1, 0.5, -0.6, 0.3, -0.2]))):
        inputs = {"logits": logits, "temperature": temperature}
        answer = ask(inputs)
        if not isinstance(answer, numpy.ndarray) or answer.shape != logits.shape or not (answer > 0).all() or abs(answer.sum() - 1) > 1e-4:
            return []
        slope, rest, *_ = numpy.polyfit(logits, numpy.log(answer.astype(numpy.float64)), 1, full=True)
        if rest.size and rest[0] > 1e-6:
            return []
        measured.append((inputs, float(slope[0])))
    return measured


RECOVERIES = (
    TEXTS.recovery(
        "temperature",
        "scale",
        measure=_slope,
        wrong=lambda number_of: lambda logits, temperature: logits * number_of({"temperature": temperature}),
        sizes=lambda inputs: {"temperature": inputs["temperature"]},
        right=lambda inputs: 1 / inputs["temperature"],
        right_name="1/temperature",
    ),
)

ZERO = TEXTS["zero"]


def probes() -> tuple[Probe, ...]:
    """A row and several rows, at high and low temperature, at 1 and at 0."""
    random = numpy.random.default_rng(19)
    row, rows = random.standard_normal(6) * 1.5, random.standard_normal((3, 5)) * 1.5
    return (
        Probe("hot", {"logits": row, "temperature": 2.0}),
        Probe("cold", {"logits": row, "temperature": 0.5}),
        Probe("at one", {"logits": row, "temperature": 1.0}),
        Probe("rows", {"logits": rows, "temperature": 1.7}, BATCH, caution=ROWS_APART),
        Probe("square", {"logits": random.standard_normal((4, 4)), "temperature": 0.6}, BATCH, caution=ROWS_APART),
        Probe("at zero", {"logits": row, "temperature": 0.0}, caution=ZERO),
    )


EXERCISE = Exercise(
    name="temperature",
    definition=definition,
    recipe=recipe,
    steps=STEPS,
    roles=(LOGITS, required(TEMPERATURE), RNG, AXIS),
    may_write=True,
    probes=probes,
    mistakes=MISTAKES,
    conventions=(GIVEN, ROWS, (*RETURNED[:2], TOKENS)),
    recoveries=RECOVERIES,
    drawing="read",
    is_trained_through=False,
)
