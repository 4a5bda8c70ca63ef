"""Stochastic gradient descent as an optimizer that holds its state: a class with a step or update method."""

from __future__ import annotations

from headway.practice.exercise import Exercise
from headway.practice.recipes.sgd import CONVENTIONS, MISTAKES, ROLES, STEPS, definition, probes, recipe

EXERCISE = Exercise(
    name="sgd_optimizer",
    definition=definition,
    recipe=recipe,
    steps=STEPS,
    roles=ROLES,
    probes=probes,
    mistakes=MISTAKES,
    conventions=CONVENTIONS,
    calls="optimizer",
    is_trained_through=False,
)
