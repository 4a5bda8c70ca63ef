"""Check of a generation that takes sampling settings: the probabilities that it draws from, which its likeliest tokens do not show.

A branch that a setting chooses, such as that of temperature 0, is run too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy

from headway import functions
from headway.practice.diagnosis.adapters.drawing import LikeliestCall
from headway.practice.diagnosis.calls.conventions import output_of
from headway.practice.diagnosis.checks.trial import Trial
from headway.practice.diagnosis.explain.failure import refuses
from headway.practice.message import EMPTY, Message
from headway.practice.outputs import Raised, is_same
from headway.practice.texts import Texts
from headway.practice.verdict import Cause

TEXTS = Texts("diagnosis")

SETTINGS: tuple[dict[str, Any], ...] = (
    {"temperature": 2.0},
    {"temperature": 0.5},
    {"top_k": 3},
    {"top_p": 0.6},
    {"temperature": 2.0, "top_k": 3},
    {"temperature": 2.0, "top_p": 0.6},
)
"""Sampling settings that are tried: each alone, and a filter with a temperature, which filtered logits must not lose."""
OF_NUCLEUS = r"(?i)cumsum|cumulative|top_?p|nucleus"
"""Pattern of the source of a function that takes top-p, under any name."""
DEFINITIONS = {"temperature": functions.scale_by_temperature, "top_k": functions.keep_top_k, "top_p": functions.keep_top_p}
FIXES = {"temperature": TEXTS["divide_by_temperature"], "top_k": TEXTS["keep_k_largest"], "top_p": TEXTS["keep_nucleus"]}
PATTERNS = {"temperature": r"temp\w*\b.*[-+*/]|[-+*/].*temp", "top_k": r"top_?k\b.*\(|<.*\[|\bk\b", "top_p": r"cumsum|top_?p"}

TOLERANCE = 1e-4
MOST_SHOWN = 4
"""Number of probabilities that a cause shows."""


BY_TEMPERATURE = r"\b{name}\b *(==|<=?|>=?|!=) *(0|0?\.0\d*|\de-\d+)\b|\bif +(not +)?{name} *(:|else\b)"
"""Pattern of a branch for temperature 0."""


def sampling_cause(trial: Trial) -> Cause | None:
    """Return a cause if a generation whose likeliest tokens are right is wrong under a sampling setting, else None.

    It draws from other probabilities with a temperature, top-k or top-p, raises there, or returns other tokens where nothing is drawn.
    """
    call = trial.call
    if not isinstance(call, LikeliestCall) or "model" not in trial.probes[0].inputs:
        return None
    parameters = {role.name: name for name, role in call.binding.role_of.items()}
    return _drawing_cause(trial, call, parameters) or _greedy_cause(trial, call, parameters)


def _drawing_cause(trial: Trial, call: LikeliestCall, parameters: Mapping[str, str]) -> Cause | None:
    inputs = trial.probes[0].inputs
    logits = inputs["model"].logits(inputs["prompt"])[-1]
    if not _is_one_of(_drawn(trial, call, {})[0], [_ordered(functions.softmax(logits))]):
        return None
    for settings in SETTINGS:
        if not all(_takes(call, name, parameters.get(name)) for name in settings):
            continue
        (drawn, output), expected, first = _drawn(trial, call, settings), _expected(logits, settings), next(iter(settings))
        setting, line = ", ".join(f"{name} = {value}" for name, value in settings.items()), call.subject.line_of(PATTERNS[first])
        if drawn is not None and not _is_one_of(drawn, expected):
            says = TEXTS["sampling_differs"].format(setting=setting, got=_shown(drawn), expected=_shown(expected[0]))
            return Cause("sampling_differs", says, FIXES[first], EMPTY, line=line)
        if drawn is None and len(settings) == 1 and isinstance(output, Raised) and not refuses(output.error, call.subject):
            return _raising(call, setting, output, FIXES[first], line)
    return None


def _takes(call: LikeliestCall, name: str, parameter: str | None) -> bool:
    """Return True for a setting that a function takes under the name of a parameter; False for an option that is left open."""
    if parameter is None or (name == "top_p" and re.search(OF_NUCLEUS, call.subject.used_source) is None):
        return False
    return name == "temperature" or len(re.findall(rf"\b{parameter}\b", call.subject.own_source)) > 1


def _greedy_cause(trial: Trial, call: LikeliestCall, parameters: Mapping[str, str]) -> Cause | None:
    """Return a cause if the likeliest tokens are not chosen at temperature 0 or without sampling, where the function has a branch for that."""
    chosen: dict[str, Any] = {"do_sample": False} if "do_sample" in parameters else {}
    if "temperature" in parameters and re.search(BY_TEMPERATURE.format(name=parameters["temperature"]), call.subject.own_source):
        chosen["temperature"] = 0.0
    probe = trial.probes[0]
    for name, value in chosen.items():
        output = output_of(call, trial.conventions, {**probe.inputs, "do_sample": True, name: value})
        is_refused = isinstance(output, Raised) and (isinstance(output.error, ZeroDivisionError) or refuses(output.error, call.subject))
        if is_refused or trial.is_same(probe, output):
            continue
        line = call.subject.line_of(rf"\b{parameters[name]}\b|argmax")
        setting = f"{name} = {value}"
        if isinstance(output, Raised):
            return _raising(call, setting, output, TEXTS["choose_likeliest"], line)
        says = TEXTS["greedy_differs"].format(setting=setting)
        return Cause("sampling_differs", says, TEXTS["choose_likeliest"], EMPTY, line=line)
    return None


def _raising(call: LikeliestCall, setting: str, output: Raised, fix: Message, line: int | None) -> Cause:
    says = TEXTS["sampling_raises"].format(setting=setting, error=f"{type(output.error).__name__}: {output.error}")
    return Cause("sampling_differs", says, fix, EMPTY, line=line)


def _drawn(trial: Trial, call: LikeliestCall, settings: Mapping[str, Any]) -> tuple[numpy.ndarray | None, Any]:
    """Return the probabilities above 0 of the first draw, largest first, or None if nothing is drawn; and the output."""
    call.weights = []
    output = output_of(call, trial.conventions, {**trial.probes[0].inputs, "do_sample": True, **settings})
    return _ordered(call.weights[0].reshape(-1, call.weights[0].shape[-1])[0]) if call.weights else None, output


def _expected(logits: numpy.ndarray, settings: Mapping[str, Any]) -> list[numpy.ndarray]:
    """Return the probabilities above 0 under some settings, largest first.

    For top-p those with one token more or fewer are right as well, and for a filter with a temperature those of any number of tokens.
    """
    (name, value), *others = settings.items()
    kept = _ordered(functions.softmax(DEFINITIONS[name](logits, value)))
    if others:
        shown = settings.get("top_k", 2)
        return [_ordered(kept[:shown]), *(_ordered(kept[: place + 1]) for place in range(len(kept)))]
    if name != "top_p":
        return [kept]
    every = _ordered(functions.softmax(logits))
    return [kept, *(_ordered(every[:count]) for count in (len(kept) + 1, max(len(kept) - 1, 1)))]


def _ordered(weights: numpy.ndarray) -> numpy.ndarray:
    """Return the weights above 0 as probabilities, largest first."""
    return numpy.sort(weights[weights > 0] / weights.sum())[::-1]


def _is_one_of(drawn: numpy.ndarray | None, expected: list[numpy.ndarray]) -> bool:
    return drawn is not None and any(is_same(drawn, each, TOLERANCE) for each in expected)


def _shown(probabilities: numpy.ndarray) -> str:
    more = ", …" if len(probabilities) > MOST_SHOWN else ""
    return ", ".join(f"{each:.3f}" for each in probabilities[:MOST_SHOWN]) + more
