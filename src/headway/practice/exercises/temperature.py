"""Temperature: softmax(logits / temperature)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from headway import functions
from headway.practice.exercise import Inputs, Probe, Recovery, Step
from headway.practice.recipes import distributions
from headway.practice.recipes.distributions import of_rows, required, softmax
from headway.practice.recipes.measuring import Ask, Measured, log_slope, measured
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
    TEXTS.mistake("divides_probabilities", normalise=lambda scaled, logits, temperature: softmax(logits) / temperature),
    TEXTS.mistake("scales_probabilities", normalise=lambda scaled, logits, temperature: softmax(softmax(logits) / temperature)),
    TEXTS.mistake("softmax_missing", normalise=lambda scaled, logits, temperature: scaled / scaled.sum(-1, keepdims=True)),
    TEXTS.mistake(
        "powers_of_probabilities_not_normalised", normalise=lambda scaled, logits, temperature: softmax(logits) ** (1 / temperature)
    ),
    TEXTS.mistake(
        "exponential_not_normalised", normalise=lambda scaled, logits, temperature: numpy.exp(scaled - scaled.max(-1, keepdims=True))
    ),
    TEXTS.mistake("softmax_along_first_axis", normalise=lambda scaled, logits, temperature: softmax(scaled, 0)),
)


def slope(ask: Ask) -> Measured:
    """Measure the slope of the log-probabilities over the logits."""
    row, longer = numpy.array([0.4, -0.3, 1.1, 0.2]), numpy.array([0.1, 0.5, -0.6, 0.3, -0.2])
    examples = ({"logits": row, "temperature": 3.0}, {"logits": longer, "temperature": 0.7})

    def number(inputs: Inputs, answer: Any) -> float | None:
        is_distribution = isinstance(answer, numpy.ndarray) and answer.ndim and abs(answer.sum() - 1) <= 1e-4
        return log_slope(inputs["logits"], answer) if is_distribution else None

    return measured(ask, examples, number)


def temperature_recovery(texts: Texts, measure: Callable[[Ask], Measured] = slope) -> Recovery:
    """Return the recovery of the factor on the logits."""
    return texts.recovery(
        "temperature",
        "scale",
        measure=measure,
        wrong=lambda number_of: lambda logits, temperature: logits * number_of({"temperature": temperature}),
        sizes=lambda inputs: {"temperature": inputs["temperature"]},
        right=lambda inputs: 1 / inputs["temperature"],
        right_name="1/temperature",
    )


def probes() -> tuple[Probe, ...]:
    """A row and several rows, at high and low temperature, at 1 and at 0."""
    random = numpy.random.default_rng(19)
    row, rows = random.standard_normal(6) * 1.5, random.standard_normal((3, 5)) * 1.5
    return (
        Probe("hot", {"logits": row, "temperature": 2.0}),
        Probe("cold", {"logits": row, "temperature": 0.5}),
        Probe("at one", {"logits": row, "temperature": 1.0}),
        of_rows("rows", rows, temperature=1.7),
        of_rows("square", random.standard_normal((4, 4)), temperature=0.6),
        Probe("at zero", {"logits": row, "temperature": 0.0}, caution=TEXTS["zero"]),
    )


EXERCISE = distributions.SAMPLER(
    name="temperature",
    definition=definition,
    recipe=recipe,
    steps=STEPS,
    roles=(distributions.LOGITS, required(distributions.TEMPERATURE), distributions.RNG, distributions.AXIS),
    probes=probes,
    mistakes=MISTAKES,
    conventions=(
        distributions.GIVEN,
        (*distributions.ROWS, distributions.ALONG_FIRST, distributions.by_token(is_filter=False)),
        (*distributions.RETURNED[:2], distributions.TOKENS),
    ),
    recoveries=(temperature_recovery(TEXTS),),
)
