"""Check of a generation that takes sampling settings: the probabilities that it draws from, which its likeliest tokens do not show."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy

from headway import functions
from headway.practice.diagnosis.adapters.drawing import LikeliestCall
from headway.practice.diagnosis.calls.conventions import output_of
from headway.practice.diagnosis.checks.trials import Trial
from headway.practice.message import EMPTY
from headway.practice.outputs import is_same
from headway.practice.texts import Texts
from headway.practice.verdict import Cause

TEXTS = Texts("diagnosis")

SETTINGS = {"temperature": 2.0, "top_k": 3, "top_p": 0.6}
"""Sampling settings that are tried, each alone."""
DEFINITIONS = {"temperature": functions.scale_by_temperature, "top_k": functions.keep_top_k, "top_p": functions.keep_top_p}
FIXES = {"temperature": TEXTS["divide_by_temperature"], "top_k": TEXTS["keep_k_largest"], "top_p": TEXTS["keep_nucleus"]}
PATTERNS = {"temperature": r"temp\w*\b.*[-+*/]|[-+*/].*temp", "top_k": r"top_?k\b.*\(|<.*\[|\bk\b", "top_p": r"cumsum|top_?p"}

TOLERANCE = 1e-4
MOST_SHOWN = 4
"""Number of probabilities that a cause shows."""


def sampling_cause(trial: Trial) -> Cause | None:
    """Return a cause if a generation whose likeliest tokens are right draws from other probabilities with a temperature, top-k or top-p; else None."""
    call = trial.call
    if not isinstance(call, LikeliestCall) or "model" not in trial.probes[0].inputs:
        return None
    inputs = trial.probes[0].inputs
    logits = inputs["model"].logits(inputs["prompt"])[-1]
    if not _is_one_of(_drawn(trial, {}), [_ordered(functions.softmax(logits))]):
        return None
    for name, value in SETTINGS.items():
        parameter = next((each for each, role in call.binding.role_of.items() if role.name == name), None)
        if parameter is None or (name != "temperature" and len(re.findall(rf"\b{parameter}\b", call.subject.own_source)) < 2):
            continue  # an option that is left open
        drawn, expected = _drawn(trial, {name: value}), _expected(logits, name, value)
        if drawn is not None and not _is_one_of(drawn, expected):
            says = TEXTS["sampling_differs"].format(setting=f"{name} = {value}", got=_shown(drawn), expected=_shown(expected[0]))
            return Cause("sampling_differs", says, FIXES[name], EMPTY, line=call.subject.line_of(PATTERNS[name]))
    return None


def _drawn(trial: Trial, settings: Mapping[str, Any]) -> numpy.ndarray | None:
    """Return the probabilities above 0 of the first draw, largest first; None if nothing is drawn."""
    assert isinstance(trial.call, LikeliestCall)
    trial.call.weights = []
    output_of(trial.call, trial.conventions, {**trial.probes[0].inputs, "do_sample": True, **settings})
    return _ordered(trial.call.weights[0].reshape(-1, trial.call.weights[0].shape[-1])[0]) if trial.call.weights else None


def _expected(logits: numpy.ndarray, name: str, value: Any) -> list[numpy.ndarray]:
    """Return the probabilities above 0 under a setting, largest first; for top-p those with one token more or fewer as well."""
    kept = _ordered(functions.softmax(DEFINITIONS[name](logits, value)))
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
