"""Best-first search for one change, then for two, after which every probe matches."""

from __future__ import annotations

import ast
import functools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy

from headway.practice.diagnosis.checks.trial import Trial, num_axes, num_numbers
from headway.practice.diagnosis.checks.trials import is_endless, trials_by_inputs
from headway.practice.diagnosis.classes.instances import InstanceCall
from headway.practice.diagnosis.classes.unrotated import leaves_out_rotation, turns_unevenly
from headway.practice.diagnosis.reading.errors import last_line
from headway.practice.diagnosis.reading.subject import Subject
from headway.practice.diagnosis.reading.trees import functions_in, read_in, returned_by, stored_in
from headway.practice.diagnosis.repair.changes import Gaps, Nearness, changes
from headway.practice.diagnosis.repair.donors import made_of_sizes, missing, own_of
from headway.practice.diagnosis.repair.foreseen import Foresight
from headway.practice.diagnosis.repair.locating import farthest_alike
from headway.practice.diagnosis.repair.many_programs import many_programs
from headway.practice.diagnosis.repair.milestones import departures, sources
from headway.practice.diagnosis.repair.observation import Observation, observe
from headway.practice.diagnosis.repair.outcomes import (
    MAX_RAISING,
    MAX_TRIALS,
    answered,
    call_of,
    farthest,
    is_called_alike,
    likeliest,
    measurable,
)
from headway.practice.diagnosis.repair.parallels import copied_lines
from headway.practice.diagnosis.repair.program import NO_FINDINGS, Change, Findings, Program, program_of
from headway.practice.diagnosis.repair.remaining import PartOfRepair, both_mistakes
from headway.practice.diagnosis.repair.rivals import Rivals, sees_what_it_masks
from headway.practice.diagnosis.repair.stage import Stage
from headway.practice.diagnosis.repair.text import edits_of, length_of, says
from headway.practice.diagnosis.repair.trying import MAX_COST_OF_SECOND, Search
from headway.practice.diagnosis.repair.twins import is_of_twins
from headway.practice.diagnosis.repair.undefined import undefined_name, unset_attribute
from headway.practice.outputs import Raised
from headway.practice.verdict import Repair

WORK = {"numpy": 9000, "list": 9000, "torch": 3600, "jax": 1200, "mlx": 2400}
WORK_OF_OTHERS = 3000
"""Work allowed, by array library, and with tensors of the file's own. A call costs 1, and 1 more for every LINES_PER_UNIT lines that it executes."""
LINES_PER_UNIT = 100
WORK_OF_FILE, LEAST_SHARE = 4.0, 0.15
"""Work for all subjects of a file, as a multiple of that for one, and the share of the latter that each is allowed after it."""
SHARE_OF_FIRST = 0.6
"""Share of the work that goes to the likeliest convention."""
SHARES, SHARE_OF_REST, SHARE_OF_PAIRS = (0.1, 0.4), 0.5, 1.2
"""Shares of the work for one change, in turns for every convention, for more of them if no two are considered, and work for two changes in addition."""
MAX_FIRST_TRIED = 300
MAX_SAME = 4
RECORDING = 2.0
SHARE_OF_FIRSTS = 0.4
SHARE_OF_NEXT = 0.4
"""First changes whose milestones are counted, those of a line that reach the same ones, the work for each, the share of the work for all, and the
share of what is left for the second changes of each."""
SHARE_OF_CONVENTIONS, SHARE_IN_DOUBT = 0.67, 0.33
"""Shares of the work for pairs that the conventions of single changes get first, and the same where the program's convention is in doubt."""
NEARER = 0.03
"""Share of the elements of an output by which a program has to come nearer."""
OBSERVING = 10.0
"""Calls that the values after a first change count as."""
MAX_FIRST, MAX_UNUSED, MAX_FIRST_EXPLAINED = 12, 4, 3
"""Numbers of first changes that the search for a second one starts from: of those that come nearer, of those that use an unused variable, and of
those after which a known mistake explains the first output."""
SHARE_OF_CHEAP_PAIRS = 0.2
MAX_COST_OF_PAIR = 1.5
NUMBERS_OF_CHEAP = (0, 8, 16, 24, 40, 60, 90, 130)
"""Pairs of the cheapest changes: the share of the work for pairs, the highest cost, and the numbers of changes, of which all pairs are tried in turn."""
SAME_COST = 0.05
"""Costs that differ by less count as equal."""
MAX_OTHER_INPUTS = 3
"""Other forms of the inputs, and ways to call a subject, that are tried if no output is right: those with which the program gets farthest."""
MOST_REPLACED = 0.5
"""Share of a program's nodes that two changes may replace."""
MAX_ALTERNATIVES = 2
MAX_ALTERNATIVES_TRIED = 40
"""Repairs of equal cost that are reported, and the number of changes that are tried for them."""


@dataclass
class Allowance:
    """Work for the repairs of a file, counted so that verdicts do not depend on the speed of the machine.

    left   multiple of the work allowed for one subject
    """

    left: float = WORK_OF_FILE

    def share(self) -> float:
        """Return the share of the usual work that the next subject may need."""
        return min(1.0, max(self.left, LEAST_SHARE))

    def pay(self, searches: Sequence[Search]) -> None:
        """Count the work of the searches for one subject."""
        self.left -= sum(search.spent / WORK.get(search.trial.call.library, WORK_OF_OTHERS) for search in searches)


@dataclass(frozen=True)
class Extent:
    """Changes that are considered.

    is_single   True for single changes only
    is_doubted  True for only those pairs of changes of which the first alone makes the program compute more values of right programs
    effort      share of the usual work
    allowance   work for the file
    """

    is_single: bool = False
    is_doubted: bool = False
    effort: float = 1.0
    allowance: Allowance = field(default_factory=Allowance)


@many_programs()
def find_repair(
    subject: Subject, trials: Sequence[Trial], findings: Findings = NO_FINDINGS, extent: Extent | None = None, known: Trial | None = None
) -> Repair | None:
    """Return the smallest change of a subject after which all probes of a trial match, or None within the limit of work.

    trials    outputs under the conventions to consider, likeliest first
    known     the trial whose outputs a mistake explains: its conventions are considered first
    """
    program = program_of(subject)
    if program is None:
        return None
    findings = replace(findings, suspects=[*findings.suspects, *copied_lines(program.statements)])
    wrong = [trial for trial in trials if not (trial.matches() or sees_what_it_masks(trial) or _is_uneven(trial))]
    chosen = likeliest([trial for trial in wrong if not trial.matches_without_refused()] or wrong)
    if chosen and chosen[0].has_answers and not any(trial.num_matching() for trial in chosen):
        chosen = list({id(each): each for each in (farthest_alike(program, trial, wrong) for trial in chosen)}.values())
    if known is not None and (own := next((trial for trial in wrong if _is_alike(trial, known)), None)) is not None:
        chosen = [own, *(trial for trial in chosen if trial is not own)][:MAX_TRIALS]
    chosen += [trial for trial in _with_other_inputs(subject, chosen) if not sees_what_it_masks(trial)]
    chosen = list(filter(findings.suits, chosen)) or chosen
    searches = _with_other_calls([_search(program, trial, trials, findings, known) for trial in chosen])
    for search in searches[1:]:
        search.tried = searches[0].tried
    extent = extent or Extent()
    try:
        return _found(program, searches, extent)
    finally:
        extent.allowance.pay(searches)


def _found(program: Program, searches: Sequence[Search], extent: Extent) -> Repair | None:
    """Return the smallest change that one of the searches finds."""
    effort = extent.effort * extent.allowance.share()
    sources = [_all_candidates(search, searches, is_doubted=extent.is_doubted) for search in searches]
    for share in (*SHARES, SHARE_OF_REST if extent.is_single else SHARE_OF_REST / 2 if extent.is_doubted else 0.0):
        for place, (search, candidates) in enumerate(zip(searches, sources, strict=True)):
            search.work = max(search.work, 0.0) + _work_of(searches, place) * share * effort
            found = search.try_changes(candidates)
            if found is not None:
                num_done = sum(each.num_done for each in searches)
                others = [] if any(map(is_endless, search.trial.answers)) else _alternatives(search, found[0])
                shortest = min((found[0], *(each for each in others if each.line == found[0].line)), key=length_of)
                return _repair(program, search, (shortest,), num_done, [found[0], *others])
    ending = (each for each in searches if not any(map(is_endless, each.trial.answers)))  # each further call takes its time limit
    searches = sorted(ending, key=lambda search: -search.num_reached)
    for place, search in enumerate(searches):
        search.work = _work_of(searches, place) * (SHARE_OF_REST if extent.is_single else SHARE_OF_PAIRS) * effort
    of_pairs = 0.0 if extent.is_single else 1 - (SHARE_IN_DOUBT if extent.is_doubted else SHARE_OF_CONVENTIONS)
    left = [search.work * of_pairs for search in searches]
    for search, of_second in zip(searches, left, strict=True):
        search.work -= of_second
        if (found := search.try_conventions()) is not None:
            return _repair(program, search, found, sum(each.num_done for each in searches))
    if extent.is_single:
        return None
    firsts: list[list[tuple[int, Change]]] = []
    for search, of_second in zip(searches, left, strict=True):
        search.work = max(search.work, 0.0) + of_second
        likely = _firsts(search)
        if not extent.is_doubted:
            explained, using = search.explained[:MAX_FIRST_EXPLAINED], _using_what_is_unused(search)
            likely = _distinct([*((0, change) for change in explained), *likely, *((0, change) for change in using)])
        firsts.append(likely)
        if (found := _second(search, firsts[-1], is_stepwise=extent.is_doubted)) is not None:
            return _repair(program, search, found, sum(each.num_done for each in searches))
    possible = [(search, first) for search, each in zip(searches, firsts, strict=True) for _, first in each]
    if not extent.is_doubted:
        possible += [(search, change) for search in searches for change in search.explained[MAX_FIRST_EXPLAINED:]]
    return _with_mistake(program, possible, searches)


def _with_mistake(program: Program, changes: Iterable[tuple[Search, Change]], searches: Sequence[Search]) -> PartOfRepair | None:
    """Return the first change after which a known mistake explains the outputs for all probes, with this mistake."""
    for search, change in changes:
        if (cause := both_mistakes(search, change)) is not None:
            part = _repair(program, search, (change,), sum(each.num_done for each in searches))
            return None if part is None else PartOfRepair(**vars(part), cause=cause)
    return None


def _is_alike(one: Trial, other: Trial) -> bool:
    """Return True for trials of the same call under the same conventions, maybe of other probes."""
    return one.call is other.call and one.conventions == other.conventions


def _with_other_inputs(subject: Subject, trials: Sequence[Trial]) -> list[Trial]:
    """Return trials that give other inputs to a subject that answers no probe: its mistake may be the reason that no convention seems likelier."""
    if not trials or any(trial.num_matching() or any(map(is_endless, trial.answers)) for trial in trials):  # endless calls take long
        return []
    is_answering = any(2 * trial.num_raised() < len(trial.probes) for trial in trials)
    most = MAX_RAISING if not any(trial.has_answers for trial in trials) else MAX_OTHER_INPUTS
    found: list[Trial] = []
    for trial in trials_by_inputs(subject, trials[0].exercise, trials[0].call.library):
        is_known = any(is_called_alike(trial, each, trial.probes[0]) for each in (*trials, *found))
        if (trial.has_answers or not is_answering) and not is_known:
            found.append(trial)
        if len(found) == most:
            break
    return (farthest(found) if most == MAX_RAISING else found)[:MAX_OTHER_INPUTS]


def _with_other_calls(searches: Sequence[Search]) -> list[Search]:
    """Return the searches whose programs are called in different ways: the outputs show which of the other conventions they suit."""
    found: list[Search] = []
    for search in searches:
        probe = search.order[0]
        is_known = any(each.rivals is not None and is_called_alike(each.trial, search.trial, probe) for each in found)
        if not is_known and not any(_raises_alike(each, search) for each in found):
            found.append(search)
    return found


def _raises_alike(one: Search, other: Search) -> bool:
    """Return True if a program that is called in one way raises alike under two conventions: with the exception mended, both are tried."""
    is_same_call = one.trial.call.place == other.trial.call.place and one.order[0].name == other.order[0].name
    return one.raises and other.raises and is_same_call and one.own_error == other.own_error


def _work_of(searches: Sequence[Search], place: int) -> float:
    """Return the work allowed under one of several conventions, of which the first is the likeliest if any output is right, or explained."""
    first = SHARE_OF_FIRST if searches[0].is_explained or searches[0].trial.num_matching() else 1 / len(searches)
    share = 1.0 if len(searches) == 1 else first if place == 0 else (1 - first) / (len(searches) - 1)
    return WORK.get(searches[place].trial.call.library, WORK_OF_OTHERS) * share


def _all_candidates(search: Search, searches: Sequence[Search], *, is_doubted: bool) -> Iterator[Change]:
    """Yield the changes of a program, cheapest first; the same for conventions that give it the same inputs.

    In doubt no change concerns several statements: a norm of the queries and of the keys may be a convention of which nobody knows.
    """
    probe = search.order[0]
    known = (each for each in searches if each.candidates and each.order[0].name == probe.name)
    alike = next((each for each in known if is_called_alike(each.trial, search.trial, probe)), None)
    if alike is None:
        found = [each for each in _candidates(search) if not (_is_of_option(each, search.trial) or _is_unseen(each, search.trial))]
        if search.trial.call.is_wired and not search.raises:  # correct parts take the places of those that the constructor makes
            found.sort(key=search.program.is_in_constructor)
        search.candidates = [each for each in found if not is_of_twins(each)] if is_doubted else found
    else:
        search.candidates, search.unit, search.num_reached = alike.candidates, alike.unit, alike.num_reached
    yield from search.candidates


def _is_of_option(change: Change, trial: Trial) -> bool:
    """Return True for the default of a parameter that the part does not have: it is an option, such as a penalty, or a flag of a class."""
    if not isinstance(change.parent, ast.arguments) or change.index is None:
        return False
    given, call = change.parent, trial.call
    named = given.kwonlyargs if change.field == "kw_defaults" else [*given.posonlyargs, *given.args][-len(given.defaults) :]
    if not isinstance(call, InstanceCall):
        return not call.is_instance and named[change.index].arg not in call.binding.role_of
    is_flag = isinstance(change.old, ast.Constant) and isinstance(change.old.value, bool)
    return is_flag and named[change.index].arg not in {**call.construction.constructor.role_of, **call.construction.forward.role_of}


def _is_uneven(trial: Trial) -> bool:
    """Return True for a program judged without a rotation that is none: a change that leaves it out, or makes it turn nothing, would repair it."""
    call = trial.call
    return isinstance(call, InstanceCall) and call.construction.is_unrotated and any(map(turns_unevenly, call.made.values()))


def _is_unseen(change: Change, trial: Trial) -> bool:
    """Return True for a change that leaves out a rotation where the program is judged without it."""
    if not (isinstance(trial.call, InstanceCall) and trial.call.construction.is_unrotated):
        return False
    before, after = ("".join(map(ast.dump, each if isinstance(each, list) else [each])) for each in (change.old, change.new))
    return leaves_out_rotation(before, after)


def _second(search: Search, firsts: Sequence[tuple[int, Change]], *, is_stepwise: bool) -> tuple[Change, ...] | None:
    """Return two changes after which every probe matches.

    The first pairs start from the changes after which the program comes nearer, the others are pairs of the cheapest changes.

    firsts   changes after which it comes nearer, with the number of probes that match before one that does not
    """
    rest = 0.0 if is_stepwise else search.work * SHARE_OF_CHEAP_PAIRS
    search.work -= rest
    order, baseline = search.order, search.baseline
    for place, (num_right, first) in enumerate(firsts):
        left, share = search.work, search.work * max(SHARE_OF_NEXT, 1 / (len(firsts) - place))
        search.work = share
        search.spend(OBSERVING * search.unit)
        if search.work <= 0:
            break
        search.order = [order[num_right], *order[:num_right], *order[num_right + 1 :]]
        search.start_from(first)
        seconds = _candidates(search, (first,), MAX_COST_OF_SECOND) if search.work > 0 else ()
        found = search.try_changes([each for each in seconds if not _is_unseen(each, search.trial)], (first,))
        search.order, search.baseline, search.max_near = order, baseline, math.inf
        if found is not None:
            return found
        search.work = left - share + max(search.work, 0.0)
    if is_stepwise:
        return None
    search.work = rest + max(search.work, 0.0)
    cheap = [change for change in search.candidates if change.cost <= MAX_COST_OF_PAIR][: NUMBERS_OF_CHEAP[-1]]
    for start, end in pairwise(NUMBERS_OF_CHEAP):
        for place, first in enumerate(cheap[:end]):
            if search.work <= 0:
                return None
            found = search.try_changes(cheap[max(place + 1, start) : end], (first,))
            if found is not None:
                return found
    return None


def _firsts(search: Search) -> list[tuple[int, Change]]:
    """Return the changes after which the program comes nearer, nearest first, with the number of probes that match before one that does not.

    A program is nearer if more probes match, if it reaches more milestones on the first one, if more of that output matches, or if it no longer
    raises.
    """
    probe, length = search.order[0], len(search.order)
    path = search.milestones(probe)[1]
    stage = Stage(search.program, search.trial, probe, is_recording=True)
    nearer = {id(change): min(int(-closeness * length + 1e-6), length - 1) for closeness, _, change in search.steps}
    shares = {id(change): round(-closeness, 3) for closeness, _, change in search.steps if -closeness > search.baseline + NEARER / length}
    likely = [change for change in search.candidates if change.cost <= MAX_COST_OF_SECOND and not change.is_none]
    steps = [each[2] for each in sorted(search.steps, key=lambda step: step[:2])[:MAX_FIRST]]
    running = {id(change) for change in search.running}
    likely = [*steps, *search.running[:MAX_FIRST], *likely[:MAX_FIRST_TRIED]]
    base, limit = search.num_reached, search.work * (1 - SHARE_OF_FIRSTS)
    ranked: list[tuple[int, int, float, int, Change]] = []
    same: dict[tuple[frozenset[int], float, int], int] = {}
    for place, change in enumerate({id(each): each for each in likely}.values()):
        if search.work <= limit:
            break
        search.spend(RECORDING * search.unit)
        search.num_done += 1
        with stage.changed(change) as call:
            if call is None:
                continue
            answered(replace(search.trial, call=call), probe)
            reached = frozenset(path.reached([each.signature for each in stage.values.values()]))
        num_right, share = nearer.get(id(change), 0), shares.get(id(change), 0.0)
        if num_right or len(reached) > base or share or id(change) in running:
            kind = reached, share, change.line
            same[kind] = same.get(kind, 0) + 1
            if same[kind] <= MAX_SAME:
                ranked.append((-num_right, -len(reached), -share, place, change))
    return [(-each[0], each[4]) for each in sorted(ranked, key=lambda each: each[:4])[:MAX_FIRST]]


def _distinct(firsts: Iterable[tuple[int, Change]]) -> list[tuple[int, Change]]:
    """Return first changes, with their numbers, without those that come again later."""
    found: dict[int, tuple[int, Change]] = {}
    for num_right, change in firsts:
        found.setdefault(id(change), (num_right, change))
    return [*found.values()]


def _using_what_is_unused(search: Search) -> list[Change]:
    """Return the cheapest changes that put a variable which nothing reads in the place of another: it was meant to be used."""
    statements = search.program.statements
    unused = set(stored_in(*statements)) - read_in(*statements)
    return [each for each in search.candidates if isinstance(each.new, ast.Name) and each.new.id in unused][:MAX_UNUSED]


def _search(program: Program, trial: Trial, trials: Sequence[Trial], findings: Findings, known: Trial | None) -> Search:
    """Return the search for a repair under the conventions of a trial.

    known   the trial whose outputs a mistake explains: the program supports its probes, which come first
    """
    explained = {probe.name for probe in known.probes} if known is not None else set()
    failing = {probe.name: not trial.is_same(probe, answer) for probe, answer in zip(trial.probes, trial.answers, strict=True)}
    search = Search(program, trial, list(trial.probes), 0.0, findings=findings, known=[each.conventions for each in trials])
    measured = [all(trial.conventions[place] is not each for each in trial.exercise.conventions[place]) for place in measurable(trial)]
    search.is_explained = known is not None and _is_alike(trial, known)
    search.is_measured, search.may_measure = any(measured), bool(measured)
    search.may_refuse = not trial.has_answers or any(failing[probe.name] for probe in trial.probes if probe.beyond is None)
    num_lines = dict.fromkeys(failing, 0)
    if not trial.has_answers:  # the probe with which the program gets farthest tells most
        for probe in trial.probes:
            call = call_of(trial, program.subject)
            _, num_lines[probe.name] = observe(functools.partial(answered, replace(trial, call=call), probe), program.path)
    search.refused = (
        {
            probe.name
            for probe, answer in zip(trial.probes, trial.answers, strict=True)
            if probe.beyond is not None and probe.beyond not in trial.meant_kinds and isinstance(answer, Raised)
        }
        if trial.has_answers
        else ()
    )
    raising = {probe.name for probe, answer in zip(trial.probes, trial.answers, strict=True) if isinstance(answer, Raised)}
    search.order.sort(
        key=lambda probe: (
            not failing[probe.name],
            probe.name in search.refused,
            probe.name not in explained,
            probe.beyond is not None,
            -num_lines[probe.name],
            -num_axes(probe.inputs) if trial.call.is_instance and probe.name in raising else 0,  # a module may need a batch
            num_numbers(probe.inputs),
        )
    )
    search.baseline, search.raises = search.closeness(call_of(trial, program.subject))
    search.is_begun = True
    rivals = Rivals(trial, trials)
    search.rivals = None if search.first is not None and rivals.suit(*search.first) else rivals
    return search


def _candidates(search: Search, before: tuple[Change, ...] = (), most: float = float("inf")) -> Sequence[Change]:
    """Return the changes of a program, or of one with changes made, that concern code which the first failing probe runs.

    most     highest cost
    """
    recorded, recorder = search.program.recording(before)
    subject = search.program.with_changes(before)
    if subject is None or recorded is None:
        return []
    probe = search.order[0]
    answer, _ = answered(replace(search.trial, call=call_of(search.trial, recorded)), probe)
    runs = replace(search.trial, call=call_of(search.trial, subject))
    names, num_lines = observe(lambda: answered(runs, probe), search.program.path)
    search.unit = 1.0 if is_endless(answer) else 1.0 + num_lines / LINES_PER_UNIT
    for change in before:
        change.apply()
    library = search.trial.call.library
    donors, path = search.milestones(probe)
    own = own_of(search.program, names, recorder, library)
    gaps = Gaps(missing(donors, own), made_of_sizes(donors, own), undefined_name(answer), unset_attribute(answer))
    lines = departures(search.program.statements, recorder.values, path)
    expected = search.trial.expected(probe)
    is_number = (
        isinstance(answer, numpy.ndarray | int | float) and isinstance(expected, numpy.ndarray) and numpy.ndim(answer) == 0 < expected.ndim
    )
    misreturned = returned_by(*search.program.statements) if is_number else []
    lines |= {each.lineno for each in misreturned}
    foresight = Foresight(search.program.statements, recorder, path, library)
    statements = search.program.statements
    leading = sources(statements, lines)
    if isinstance(answer, Raised):  # what the line that raised reads may be wrong, or what that was made of
        line = None if is_endless(answer) else last_line(answer.error, search.program.path)
        raising = {*search.findings.suspects, *([] if line is None else [line])}
        read = sources(statements, raising)
        leading |= read | sources(statements, raising | read)
    near = Nearness(lines, leading, foresight, misreturned, raises=isinstance(answer, Raised))
    if not before:
        search.num_reached = len(path.reached([each.signature for each in recorder.values.values()]))
    try:
        seen = Observation(names, recorder.values, num_lines)
        return changes(search.program, seen, library, search.findings, gaps, near, most)
    finally:
        for change in reversed(before):
            change.undo()


def _alternatives(search: Search, found: Change) -> list[Change]:
    """Return the other changes that cost at most as much as a repair and repair the program too."""
    search.rivals = None
    place = next(index for index, change in enumerate(search.candidates) if change is found)
    rest = [change for change in search.candidates[place + 1 :] if change.cost <= found.cost + SAME_COST][:MAX_ALTERNATIVES_TRIED]
    chosen: list[Change] = []
    while len(chosen) < MAX_ALTERNATIVES and (other := search.try_changes(rest)) is not None:
        chosen.append(other[0])
        rest = rest[next(index for index, change in enumerate(rest) if change is other[0]) + 1 :]
    return chosen


def _rewrites(program: Program, found: Sequence[Change]) -> bool:
    """Return True for changes that replace most of a program: what they repair is theirs, not the program's."""
    old = [node for change in found for node in (change.old if isinstance(change.old, list) else [change.old])]
    own = [node for each in functions_in(*program.statements) for statement in each.body for node in ast.walk(statement)]
    return sum(len([*ast.walk(node)]) for node in old) > MOST_REPLACED * len(own)


def _repair(
    program: Program, search: Search, found: tuple[Change, ...], num_evaluations: int, alternatives: Sequence[Change] = ()
) -> Repair | None:
    edits = None if len(found) > 1 and _rewrites(program, found) else edits_of(program, found)
    if edits is None:
        return None
    others = {each.en: each for change in alternatives if (each := says([change])).en != says(found).en}
    return Repair(edits, says(found), search.num_proved or len(search.order), num_evaluations, tuple(others.values()))
