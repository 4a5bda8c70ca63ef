"""Feed-forward weights widened to the inner width of a class that computes its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from headway.practice.diagnosis.classes.slots import Slot
from headway.practice.exercise import Inputs

INNER = {"gate_weight": 0, "up_weight": 0, "down_weight": 1, "gate_bias": 0, "up_bias": 0}
"""The axis of the inner width of each weight of a feed-forward."""


def widened(slots: Sequence[Slot], inputs: Inputs) -> Inputs:
    """Return the inputs with the inner width of a feed-forward that the arrays have room for, filled with zeros.

    A hidden unit whose weights are zero changes no output. Arrays may be wider than a probe because a class computes its inner width.
    """
    up = inputs.get("up_weight")
    if up is None or numpy.ndim(up) != 2:
        return inputs
    inner, width = up.shape
    shapes = [tuple(size for size in slot.shape if size > 1) for slot in slots]
    pairs = [shape for shape in shapes if len(shape) == 2 and width in shape]
    if any(sorted(shape) == sorted((inner, width)) for shape in pairs):
        return inputs
    wider = [max(shape) for shape in pairs if max(shape) > inner]
    if not wider:
        return inputs
    fused = [size for size in wider if "gate_weight" in inputs and 2 * size in wider]  # gate and up in one array
    room = max(fused or wider, key=wider.count)
    return inputs | {name: _with_zeros(inputs[name], room - inner, axis) for name, axis in INNER.items() if inputs.get(name) is not None}


def _with_zeros(array: Any, count: int, axis: int) -> Any:
    shape = list(numpy.shape(array))
    shape[axis] = count
    return numpy.concatenate([array, numpy.zeros(shape)], axis)
