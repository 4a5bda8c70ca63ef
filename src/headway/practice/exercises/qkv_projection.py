"""Query, key and value: one sequence projected by three matrices."""

from __future__ import annotations

from typing import Any

from headway import functions
from headway.practice.exercise import Convention, Exercise, Inputs, Probe, optional
from headway.practice.recipes.projection_forms import WEIGHT_FORMS
from headway.practice.recipes.projection_mistakes import WEIGHTS
from headway.practice.recipes.projections import FUSED, PARTS, SEQUENCE, SIZES, project
from headway.practice.recipes.projections import WEIGHTS as WEIGHT_ROLES
from headway.practice.recipes.sequences import BATCH, MATRICES, WHOLE, Draw, whole
from headway.practice.texts import Texts

TEXTS = Texts("qkv_projection")


def definition(x: Any, **weights: Any) -> tuple[Any, ...]:
    """Apply functions.linear three times."""
    return tuple(functions.linear(x, weights[f"{part}_weight"], weights.get(f"{part}_bias")) for part in PARTS[:3])


def recipe(steps: Any, x: Any, **weights: Any) -> tuple[Any, ...]:
    """The definition as named steps: weights, project, give."""
    held = steps.weights({f"{part}_{kind}": weights.get(f"{part}_{kind}") for part in PARTS for kind in ("weight", "bias")})
    return steps.give(tuple(steps.project(x, held[f"{part}_weight"], held[f"{part}_bias"]) for part in PARTS[:3]))


STEPS = {"project": project}

MISTAKES = (
    *(each for each in WEIGHTS if "output" not in each.name),
    TEXTS.mistake("element_by_element", project=lambda x, weight, bias: x * weight.T),
    TEXTS.mistake("query_alone", give=lambda answers: answers[0]),
)


def _as_tuple(answer: Any, inputs: Inputs) -> Any:
    """Return three slices of an array, or the values of a dict, as a tuple in the order query, key, value."""
    if isinstance(answer, dict) and len(answer) == 3:
        first = {str(name).strip("_").lower()[:1]: value for name, value in answer.items()}
        return tuple(first[letter] for letter in "qkv") if set(first) == set("qkv") else answer
    return tuple(answer) if getattr(answer, "ndim", 0) == inputs["x"].ndim + 1 and len(answer) == 3 else answer


def probes() -> tuple[Probe, ...]:
    """All sizes distinct, then square; biases; a batch; integers."""
    draw = Draw(17)

    def given(*shape: int, d_out: int, biases: tuple[str, ...] = ()) -> Inputs:
        return {"x": draw.numbers(*shape), **draw.weights(shape[-1], d_out, biases=biases)}

    return (
        Probe("matrices", given(5, 4, d_out=3), MATRICES),
        Probe("square", given(4, 4, d_out=4), MATRICES),
        Probe("biases", given(5, 4, d_out=3, biases=PARTS[:3]), MATRICES),
        Probe("whole numbers", whole(given(5, 4, d_out=3)), WHOLE),
        Probe("batch", given(2, 5, 4, d_out=3), BATCH),
        Probe("square batch", given(4, 4, 4, d_out=4), BATCH),
        Probe("batch, biases", given(2, 5, 4, d_out=3, biases=PARTS[:3]), BATCH),
    )


EXERCISE = Exercise(
    name="qkv_projection",
    definition=definition,
    recipe=recipe,
    steps=STEPS,
    roles=(SEQUENCE, *(role for role in WEIGHT_ROLES if "output" not in role.name), *SIZES),
    probes=probes,
    mistakes=MISTAKES,
    conventions=(WEIGHT_FORMS, optional(Convention(decode=_as_tuple))),
    fused=FUSED,
)
