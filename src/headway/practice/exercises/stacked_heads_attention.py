"""Multi-head attention as a list of single heads whose outputs are concatenated."""

from __future__ import annotations

from dataclasses import replace

from headway.practice.exercise import Exercise, Role
from headway.practice.exercises.multi_head_attention import EXERCISE as MULTI_HEAD
from headway.practice.recipes.projections import OUTPUT_ROLES

PER_HEAD = {"d_out", "head_dim"}


def _role(role: Role) -> Role:
    """Return the role with the size of one head, and with an optional output projection."""
    if role in OUTPUT_ROLES:
        return replace(role, is_optional=True)
    return replace(role, size_of=lambda inputs: _head_dim(inputs)) if role.name in PER_HEAD else role


def _head_dim(inputs: dict) -> int:
    weight = inputs.get("query_weight")
    width = inputs["query"].shape[-1] if weight is None else weight.shape[0]
    return width // inputs.get("num_heads", 1)


EXERCISE: Exercise = replace(
    MULTI_HEAD,
    name="stacked_heads_attention",
    roles=tuple(_role(role) for role in MULTI_HEAD.roles),
)
