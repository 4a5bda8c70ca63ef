"""Check of an attention whose rotary positions change no output: they turn all positions alike, for example by the index of the head."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection
from types import FrameType
from typing import Any

import numpy

from headway.practice.diagnosis.calls.compare import as_numbers
from headway.practice.diagnosis.calls.conventions import output_of
from headway.practice.diagnosis.checks.trial import Trial
from headway.practice.diagnosis.classes.instances import InstanceCall
from headway.practice.diagnosis.classes.unrotated import PART
from headway.practice.diagnosis.classes.variables import codes_of
from headway.practice.message import EMPTY
from headway.practice.outputs import Raised
from headway.practice.recipes.rotation import ROTATED
from headway.practice.texts import Texts
from headway.practice.verdict import Cause

TEXTS = Texts("diagnosis")

LEAST_POSITIONS = 3
SMALL = 1e-3
"""Change of a vector, relative to its length, from which it counts as rotated."""


def rotation_effect_cause(trial: Trial) -> Cause | None:
    """Return a cause if an attention rotates its queries or keys, and its outputs are those without rotary positions; else None."""
    call = trial.call
    if not isinstance(call, InstanceCall) or call.construction.is_unrotated or not re.search(PART, call.subject.own_source, re.IGNORECASE):
        return None
    if "attention" not in trial.exercise.name or any(each is rotated and each.steps for each in trial.conventions for rotated in ROTATED):
        return None
    for probe, answer in zip(trial.probes, trial.answers, strict=True):
        x = probe.inputs.get("query", probe.inputs.get("x"))
        if isinstance(answer, Raised) or not isinstance(x, numpy.ndarray) or x.ndim < 2 or x.shape[-2] < LEAST_POSITIONS:
            continue
        turns = _Turns({code.co_filename for code in codes_of(call.subject.value)})
        before = sys.getprofile()
        sys.setprofile(turns)
        try:
            output_of(call, trial.conventions, probe.inputs)
        finally:
            sys.setprofile(before)
        if not turns.have_turned:
            return None
        return Cause(
            "rotation_without_effect",
            TEXTS["rotation_without_effect"],
            TEXTS["rotate_along_positions"],
            EMPTY,
            line=call.subject.line_of(rf"(?i)=.*({PART})\w*\("),
        )
    return None


class _Turns:
    """A profiler that notes if a function or a module for rotary positions returns vectors of the lengths that it was given, but other ones."""

    def __init__(self, files: Collection[str]) -> None:
        self.files = files
        self.have_turned = False
        self._given: dict[int, list[numpy.ndarray]] = {}

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        if event not in ("call", "return") or frame.f_code.co_filename not in self.files or not _is_rotation(frame):
            return
        if event == "call":
            self._given[id(frame)] = [found for each in frame.f_locals.values() if (found := _vectors(each)) is not None]
            return
        given = self._given.pop(id(frame), [])
        returned = argument if isinstance(argument, tuple | list) else [argument]
        outputs = [found for each in returned if (found := _vectors(each)) is not None]
        self.have_turned |= any(_is_turned(one, other) for one in given for other in outputs)


def _is_rotation(frame: FrameType) -> bool:
    owner = type(frame.f_locals.get("self", None)).__name__
    return re.search(PART, f"{frame.f_code.co_name} {owner}", re.IGNORECASE) is not None


def _vectors(value: Any) -> numpy.ndarray | None:
    """Return a copy of an array of vectors, or None."""
    if not hasattr(value, "shape") or len(value.shape) < LEAST_POSITIONS:
        return None
    try:
        found = numpy.array(as_numbers(value))
    except Exception:  # a tracer
        return None
    return found if found.dtype.kind == "f" else None


def _is_turned(before: numpy.ndarray, after: numpy.ndarray) -> bool:
    if before.shape != after.shape:
        return False
    length, length_after = (numpy.linalg.norm(each, axis=-1) for each in (before, after))
    is_same = numpy.allclose(before, after, atol=SMALL * length.max(initial=0.0))
    return bool(numpy.allclose(length, length_after, rtol=SMALL) and not is_same)
