"""Verdict on a learner's function for one exercise.

The checks run in this order: can the function be called; does every output equal the definition's under some combination of
conventions; is a measured number wrong; does a known mistake explain all outputs; does a pair of mistakes; otherwise report
the first element that differs.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from inspect import isclass
from typing import Any

import numpy

from headway.practice.diagnosis.adapters import calls_of
from headway.practice.diagnosis.calls.binding import fits_name
from headway.practice.diagnosis.calls.calling import libraries_for, returns_value
from headway.practice.diagnosis.calls.compare import first_difference
from headway.practice.diagnosis.calls.conventions import PLAIN, encoded_for, encoded_in, output_of
from headway.practice.diagnosis.checks.continuing import cache_cause
from headway.practice.diagnosis.checks.defaults import default_cause
from headway.practice.diagnosis.checks.given_cache import given_cache_cause
from headway.practice.diagnosis.checks.initial import has_other_initial_weights, zero_start_cause
from headway.practice.diagnosis.checks.made_in_call import made_in_call_cause
from headway.practice.diagnosis.checks.misplaced_arguments import misplaced_argument_cause
from headway.practice.diagnosis.checks.model_cache import model_cache_cause
from headway.practice.diagnosis.checks.of_text import cause_of_text
from headway.practice.diagnosis.checks.own_cache import own_cache_cause
from headway.practice.diagnosis.checks.repeating import (
    NOT_REPEATABLE,
    VARIATIONS,
    cause_of_variation,
    differs_when_repeated,
    is_nothing,
    is_repeatable,
    may_vary,
)
from headway.practice.diagnosis.checks.shared_ids import shared_ids_cause
from headway.practice.diagnosis.checks.trial import Trial, num_numbers
from headway.practice.diagnosis.checks.trials import is_endless, trials_of
from headway.practice.diagnosis.classes.configs import missing_field
from headway.practice.diagnosis.classes.parts import computes_waves, likely_parts, name_note
from headway.practice.diagnosis.explain.and_raising import with_exception
from headway.practice.diagnosis.explain.effect_of_mask import without_disproved
from headway.practice.diagnosis.explain.explaining import Explain, Explanation, measurable, measured, named, pairs
from headway.practice.diagnosis.explain.failure import described_inputs, explain
from headway.practice.diagnosis.explain.impossible import impossible, raises_in_call
from headway.practice.diagnosis.explain.of_use import cause_of_use
from headway.practice.diagnosis.explain.own_parts import batch_cause, own_parts_cause
from headway.practice.diagnosis.explain.undefined import undefined
from headway.practice.diagnosis.random_starts import draws_itself
from headway.practice.diagnosis.reading.missing import absent_constants, absent_parts
from headway.practice.diagnosis.reading.removed import has_byte_masks
from headway.practice.diagnosis.reading.subject import Subject
from headway.practice.diagnosis.reading.unfinished import mark_at, unfinished_line
from headway.practice.exercise import Convention, Exercise, Mistake, Probe
from headway.practice.message import EMPTY, Message
from headway.practice.names import means
from headway.practice.outputs import PRECISION, Raised, is_same, precision
from headway.practice.recipes.projections import heads_around
from headway.practice.texts import Texts
from headway.practice.verdict import Cause, Status, Verdict

TEXTS = Texts("diagnosis")


CHANGES_INPUTS = TEXTS.mistake("changes_inputs", pattern=r"[-+*/@]=|\[.*\]\s*=|\bout=|\.\w+\((\w+), [^()]*, \1\)")


NOT_UNDERSTOOD = TEXTS["other_shapes"]
TRY_AS = TEXTS["select_part_or_state_shapes"]

STATELESS = ("adam_step",)
"""Exercises of functions that no class can be, because its state would change the output."""

MOST_PAIRS = 7
"""More pairs of mistakes than this explain outputs by coincidence."""

MOST_RELATED = 1
"""Number of related exercises whose mistakes are tried."""


def diagnose(subject: Subject, exercise: Exercise) -> Verdict:
    """Return the verdict for an exercise, or for a related one if only that explains the outputs.

    A subject that is not written yet has no other mistakes, and one that ends the process is not judged.
    """
    try:
        verdict = _diagnosed(subject, exercise)
    except SystemExit as error:  # outside of a call whose exceptions are outputs: of a constructor, of a further check
        verdict = _ended(subject, exercise, error)
    line = None if verdict.is_correct else unfinished_line(subject)
    if line is None:
        return verdict
    mark = mark_at(subject, line)
    cause = Cause("unfinished", TEXTS["unfinished"].format(line=line, mark=mark), TEXTS["write_code"].format(mark=mark), EMPTY, line=line)
    return Verdict(subject.name, exercise.name, subject.line, "could not run", (cause,), title=exercise.title)


def _ended(subject: Subject, exercise: Exercise, error: SystemExit) -> Verdict:
    return Verdict(subject.name, exercise.name, subject.line, "could not run", (explain(error, subject),), title=exercise.title)


ENDS = r"\b(exit|quit)\("
"""Pattern of the source of a subject that may end the process."""


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


def _diagnosed(subject: Subject, exercise: Exercise) -> Verdict:
    """Return the verdict on a subject; a class that may be several parts is first compared with each of them, likeliest first."""
    from headway.practice.exercises import exercise as by_name

    raising = raises_in_call(subject)
    if raising is not None:  # under each of the conventions
        return Verdict(subject.name, exercise.name, subject.line, "wrong", (raising,), title=exercise.title)
    candidates = [exercise if name == exercise.name else by_name(name) for name in likely_parts(subject, exercise)]
    if len(candidates) > 1:
        first: Verdict | None = None
        for each in filter(None, (correct_as_is(subject, candidate) for candidate in candidates)):
            first = each if first is None or each.is_correct else first
            if each.is_correct:  # the outputs may be those of several parts, and the gradients those of one
                break
        if first is not None:
            return replace(first, notes=(*first.notes, *name_note(exercise, first.exercise)))
    verdict = _judged_as(subject, candidates[0])
    if verdict.status in ("correct", "wrong"):
        return verdict
    left_out = (
        *(STATELESS if isclass(subject.value) else ()),
        *(("learned_positions",) if computes_waves(subject) else ()),
        *(("self_attention",) if candidates[0].name == "grouped_query_attention" else ()),  # with one head there are no groups
        *(candidates[0].related if _is_switched(verdict) else ()),
    )
    others = [by_name(name) for name in _others(candidates[0], candidates[1:]) if name not in left_out]
    right = next(filter(None, (correct_as_is(subject, each) for each in others)), None)
    if right is not None:
        return right
    judged = [_judged_as(subject, each) for each in others[:MOST_RELATED]]
    found = next((other for other in judged if other.is_correct or _is_sure(other)), None)
    if found is None and not _may_be_called(verdict):  # as the part that its name means
        likely = (other for other in judged if _may_be_called(other) or (verdict.trial is None and other.trial is not None))
        found = next(likely, None)
    if (
        found is None and exercise.name == "self_attention" and _takes_heads(verdict)
    ):  # with one head only what it does with several is not seen
        several = by_name("multi_head_attention")
        found = next((other for other in judged if other.exercise == several.name), None) or _judged_as(subject, several)
    return found or verdict


def _may_be_called(verdict: Verdict) -> bool:
    """Return True for a subject that answers, or whose operands all have names of the part's operands."""
    if verdict.trial is None or verdict.trial.has_answers:
        return verdict.trial is not None
    return all(fits_name(name, role) for name, role in verdict.trial.call.binding.role_of.items())


def _is_switched(verdict: Verdict) -> bool:
    """Return True for a cross-attention with a flag without which it is a self-attention."""
    return verdict.trial is not None and verdict.trial.call.binding.takes("is_cross")


def _takes_heads(verdict: Verdict) -> bool:
    return verdict.trial is not None and verdict.trial.call.binding.takes("num_heads")


def _is_sure(verdict: Verdict) -> bool:
    """Return True for a certain mistake of the outputs: those that vary for another part only may be read outside of an array."""
    return verdict.status == "wrong" and verdict.confidence == "certain" and not VARIATIONS & {cause.name for cause in verdict.causes}


def _others(exercise: Exercise, candidates: Sequence[Exercise]) -> list[str]:
    """Return the names of the exercises to try after the first, each once."""
    return [name for name in dict.fromkeys([each.name for each in candidates] + list(exercise.related)) if name != exercise.name]


def correct_as_is(subject: Subject, exercise: Exercise) -> Verdict | None:
    """Return the verdict if every output is correct; None if a cause has to be found or a probe excluded."""
    trials = trials_of(subject, exercise)
    if not trials or not is_repeatable(trials):
        return None
    closest = _closest(trials)
    narrower = [trial.without_refused() for trial in closest]
    right = _first_right([*closest, *narrower, *(trial.within_branches() for trial in narrower)])
    return None if right is None else _correct(subject, exercise, right)


def _judged_as(subject: Subject, exercise: Exercise) -> Verdict:
    """Return the verdict for one exercise, with its trials if it is not correct."""
    trials = trials_of(subject, exercise)
    verdict = _judged_from(trials, subject, exercise)
    return verdict if verdict.is_correct else replace(verdict, trials=tuple(trials))


def _judged_from(trials: list[Trial], subject: Subject, exercise: Exercise) -> Verdict:
    if not trials:
        return _without_binding(subject, exercise)
    if not is_repeatable(trials):
        has_no_model = exercise.name == "generate" and not trials[0].call.binding.takes("model")  # it has none to ask
        if has_no_model or (trials[0].call.is_instance and not may_vary(subject)):  # it is a new instance that varies
            return _not_understood(subject, exercise, trials[0], None)
        cause = made_in_call_cause(subject) or _behavior_cause(subject, cause_of_variation(trials))
        return _verdict(subject, exercise, "wrong", trials[0], causes=(cause,))
    trials = _closest(trials)
    narrower = [trial.without_refused() for trial in trials]
    alone = (named, measured, measurable)
    is_narrower = any(fewer is not trial for fewer, trial in zip(narrower, trials, strict=True))
    for considered, ways in [(trials, alone), *([(narrower, alone)] if is_narrower else []), (narrower, (pairs,))]:
        right = _first_right(considered) or _first_right(each.within_branches() for each in considered)
        if right is not None:
            return _correct(subject, exercise, right)
        compared = [each for each in considered if not any(convention.leaves_out for convention in each.conventions)]
        choices = [compared, considered] if 0 < len(compared) < len(considered) else [considered]
        found = next(filter(None, (_unopposed(_explained(subject, chosen, way), trials) for chosen in choices for way in ways)), None)
        if found and (endless := _endless_instead(trials, found)) is not None:
            return _unexplained(subject, exercise, endless)
        if found:
            return _wrong(subject, exercise, found)
    # For inputs that it need not support, a correct function may return another shape, or wrong numbers if a caution says so.
    right = _first_right([each.without_misshapen() for each in narrower]) or _first_right([each.without_caution() for each in narrower])
    if right is not None:
        return _correct(subject, exercise, right)
    fewer = itertools.chain(_without_optional(trials), _without_optional(narrower), [_without_misshapen(narrower)])
    found = _unopposed(_without_some_probes(subject, fewer, alone) or with_exception(subject, narrower, alone), trials)
    if found:
        return _wrong(subject, exercise, found)
    supported = [trial.without_refused_kinds() for trial in trials]
    of_operand = next((each for each in (trial.of_rejected_operand() for trial in supported) if each is not None), None)
    if of_operand is not None:
        return _unexplained(subject, exercise, of_operand)
    open_ones = [trial for trial in supported if trial.num_matching() < len(trial.probes)] or [trials[0]]
    closest = _least_raised(open_ones)
    undefined = [trial for trial in closest if trial.raises_only((NameError,))]  # another call may have ended before the name was read
    lacking = [trial for trial in closest if any(map(_lacks_local, trial.answers))]
    verdict = _unexplained(subject, exercise, (undefined or lacking or closest)[0])
    misplaced = misplaced_argument_cause(subject) if verdict.status == "unknown" else None
    return verdict if misplaced is None else replace(verdict, status="wrong", causes=(misplaced,), difference=None)


def _unopposed(found: Sequence[Explanation], trials: Sequence[Trial]) -> list[Explanation]:
    """Return the explanations of outputs that are not right under another convention: the mistake is in those that were left out."""
    return [each for each in found if not any(trial.is_right_for(each.trial.probes) for trial in trials)]


def _endless_instead(trials: Sequence[Trial], found: Sequence[Explanation]) -> Trial | None:
    """Return a trial without an end if the explanation of the others is that nothing is merged, which is so if no pair has the expected form."""
    if not all(each.cause.name == "nothing_merged" for each in found):
        return None
    return next((trial for trial in trials if any(map(is_endless, trial.answers)) and not trial.has_answers), None)


def _without_some_probes(subject: Subject, choices: Iterable[Sequence[Trial]], ways: Sequence[Explain]) -> list[Explanation]:
    """Return the explanations of the most outputs, leaving out inputs that the function need not support.

    With fewer outputs more mistakes fit by coincidence, so all choices are compared.
    """
    found = [explanation for trials in choices for trial in trials for way in ways for explanation in way(subject, trial)]
    most = max((len(each.trial.probes) for each in found), default=0)
    return [each for each in found if len(each.trial.probes) == most]


def _closest(trials: Sequence[Trial]) -> list[Trial]:
    """Return the trials with the most matching outputs and those that skip no probe, simplest conventions first.

    If some of them are correct apart from optional probes, return only these.
    """
    ordered = sorted(trials, key=lambda trial: (-trial.num_matching(), trial.num_raised()))
    most, longest = ordered[0].num_matching(), max(len(trial.probes) for trial in ordered)
    near = [trial for trial in ordered if trial.num_matching() == most or len(trial.probes) == longest]
    possible = [trial for trial in near if not trial.is_wrong_where_required and trial.may_be_right()]
    return [trial for trial in possible if trial.without_refused().without_caution().is_right()] or near


def _first_right(trials: Iterable[Trial]) -> Trial | None:
    return next((trial for trial in trials if trial.is_right()), None)


def _explained(subject: Subject, trials: Sequence[Trial], way: Explain) -> list[Explanation]:
    """Return explanations of one kind, for the conventions under which the function returned the most outputs."""
    candidates = [] if any(trial.matches() for trial in _fullest(trials)) else trials
    candidates = [trial for trial in candidates if trial.has_answers and not trial.matches() and not _is_misread(trial)]
    if way is pairs:  # a pair explains nearly anything, so only the closest convention counts
        most = max((trial.num_matching() for trial in candidates), default=0)
        candidates = [trial for trial in candidates if trial.num_matching() == most]
        candidates.sort(key=lambda trial: (-_num_nearly_explained(trial), sum(each.name is not None for each in trial.conventions)))
    found = [explanation for trial in _least_raised(candidates) for explanation in way(subject, trial)]
    if way is pairs:  # a pair whose steps raise would explain every misinterpreted call
        return found if len({each.cause.name for each in found}) <= MOST_PAIRS else []
    if found:
        return found
    return [explanation for trial in candidates for explanation in way(subject, trial)]


NUM_SMALLEST = 2
"""Number of the smallest probes from which the likeliest convention of a program with two mistakes is read."""


def _num_nearly_explained(trial: Trial) -> int:
    """Return the number of the smallest probes that a single mistake explains, such as those of one position, which show few mistakes."""
    smallest = sorted(zip(trial.probes, trial.answers, strict=True), key=lambda pair: num_numbers(pair[0].inputs))[:NUM_SMALLEST]
    explaining = [trial.explaining(*pair) for pair in smallest]
    return max((sum(mistake in each for each in explaining) for mistake in frozenset().union(*explaining)), default=0)


def _is_misread(trial: Trial) -> bool:
    """Return True if most calls of a class raised that needs operands of unknown meaning: nothing is known of its mistakes."""
    is_guessed = trial.call.has_guessed_operands
    return is_guessed and 2 * trial.num_raised() > len(trial.probes)


def _fullest(trials: Sequence[Trial]) -> list[Trial]:
    """Return the trials with the most probes."""
    most = max((len(trial.probes) for trial in trials), default=0)
    return [trial for trial in trials if len(trial.probes) == most]


def _wrong(subject: Subject, exercise: Exercise, found: Sequence[Explanation]) -> Verdict:
    """Return the verdict for one or several explanations; for several, add what would distinguish them."""
    found = without_disproved(found)
    causes = tuple({each.cause.name: each for each in reversed(found)}.values())[::-1]
    trial = _simplest(found)
    verdict = _verdict(subject, exercise, "wrong", trial, causes=tuple(each.cause for each in causes))
    return verdict if len(causes) == 1 else replace(verdict, notes=(*verdict.notes, _what_tells_apart(exercise, causes[0], causes[1])))


def _what_tells_apart(exercise: Exercise, first: Explanation, second: Explanation) -> Message:
    """Describe a probe for which two explanations predict different outputs, or say that there is none."""
    for probe in exercise.probes():
        answers = [each.trial.expected(probe, each.mistakes) for each in (first, second)]
        if not is_same(answers[0], answers[1], precision(answers[1])):
            return TEXTS["tells_apart"].format(inputs=described_inputs(probe.inputs))
    return TEXTS["nothing_tells_apart"]


def _simplest(found: Sequence[Explanation]) -> Trial:
    """Return the trial with the most probes, then the fewest noted conventions, among those that the first cause explains."""
    return min(
        (each.trial for each in found if each.cause.name == found[0].cause.name),
        key=lambda trial: (-len(trial.probes), sum(convention.name is not None for convention in trial.conventions)),
    )


def _least_raised(trials: Sequence[Trial]) -> list[Trial]:
    """Return the trials in which the fewest calls raised."""
    shares = [trial.num_raised() / len(trial.probes) for trial in trials]
    least = min(shares, default=0.0)
    return [trial for trial, share in zip(trials, shares, strict=True) if share == least]


def _without_optional(trials: Sequence[Trial]) -> Iterator[list[Trial]]:
    """Yield the wrong trials without one kind of optional probe, then without all of them."""
    kinds = list(dict.fromkeys(probe.beyond for trial in trials for probe in trial.probes if probe.beyond is not None))
    for left_out in [*([kind] for kind in kinds), kinds] if len(kinds) > 1 else [kinds] * len(kinds):
        fewer = [replace(trial.without(left_out), refused=trial.refused) for trial in trials]
        yield [trial for trial in fewer if len(trial.probes) > 2 and trial.has_answers and not trial.matches() and not _is_misread(trial)]


def _without_misshapen(trials: Sequence[Trial]) -> list[Trial]:
    """Return the wrong trials without the kinds of optional probes whose outputs have another shape, if two probes or more are left."""
    fewer = [(trial, trial.without_misshapen()) for trial in trials]
    return [
        kept
        for trial, kept in fewer
        if 1 < len(kept.probes) < len(trial.probes) and kept.has_answers and not kept.matches() and not _is_misread(kept)
    ]


def _correct(subject: Subject, exercise: Exercise, trial: Trial) -> Verdict:
    """Return the verdict for correct outputs, after checks of the heads, modified inputs, gradients and half precision."""
    if (ending := _end_of_process(subject, trial)) is not None:
        return _ended(subject, exercise, ending)
    if _has_one_head_only(exercise, trial):
        cause = Cause("not_understood", TEXTS["one_head_only"], TRY_AS, EMPTY, line=subject.line)
        return _verdict(subject, exercise, "could not run", trial, causes=(cause,))
    absent = absent_parts(subject)
    of_itself = next((name for name in absent if means(name, exercise.name)), None)
    if of_itself is not None:
        says = TEXTS["own_part_absent"].format(name=of_itself)
        cause = Cause("raises_ModuleNotFoundError", says, TEXTS["add_file"], EMPTY, line=subject.line_of(rf"\b{of_itself}\b"))
        return _verdict(subject, exercise, "could not run", trial, causes=(cause,))
    lacking = missing_field(subject)
    if lacking is not None:
        says = TEXTS["config_lacks_field"].format(config=lacking[0], field=lacking[1])
        cause = Cause(
            "not_understood", says, TEXTS["add_field"].format(field=lacking[1]), EMPTY, line=subject.line_of(rf"\b{lacking[1]}\b")
        )
        return _verdict(subject, exercise, "could not run", trial, causes=(cause,))
    if trial.call.has_changed_inputs and not _may_write(exercise, trial):
        return _verdict(subject, exercise, "wrong", trial, causes=(_behavior_cause(subject, CHANGES_INPUTS),))
    gradient_note, half_note = _precise_notes(exercise, trial)
    if isinstance(gradient_note, Cause):
        return _verdict(subject, exercise, "wrong", trial, causes=(gradient_note,))
    of_batch = batch_cause(trial)
    if of_batch is not None:
        return _verdict(subject, exercise, "wrong", trial, causes=(of_batch,))
    of_parts = own_parts_cause(trial)
    if of_parts is not None:
        return _verdict(subject, exercise, "could not run", trial, causes=(of_parts,))
    of_text = default_cause(subject, exercise) or cause_of_text(subject) or zero_start_cause(exercise, trial)
    if of_text is not None:
        return _verdict(subject, exercise, "wrong", trial, causes=(of_text,))
    of_cache = cache_cause(trial) or given_cache_cause(trial) or own_cache_cause(trial) or model_cache_cause(trial)
    of_use = of_cache if isinstance(of_cache, Cause) else cause_of_use(trial)
    if of_use is not None:
        shown = replace(trial, refused=()) if of_use.name.startswith("raises_") else trial  # what it refuses may be the mistake
        return _verdict(subject, exercise, "wrong", shown, causes=(of_use,))
    verdict = _verdict(subject, exercise, "correct", trial)
    writes = [TEXTS["writes_into_inputs"]] if trial.call.has_changed_inputs else []
    writes += [TEXTS["byte_masks"]] if has_byte_masks(subject.used_source) else []
    writes += [TEXTS["needs_mask"]] if trial.needs_mask else []
    writes += [TEXTS["parts_absent"].format(names=", ".join(absent))] if absent else []
    ids = ", ".join(f"{name} = {value}" for name, value in absent_constants(subject).items())
    writes += [TEXTS["ids_absent"].format(ids=ids)] if ids else []
    initial = [TEXTS["initial_weights"]] if has_other_initial_weights(exercise, trial) else []
    remarks = [
        *writes,
        *initial,
        *_cautions(subject, trial),
        *(each for each in (gradient_note, half_note, of_cache) if isinstance(each, Message)),
    ]
    return replace(verdict, notes=(*verdict.notes, *dict.fromkeys(remarks)))


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


def _behavior_cause(subject: Subject, mistake: Mistake) -> Cause:
    """Return a cause that concerns the function's behavior, such as modified inputs, and needs no proof."""
    return Cause(mistake.name, mistake.says, mistake.fix, EMPTY, line=subject.line_of(mistake.pattern()))


def _not_understood(subject: Subject, exercise: Exercise, trial: Trial, difference: Message | None) -> Verdict:
    """Return the verdict on a subject whose outputs have another form throughout: its convention is in doubt."""
    cause = Cause("not_understood", NOT_UNDERSTOOD, TRY_AS, EMPTY, line=subject.line)
    return _verdict(subject, exercise, "could not run", trial, causes=(cause,), difference=difference)


def _unexplained(subject: Subject, exercise: Exercise, trial: Trial) -> Verdict:
    """Return the verdict without a known mistake: the exception if one was raised, else the first difference."""
    of_ids = shared_ids_cause(trial)
    if of_ids is not None:
        return _verdict(subject, exercise, "wrong", trial, causes=(of_ids,))
    for probe, answer in sorted(zip(trial.probes, trial.answers, strict=True), key=lambda pair: not _lacks_local(pair[1])):
        expected = trial.expected(probe)
        if trial.is_same(probe, answer):  # a division by 0 that the caller has to avoid raises as it may
            continue
        if isinstance(answer, Raised):
            return _verdict(subject, exercise, "could not run", trial, causes=(explain(answer.error, subject, probe),))
        if is_nothing(answer) and returns_value(subject) and any(each.decode is not PLAIN.decode for each in trial.conventions):
            return _not_understood(subject, exercise, trial, None)  # an output of another form
        if is_nothing(answer):
            says = TEXTS["returns_nothing"]
            fix = TEXTS["return_result"]
            return _verdict(subject, exercise, "wrong", trial, causes=(Cause("returns_nothing", says, fix, EMPTY),))
        if isinstance(answer, numpy.ndarray) and isinstance(expected, numpy.ndarray) and answer.shape != expected.shape:
            shapes = TEXTS["shape_differs"].format(
                shape=numpy.shape(answer), expected=numpy.shape(expected), inputs=described_inputs(probe.inputs)
            )
            if not trial.num_matching() and (trial.call.is_instance or numpy.ndim(answer) != numpy.ndim(expected)):
                return _not_understood(subject, exercise, trial, shapes)
            return _verdict(subject, exercise, "unknown", trial, difference=shapes)
        difference = first_difference(answer, expected, precision(answer))
        if isinstance(expected, numpy.ndarray) and not isinstance(answer, numpy.ndarray) and not trial.num_matching():
            return _not_understood(subject, exercise, trial, difference)
        return _verdict(subject, exercise, "unknown", trial, difference=difference)
    return _not_understood(subject, exercise, trial, None)  # the definition raises as well


def _lacks_local(answer: Any) -> bool:
    """Return True for the exception of a variable that some path does not assign, which no inputs excuse."""
    return isinstance(answer, Raised) and isinstance(answer.error, UnboundLocalError)


def _without_binding(subject: Subject, exercise: Exercise) -> Verdict:
    """Return the verdict for a function whose parameters do not match the roles, such as one that creates random weights."""
    for library in libraries_for(subject):
        for call in calls_of(subject, exercise, library):
            probes = exercise.probes() if call.binding.role_of else exercise.probes()[:1]  # every call without operands is the same
            if any(differs_when_repeated(call, probe.inputs) for probe in probes) and not draws_itself(subject, exercise.name):
                cause = _behavior_cause(subject, NOT_REPEATABLE)
                return Verdict(subject.name, exercise.name, subject.line, "wrong", (cause,), title=exercise.title)
    return _cannot_be_called(subject, exercise)


def _cannot_be_called(subject: Subject, exercise: Exercise) -> Verdict:
    lacking = undefined(subject) or impossible(subject)
    if lacking is not None:
        return Verdict(subject.name, exercise.name, subject.line, "wrong", (lacking,), title=exercise.title)
    taken = ", ".join(parameter.name for parameter in subject.parameters) or "nothing"
    known = ", ".join(role.name for role in exercise.roles)
    says = TEXTS["parameters"].format(taken=taken, known=known)
    fix = TEXTS["name_them"]
    cause = Cause("parameters", says, fix, EMPTY, line=subject.line)
    return Verdict(subject.name, exercise.name, subject.line, "could not run", (cause,), title=exercise.title)


def _is_in_effect(convention: Convention, trial: Trial, usual: Collection[Convention]) -> bool:
    """Return True if a convention changes any input or output; a named default counts only if the verdict is correct."""
    if any(convention is group[0] for group in trial.exercise.conventions):
        return convention not in usual
    is_said = any(encoded_in(convention, probe.inputs) is not probe.inputs for probe in trial.probes)
    return is_said or bool(convention.steps) or convention.decode is not PLAIN.decode or convention.reads is not None


def _verdict(subject: Subject, exercise: Exercise, status: Status, trial: Trial, **found: Any) -> Verdict:
    refused = {probe.beyond.en: probe.beyond for probe in trial.refused if probe.beyond}
    usual = (
        () if status == "correct" else tuple(group[0] for group in exercise.conventions)
    )  # the default convention is noted only for correct functions
    notes = (
        ()
        if status == "could not run"
        else (
            *(
                convention.name
                for convention in trial.conventions
                if convention.name is not None and _is_in_effect(convention, trial, usual)
            ),
            *trial.call.notes,
            *(() if trial.num_axes is None else (TEXTS["branches"].format(most=trial.num_axes),)),
            *(() if trial.decimals is None else (TEXTS["rounds"].format(decimals=trial.decimals),)),
            *(TEXTS["not_judged"].format(beyond=beyond) for beyond in refused.values() if beyond.en),
        )
    )
    return Verdict(
        subject.name,
        exercise.name,
        subject.line,
        status,
        notes=notes,
        title=exercise.title,
        conventions=trial.conventions,
        trial=trial,
        **found,
    )
