"""The ways to construct and call a learner's class, one for every possible assignment of weights to its arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy

from headway.practice.diagnosis.calls.binding import TABLE, Binding
from headway.practice.diagnosis.classes.assignment import Assignment, assignments
from headway.practice.diagnosis.classes.class_binding import class_binding, is_given, without_mask
from headway.practice.diagnosis.classes.configs import is_size_role
from headway.practice.diagnosis.classes.constructing import Construction, constructions
from headway.practice.diagnosis.classes.instances import InstanceCall
from headway.practice.diagnosis.classes.made import with_makers
from headway.practice.diagnosis.classes.slots import Slot, module_library, slots_of
from headway.practice.diagnosis.classes.submodules import LIBRARIES, Submodule, is_part
from headway.practice.diagnosis.reading.subject import Subject
from headway.practice.exercise import Exercise, Inputs
from headway.practice.outputs import Raised
from headway.practice.recipes.projections import PARTS

AssignWeights = Callable[[Sequence[Slot], Inputs, Exercise], list[Assignment]]
"""A function that assigns weights to the arrays of an instance."""


def instance_calls(
    subject: Subject,
    exercise: Exercise,
    library: str,
    find: AssignWeights = assignments,
    wired: Submodule | None = None,
    *,
    is_unrotated: bool = False,
) -> list[InstanceCall]:
    """Return the ways to call a class in one array library: one for every possible assignment of weights to its arrays.

    wired         correct parts that replace the instance's own
    is_unrotated  True to leave out rotary positions and the norms of queries and keys

    Of several readings of the constructor's parameters, and of makers, the first is taken whose arrays have room for all weights.
    """
    if module_library(subject.value) not in (None, library):
        return []
    found: list[tuple[list[InstanceCall], float]] = []
    for made in with_makers(subject, exercise):
        failed: Construction | None = None
        first: InstanceCall | None = None
        for construction in constructions(made, exercise):
            if library not in LIBRARIES and any(role.is_submodule for role in construction.constructor.role_of.values()):
                continue
            if failed is not None and construction.constructs_as(failed):
                continue
            read = replace(construction, wired=wired, is_unrotated=is_unrotated)
            is_known = first is not None and read.constructs_as(first.construction)
            first = replace(first, construction=read) if first and is_known else InstanceCall(made, Binding({}), library, construction=read)
            calls, share = _calls_of(first, exercise, find, is_exact=bool(found))
            if share == 1:
                return calls
            failed = None if share else construction
            found.append((calls, share))
    return max(found, key=lambda each: each[1])[0] if found else []


def _calls_of(first: InstanceCall, exercise: Exercise, find: AssignWeights, *, is_exact: bool) -> tuple[list[InstanceCall], float]:
    """Return the calls of one reading of the constructor, and the share of the needed weights that have a place.

    first      the call without operands, with the instances that are constructed already
    is_exact   True to count only places of exactly the weights' sizes
    """
    construction = first.construction
    sample, instance = first.sample(exercise)
    given = {role.name for role in construction.constructor.role_of.values()}
    if "fused_weight" in given:  # `in_proj_bias` alone is a flag
        given |= {f"{part}_{kind}" for kind in ("weight", "bias") if f"fused_{kind}" in given for part in PARTS[:3]}
    own = replace(exercise, roles=tuple(role for role in exercise.roles if not (role.is_weight and role.name in given)))
    slots = first.ungated(slots_of(instance, first.subject.value.__module__)) if instance is not None else []
    slots = [slot for slot in slots if not is_given(slot, construction, sample)]
    held = find(slots, sample, own) if instance is not None else []
    needed = {role.name for role in own.roles if role.is_weight and not role.is_optional and sample.get(role.name) is not None}
    needed -= {role.name for role in construction.forward.role_of.values()}
    fitting = max((len(needed & assignment.exact_roles(slots, sample)) for assignment in held), default=0)
    placed = fitting if is_exact else max((len(needed & assignment.roles) for assignment in held), default=0)
    share = 0.0 if instance is None else placed / len(needed) if needed and slots else 1.0
    if not slots and any(is_part(each.name, first.subject, is_called=True) for each in first.subject.parameters):
        share /= 2  # a maker gives it parts that hold weights
    bindings = [class_binding(construction, each, is_sealed=instance is None) for each in held or [Assignment({})]]
    calls = [replace(first, assignment=each, binding=bound) for each, bound in zip(held or [Assignment({})], bindings, strict=True)]
    if any(map(_holds_table_transposed, held)):
        share /= 2  # the constructor's two sizes are likelier to be exchanged
    takes_tables = any(role.name.startswith(TABLE) for role in construction.forward.role_of.values())
    may_misfit = takes_tables or (construction.is_shown and fitting < placed)
    if share and may_misfit and not _runs(calls[0], sample):
        share /= 2
    required = {role.name for role in exercise.roles if role.is_weight and not role.is_optional}
    always = set.intersection(*map(set, [each for each in exercise.inputs if required <= each.keys()] or exercise.inputs))
    taken = {role.name for role in calls[0].binding.role_of.values()} | {role.name for role in construction.forward.role_of.values()}
    if any(role.name in always - taken for role in exercise.roles if is_size_role(role) and not role.is_optional):
        share /= 2
    return calls, share


def _holds_table_transposed(assignment: Assignment) -> bool:
    """Return True if the table of tokens has a place in which it is transposed, and none for it as it is: an output layer may be tied to the latter."""
    is_transposed = [content.is_transposed for content in assignment.contents.values() if "table" in content.roles]
    return bool(is_transposed) and all(is_transposed)


def _runs(call: InstanceCall, sample: Inputs) -> bool:
    """Return True if a call without a mask returns an output, or one with a mask, which some classes need."""
    unmasked = without_mask(sample) | call.sizes(sample)
    length = unmasked["x"].shape[-2] if getattr(unmasked["x"], "ndim", 0) > 1 else 1
    masked = unmasked | {"mask": numpy.ones((length, length), bool)}
    return any(not isinstance(call(each), Raised) for each in (unmasked, masked))
