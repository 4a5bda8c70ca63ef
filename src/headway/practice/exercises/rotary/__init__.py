"""Rotary positions: rotate each pair of coordinates by position · theta^(-2i / head_dim)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy

from headway import functions
from headway.arrays import array_namespace, asarray_like, cast
from headway.practice.exercise import Exercise, Inputs, Probe, Step
from headway.practice.exercises.rotary.conventions import AXES, BASES, FORMS, LAYOUT, POSITIONS, PRECISION, RETURNS, SHAPES, TURNS, WIDTHS
from headway.practice.exercises.rotary.steps import (
    STEPS,
    WRONG_FREQUENCIES,
    along_first_axis,
    counted,
    even_and_odd,
    exponents,
    halves,
    interleave,
)
from headway.practice.recipes.measuring import Ask, Measured, angles_of, base_of, first_position, of_waves
from headway.practice.roles import Roles, extent
from headway.practice.texts import Texts

TEXTS = Texts("rotary")
ROLES = Roles("rotary")


MISTAKES = (
    *(TEXTS.mistake(name, frequencies=step) for name, step in WRONG_FREQUENCIES.items()),
    TEXTS.mistake("offset_ignored", positions=lambda x, positions, offset: counted(x, positions, 0)),
    TEXTS.mistake("positions_ignored", positions=lambda x, positions, offset: counted(x, None, offset)),
    TEXTS.mistake("position_along_first_axis", positions=along_first_axis),
    TEXTS.mistake("positions_all_zero", positions=lambda x, positions, offset: 0 * counted(x, positions, offset)),
    TEXTS.mistake("frequencies_by_turns", widen=lambda numbers: halves(numpy.repeat(numbers, 2, axis=-1))),
    TEXTS.mistake("frequencies_in_halves", widen=lambda numbers: even_and_odd(numpy.concatenate([numbers, numbers], axis=-1))),
    TEXTS.mistake("halves_in_by_turns_out", join=interleave),
    TEXTS.mistake("turned_backwards", turn=lambda a, b, cos_a, cos_b, sin_a, sin_b: (a * cos_a + b * sin_a, b * cos_b - a * sin_b)),
    TEXTS.mistake("minus_missing", turn=lambda a, b, cos_a, cos_b, sin_a, sin_b: (a * cos_a + b * sin_a, b * cos_b + a * sin_b)),
    TEXTS.mistake("two_minuses", turn=lambda a, b, cos_a, cos_b, sin_a, sin_b: (a * cos_a - b * sin_a, b * cos_b - a * sin_b)),
    TEXTS.mistake(
        "sine_and_cosine_exchanged", turn=lambda a, b, cos_a, cos_b, sin_a, sin_b: (a * sin_a - b * cos_a, b * sin_b + a * cos_b)
    ),
    TEXTS.mistake("half_not_exchanged", turn=lambda a, b, cos_a, cos_b, sin_a, sin_b: (a * cos_a - a * sin_a, b * cos_b + b * sin_b)),
    TEXTS.mistake("not_exchanged", turn=lambda a, b, cos_a, cos_b, sin_a, sin_b: (a * cos_a + a * sin_a, b * cos_b + b * sin_b)),
    TEXTS.mistake(
        "first_is_overwritten",
        turn=lambda a, b, cos_a, cos_b, sin_a, sin_b: (a * cos_a - b * sin_a, b * cos_b + (a * cos_a - b * sin_a) * sin_b),
    ),
    TEXTS.mistake("only_cosine", turn=lambda a, b, cos_a, cos_b, sin_a, sin_b: (a * cos_a, b * cos_b)),
    TEXTS.mistake("second_half_not_turned", turn=lambda a, b, cos_a, cos_b, sin_a, sin_b: (a * cos_a - b * sin_a, b)),
    TEXTS.mistake("sine_and_cosine_added", turn=lambda a, b, cos_a, cos_b, sin_a, sin_b: (a + sin_a, b + cos_b)),
    TEXTS.mistake("cosine_and_sine_added", turn=lambda a, b, cos_a, cos_b, sin_a, sin_b: (a + cos_a, b + sin_b)),
    TEXTS.mistake("key_not_turned", both=lambda rotated, query, key: (rotated(query), key)),
    TEXTS.mistake("query_not_turned", both=lambda rotated, query, key: (query, rotated(key))),
    TEXTS.mistake("key_from_query", both=lambda rotated, query, key: (rotated(query), rotated(query))),
    TEXTS.mistake("query_and_key_exchanged", both=lambda rotated, query, key: (rotated(key), rotated(query))),
)


def _read(ask: Any, seq_len: int, width: int) -> tuple[Any, Any] | None:
    """Return each pair's first angle and its step per position, measured on vectors along the first coordinate of every pair."""
    row = numpy.concatenate([numpy.ones(width // 2), numpy.zeros(width // 2)])
    positions = {"positions": numpy.arange(seq_len)}
    for leading in ((), (2,), (2, 3)):
        x = numpy.broadcast_to(row, (*leading, seq_len, width)).copy()
        for inputs in ({"x": x}, {"x": x} | positions, {"x": x, "offset": 0}, {"x": x, "key": x}, {"x": x, "key": x} | positions):
            answer = ask(inputs)
            answer = answer[0] if isinstance(answer, tuple) and answer else answer
            if isinstance(answer, numpy.ndarray) and answer.shape == x.shape and numpy.isfinite(answer).all():
                return angles_of(*halves(answer.reshape(-1, seq_len, width)[0].astype(numpy.float64)))
    return None


def _theta(ask: Ask) -> Measured:
    """Measure the base of the geometric series of frequencies; the named mistakes in the exponent give 1, 100 or 10⁸."""
    return of_waves(
        partial(_read, ask), lambda first, step, width: base_of(step, width, 1.0, 100.0, 1e8) if abs(step[0] - 1) <= 1e-3 else None
    )


def given_or(number_of: Callable[[Inputs], float]) -> Step:
    """Return the step that computes the frequencies with a wrong base, unless another one than the usual base is given."""
    return lambda width, theta: (number_of({}) if theta == 10000.0 else float(theta)) ** -exponents(width)


RECOVERIES = (
    TEXTS.recovery("theta", "frequencies", measure=_theta, wrong=given_or, right=10000.0, right_name="10000"),
    TEXTS.recovery(
        "offset",
        "positions",
        measure=lambda ask: of_waves(partial(_read, ask), first_position),
        wrong=lambda number_of: lambda x, positions, offset: counted(x, positions, offset) + number_of({}),
        right=0.0,
        right_name="0",
    ),
)


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
            both = (cos, sin) if not offset else tuple(_rows(each, steps.positions(x, None, offset)) for each in (cos, sin))
        a, b = steps.split(x)
        return steps.join(*steps.turn(a, b, *steps.widen(both[0]), *steps.widen(both[1])))

    return rotated(x) if key is None else steps.both(rotated, x, key)


def _rows(table: Any, positions: Any) -> Any:
    """Return the rows of a table at positions, of which those after its end are the last one."""
    return numpy.take(table, numpy.asarray(positions).astype(int), axis=0, mode="clip")


def definition(
    x: Any, key: Any = None, positions: Any = None, offset: int = 0, theta: float = 10000.0, cos: Any = None, sin: Any = None, **sizes: Any
) -> Any:
    """Return headway.functions' rotary at the positions, or with the given cosines and sines."""
    if x.ndim == 1:
        return definition(x[None], positions=asarray_like([positions], x), theta=theta)[0]
    if cos is None:
        at = asarray_like(range(offset, offset + x.shape[-2]), x) if positions is None else positions
        cos, sin = functions.rotary_cos_sin(at, functions.rotary_frequencies(x.shape[-1], theta=theta, like=x))
    elif offset:
        cos, sin = (each[offset : offset + x.shape[-2]] for each in (cos, sin))
    single = array_namespace(x).float32
    rotated = cast(functions.rotary(x, cos, sin), single)
    return rotated if key is None else (rotated, cast(functions.rotary(key, cos, sin), single))


OPTIONAL_TABLES = r"\w*(cos|sin|freqs?|table|rope|cis|emb)\w*( *: *[^=,()]+)? *= *None"
"""Pattern of the source of a function whose tables may be left out: those that are given may be of the positions of x alone, whatever the offset is."""

ROWS = TEXTS["rows"]
MATRIX = TEXTS["matrix"]
BATCH = TEXTS["batch"]
HEADS = TEXTS["heads"]


def probes() -> tuple[Probe, ...]:
    """One vector; sequences with no, one and two leading axes; another base, offset, positions; given angles; a sequence in which bases of
    10,000 and 10,001 differ."""
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
        Probe("offset, batch", {"x": batch, "offset": 3}, BATCH),
        Probe("offset, matrix", {"x": matrix, "offset": 3}, MATRIX),
        Probe("positions", {"x": heads, "positions": shuffled}, HEADS),
        Probe("positions, batch", {"x": batch, "positions": shuffled}, BATCH),
        Probe("positions, matrix", {"x": matrix, "positions": shuffled}, MATRIX),
        Probe("one vector", {"x": vector, "positions": 3}, TEXTS["vector"]),
        Probe("angles given", {"x": heads, **given(5, 8)}, HEADS),
        Probe("angles given, matrix", {"x": matrix, **given(5, 8)}, MATRIX),
        Probe("query and key", {"x": heads, "key": keys}, HEADS),
        Probe("query and key, offset", {"x": heads, "key": keys, "offset": 3}, HEADS),
        Probe("query and key, positions", {"x": heads, "key": keys, "positions": shuffled}, HEADS),
        Probe("query and key, angles given", {"x": heads, "key": keys, **given(5, 8)}, HEADS),
        Probe("query and key, angles given, square", {"x": square, "key": square[::-1].copy(), **given(6, 6)}, HEADS),
        Probe("many positions", {"x": random.standard_normal((1, 2, 97, 8))}, HEADS),
        Probe("angles given, more positions", {"x": random.standard_normal((3, 2, 7, 6)), **given(7, 6)}, HEADS),
        Probe("another base, batch", {"x": batch, "theta": 300.0}, BATCH),
        Probe("angles given, offset", {"x": heads, "offset": 3, **given(9, 8)}, HEADS, unless=OPTIONAL_TABLES),
        Probe("angles given, offset, matrix", {"x": matrix, "offset": 3, **given(9, 8)}, MATRIX, unless=OPTIONAL_TABLES),
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
        *ROLES.each("x", "positions", "key"),
        ROLES("theta", neutral=10000.0),
        ROLES("offset", neutral=0),
        *ROLES.each("cos", "sin", "tables"),
        ROLES.size("head_dim", extent("x", -1)),
        ROLES.size("seq_len", _length),
        ROLES.size("max_seq_len", lambda inputs: 128),
    ),
    probes=probes,
    mistakes=MISTAKES,
    conventions=(RETURNS, PRECISION, TURNS, LAYOUT, POSITIONS, WIDTHS, SHAPES, FORMS, BASES, AXES),
    recoveries=RECOVERIES,
)
