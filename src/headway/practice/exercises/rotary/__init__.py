"""Rotary positions: rotate each pair of coordinates by position · theta^(-2i / head_dim)."""

from __future__ import annotations

from typing import Any

import numpy

from headway import functions
from headway.arrays import array_namespace, asarray_like, cast
from headway.practice.exercise import Exercise, Inputs, Probe
from headway.practice.exercises.rotary.conventions import AXES, BASES, FORMS, LAYOUT, POSITIONS, PRECISION, SHAPES, TURNS, WIDTHS
from headway.practice.exercises.rotary.mistakes import MISTAKES
from headway.practice.exercises.rotary.recoveries import RECOVERIES
from headway.practice.exercises.rotary.steps import STEPS
from headway.practice.roles import Roles
from headway.practice.texts import Texts

TEXTS = Texts("rotary")
ROLES = Roles("rotary")


def recipe(
    steps: Any,
    x: Any,
    key: Any = None,
    positions: Any = None,
    offset: int = 0,
    theta: float = 10000.0,
    cos: Any = None,
    sin: Any = None,
    **sizes: Any,
) -> Any:
    """The definition as named steps: positions, frequencies, widen, split, turn (rotate), join (the pairs); both for query and key."""

    def rotated(x: Any) -> Any:
        if cos is None:
            angles = steps.positions(x, positions, offset)[..., None] * steps.frequencies(x.shape[-1], theta)
            both = numpy.cos(angles), numpy.sin(angles)
        else:
            both = cos, sin
        a, b = steps.split(x)
        return steps.join(*steps.turn(a, b, *steps.widen(both[0]), *steps.widen(both[1])))

    return rotated(x) if key is None else steps.both(rotated, x, key)


def definition(
    x: Any, key: Any = None, positions: Any = None, offset: int = 0, theta: float = 10000.0, cos: Any = None, sin: Any = None, **sizes: Any
) -> Any:
    """Return headway.functions' rotary at the positions, or with the given cosines and sines."""
    if x.ndim == 1:
        return definition(x[None], positions=asarray_like([positions], x), theta=theta)[0]
    if cos is None:
        at = asarray_like(range(offset, offset + x.shape[-2]), x) if positions is None else positions
        cos, sin = functions.rotary_cos_sin(at, functions.rotary_frequencies(x.shape[-1], theta=theta, like=x))
    single = array_namespace(x).float32
    rotated = cast(functions.rotary(x, cos, sin), single)
    return rotated if key is None else (rotated, cast(functions.rotary(key, cos, sin), single))


ROWS = TEXTS["rows"]
MATRIX = TEXTS["matrix"]
BATCH = TEXTS["batch"]
HEADS = TEXTS["heads"]


def probes() -> tuple[Probe, ...]:
    """One vector; sequences with no, one and two leading axes; another base, offset, positions; given angles."""
    random = numpy.random.default_rng(13)

    def given(seq_len: int, width: int) -> Inputs:
        angles = (numpy.arange(seq_len) + 2)[:, None] * 0.7 ** numpy.arange(width // 2)
        return {"cos": numpy.cos(angles), "sin": numpy.sin(angles)}

    matrix, batch, heads = (random.standard_normal((*leading, 5, 8)) for leading in ((), (3,), (2, 3)))
    square, vector = random.standard_normal((6, 6, 6, 6)), random.standard_normal(6)
    keys = random.standard_normal((2, 3, 5, 8))
    shuffled = numpy.array([4, 0, 7, 7, 2])
    return (
        Probe("heads", {"x": heads}, HEADS),
        Probe("heads, square", {"x": square}, HEADS),
        Probe("batch", {"x": batch}, BATCH),
        Probe("matrix", {"x": matrix}, MATRIX),
        Probe("another base", {"x": heads, "theta": 300.0}, HEADS),
        Probe("another base, matrix", {"x": matrix, "theta": 300.0}, MATRIX),
        Probe("offset", {"x": heads, "offset": 3}, HEADS),
        Probe("offset, matrix", {"x": matrix, "offset": 3}, MATRIX),
        Probe("positions", {"x": heads, "positions": shuffled}, HEADS),
        Probe("positions, batch", {"x": batch, "positions": shuffled}, BATCH),
        Probe("positions, matrix", {"x": matrix, "positions": shuffled}, MATRIX),
        Probe("one vector", {"x": vector, "positions": 3}, TEXTS["vector"]),
        Probe("angles given", {"x": heads, **given(5, 8)}, HEADS),
        Probe("angles given, matrix", {"x": matrix, **given(5, 8)}, MATRIX),
        Probe("query and key", {"x": heads, "key": keys}, HEADS),
        Probe("query and key, positions", {"x": heads, "key": keys, "positions": shuffled}, HEADS),
        Probe("query and key, angles given", {"x": heads, "key": keys, **given(5, 8)}, HEADS),
        Probe("query and key, angles given, square", {"x": square, "key": square[::-1].copy(), **given(6, 6)}, HEADS),
    )


def _length(inputs: Inputs) -> Any:
    """Return the number of positions that a table must hold: up to the last one in x (after the offset) or in positions."""
    x, offset = inputs.get("x"), inputs.get("offset") or 0
    if x is None or x.ndim < 2:
        return None
    last = 0 if inputs.get("positions") is None else int(numpy.max(inputs["positions"])) + 1
    rows = max(x.shape[1:-1]) if x.ndim == 4 else x.shape[-2]  # the head axis can come before or after the position axis, and is shorter
    return max(rows + (offset.start if isinstance(offset, slice) else offset), last)


EXERCISE = Exercise(
    name="rotary",
    definition=definition,
    recipe=recipe,
    steps=STEPS,
    roles=(
        ROLES("x"),
        ROLES("positions"),
        ROLES("key"),
        ROLES("theta", neutral=10000.0),
        ROLES("offset", neutral=0),
        ROLES("cos"),
        ROLES("sin"),
        ROLES("tables"),
        ROLES.size("head_dim", lambda inputs: inputs["x"].shape[-1] if inputs.get("x") is not None else None),
        ROLES.size("seq_len", _length),
        ROLES.size("max_seq_len", lambda inputs: 16),
    ),
    probes=probes,
    mistakes=MISTAKES,
    conventions=(PRECISION, TURNS, LAYOUT, POSITIONS, WIDTHS, SHAPES, FORMS, BASES, AXES),
    recoveries=RECOVERIES,
)
