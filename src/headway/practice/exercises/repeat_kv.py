"""repeat_kv: each key-value head repeated for the query heads of its group, as in grouped-query attention."""

from __future__ import annotations

from typing import Any

import numpy

from headway.arrays import array_namespace
from headway.practice.exercise import Convention, Exercise, Inputs, Probe, Step, optional, unchanged
from headway.practice.roles import Roles
from headway.practice.texts import Texts

TEXTS = Texts("repeat_kv")
ROLES = Roles("repeat_kv")


def definition(x: Any, n_rep: int) -> Any:
    """Repeat the heads of (batch, heads, positions, head_dim) along their axis, each n_rep times in a row."""
    batch, heads, *rest = x.shape
    return array_namespace(x).stack([x] * n_rep, 2).reshape(batch, heads * n_rep, *rest)


def recipe(steps: Any, x: Any, n_rep: int) -> Any:
    """The definition as named steps: count, repeat."""
    return steps.repeat(x, steps.count(n_rep))


STEPS: dict[str, Step] = {"repeat": lambda x, n_rep: numpy.repeat(x, n_rep, axis=1)}


def _spread_positions(x: Any, n_rep: int) -> Any:
    """Repeat along a new axis after the positions, and merge it with the heads by a reshape alone."""
    batch, heads, positions, width = x.shape
    return numpy.repeat(x[:, :, :, None], n_rep, axis=3).reshape(batch, heads * n_rep, positions, width)


MISTAKES = (
    TEXTS.mistake("tiled", repeat=lambda x, n_rep: numpy.concatenate([x] * n_rep, axis=1)),
    TEXTS.mistake("features_repeated", repeat=lambda x, n_rep: numpy.repeat(x, n_rep, axis=3)),
    TEXTS.mistake("batch_repeated", repeat=lambda x, n_rep: numpy.repeat(x, n_rep, axis=0)),
    TEXTS.mistake("positions_spread", repeat=_spread_positions),
    TEXTS.mistake("once_more", count=lambda n_rep: n_rep + 1),
    TEXTS.mistake("not_repeated", repeat=unchanged),
)


def _unbatched(inputs: Inputs) -> Inputs | None:
    """Return the first sequence alone if it is the only one; None for several."""
    return inputs | {"x": inputs["x"][0]} if len(inputs["x"]) == 1 else None


def _unbatched_heads_second(inputs: Inputs) -> Inputs | None:
    return inputs | {"x": inputs["x"][0].swapaxes(0, 1)} if len(inputs["x"]) == 1 else None


def _batched(answer: Any, inputs: Inputs) -> Any:
    return answer[None] if numpy.ndim(answer) == 3 else answer


def _heads_third(inputs: Inputs) -> Inputs:
    return inputs | {"x": inputs["x"].swapaxes(1, 2)}


def _heads_second(answer: Any, inputs: Inputs) -> Any:
    return answer.swapaxes(1, 2) if numpy.ndim(answer) == 4 else answer


def _with_values(inputs: Inputs) -> Inputs:
    """Return keys and values, which are the keys with their features in the opposite order."""
    return inputs | {"other": inputs["x"][..., ::-1].copy()}


def _of_both(answer: Any, inputs: Inputs) -> Any:
    """Return the repeated keys; the values, in the order of the keys' features, if they are repeated in another way."""
    if not isinstance(answer, tuple) or len(answer) != 2:
        return answer
    keys, values = answer[0], answer[1][..., ::-1]
    return keys if numpy.array_equal(keys, values) else values


UNBATCHED = r"\w+, *\w+, *\w+ *= *\w+\.(shape|size\(\))"
"""Pattern of the source of a function of arrays of three axes."""


def probes() -> tuple[Probe, ...]:
    """Heads repeated two and three times, a single head, one repetition, and equal sizes of all axes."""
    random = numpy.random.default_rng(31)
    shapes = (
        ("two", (2, 3, 5, 4), 2),
        ("three", (1, 2, 4, 6), 3),
        ("four", (1, 2, 5, 3), 4),
        ("one head", (2, 1, 3, 4), 4),
        ("once", (2, 3, 5, 4), 1),
    )
    every = (*shapes, ("equal sizes", (4, 4, 4, 4), 2))
    return tuple(Probe(name, {"x": random.standard_normal(shape), "n_rep": n_rep}) for name, shape, n_rep in every)


EXERCISE = Exercise(
    name="repeat_kv",
    definition=definition,
    recipe=recipe,
    steps=STEPS,
    roles=(*ROLES.each("x", "other", "n_rep"), ROLES("axis", neutral=1)),
    probes=probes,
    mistakes=MISTAKES,
    conventions=(
        optional(
            Convention(TEXTS["positions_before_heads"], _heads_third, _heads_second, role="x", without="axis"),
            Convention(TEXTS["one_sequence"], _unbatched, _batched, role="x", source=UNBATCHED),
            Convention(
                TEXTS["one_sequence"],
                _unbatched_heads_second,
                lambda answer, inputs: _batched(answer.swapaxes(0, 1) if numpy.ndim(answer) == 3 else answer, inputs),
                role="x",
                source=UNBATCHED,
            ),
            Convention(TEXTS["positions_before_heads"], lambda inputs: _heads_third(inputs) | {"axis": 2}, _heads_second, role="axis"),
        ),
        optional(Convention(encode=_with_values, decode=_of_both, role="other", is_required=True)),
    ),
)
