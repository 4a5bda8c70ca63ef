"""Check of an attention that keeps its keys and values from a first position on that it is given, as Llama's first code does."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy

from headway.practice.diagnosis.calls.binding import NO_EFFECT, TABLE
from headway.practice.diagnosis.calls.conventions import encoded_for
from headway.practice.diagnosis.checks.continuing import ATTENTIONS, CACHE, TOLERANCE, differing_cause, raising_cause, sequence_output
from headway.practice.diagnosis.checks.trial import Trial
from headway.practice.diagnosis.classes.instances import InstanceCall
from headway.practice.diagnosis.classes.kept_caches import keeps_keys
from headway.practice.diagnosis.classes.method_binding import call_parameters
from headway.practice.exercise import Probe
from headway.practice.outputs import is_same
from headway.practice.verdict import Cause

START = r"start(_?(pos(ition)?|index|idx))?|(input|cur(rent)?|cache)_?pos(ition)?|pos|offset"
"""Pattern of the name of a parameter for the first position of the input."""
LATER = 2
"""Positions that are given one at a time after the others."""


def own_cache_cause(trial: Trial) -> Cause | None:
    """Return a cause if the last position, given by itself after the earlier ones, has another output than in a pass over all; else None.

    The last position sees all others with a causal mask or without one. Its output counts if a pass over all positions at once is right.
    """
    call = trial.call
    if not isinstance(call, InstanceCall) or trial.exercise.name not in ATTENTIONS or call.is_wired:
        return None
    start = start_of(call)
    if start is None or not keeps_keys(call.subject.used_source):
        return None
    for rotated in with_own_rotation(call):
        outcomes = [*_outcomes(trial, rotated, start)]
        if any(each is True for each in outcomes):
            return None
        if any(each is False for each in outcomes):
            pattern = rf"\b(cache|keys?|values?)\w*\b[^\n=]*=[^\n]*\b{start}\b"
            return differing_cause(call.subject.line_of(pattern) or call.subject.line_of(rf"\b{start}\b"))
        error = next((each for each in outcomes if isinstance(each, Exception)), None)
        cause = None if error is None else raising_cause(call, error)
        if cause is not None:
            return cause
    return None


def start_of(call: InstanceCall) -> str | None:
    """Return the name of the parameter for the first position, which is 0 for every probe; None if there is none, or if the caller has the cache."""
    taken = call_parameters(call.subject, call.construction.method)
    if any(re.fullmatch(CACHE, each.name) for each in taken):
        return None
    role_of = call.construction.forward.role_of
    given = [name for name, role in role_of.items() if role.name.startswith(NO_EFFECT) and type(role.neutral) is int and role.neutral == 0]
    optional = [each.name for each in taken if type(each.default) is int and not each.default]
    return next((name for name in (*given, *optional) if re.fullmatch(START, name)), None)


def _outcomes(trial: Trial, call: InstanceCall, start: str) -> Iterator[bool | Exception]:
    """Yield whether the last position is right, or an exception, with tables of the given positions alone and with whole tables."""
    found = whole_pass(trial, call)
    if found is None:
        return
    arguments, whole, length = found
    for sliced in sliced_arguments(call, ("x", "query", "key", "value")):
        try:
            last = _last(call, arguments, sliced, start, length)
        except Exception as error:
            yield error
        else:
            yield last.shape[:-2] == whole.shape[:-2] and is_same(last[..., -1, :], whole[..., -1, :], TOLERANCE)


def with_own_rotation(call: InstanceCall) -> Iterator[InstanceCall]:
    """Yield a call with the rotary positions of the class, and without them if it is judged without them."""
    for is_unrotated in (False, True) if call.construction.is_unrotated else (False,):
        yield replace(call, construction=replace(call.construction, is_unrotated=is_unrotated))


def whole_pass(trial: Trial, call: InstanceCall) -> tuple[Mapping[str, Any], numpy.ndarray, int] | None:
    """Return the arguments of the first plain probe that a call takes, the output for all positions at once, and their number; None without one."""
    for probe in filter(is_plain, trial.probes):
        with suppress(Exception):  # another rank
            arguments = call.arguments(encoded_for(call, trial.conventions, probe.inputs) or {})
            whole = sequence_output(call.continued(new_instance(call, arguments), arguments))
            return arguments, whole, sequence(probe.inputs).shape[-2]
    return None


def sliced_arguments(call: InstanceCall, names: Collection[str]) -> Iterator[list[str]]:
    """Yield the names of the arguments of which each pass has its own positions: with the tables of angles, and without them.

    names   roles of the sequences
    """
    role_of = call.construction.forward.role_of
    tables = [name for name, role in role_of.items() if role.name.startswith(TABLE)]
    sequences = [name for name, role in role_of.items() if role.name in names]
    yield [*sequences, *tables]
    if tables:
        yield sequences


def _last(call: InstanceCall, arguments: Mapping[str, Any], sliced: Collection[str], start: str, length: int) -> numpy.ndarray:
    """Return the output of the last of several passes: over the first positions, and then over one position at a time.

    sliced   names of the arguments that have an axis for positions
    """
    instance, first = new_instance(call, arguments), length - LATER
    for begin, end in ((0, first), *((place, place + 1) for place in range(first, length))):
        given = {name: positions_of(value, begin, end, length) if name in sliced else value for name, value in arguments.items()}
        output = sequence_output(call.continued(instance, {**given, start: begin}))
    return output


def new_instance(call: InstanceCall, arguments: Mapping[str, Any]) -> Any:
    """Return an instance whose caches no other call has filled."""
    return replace(call, made={}, unmade={}).instance_for(arguments)


def sequence(inputs: Mapping[str, Any]) -> Any:
    """Return the sequence that an attention is given."""
    return inputs.get("x", inputs.get("query"))


def is_plain(probe: Probe) -> bool:
    """Return True for a probe with sequences of some length and without a mask."""
    given = sequence(probe.inputs)
    return numpy.ndim(given) in (2, 3) and not {"mask", "is_causal"} & {*probe.inputs} and given.shape[-2] > LATER + 1


def positions_of(value: Any, begin: int, end: int, length: int) -> Any:
    """Return some positions of an array, on its first axis of that length; other values as they are."""
    axes = [axis for axis, size in enumerate(getattr(value, "shape", ())) if size == length]
    if not axes:
        return value
    axis = axes[0]
    return value[(slice(None),) * axis + (slice(begin, end),)]
