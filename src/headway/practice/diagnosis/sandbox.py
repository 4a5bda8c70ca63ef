"""Check of a learner's file in confined processes.

One process runs the diagnosis. Its report decides that a subject is wrong, but "correct" is only a claim: fresh random probes are then
sent to another process, and the answers are compared here, where the learner's code never runs.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from headway.practice.diagnosis.explain.failure import ENDS_THE_PROCESS, FILE_TITLE, MUST_RETURN
from headway.practice.diagnosis.files import read_source
from headway.practice.diagnosis.reading.subject import source_in
from headway.practice.exercises import NAMES
from headway.practice.exercises import exercise as exercise_by_name
from headway.practice.judge.claims import Claim, claim_from
from headway.practice.judge.confinement import MEMORY_BYTES
from headway.practice.judge.confirm import NoAnswerError, Outcome, outcome
from headway.practice.judge.jobs import Examination, Questions
from headway.practice.judge.process import Confined, Conversation, child_environment
from headway.practice.judge.shown import all_printable, printable
from headway.practice.judge.static import Facts, facts_of
from headway.practice.message import EMPTY
from headway.practice.names import PARTS_OF_CLASSES, PARTS_OF_FUNCTIONS, fitting, parts_of_block
from headway.practice.texts import Texts
from headway.practice.verdict import STATUS_WORDS, Cause, Verdict

__all__ = ["TIMEOUT_SECONDS", "CheckFailedError", "check_file", "child_environment"]

TEXTS = Texts("diagnosis")

TIMEOUT_SECONDS = 20.0
LEAST_CONFIRMING_SECONDS = 5.0
"""Least time for the second process, which runs the file again."""

LEAST_SHARE = 0.25
"""Least share of the time limit that the functions after one that hangs are given."""

COMPILING = 3.0
"""Factor of the time limit of files that import JAX, which compiles each operation for each shape."""

REPAIRING = 2.0
"""Factor of the time limit for repairs, whose work is counted: the time ends only where a call takes unusually long."""

MAX_EVENTS = 10_000

OUT_OF_TIME = Cause("too_slow", TEXTS["out_of_time"], TEXTS["give_more_time"], EMPTY)
AT_IMPORT = Cause("too_slow", TEXTS["import_too_slow"], TEXTS["guard_main"], EMPTY)
NOT_CONFIRMED = Cause("not_confirmed", TEXTS["differs_on_fresh_inputs"], TEXTS["use_inputs_alone"], EMPTY)
RAISES = Cause("not_confirmed", TEXTS["raises_for_fresh_inputs"], TEXTS["use_inputs_alone"], EMPTY)
CHANGES = Cause("changes_inputs", TEXTS["modifies_input_arrays"], TEXTS["copy_inputs"], EMPTY)
VARIES = Cause("not_repeatable", TEXTS["not_repeatable"], TEXTS["keep_no_state"], EMPTY)
NOT_DEFINED = Cause("not_defined", TEXTS["no_longer_defined"], TEXTS["do_not_overwrite"], EMPTY)


class CheckFailedError(RuntimeError):
    """The check itself failed: a fault of Headway, not of the learner's code. The traceback is a note."""

    def __init__(self, path: Path, details: str) -> None:
        super().__init__(f"the diagnosis of {path.name} failed: {printable(details.strip().rpartition(chr(10))[2], 200)}")
        self.add_note("\n".join(printable(line) for line in details.splitlines()[-100:]))


@dataclass
class _Report:
    """The examination's results.

    claims     claims by subject
    is_whole   False if only the file's definitions were run
    """

    verdicts: list[Verdict] = field(default_factory=list)
    claims: dict[str, Claim] = field(default_factory=dict)


def check_file(
    path: Path, named: str | None = None, *, timeout_seconds: float = TIMEOUT_SECONDS, seed: int | None = None, is_own: bool = False
) -> list[Verdict]:
    """Return the verdicts on a file's functions and classes, judged in confined processes.

    timeout_seconds   limit for the file, longer for JAX; it starts again after a function that hangs
    seed              seed of the fresh probes, to repeat a check; random by default
    is_own            True to refuse functions that only call Headway's own

    A function that ends the process or never returns gets a verdict, and the functions after it are checked in another process.

    Errors   OptionError for a file that cannot be read; CheckFailedError if the diagnosis itself fails.
    """
    path = path.absolute()
    text = read_source(path)
    facts = facts_of(text)
    with _Checker(path, text, facts, named, timeout_seconds) as checker:
        report = checker.examined()
        confirmed = checker.confirmed(report, secrets.randbits(60) if seed is None else seed, is_own=is_own)
    confirmed += [
        each for verdict in confirmed for each in _of_methods(verdict, facts) if each.subject not in {one.subject for one in confirmed}
    ]
    verdicts = [_finished(verdict, facts) for verdict in confirmed]
    verdicts = sorted([*verdicts, *_missing(verdicts, facts, named)], key=lambda verdict: verdict.line)
    return [*(_with_removed(each, facts) for each in verdicts[:1]), *verdicts[1:]]


class _Checker:
    """The check of one file: the confined processes, and what they are to run."""

    def __init__(self, path: Path, text: str, facts: Facts, named: str | None, seconds: float) -> None:
        self.path, self.text, self.facts, self.named = path, text, facts, named
        compiles = "jax" in facts.imports
        self.seconds, self.seconds_for_repairs = seconds * (COMPILING if compiles else 1.0), seconds * REPAIRING
        self.confined: Confined | None = None

    def __enter__(self) -> _Checker:
        return self

    def __exit__(self, *raised: object) -> None:
        if self.confined is not None:
            self.confined.__exit__(None, None, None)

    def server(self) -> Confined:
        """Return a server that can start another process."""
        if self.confined is None or not self.confined.is_alive:
            self.__exit__()
            self.confined = Confined(self.facts.preloaded).__enter__()
        return self.confined

    def examined(self) -> _Report:
        """Return the diagnosis of all subjects.

        After a function at which the process ended, those that are not correct are judged again with the rest, in half of the time that there was
        before; where that ends too early, the earlier verdict holds.
        """
        report, ended = _Report(), list[Verdict]()
        earlier: dict[str, Verdict] = {}
        seconds = self.seconds
        while True:
            has_hung = any(verdict.subject == self.path.name for verdict in ended)
            skipped = tuple(verdict.subject for verdict in (*report.verdicts, *ended))
            job = Examination(self.path, self.text, self.named, skipped, is_run=not (has_hung or self.facts.trains))
            with self.server().phase(job, seconds, seconds + self.seconds_for_repairs) as conversation:
                last = self._read(conversation, report, seconds)
            if last is None:
                found = {verdict.subject: verdict for verdict in (*ended, *report.verdicts)}
                report.verdicts = [*(earlier | found).values()]
                return report
            is_file = last["subject"] == self.path.name
            if not is_file:
                earlier |= {verdict.subject: verdict for verdict in report.verdicts}
                seconds = max(seconds / 2, self.seconds * LEAST_SHARE)
            report.verdicts = [verdict for verdict in report.verdicts if verdict.subject in report.claims]
            ended.append(earlier.get(last["subject"]) or _verdict_of_ended(last, conversation.ended_for, is_file=is_file))
            if has_hung and is_file:
                report.verdicts = [*report.verdicts, *ended[:-1]]
                return report

    def _read(self, conversation: Conversation, report: _Report, limit: float) -> dict[str, Any] | None:
        """Fill a report with the process's events; return the function at which it ended, or None if it judged all of them.

        If the time ended, it is the function that took most of it. The time limit starts again once, when the file has been imported: what it
        imports, such as transformers, can take longer than the check.
        """
        last: dict[str, Any] | None = {"subject": self.path.name, "line": 1}
        seconds: dict[str, float] = {}
        begun: dict[str, dict[str, Any]] = {}
        started, is_imported = time.monotonic(), False
        for _ in range(MAX_EVENTS):
            data = conversation.receive()
            now = time.monotonic()
            if last is not None and last["subject"] != self.path.name:
                name = last["subject"]
                seconds[name], begun[name] = seconds.get(name, 0.0) + now - started, last
            started = now
            if data is None:
                open_ones = [name for name in seconds if name not in report.claims]
                is_late = last is not None and conversation.ended_for == "time" and open_ones
                return begun[max(open_ones, key=seconds.__getitem__)] if is_late else last
            event = _event(data)
            if "end" in event:
                return None
            if "judged" in event:  # what follows are repairs, which get time of their own, and may need more
                last = None
                conversation.begin(self.seconds_for_repairs)
            if "failed" in event:
                raise CheckFailedError(self.path, str(event["failed"]))
            if "begins" in event:
                begun_one = self._begun(event["begins"])
                if begun_one is not None and begun_one["subject"] != self.path.name and not is_imported:
                    is_imported = True
                    conversation.begin(limit)
                last = begun_one or last
            elif "final" in event:
                self._add(event, report)
        return last

    def _begun(self, values: Any) -> dict[str, Any] | None:
        if not isinstance(values, dict) or values.get("subject") not in (*self.facts.lines, self.path.name):
            return None
        line, name = values.get("line"), values.get("exercise")
        begun = {"subject": values["subject"], "line": line if type(line) is int else 1}
        return begun | ({"exercise": name} if name in NAMES else {})

    def _add(self, event: dict[str, Any], report: _Report) -> None:
        verdict = _verdict(event["final"], (*self.facts.lines, self.path.name))
        if verdict is None:
            return
        if verdict.is_correct:
            claim = (
                claim_from(event.get("claim"), exercise_by_name(verdict.exercise), verdict.subject) if verdict.exercise in NAMES else None
            )
            if claim is None or not self._may_be(verdict):
                verdict = _refused(verdict, NOT_CONFIRMED)
            else:
                report.claims[verdict.subject] = claim
        report.verdicts = [*(each for each in report.verdicts if each.subject != verdict.subject), verdict]

    def _may_be(self, verdict: Verdict) -> bool:
        """Return True if a subject may be judged as this exercise: by its name, or by its outputs if the name means no part for certain."""
        name = verdict.subject.rpartition(".")[2]
        likely, possible = fitting(name)
        fits = [self.named] if self.named else [*likely, *(possible if likely else ()), *(parts_of_block(name) if likely else ())]
        if self.named is None:
            others = PARTS_OF_FUNCTIONS if verdict.subject in self.facts.functions else PARTS_OF_CLASSES
            fits += [name for each in fits for name in others.get(each, ())]
        return not fits or any(verdict.exercise in (each, *exercise_by_name(each).related) for each in fits)

    def confirmed(self, report: _Report, seed: int, *, is_own: bool) -> list[Verdict]:
        """Return the verdicts; those that are correct have been confirmed with fresh probes."""
        left = dict(report.claims)
        outcomes: dict[str, Outcome | Cause] = {}
        uses_headway: set[str] = set()
        for attempt in range(2):  # an unlucky draw must not refuse a right function
            outcomes |= self._outcomes(list(left.values()), seed + attempt, is_open=False)
            left = {name: claim for name, claim in left.items() if not _is_right(outcomes[name])}
            if not left:
                break
        borrowing = [claim for name, claim in left.items() if name in self.facts.borrowing]
        if borrowing:
            found = self._outcomes(borrowing, seed + 2, is_open=True)
            uses_headway = {name for name, each in found.items() if _is_right(each)}
            outcomes |= {} if is_own else {name: found[name] for name in uses_headway}
        verdicts = []
        for verdict in report.verdicts:
            of_it = outcomes.get(verdict.subject) if verdict.is_correct else None
            verdict = verdict if of_it is None else _judged(verdict, of_it)
            notes = (*verdict.notes, *([TEXTS["uses_headway"]] if verdict.subject in uses_headway else []))
            verdicts.append(replace(verdict, notes=notes))
        return verdicts

    def _outcomes(self, claims: Sequence[Claim], seed: int, *, is_open: bool) -> dict[str, Outcome | Cause]:
        """Return the outcome of each claim, or the reason why there is none."""
        found: dict[str, Outcome | Cause] = {}
        for group in _groups(claims):
            while left := [claim for claim in group if claim.subject not in found]:
                found |= self._outcomes_of_group(left, seed, is_open=is_open)
        return found

    def _outcomes_of_group(self, claims: Sequence[Claim], seed: int, *, is_open: bool) -> dict[str, Outcome | Cause]:
        """Return outcomes up to the first claim at which the process ends."""
        found: dict[str, Outcome | Cause] = {}
        names = tuple(dict.fromkeys(claim.exercise for claim in claims))
        job = Questions(self.path, self.text, names, claims[0].is_whole, is_open, seed)
        limit = max(self.seconds, LEAST_CONFIRMING_SECONDS)
        with self.server().phase(job, limit, limit) as conversation:
            is_ready = conversation.receive() is not None
            conversation.begin(limit)

            def ask(data: bytes) -> bytes | None:
                conversation.send(data)
                return conversation.receive()

            for claim in claims:
                try:
                    if not is_ready:
                        raise NoAnswerError
                    is_function = claim.subject in self.facts.functions
                    exercise, source = exercise_by_name(claim.exercise), source_in(self.text, claim.subject) or ""
                    found[claim.subject] = outcome(exercise, claim, seed, ask, is_function=is_function, source=source)
                except NoAnswerError:
                    found[claim.subject] = _cause_of_end(conversation.ended_for)
                    break
        return found


def _groups(claims: Sequence[Claim]) -> list[list[Claim]]:
    """Group claims that one process can answer: an exercise with calls of its own needs functions that answer others."""
    groups: dict[tuple[bool, str], list[Claim]] = {}
    for claim in claims:
        exercise = exercise_by_name(claim.exercise)
        alone = claim.exercise if exercise.calls or exercise.class_calls else ""
        groups.setdefault((claim.is_whole, alone), []).append(claim)
    return list(groups.values())


def _is_right(found: Outcome | Cause) -> bool:
    return isinstance(found, Outcome) and found.is_right


def _judged(verdict: Verdict, found: Outcome | Cause) -> Verdict:
    if isinstance(found, Cause):
        return replace(_refused(verdict, found), status="could not run")
    if found.only_raises:
        return replace(_refused(verdict, RAISES), status="could not run", difference=found.difference)
    if not found.is_right:
        return replace(_refused(verdict, NOT_CONFIRMED), difference=found.difference)
    if found.changes and not exercise_by_name(verdict.exercise).may_write:
        return _refused(verdict, CHANGES)
    return verdict if found.repeats else _refused(verdict, VARIES)


def _refused(verdict: Verdict, cause: Cause) -> Verdict:
    return Verdict(verdict.subject, verdict.exercise, verdict.line, "wrong", (cause,), title=verdict.title)


def _event(data: bytes) -> dict[str, Any]:
    """Return an event; an empty one for bytes that are none."""
    try:
        event = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return event if isinstance(event, dict) else {}


def _verdict(values: Any, subjects: Sequence[str]) -> Verdict | None:
    """Return the verdict in plain values from a confined process; None if they are not a verdict on one of these subjects."""
    try:
        verdict = Verdict.from_dict(values)
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
    is_known = verdict.subject in subjects and (verdict.exercise in NAMES or verdict.exercise == "file")
    if not is_known or verdict.status not in STATUS_WORDS or verdict.status == "not judged" or not _is_well_typed(verdict):
        return None
    title = exercise_by_name(verdict.exercise).title if verdict.exercise in NAMES else FILE_TITLE
    if verdict.is_correct and (verdict.causes or verdict.exercise == "file"):
        return None
    try:
        return all_printable(replace(verdict, title=title))
    except (TypeError, AttributeError):
        return None


def _is_well_typed(verdict: Verdict) -> bool:
    """Return True if names are text and lines are numbers; the texts are checked where they are made printable."""
    numbers = [verdict.line, *(cause.line for cause in verdict.causes if cause.line is not None)]
    edits = verdict.repair.edits if verdict.repair else ()
    numbers += [number for edit in edits for number in (edit.line, edit.column, edit.end_line, edit.end_column)]
    texts = [*(cause.name for cause in verdict.causes), *(edit.replacement for edit in edits)]
    is_known = type(verdict.is_confirmed) is bool
    return is_known and all(type(number) is int for number in numbers) and all(type(text) is str for text in texts)


COMPARED = {"bpe_tokenizer": ("bpe_train", "bpe_encode", "bpe_decode"), "bpe_train": ("bpe_train",)}
"""Parts that the methods of a class are if the class is right as the part that is the key: the outputs of all of them were compared."""


def _of_methods(verdict: Verdict, facts: Facts) -> list[Verdict]:
    """Return the verdicts on the methods of a right tokenizer."""
    compared = COMPARED.get(verdict.exercise, ()) if verdict.is_correct else ()
    methods = facts.tokenizing.get(verdict.subject, {})
    return [
        Verdict(name, part, line, "correct", title=exercise_by_name(part).title)
        for part, (name, line) in methods.items()
        if part in compared
    ]


def _finished(verdict: Verdict, facts: Facts) -> Verdict:
    """Return a verdict with the line that the text gives, and a note on definitions that it shadows."""
    line = facts.lines.get(verdict.subject, verdict.line)
    earlier = facts.shadowed.get(verdict.subject, ())
    if not earlier:
        return replace(verdict, line=line)
    note = TEXTS["shadowed"].format(lines=", ".join(map(str, earlier)), name=verdict.subject, line=line)
    return replace(verdict, line=line, notes=(*verdict.notes, note))


def _with_removed(verdict: Verdict, facts: Facts) -> Verdict:
    """Return the first verdict of a file with a note on each name in the file that a later version of its library does not have."""
    uses = {use.name: use for use in reversed(facts.removed)}
    notes = [TEXTS["removed"].format(line=use.line, name=use.name, instead=use.instead) for use in reversed(uses.values())]
    return replace(verdict, notes=(*verdict.notes, *notes))


def _missing(verdicts: Sequence[Verdict], facts: Facts, named: str | None) -> list[Verdict]:
    """Return verdicts on the functions that the file's text defines and that no verdict is about, if all others are correct."""
    if named is not None or not all(verdict.is_correct for verdict in verdicts):
        return []
    judged = {verdict.subject for verdict in verdicts}
    found = {name: fitting(name)[0] for name in facts.lines if name not in judged and name not in facts.optional}
    return [
        Verdict(name, likely[0], facts.lines[name], "could not run", (NOT_DEFINED,), title=exercise_by_name(likely[0]).title)
        for name, likely in found.items()
        if likely
    ]


def _cause_of_end(ended_for: str | None) -> Cause:
    if ended_for == "time":
        return OUT_OF_TIME
    if ended_for == "memory":
        gigabytes = MEMORY_BYTES / 2**30
        says = TEXTS["too_large"].format(gigabytes=gigabytes)
        return Cause("too_large", says, MUST_RETURN, EMPTY)
    return Cause("exits", ENDS_THE_PROCESS, MUST_RETURN, EMPTY)


def _verdict_of_ended(last: dict[str, Any], ended_for: str | None, *, is_file: bool) -> Verdict:
    """Return the verdict for a process that ended early: the function it was checking, and the reason.

    is_file   True if it was running the file
    """
    if ended_for == "time" and is_file:
        return Verdict(last["subject"], "file", last["line"], "could not run", (AT_IMPORT,), title=FILE_TITLE)
    name = last.get("exercise")
    title = exercise_by_name(name).title if name else FILE_TITLE
    return Verdict(last["subject"], name or "file", last["line"], "could not run", (_cause_of_end(ended_for),), title=title)
