"""Outputs of changed programs, and how near they come to the definition's."""

from __future__ import annotations

import functools
import inspect
import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeAlias

import numpy

from headway.practice.diagnosis.adapters import calls_of
from headway.practice.diagnosis.calls.calling import Call
from headway.practice.diagnosis.calls.conventions import decoded, encoded_for, may_apply, measured_conventions
from headway.practice.diagnosis.calls.timeout import time_limit
from headway.practice.diagnosis.checks.trial import Trial
from headway.practice.diagnosis.classes.assignment import wildcard_name
from headway.practice.diagnosis.classes.instances import InstanceCall
from headway.practice.diagnosis.classes.made_layers import as_layer
from headway.practice.diagnosis.classes.params import as_class
from headway.practice.diagnosis.classes.slots import slots_of
from headway.practice.diagnosis.reading.subject import Subject
from headway.practice.diagnosis.repair.observation import observe
from headway.practice.exercise import Convention, Inputs, Probe
from headway.practice.outputs import Raised, is_same, precision

SECONDS_OF_CONSTRUCTOR = 0.5
MAX_TRIALS = 3
"""Conventions under which a repair is sought."""
MAX_RAISING = 24
"""Conventions under which every call raises that are compared by how far the program gets."""


def call_of(trial: Trial, subject: Subject) -> Call:
    """Return the trial's call for a changed subject, without what is known of the old one.

    A function that takes its weights in a dict is called as a class that holds them, and a class that was made into a function, such as a schedule
    with a state, is made into one again.
    """
    if _is_made_of_class(trial.call, subject):
        calls = [*calls_of(subject, trial.exercise, trial.call.library)]
        return calls[trial.call.place] if trial.call.place < len(calls) else replace(trial.call, subject=subject)
    if isinstance(trial.call, InstanceCall) and not inspect.isclass(subject.value):
        subject = as_layer(subject, trial.call.library) or as_class(subject, trial.call.library) or subject
    fresh: dict[str, Any] = {name: {} for name in ("made", "unmade", "slots") if hasattr(trial.call, name)}
    return replace(trial.call, subject=subject, has_changed_inputs=False, endless={True}, **fresh)


def _is_made_of_class(call: Call, subject: Subject) -> bool:
    """Return True if a call is of a function that was made of a class of the file."""
    return inspect.isclass(subject.value) and inspect.isfunction(call.subject.value)


def answered(trial: Trial, probe: Probe) -> tuple[Any, float]:
    """Return the output of a trial's call for a probe, and the share of its elements that match."""
    return read(trial, probe, returned(trial, probe))


def returned(trial: Trial, probe: Probe) -> Any:
    """Return the output of a trial's call for a probe in the conventions of the trial."""
    try:
        encoded = encoded_for(trial.call, trial.conventions, probe.inputs)
        if encoded is None:
            return Raised(ValueError("the conventions cannot encode these inputs"))
        with numpy.errstate(all="ignore"):
            return trial.call(encoded)
    except Exception as error:  # a changed program may hold anything
        return Raised(error)


def read(trial: Trial, probe: Probe, answer: Any) -> tuple[Any, float]:
    """Return an output in the conventions of a trial as the definition would, and the share of its elements that match."""
    try:
        with numpy.errstate(all="ignore"):
            answer = decoded(answer, trial.conventions, probe.inputs)
        return answer, share_of_matching(answer, trial.expected(probe), trial.decimals)
    except Exception as error:  # a changed program may return anything, which a convention cannot read
        return Raised(error), 0.0


def is_right(trial: Trial, probe: Probe, answer: Any) -> bool:
    """Return True if an output in the conventions of a trial equals the definition's."""
    try:
        with numpy.errstate(all="ignore"):
            answer = decoded(answer, trial.conventions, probe.inputs)
            expected = trial.expected(probe)
            if isinstance(expected, numpy.ndarray) and getattr(answer, "shape", None) != expected.shape:
                return False
            return share_of_matching(answer, expected, trial.decimals) == 1.0
    except Exception:  # a changed program may return anything, which a convention cannot read
        return False


def with_measured(trial: Trial, most: int | None) -> Trial:
    """Return a trial with the conventions that were measured from the outputs, the first ones of them, measured from its own call."""
    conventions = list(trial.conventions)
    for place in measurable(trial)[:most]:
        measures = next(each for each in trial.exercise.conventions[place] if _can_measure(each, trial))
        with suppress(Exception), numpy.errstate(all="ignore"):  # a changed program may return anything
            found = measured_conventions(measures, trial.call, trial.exercise)
            conventions[place] = found[0] if len(found) == 1 else conventions[place]
    return replace(trial, conventions=tuple(conventions))


def measurable(trial: Trial) -> list[int]:
    """Return the places of the conventions that were measured, or could have been."""
    return [place for place, group in enumerate(trial.exercise.conventions) if any(_can_measure(each, trial) for each in group)]


def _can_measure(convention: Convention, trial: Trial) -> bool:
    return convention.reads is not None and may_apply(convention, trial.call)


def share_of_matching(answer: Any, expected: Any, decimals: int | None = None) -> float:
    """Return the share of elements that equal the expected ones: 1 if all do, 0 for another shape or an exception."""
    if getattr(getattr(answer, "dtype", None), "kind", "") == "c" and getattr(getattr(expected, "dtype", None), "kind", "") != "c":
        return 0.0
    tolerance, rounding = max(precision(answer), precision(expected)), 0.0 if decimals is None else 10.0**-decimals
    if is_same(answer, expected, tolerance, rounding):
        return 1.0
    if isinstance(answer, tuple) and isinstance(expected, tuple) and len(answer) == len(expected) and expected:
        shares = [share_of_matching(*pair, decimals) for pair in zip(answer, expected, strict=True)]
        return min(0.99, sum(shares) / len(shares))
    if isinstance(answer, tuple) and isinstance(expected, tuple) and all(isinstance(each, str) for each in (*answer, *expected)):
        return _share_of_tokens(answer, expected)
    if isinstance(answer, dict) and isinstance(expected, dict):
        return _share_of_entries(answer, expected, decimals)
    if isinstance(answer, Raised) or not isinstance(expected, numpy.ndarray) or not isinstance(answer, numpy.ndarray):
        return 0.0
    if answer.ndim == expected.ndim == 1 and {answer.dtype.kind, expected.dtype.kind} <= set("iu") and answer.size != expected.size:
        length = min(answer.size, expected.size)  # tokens, of which some are missing
        num_same = int(numpy.cumprod(answer[:length] == expected[:length]).sum())
        return 0.02 + 0.9 * num_same / max(answer.size, expected.size)
    if answer.shape != expected.shape or not expected.size or answer.dtype.kind not in "biuf":
        return 0.0
    with numpy.errstate(all="ignore"):
        size = max(float(numpy.abs(expected[numpy.isfinite(expected)]).max(initial=0.0)), 1e-6) if expected.dtype.kind == "f" else 1.0
        error = numpy.abs(answer.astype(numpy.float64) - expected)
        close = (error <= tolerance * size + rounding / 2) | (answer == expected)
        near = float(1 / (1 + numpy.nanmean(numpy.where(numpy.isfinite(error), error, 1e6)) / size))
    return min(0.99, 0.02 + 0.9 * float(close.mean()) + 0.05 * near)


def _share_of_tokens(answer: tuple[str, ...], expected: tuple[str, ...]) -> float:
    """Return the share of the first and the last tokens that match, for different numbers of tokens."""
    fewer, most = sorted((len(answer), len(expected)))
    num_first = sum(1 for _ in itertools.takewhile(bool, map(str.__eq__, answer, expected)))
    num_last = sum(1 for _ in itertools.takewhile(bool, map(str.__eq__, reversed(answer), reversed(expected))))
    return 0.02 + 0.9 * min(num_first + num_last, fewer) / most if most else 0.0


def _share_of_entries(answer: dict[Any, Any], expected: dict[Any, Any], decimals: int | None) -> float:
    """Return the share of the entries of two dicts that match; a key alone counts as half of one."""
    keys = answer.keys() | expected.keys()
    both = answer.keys() & expected.keys()
    num_same = sum(share_of_matching(answer[key], expected[key], decimals) == 1.0 for key in both)
    return 0.99 * (len(both) + num_same) / (2 * len(keys)) if keys else 0.0


Held: TypeAlias = tuple[tuple[str, tuple[int, ...]], ...]
"""Names and shapes of arrays that an instance holds."""


def held_shapes(trial: Trial, subject: Subject) -> Held:
    """Return the names and shapes of the arrays that an instance holds; empty if there is none."""
    call = call_of(trial, subject)
    with time_limit(SECONDS_OF_CONSTRUCTOR):  # a changed constructor may never end
        instance = call.sample(trial.exercise)[1] if isinstance(call, InstanceCall) else None
    return () if instance is None else tuple((slot.name, slot.shape) for slot in slots_of(instance, subject.value.__module__))


def num_suiting(trial: Trial, held: Held) -> int:
    """Return the number of weights of a part for which an instance holds an array of their size, in either order of the axes, or one of several."""
    inputs = trial.call.sample(trial.exercise)[0] if isinstance(trial.call, InstanceCall) else {}
    weights = [inputs.get(role.name) for role in trial.exercise.roles if role.is_weight]
    needed = Counter(tuple(sorted(each.shape)) for each in weights if isinstance(each, numpy.ndarray))
    shapes = Counter(tuple(sorted(shape)) for shape in _without_heads(held, inputs.get("num_heads", 1)))
    fused = [[inputs[name] for name in group] for group in trial.exercise.fused if all(inputs.get(name) is not None for name in group)]
    wholes = {tuple(sorted((sum(map(len, parts)), *parts[0].shape[1:]))): len(parts) for parts in fused}
    return (needed & shapes).total() + sum(number for shape, number in wholes.items() if shape in shapes and shape not in needed)


def _without_heads(held: Held, num_heads: int) -> Iterator[tuple[int, ...]]:
    """Yield the shapes of arrays, one for those that there are for each head."""
    alike: dict[tuple[str, tuple[int, ...]], int] = Counter((wildcard_name(name), shape) for name, shape in held)
    for (name, shape), number in alike.items():
        if "*" in name and number == num_heads > 1 and len(shape) > 1:
            yield (shape[0] * number, *shape[1:])
        else:
            yield from itertools.repeat(shape, number)


def likeliest(trials: Sequence[Trial]) -> list[Trial]:
    """Return the trials whose outputs come nearest to the definition's, those with the fewest conventions first among equals.

    A probe that a convention cannot express counts as one that does not match.
    """
    if not any(trial.has_answers for trial in trials):  # conventions that concern outputs alone tell nothing apart
        trials = list({tuple(each.encode for each in trial.conventions): trial for trial in reversed(trials)}.values())[::-1]
    most = max((len(trial.probes) for trial in trials), default=0)
    ranked = sorted(
        (trial for trial in trials if trial.probes),
        key=lambda trial: (
            -round(_mean_share(trial) * len(trial.probes) / most, 3),
            trial.num_raised() / len(trial.probes),
            -sum(probe.beyond is None for probe in trial.probes),
            _num_named(trial),
        ),
    )
    plain = sorted(ranked, key=_num_named)[:1]
    if not any(trial.num_matching() for trial in trials):
        alike = [any(is_called_alike(trial, better, trial.probes[0]) for better in ranked[:place]) for place, trial in enumerate(ranked)]
        first = [trial for is_alike, trial in zip(alike, ranked, strict=True) if not is_alike]
        if not any(trial.has_answers for trial in trials):  # a change that makes the program run is tried under every convention
            return farthest(first)[:MAX_TRIALS]
        others = [trial for is_alike, trial in zip(alike, ranked, strict=True) if is_alike]
        return [*first, *others][:MAX_TRIALS]  # those with other inputs first: the others are noticed by their outputs
    return [*ranked[: MAX_TRIALS - 1], *(trial for trial in [*plain, *ranked[MAX_TRIALS - 1 :]] if trial not in ranked[: MAX_TRIALS - 1])][
        :MAX_TRIALS
    ]


def farthest(trials: Sequence[Trial]) -> list[Trial]:
    """Return trials in which most calls raise, those first with which the program gets farthest."""
    return sorted(trials[:MAX_RAISING], key=_num_lines, reverse=True)


def _num_lines(trial: Trial) -> int:
    """Return the number of lines that a program executes before it raises, of the probe with which it gets farthest."""
    subject = trial.call.subject
    path = str(getattr(subject.module, "__file__", None) or "<learner>")
    runs = replace(trial, call=call_of(trial, subject))
    return max(observe(functools.partial(answered, runs, probe), path)[1] for probe in trial.probes)


def _num_named(trial: Trial) -> int:
    return sum(convention.name is not None for convention in trial.conventions)


def _mean_share(trial: Trial) -> float:
    pairs = zip(trial.probes, trial.answers, strict=True)
    shares = [share_of_matching(answer, trial.expected(probe), trial.decimals) for probe, answer in pairs]
    return sum(shares) / len(shares)


def is_called_alike(one: Trial, other: Trial, probe: Probe) -> bool:
    """Return True if two trials call a subject in the same way with the same inputs for a probe."""
    return one.call.place == other.call.place and _is_equal(
        *(encoded_for(each.call, each.conventions, probe.inputs) for each in (one, other))
    )


def _is_equal(one: Inputs | None, other: Inputs | None) -> bool:
    """Return True for the same operands with the same values."""
    if one is None or other is None or one.keys() != other.keys():
        return False
    return all(_is_same_value(value, other[name]) for name, value in one.items())


def _is_same_value(one: Any, other: Any) -> bool:
    if isinstance(one, numpy.ndarray) and isinstance(other, numpy.ndarray):
        return one.dtype == other.dtype and numpy.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    return one is other or (type(one) is type(other) and isinstance(one, int | float | str | bool) and one == other)
