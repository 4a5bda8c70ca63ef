"""Check of a generation with a key-value cache: the model is given the whole prompt, not its last token alone."""

from __future__ import annotations

import numpy

from headway.practice.diagnosis.calls.calling import Call
from headway.practice.diagnosis.calls.conventions import encoded_for
from headway.practice.diagnosis.checks.trial import Trial
from headway.practice.exercise import Inputs
from headway.practice.message import EMPTY
from headway.practice.recipes.toy_model import ToyModel
from headway.practice.texts import Texts
from headway.practice.verdict import Cause

TEXTS = Texts("diagnosis")

SWITCH = "use_cache"
"""Role of the option that turns the cache on, which is off for the probes."""


def cached_prompt_cause(trial: Trial) -> Cause | None:
    """Return a cause if a generation gives the model no token before the prompt's last one when its cache is turned on; else None."""
    call = trial.call
    switch = next((name for name, role in call.binding.role_of.items() if role.name == SWITCH), None)
    if trial.exercise.name != "generate" or switch is None:
        return None
    for probe in trial.probes:
        model, prompt = probe.inputs["model"], numpy.asarray(probe.inputs["prompt"])
        encoded = encoded_for(call, trial.conventions, probe.inputs)
        if encoded is None or not isinstance(model, ToyModel) or not 1 < prompt.size == prompt.shape[-1] <= model.context_size:
            continue
        received = _received(call, encoded, switch)
        if received is not None and received[:1] == [prompt.ravel()[-1]] and prompt.ravel()[0] not in received:
            says = TEXTS["prompt_not_cached"].format(name=switch)
            return Cause("prompt_not_cached", says, TEXTS["cache_the_prompt"], EMPTY, line=call.subject.line_of(r"\[[^\]]*-1 *:"))
    return None


def _received(call: Call, encoded: Inputs, switch: str) -> list[int] | None:
    """Return the tokens that the model is given in all calls of a generation with its cache on; None if it raises or has another model."""
    model = encoded.get("model")
    if not isinstance(model, ToyModel):
        return None
    try:
        call.run({**call.arguments(encoded), switch: True})
    except Exception:  # a cache of another form
        return None
    return [int(token) for each in model.caches.received for token in each.ravel()]
