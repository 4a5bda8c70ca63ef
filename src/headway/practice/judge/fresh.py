"""Fresh probes: those of an exercise with other random numbers, which no hand-in can know in advance."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy

from headway.practice.exercise import Exercise, Probe

_LOCK = threading.Lock()


def fresh_probes(exercise: Exercise, seed: int) -> tuple[Probe, ...]:
    """Return the exercise's probes with their numbers drawn from another seed; shapes and special values stay."""
    with _LOCK:
        exercise.probes()  # fills the caches of toy models, whose weights do not depend on the seed
    with _LOCK, _seeded(seed):
        probes = exercise.probes()
    return tuple(replace(probe, name=f"{probe.name} #{seed}") for probe in probes)


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Add a seed to those of all generators that are created within."""
    original = numpy.random.default_rng

    def default_rng(own: Any = None) -> numpy.random.Generator:
        return original([seed, own] if isinstance(own, int) else own)

    numpy.random.default_rng = default_rng  # type: ignore[assignment]
    try:
        yield
    finally:
        numpy.random.default_rng = original
