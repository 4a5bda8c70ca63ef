"""Min-p: keep the tokens that are at least min_p times as likely as the most likely one."""

from __future__ import annotations

from typing import Any

import numpy

from headway import functions
from headway.practice.exercise import Probe, Step, unchanged
from headway.practice.recipes import distributions
from headway.practice.recipes.distributions import FLAT, SEVERAL, STEEP, kept, of_rows, required, softmax
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
    TEXTS.mistake("not_relative", threshold=lambda probabilities, min_p: min_p),
    TEXTS.mistake("share_of_the_batch", threshold=lambda probabilities, min_p: min_p * probabilities.max()),
    TEXTS.mistake("likely_dropped", keep=lambda probabilities, threshold: probabilities < threshold),
    TEXTS.mistake("share_of_logits", probabilities=unchanged),
    TEXTS.mistake("one_minus_p", threshold=lambda probabilities, min_p: (1 - min_p) * probabilities.max(-1, keepdims=True)),
    TEXTS.mistake("nothing_dropped", keep=lambda probabilities, threshold: probabilities >= 0),
    TEXTS.mistake("hidden_logit_is_zero", finish=lambda is_kept, logits: softmax(numpy.where(is_kept, logits, 0))),
)


def probes() -> tuple[Probe, ...]:
    """Probabilities that are not at the threshold: flat, steep; several rows; a temperature."""
    random = numpy.random.default_rng(31)
    return (
        Probe("flat", {"logits": FLAT, "min_p": 0.5}),
        Probe("little", {"logits": FLAT, "min_p": 0.1}),
        Probe("steep", {"logits": STEEP, "min_p": 0.3}),
        of_rows("rows", SEVERAL, min_p=0.25),
        of_rows("square", random.standard_normal((4, 4)) * 1.5, min_p=0.3),
        Probe("with temperature", {"logits": FLAT, "min_p": 0.5, "temperature": 0.5}),
    )


EXERCISE = distributions.FILTER(
    name="min_p",
    definition=definition,
    recipe=recipe,
    steps=STEPS,
    roles=(distributions.LOGITS, required(distributions.MIN_P), *distributions.OF_FILTERS),
    probes=probes,
    mistakes=MISTAKES,
)
