"""Check of an attention's branches for masks of other numbers of axes: each of them hides the right keys."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import numpy

from headway.practice.diagnosis.calls.conventions import encoded_for, output_of
from headway.practice.diagnosis.checks.trial import Trial
from headway.practice.exercise import Convention, Probe
from headway.practice.message import EMPTY
from headway.practice.outputs import Raised
from headway.practice.recipes.attention import MASK_SHAPES
from headway.practice.texts import Texts
from headway.practice.verdict import Cause

TEXTS = Texts("diagnosis")

BRANCH = r"\b\w*mask\w*(?:\.ndim|\.dim\(\)) *== *(\d)|\blen\(\w*mask\w*\.(?:shape|size\(\))\) *== *(\d)"
"""Pattern of a branch for masks with a certain number of axes."""
AXES = r"\w*mask\w*(?:\.ndim|\.dim\(\))"
ACCEPTED = rf"\bassert +(?:(\d) *<= *{AXES} *<= *(\d)|{AXES} *in *[\[({{]([\d, ]+)[\])}}])"
"""Pattern of the line that accepts masks with certain numbers of axes: the least and the most, or each of them."""


def mask_branch_cause(trial: Trial) -> Cause | None:
    """Return a cause if masks with a number of axes that the source provides for are accepted, and wrong in all their forms; else None.

    They are wrong as well if the mask of the first sequence is applied to all.
    """
    source = trial.call.subject.used_source
    if not any(role.name == "mask" for role in trial.call.binding.role_of.values()):
        return None
    accepted = _accepted(source)
    for num_axes in sorted({int(first or second) for first, second in re.findall(BRANCH, source)} | accepted):
        outcomes = [*_outcomes(trial, num_axes)]
        if (outcomes and not any(outcomes)) or _uses_first_alone(trial, num_axes):
            says = TEXTS["mask_of_axes_wrong"].format(num_axes=num_axes)
            pattern = rf"mask\w*(\.ndim|\.dim\(\)|\.shape\)|\.size\(\)\)) *== *{num_axes}"
            line = trial.call.subject.line_of(pattern) or trial.call.subject.line_of(ACCEPTED)
            return Cause("mask_of_axes_wrong", says, TEXTS["expand_mask"], EMPTY, line=line)
    return None


def _accepted(source: str) -> set[int]:
    """Return the numbers of axes of the masks that an assertion of the source accepts."""
    found: set[int] = set()
    for least, most, each in re.findall(ACCEPTED, source):
        found |= {*map(int, re.findall(r"\d", each))} or {*range(int(least), int(most) + 1)}
    return found


def _outcomes(trial: Trial, num_axes: int) -> Iterator[bool]:
    """Yield whether the output is right for each mask with this number of axes that does not raise."""
    for probe in _masked(trial):
        if isinstance(trial.expected(probe), Raised):
            continue
        for conventions in _shaped(trial, probe, num_axes):
            answer = output_of(trial.call, conventions, probe.inputs)
            if not isinstance(answer, Raised):
                yield trial.is_same(probe, answer)


def with_mask_shapes(trial: Trial) -> list[tuple[Convention, ...]]:
    """Return the conventions of a trial with each shape of masks."""
    place = next((number for number, group in enumerate(trial.exercise.conventions) if {*MASK_SHAPES} <= {*group}), None)
    if place is None:
        return []
    return [(*trial.conventions[:place], shape, *trial.conventions[place + 1 :]) for shape in trial.exercise.conventions[place]]


def _shaped(trial: Trial, probe: Probe, num_axes: int) -> Iterator[tuple[Convention, ...]]:
    """Yield the conventions of a trial with each shape that gives the mask this number of axes."""
    for conventions in with_mask_shapes(trial):
        encoded = encoded_for(trial.call, conventions, probe.inputs)
        mask = None if encoded is None else encoded.get("mask")
        if mask is not None and numpy.ndim(mask) == num_axes:
            yield conventions


def _uses_first_alone(trial: Trial, num_axes: int) -> bool:
    """Return True if the outputs for different masks of the sequences are those for the first of them, in every form that does not raise."""
    found: list[bool] = []
    for probe in _masked(trial):
        mask = probe.inputs["mask"]
        if len(mask) < 2 or mask.ndim < 3:
            continue
        alike = replace(probe, name=f"{probe.name}, of the first", inputs=probe.inputs | {"mask": numpy.broadcast_to(mask[:1], mask.shape)})
        for conventions in _shaped(trial, probe, num_axes):
            answers = [output_of(trial.call, conventions, each.inputs) for each in (probe, alike)]
            if not any(isinstance(each, Raised) for each in answers):
                found.append(trial.is_same(alike, answers[0]) and not trial.is_same(probe, answers[0]) and trial.is_same(alike, answers[1]))
    return bool(found) and all(found)


def _masked(trial: Trial) -> Iterator[Probe]:
    """Yield probes with a mask of the keys of each sequence, and with one of queries and keys: for other lengths of both, and for equal ones."""
    seen: set[bool] = set()
    for probe in trial.probes:
        query, mask = probe.inputs.get("query", probe.inputs.get("x")), probe.inputs.get("mask")
        if mask is None or mask.dtype != bool or query is None or query.ndim < 3 or len(query) < 2:
            continue
        batch, queries, keys = len(query), query.shape[-2], mask.shape[-1]
        ones = [1] * (2 if query.ndim > 3 or "num_heads" in probe.inputs else 1)
        if (queries == keys) in seen:
            continue
        seen.add(queries == keys)
        of_keys = numpy.arange(keys) != keys - 1 - numpy.arange(batch)[:, None] % keys
        of_queries = numpy.arange(keys) != (numpy.arange(queries)[:, None] + 1) % keys
        for name, other in (("keys", of_keys.reshape(batch, *ones, keys)), ("queries", of_queries)):
            yield replace(probe, name=f"{probe.name}, mask of {name}", inputs=probe.inputs | {"mask": other})
