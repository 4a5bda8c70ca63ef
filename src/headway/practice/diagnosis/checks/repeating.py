"""Repeated calls: a test that a second call returns the same output, and the cause if it does not."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy

from headway.practice.diagnosis.calls.calling import Call
from headway.practice.diagnosis.calls.conventions import output_of
from headway.practice.diagnosis.checks.trial import Trial, num_numbers
from headway.practice.diagnosis.classes.instances import InstanceCall
from headway.practice.diagnosis.reading.subject import CONSTRUCTORS, Subject, parsed
from headway.practice.diagnosis.reading.trees import functions_in
from headway.practice.exercise import Inputs, Mistake
from headway.practice.outputs import Raised, is_same, precision
from headway.practice.texts import Texts

TEXTS = Texts("diagnosis")

DRAWS = r"rand|dropout|Dropout"
"""Pattern of the source of a program that draws numbers."""
NOT_REPEATABLE = TEXTS.mistake("not_repeatable", pattern=DRAWS)
DROPOUT_IN_EVAL = TEXTS.mistake("dropout_in_eval", pattern=r"dropout\(")
VARIATIONS = {NOT_REPEATABLE.name, DROPOUT_IN_EVAL.name}


NUM_REPEATS = 4
"""Number of further calls of a program that draws numbers: a dropout of few numbers may be the same twice."""


def is_repeatable(trials: Sequence[Trial]) -> bool:
    """Return True if further calls return the same output, tested with the probe of the largest output."""
    answered = [
        (trial, probe, answer)
        for trial in trials
        for probe, answer in zip(trial.probes, trial.answers, strict=True)
        if not isinstance(answer, Raised) and not begins_with_nothing(answer)
    ]
    if not answered:
        return True
    trial, probe, answer = max(answered, key=lambda each: numpy.size(each[2]) if isinstance(each[2], numpy.ndarray) else 0)
    call = trial.call
    draws = re.search(DRAWS, call.subject.used_source) is not None
    if isinstance(call, InstanceCall) and call.other_parameters:  # another reading of the class may have written them
        call = replace(call, made={}, unmade={})
        answer = output_of(call, trial.conventions, probe.inputs)
    reads_clock = re.search(CLOCK, call.subject.used_source) is not None
    answer = _without_times(answer) if reads_clock else answer
    for _ in range(NUM_REPEATS if draws else 1):
        again = output_of(call, trial.conventions, probe.inputs)
        if _differs(_without_times(again) if reads_clock else again, answer):
            return False
    return True


CLOCK = r"\btime\.(time|perf_counter|monotonic|process_time)(_ns)?\("
"""Pattern of the source of a program that measures time, and may return it next to its output."""


def _without_times(answer: Any) -> Any:
    """Return an output without the single numbers next to its arrays."""
    return tuple(each for each in answer if numpy.ndim(each)) if isinstance(answer, tuple) else answer


VARYING = r"(?i)drop|rand|bernoulli|uniform|normal\(|choice|noise|multinomial|categorical|permutation|shuffle|empty|cache|state|count|step|append|Linear\(|Parameter\(|Embedding\(|Dense\(|self\.\w+ *(\[[^\]\n]*\] *)?[-+*/]?=(?!=)"
"""Pattern of the source of a class whose calls may differ: it draws numbers, makes layers, or stores something in itself."""


DROPS_NOTHING = r"(?mi)^\s*\w*drop\w*\s*(:\s*float\s*)?=\s*0(\.0*)?\s*$"
"""Pattern of a setting by which nothing is dropped, which a config has: `attention_dropout = 0.0`."""


def may_vary(subject: Subject) -> bool:
    """Return True if the methods of a class, apart from constructors, and what they use may draw numbers or keep a state."""
    own = parsed(subject.own_source)
    methods = [node for node in functions_in(own) if node.name not in CONSTRUCTORS]
    return (
        not methods
        or any(re.search(VARYING, ast.unparse(each)) for each in methods)
        or bool(re.search(r"(?i)drop", re.sub(DROPS_NOTHING, "", subject.used_source)))
    )


def _differs(again: Any, answer: Any) -> bool:
    """Return True if an output changed; False for one that cannot be compared even with itself, such as NaN of an unknown type."""
    return is_same(answer, answer, precision(answer)) and not is_same(again, answer, precision(answer))


def differs_when_repeated(call: Call, inputs: Inputs) -> bool:
    """Return True if two calls return different numbers. Two calls of a class are those of one instance: its weights may be random."""
    first = output_of(call, (), inputs)
    instances = list(call.made.values()) if isinstance(call, InstanceCall) else []
    again = output_of(call, (), inputs)
    if isinstance(call, InstanceCall) and not (len(instances) == len(call.made) and all(map(operator.is_, instances, call.made.values()))):
        return False
    return isinstance(first, numpy.ndarray | tuple) and not begins_with_nothing(first) and _differs(again, first)


def begins_with_nothing(answer: Any) -> bool:
    """Return True for no output, and for several of which the first is no number, such as a function."""
    return is_nothing(answer[:1] if isinstance(answer, tuple) else answer)


def is_nothing(answer: Any) -> bool:
    """Return True for None, and for several outputs that all are."""
    return answer is None or (isinstance(answer, tuple) and bool(answer) and all(map(is_nothing, answer)))


def cause_of_variation(trials: Sequence[Trial]) -> Mistake:
    """Return the reason why two calls differ: active dropout if they agree without it, otherwise random weights or state."""
    without = [replace(trial, call=trial.call.without_dropout()) for trial in trials if trial.call.is_instance]
    for trial in without:
        largest = max(trial.probes, key=lambda probe: num_numbers(probe.inputs))
        first, *others = (output_of(trial.call, trial.conventions, largest.inputs) for _ in range(4))
        if not isinstance(first, Raised) and first is not None and all(is_same(first, other, precision(first)) for other in others):
            return DROPOUT_IN_EVAL
    return NOT_REPEATABLE
