"""Correct ways to write rotary positions: the layout of the pairs, the order of the axes, and the form of the angles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from headway.practice.exercise import Convention, Inputs
from headway.practice.exercises.rotary.steps import concatenate, even_and_odd, halves, interleave
from headway.practice.texts import Texts

TEXTS = Texts("rotary")


def _each(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function that applies `change` to an array, or to each array of a tuple."""
    return lambda answer: tuple(map(change, answer)) if isinstance(answer, tuple) else change(answer)


def _is_array(value: Any) -> bool:
    return isinstance(value, numpy.ndarray) and value.ndim > 0


def _operands(change: Callable[[Any], Any]) -> Callable[[Inputs], Inputs]:
    return lambda inputs: inputs | {name: change(inputs[name]) for name in ("x", "key") if inputs.get(name) is not None}


def _single_precision(answer: Any, inputs: Inputs) -> Any:
    """Cast to float32: angles in float32 are as correct as in float64."""
    return _each(lambda each: each.astype(numpy.float32) if _is_array(each) and each.dtype == numpy.float64 else each)(answer)


def _in_halves(answer: Any, inputs: Inputs) -> Any:
    return _each(lambda each: concatenate(*even_and_odd(each)) if _is_array(each) else each)(answer)


def _heads_last(x: Any) -> Any:
    return x.swapaxes(1, 2) if _is_array(x) and x.ndim == 4 else x


def _with_angles(change: Callable[[Any], Any]) -> Callable[[Inputs], Inputs]:
    return lambda inputs: inputs | {name: change(inputs[name]) for name in ("cos", "sin") if inputs.get(name) is not None}


def _as_complex(inputs: Inputs) -> Inputs | None:
    if inputs.get("cos") is None:
        return None
    rest = {name: value for name, value in inputs.items() if name not in ("cos", "sin")}
    return rest | {"freqs_cis": inputs["cos"] + 1j * inputs["sin"]}


def _as_angles(inputs: Inputs) -> Inputs | None:
    if inputs.get("cos") is None:
        return None
    rest = {name: value for name, value in inputs.items() if name not in ("cos", "sin")}
    return rest | {"angles": numpy.arctan2(inputs["sin"], inputs["cos"])}


def _as_slice(inputs: Inputs) -> Inputs:
    return (
        inputs if inputs.get("offset") is None else inputs | {"offset": slice(inputs["offset"], inputs["offset"] + inputs["x"].shape[-2])}
    )


def _per_sequence(inputs: Inputs) -> Inputs:
    positions = inputs.get("positions")
    return inputs if positions is None else inputs | {"positions": numpy.asarray(positions)[None]}


PRECISION = (Convention(decode=_single_precision),)
LAYOUT = (
    Convention(TEXTS["halves"]),
    Convention(
        TEXTS["interleaved"],
        encode=_operands(lambda x: interleave(*halves(x))),
        decode=_in_halves,
    ),
)
AXES = (
    Convention(),
    Convention(
        TEXTS["positions_before_heads"],
        encode=_operands(_heads_last),
        decode=lambda answer, inputs: _each(_heads_last)(answer),
        role="x",
    ),
)
ANGLES = (
    Convention(),
    Convention(
        TEXTS["wide_halves"],
        encode=_with_angles(lambda each: concatenate(each, each)),
        role="cos",
    ),
    Convention(
        TEXTS["wide_repeated"],
        encode=_with_angles(lambda each: numpy.repeat(each, 2, axis=-1)),
        role="cos",
    ),
    Convention(
        TEXTS["batch_of_tables"],
        encode=_with_angles(lambda each: concatenate(each, each)[None]),
        role="cos",
    ),
    Convention(TEXTS["complex_table"], encode=_as_complex, role="freqs_cis"),
    Convention(TEXTS["takes_angles_radians"], encode=_as_angles, role="angles"),
)
POSITIONS = (
    Convention(),
    Convention(TEXTS["offset_slice_positions"], encode=_as_slice, role="offset"),
    Convention(TEXTS["positions_in_batch"], encode=_per_sequence, role="positions"),
)
BASES = (
    Convention(),
    Convention(
        TEXTS["usual_base"],
        encode=lambda inputs: {"theta": 10000.0} | inputs,
        role="theta",
    ),
)
