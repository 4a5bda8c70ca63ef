"""A class that is right with correct parts in place of its own, run with its own ones: it may make them with sizes that do not suit."""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy

from headway.practice.diagnosis.calls.conventions import encoded_for
from headway.practice.diagnosis.checks.trial import Trial
from headway.practice.diagnosis.classes.instances import InstanceCall
from headway.practice.diagnosis.explain.failure import explain
from headway.practice.diagnosis.reading.errors import is_of_sizes
from headway.practice.diagnosis.reading.subject import Subject
from headway.practice.exercise import Inputs, Probe
from headway.practice.recipes.rotation import ROPE
from headway.practice.verdict import Cause


def own_parts_cause(trial: Trial) -> Cause | None:
    """Return the exception that a class raises with its own parts because of the sizes of arrays.

    None if it runs for any probe, or if its parts raise for another reason: they may need sizes of another kind, as a rotation needs heads of
    an even width.
    """
    call = trial.call
    if not isinstance(call, InstanceCall) or not call.is_wired or call.has_guessed_operands:
        return None
    is_of_length = call.construction.constructor.takes("context_length")  # its attention may take inputs of exactly this length
    found: Cause | None = None
    for probe, inputs in _fitting(trial, call):
        try:
            with numpy.errstate(all="ignore"):
                call.run_with_own_parts(inputs, context_length=_positions(inputs) if is_of_length else None)
            return None
        except Exception as error:
            line = _line_of_class(error, call.subject)
            if _is_of_rotation(error) or (_has_own_heads(call) and re.search(OF_RESHAPING, str(error))):
                return None
            if _runs_with_another_mask(call, inputs):
                return None
            if is_of_sizes(error) and line is not None:
                found = found or replace(explain(error, call.subject, probe), line=line)
            elif "to unpack" not in str(error):  # another number of axes than the parts take
                return None
    return found


def batch_cause(trial: Trial) -> Cause | None:
    """Return the exception of sizes that a class raises for several sequences with its own parts, if each sequence alone runs; else None.

    Positions of shape (batch, length), for example, which a rotation does not spread over the heads.
    """
    call = trial.call
    if not isinstance(call, InstanceCall) or not call.is_wired or call.has_guessed_operands:
        return None
    by_number: dict[int, tuple[Probe, Inputs]] = {}
    for probe, inputs in _fitting(trial, call):
        x = _sequence(inputs)
        if x is not None and x.ndim == BATCHED and len(x) > 1:
            by_number.setdefault(len(x), (probe, inputs))
    for number, (probe, inputs) in by_number.items():  # one number of sequences may be that of the heads
        alone = {name: each[:1] if numpy.ndim(each) >= BATCHED and len(each) == number else each for name, each in inputs.items()}
        error = _raised(call, inputs)
        line = None if error is None else _line_of_class(error, call.subject)
        if error is None or line is None or not is_of_sizes(error) or _runs_with_another_mask(call, inputs):
            continue
        if _raised(call, alone) is None:
            return replace(explain(error, call.subject, probe), line=line)
    return None


def _sequence(inputs: Inputs) -> Any:
    """Return the sequence that a layer takes; None without one."""
    return next((inputs[name] for name in ("x", "query") if name in inputs), None)


def _fitting(trial: Trial, call: InstanceCall) -> Iterator[tuple[Probe, Inputs]]:
    """Yield the probes that a class takes, and their inputs as it takes them."""
    for probe in trial.probes:
        inputs = encoded_for(call, trial.conventions, probe.inputs)
        if inputs is not None and call.fits(inputs):
            yield probe, inputs


def _raised(call: InstanceCall, inputs: Inputs) -> Exception | None:
    """Return the exception that a class raises with its own parts, None if it runs."""
    try:
        with numpy.errstate(all="ignore"):
            call.run_with_own_parts(inputs)
    except Exception as error:
        return error
    return None


def _runs_with_another_mask(call: InstanceCall, inputs: Inputs) -> bool:
    """Return True for a class that runs with a mask of keys in place of one of queries and keys: its attention takes a mask of another shape."""
    x, mask = _sequence(inputs), inputs.get("mask")
    if x is None or x.ndim != BATCHED or not isinstance(mask, numpy.ndarray) or mask.ndim < 2:
        return False
    batch, keys = len(x), mask.shape[-1]
    row = mask.reshape(-1, keys)[-1]
    shapes = ((batch, keys), (batch, 1, keys), (batch, 1, 1, keys))
    return any(_raised(call, inputs | {"mask": numpy.broadcast_to(row, shape).copy()}) is None for shape in shapes)


BATCHED = 3
"""Number of axes of a batch of sequences of vectors."""

OF_RESHAPING = r"is invalid for input of size|cannot reshape"
"""Pattern of the message of an exception about a width that is not divided by the number of heads."""


def _has_own_heads(call: InstanceCall) -> bool:
    """Return True for a class whose attention has a number of heads of its own, by which no width of the probes need be divisible."""
    construction = call.construction
    return construction.config is None and not construction.variables and not construction.constructor.takes("num_heads")


def _positions(inputs: Inputs) -> int | None:
    """Return the number of positions of the sequence that a layer takes; None without one."""
    x = _sequence(inputs)
    return None if x is None else int(x.shape[-2])


def _is_of_rotation(error: Exception) -> bool:
    """Return True for an exception in code that rotates, or in code that such code calls."""
    lines = [frame.line or "" for frame in traceback.extract_tb(error.__traceback__)]
    return any(re.search(rf"rot(ary|ate)|{ROPE}|complex", line, re.IGNORECASE) for line in lines)


def _line_of_class(error: Exception, subject: Subject) -> int | None:
    """Return the first line of a class that an exception passed through."""
    lines = [frame.lineno or 0 for frame in traceback.extract_tb(error.__traceback__)]
    return next((line for line in lines if 0 <= line - subject.line < len(subject.source)), None)
