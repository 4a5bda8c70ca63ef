"""A class that is right with correct parts in place of its own, run with its own ones: it may make them with sizes that do not suit."""

from __future__ import annotations

import re
import traceback
from dataclasses import replace

import numpy

from headway.practice.diagnosis.calls.conventions import encoded_for
from headway.practice.diagnosis.checks.trial import Trial
from headway.practice.diagnosis.classes.instances import InstanceCall
from headway.practice.diagnosis.explain.failure import explain
from headway.practice.diagnosis.reading.errors import is_of_sizes
from headway.practice.diagnosis.reading.subject import Subject
from headway.practice.exercise import Inputs
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
    for probe in trial.probes:
        inputs = encoded_for(call, trial.conventions, probe.inputs)
        if inputs is None or not call.fits(inputs):
            continue
        try:
            with numpy.errstate(all="ignore"):
                call.run_with_own_parts(inputs, context_length=_positions(inputs) if is_of_length else None)
            return None
        except Exception as error:
            line = _line_of_class(error, call.subject)
            if _is_of_rotation(error) or (_has_own_heads(call) and re.search(OF_RESHAPING, str(error))):
                return None
            if is_of_sizes(error) and line is not None:
                found = found or replace(explain(error, call.subject, probe), line=line)
            elif "to unpack" not in str(error):  # another number of axes than the parts take
                return None
    return found


OF_RESHAPING = r"is invalid for input of size|cannot reshape"
"""Pattern of the message of an exception about a width that is not divided by the number of heads."""


def _has_own_heads(call: InstanceCall) -> bool:
    """Return True for a class whose attention has a number of heads of its own, by which no width of the probes need be divisible."""
    construction = call.construction
    return construction.config is None and not construction.variables and not construction.constructor.takes("num_heads")


def _positions(inputs: Inputs) -> int | None:
    """Return the number of positions of the sequence that a layer takes; None without one."""
    x = next((inputs[name] for name in ("x", "query") if name in inputs), None)
    return None if x is None else int(x.shape[-2])


def _is_of_rotation(error: Exception) -> bool:
    """Return True for an exception in code that rotates, or in code that such code calls."""
    lines = [frame.line or "" for frame in traceback.extract_tb(error.__traceback__)]
    return any(re.search(rf"rot(ary|ate)|{ROPE}|complex", line, re.IGNORECASE) for line in lines)


def _line_of_class(error: Exception, subject: Subject) -> int | None:
    """Return the first line of a class that an exception passed through."""
    lines = [frame.lineno or 0 for frame in traceback.extract_tb(error.__traceback__)]
    return next((line for line in lines if 0 <= line - subject.line < len(subject.source)), None)
