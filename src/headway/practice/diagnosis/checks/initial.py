"""Initial weights of norms, whose definition without weights shows what an untrained norm returns."""

from __future__ import annotations

import re
from typing import Any

import numpy

from headway.practice.diagnosis.calls.compare import as_numbers
from headway.practice.diagnosis.calls.conventions import encoded_for
from headway.practice.diagnosis.checks.trial import Trial
from headway.practice.diagnosis.classes.instances import InstanceCall
from headway.practice.exercise import Exercise
from headway.practice.message import EMPTY
from headway.practice.outputs import is_same, precision
from headway.practice.texts import Texts
from headway.practice.verdict import Cause

TEXTS = Texts("diagnosis")

NORMS = ("layer_norm", "rms_norm")


LOADS_WEIGHTS = r"load_state_dict|from_pretrained|safetensors|load_\w*(weight|param|checkpoint)|(torch|np|numpy|jnp|mx)\.load\(|GGUF"
"""Pattern of the source of a file that loads weights in place of the initial ones."""


def zero_start_cause(exercise: Exercise, trial: Trial) -> Cause | None:
    """Return the cause for a norm whose output is 0 as constructed, in a file that loads no weights, or of Gemma, whose weights are added to 1."""
    subject = trial.call.subject
    if "gemma" not in subject.name.lower() and re.search(LOADS_WEIGHTS, subject.file_source):
        return None
    found = _as_constructed(exercise, trial)
    if found is None or not numpy.size(found[0]) or numpy.any(found[0]):
        return None
    return Cause("starts_at_zero", TEXTS["starts_at_zero"], TEXTS["start_at_one"], EMPTY, line=subject.line_of(r"zeros") or subject.line)


def has_other_initial_weights(exercise: Exercise, trial: Trial) -> bool:
    """Return True for a norm that holds weights and, as constructed, does not return what the definition without weights does."""
    found = _as_constructed(exercise, trial)
    return found is not None and not is_same(*found, max(map(precision, found)))


def _as_constructed(exercise: Exercise, trial: Trial) -> tuple[Any, Any] | None:
    """Return the output of a norm with its own weights, and that of the definition without weights; None for another part."""
    call = trial.call
    if exercise.name not in NORMS or not isinstance(call, InstanceCall) or not call.assignment.roles:
        return None
    given, instance = InstanceCall(call.subject, call.binding, call.library, construction=call.construction).sample(exercise)
    encoded = encoded_for(call, trial.conventions, given)
    if instance is None or encoded is None or "x" not in given:
        return None
    arguments = call.arguments(encoded)
    try:
        answer = as_numbers(call.forward(instance, arguments))
        for convention in reversed(trial.conventions):
            answer = convention.decode(answer, given)
    except Exception:  # an instance that needs loaded weights
        return None
    plain = {name: value for name, value in given.items() if name == "x" or (name == "eps" and call.binding.takes("eps"))}
    return answer, exercise.answer(call.precise(plain), (), trial.conventions)
