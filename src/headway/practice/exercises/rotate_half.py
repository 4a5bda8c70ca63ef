"""rotate_half: the halves of the last axis exchanged, the second with the opposite sign, as in x · cos + rotate_half(x) · sin."""

from __future__ import annotations

from typing import Any

import numpy

from headway import functions
from headway.practice.exercise import QUIET, Convention, Exercise, Probe, Step, optional
from headway.practice.roles import Roles
from headway.practice.texts import Texts

TEXTS = Texts("rotate_half")
ROLES = Roles("rotate_half")


def definition(x: Any) -> Any:
    """Return headway.functions' result."""
    return functions.rotate_half(x)


def recipe(steps: Any, x: Any) -> Any:
    """The definition as named steps: split, turn, join."""
    return steps.join(*steps.turn(*steps.split(x)))


def halves(x: Any) -> tuple[Any, Any]:
    """Return the first and the second half of the last axis."""
    size = x.shape[-1] // 2
    return x[..., :size], x[..., size:]


def neighbours(x: Any) -> tuple[Any, Any]:
    """Return the even and the odd elements of the last axis."""
    return x[..., ::2], x[..., 1::2]


def joined(first: Any, second: Any) -> Any:
    """Return two arrays as halves of the last axis."""
    return numpy.concatenate([first, second], axis=-1)


def alternating(first: Any, second: Any) -> Any:
    """Return two arrays as the even and the odd elements of the last axis."""
    return numpy.stack([first, second], axis=-1).reshape(*first.shape[:-1], -1)


STEPS: dict[str, Step] = {"split": halves, "turn": lambda first, second: (-second, first), "join": joined}

BACKWARDS: dict[str, Step] = {"turn": lambda first, second: (second, -first)}
WITHOUT_SIGN: dict[str, Step] = {"turn": lambda first, second: (second, first)}

MISTAKES = (
    TEXTS.mistake("turned_backwards", turn=BACKWARDS["turn"]),
    TEXTS.mistake("sign_missing", turn=WITHOUT_SIGN["turn"]),
    TEXTS.mistake("both_negative", turn=lambda first, second: (-second, -first)),
    TEXTS.mistake("not_exchanged", turn=lambda first, second: (-first, second)),
    TEXTS.mistake("second_negative", turn=lambda first, second: (first, -second)),
    TEXTS.mistake("not_turned", turn=lambda first, second: (first, second)),
    TEXTS.mistake("neighbours_joined_as_halves", split=neighbours),
    TEXTS.mistake("halves_joined_as_neighbours", join=alternating),
)

SUBTRACTED = r"-\s*\(*(self\.)?_?rotate_\w+\("
"""Pattern of the source of a file that subtracts what was turned: x · cos - rotate_half(x) · sin."""

SIGN_IN_TABLE = r"-\s*\(*((torch|np|jnp|mx|numpy)\.)?sin\b(?!.*=.*\bx)|\bsin\w* *\* *\(?-1|neg(ative)?\([^()]*sin"
"""Pattern of the source of a file whose table of sines has the sign."""


def probes() -> tuple[Probe, ...]:
    """Arrays of four axes to one, of several widths."""
    random = numpy.random.default_rng(43)
    shapes = (("four axes", (2, 3, 5, 8)), ("three axes", (2, 5, 6)), ("two axes", (4, 4)), ("one axis", (10,)))
    return tuple(Probe(name, {"x": random.standard_normal(shape)}, QUIET) for name, shape in shapes)


EXERCISE = Exercise(
    name="rotate_half",
    definition=definition,
    recipe=recipe,
    steps=STEPS,
    roles=(ROLES("x"),),
    probes=probes,
    mistakes=MISTAKES,
    conventions=(
        optional(Convention(TEXTS["neighbours"], steps={"split": neighbours, "join": alternating})),
        optional(
            Convention(TEXTS["is_subtracted"], steps=BACKWARDS, file_source=SUBTRACTED),
            Convention(TEXTS["sign_in_table"], steps=WITHOUT_SIGN, file_source=SIGN_IN_TABLE),
        ),
    ),
)
