"""Best-first search for one change, then for two, after which every probe matches."""

from __future__ import annotations

import ast
import functools
import heapq
import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from headway.practice.diagnosis.memory import Memory
from headway.practice.diagnosis.repair.changes import alias_of, changes
from headway.practice.diagnosis.repair.donors import Own, missing
from headway.practice.diagnosis.repair.observation import Names, Observation, Recorder, observe
from headway.practice.diagnosis.repair.outcomes import answered, call_of, held_shapes, measurable, share_of_matching, with_measured
from headway.practice.diagnosis.repair.program import Change, Program, program_of
from headway.practice.diagnosis.repair.text import edits_of, says
from headway.practice.diagnosis.repair.undefined import undefined_name
from headway.practice.diagnosis.subject import Subject
from headway.practice.diagnosis.timeout import TookTooLongError
from headway.practice.diagnosis.trials import Trial, num_numbers, trials_of
from headway.practice.exercise import Probe
from headway.practice.outputs import Raised
from headway.practice.verdict import Repair

MAX_TRIALS = 3
"""Conventions under which a repair is sought."""
WORK = {"numpy": 14000, "list": 14000, "torch": 5000, "jax": 300, "mlx": 1500}
"""Work allowed, by array library. A call costs 1, and 1 more for every LINES_PER_UNIT lines that it executes."""
LINES_PER_UNIT = 100
SHARE_OF_FIRST = 0.6
"""Share of the work that goes to the likeliest convention."""
SHARE_OF_PAIRS = 0.5
"""Share of the work that is left for two changes."""
MAX_FIRST = 12
"""Number of first changes that the search for a second one starts from."""
SHARE_OF_CHEAP_PAIRS = 0.6
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
    is_measured  True if a convention was measured from the outputs, so that it has to be measured again after a change
    may_measure  True if a convention could not be measured, but may be measured after a change
    candidates   the changes of the program, cheapest first
    running   changes with which the program runs where the learner's raises
    in_constructors   cheap changes of constructors, where another assignment of the weights may fit
    steps     changes that come nearer, with the share of matching elements
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
    is_measured: bool = False
    may_measure: bool = False
    num_done: int = 0
    candidates: Sequence[Change] = ()
    running: list[Change] = field(default_factory=list)
    in_constructors: list[Change] = field(default_factory=list)
    steps: list[tuple[float, int, Change]] = field(default_factory=list)

    def try_changes(self, candidates: Iterable[Change], before: tuple[Change, ...] = ()) -> tuple[Change, ...] | None:
        """Return the first changes after which every probe matches."""
        for change in candidates:
            if self.work <= 0:
                return None
            if change.is_none or any(_overlap(change, other) for other in before):
                continue
            chosen = (*before, change)
            subject = self.program.with_changes(chosen)
            if subject is None:
                continue
            closeness, has_raised = self.closeness(subject)
            if closeness == 1.0:
                return chosen
            if not before and self.raises and not has_raised:
                self.running.append(change)
                if len(self.running) <= MAX_AT_ONCE and self._is_right_anyhow(subject):
                    return chosen
            if not before and change.cost <= MAX_COST_IN_CONSTRUCTOR and self.program.is_in_constructor(change):
                self.in_constructors.append(change)
            if not before and change.cost <= MAX_COST_OF_SECOND and closeness > self.baseline + 1e-9:
                heapq.heappush(self.steps, (-closeness, len(self.steps), change))
        return None

    def closeness(self, subject: Subject) -> tuple[float, bool]:
        """Return the share of probes that match before the first that does not, with the share of its matching elements; 1 if all match.

        The second value is True if the first call raised.
        """
        trial = replace(self.trial, call=call_of(self.trial, subject))
        if self.is_measured:
            self.work -= self.unit
            return self._closeness(with_measured(trial))
        share, has_raised = self._closeness(trial)
        if self.may_measure and self.baseline < share < 1.0:
            self.work -= self.unit
            share = max(share, self._closeness(with_measured(trial))[0])
        return share, has_raised

    def _closeness(self, trial: Trial) -> tuple[float, bool]:
        answers: dict[str, Any] = {}
        has_raised = False
        for index, probe in enumerate(self.order):
            self.work -= self.unit
            self.num_done += 1
            answer, share = answered(trial, probe)
            answers[probe.name] = answer
            if _is_endless(answer):
                self.work -= WORK_OF_ENDLESS
            has_raised |= index == 0 and isinstance(answer, Raised)
            if share < 1.0 and not (self.may_refuse and probe.beyond is not None and isinstance(answer, Raised)):
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
            subject = self.program.with_changes((change,))
            if subject is not None and self._is_right_anyhow(subject):
                return (change,)
        return None

    def _is_right_anyhow(self, subject: Subject) -> bool:
        """Return True if a subject is right under a convention of its own."""
        return any(trial.without_refused().is_right() for trial in trials_of(subject, self.trial.exercise))

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
    chosen = _likeliest([trial for trial in wrong if not trial.without_refused().matches()] or wrong)
    num_done, searches = 0, []
    for place, trial in enumerate(chosen):
        share = 1.0 if len(chosen) == 1 else SHARE_OF_FIRST if place == 0 else (1 - SHARE_OF_FIRST) / (len(chosen) - 1)
        search = _search(program, trial, WORK.get(trial.call.library, 1000) * share)
        search.trusted = trusted
        reserved = search.work * SHARE_OF_PAIRS
        search.work -= reserved
        search.candidates = _candidates(search, (), suspects)
        found = search.try_changes(search.candidates)
        num_done += search.num_done
        if found is not None:
            return _repair(program, search, found, num_done, _alternatives(search, found[0]))
        search.work, search.num_done = reserved, 0
        searches += [] if any(_is_endless(answer) for answer in trial.answers) else [search]  # each further call takes its time limit
    for search in searches:
        if (found := search.try_conventions()) is not None:
            return _repair(program, search, found, num_done)
    for search in searches:
        found = _second(search, suspects)
        num_done += search.num_done
        if found is not None:
            return _repair(program, search, found, num_done)
    return None


def _second(search: _Search, suspects: Sequence[int]) -> tuple[Change, ...] | None:
    """Return two changes after which every probe matches.

    The first pairs start from the changes that come nearest by themselves. The others are pairs of the cheapest changes: after one of two
    mistakes is repaired, all numbers may still differ.
    """
    firsts = [heapq.heappop(search.steps)[2] for _ in range(min(MAX_FIRST, len(search.steps)))]
    rest = search.work * SHARE_OF_CHEAP_PAIRS
    for place, first in enumerate(firsts):
        search.work, left = (search.work - rest) / (len(firsts) - place), search.work
        share = search.work
        candidates = _candidates(search, (first,), suspects, MAX_COST_OF_SECOND)
        found = search.try_changes(candidates, (first,))
        if found is not None:
            return found
        search.work = left - share + max(search.work, 0.0)
    cheap = [change for change in search.candidates if change.cost <= MAX_COST_OF_PAIR][:MAX_CHEAP]
    for first, second in sorted(itertools.combinations(cheap, 2), key=lambda pair: pair[0].cost + pair[1].cost):
        if search.work <= 0:
            return None
        found = search.try_changes([second], (first,))
        if found is not None:
            return found
    return None


def _likeliest(trials: Sequence[Trial]) -> list[Trial]:
    """Return the trials whose outputs come nearest to the definition's, those with the fewest conventions first among equals.

    A probe that a convention cannot express counts as one that does not match.
    """
    if not any(trial.has_answers for trial in trials):  # conventions that concern outputs alone tell nothing apart
        trials = list({tuple(each.encode for each in trial.conventions): trial for trial in reversed(trials)}.values())[::-1]
    most = max((len(trial.probes) for trial in trials), default=0)
    ranked = sorted(
        (trial for trial in trials if trial.probes),
        key=lambda trial: (
            -round(_mean_share(trial) * len(trial.probes) / most, 3),
            trial.num_raised() / len(trial.probes),
            -sum(probe.beyond is None for probe in trial.probes),
            _num_named(trial),
        ),
    )
    plain = sorted(ranked, key=_num_named)[:1]
    return [*ranked[: MAX_TRIALS - 1], *(trial for trial in [*plain, *ranked[MAX_TRIALS - 1 :]] if trial not in ranked[: MAX_TRIALS - 1])][
        :MAX_TRIALS
    ]


def _num_named(trial: Trial) -> int:
    return sum(convention.name is not None for convention in trial.conventions)


def _mean_share(trial: Trial) -> float:
    pairs = zip(trial.probes, trial.answers, strict=True)
    shares = [share_of_matching(answer, trial.expected(probe), trial.decimals) for probe, answer in pairs]
    return sum(shares) / len(shares)


def _search(program: Program, trial: Trial, work: float) -> _Search:
    failing = {probe.name: not trial.is_same(probe, answer) for probe, answer in zip(trial.probes, trial.answers, strict=True)}
    search = _Search(program, trial, list(trial.probes), work)
    measured = [all(trial.conventions[place] is not each for each in trial.exercise.conventions[place]) for place in measurable(trial)]
    search.is_measured, search.may_measure = any(measured), bool(measured)
    search.may_refuse = any(failing[probe.name] for probe in trial.probes if probe.beyond is None)
    num_lines = dict.fromkeys(failing, 0)
    if not trial.has_answers:  # the probe with which the program gets farthest tells most
        for probe in trial.probes:
            call = call_of(trial, program.subject)
            _, num_lines[probe.name] = observe(functools.partial(answered, replace(trial, call=call), probe), program.path)
    refused = {probe.name for probe in trial.without_refused().refused} if trial.has_answers else set()
    search.order.sort(
        key=lambda probe: (
            not failing[probe.name],
            probe.name in refused,
            probe.beyond is not None,
            -num_lines[probe.name],
            num_numbers(probe.inputs),
        )
    )
    search.baseline, search.raises = search.closeness(program.subject)
    return search


def _candidates(search: _Search, before: tuple[Change, ...], suspects: Sequence[int], most: float = float("inf")) -> Sequence[Change]:
    """Return the changes of a program, or of one with changes made, that concern code which the first failing probe runs.

    most   highest cost
    """
    recorded, recorder = search.program.recording(before)
    subject = search.program.with_changes(before)
    if subject is None or recorded is None:
        return []
    probe = search.order[0]
    answer, _ = answered(replace(search.trial, call=call_of(search.trial, recorded)), probe)
    runs = replace(search.trial, call=call_of(search.trial, subject))
    names, num_lines = observe(lambda: answered(runs, probe), search.program.path)
    search.unit = 1.0 if _is_endless(answer) else 1.0 + num_lines / LINES_PER_UNIT
    for change in before:
        change.apply()
    library = search.trial.call.library
    lacking = missing(search.trial.exercise, library, probe.inputs, _own(search.program, names, recorder, library))
    try:
        seen = Observation(names, recorder.values, num_lines)
        return changes(search.program, seen, library, suspects, lacking, most, search.trusted, undefined_name(answer))
    finally:
        for change in reversed(before):
            change.undo()


def _is_endless(answer: Any) -> bool:
    return isinstance(answer, Raised) and isinstance(answer.error, TookTooLongError)


def _own(program: Program, seen: Mapping[int, Names], recorder: Recorder, library: str) -> Own:
    """Return the expressions of a program by their values, and its names."""
    found: dict[int, ast.expr] = {}
    for each in seen.values():
        found |= {value.digest: ast.Name(name, ast.Load()) for name, value in each.variables.items() if value.digest is not None}
    for node in sorted(recorder.nodes, key=lambda each: len(ast.dump(each))):
        value = recorder.values.get(id(node))
        if value is not None and value.digest is not None:
            found.setdefault(value.digest, node)
    names = vars(program.subject.module) if program.subject.module is not None else {}
    return Own(found, names, alias_of(program, library))


def _overlap(one: Change, other: Change) -> bool:
    """Return True if two changes concern the same place, or one is inside what the other replaces."""
    if one.parent is other.parent and one.field == other.field:
        return one.index == other.index or isinstance(one.old, list) or isinstance(other.old, list)  # lists change the positions
    return id(one.parent) in _nodes(other.old) or id(other.parent) in _nodes(one.old)


def _nodes(tree: Any) -> set[int]:
    roots = tree if isinstance(tree, list) else [tree]
    return {id(node) for root in roots for node in ast.walk(root)}


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
