"""Traces with fewer numbers, for a file of limited size."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy

from headway.look.model_trace import ModelTrace, packed
from headway.look.trace import Call, Step, Trace, Value, calls_of, values_of
from headway.look.values import kept_indices
from headway.practice.message import Message
from headway.practice.texts import Texts

TEXTS = Texts("look")


def smaller(trace: ModelTrace) -> Iterator[tuple[ModelTrace, Message | None]]:
    """Yield a trace and then smaller ones, each with the sentence about what it lacks.

    First attention becomes float16, then it is stored for every second layer, every fourth, and so on, then for none. At last the logit
    lens has the most likely token only.
    """
    yield trace, None
    halves = tuple(replace(each, weights=packed(each.weights.array(), "float16")) for each in trace.attentions)
    yield replace(trace, attentions=halves), TEXTS["halved"]
    every, num_layers = 2, max((each.layer for each in halves), default=0) + 1
    while every < 2 * num_layers:
        fewer = tuple(each for each in halves if each.layer % every == 0)
        note = TEXTS["layers_left_out"].format(shown=len({each.layer for each in fewer}), all=num_layers)
        yield replace(trace, attentions=fewer), note
        every *= 2
    yield replace(trace, attentions=()), TEXTS["no_attention"]
    best = tuple(replace(each, guesses=tuple(guesses[:1] for guesses in each.guesses)) for each in trace.residuals)
    yield replace(trace, attentions=(), residuals=best), TEXTS["best_guess"]


def num_numbers(trace: Trace) -> int:
    """Return the number of elements that a trace stores."""
    return sum(len(value.numbers) for call in calls_of(trace.call) for value in values_of(call))


def thinned(trace: Trace, most: int) -> Trace:
    """Return a trace with at most `most` numbers of each array, at evenly spaced indices."""
    return replace(trace, call=_call(trace.call, most))


def _call(call: Call, most: int) -> Call:
    arguments = tuple(_value(each, most) for each in call.arguments)
    returned = call.returned and _value(call.returned, most)
    return replace(call, arguments=arguments, steps=tuple(_step(each, most) for each in call.steps), returned=returned)


def _step(step: Step, most: int) -> Step:
    values = tuple(_value(each, most) for each in step.values)
    sampled = {each.name for each in values if each.kept}
    operands = tuple(each for each in step.operands if each.of not in sampled)
    return replace(step, values=values, calls=tuple(_call(each, most) for each in step.calls), operands=operands)


def _value(value: Value, most: int) -> Value:
    if value.shape is None or len(value.numbers) <= most:
        return value
    shape = tuple(map(len, value.kept)) if value.kept else value.shape
    places = kept_indices(shape, most)
    numbers = numpy.array(value.numbers, object).reshape(shape)[numpy.ix_(*places)]
    before = value.kept or tuple(tuple(range(size)) for size in shape)
    kept = tuple(tuple(axis[place] for place in chosen) for axis, chosen in zip(before, places, strict=True))
    return replace(value, numbers=tuple(numbers.ravel().tolist()), kept=kept)
