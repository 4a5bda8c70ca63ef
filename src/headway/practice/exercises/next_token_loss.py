"""next_token_loss: cross-entropy of each position's logits with the token that follows it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from headway import functions
from headway.practice.exercise import Convention, Exercise, Inputs, Probe, optional
from headway.practice.exercises import cross_entropy
from headway.practice.exercises.cross_entropy import OF_PADDING
from headway.practice.recipes.conventions import RETURNS
from headway.practice.recipes.encoding import without
from headway.practice.recipes.wrapping import BATCH_SECOND
from headway.practice.roles import Roles
from headway.practice.texts import Texts

TEXTS = Texts("next_token_loss")
ROLES = Roles("next_token_loss")


def recipe(steps: Any, logits: Any, token_ids: Any, ignored: int | None = None, mask: Any = None) -> Any:
    """The definition as named steps: shift, then those of cross_entropy."""
    logits, targets = steps.shift(logits, token_ids)
    return cross_entropy.recipe(steps, logits, targets, ignored)


def definition(logits: Any, token_ids: Any, ignored: int | None = None, mask: Any = None) -> Any:
    """Call headway.functions' cross_entropy with logits and tokens shifted by one position."""
    return functions.cross_entropy(logits[..., :-1, :], token_ids[..., 1:], ignored=ignored)


STEPS = {**cross_entropy.STEPS, "shift": lambda logits, token_ids: (logits[..., :-1, :], token_ids[..., 1:])}

TOGETHER = (
    "softmax_missing", "logarithm_missing", "softmax_twice", "softmax_over_everything", "sign_missing", "summed", "averaged_over_classes",
    "ignored_averaged_in", "ignored_counted", "perplexity_returned", "largest_for_target", "averaged_over_batch_alone",
)  # fmt: skip
"""Mistakes in any cross-entropy."""


MISTAKES = (
    TEXTS.mistake("not_shifted", shift=lambda logits, token_ids: (logits, token_ids)),
    TEXTS.mistake("shifted_backwards", shift=lambda logits, token_ids: (logits[..., 1:, :], token_ids[..., :-1])),
    TEXTS.mistake("shifted_by_two", shift=lambda logits, token_ids: (logits[..., :-2, :], token_ids[..., 2:])),
    TEXTS.mistake("last_left_out_of_both", shift=lambda logits, token_ids: (logits[..., :-1, :], token_ids[..., :-1])),
    TEXTS.mistake("first_left_out_of_both", shift=lambda logits, token_ids: (logits[..., 1:, :], token_ids[..., 1:])),
    TEXTS.mistake("rolled_around", shift=lambda logits, token_ids: (logits, numpy.roll(token_ids, -1, -1))),
    TEXTS.mistake("shifted_along_batch", shift=lambda logits, token_ids: (logits[:-1], token_ids[1:])),
    *(each for each in cross_entropy.MISTAKES if each.name in TOGETHER),
)


def probes() -> tuple[Probe, ...]:
    """Batches of sequences, as many sequences as positions, two positions, ignored tokens, one sequence."""
    random = numpy.random.default_rng(31)

    def drawn(*shape: int, vocab: int = 7) -> Inputs:
        return {"logits": random.standard_normal((*shape, vocab)) * 1.5, "token_ids": random.integers(0, vocab, shape)}

    return (
        Probe("sequences", drawn(2, 5)),
        Probe("as many sequences as positions", drawn(4, 4)),
        Probe("three positions", drawn(3, 3, vocab=5)),
        Probe(
            "ignored",
            drawn(2, 5) | {"token_ids": numpy.array([[3, 1, 4, -100, -100], [2, 6, 5, 0, -100]]), "ignored": -100},
            unless=OF_PADDING,
        ),
        Probe("ignored token", drawn(2, 5) | {"token_ids": numpy.array([[3, 1, 4, 0, 0], [2, 6, 5, 1, 0]]), "ignored": 0}),
        Probe("one sequence", drawn(6), TEXTS["one"]),
    )


def _masked(*, of_targets: bool) -> Callable[[Inputs], Inputs]:
    """Return an encoding of ignored tokens as a mask, which is True at the tokens that count, or at the positions that predict them."""

    def encode(inputs: Inputs) -> Inputs:
        token_ids = inputs["token_ids"]
        counts = token_ids != inputs["ignored"] if "ignored" in inputs else numpy.ones(token_ids.shape, bool)
        mask = counts if of_targets else numpy.concatenate((counts[..., 1:], counts[..., :1]), -1)
        return without(inputs, "ignored") | {"token_ids": numpy.where(counts, token_ids, 0), "mask": mask}

    return encode


MASKS = optional(
    Convention(TEXTS["mask_of_targets"], _masked(of_targets=True), role="mask", is_required=True),
    Convention(TEXTS["mask_of_positions"], _masked(of_targets=False), role="mask", is_required=True),
)


def _positions_first(inputs: Inputs) -> Inputs:
    """Return a batch with the positions as the first axis; one sequence as it is."""
    is_batch = inputs["token_ids"].ndim == 2
    names = [name for name in ("logits", "token_ids", "mask") if is_batch and inputs.get(name) is not None]
    return inputs | {name: numpy.ascontiguousarray(inputs[name].swapaxes(0, 1)) for name in names}


POSITIONS_FIRST = optional(Convention(TEXTS["positions_first"], _positions_first, source=BATCH_SECOND))

EXERCISE = Exercise(
    name="next_token_loss",
    definition=definition,
    recipe=recipe,
    steps=STEPS,
    roles=(
        ROLES("logits"),
        ROLES("token_ids"),
        ROLES("ignored", off=-100),
        ROLES("mask", neutral=None),
        ROLES("vocab_size", size_of=lambda inputs: numpy.shape(inputs["logits"])[-1]),
    ),
    probes=probes,
    mistakes=MISTAKES,
    conventions=(MASKS, POSITIONS_FIRST, RETURNS),
    related=("cross_entropy",),
)
