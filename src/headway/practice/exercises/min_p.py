"""Min-p: keep the tokens that are at least min_p times as likely as the most likely one."""

from __future__ import annotations

from typing import Any

import numpy

from headway import functions
from headway.practice.exercise import Probe, Step
from headway.practice.recipes import distributions
from headway.practice.recipes.distributions import kept, required, softmax
from headway.practice.texts import Texts

TEXTS = Texts("min_p")


def recipe(steps: Any, logits: Any, min_p: float, temperature: float = 1.0, **rest: Any) -> Any:
    """The definition as named steps: scale, probabilities, threshold, keep, finish."""
    scaled = steps.scale(logits, temperature)
    probabilities = steps.probabilities(scaled)
    return steps.finish(steps.keep(probabilities, steps.threshold(probabilities, min_p)), scaled)


def definition(logits: Any, min_p: float, temperature: float = 1.0, **rest: Any) -> Any:
    """Return the probabilities of headway.functions' kept logits."""
    return functions.softmax(functions.keep_min_p(functions.scale_by_temperature(logits, temperature), min_p))


STEPS: dict[str, Step] = {
    "scale": lambda logits, temperature: logits / temperature,
    "probabilities": softmax,
    "threshold": lambda probabilities, min_p: min_p * probabilities.max(-1, keepdims=True),
    "keep": lambda probabilities, threshold: probabilities >= threshold,
    "finish": lambda is_kept, logits: kept(logits, is_kept),
}

MISTAKES = (
    TEXTS.mistake("not_relative", {"threshold": lambda probabilities, min_p: min_p}),
    TEXTS.mistake("share_of_the_batch", {"threshold": lambda probabilities, min_p: min_p * probabilities.max()}),
    TEXTS.mistake("likely_dropped", {"keep": lambda probabilities, threshold: probabilities < threshold}),
    TEXTS.mistake("share_of_logits", {"probabilities": lambda logits: logits}),
    TEXTS.mistake("one_minus_p", {"threshold": lambda probabilities, min_p: (1 - min_p) * probabilities.max(-1, keepdims=True)}),
    TEXTS.mistake("nothing_dropped", {"keep": lambda probabilities, threshold: probabilities >= 0}),
    TEXTS.mistake("hidden_logit_is_zero", {"finish": lambda is_kept, logits: softmax(numpy.where(is_kept, logits, 0))}),
)


def probes() -> tuple[Probe, ...]:
    """Probabilities that are not at the threshold: flat, steep; several rows; a temperature."""
    random = numpy.random.default_rng(31)
    flat = numpy.log(numpy.array([0.11, 0.05, 0.27, 0.2, 0.02, 0.19, 0.16])) + 1.3
    rows = numpy.log(numpy.array([[0.11, 0.5, 0.08, 0.01, 0.3], [0.41, 0.12, 0.26, 0.04, 0.17], [0.02, 0.03, 0.05, 0.88, 0.02]]))
    return (
        Probe("flat", {"logits": flat, "min_p": 0.5}),
        Probe("little", {"logits": flat, "min_p": 0.1}),
        Probe("steep", {"logits": numpy.log(numpy.array([0.03, 0.95, 0.02])) - 0.4, "min_p": 0.3}),
        Probe("rows", {"logits": rows, "min_p": 0.25}, distributions.BATCH, caution=distributions.ROWS_APART),
        Probe(
            "square", {"logits": random.standard_normal((4, 4)) * 1.5, "min_p": 0.3}, distributions.BATCH, caution=distributions.ROWS_APART
        ),
        Probe("with temperature", {"logits": flat, "min_p": 0.5, "temperature": 0.5}),
    )


EXERCISE = distributions.SAMPLER(
    name="min_p",
    definition=definition,
    recipe=recipe,
    steps=STEPS,
    roles=(distributions.LOGITS, required(distributions.MIN_P), *distributions.FILTER),
    probes=probes,
    mistakes=MISTAKES,
    conventions=(distributions.GIVEN, distributions.ROWS, (*distributions.RETURNED, distributions.UNNORMALISED)),
)
