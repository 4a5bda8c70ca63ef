"""Check of an attention's own relative positions: a sequence after hidden positions, or before later ones, has the output that it has alone."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy

from headway.practice.diagnosis.calls.conventions import encoded_for, output_of
from headway.practice.diagnosis.checks.mask_branches import with_mask_shapes
from headway.practice.diagnosis.checks.trial import Trial
from headway.practice.diagnosis.classes.instances import InstanceCall
from headway.practice.diagnosis.classes.unrotated import holds_relative
from headway.practice.exercise import Convention, Inputs
from headway.practice.outputs import is_same

NUM_HIDDEN = 2
"""Number of first positions that are hidden."""

PARTS = (slice(NUM_HIDDEN, None), slice(None, -NUM_HIDDEN))
"""The positions whose outputs do not depend on the others."""

TOLERANCE = 1e-3


def depends_on_place(trial: Trial) -> bool:
    """Return True if the outputs of an attention that was judged without its relative positions change with the place of the sequence.

    False for an attention that takes no mask, whose first positions cannot be hidden.
    """
    call = trial.call
    if not isinstance(call, InstanceCall) or not call.construction.is_unrotated or not call.binding.takes("mask"):
        return False
    if not any(map(holds_relative, call.made.values())):
        return False
    own = replace(call, construction=replace(call.construction, is_unrotated=False), made={}, unmade={})
    for probe, conventions in itertools.product(
        trial.probes, [trial.conventions, *with_mask_shapes(trial)]
    ):  # its probes may have shown padding alone
        if "mask" in probe.inputs or not _is_long(probe.inputs):
            continue
        whole = _output(own, conventions, probe.inputs | {"mask": _seen(probe.inputs)})
        parts = [(part, _output(own, conventions, _part(probe.inputs, part))) for part in PARTS]
        if whole is not None and all(answer is not None and answer.shape == whole[..., part, :].shape for part, answer in parts):
            return not all(is_same(answer, whole[..., part, :], TOLERANCE) for part, answer in parts)
    return False


def _output(call: InstanceCall, conventions: Sequence[Convention], inputs: Inputs) -> Any:
    encoded = encoded_for(call, conventions, inputs)
    answer = None if encoded is None or not call.fits(encoded) else output_of(call, conventions, inputs)
    return answer if isinstance(answer, numpy.ndarray) and answer.ndim > 1 else None


SEQUENCES = ("query", "key", "value", "x")


def _is_long(inputs: Mapping[str, Any]) -> bool:
    """Return True for sequences of one length with a batch axis."""
    lengths = {inputs[name].shape[-2] for name in SEQUENCES if name in inputs and numpy.ndim(inputs[name]) == 3}
    return len(lengths) == 1 and lengths.pop() > NUM_HIDDEN + 1


def _seen(inputs: Inputs) -> Any:
    """Return a mask in which each position sees those before it, but not the first ones, which see one another."""
    places = numpy.arange(next(inputs[name].shape[-2] for name in SEQUENCES if name in inputs))
    return (places <= places[:, None]) & ((places >= NUM_HIDDEN) | (places[:, None] < NUM_HIDDEN))


def _part(inputs: Inputs, part: slice) -> Inputs:
    """Return the inputs of a part of the positions alone."""
    parts = {id(inputs[name]): inputs[name][..., part, :].copy() for name in SEQUENCES if name in inputs}
    return {name: parts.get(id(value), value) for name, value in inputs.items()} | {"mask": _seen(inputs)[part, part].copy()}
