"""AdamW: Adam with decoupled weight decay, as an optimizer that holds its state."""

from __future__ import annotations

from headway.practice.exercise import Exercise, optional
from headway.practice.recipes.optimizers import (
    AFTER,
    DECAY_MISTAKES,
    EPSILONS,
    FIXED_EPS,
    OF_MATRICES,
    ROLES,
    SHARED,
    STEPS,
    UNCORRECTED_WITHOUT_COUNT,
    definition,
    probes,
    recipe,
)

EXERCISE = Exercise(
    name="adamw",
    definition=definition,
    recipe=recipe,
    steps=STEPS,
    roles=ROLES,
    probes=lambda: probes(has_decay=True),
    mistakes=(*DECAY_MISTAKES, *SHARED),
    conventions=(optional(AFTER), OF_MATRICES, EPSILONS, FIXED_EPS, UNCORRECTED_WITHOUT_COUNT),
    calls="optimizer",
    is_trained_through=False,
)
