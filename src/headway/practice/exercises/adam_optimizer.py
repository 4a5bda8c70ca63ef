"""Adam as an optimizer that holds its state: a class with a step or update method."""

from __future__ import annotations

from headway.practice.exercise import Convention, Exercise
from headway.practice.recipes.optimizers import COUPLED, EPSILONS, FIXED_EPS, OF_MATRICES, ROLES, SHARED, STEPS, definition, probes, recipe
from headway.practice.texts import Texts

TEXTS = Texts("adam_optimizer")

EXERCISE = Exercise(
    name="adam_optimizer",
    definition=definition,
    recipe=recipe,
    steps=STEPS,
    roles=ROLES,
    probes=lambda: probes(has_decay=True),
    mistakes=SHARED,
    conventions=(
        (
            Convention(without="weight_decay"),
            Convention(TEXTS["weight_decay_acts_parameter_itself_adamw"]),
            Convention(TEXTS["weight_decay_added_gradient_l2_torch"], steps=COUPLED),
        ),
        OF_MATRICES,
        EPSILONS,
        FIXED_EPS,
    ),
    related=("adam_step",),
    calls="optimizer",
    is_trained_through=False,
)
