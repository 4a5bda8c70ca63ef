"""Tables of rotary positions: the frequencies of the pairs, and the cosines and sines of every position."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from headway import functions
from headway.arrays import cast, to_numpy
from headway.practice.exercise import Convention, Exercise, Inputs, Probe, Step, optional
from headway.practice.exercises.rotary import given_or
from headway.practice.exercises.rotary.steps import WRONG_FREQUENCIES, exponents, powers
from headway.practice.recipes.encoding import without
from headway.practice.recipes.measuring import Ask, Measured, base_of
from headway.practice.recipes.rotary_forms import ANGLES, COSINE_AND_SINE, FREQUENCIES, SINE_FIRST
from headway.practice.roles import Roles
from headway.practice.texts import Texts

TEXTS = Texts("rotary_tables")
ROLES = Roles("rotary_tables")


def recipe(steps: Any, head_dim: int, seq_len: int | None = None, positions: Any = None, theta: float = 10000.0, **sizes: Any) -> Any:
    """The definition as named steps: frequencies, positions, angles, waves; without positions, the frequencies alone."""
    frequencies = steps.frequencies(head_dim, theta)
    if seq_len is None and positions is None:
        return frequencies
    at = steps.positions(seq_len) if positions is None else numpy.asarray(positions)
    return steps.waves(steps.angles(at, frequencies))


def definition(head_dim: int, seq_len: int | None = None, positions: Any = None, theta: float = 10000.0, **sizes: Any) -> Any:
    """Return headway.functions' frequencies, or the cosines and sines of the positions."""
    frequencies = functions.rotary_frequencies(head_dim, theta=theta, like=numpy.zeros(1))
    if seq_len is not None and positions is None:
        positions = numpy.arange(seq_len)
    if positions is None:
        return frequencies
    at = numpy.asarray(to_numpy(positions))
    return tuple(cast(each, numpy.dtype("float32")) for each in functions.rotary_cos_sin(at, frequencies))


STEPS: dict[str, Step] = {
    "frequencies": powers(exponents),
    "positions": numpy.arange,
    "angles": numpy.multiply.outer,
    "waves": lambda angles: (numpy.cos(angles), numpy.sin(angles)),
}


def _summed(positions: Any, frequencies: Any) -> Any:
    """Return the angles of the sum of the positions of all sequences."""
    return numpy.multiply.outer(positions.sum(0) if positions.ndim > 1 else positions, frequencies)


MISTAKES = (
    *(TEXTS.mistake(name, frequencies=step) for name, step in WRONG_FREQUENCIES.items()),
    TEXTS.mistake("positions_from_one", positions=lambda seq_len: numpy.arange(seq_len) + 1),
    TEXTS.mistake("positions_summed", angles=_summed),
    TEXTS.mistake("sine_missing", waves=lambda angles: (numpy.cos(angles), numpy.cos(angles))),
    TEXTS.mistake("cosine_missing", waves=lambda angles: (numpy.sin(angles), numpy.sin(angles))),
    TEXTS.mistake("sine_and_cosine_exchanged", waves=lambda angles: (numpy.sin(angles), numpy.cos(angles))),
    TEXTS.mistake("sine_negative", waves=lambda angles: (numpy.cos(angles), -numpy.sin(angles))),
)


def _theta(ask: Ask) -> Measured:
    """Measure the base from the frequencies, read as the angles of position 1; the named mistakes in the exponent give the others."""
    found: Measured = []
    for head_dim in (8, 12):
        frequencies = _read_frequencies(ask, head_dim)
        is_series = frequencies is not None and abs(frequencies[0] - 1) <= 1e-3
        base = base_of(frequencies, head_dim, 1.0, 100.0, 1e8, 1e-4) if is_series else None
        if base is None:
            return []
        found.append(({}, base))
    return found


def _read_frequencies(ask: Any, head_dim: int) -> Any:
    for inputs in ({"head_dim": head_dim}, {"head_dim": head_dim, "seq_len": 7}):
        answer = ask(inputs)
        if isinstance(answer, numpy.ndarray) and answer.shape == (head_dim // 2,):
            return answer.astype(numpy.float64)
        if isinstance(answer, tuple) and all(getattr(each, "shape", None) == (7, head_dim // 2) for each in answer):
            return numpy.arctan2(answer[1][1], answer[0][1]).astype(numpy.float64)
    return None


def probes() -> tuple[Probe, ...]:
    """Tables of distinct sizes, another base, chosen positions; frequencies alone."""
    return (
        Probe("table", {"head_dim": 8, "seq_len": 7}),
        Probe("narrow", {"head_dim": 4, "seq_len": 6}),
        Probe("long", {"head_dim": 12, "seq_len": 97}),
        Probe("another base", {"head_dim": 8, "seq_len": 5, "theta": 300.0}),
        Probe("positions", {"head_dim": 8, "positions": numpy.array([4, 0, 7, 7, 2])}),
        Probe("positions of two sequences", {"head_dim": 8, "positions": numpy.tile(numpy.arange(5), (2, 1))}, TEXTS["sequences"]),
        Probe("frequencies", {"head_dim": 8}),
        Probe("frequencies, wider", {"head_dim": 20}),
        Probe("frequencies, another base", {"head_dim": 12, "theta": 500.0}),
    )


def _x(inputs: Inputs) -> Any:
    """Return an x of which only shape, dtype and device are used."""
    rows = inputs.get("seq_len") or numpy.shape(inputs.get("positions", ()))[-1]
    return numpy.zeros((1, 3, rows, inputs["head_dim"])) if rows else None


def _num_rows(inputs: Inputs) -> Any:
    return inputs.get("seq_len") or (int(numpy.max(inputs["positions"])) + 1 if inputs.get("positions") is not None else None)


def _given_frequencies(inputs: Inputs) -> Inputs | None:
    """Return the inputs of a function that is given the frequencies in place of the width; None if it would return them alone."""
    if not {"seq_len", "positions"} & set(inputs):
        return None
    frequencies = inputs.get("theta", 10000.0) ** -exponents(inputs["head_dim"])
    return without(inputs, "head_dim", "theta") | {"inv_freq": frequencies}


def _of_width(encode: Callable[[Inputs], Inputs | None]) -> Callable[[Inputs], Inputs | None]:
    """Return an encoding to an x from which a function takes the width, too."""

    def encoded(inputs: Inputs) -> Inputs | None:
        found = encode(inputs)
        return None if found is None else without(found, "head_dim")

    return encoded


def _from_x(shape: Callable[[int, int], tuple[int, ...]]) -> Callable[[Inputs], Inputs | None]:
    """Return an encoding that passes the number of rows as the shape of x."""

    return lambda inputs: (
        without(inputs, "seq_len") | {"x": numpy.zeros(shape(inputs["seq_len"], inputs["head_dim"]))} if "seq_len" in inputs else None
    )


def _as_positions(*leading: int, is_both: bool = False) -> Callable[[Inputs], Inputs | None]:
    """Return an encoding that passes all positions, with these leading axes, instead of their number or with it."""

    def encode(inputs: Inputs) -> Inputs | None:
        if "seq_len" not in inputs and "positions" not in inputs:
            return None
        at = inputs["positions"] if "positions" in inputs else numpy.arange(inputs["seq_len"])
        at = at if at.ndim > 1 else at.reshape(*leading, -1)
        return (inputs if is_both else without(inputs, "seq_len")) | {"positions": at}

    return encode


SHAPES_OF_X: tuple[Callable[[int, int], tuple[int, ...]], ...] = (
    lambda rows, width: (rows, width),
    lambda rows, width: (2, rows, width),
    lambda rows, width: (2, 3, rows, width),
)

EXERCISE = Exercise(
    name="rotary_tables",
    definition=definition,
    recipe=recipe,
    steps=STEPS,
    roles=(
        ROLES.size("head_dim", lambda inputs: inputs["head_dim"]),
        ROLES.size("seq_len", _num_rows),
        ROLES("theta", neutral=10000.0),
        ROLES.size("max_seq_len", _num_rows),
        ROLES("x", size_of=_x),
        ROLES("positions", neutral=None),
        ROLES("offset", neutral=0),
        ROLES("inv_freq"),
    ),
    probes=probes,
    mistakes=MISTAKES,
    conventions=(
        optional(
            *(
                Convention(encode=_as_positions(*leading, is_both=is_both), role="positions", is_required=True)
                for is_both in (False, True)
                for leading in ((), (1,))
            ),
            Convention(
                TEXTS["takes_array_positions_instead_their_number"],
                encode=lambda inputs: inputs | {"seq_len": numpy.arange(inputs["seq_len"])} if "seq_len" in inputs else inputs,
                role="seq_len",
            ),
            Convention(encode=_from_x(lambda rows, width: (2, 3, rows, width)), role="x"),
            Convention(encode=_from_x(lambda rows, width: (2, rows, width)), role="x"),
            Convention(encode=_from_x(lambda rows, width: (2, rows, 3, width)), role="x"),
            Convention(encode=_from_x(lambda rows, width: (rows, width)), role="x"),
            *(Convention(encode=_of_width(_from_x(shape)), role="x", without="head_dim") for shape in SHAPES_OF_X),
            Convention(TEXTS["takes_frequencies"], encode=_given_frequencies, role="inv_freq", without="head_dim"),
        ),
        optional(Convention(TEXTS["checked_base_10000_which_default"], encode=lambda inputs: {"theta": 10000.0} | inputs, role="theta")),
        (COSINE_AND_SINE, ANGLES, SINE_FIRST, FREQUENCIES),
    ),
    recoveries=(TEXTS.recovery("theta", "frequencies", measure=_theta, wrong=given_or, right=10000.0, right_name="10000"),),
    related=("rotary", "sinusoidal_positions"),
    is_trained_through=False,
)
