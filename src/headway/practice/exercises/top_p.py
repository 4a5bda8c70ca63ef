"""Top-p (nucleus): keep the fewest most likely tokens whose probabilities sum to at least p."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from headway import functions
from headway.practice.exercise import Convention, Probe, Step, optional, unchanged
from headway.practice.recipes import distributions
from headway.practice.recipes.distributions import FLAT, SEVERAL, STEEP, descending, kept, of_rows, put_back, required, softmax
from headway.practice.texts import Texts

TEXTS = Texts("top_p")


def recipe(steps: Any, logits: Any, top_p: float, temperature: float = 1.0, **rest: Any) -> Any:
    """The definition as named steps: scale, order, probabilities, mass, keep, back, finish."""
    scaled = steps.scale(logits, temperature)
    order = steps.order(scaled)
    mass = steps.mass(numpy.take_along_axis(steps.probabilities(scaled), order, axis=-1))
    is_kept = steps.back(steps.keep(mass, top_p), order)
    return steps.finish(is_kept, scaled, top_p)


def definition(logits: Any, top_p: float, temperature: float = 1.0, **rest: Any) -> Any:
    """Return the probabilities of headway.functions' kept logits."""
    return functions.softmax(functions.keep_top_p(functions.scale_by_temperature(logits, temperature), top_p))


def sum_before(mass: Any) -> Any:
    """Return the cumulative sum before each place."""
    return numpy.concatenate([numpy.zeros_like(mass[..., :1]), mass[..., :-1]], axis=-1)


def with_first(keep: Callable[[Any, float], Any]) -> Step:
    """Return the rule with the first token always kept."""
    return lambda mass, top_p: keep(mass, top_p) | (numpy.arange(mass.shape[-1]) == 0)


def after_crossing(mass: Any, top_p: float) -> Any:
    """Keep one token more than needed to reach top_p."""
    return sum_before(sum_before(mass)) < top_p


def gathered(values: Any, order: Any) -> Any:
    """Return sorted values read at the indices of the sort, which are those to write them to."""
    return numpy.take_along_axis(numpy.take_along_axis(values, order, axis=-1), order, axis=-1)


STEPS: dict[str, Step] = {
    "scale": lambda logits, temperature: logits / temperature,
    "order": descending,
    "probabilities": softmax,
    "mass": lambda probabilities: numpy.cumsum(probabilities, axis=-1),
    "keep": lambda mass, top_p: sum_before(mass) < top_p,
    "back": put_back,
    "finish": lambda is_kept, logits, top_p: kept(logits, is_kept),
}


MISTAKES = (
    TEXTS.mistake("crossing_token_dropped", keep=with_first(lambda mass, top_p: mass <= top_p)),
    TEXTS.mistake("everything_may_be_dropped", keep=lambda mass, top_p: mass <= top_p),
    TEXTS.mistake("one_more_kept", keep=after_crossing),
    TEXTS.mistake("mask_not_put_back", back=unchanged),
    TEXTS.mistake(
        "sorted_not_put_back",
        finish=lambda is_kept, logits, top_p: numpy.take_along_axis(kept(logits, is_kept), descending(logits), axis=-1),
    ),
    TEXTS.mistake("mask_gathered", back=lambda is_kept, order: numpy.take_along_axis(is_kept, order, axis=-1)),
    TEXTS.mistake("values_gathered", finish=lambda is_kept, logits, top_p: gathered(kept(logits, is_kept), descending(logits))),
    TEXTS.mistake("least_likely_kept", order=lambda logits: descending(logits)[..., ::-1]),
    TEXTS.mistake("not_sorted", order=lambda logits: numpy.broadcast_to(numpy.arange(logits.shape[-1]), logits.shape)),
    TEXTS.mistake("sums_logits", probabilities=unchanged),
    TEXTS.mistake("compares_single_probabilities", mass=unchanged, keep=lambda mass, top_p: mass >= top_p),
    TEXTS.mistake(
        "share_of_the_largest",
        mass=unchanged,
        keep=lambda mass, top_p: mass >= top_p * mass.max(-1, keepdims=True),
    ),
    TEXTS.mistake("one_minus_p", keep=lambda mass, top_p: sum_before(mass) < 1 - top_p),
    TEXTS.mistake("nucleus_dropped", keep=lambda mass, top_p: sum_before(mass) >= top_p),
    TEXTS.mistake("nothing_dropped", keep=lambda mass, top_p: mass == mass),
    TEXTS.mistake("hidden_logit_is_zero", finish=lambda is_kept, logits, top_p: softmax(numpy.where(is_kept, logits, 0))),
    TEXTS.mistake(
        "softmax_over_kept_probabilities", finish=lambda is_kept, logits, top_p: softmax(numpy.where(is_kept, softmax(logits), -numpy.inf))
    ),
    TEXTS.mistake("mass_along_first_axis", mass=lambda probabilities: numpy.cumsum(probabilities, axis=0)),
    TEXTS.mistake("mass_of_the_whole_batch", mass=lambda probabilities: numpy.cumsum(probabilities).reshape(probabilities.shape)),
)


LEFT_OUT = optional(
    Convention(
        TEXTS["share_left_out"],
        lambda inputs: inputs | {"top_p": 1.0 - inputs["top_p"]},
        role="top_p",
        named="^thres",
        source=r"\b1(\.0?)? *- *thres",
    )
)
"""The share of the probability to keep, or the one to leave out, as a threshold is in some code."""


def probes() -> tuple[Probe, ...]:
    """Distributions whose cumulative sums are not equal to p: flat, steep, one token above p; rows; all tokens kept."""
    random = numpy.random.default_rng(29)
    square = random.standard_normal((4, 4)) * 1.5
    return (
        Probe("flat", {"logits": FLAT, "top_p": 0.6}),
        Probe("half and half", {"logits": numpy.log(numpy.array([0.41, 0.09, 0.5])), "top_p": 0.9}),
        Probe("one above p", {"logits": STEEP, "top_p": 0.9}),
        Probe("little", {"logits": FLAT, "top_p": 0.15}),
        Probe("nearly all", {"logits": FLAT, "top_p": 0.99}),
        of_rows("rows", SEVERAL, top_p=0.7),
        of_rows("square", square, top_p=0.55),
        Probe("with temperature", {"logits": FLAT, "top_p": 0.6, "temperature": 0.5}),
    )


EXERCISE = distributions.FILTER(
    name="top_p",
    definition=definition,
    recipe=recipe,
    steps=STEPS,
    roles=(distributions.LOGITS, required(distributions.TOP_P), *distributions.OF_FILTERS),
    probes=probes,
    mistakes=MISTAKES,
    conventions=(*distributions.OF_FILTER, LEFT_OUT),
)
