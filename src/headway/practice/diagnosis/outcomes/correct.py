"""Verdict on outputs that all are correct: further checks of the heads, gradients, half precision, batches, caches and use."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy

from headway.practice.diagnosis.calls.conventions import encoded_for, output_of
from headway.practice.diagnosis.checks.continuing import cache_cause
from headway.practice.diagnosis.checks.defaults import default_cause
from headway.practice.diagnosis.checks.given_cache import given_cache_cause
from headway.practice.diagnosis.checks.initial import has_other_initial_weights, zero_start_cause
from headway.practice.diagnosis.checks.model_cache import model_cache_cause
from headway.practice.diagnosis.checks.of_text import cause_of_text
from headway.practice.diagnosis.checks.own_cache import own_cache_cause
from headway.practice.diagnosis.checks.trial import Trial, num_numbers
from headway.practice.diagnosis.classes.configs import missing_field
from headway.practice.diagnosis.explain.failure import explain
from headway.practice.diagnosis.explain.of_use import cause_of_use
from headway.practice.diagnosis.explain.own_parts import batch_cause, own_parts_cause
from headway.practice.diagnosis.outcomes.of_trial import behavior_cause, verdict_of, verdict_without_trial
from headway.practice.diagnosis.reading.missing import absent_constants, absent_parts
from headway.practice.diagnosis.reading.removed import has_byte_masks
from headway.practice.diagnosis.reading.subject import Subject
from headway.practice.exercise import Exercise, Probe
from headway.practice.message import EMPTY, Message
from headway.practice.names import means
from headway.practice.outputs import PRECISION, Raised, is_same, precision
from headway.practice.recipes.projections import heads_around
from headway.practice.texts import Texts
from headway.practice.verdict import Cause, Verdict

TEXTS = Texts("diagnosis")

CHANGES_INPUTS = TEXTS.mistake("changes_inputs", pattern=r"[-+*/@]=|\[.*\]\s*=|\bout=|\.\w+\((\w+), [^()]*, \1\)")


ENDS = r"\b(exit|quit)\("
"""Pattern of the source of a subject that may end the process."""


def correct(subject: Subject, exercise: Exercise, trial: Trial) -> Verdict:
    """Return the verdict for correct outputs: correct, or the first fault that the further checks find."""
    if (ending := _end_of_process(subject, trial)) is not None:
        return ended(subject, exercise, ending)
    absent = absent_parts(subject)
    hidden = _hidden(subject, exercise, trial, absent)
    if hidden is not None:
        return verdict_of(subject, exercise, "could not run", trial, causes=(hidden,))
    if trial.call.has_changed_inputs and not _may_write(exercise, trial):
        return verdict_of(subject, exercise, "wrong", trial, causes=(behavior_cause(subject, CHANGES_INPUTS),))
    gradient_note, half_note = _precise_notes(exercise, trial)
    wrong = gradient_note if isinstance(gradient_note, Cause) else batch_cause(trial)
    if wrong is not None:
        return verdict_of(subject, exercise, "wrong", trial, causes=(wrong,))
    of_parts = own_parts_cause(trial)
    if of_parts is not None:
        return verdict_of(subject, exercise, "could not run", trial, causes=(of_parts,))
    of_text = default_cause(subject, exercise) or cause_of_text(subject) or zero_start_cause(exercise, trial)
    if of_text is not None:
        return verdict_of(subject, exercise, "wrong", trial, causes=(of_text,))
    of_cache = cache_cause(trial) or given_cache_cause(trial) or own_cache_cause(trial) or model_cache_cause(trial)
    of_use = of_cache if isinstance(of_cache, Cause) else cause_of_use(trial)
    if of_use is not None:
        shown = replace(trial, refused=()) if of_use.name.startswith("raises_") else trial  # what it refuses may be the mistake
        return verdict_of(subject, exercise, "wrong", shown, causes=(of_use,))
    verdict = verdict_of(subject, exercise, "correct", trial)
    found = [each for each in (gradient_note, half_note, of_cache) if isinstance(each, Message)]
    remarks = dict.fromkeys([*_remarks(subject, exercise, trial, absent), *found])
    return replace(verdict, notes=(*verdict.notes, *remarks))


def ended(subject: Subject, exercise: Exercise, error: SystemExit) -> Verdict:
    """Return the verdict on a subject that ends the process."""
    return verdict_without_trial(subject, exercise, "could not run", explain(error, subject))


def _end_of_process(subject: Subject, trial: Trial) -> SystemExit | None:
    """Return the exception with which a subject ends the process for a probe that it takes under no convention of its inputs; None without one."""
    if re.search(ENDS, subject.used_source or subject.code) is None:
        return None
    for probe in (each for each in trial.exercise.kept_probes if trial.call.fits(each.inputs)):
        for conventions in (trial.conventions, ()):
            answer = output_of(trial.call, conventions, probe.inputs)
            if isinstance(answer, Raised) and isinstance(answer.error, SystemExit):
                return answer.error
    return None


def _hidden(subject: Subject, exercise: Exercise, trial: Trial, absent: Sequence[str]) -> Cause | None:
    """Return the reason why correct outputs prove nothing: one head only, a part of the same name or a field of its config that is absent."""
    if _has_one_head_only(exercise, trial):
        return Cause("not_understood", TEXTS["one_head_only"], TEXTS["select_part_or_state_shapes"], EMPTY, line=subject.line)
    of_itself = next((name for name in absent if means(name, exercise.name)), None)
    if of_itself is not None:
        says = TEXTS["own_part_absent"].format(name=of_itself)
        return Cause("raises_ModuleNotFoundError", says, TEXTS["add_file"], EMPTY, line=subject.line_of(rf"\b{of_itself}\b"))
    lacking = missing_field(subject)
    if lacking is None:
        return None
    config, field = lacking
    says = TEXTS["config_lacks_field"].format(config=config, field=field)
    return Cause("not_understood", says, TEXTS["add_field"].format(field=field), EMPTY, line=subject.line_of(rf"\b{field}\b"))


def _remarks(subject: Subject, exercise: Exercise, trial: Trial, absent: Sequence[str]) -> Iterator[Message]:
    """Yield the notes on a correct subject: written inputs, absent parts and numbers, initial weights, cautions."""
    if trial.call.has_changed_inputs:
        yield TEXTS["writes_into_inputs"]
    if has_byte_masks(subject.used_source):
        yield TEXTS["byte_masks"]
    if trial.needs_mask:
        yield TEXTS["needs_mask"]
    if absent:
        yield TEXTS["parts_absent"].format(names=", ".join(absent))
    ids = ", ".join(f"{name} = {value}" for name, value in absent_constants(subject).items())
    if ids:
        yield TEXTS["ids_absent"].format(ids=ids)
    if has_other_initial_weights(exercise, trial):
        yield TEXTS["initial_weights"]
    yield from _cautions(subject, trial)


def _may_write(exercise: Exercise, trial: Trial) -> bool:
    """Return True if a function may write into its inputs, as one of this exercise or under its conventions."""
    return exercise.may_write or any(convention.may_write for convention in trial.conventions)


def _has_one_head_only(exercise: Exercise, trial: Trial) -> bool:
    """Return True for a class with a number of heads that could be called with one head only, where a wrong scale stays hidden."""
    body = trial.call.subject.own_source.partition("\n")[2]
    takes_heads = trial.call.is_instance and any(role.name == "num_heads" for role in trial.call.binding.role_of.values())
    takes_heads = takes_heads and re.search(r"head|\bh\b", body, re.IGNORECASE) is not None
    return takes_heads and any(map(_has_heads, exercise.probes())) and not any(map(_has_heads, trial.probes))


def _has_heads(probe: Probe) -> bool:
    """Return True for a probe of several heads, and for one of a single head of several."""
    inputs = probe.inputs
    return bool(inputs.get("num_heads", 1) > 1) or ("query_weight" in inputs and heads_around(inputs) > 1)


def _precise_notes(exercise: Exercise, trial: Trial) -> tuple[Cause | Message | None, Message | None]:
    """Return a cause or note about gradients, and a note on half precision, for a function of a library that has them."""
    from headway.practice.diagnosis.checks.derivatives import derivative_cause
    from headway.practice.diagnosis.checks.gradients import gradient_cause
    from headway.practice.diagnosis.checks.half_precision import half_precision_note
    from headway.practice.diagnosis.checks.own_gradients import own_gradient_cause

    if not exercise.is_trained_through or trial.call.subject.has_definitions:
        return None, None
    probes = sorted(trial.probes, key=lambda probe: (-len(probe.inputs), -num_numbers(probe.inputs)))
    choices = [encoded_for(trial.call, trial.conventions, probe.inputs) for probe in probes]
    derivative = derivative_cause(trial.call)
    of_class = derivative if isinstance(derivative, Cause) else None
    own = of_class if derivative else own_gradient_cause(trial.call, [each for each in choices if each is not None])
    encoded = choices[0]
    if trial.call.is_wide or encoded is None:
        return own, None
    found = own or gradient_cause(trial.call, encoded, may_write=_may_write(exercise, trial))
    if isinstance(found, Cause) and hasattr(trial.call.subject.value, "__headway_backward__"):
        found = replace(found, fix=TEXTS["fix_backward"], line=trial.call.subject.line_of(r"def backward"))
    return found, None if isinstance(found, Cause) else half_precision_note(trial.call, encoded)


def _cautions(subject: Subject, trial: Trial) -> Iterator[Message]:
    """Yield the cautions of probes for which a correct function returns wrong outputs."""
    for probe in trial.exercise.probes():
        encoded = encoded_for(trial.call, trial.conventions, probe.inputs)
        if probe.caution is None or encoded is None or not trial.call.fits(encoded) or (_is_half(probe) and trial.call.is_wide):
            continue
        answer = output_of(trial.call, trial.conventions, probe.inputs)
        tolerance = max(precision(answer), PRECISION["float16"] if _is_half(probe) else 0.0)
        if not isinstance(answer, Raised) and not is_same(answer, trial.expected(probe), tolerance):
            yield probe.caution


def _is_half(probe: Probe) -> bool:
    return any(isinstance(value, numpy.ndarray) and value.dtype == numpy.float16 for value in probe.inputs.values())
