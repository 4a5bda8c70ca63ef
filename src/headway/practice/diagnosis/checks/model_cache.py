"""Check of a model that takes a key-value cache, or keeps one: the logits of the last token are those of a whole pass."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy

from headway.practice.diagnosis.calls.conventions import encoded_for
from headway.practice.diagnosis.checks.continuing import TOLERANCE, Pass, cache_in, differing_cause, passes, raising_cause, sequence_output
from headway.practice.diagnosis.checks.own_cache import LATER, START, start_of
from headway.practice.diagnosis.checks.trial import Trial
from headway.practice.diagnosis.classes.instances import InstanceCall
from headway.practice.diagnosis.classes.kept_caches import keeps_keys
from headway.practice.exercise import Inputs
from headway.practice.outputs import is_same
from headway.practice.verdict import Cause

MODELS = ("gpt2",)
"""Exercises of whole models that may take a cache."""


def model_cache_cause(trial: Trial) -> Cause | None:
    """Return a cause if the last token, given by itself after the earlier ones, has other logits than in a pass over all; else None.

    The model runs with its own parts and the weights of its constructor.
    """
    if not isinstance(trial.call, InstanceCall) or trial.exercise.name not in MODELS:
        return None
    call = trial.call.with_own_parts()
    outcomes: list[bool | Exception] = []
    for way in _ways(call):
        for probe in trial.probes:
            inputs = encoded_for(call, trial.conventions, probe.inputs)
            if inputs is None or numpy.ndim(inputs["token_ids"]) != 2 or inputs["token_ids"].shape[1] <= LATER + 1:
                continue
            found = _outcome(call, inputs, way)
            if found is not None:
                outcomes.append(found)
                break
    if not outcomes or any(each is True for each in outcomes):
        return None
    if any(each is False for each in outcomes):
        return differing_cause(call.subject.line_of(rf"arange|\b{START}\b|pos\w* *="))
    return raising_cause(call, next(each for each in outcomes if isinstance(each, Exception)))


def _ways(call: InstanceCall) -> Iterator[Pass]:
    """Yield the ways to give a model its tokens in several passes."""
    start = start_of(call)
    starts = () if start is None else (start,)
    yield from (replace(each, starts=each.starts or starts) for each in passes(call) if each.run in (call.forward, call.continued))
    if start is not None and keeps_keys(call.subject.used_source):
        yield Pass(call.continued, "", {}, starts)


def _outcome(call: InstanceCall, inputs: Inputs, way: Pass) -> bool | Exception | None:
    """Return True if the last logits are right, or the exception of a later pass; None for a model whose first tokens see later ones or raise."""
    try:
        arguments = call.arguments(inputs)
        made = call.made_for(arguments)
        whole = sequence_output(call.continued(copy.deepcopy(made), arguments))
        answer = call.continued(made, {**_tokens(call, arguments, 0, -LATER), **way.flags})
        first = sequence_output(answer)
        cache = cache_in(answer) if way.cache else None
    except Exception:  # parts that need other sizes, or a cache of another form
        return None
    if first.ndim == whole.ndim == 3 and not is_same(first, whole[:, : first.shape[1]], TOLERANCE):
        return None
    length = inputs["token_ids"].shape[1]
    for place in range(length - LATER, length):
        given = {**_tokens(call, arguments, place, place + 1), **way.flags, **dict.fromkeys(way.starts, place)}
        try:
            answer = call.continued(made, given | ({way.cache: cache} if way.cache else {}))
            last = sequence_output(answer)
            cache = cache_in(answer) if way.cache else None
        except Exception as error:
            return error
    return is_same(_of_last(last), _of_last(whole), TOLERANCE)


def _tokens(call: InstanceCall, arguments: Mapping[str, Any], begin: int, end: int) -> dict[str, Any]:
    """Return the arguments with some of their tokens."""
    name = next(name for name, role in call.binding.role_of.items() if role.name == "token_ids")
    return {**arguments, name: arguments[name][:, begin:end]}


def _of_last(logits: numpy.ndarray) -> numpy.ndarray:
    """Return the logits of the last token from those of all or of it alone."""
    return logits[:, -1] if logits.ndim == 3 else logits
