"""Descents that begin at weights which they draw themselves, so that each call returns others."""

from __future__ import annotations

import re

from headway.practice.verdict import Verdict

DESCENTS = ("linear_regression", "gradient_descent")

DRAWS = r"(?m)^\s+\w+(?:, *\w+)* *= *[^\n]*\b(?:random\.(?:\w+\.)?\w+|randn?|rng\.\w+|default_rng\([^)]*\)\.\w+|normal|uniform)\("
"""Pattern of the statement that draws the first weights."""


def starts_at_random(verdict: Verdict) -> bool:
    """Return True for a descent of whose outputs nothing is known but that two calls differ, because it draws its first weights."""
    if verdict.exercise not in DESCENTS or verdict.status != "wrong" or verdict.trial is None:
        return False
    is_only = {cause.name for cause in verdict.causes} == {"not_repeatable"}
    return is_only and re.search(DRAWS, verdict.trial.call.subject.code) is not None
