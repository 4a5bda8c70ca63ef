"""Check of an attention that stores its keys and values in a cache that it is given: the passes after the first equal those parts of a whole pass."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headway.practice.diagnosis.adapters.given_caches import GivenCache, given_caches
from headway.practice.diagnosis.checks import continuing
from headway.practice.diagnosis.checks.continuing import ATTENTIONS, TOLERANCE, differing_cause, raising_cause, sequence_output
from headway.practice.diagnosis.checks.own_cache import (
    LATER,
    START,
    new_instance,
    positions_of,
    sliced_arguments,
    whole_pass,
    with_own_rotation,
)
from headway.practice.diagnosis.checks.trial import Trial
from headway.practice.diagnosis.classes.instances import InstanceCall
from headway.practice.diagnosis.classes.method_binding import call_parameters
from headway.practice.message import Message
from headway.practice.outputs import is_same
from headway.practice.texts import Texts
from headway.practice.verdict import Cause

TEXTS = Texts("diagnosis")

MakeCache = Callable[[Callable[[Any], Any], int], GivenCache]


def given_cache_cause(trial: Trial) -> Cause | Message | None:
    """Return a cause if the last of several passes with one cache has another output than a whole pass has for its position; else None.

    The passes are those over the first positions and then over one at a time, and those over one position at a time from the first on.
    A layer that is right for these and wrong for several positions after cached ones has a note.
    """
    call = trial.call
    if not isinstance(call, InstanceCall) or trial.exercise.name not in ATTENTIONS or call.is_wired:
        return None
    taken = call_parameters(call.subject, call.construction.method)
    name = next((each.name for each in taken if re.fullmatch(continuing.CACHE, each.name)), None)
    roles = {role.name for role in call.construction.forward.role_of.values()}
    if name is None or "x" not in roles:
        return None
    starts = [each.name for each in taken if re.fullmatch(f"{START}|{continuing.START}", each.name)]
    source = call.subject.used_source or call.subject.own_source
    outcomes: list[bool | Exception] = []
    for rotated in with_own_rotation(call):
        for make in given_caches(call.subject.module, call.subject.text, source, name):
            found, note = _outcomes(trial, rotated, _Use(make, name, starts))
            if any(each is True for each in found):
                return note
            outcomes += found
    if any(each is False for each in outcomes):
        return differing_cause(call.subject.line_of(r"arange|tril|triu|mask\w* *=|cat\(|concat") or call.subject.line_of(rf"\b{name}\b"))
    causes = (raising_cause(call, each) for each in outcomes if isinstance(each, Exception))
    return next(filter(None, causes), None)


class _Use:
    """The way in which a layer is given its cache.

    make    makes an empty cache
    name    the name of its parameter
    starts  names of parameters for the number of cached positions
    """

    def __init__(self, make: MakeCache, name: str, starts: Sequence[str]) -> None:
        self.make, self.name, self.starts = make, name, starts

    def last(self, call: InstanceCall, arguments: Mapping[str, Any], sliced: Sequence[str], ends: Sequence[int]) -> Any:
        """Return the output of the last of several passes that end at these positions; an exception that the layer has raised; None without a cache."""
        instance, length = new_instance(call, arguments), ends[-1]

        def given(begin: int, end: int, cache: Any) -> dict[str, Any]:
            parts = {name: positions_of(value, begin, end, length) if name in sliced else value for name, value in arguments.items()}
            return {**parts, self.name: cache, **dict.fromkeys(self.starts, begin)}

        try:
            cache = self.make(lambda asked: call.continued(instance, given(0, ends[0], asked)), ends[0])
        except Exception:  # a cache of another kind
            return None
        for begin, end in zip((0, *ends[:-1]), ends, strict=True):
            try:
                answer = call.continued(instance, given(begin, end, cache.value))
                output = sequence_output(answer)
            except Exception as error:
                return error if cache.is_filled and cache.is_exact and cache.refused is None else None
            if not (cache.is_filled and cache.is_exact):
                return None
        return output


def _outcomes(trial: Trial, call: InstanceCall, use: _Use) -> tuple[list[bool | Exception], Message | None]:
    """Return whether the last position is right, or exceptions, for each way of passes, and a note if several positions at once are wrong."""
    passed = whole_pass(trial, call)
    if passed is None:
        return [], None
    arguments, whole, length = passed
    several = [length - LATER, length]
    ways = ([length - LATER, *range(length - LATER + 1, length + 1)], [*range(1, length + 1)])
    found: list[bool | Exception] = []
    for sliced in sliced_arguments(call, ("x",)):
        outcomes = [each for ends in ways if (each := _compared(use.last(call, arguments, sliced, ends), whole)) is not None]
        if any(each is True for each in outcomes):
            is_noted = _compared(use.last(call, arguments, sliced, several), whole) is False
            return outcomes, TEXTS["one_position_at_a_time"] if is_noted else None
        found += outcomes
    return found, None


def _compared(last: Any, whole: Any) -> bool | Exception | None:
    if last is None or isinstance(last, Exception):
        return last
    if last.shape[:-2] != whole.shape[:-2] or last.shape[-1] != whole.shape[-1]:
        return None
    return is_same(last[..., -1, :], whole[..., -1, :], TOLERANCE)
