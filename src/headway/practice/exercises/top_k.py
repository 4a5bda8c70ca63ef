"""Top-k: keep the k most likely tokens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy

from headway import functions
from headway.practice.exercise import Convention, Inputs, Probe, Step, optional
from headway.practice.recipes import distributions
from headway.practice.recipes.distributions import descending, kept, of_rows, required, softmax
from headway.practice.recipes.encoding import without
from headway.practice.roles import Roles
from headway.practice.texts import Texts

TEXTS = Texts("top_k")
ROLES = Roles("top_k")


def recipe(steps: Any, logits: Any, top_k: int, temperature: float = 1.0, **rest: Any) -> Any:
    """The definition as named steps: scale, keep, finish."""
    scaled = steps.scale(logits, temperature)
    return steps.finish(steps.keep(scaled, top_k), scaled, top_k)


def definition(logits: Any, top_k: int, temperature: float = 1.0, **rest: Any) -> Any:
    """Return the probabilities of headway.functions' kept logits."""
    return functions.softmax(functions.keep_top_k(functions.scale_by_temperature(logits, temperature), top_k))


def by_rank(first: Any, last: Any) -> Step:
    """Return a step that keeps the tokens of rank first(k) … last(k) - 1; the most likely token has rank 0."""

    def keep(logits: Any, top_k: int) -> Any:
        ranks = numpy.argsort(descending(logits), axis=-1)
        return (ranks >= first(top_k, logits.shape[-1])) & (ranks < last(top_k, logits.shape[-1]))

    return keep


def mask_by_rank(logits: Any, top_k: int) -> Any:
    """Return a mask that is True at the first k places, as if the tokens were sorted."""
    return numpy.broadcast_to(numpy.arange(logits.shape[-1]) < top_k, logits.shape)


STEPS: dict[str, Step] = {
    "scale": lambda logits, temperature: logits / temperature,
    "keep": by_rank(lambda k, size: 0, lambda k, size: k),
    "finish": lambda is_kept, logits, top_k: kept(logits, is_kept),
}

ALL = TEXTS["all"]

MISTAKES = (
    TEXTS.mistake("keeps_one_more", keep=by_rank(lambda k, size: 0, lambda k, size: k + 1)),
    TEXTS.mistake("keeps_one_less", keep=by_rank(lambda k, size: 0, lambda k, size: k - 1)),
    TEXTS.mistake("keeps_the_least_likely", keep=by_rank(lambda k, size: size - k, lambda k, size: size)),
    TEXTS.mistake("drops_the_most_likely", keep=by_rank(lambda k, size: k, lambda k, size: size)),
    TEXTS.mistake("nothing_dropped", keep=by_rank(lambda k, size: 0, lambda k, size: size)),
    TEXTS.mistake("hidden_logit_is_zero", finish=lambda is_kept, logits, top_k: softmax(numpy.where(is_kept, logits, 0))),
    TEXTS.mistake(
        "sorted_not_put_back",
        finish=lambda is_kept, logits, top_k: numpy.take_along_axis(kept(logits, is_kept), descending(logits), axis=-1),
    ),
    TEXTS.mistake("mask_not_put_back", keep=mask_by_rank),
    TEXTS.mistake("values_only", finish=lambda is_kept, logits, top_k: softmax(-numpy.sort(-logits, axis=-1)[..., :top_k])),
    TEXTS.mistake("threshold_of_the_batch", keep=lambda logits, top_k: logits >= numpy.sort(logits.ravel())[max(logits.size - top_k, 0)]),
    TEXTS.mistake(
        "threshold_of_the_first_row",
        keep=lambda logits, top_k: logits >= numpy.sort(logits.reshape(-1, logits.shape[-1])[0])[max(logits.shape[-1] - top_k, 0)],
    ),
    TEXTS.mistake("along_first_axis", keep=lambda logits, top_k: logits >= numpy.sort(logits, axis=0)[max(len(logits) - top_k, 0)]),
)


def probes() -> tuple[Probe, ...]:
    """A row with several k, rows of different magnitudes, a square, k = 1, and a k larger than the vocabulary."""
    random = numpy.random.default_rng(23)
    row = random.standard_normal(7) * 1.5 + 0.7
    rows = random.standard_normal((3, 5)) * 1.5 + numpy.array([[0.0], [2.5], [-1.2]])
    return (
        Probe("three", {"logits": row, "top_k": 3}),
        Probe("one", {"logits": row, "top_k": 1}),
        Probe("five", {"logits": row[::-1].copy(), "top_k": 5}),
        Probe("all", {"logits": row, "top_k": 7}, TEXTS["whole"]),
        of_rows("rows", rows, top_k=2),
        of_rows("square", random.standard_normal((4, 4)), top_k=3),
        Probe("more than the vocabulary", {"logits": row, "top_k": 9}, ALL),
        Probe("with temperature", {"logits": row, "top_k": 3, "temperature": 0.5}),
    )


def _as_share(rounded: float) -> Callable[[Inputs], Inputs | None]:
    """Return an encoding of k as the share of tokens that are dropped, in the middle of those that lead to k."""

    def encode(inputs: Inputs) -> Inputs | None:
        size = inputs["logits"].shape[-1]
        if inputs["top_k"] > size:
            return None
        return without(inputs, "top_k") | {"dropped_share": 1 - (inputs["top_k"] + rounded) / size}

    return encode


SHARES = optional(
    Convention(TEXTS["takes_dropped_share"], _as_share(0.5), role="dropped_share", source=r"\A(?!(.|\n)*ceil\()"),
    Convention(TEXTS["takes_dropped_share"], _as_share(-0.5), role="dropped_share", source=r"ceil\("),
)
"""A function that is given the share of tokens to drop: k is the size of the vocabulary times the rest, without its fraction or rounded up."""

_FILTER = distributions.FILTER(
    name="top_k",
    definition=definition,
    recipe=recipe,
    steps=STEPS,
    roles=(distributions.LOGITS, required(distributions.TOP_K), ROLES("dropped_share"), *distributions.OF_FILTERS),
    probes=probes,
    mistakes=MISTAKES,
)
EXERCISE = replace(_FILTER, conventions=(SHARES, *_FILTER.conventions))
