"""Programs with two mistakes of which the catalogue knows one: a change removes the other."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy

from headway.practice.diagnosis.checks.memory import Memory
from headway.practice.diagnosis.checks.trial import Trial
from headway.practice.diagnosis.explain.explaining import is_degenerate, join, measured, named
from headway.practice.diagnosis.repair.outcomes import answered, call_of
from headway.practice.diagnosis.repair.program import Change
from headway.practice.diagnosis.repair.text import says
from headway.practice.diagnosis.repair.trying import Search
from headway.practice.exercise import Probe
from headway.practice.outputs import is_same, precision
from headway.practice.texts import Texts
from headway.practice.verdict import Cause, Repair

TEXTS = Texts("diagnosis")

AND_REPAIRED = "{name} + repaired"
"""Name of the cause of a program with a known mistake and another that a change removes."""

FEWEST = 2
"""Probes that two mistakes have to explain: a single output may have many causes."""

EMPTY_RESULTS = ("nothing_merged",)
"""Causes that remain if a change skips the computation; like a change that returns an input, it leaves nothing to judge."""


@dataclass(frozen=True)
class PartOfRepair(Repair):
    """A change after which a known mistake explains the outputs for all probes.

    cause   both mistakes: the known one and the one that the change removes
    """

    cause: Cause = field(kw_only=True)


def both_mistakes(search: Search, change: Change) -> Cause | None:
    """Return the cause of a program's outputs if a known mistake explains them all after a change, or None."""
    subject = search.program.with_changes((change,))
    if subject is None:
        return None
    search.spend(len(search.order) * search.unit)
    search.num_done += len(search.order)
    changed = replace(search.trial, call=call_of(search.trial, subject))
    whole = replace(changed, answers=tuple(answered(changed, probe)[0] for probe in changed.probes), memory=Memory()).without_refused()
    if len(whole.probes) < min(FEWEST, len(search.trial.probes)) or is_degenerate(whole) or _spoils(search.trial, whole):
        return None
    own = search.program.subject
    found = next(itertools.chain(named(own, whole), measured(own, whole)), None)
    if found is None or found.cause.name in EMPTY_RESULTS or all(map(is_an_input, whole.probes, whole.answers)):
        return None
    if re.search(ABSENCE, found.cause.name) and takes_away_part(change):
        return None
    change_says = says((change,))
    return replace(
        found.cause,
        name=AND_REPAIRED.format(name=found.cause.name),
        says=join([found.cause.says, TEXTS["second_mistake"].format(says=change_says)]),
        fix=join([found.cause.fix, change_says]),
        proof=TEXTS["proof_of_mistake_and_change"].format(count=len(whole.probes)),
        hides=None,
        line=found.cause.line or change.line,
    )


def _spoils(before: Trial, after: Trial) -> bool:
    """Return True if a change makes a right output wrong: the mistake that explains the outputs after it is then its own."""
    right = {probe.name for probe, answer in zip(before.probes, before.answers, strict=True) if before.is_same(probe, answer)}
    return any(probe.name in right and not after.is_same(probe, answer) for probe, answer in zip(after.probes, after.answers, strict=True))


ABSENCE = r"missing|ignored|unused"
"""Pattern of the names of mistakes by which a part has no effect."""


def takes_away_part(change: Change) -> bool:
    """Return True if a change no longer reads an attribute of an instance: it makes the part missing by itself."""
    return bool(_parts_read(change.old) - _parts_read(change.new))


def _parts_read(changed: ast.AST | list[ast.stmt]) -> set[str]:
    """Return the attributes of an instance that a syntax tree reads."""
    nodes = itertools.chain.from_iterable(map(ast.walk, changed if isinstance(changed, list) else [changed]))
    attributes = (node for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name))
    return {node.attr for node in attributes if isinstance(node.value, ast.Name) and node.value.id == "self"}


def is_an_input(probe: Probe, answer: Any) -> bool:
    """Return True if an output, or every array of it, is an array of the inputs, unchanged."""
    given, found = list(_arrays(tuple(probe.inputs.values()))), list(_arrays(answer))
    return bool(found) and all(any(is_same(each, value, precision(each)) for value in given) for each in found)


def _arrays(value: Any) -> Iterator[Any]:
    """Yield the arrays of a value and of the lists and tuples in it."""
    if isinstance(value, numpy.ndarray):
        yield value
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _arrays(each)
