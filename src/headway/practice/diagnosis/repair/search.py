"""Best-first search for one change, then for two, after which every probe matches."""

from __future__ import annotations

import functools
import heapq
import itertools
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from headway.practice.diagnosis.calling import Call
from headway.practice.diagnosis.memory import Memory
from headway.practice.diagnosis.repair.changes import changes
from headway.practice.diagnosis.repair.donors import Values, donor_values, missing, own_of
from headway.practice.diagnosis.repair.milestones import Milestones, departures, milestones, sources
from headway.practice.diagnosis.repair.observation import Observation, observe
from headway.practice.diagnosis.repair.outcomes import answered, call_of, held_shapes, is_endless, likeliest, measurable, with_measured
from headway.practice.diagnosis.repair.program import Change, Program, program_of
from headway.practice.diagnosis.repair.stage import Stage
from headway.practice.diagnosis.repair.text import edits_of, says
from headway.practice.diagnosis.repair.undefined import undefined_name
from headway.practice.diagnosis.subject import Subject
from headway.practice.diagnosis.trials import Trial, num_numbers, trials_of
from headway.practice.exercise import Probe
from headway.practice.outputs import Raised
from headway.practice.verdict import Repair

WORK = {"numpy": 14000, "list": 14000, "torch": 4500, "jax": 300, "mlx": 1500}
"""Work allowed, by array library. A call costs 1, and 1 more for every LINES_PER_UNIT lines that it executes."""
LINES_PER_UNIT = 100
SHARE_OF_FIRST = 0.6
"""Share of the work that goes to the likeliest convention."""
SHARES, SHARE_OF_PAIRS = (0.1, 0.3), 0.6
"""Shares of the work for one change, in turns for every convention, and for two changes."""
MAX_FIRST_TRIED = 300
MAX_SAME = 2
RECORDING = 3.0
SHARE_OF_FIRSTS = 0.4
SHARE_OF_NEXT = 0.4
"""First changes whose milestones are counted, those of them that reach the same ones, the work for each, the share of the work for all, and the
share of what is left for the second changes of each."""
MAX_FIRST = 12
"""Number of first changes that the search for a second one starts from."""
SHARE_OF_CHEAP_PAIRS = 0.2
MAX_COST_OF_PAIR = 1.25
MAX_CHEAP = 120
"""Pairs of the cheapest changes: the share of the work for pairs, the highest cost, and the number of changes."""
MAX_COST_OF_SECOND = 1.65
"""Costlier changes are not tried in pairs."""
WORK_OF_ENDLESS = 150
"""Work of a call that does not return."""
SAME_COST = 0.05
"""Costs that differ by less count as equal."""
MAX_ALTERNATIVES = 2
MAX_ALTERNATIVES_TRIED = 40
"""Repairs of equal cost that are reported, and the number of changes that are tried for them."""
MAX_AT_ONCE = 4
MAX_SEARCHES = 25
MAX_NEARER = 6
"""Number of changed programs whose conventions are searched: at once and in all, because they no longer raise, and because more probes match."""
MAX_MEASURED = 150
"""Changes after which conventions are measured again although the program does not come nearer."""
MAX_COST_IN_CONSTRUCTOR = 1.5
WORK_PER_SEARCH = 60
"""Work of one search for conventions."""


@dataclass
class _Search:
    """A program under one convention, and the work that is left.

    order     probes, those that fail and are small first
    unit      work of one call
    trusted   functions and classes that are right by themselves
    may_refuse   True if a change may make the program raise for inputs that it need not support: some that it has to support fail
    refused      names of the probes that the program itself refuses, as it may
    is_measured  True if a convention was measured from the outputs, so that it has to be measured again after a change
    may_measure  True if a convention could not be measured, but may be measured after a change
    num_reached  milestones that the program reaches on the first probe
    candidates   the changes of the program, cheapest first
    running   changes with which the program runs where the learner's raises
    in_constructors   cheap changes of constructors, where another assignment of the weights may fit
    steps     changes that come nearer, with the share of matching elements
    paths     right programs of the part and milestones, by the name of the probe
    """

    program: Program
    trial: Trial
    order: list[Probe]
    work: float
    unit: float = 1.0
    baseline: float = 0.0
    raises: bool = False
    trusted: Collection[str] = ()
    may_refuse: bool = True
    refused: Collection[str] = ()
    is_measured: bool = False
    may_measure: bool = False
    num_done: int = 0
    num_reached: int = 0
    num_measured: int = 0
    candidates: Sequence[Change] = ()
    running: list[Change] = field(default_factory=list)
    in_constructors: list[Change] = field(default_factory=list)
    steps: list[tuple[float, int, Change]] = field(default_factory=list)
    paths: dict[str, tuple[list[tuple[Program, Values]], Milestones]] = field(default_factory=dict)

    def milestones(self, probe: Probe) -> tuple[list[tuple[Program, Values]], Milestones]:
        """Return the right programs of the part with their values on a probe, and the milestones."""
        if probe.name not in self.paths:
            donors = donor_values(self.trial.exercise, self.trial.call.library, probe.inputs)
            others = {each.signature for _, values in donors for each in values.values() if each.signature is not None}
            self.paths[probe.name] = donors, milestones(self.trial, probe, others)
        return self.paths[probe.name]

    def try_changes(self, candidates: Iterable[Change], before: tuple[Change, ...] = ()) -> tuple[Change, ...] | None:
        """Return the first changes after which every probe matches."""
        stage = Stage(self.program, self.trial, self.order[0], before)
        for change in candidates:
            if self.work <= 0:
                return None
            if change.is_none or any(change.overlaps(other) for other in before):
                continue
            chosen = (*before, change)
            with stage.changed(change) as call:
                if call is None:
                    continue
                closeness, has_raised = self.closeness(call)
            if closeness == 1.0 and self.is_right(chosen):
                return chosen
            if not before and self.raises and not has_raised:
                self.running.append(change)
                if len(self.running) <= MAX_AT_ONCE and self._is_right_anyhow(chosen):
                    return chosen
            if not before and change.cost <= MAX_COST_IN_CONSTRUCTOR and self.program.is_in_constructor(change):
                self.in_constructors.append(change)
            if not before and change.cost <= MAX_COST_OF_SECOND and closeness > self.baseline + 1e-9:
                heapq.heappush(self.steps, (-closeness, len(self.steps), change))
        return None

    def is_right(self, chosen: tuple[Change, ...]) -> bool:
        """Return True if every probe matches after changes, in a fresh definition of the program."""
        return self.closeness_of(chosen) == 1.0

    def closeness_of(self, chosen: tuple[Change, ...]) -> float:
        """Return the closeness of a fresh definition of the program after changes."""
        subject = self.program.with_changes(chosen)
        return 0.0 if subject is None else self.closeness(call_of(self.trial, subject))[0]

    def closeness(self, call: Call) -> tuple[float, bool]:
        """Return the share of probes that match before the first that does not, with the share of its matching elements; 1 if all match.

        The second value is True if the first call raised.
        """
        trial, before = replace(self.trial, call=call), call.num_calls
        share, has_raised = self._closeness(trial)
        self.work -= (call.num_calls - before) * self.unit
        is_near = self.baseline < share < 1.0
        if (self.may_measure and is_near) or (self.is_measured and share < 1.0 and (is_near or self.num_measured < MAX_MEASURED)):
            self.num_measured += 1
            before = call.num_calls
            share = max(share, self._closeness(with_measured(trial, None if is_near else 1))[0])
            self.work -= (call.num_calls - before) * self.unit
        return share, has_raised

    def _closeness(self, trial: Trial) -> tuple[float, bool]:
        answers: dict[str, Any] = {}
        has_raised = False
        for index, probe in enumerate(self.order):
            self.num_done += 1
            answer, share = answered(trial, probe)
            answers[probe.name] = answer
            if is_endless(answer):
                self.work -= WORK_OF_ENDLESS
            has_raised |= index == 0 and isinstance(answer, Raised)
            is_refusal = probe.beyond is not None and isinstance(answer, Raised)
            if share < 1.0 and not (is_refusal and (self.may_refuse or probe.name in self.refused)):
                return (index + share) / len(self.order), has_raised
        whole = replace(trial, answers=tuple(answers[probe.name] for probe in trial.probes), memory=Memory())
        return (1.0 if not trial.call.has_changed_inputs and whole.without_refused().is_right() else 0.0), has_raised

    def try_conventions(self) -> tuple[Change, ...] | None:
        """Return the first change after which the program is right under a convention of its own.

        The changes are those with which a program that raised runs, those that make a probe match, and those of constructors.
        """
        whole = 1 / len(self.order)
        nearer = [change for closeness, _, change in sorted(self.steps, key=lambda step: step[:2]) if -closeness >= whole]
        likely = [*self.running[MAX_AT_ONCE:MAX_SEARCHES], *nearer[:MAX_NEARER], *itertools.islice(self._reshaping(), MAX_SEARCHES)]
        for change in {id(each): each for each in likely}.values():
            self.work -= WORK_PER_SEARCH * self.unit
            if self.work <= 0:
                return None
            if self._is_right_anyhow((change,)):
                return (change,)
        return None

    def _is_right_anyhow(self, chosen: tuple[Change, ...]) -> bool:
        """Return True if the changed program is right under a convention of its own."""
        subject = self.program.with_changes(chosen)
        return subject is not None and any(trial.without_refused().is_right() for trial in trials_of(subject, self.trial.exercise))

    def _reshaping(self) -> Iterator[Change]:
        """Yield the changes of constructors after which an instance holds arrays of other shapes."""
        before = held_shapes(self.trial, self.program.subject)
        for change in self.in_constructors:
            self.work -= self.unit
            subject = self.program.with_changes((change,))
            if subject is not None and held_shapes(self.trial, subject) not in ((), before):
                yield change


def find_repair(subject: Subject, trials: Sequence[Trial], suspects: Sequence[int] = (), trusted: Collection[str] = ()) -> Repair | None:
    """Return the smallest change of a subject after which all probes of a trial match, or None within the limit of work.

    trials    outputs under the conventions to consider, likeliest first
    suspects  lines to which the diagnosis points
    trusted   functions and classes of the file that are right by themselves
    """
    program = program_of(subject)
    if program is None:
        return None
    wrong = [trial for trial in trials if not trial.matches()]
    chosen = likeliest([trial for trial in wrong if not trial.without_refused().matches()] or wrong)
    searches = [_search(program, trial, 0.0, trusted) for trial in chosen]
    sources = [_in_two_parts(search, suspects) for search in searches]
    for share in SHARES:
        for place, (search, candidates) in enumerate(zip(searches, sources, strict=True)):
            search.work = max(search.work, 0.0) + _work_of(search, place, len(searches)) * share
            found = search.try_changes(candidates)
            if found is not None:
                num_done = sum(each.num_done for each in searches)
                return _repair(program, search, found, num_done, _alternatives(search, found[0]))
    searches = [each for each in searches if not any(map(is_endless, each.trial.answers))]  # each further call takes its time limit
    searches.sort(key=lambda search: -search.num_reached)
    for place, search in enumerate(searches):
        search.work = _work_of(search, place, len(searches)) * SHARE_OF_PAIRS
    for look in (_Search.try_conventions, functools.partial(_second, suspects=suspects)):
        for search in searches:
            if (found := look(search)) is not None:
                return _repair(program, search, found, sum(each.num_done for each in searches))
    return None


def _work_of(search: _Search, place: int, count: int) -> float:
    """Return the work allowed under one of several conventions, of which the first is the likeliest."""
    share = 1.0 if count == 1 else SHARE_OF_FIRST if place == 0 else (1 - SHARE_OF_FIRST) / (count - 1)
    return WORK.get(search.trial.call.library, 1000) * share


def _in_two_parts(search: _Search, suspects: Sequence[int]) -> Iterator[Change]:
    """Yield the changes of lines near which the program leaves the milestones, then all others."""
    for is_far in (False, True):
        more = _candidates(search, (), suspects, is_far=is_far)
        search.candidates = [*search.candidates, *more]
        yield from more


def _second(search: _Search, suspects: Sequence[int]) -> tuple[Change, ...] | None:
    """Return two changes after which every probe matches.

    The first pairs start from the changes after which the program reaches most milestones. The others are pairs of the cheapest changes.
    """
    rest = search.work * SHARE_OF_CHEAP_PAIRS
    search.work -= rest
    firsts, order, baseline = _firsts(search), search.order, search.baseline
    for place, (num_right, first) in enumerate(firsts):
        left, share = search.work, search.work * max(SHARE_OF_NEXT, 1 / (len(firsts) - place))
        search.work = share
        search.order = [order[num_right], *order[:num_right], *order[num_right + 1 :]]
        search.baseline = search.closeness_of((first,))
        found = search.try_changes(_candidates(search, (first,), suspects, MAX_COST_OF_SECOND), (first,))
        search.order, search.baseline = order, baseline
        if found is not None:
            return found
        search.work = left - share + max(search.work, 0.0)
    search.work = rest + max(search.work, 0.0)
    cheap = [change for change in search.candidates if change.cost <= MAX_COST_OF_PAIR][:MAX_CHEAP]
    for first, second in sorted(itertools.combinations(cheap, 2), key=lambda pair: pair[0].cost + pair[1].cost):
        if search.work <= 0:
            return None
        found = search.try_changes([second], (first,))
        if found is not None:
            return found
    return None


def _firsts(search: _Search) -> list[tuple[int, Change]]:
    """Return the changes after which the program comes nearer, nearest first, with the number of probes that match before one that does not.

    A program is nearer if more probes match, or if it reaches more milestones on the first one.
    """
    probe, length = search.order[0], len(search.order)
    path = search.milestones(probe)[1]
    stage = Stage(search.program, search.trial, probe, is_recording=True)
    nearer = {id(change): min(int(-closeness * length + 1e-6), length - 1) for closeness, _, change in search.steps}
    likely = [change for change in search.candidates if change.cost <= MAX_COST_OF_SECOND and not change.is_none]
    likely = [*(each[2] for each in sorted(search.steps, key=lambda step: step[:2])[:MAX_FIRST]), *likely[:MAX_FIRST_TRIED]]
    base, limit = search.num_reached, search.work * (1 - SHARE_OF_FIRSTS)
    ranked: list[tuple[int, int, int, Change]] = []
    same: dict[frozenset[int], int] = {}
    for place, change in enumerate({id(each): each for each in likely}.values()):
        if search.work <= limit:
            break
        search.work -= RECORDING * search.unit
        search.num_done += 1
        with stage.changed(change) as call:
            if call is None:
                continue
            answered(replace(search.trial, call=call), probe)
            reached = frozenset(path.reached([each.signature for each in stage.values.values()]))
        num_right = nearer.get(id(change), 0)
        if num_right or len(reached) > base:
            same[reached] = same.get(reached, 0) + 1
            if same[reached] <= MAX_SAME:
                ranked.append((-num_right, -len(reached), place, change))
    return [(-each[0], each[3]) for each in sorted(ranked, key=lambda each: each[:3])[:MAX_FIRST]]


def _search(program: Program, trial: Trial, work: float, trusted: Collection[str] = ()) -> _Search:
    failing = {probe.name: not trial.is_same(probe, answer) for probe, answer in zip(trial.probes, trial.answers, strict=True)}
    search = _Search(program, trial, list(trial.probes), work, trusted=trusted)
    measured = [all(trial.conventions[place] is not each for each in trial.exercise.conventions[place]) for place in measurable(trial)]
    search.is_measured, search.may_measure = any(measured), bool(measured)
    search.may_refuse = any(failing[probe.name] for probe in trial.probes if probe.beyond is None)
    num_lines = dict.fromkeys(failing, 0)
    if not trial.has_answers:  # the probe with which the program gets farthest tells most
        for probe in trial.probes:
            call = call_of(trial, program.subject)
            _, num_lines[probe.name] = observe(functools.partial(answered, replace(trial, call=call), probe), program.path)
    search.refused = (
        {
            probe.name
            for probe, answer in zip(trial.probes, trial.answers, strict=True)
            if probe.beyond is not None and isinstance(answer, Raised)
        }
        if trial.has_answers
        else ()
    )
    search.order.sort(
        key=lambda probe: (
            not failing[probe.name],
            probe.name in search.refused,
            probe.beyond is not None,
            -num_lines[probe.name],
            num_numbers(probe.inputs),
        )
    )
    search.baseline, search.raises = search.closeness(call_of(trial, program.subject))
    return search


def _candidates(
    search: _Search, before: tuple[Change, ...], suspects: Sequence[int], most: float = float("inf"), is_far: bool | None = None
) -> Sequence[Change]:
    """Return the changes of a program, or of one with changes made, that concern code which the first failing probe runs.

    most     highest cost
    is_far   False for those near which the program leaves the milestones, True for all others, None for both
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
    lacking = missing(donors, own_of(search.program, names, recorder, library))
    lines = departures(search.program.statements, recorder.values, path)
    near = lines, sources(search.program.statements, lines)
    if not before:
        search.num_reached = len(path.reached([each.signature for each in recorder.values.values()]))
    try:
        seen = Observation(names, recorder.values, num_lines)
        return changes(search.program, seen, library, suspects, lacking, most, search.trusted, undefined_name(answer), near, is_far)
    finally:
        for change in reversed(before):
            change.undo()


def _alternatives(search: _Search, found: Change) -> list[Change]:
    """Return the other changes that cost at most as much as a repair and repair the program too."""
    place = next(index for index, change in enumerate(search.candidates) if change is found)
    rest = [change for change in search.candidates[place + 1 :] if change.cost <= found.cost + SAME_COST][:MAX_ALTERNATIVES_TRIED]
    chosen: list[Change] = []
    while len(chosen) < MAX_ALTERNATIVES and (other := search.try_changes(rest)) is not None:
        chosen.append(other[0])
        rest = rest[next(index for index, change in enumerate(rest) if change is other[0]) + 1 :]
    return chosen


def _repair(
    program: Program, search: _Search, found: tuple[Change, ...], num_evaluations: int, alternatives: Sequence[Change] = ()
) -> Repair | None:
    edits = edits_of(program, found)
    others = {each.en: each for change in alternatives if (each := says([change])).en != says(found).en}
    return None if edits is None else Repair(edits, says(found), len(search.order), num_evaluations, tuple(others.values()))
