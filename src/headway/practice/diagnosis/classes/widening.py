"""Weights with zeros for the room that a class has beyond those of a probe: the inner width of a feed-forward, rows of a table of positions."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy

from headway.practice.diagnosis.calls.wording import is_named
from headway.practice.diagnosis.classes.slots import Slot
from headway.practice.exercise import Inputs, Role

INNER = {"gate_weight": 0, "up_weight": 0, "down_weight": 1, "gate_bias": 0, "up_bias": 0}
"""The axis of the inner width of each weight of a feed-forward."""

INNER_WIDTH = "intermediate_size"

MULTIPLE = r"\bassert +\(?(?:\w+\.)*(\w+) *% *(\d+) *== *0|\bif +\(?(?:\w+\.)*(\w+) *% *(\d+) *(?:(?:!=|>) *0)?\)?:\s*raise\b"
"""Pattern of code that refuses a size that is no multiple of a number."""

ROOM = 64
"""Inner width of a feed-forward whose own is rounded down to 0, as 8/3 of a small width to a multiple of 64 is."""

TABLES = ("table", "position_table", "segment_table")
"""Tables of positions and of segments; a class may have one row more, that of a class token or of padding."""


def divisor_of(role: Role, source: str) -> int:
    """Return the number that assertions of the source require a size to be a multiple of; 1 for none."""
    return math.lcm(*(number for name, number in _divisors(source) if number and is_named(name, role)))


@cache
def _divisors(source: str) -> list[tuple[str, int]]:
    return [(name or other, int(number or another)) for name, number, other, another in re.findall(MULTIPLE, source)]


def widened(slots: Sequence[Slot], inputs: Inputs) -> Inputs:
    """Return the inputs with the weights that the arrays have room for, filled with zeros."""
    return _with_rows(slots, _with_inner_width(slots, inputs))


def give_room(slots: Sequence[Slot]) -> None:
    """Give ROOM units to arrays of PyTorch that have none because a class rounds its inner width down to 0."""
    empty = [slot for slot in slots if 0 in slot.shape and hasattr(slot.array, "data") and hasattr(slot.array, "new_zeros")]
    matrices = [slot.shape for slot in empty if len(slot.shape) == 2]
    if {shape[::-1] for shape in matrices} & {*matrices}:
        for slot in empty:
            slot.array.data = slot.array.new_zeros([size or ROOM for size in slot.shape])


def _with_rows(slots: Sequence[Slot], inputs: Inputs) -> Inputs:
    """Return the inputs with as many rows of a table of positions as the array for it has."""
    shapes = [tuple(size for size in slot.shape if size > 1) for slot in slots]
    for name in TABLES:
        table = inputs.get(name)
        if table is None or numpy.ndim(table) != 2 or table.shape in shapes:
            continue
        others = [numpy.shape(value) for key, value in inputs.items() if key != name]
        longer = {shape[0] for shape in shapes if shape[1:] == table.shape[1:] and shape[0] > len(table) and shape not in others}
        if len(longer) == 1:
            inputs = inputs | {name: _with_zeros(table, longer.pop() - len(table), 0)}
    return inputs


def _with_inner_width(slots: Sequence[Slot], inputs: Inputs) -> Inputs:
    """Return the inputs with the inner width of a feed-forward that the arrays have room for.

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
