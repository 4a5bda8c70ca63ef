"""Rotary positions of an attention that reach its values, which the change of sign in their place shows: the output has the other sign."""

from __future__ import annotations

from headway.practice.diagnosis.checks.trial import Trial
from headway.practice.diagnosis.classes.instances import InstanceCall
from headway.practice.recipes.rotation import ROPE
from headway.practice.texts import Texts

TEXTS = Texts("diagnosis")

OF_VALUES = rf"(?i)\w*({ROPE}|rot)\w*\(\s*(xv|v|values?|v_\w+|values?_\w+)\b"
"""Pattern of the line that rotates the values."""

ROTATES_VALUES = TEXTS.mistake("rotates_values", pattern=OF_VALUES, mix=lambda weights, value: -(weights @ value))


def may_rotate_values(trial: Trial) -> bool:
    """Return True if a line rotates the values of an attention that is judged without rotary positions, and its first output has the other sign."""
    is_replaced = isinstance(trial.call, InstanceCall) and trial.call.construction.is_unrotated and "mix" in trial.exercise.steps
    if not is_replaced or not trial.probes or trial.call.subject.line_of(OF_VALUES) is None:
        return False
    return trial.is_same(trial.probes[0], trial.answers[0], (ROTATES_VALUES,))
