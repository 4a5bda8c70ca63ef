"""Descents that draw their first weights, or the order of their rows, so that each call returns others."""

from __future__ import annotations

import re

from headway.practice.diagnosis.reading.subject import Subject
from headway.practice.verdict import Verdict

DESCENTS = ("linear_regression", "gradient_descent")

DRAWS = r"(?m)^\s+\w+(?:, *\w+)* *= *[^\n]*\b(?:random\.(?:\w+\.)?\w+|randn?|rng\.\w+|default_rng\([^)]*\)\.\w+|normal|uniform)\("
"""Pattern of the statement that draws the first weights, or an order."""

SHUFFLES = r"(?m)^\s+(?:\w+\.)*shuffle\("
"""Pattern of the statement that puts rows in a random order, as stochastic descent does."""


def starts_at_random(verdict: Verdict) -> bool:
    """Return True for a descent of whose outputs nothing is known but that two calls differ, because it draws its first weights or an order."""
    if verdict.status != "wrong" or verdict.trial is None:
        return False
    is_only = {cause.name for cause in verdict.causes} == {"not_repeatable"}
    return is_only and draws_itself(verdict.trial.call.subject, verdict.exercise)


def draws_itself(subject: Subject, exercise: str) -> bool:
    """Return True for a descent whose code draws its first weights or an order."""
    return exercise in DESCENTS and any(re.search(pattern, subject.code) for pattern in (DRAWS, SHUFFLES))
