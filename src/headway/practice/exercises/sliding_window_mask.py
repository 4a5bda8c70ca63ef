"""sliding_window_mask: each query attends to its own position and the window - 1 positions before it."""

from __future__ import annotations

from typing import Any

import numpy

from headway import functions
from headway.practice.exercise import Convention, Exercise, Inputs, Probe, optional, unchanged
from headway.practice.recipes.masks import FORMS_MISTAKES, OPTIONS, Form, fill_recovery, forms
from headway.practice.roles import Roles
from headway.practice.texts import Texts

TEXTS = Texts("sliding_window_mask")
ROLES = Roles("sliding_window_mask", "causal_mask")


def recipe(steps: Any, query_len: int, window: int) -> Any:
    """The definition as named steps: distances, size, earliest, latest, say."""
    distances = steps.distances(query_len)
    return steps.say(steps.latest(distances) & steps.earliest(distances, steps.size(window)))


def definition(query_len: int, window: int) -> Any:
    """Return headway.functions' mask."""
    return functions.sliding_window_mask(query_len, window=window)


STEPS = {
    "distances": lambda query_len: numpy.arange(query_len)[:, None] - numpy.arange(query_len),
    "earliest": lambda distances, size: distances < size,
    "latest": lambda distances: distances >= 0,
}


MISTAKES = (
    TEXTS.mistake("one_more_visible", size=lambda window: window + 1),
    TEXTS.mistake("one_less_visible", size=lambda window: window - 1),
    TEXTS.mistake("window_ignored", earliest=lambda distances, size: distances == distances),
    TEXTS.mistake("later_visible", latest=lambda distances: distances == distances),
    TEXTS.mistake("both_sides", earliest=lambda distances, size: abs(distances) < size, latest=lambda distances: distances == distances),
    TEXTS.mistake("diagonal_hidden", latest=lambda distances: distances > 0),
    *FORMS_MISTAKES,
)


def _decoded(answer: Any, inputs: Inputs, form: Form) -> Any:
    """Return (queries, keys) without leading axes of one."""
    return form.read(answer.reshape(answer.shape[-2:])) if numpy.size(answer) == numpy.prod(numpy.shape(answer)[-2:]) else answer


def probes() -> tuple[Probe, ...]:
    """Windows of several widths, one as long as the sequence, one longer, one position."""
    sizes = ((6, 3), (5, 2), (8, 4), (4, 4), (3, 5), (5, 1))
    return tuple(Probe(f"{length} positions, window {window}", {"query_len": length, "window": window}) for length, window in sizes)


BEFORE = Convention(
    TEXTS["before_only"], steps={"size": lambda window: window + 1}, role="window", named=r"back|left|before|behind|past|radius|half"
)

ON_BOTH_SIDES = r"(?i)one-sided|(each|either|both|two) sides?|symmetric|bidirectional|longformer|non-causal"
"""Pattern of the source of a mask that says that its window is on both sides of the query, as in Longformer's encoder."""

BOTH_SIDES = tuple(
    Convention(
        TEXTS["window_on_both_sides"],
        steps={
            "earliest": lambda distances, size: abs(distances) < size,
            "latest": lambda distances: distances == distances,
            "size": size,
        },
        source=ON_BOTH_SIDES,
    )
    for size in (unchanged, lambda window: window + 1)
)

EXERCISE = Exercise(
    name="sliding_window_mask",
    definition=definition,
    recipe=recipe,
    steps=STEPS,
    roles=(ROLES("query_len"), ROLES("window"), *OPTIONS),
    probes=probes,
    mistakes=MISTAKES,
    conventions=(forms(lambda: [{"query_len": 4, "window": 3}], (..., -1, -2), _decoded), optional(BEFORE, *BOTH_SIDES)),
    recoveries=(fill_recovery({"query_len": 4, "window": 3}),),
    calls="mask",
)
