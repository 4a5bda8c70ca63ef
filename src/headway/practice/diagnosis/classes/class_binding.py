"""The operands of a class as the parameters of one function: of its constructor, its config, its call, and its weights."""

from __future__ import annotations

from headway.practice.diagnosis.calls.binding import CONSTRUCTOR_PREFIX, Binding
from headway.practice.diagnosis.classes.assignment import Assignment
from headway.practice.diagnosis.classes.constructing import Construction

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
