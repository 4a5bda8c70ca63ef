"""The operands of a class as the parameters of one function: of its constructor, its config, its call, and its weights."""

from __future__ import annotations

import numpy

from headway.practice.diagnosis.calls.binding import CONSTRUCTOR_PREFIX, Binding
from headway.practice.diagnosis.calls.compare import as_numbers
from headway.practice.diagnosis.classes.assignment import Assignment
from headway.practice.diagnosis.classes.constructing import Construction
from headway.practice.diagnosis.classes.slots import Slot
from headway.practice.exercise import Inputs

CONFIG_PREFIX, WEIGHT_PREFIX = "config__", "weight__"

PREFIXES = (CONSTRUCTOR_PREFIX, CONFIG_PREFIX, WEIGHT_PREFIX)
"""Prefixes of parameter names: constructor parameters, config values, and weights. Parameters of forward have no prefix."""

WIDTHS = ("hidden_size", "intermediate_size", "head_dim", "value_dim")
"""Sizes of parts that are replaced."""


def class_binding(construction: Construction, assignment: Assignment, *, is_construction: bool = False, is_sealed: bool = False) -> Binding:
    """Return all roles of a class as the parameters of one function.

    is_sealed   True if no instance can be constructed: all weights are then bound, so that the call reports the exception
    """
    role_of = {CONSTRUCTOR_PREFIX + name: role for name, role in construction.constructor.role_of.items()}
    bound = {role.name for role in role_of.values()}
    if construction.wired is not None:
        sizes = [role for role in construction.roles if role.name in (*WIDTHS[:2], "num_heads") and role.name not in bound]
        role_of |= {CONFIG_PREFIX + role.name: role for role in sizes}
        bound |= {role.name for role in sizes}
    if construction.takes_all_sizes:
        role_of |= {CONFIG_PREFIX + role.name: role for role in construction.sizes_taken if role.name not in bound}
    elif any(
        role.is_submodule for role in role_of.values()
    ):  # ready-made submodules need the number of heads even if the class does not take it
        role_of |= {CONFIG_PREFIX + role.name: role for role in construction.roles if role.name == "num_heads" and role.name not in bound}
    if is_construction:
        return Binding(role_of)
    role_of |= construction.forward.role_of
    bound = {role.name for role in role_of.values()}
    holds = [role for role in construction.roles if role.is_weight and role.name not in bound and (assignment.roles or is_sealed)]
    role_of |= {WEIGHT_PREFIX + role.name: role for role in holds if is_sealed or role.name in assignment.roles or not role.is_optional}
    return Binding(role_of)


def is_given(slot: Slot, construction: Construction, sample: Inputs) -> bool:
    """Return True for an array that the constructor takes as an argument."""
    given = (
        sample.get(role.name) for role in construction.constructor.role_of.values() if role.is_weight or role.name.startswith("fused_")
    )
    return any(
        isinstance(each, numpy.ndarray) and each.shape == tuple(slot.shape) and numpy.allclose(each, as_numbers(slot.array))
        for each in given
    )


def without_mask(inputs: Inputs) -> Inputs:
    """Return the inputs without masks, with the sequence under both of its names."""
    return inputs | {name: None for name in inputs if "mask" in name} | {"x": inputs.get("x", inputs.get("query"))}
