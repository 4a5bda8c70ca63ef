"""Check of the loss of a model that takes targets: it is the cross-entropy of the model's own logits."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy

from headway.arrays import to_numpy
from headway.functions import cross_entropy
from headway.practice.diagnosis.calls.conventions import encoded_for, output_of
from headway.practice.diagnosis.checks.trial import Trial
from headway.practice.diagnosis.classes.instances import InstanceCall
from headway.practice.diagnosis.classes.method_binding import call_parameters
from headway.practice.message import EMPTY
from headway.practice.texts import Texts
from headway.practice.verdict import Cause

TEXTS = Texts("diagnosis")

TARGETS = r"(targets?|labels?|y)(_(ids|tokens|idx))?"
"""Pattern of the name of an optional parameter that takes targets."""
OTHER_LOSS = (
    r"(loss|cross_entropy|nll)[^\n]*(smooth|aux|z_?loss|weight|expert|router|balanc|reduction|mask)|(smooth|aux|balanc|router)\w*loss"
)
"""Pattern of a line of a model whose loss is more than the mean cross-entropy."""
TOLERANCE = 1e-3


def loss_cause(trial: Trial) -> Cause | None:
    """Return a cause if a model that is right without targets returns another loss with them than the mean cross-entropy of its logits.

    The loss may also be that of the next tokens, for a model that shifts its targets by itself. Other losses are not looked at.
    """
    call = trial.call
    if not isinstance(call, InstanceCall) or trial.exercise.name != "gpt2":
        return None
    every = call_parameters(call.subject, call.construction.method)
    name = next((each.name for each in every if each.default is None and re.fullmatch(TARGETS, each.name)), None)
    if name is None or re.search(OTHER_LOSS, call.subject.code, re.IGNORECASE):
        return None
    try:
        loss, expected = _losses(trial, call, name)
    except Exception:  # targets of another form, or no loss
        return None
    if any(abs(loss - each) <= TOLERANCE * max(1.0, abs(each)) for each in expected):
        return None
    says = TEXTS["loss_differs"].format(got=f"{loss:.4g}", expected=f"{expected[0]:.4g}")
    return Cause("loss_differs", says, TEXTS["flatten_for_loss"], EMPTY, line=call.subject.line_of(r"cross_entropy|nll|loss\w* *="))


def _losses(trial: Trial, call: InstanceCall, name: str) -> tuple[float, list[float]]:
    """Return the loss of a model, and the cross-entropy of its logits with the targets, and with those of the next positions.

    Errors   StopIteration if there is no probe with several sequences, or no loss; any other exception of the model
    """
    probe = next(each for each in trial.probes if _is_batch(each.inputs.get("token_ids")))
    ids, vocab_size = probe.inputs["token_ids"], len(probe.inputs["wte"])
    targets = 1 + (ids * 3 + 1) % (vocab_size - 1)  # none is 0, which may be padding
    logits = output_of(call, trial.conventions, probe.inputs)
    if logits.shape != (*ids.shape, vocab_size):
        raise StopIteration
    arguments = call.arguments(encoded_for(call, trial.conventions, probe.inputs) or {})
    answer = InstanceCall.forward(call, call.instance_for(arguments), {**arguments, name: call.array(targets)})
    shifted = cross_entropy(logits[:, :-1], targets[:, 1:])
    return _loss_in(answer), [float(cross_entropy(logits, targets)), float(shifted)]


def _is_batch(token_ids: Any) -> bool:
    return numpy.ndim(token_ids) == 2 and min(token_ids.shape) > 1 and token_ids.shape[0] != token_ids.shape[1]


def _loss_in(answer: Any) -> float:
    """Return the only number in an output: a loss by itself, or next to the logits."""
    parts = [answer.get("loss")] if isinstance(answer, Mapping) else [*answer] if isinstance(answer, tuple | list) else [answer]
    numbers = [to_numpy(each) for each in [*parts, getattr(answer, "loss", None)] if each is not None]
    return float(next(each for each in numbers if each.size == 1 and each.dtype.kind == "f"))
