"""Check of an attention's key-value cache: a pass with the cached keys and values of earlier positions equals that part of a whole pass."""

from __future__ import annotations

import copy
import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy

from headway.arrays import from_numpy, to_numpy
from headway.practice.diagnosis.calls.binding import TABLE
from headway.practice.diagnosis.calls.conventions import encoded_for
from headway.practice.diagnosis.checks.trial import Trial
from headway.practice.diagnosis.classes.instances import InstanceCall
from headway.practice.diagnosis.classes.kept_caches import NAME
from headway.practice.diagnosis.classes.method_binding import call_parameters
from headway.practice.diagnosis.reading.errors import is_of_sizes, last_line
from headway.practice.exercise import Probe
from headway.practice.message import EMPTY, Message, describe_error
from headway.practice.outputs import is_same
from headway.practice.texts import Texts
from headway.practice.verdict import Cause

TEXTS = Texts("diagnosis")

ATTENTIONS = (
    "self_attention",
    "causal_self_attention",
    "stacked_heads_attention",
    "multi_head_attention",
    "grouped_query_attention",
    "transformer_block",
)
"""Exercises whose classes may take a cache."""

CACHE = r"(kv_?|past_?|layer_?)?(cache|past)(_?(kv|key_?values?))?s?"
"""Pattern of the name of a parameter that takes the cache which an earlier call has returned."""
START = r"start_?pos(ition)?|offset|position_?offset|past_?len(gth)?|cache_?len(gth)?"
"""Pattern of the name of a parameter that takes the number of cached positions."""
USES = r"(use|return)_(kv_?)?cache"
"""Pattern of the name of a flag without which no cache is returned."""

HELD = rf"(self\.|[\"'])({NAME})\b"
"""Pattern of the source of a class that has an attribute for a cache."""

TOLERANCE = 1e-3
NUM_NEW = 3
"""Number of positions after the cached ones."""


class RaisedError(Exception):
    """A pass with the cache of an earlier one has raised `error`."""

    def __init__(self, error: Exception) -> None:
        self.error = error


@dataclass(frozen=True)
class Pass:
    """A method of a class that takes a cache.

    run      (instance, arguments) → what it returns
    cache    name of its parameter for a cache; empty for a class that keeps its cache in itself
    flags    arguments without which it returns none
    starts   names of its parameters for the number of cached positions
    later    arguments of the passes after the first: a flag of decoding
    is_whole  True if each pass gets all positions so far, of which the newest is computed
    """

    run: Callable[[Any, Mapping[str, Any]], Any]
    cache: str
    flags: Mapping[str, bool]
    starts: Sequence[str]
    later: Mapping[str, bool] = field(default_factory=dict)
    is_whole: bool = False


def cache_cause(trial: Trial) -> Cause | Message | None:
    """Return a cause if one new position after cached ones has another output than in a whole pass, a note if only several have; else None."""
    call = trial.call
    if not isinstance(call, InstanceCall) or trial.exercise.name not in ATTENTIONS or call.is_wired:
        return None
    if any(role.name.startswith(TABLE) for role in call.binding.role_of.values()):
        return None
    for each in passes(call):
        try:
            differs, differs_for_several = _differs(trial, each)
            if differs:
                differs, differs_for_several = _differs_in_modes(trial, each)
        except RaisedError as raised:
            if (cause := raising_cause(call, raised.error)) is not None:
                return cause
            continue
        except Exception:  # a cache of another form, or none
            continue
        if differs:
            return differing_cause(call.subject.line_of(r"arange|tril|triu|mask\w* *=|cat\(|concat"))
        if differs_for_several:
            return TEXTS["one_position_at_a_time"]
    return None


def differing_cause(line: int | None) -> Cause:
    """Return the cause for an output after cached positions that differs from that of a whole pass."""
    return Cause("cached_differs", TEXTS["cached_differs"], TEXTS["continue_after_cache"], EMPTY, line=line)


def raising_cause(call: InstanceCall, error: Exception) -> Cause | None:
    """Return the cause for an exception after cached positions; None unless it is of sizes, at a line of the learner's file."""
    line = last_line(error, str(getattr(call.subject.module, "__file__", ""))) if is_of_sizes(error) else None
    says = TEXTS["cached_raises"].format(error=describe_error(error))
    return None if line is None else Cause("cached_differs", says, TEXTS["continue_after_cache"], EMPTY, line=line)


def passes(call: InstanceCall) -> Iterator[Pass]:
    """Yield the call method, and other methods of one sequence, that take a cache."""
    taken = call_parameters(call.subject, call.construction.method)
    switches = {each.name: True for each in taken if _is_switch(each) or _is_mode_of_cache(each, call)}
    is_switched = bool(switches) and re.search(HELD, call.subject.own_source) is not None
    if (call.keeps_cache or is_switched) and not any(re.fullmatch(CACHE, each.name) for each in taken):
        yield Pass(call.continued, "", switches, (), is_whole=_takes_newest(call))
    names = [
        call.construction.method,
        *(name for name, each in vars(call.subject.value).items() if inspect.isfunction(each) and name[0] != "_"),
    ]
    for name in dict.fromkeys(names):
        every = call_parameters(call.subject, name)
        cache = next((each.name for each in every if each.default is None and re.fullmatch(CACHE, each.name)), None)
        if cache is None:
            continue
        is_called = name == call.construction.method
        first, *others = (each for each in every if is_called or each.default is each.empty)
        if others and not is_called:
            continue
        flags = {each.name: True for each in every if _is_switch(each)}
        starts = [each.name for each in every if re.fullmatch(START, each.name)]
        yield Pass(call.forward if is_called else _method(call, name, first.name), cache, flags, starts)


def _takes_newest(call: InstanceCall) -> bool:
    """Return True for a class that takes the newest position from the sequence that it is given, to join its key and value to the kept ones."""
    own = [name for name, role in call.construction.forward.role_of.items() if role.name in ("x", "query")]
    return any(re.search(rf"\b{name}\[(:|\.\.\.), *-1\b", call.subject.code) for name in own)


def _is_switch(parameter: inspect.Parameter) -> bool:
    """Return True for a flag without which no cache is used."""
    return parameter.default is False and re.fullmatch(USES, parameter.name) is not None


def _is_mode_of_cache(parameter: inspect.Parameter, call: InstanceCall) -> bool:
    """Return True for a required flag, given as False, whose name is that of keys and values, or of a cache of them."""
    role = call.construction.forward.role_of.get(parameter.name)
    return role is not None and role.neutral is False and re.search(r"kv|cache|past", parameter.name.lower()) is not None


def _method(call: InstanceCall, name: str, operand: str) -> Callable[[Any, Mapping[str, Any]], Any]:
    """Return a function that calls a method with the sequence that the call method takes."""
    (own,) = [each for each, role in call.construction.forward.role_of.items() if role.name in ("x", "query")]

    def run(instance: Any, arguments: Mapping[str, Any]) -> Any:
        others = {each: value for each, value in arguments.items() if each not in call.binding.role_of}
        return getattr(instance, name)(**{operand: arguments[own]}, **others)

    return run


def _differs(trial: Trial, each: Pass) -> tuple[bool, bool]:
    """Return True if the last positions differ between passes after cached positions and a whole pass: one at a time, and several at once.

    Errors   RaisedError if a pass with a cache raises; any other exception if the class returns no cache of a known form, or is not causal
    """
    call = trial.call
    assert isinstance(call, InstanceCall)
    probe = plain_probe(trial)
    arguments = call.arguments(encoded_for(call, trial.conventions, probe.inputs) or {})
    batch, length, _ = next(value for value in probe.inputs.values() if numpy.ndim(value) == 3).shape
    sequences = [name for name, value in arguments.items() if getattr(value, "shape", ())[:2] == (batch, length)]
    made = call.instance_for(arguments)
    whole = sequence_output(call.forward(made, {**arguments, **(each.flags if each.run == call.forward else {})}))

    def continued(ends: Sequence[int]) -> bool:
        """Return True if the outputs differ after passes that end at these positions."""
        start, answer, cache, is_causal = 0, None, None, True
        instance = made if each.cache else copy.deepcopy(made)
        for end in ends:
            given = {**_part(arguments, sequences, slice(0 if each.is_whole else start, end)), **each.flags}
            if answer is None:
                answer = each.run(instance, given) if each.cache else call.forward(instance, given)
            else:
                if each.cache:
                    cache = _joined(cache, cache_in(answer), start, call.library)
                    given |= {each.cache: cache, **dict.fromkeys(each.starts, start)}
                given |= each.later
                try:
                    answer = each.run(instance, given)
                except Exception as error:
                    raise RaisedError(error) from error
            output = sequence_output(answer)
            if each.is_whole:
                start, output = end - 1, output[:, -1:]
            if is_causal and output.shape == whole[:, start:end].shape and not is_same(output, whole[:, start:end], TOLERANCE):
                if start:
                    return True
                is_causal = False  # the next passes may still raise
            start = end
        if not is_causal:
            raise ValueError("the class is not causal")
        return False

    done = length - NUM_NEW
    differs = continued([done, *range(done + 1, length + 1)])
    try:
        return differs, continued([done, length])
    except RaisedError:
        if each.run == call.forward:
            raise
        return differs, True  # a method for one position


def _differs_in_modes(trial: Trial, each: Pass) -> tuple[bool, bool]:
    """Return what `_differs` finds with a flag of decoding set in the passes after the first: the first flag with which they are right, if any."""
    call = trial.call
    assert isinstance(call, InstanceCall)
    bound = {*each.flags, *call.construction.forward.role_of}
    taken = call_parameters(call.subject, call.construction.method)
    for name in (parameter.name for parameter in taken if parameter.default is False and parameter.name not in bound):
        with suppress(Exception):  # a flag of another kind
            found = _differs(trial, replace(each, later={name: True}))
            if not found[0]:
                return found
    return True, True


def plain_probe(trial: Trial) -> Probe:
    """Return the first probe of one kind of sequences, without masks.

    Errors   StopIteration if there is none
    """
    return next(each for each in trial.probes if _is_sequence(each.inputs) and not {"mask", "is_causal"} & set(each.inputs))


def _is_sequence(inputs: Mapping[str, Any]) -> bool:
    """Return True for a batch of one kind of sequences, whose length is not its size."""
    arrays = [value for name, value in inputs.items() if numpy.ndim(value) == 3 and not name.endswith("weight")]
    is_one = bool(arrays) and all(each is arrays[0] for each in arrays)
    return is_one and arrays[0].shape[0] != arrays[0].shape[1] > NUM_NEW


def _part(arguments: Mapping[str, Any], sequences: Sequence[str], positions: slice) -> dict[str, Any]:
    return {name: value[:, positions] if name in sequences else value for name, value in arguments.items()}


def sequence_output(answer: Any) -> Any:
    """Return the output for the sequence, which may be followed by a cache, as an array of NumPy."""
    return to_numpy(answer[0] if isinstance(answer, tuple) else answer)


def cache_in(answer: Any) -> Any:
    """Return the first value of an output that holds several arrays, or keys and values as one array, as GPT-2's code has them.

    Errors   StopIteration if there is none
    """
    return next(each for each in answer[1:] if (isinstance(each, tuple | list | dict) and len(each) > 1) or _is_stacked(each))


def _joined(cache: Any, returned: Any, num_positions: int, library: str) -> Any:
    """Return a returned cache, after the earlier one if it has the new positions alone: GPT-2's first code leaves it to the caller to join them."""
    if not (_is_stacked(cache) and _is_stacked(returned)) or returned.shape[-2] == num_positions:
        return returned
    both = numpy.concatenate([to_numpy(cache), to_numpy(returned)], axis=-2)
    return from_numpy(both, library) if both.shape[-2] == num_positions else returned


def _is_stacked(value: Any) -> bool:
    """Return True for keys and values, each (batch, heads, positions, head_dim), on a first or second axis."""
    return getattr(value, "ndim", 0) == 5 and 2 in value.shape[:2]
