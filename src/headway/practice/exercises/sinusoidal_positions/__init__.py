"""Sinusoidal positions: sin and cos of position / base^(2i / hidden_size) in alternating columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from headway import functions
from headway.arrays import cast
from headway.practice.exercise import Exercise, Inputs, Probe
from headway.practice.exercises.sinusoidal_positions.conventions import ADDS, RETURNS, TAKES, WIDTHS
from headway.practice.exercises.sinusoidal_positions.mistakes import MISTAKES
from headway.practice.exercises.sinusoidal_positions.recoveries import RECOVERIES
from headway.practice.exercises.sinusoidal_positions.steps import STEPS
from headway.practice.roles import Roles
from headway.practice.texts import Texts

TEXTS = Texts("sinusoidal_positions")
ROLES = Roles("sinusoidal_positions")


def recipe(
    steps: Any,
    seq_len: Any = None,
    hidden_size: Any = None,
    base: float = 10000.0,
    offset: int = 0,
    interleaved: bool = True,
    x: Any = None,
) -> Any:
    """The definition as named steps: positions, exponents, angles, waves, arrange, finish, and scale and add if x is given."""
    if x is not None:
        seq_len, hidden_size = x.shape[-2:]

    def table(length: int) -> Any:
        angles = steps.angles(steps.positions(length, offset), steps.exponents(hidden_size), base)
        return steps.finish(steps.arrange(steps.waves(angles), interleaved))

    return table(seq_len) if x is None else steps.add(steps.scale(x), table)


def definition(
    seq_len: Any = None, hidden_size: Any = None, base: float = 10000.0, offset: int = 0, interleaved: bool = True, x: Any = None
) -> Any:
    """Return the table of headway.functions, or x plus the table if x is given."""
    seq_len, hidden_size = (seq_len, hidden_size) if x is None else x.shape[-2:]
    table = functions.sinusoidal_positions(seq_len, hidden_size, base=base, offset=offset, interleaved=interleaved, like=x)
    return table if x is None else cast(x + table, table.dtype)


def _size(axis: int) -> Callable[[Inputs], Any]:
    return lambda inputs: None if inputs.get("x") is None else inputs["x"].shape[axis]


BATCH = TEXTS["batch"]


def probes() -> tuple[Probe, ...]:
    """Tables of distinct sizes, a square, an odd width, a long one; another base and first position; x with and without a batch."""
    random = numpy.random.default_rng(11)
    return (
        Probe("table", {"seq_len": 7, "hidden_size": 6}),
        Probe("square", {"seq_len": 8, "hidden_size": 8}),
        Probe("long", {"seq_len": 23, "hidden_size": 4}),
        Probe("odd width", {"seq_len": 5, "hidden_size": 7}, TEXTS["odd"], caution=TEXTS["odd_differs"]),
        Probe("another base", {"seq_len": 7, "hidden_size": 6, "base": 500.0}),
        Probe("another first position", {"seq_len": 5, "hidden_size": 8, "offset": 3}),
        Probe("halves requested", {"seq_len": 5, "hidden_size": 8, "interleaved": False}),
        Probe("added", {"x": random.standard_normal((3, 5, 8))}, BATCH),
        Probe("added, square", {"x": random.standard_normal((6, 6, 6))}, BATCH),
        Probe("added to one sequence", {"x": random.standard_normal((5, 8))}, TEXTS["matrix"]),
    )


EXERCISE = Exercise(
    name="sinusoidal_positions",
    definition=definition,
    recipe=recipe,
    steps=STEPS,
    roles=(
        ROLES.size("seq_len", _size(-2)),
        ROLES.size("hidden_size", _size(-1)),
        ROLES("x"),
        ROLES("base", neutral=10000.0),
        ROLES("offset", neutral=0),
        ROLES("interleaved", neutral=True),
    ),
    probes=probes,
    may_write=True,
    mistakes=MISTAKES,
    conventions=(WIDTHS, TAKES, RETURNS, ADDS),
    recoveries=RECOVERIES,
)
