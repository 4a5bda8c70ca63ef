"""A stack of encoder layers: embedding and positions, the layers one after another, a final norm."""

from __future__ import annotations

from typing import Any

import numpy

from headway.practice.exercise import Exercise, Inputs, Probe
from headway.practice.recipes import stacks
from headway.practice.roles import Roles
from headway.practice.texts import Texts

TEXTS = Texts("encoder_stack")
ROLES = Roles("encoder_stack", "stacks")


def recipe(steps: Any, x: Any, table: Any, positions: Any, layers: Any, norm: Any, mask: Any = None, **rest: Any) -> Any:
    """The definition as named steps: place, embed, stack, see, last_norm."""
    visible = numpy.ones(x.shape, bool) if mask is None else mask

    def run(x: Any, weights: Inputs, place: int) -> Any:
        return stacks.layer(x, weights, stacks.of_keys(steps.see(visible, place)))

    return steps.last_norm(steps.stack(steps.place(steps.embed, x, table, positions), layers, run), norm) * visible[..., None]


def definition(x: Any, table: Any, positions: Any, layers: Any, norm: Any, mask: Any = None, **rest: Any) -> Any:
    """Return the output of simple layers computed by headway.functions, with zeros at the padding."""
    visible = stacks.all_visible(x) if mask is None else stacks.all_visible(x) & mask[:, None, :]
    answer = stacks.defined_stack(x, table, positions, layers, norm, visible)
    return answer if mask is None else answer * mask[..., None]


MISTAKES = (
    *stacks.POSITIONS,
    *stacks.mistakes(),
    TEXTS.mistake("mask_ignored", see=lambda visible, place: numpy.ones_like(visible)),
    TEXTS.mistake("mask_in_first_layer_only", see=lambda visible, place: visible if place == 0 else numpy.ones_like(visible)),
)


def probes() -> tuple[Probe, ...]:
    """Batches of three, four layers and a single one, without and with padding."""
    random = numpy.random.default_rng(53)

    def model(count: int) -> Inputs:
        return {"table": random.standard_normal((11, stacks.WIDTH)), "layers": stacks.side(random, count), **stacks.common(random)}

    padded = numpy.array([[3, 10, 3, 7, 8], [6, 7, 1, 0, 0]])
    return (
        Probe("three layers", {"x": numpy.array([[3, 10, 3, 7, 8], [7, 7, 1, 2, 9]]), **model(3)}),
        Probe("four layers", {"x": numpy.array([[4, 10, 2], [9, 9, 1]]), **model(4)}),
        Probe("padding", {"x": padded, "mask": padded != 0, **model(3)}),
        Probe("one layer", {"x": numpy.array([[3, 10, 3, 7, 8], [7, 7, 1, 2, 9]]), **model(1)}),
    )


EXERCISE = Exercise(
    name="encoder_stack",
    definition=definition,
    recipe=recipe,
    steps=stacks.STEPS,
    roles=(
        ROLES("x"),
        ROLES("mask", neutral=None),
        ROLES("segment_ids", neutral=None),
        ROLES("table"),
        ROLES("positions"),
        ROLES("layers"),
        ROLES("norm"),
    ),
    probes=probes,
    mistakes=MISTAKES,
    conventions=(stacks.EMBEDDINGS,),
    is_trained_through=False,
    calls="stack",
)
