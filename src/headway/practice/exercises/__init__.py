"""The exercises, one file or folder each: the definition, the probes, and the common mistakes."""

from importlib import import_module

from headway.practice.exercise import Exercise
from headway.practice.names import PATTERNS

NAMES = tuple(PATTERNS)
"""The names of the exercises, in the order in which they build on each other; each is a file or folder here with EXERCISE."""


def exercise(name: str) -> Exercise:
    """Return one exercise by its name."""
    return import_module(f"headway.practice.exercises.{name}").EXERCISE


def exercises() -> list[Exercise]:
    """Return all exercises, in order."""
    return [exercise(name) for name in NAMES]
