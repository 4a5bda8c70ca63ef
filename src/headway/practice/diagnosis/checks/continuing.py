"""Check of an attention's key-value cache: a pass with the cached keys and values of earlier positions equals that part of a whole pass."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy

from headway.arrays import to_numpy
from headway.practice.diagnosis.calls.binding import TABLE
from headway.practice.diagnosis.calls.conventions import encoded_for
from headway.practice.diagnosis.checks.trials import Trial
from headway.practice.diagnosis.classes.instances import InstanceCall
from headway.practice.diagnosis.classes.method_binding import call_parameters
from headway.practice.diagnosis.reading.errors import is_of_sizes, last_line
from headway.practice.message import EMPTY, Message, describe_error
from headway.practice.outputs import is_same
from headway.practice.texts import Texts
from headway.practice.verdict import Cause

TEXTS = Texts("diagnosis")

ATTENTIONS = ("self_attention", "causal_self_attention", "multi_head_attention", "grouped_query_attention", "transformer_block")
"""Exercises whose classes may take a cache."""

CACHE = r"(kv_?|past_?|layer_?)?(cache|past)(_?(kv|key_?values?))?s?"
"""Pattern of the name of a parameter that takes the cache which an earlier call has returned."""
START = r"start_?pos(ition)?|offset|position_?offset|past_?len(gth)?|cache_?len(gth)?"
"""Pattern of the name of a parameter that takes the number of cached positions."""
USES = r"(use|return)_(kv_?)?cache"
"""Pattern of the name of a flag without which no cache is returned."""

TOLERANCE = 1e-3
NUM_NEW = 3
"""Number of positions after the cached ones."""


class RaisedError(Exception):
    """A pass with the cache of an earlier one has raised `error`."""

    def __init__(self, error: Exception) -> None:
        self.error = error


def cache_cause(trial: Trial) -> Cause | Message | None:
    """Return a cause if one new position after cached ones has another output than in a whole pass, a note if only several have; else None."""
    call = trial.call
    if not isinstance(call, InstanceCall) or trial.exercise.name not in ATTENTIONS or call.is_wired:
        return None
    every = call_parameters(call.subject, call.construction.method)
    cache = next((each.name for each in every if each.default is None and re.fullmatch(CACHE, each.name)), None)
    if cache is None or any(role.name.startswith(TABLE) for role in call.binding.role_of.values()):
        return None
    flags = {each.name: True for each in every if each.default is False and re.fullmatch(USES, each.name)}
    starts = [each.name for each in every if re.fullmatch(START, each.name)]
    try:
        found = [_differs(trial, cache, flags, starts, num_new) for num_new in (1, NUM_NEW)]
    except RaisedError as raised:
        line = last_line(raised.error, str(getattr(call.subject.module, "__file__", ""))) if is_of_sizes(raised.error) else None
        if line is None:
            return None
        says = TEXTS["cached_raises"].format(error=describe_error(raised.error))
        return Cause("cached_differs", says, TEXTS["continue_after_cache"], EMPTY, line=line)
    except Exception:  # a cache of another form, or none
        return None
    if found[0]:
        line = call.subject.line_of(r"arange|tril|triu|mask\w* *=|cat\(|concat")
        return Cause("cached_differs", TEXTS["cached_differs"], TEXTS["continue_after_cache"], EMPTY, line=line)
    return TEXTS["one_position_at_a_time"] if found[1] else None


def _differs(trial: Trial, cache: str, flags: Mapping[str, bool], starts: Sequence[str], num_new: int) -> bool:
    """Return True if the last positions differ between a pass after cached positions and a whole pass.

    Errors   RaisedError if the pass with the cache raises; any other exception if the class returns no cache of a known form, or is not causal
    """
    call = trial.call
    assert isinstance(call, InstanceCall)
    probe = next(each for each in trial.probes if _is_sequence(each.inputs) and not {"mask", "is_causal"} & set(each.inputs))
    arguments = call.arguments(encoded_for(call, trial.conventions, probe.inputs) or {})
    batch, length, _ = next(value for value in probe.inputs.values() if numpy.ndim(value) == 3).shape
    sequences = [name for name, value in arguments.items() if getattr(value, "shape", ())[:2] == (batch, length)]
    instance = call.instance_for(arguments)
    whole = _output(call.forward(instance, {**arguments, **flags}))
    done = length - num_new
    before = call.forward(instance, {**_part(arguments, sequences, slice(done)), **flags})
    if not is_same(_output(before), whole[:, :done], TOLERANCE):
        raise ValueError("the class is not causal")
    given = {**_part(arguments, sequences, slice(done, None)), **flags, cache: _cache_in(before), **dict.fromkeys(starts, done)}
    try:
        after = _output(call.forward(instance, given))
    except Exception as error:
        raise RaisedError(error) from error
    return after.shape == whole[:, done:].shape and not is_same(after, whole[:, done:], TOLERANCE)


def _is_sequence(inputs: Mapping[str, Any]) -> bool:
    """Return True for a batch of one kind of sequences, whose length is not its size."""
    arrays = [value for name, value in inputs.items() if numpy.ndim(value) == 3 and not name.endswith("weight")]
    is_one = bool(arrays) and all(each is arrays[0] for each in arrays)
    return is_one and arrays[0].shape[0] != arrays[0].shape[1] > NUM_NEW


def _part(arguments: Mapping[str, Any], sequences: Sequence[str], positions: slice) -> dict[str, Any]:
    return {name: value[:, positions] if name in sequences else value for name, value in arguments.items()}


def _output(answer: Any) -> Any:
    return to_numpy(answer[0] if isinstance(answer, tuple) else answer)


def _cache_in(answer: Any) -> Any:
    """Return the first value of an output that holds several arrays.

    Errors   StopIteration if there is none
    """
    return next(each for each in answer[1:] if isinstance(each, tuple | list | dict) and len(each) > 1)
