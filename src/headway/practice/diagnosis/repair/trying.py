"""A program under one convention: changes are tried until every probe matches."""

from __future__ import annotations

import ast
import heapq
import math
from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy

from headway.practice.diagnosis.adapters import calls_of
from headway.practice.diagnosis.calls.calling import Call
from headway.practice.diagnosis.calls.timeout import TooManyIterationsError
from headway.practice.diagnosis.checks.memory import Memory
from headway.practice.diagnosis.checks.trial import Trial
from headway.practice.diagnosis.checks.trials import is_endless, trials_that_begin_right
from headway.practice.diagnosis.explain.own_parts import own_parts_cause
from headway.practice.diagnosis.reading.errors import last_line
from headway.practice.diagnosis.reading.trees import is_of_self
from headway.practice.diagnosis.repair.donors import Donor, donors_of
from headway.practice.diagnosis.repair.milestones import Milestones, milestones
from headway.practice.diagnosis.repair.nesting import is_reordered
from headway.practice.diagnosis.repair.outcomes import Held, call_of, held_shapes, num_suiting, read, returned, with_measured
from headway.practice.diagnosis.repair.program import NO_FINDINGS, Change, Findings, Program
from headway.practice.diagnosis.repair.rivals import Rivals, sees_what_it_masks
from headway.practice.diagnosis.repair.stage import Stage
from headway.practice.exercise import Convention, Probe
from headway.practice.message import Message
from headway.practice.outputs import Raised

MAX_COST_OF_SECOND = 1.65
"""Costlier changes are not tried in pairs."""
WORK_OF_ENDLESS, WORK_OF_ITERATIONS = 150, 20
"""Work of a call that does not return, and of one that is ended because of its number of iterations."""
MAX_AT_ONCE = 8
MAX_SEARCHES = 25
MAX_NEARER, MAX_SLIGHTLY_NEARER = 6, 2
MAX_FARTHER_AT_ONCE, MAX_FARTHER = 4, 16
"""Number of changed programs whose conventions are searched: at once and in all, because they no longer raise; because more probes match, or more
elements of the first one that does not; and at once and in all, because they raise another exception, or elsewhere."""
MAX_SUITED, MAX_COST_AT_ONCE = 10, 1.5
"""Number of changed programs whose conventions are searched because another convention makes the first output right, and the cost of those at once."""
MAX_COMPLETED, WORK_OF_COMPLETED = 12, 30
"""Changes that call an unused part after which conventions are searched at once, and the work of that: most of them end early."""
MAX_MEASURED = 6
"""Changes after which conventions are measured again: first ones although the program does not come nearer, and second ones if it does."""
MAX_COST_IN_CONSTRUCTOR, MAX_COST_OF_SURE = 1.5, 0.5
"""Costs of the changes of constructors after which other assignments of the weights are tried, and of those after which they are tried at once."""
MAX_CONSTRUCTED, NUMBERS_PER_UNIT = 80, 2000
"""Changes of constructors whose instances are compared with the program's, and the numbers of an instance that count as one call."""
WORK_OF_INSTANCE = 2.0
"""Work of an instance that is constructed for a call."""
ENOUGH = 4
"""Number of probes that prove a convention if no output was right before a change."""
WORK_PER_SEARCH, WORK_PER_SEARCH_OF_CLASS = 30, 80
"""Work of one search for conventions, of functions and of classes."""
MAX_ASSIGNED, WORK_PER_ASSIGNMENT = 24, 60
"""Changes of constructors after which weights are assigned again, and the work of that."""
MAX_EXPLAINED = 12
"""Changes after which a known mistake is searched for."""

REFUSED = Raised(ValueError("inputs of a kind that the program does not support"))


@dataclass
class Search:
    """A program under one convention, and the work that is left.

    order     probes, those that fail and are small first
    spent     work that is done
    is_begun  True once the program is known without a change
    unit      work of one call
    known     conventions that were tried without a change
    findings  what the diagnosis knows of the mistake
    may_refuse   True if a change may make the program raise for inputs that it need not support: some that it has to support fail
    refused      names of the probes that the program itself refuses, as it may
    is_explained  True if a known mistake explains the outputs
    is_measured  True if a convention was measured from the outputs, so that it has to be measured again after a change
    may_measure  True if a convention could not be measured, but may be measured after a change
    first        the first probe to which the last program that was tried had an answer, and this answer in the program's conventions
    explained    changes after which a known mistake explains the first output, which none does without a change
    output       the last program's output for the first probe, as the definition would return it
    num_proved   probes that the last changed program matches under a convention of its own; None if it matches all of `order`
    num_reached  milestones that the program reaches on the first probe
    candidates   the changes of the program, cheapest first
    shaped    changes after which the first output has the expected shape, and had another one before
    running   changes with which the program runs where the learner's raises
    farther   changes with which the program raises elsewhere, where another convention may suit it
    error     place and kind of the exception that the last program raised first
    in_constructors   cheap changes of constructors, where another assignment of the weights may fit
    suited    changes after which another convention makes the first output right
    suited_pairs   second changes of pairs with the same effect
    suiting   True for the first changes of pairs that have this effect by themselves
    num_near, max_near   changes after which the program comes nearer than without them, and how many of them are measured again
    tried     changes after which all conventions have been tried, of all searches together
    steps     changes that come nearer, with the share of matching elements
    paths     right programs of the part and milestones, by the name of the probe
    rivals    other conventions that may make the first output right; None if one does so without a change
    """

    program: Program
    trial: Trial
    order: list[Probe]
    work: float
    spent: float = 0.0
    unit: float = 1.0
    baseline: float = 0.0
    raises: bool = False
    is_begun: bool = False
    known: Collection[tuple[Convention, ...]] = ()
    findings: Findings = NO_FINDINGS
    may_refuse: bool = True
    refused: Collection[str] = ()
    is_explained: bool = False
    is_measured: bool = False
    may_measure: bool = False
    num_done: int = 0
    num_reached: int = 0
    num_measured: int = 0
    num_constructed: int = 0
    num_completed: int = 0
    num_proved: int | None = None
    candidates: Sequence[Change] = ()
    shaped: list[Change] = field(default_factory=list)
    running: list[Change] = field(default_factory=list)
    farther: list[Change] = field(default_factory=list)
    error: tuple[str, int] | None = None
    in_constructors: list[Change] = field(default_factory=list)
    suited: list[Change] = field(default_factory=list)
    suited_pairs: list[Change] = field(default_factory=list)
    suiting: dict[Hashable, bool] = field(default_factory=dict)
    num_near: int = 0
    max_near: float = math.inf
    tried: set[Hashable] = field(default_factory=set)
    steps: list[tuple[float, int, Change]] = field(default_factory=list)
    paths: dict[str, tuple[list[Donor], Milestones]] = field(default_factory=dict)
    rivals: Rivals | None = None
    first: tuple[Probe, Any] | None = None
    explained: list[Change] = field(default_factory=list)
    output: Any = None

    def spend(self, work: float) -> None:
        """Count work that is done."""
        self.work -= work
        self.spent += work

    def milestones(self, probe: Probe) -> tuple[list[Donor], Milestones]:
        """Return the right programs of the part with their values on a probe, and the milestones."""
        if probe.name not in self.paths:
            donors = donors_of(self.trial.exercise, self.trial.call.library, probe.inputs)
            self.paths[probe.name] = donors, milestones(self.trial, probe, donors)
        return self.paths[probe.name]

    def try_changes(self, candidates: Iterable[Change], before: tuple[Change, ...] = ()) -> tuple[Change, ...] | None:
        """Return the first changes after which every probe matches."""
        stage = Stage(self.program, self.trial, self.order[0], before)
        waiting = iter(candidates)
        while self.work > 0 and (change := next(waiting, None)) is not None:  # none is lost where the work ends: more may follow
            if change.is_none or any(change.overlaps(other) for other in before):
                continue
            chosen = (*before, change)
            if before and all(map(is_reordered, chosen)):  # the order of all norms and residuals is a choice
                continue
            with stage.changed(change) as call:
                if call is None:
                    continue
                closeness, has_raised = self.closeness(call)
            if closeness == 1.0 and self.is_right(chosen):
                return chosen
            if not before and self._is_explained_after(change, closeness):
                self.explained.append(change)
            suited = self.suited_pairs if before else self.suited
            if closeness < 1.0 and self._suits_rivals(suited) and not (before and self._suits_alone(before, closeness)):
                suited.append(change)
                if (before or change.cost <= MAX_COST_AT_ONCE) and self.is_right_anyhow(chosen):
                    return chosen
            if not before and not self.raises and self._is_misshaped and len(self.shaped) < MAX_AT_ONCE and self._is_shaped(self.first):
                self.shaped.append(change)
                self.spend(self._work_per_search)
                if self.is_right_anyhow(chosen):
                    return chosen
            is_completed = closeness < 1.0 and not before and self.num_completed < MAX_COMPLETED and self._uses_unused_part(change)
            if is_completed and self._key_of(chosen) not in self.tried:
                self.num_completed += 1
                self.spend(WORK_OF_COMPLETED * self.unit)
                if self.is_right_anyhow(chosen):
                    return chosen
            is_first_construction = not before and self.program.is_in_constructor(change)
            if not before and self.raises and (not has_raised or (is_first_construction and self._runs_with_weights(chosen))):
                self.running.append(change)
                if len(self.running) <= MAX_AT_ONCE and self.is_right_anyhow(chosen):
                    return chosen
            elif not before and self.raises and self.error not in (None, self.own_error):
                self.farther.append(change)
                if len(self.farther) <= MAX_FARTHER_AT_ONCE and self.is_right_anyhow(chosen):
                    return chosen
            if is_first_construction and change.cost <= MAX_COST_IN_CONSTRUCTOR:
                self.in_constructors.append(change)
                if change.cost <= MAX_COST_OF_SURE and self.is_right_anyhow(chosen):
                    return chosen
            if not before and change.cost <= MAX_COST_OF_SECOND and closeness > self.baseline + 1e-9:
                heapq.heappush(self.steps, (-closeness, len(self.steps), change))
        return None

    def _is_explained_after(self, change: Change, closeness: float) -> bool:
        """Return True if a known mistake explains the first output of the last program, but not that of the program without its change."""
        is_new = len(self.explained) < MAX_EXPLAINED and change.cost <= MAX_COST_OF_SECOND and self._may_be_explained
        is_wrong = closeness * len(self.order) < 1.0 and isinstance(self.output, numpy.ndarray)
        return is_new and is_wrong and self.trial.is_of_mistake(self.order[0], self.output)

    @cached_property
    def _may_be_explained(self) -> bool:
        """True if no known mistake explains the program's first output without a change."""
        probe, found = self._own_first
        answer, share = read(self.trial, probe, found)
        return share < 1.0 and not self.trial.is_of_mistake(probe, answer)

    def _uses_unused_part(self, change: Change) -> bool:
        """Return True for a change that calls a part which the program makes but does not use, so that nothing is known of its weights."""
        new = change.new if isinstance(change.new, list) else [change.new]
        used = {each.func.attr for node in new for each in ast.walk(node) if isinstance(each, ast.Call) and is_of_self(each.func)}
        return bool(used & self._unused_parts)

    @cached_property
    def _unused_parts(self) -> set[str]:
        """The attributes of self that the program assigns but does not read."""
        held = [node for statement in self.program.statements for node in ast.walk(statement) if is_of_self(node)]
        return {node.attr for node in held if isinstance(node.ctx, ast.Store)} - {
            node.attr for node in held if isinstance(node.ctx, ast.Load)
        }

    @cached_property
    def _is_misshaped(self) -> bool:
        """True if the first output without a change has another shape than it should."""
        probe, found = self._own_first
        return not isinstance(found, Raised) and not self._is_shaped((probe, found))

    def _is_shaped(self, first: tuple[Probe, Any] | None) -> bool:
        """Return True for an output, or the first of several, of the expected shape."""
        answer = first[1] if first is not None else None
        answer = answer[0] if isinstance(answer, tuple) and answer else answer
        return first is not None and getattr(answer, "shape", None) == getattr(self.trial.expected(first[0]), "shape", ())

    @cached_property
    def own_error(self) -> tuple[str, int] | None:
        """The place and the kind of the exception that the program raises without a change."""
        return self._place_of(self._own_first[1])

    @cached_property
    def _own_first(self) -> tuple[Probe, Any]:
        """The first probe, and what the program returns for it without a change."""
        probe = self.order[0]
        return probe, returned(replace(self.trial, call=call_of(self.trial, self.program.subject)), probe)

    def _place_of(self, answer: Any) -> tuple[str, int] | None:
        """Return the kind of an exception with the last line of the file that it came from; None for another output."""
        if not isinstance(answer, Raised):
            return None
        line = 0 if is_endless(answer) else last_line(answer.error, self.program.path) or 0  # a loop is interrupted anywhere
        return type(answer.error).__name__, line

    def _runs_with_weights(self, chosen: tuple[Change, ...]) -> bool:
        """Return True if a program with a changed constructor runs once its weights are assigned to the arrays that it holds now.

        If some of the weights suit its arrays already, more of them must: other changes wait until the work for conventions.
        """
        key = ("constructed", *self._key_of(chosen))
        if not self.trial.call.is_instance or self.num_constructed >= MAX_ASSIGNED or key in self.tried:
            return False
        self.tried.add(key)
        self.spend(2 * self.unit)
        subject = self.program.with_changes(chosen)
        held = () if subject is None else held_shapes(self.trial, subject)
        if subject is None or held in ((), self._held) or 0 < self._num_suiting >= num_suiting(self.trial, held):
            return False
        self.num_constructed += 1
        self.spend(WORK_PER_ASSIGNMENT * self.unit)
        calls = calls_of(subject, self.trial.exercise, self.trial.call.library)
        return any(not isinstance(returned(replace(self.trial, call=call), self.order[0]), Raised) for call in calls[:1])

    @cached_property
    def _held(self) -> Held:
        """The names and shapes of the arrays that an instance holds without a change."""
        return held_shapes(self.trial, self.program.subject)

    @cached_property
    def _num_suiting(self) -> int:
        """The number of weights that the arrays of an instance suit without a change."""
        return num_suiting(self.trial, self._held)

    @property
    def _work_per_search(self) -> float:
        return (WORK_PER_SEARCH_OF_CLASS if self.trial.call.is_instance else WORK_PER_SEARCH) * self.unit

    def _suits_rivals(self, suited: Sequence[Change]) -> bool:
        """Return True if another convention makes the last program's first output right, and few changes have done so."""
        if self.rivals is None or self.first is None or len(suited) >= MAX_SUITED or not self.rivals.suit(*self.first):
            return False
        self.spend(self._work_per_search)
        return True

    def start_from(self, first: Change) -> None:
        """Compare second changes with the program after a first one."""
        self.baseline = self.closeness_of((first,))
        self.num_near, self.max_near = 0, MAX_MEASURED

    def _suits_alone(self, before: tuple[Change, ...], closeness: float) -> bool:
        """Return True if another convention makes the first output right without the last change, and this one makes no more probes match."""
        if int(closeness * len(self.order)) > int(self.baseline * len(self.order)):
            return False
        key = self._key_of(before)
        if key not in self.suiting:
            self.closeness_of(before)
            self.suiting[key] = self.rivals is not None and self.first is not None and self.rivals.suit(*self.first)
        return self.suiting[key]

    def is_right(self, chosen: tuple[Change, ...]) -> bool:
        """Return True if every probe matches after changes, in a fresh definition of the program."""
        return self.closeness_of(chosen) == 1.0

    def closeness_of(self, chosen: tuple[Change, ...]) -> float:
        """Return the closeness of a fresh definition of the program after changes."""
        subject = self.program.with_changes(chosen)
        return 0.0 if subject is None else self.closeness(call_of(self.trial, subject))[0]

    def closeness(self, call: Call) -> tuple[float, bool]:
        """Return the share of probes that match before the first that does not, with the share of its matching elements; 1 if all match.

        The second value is True if every call raised.
        """
        trial, before, made = replace(self.trial, call=call), call.num_calls, getattr(call, "made", {})
        num_made = len(made)
        share, has_raised = self._closeness(trial)
        self.spend((call.num_calls - before) * self.unit + (len(made) - num_made) * WORK_OF_INSTANCE)
        is_near = self.baseline < share < 1.0
        self.num_near += is_near
        may_measure = self.num_near <= self.max_near if is_near else self.num_measured < MAX_MEASURED
        if share < 1.0 and may_measure and (self.is_measured or (self.may_measure and is_near)):
            self.num_measured += 1
            before = call.num_calls
            share = max(share, self._closeness(with_measured(trial, None if is_near else 1))[0])
            self.spend((call.num_calls - before) * self.unit)
        return share, has_raised

    def _closeness(self, trial: Trial) -> tuple[float, bool]:
        answers: dict[str, Any] = {}
        refused: set[Message | None] = set()
        self.first, self.error, self.output, reached = None, None, None, 1.0
        for index, probe in enumerate(self.order):
            if probe.beyond is not None and probe.beyond in refused:
                answers[probe.name] = REFUSED
                continue
            self.num_done += 1
            found = returned(trial, probe)
            answer, share = read(trial, probe, found)
            answers[probe.name] = answer
            self.output = answer if index == 0 else self.output
            self.error = self._place_of(found) if index == 0 else self.error
            if is_endless(answer):
                self.spend(WORK_OF_ITERATIONS if isinstance(answer.error, TooManyIterationsError) else WORK_OF_ENDLESS)
            if self.first is None and not isinstance(answer, Raised):
                self.first = probe, found
            is_refusal = probe.beyond is not None and isinstance(answer, Raised)
            if is_refusal and index == 0 and self.is_begun and not self.raises and self.own_error is not None:  # it still raises
                return 0.0, False
            if is_refusal and self.may_refuse:
                refused.add(probe.beyond)
            elif share < 1.0 and not (is_refusal and probe.name in self.refused):
                reached = min(reached, (index + share) / len(self.order))
                if not self._is_misshapen(probe, answer) and not (index and probe.beyond is not None):
                    return reached, self.first is None
        whole = replace(trial, answers=tuple(answers[probe.name] for probe in trial.probes), memory=Memory())
        is_right = not trial.call.has_changed_inputs and whole.is_right_where_supported() and not self._avoids_most(whole)
        return 1.0 if is_right else reached if reached < 1.0 else 0.0, self.first is None

    def _avoids_most(self, changed: Trial) -> bool:
        """Return True for a change after which the program raises for most of the inputs for which it returned wrong outputs."""
        after = dict(zip((probe.name for probe in changed.probes), changed.answers, strict=True))
        return not self.may_refuse and 2 * sum(isinstance(after.get(name), Raised) for name in self._wrong) > len(self._wrong)

    @cached_property
    def _wrong(self) -> list[str]:
        """Probes for which the program without a change returns a wrong output."""
        pairs = zip(self.trial.probes, self.trial.answers, strict=True)
        return [probe.name for probe, answer in pairs if not isinstance(answer, Raised) and not self.trial.is_same(probe, answer)]

    def _is_misshapen(self, probe: Probe, answer: Any) -> bool:
        """Return True for an output of another shape for inputs that the program need not support."""
        expected = self.trial.expected(probe)
        is_array = isinstance(answer, numpy.ndarray) and isinstance(expected, numpy.ndarray)
        return probe.beyond is not None and is_array and answer.shape != expected.shape

    def try_conventions(self) -> tuple[Change, ...] | None:
        """Return the first change after which the program is right under a convention of its own.

        The changes are those with which a program that raised runs, those that make a probe match, and those of constructors.
        """
        whole = 1 / len(self.order)
        steps = sorted(self.steps, key=lambda step: step[:2])
        nearer = [change for closeness, _, change in steps if -closeness >= whole]
        slightly = [change for closeness, _, change in steps if -closeness < whole]
        farther = self.farther[MAX_FARTHER_AT_ONCE:MAX_FARTHER]
        suiting, reshaping = self._reshaping()
        at_once = [*self.running[MAX_AT_ONCE:MAX_SEARCHES], *suiting, *farther, *nearer[:MAX_NEARER]]
        at_once += [*slightly[:MAX_SLIGHTLY_NEARER], *reshaping[:MAX_SEARCHES]]
        likely = [*at_once, *(change for change in self.suited if change.cost > MAX_COST_AT_ONCE)]
        for change in {id(each): each for each in likely}.values():
            if self._key_of((change,)) in self.tried:
                continue
            if self.work <= 0:
                return None
            self.spend(self._work_per_search)
            if self.is_right_anyhow((change,)):
                return (change,)
        return None

    def _key_of(self, chosen: tuple[Change, ...]) -> tuple[Hashable, ...]:
        new = [each.new if isinstance(each.new, list) else [each.new] for each in chosen]
        return tuple((id(each.parent), each.field, each.index, *map(ast.dump, nodes)) for each, nodes in zip(chosen, new, strict=True))

    def is_right_anyhow(self, chosen: tuple[Change, ...]) -> bool:
        """Return True if the changed program is right under a convention of its own; False for one that was tried before.

        A convention that half of the probes do not fit proves nothing, unless ENOUGH fit one that was tried without a change and none was right,
        nor does one that only probes fit whose outputs were right before.
        """
        key = self._key_of(chosen)
        if key in self.tried:
            return False
        self.tried.add(key)
        subject = self.program.with_changes(chosen)
        trials = iter(()) if subject is None else trials_that_begin_right(subject, self.trial.exercise)
        enough = (trial for trial in trials if len(trial.probes) >= self._least(trial) and not sees_what_it_masks(trial))
        proved = (trial for trial in enough if not self._right >= _answered(trial) and not self._avoids_most(trial))
        right = next((trial for trial in proved if trial.is_right_where_supported()), None)
        if right is None or own_parts_cause(right) is not None:  # right with correct parts in place of its own alone
            self.num_proved = None
            return False
        self.num_proved = len(right.probes)
        return True

    def _least(self, trial: Trial) -> float:
        """Return the number of probes that prove the convention of a trial: half of them, of a program that raises half of those that it has to support."""
        counted = self.trial.probes if self.trial.has_answers else [probe for probe in self.trial.probes if probe.beyond is None]
        half = len(counted) / 2
        return min(half, ENOUGH) if not self._right and trial.conventions in self.known else half

    @cached_property
    def _right(self) -> set[str]:
        """The names of the probes whose outputs are right without a change."""
        pairs = zip(self.trial.probes, self.trial.answers, strict=True)
        return {probe.name for probe, answer in pairs if self.trial.is_same(probe, answer)}

    def _reshaping(self) -> tuple[list[Change], list[Change]]:
        """Return the changes of constructors after which the arrays of an instance suit more weights, and those after which they have other shapes."""
        found: list[tuple[int, Change]] = []
        work = self.unit * (1 + sum(math.prod(shape) for _, shape in self._held) / NUMBERS_PER_UNIT)
        for change in self.in_constructors[:MAX_CONSTRUCTED]:
            self.spend(work)
            if self.work <= 0:
                break
            subject = self.program.with_changes((change,))
            if subject is not None and (held := held_shapes(self.trial, subject)) not in ((), self._held):
                found.append((num_suiting(self.trial, held), change))
        own = self._num_suiting
        better = sorted((each for each in found if each[0] > own), key=lambda each: -each[0])
        return [change for _, change in better], [change for number, change in found if number <= own]


def _answered(trial: Trial) -> set[str]:
    """Return the names of the probes to which a trial has an output."""
    return {probe.name for probe, answer in zip(trial.probes, trial.answers, strict=True) if not isinstance(answer, Raised)}
