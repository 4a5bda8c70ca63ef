"""Verdict on a learner's function for one exercise.

The checks run in this order: can the function be called; does every output equal the definition's under some combination of
conventions; is a measured number wrong; does a known mistake explain all outputs; does a pair of mistakes; otherwise report
the first element that differs.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from inspect import isclass

from headway.practice.diagnosis.calls.binding import fits_name
from headway.practice.diagnosis.checks.made_in_call import made_in_call_cause
from headway.practice.diagnosis.checks.misplaced_arguments import misplaced_argument_cause
from headway.practice.diagnosis.checks.repeating import VARIATIONS, cause_of_variation, is_repeatable, may_vary
from headway.practice.diagnosis.checks.trial import Trial, num_numbers
from headway.practice.diagnosis.checks.trials import is_endless, trials_of
from headway.practice.diagnosis.classes.parts import computes_waves, likely_parts, name_note
from headway.practice.diagnosis.explain.and_raising import with_exception
from headway.practice.diagnosis.explain.effect_of_mask import without_disproved
from headway.practice.diagnosis.explain.explaining import Explain, Explanation, measurable, measured, named, pairs
from headway.practice.diagnosis.explain.failure import described_inputs
from headway.practice.diagnosis.explain.impossible import raises_in_call
from headway.practice.diagnosis.outcomes.correct import correct, ended
from headway.practice.diagnosis.outcomes.of_trial import behavior_cause, verdict_of, verdict_without_trial
from headway.practice.diagnosis.outcomes.unexplained import lacks_local, not_understood, unexplained, without_binding
from headway.practice.diagnosis.reading.subject import Subject
from headway.practice.diagnosis.reading.unfinished import mark_at, unfinished_line
from headway.practice.exercise import Exercise
from headway.practice.message import EMPTY, Message
from headway.practice.outputs import is_same, precision
from headway.practice.texts import Texts
from headway.practice.verdict import Cause, Verdict

TEXTS = Texts("diagnosis")

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
        verdict = ended(subject, exercise, error)
    line = None if verdict.is_correct else unfinished_line(subject)
    if line is None:
        return verdict
    mark = mark_at(subject, line)
    cause = Cause("unfinished", TEXTS["unfinished"].format(line=line, mark=mark), TEXTS["write_code"].format(mark=mark), EMPTY, line=line)
    return verdict_without_trial(subject, exercise, "could not run", cause)


def _diagnosed(subject: Subject, exercise: Exercise) -> Verdict:
    """Return the verdict on a subject; a class that may be several parts is first compared with each of them, likeliest first."""
    from headway.practice.exercises import exercise as by_name

    raising = raises_in_call(subject)
    if raising is not None:  # under each of the conventions
        return verdict_without_trial(subject, exercise, "wrong", raising)
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
    return None if right is None else correct(subject, exercise, right)


def _judged_as(subject: Subject, exercise: Exercise) -> Verdict:
    """Return the verdict for one exercise, with its trials if it is not correct."""
    trials = trials_of(subject, exercise)
    verdict = _judged_from(trials, subject, exercise)
    return verdict if verdict.is_correct else replace(verdict, trials=tuple(trials))


def _judged_from(trials: list[Trial], subject: Subject, exercise: Exercise) -> Verdict:
    if not trials:
        return without_binding(subject, exercise)
    if not is_repeatable(trials):
        has_no_model = exercise.name == "generate" and not trials[0].call.binding.takes("model")  # it has none to ask
        if has_no_model or (trials[0].call.is_instance and not may_vary(subject)):  # it is a new instance that varies
            return not_understood(subject, exercise, trials[0], None)
        cause = made_in_call_cause(subject) or behavior_cause(subject, cause_of_variation(trials))
        return verdict_of(subject, exercise, "wrong", trials[0], causes=(cause,))
    trials = _closest(trials)
    narrower = [trial.without_refused() for trial in trials]
    alone = (named, measured, measurable)
    is_narrower = any(fewer is not trial for fewer, trial in zip(narrower, trials, strict=True))
    for considered, ways in [(trials, alone), *([(narrower, alone)] if is_narrower else []), (narrower, (pairs,))]:
        right = _first_right(considered) or _first_right(each.within_branches() for each in considered)
        if right is not None:
            return correct(subject, exercise, right)
        compared = [each for each in considered if not any(convention.leaves_out for convention in each.conventions)]
        choices = [compared, considered] if 0 < len(compared) < len(considered) else [considered]
        found = next(filter(None, (_unopposed(_explained(subject, chosen, way), trials) for chosen in choices for way in ways)), None)
        if found and (endless := _endless_instead(trials, found)) is not None:
            return unexplained(subject, exercise, endless)
        if found:
            return _wrong(subject, exercise, found)
    # For inputs that it need not support, a correct function may return another shape, or wrong numbers if a caution says so.
    right = _first_right([each.without_misshapen() for each in narrower]) or _first_right([each.without_caution() for each in narrower])
    if right is not None:
        return correct(subject, exercise, right)
    fewer = itertools.chain(_without_optional(trials), _without_optional(narrower), [_without_misshapen(narrower)])
    found = _unopposed(_without_some_probes(subject, fewer, alone) or with_exception(subject, narrower, alone), trials)
    if found:
        return _wrong(subject, exercise, found)
    supported = [trial.without_refused_kinds() for trial in trials]
    of_operand = next((each for each in (trial.of_rejected_operand() for trial in supported) if each is not None), None)
    if of_operand is not None:
        return unexplained(subject, exercise, of_operand)
    open_ones = [trial for trial in supported if trial.num_matching() < len(trial.probes)] or [trials[0]]
    closest = _least_raised(open_ones)
    undefined = [trial for trial in closest if trial.raises_only((NameError,))]  # another call may have ended before the name was read
    lacking = [trial for trial in closest if any(map(lacks_local, trial.answers))]
    verdict = unexplained(subject, exercise, (undefined or lacking or closest)[0])
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
    verdict = verdict_of(subject, exercise, "wrong", trial, causes=tuple(each.cause for each in causes))
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
