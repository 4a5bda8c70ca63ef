"""Initial weights of norms, whose definition without weights shows what an untrained norm returns."""

from __future__ import annotations

from headway.practice.diagnosis.calls.compare import as_numbers
from headway.practice.diagnosis.calls.conventions import encoded_for
from headway.practice.diagnosis.checks.trial import Trial
from headway.practice.diagnosis.classes.instances import InstanceCall
from headway.practice.exercise import Exercise
from headway.practice.outputs import is_same, precision

NORMS = ("layer_norm", "rms_norm")


def has_other_initial_weights(exercise: Exercise, trial: Trial) -> bool:
    """Return True for a norm that holds weights and, as constructed, does not return what the definition without weights does."""
    call = trial.call
    if exercise.name not in NORMS or not isinstance(call, InstanceCall) or not call.assignment.roles:
        return False
    given, instance = InstanceCall(call.subject, call.binding, call.library, construction=call.construction).sample(exercise)
    encoded = encoded_for(call, trial.conventions, given)
    if instance is None or encoded is None or "x" not in given:
        return False
    arguments = call.arguments(encoded)
    try:
        answer = as_numbers(call.forward(instance, arguments))
        for convention in reversed(trial.conventions):
            answer = convention.decode(answer, given)
    except Exception:  # an instance that needs loaded weights
        return False
    plain = {name: value for name, value in given.items() if name == "x" or (name == "eps" and call.binding.takes("eps"))}
    expected = exercise.answer(call.precise(plain), (), trial.conventions)
    return not is_same(answer, expected, max(precision(answer), precision(expected)))
