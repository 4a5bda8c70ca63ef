"""Filters of tokens that apply a softmax to what their operand's name calls probabilities, and are right only for logits."""

from __future__ import annotations

import re

from headway.practice.diagnosis.checks.trial import Trial
from headway.practice.recipes.distributions import GIVEN

PROBABILITIES = r"(\w+_)?prob(s|abilit(y|ies))"
"""Pattern of the names of operands that are probabilities."""

NORMALIZES = r"softmax *\(|\bexp *\("
"""Pattern of the source of a function that makes probabilities."""


def takes_probabilities_as_logits(trial: Trial) -> bool:
    """Return True for a function that was judged with logits although its operand is named as probabilities, which it normalizes a second time."""
    if GIVEN not in trial.exercise.conventions:
        return False
    is_of_logits = trial.conventions[trial.exercise.conventions.index(GIVEN)] is GIVEN[0]
    names = [name for name, role in trial.call.binding.role_of.items() if role.name == "logits"]
    is_named = any(re.fullmatch(PROBABILITIES, name.lower()) for name in names)
    return is_of_logits and is_named and re.search(NORMALIZES, trial.call.subject.used_source) is not None
