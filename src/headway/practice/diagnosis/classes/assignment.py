"""Assign weights to the arrays of an instance: by name if the name is clear, else by shape, else try every possibility."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy

from headway.practice.diagnosis.calls.compare import as_numbers
from headway.practice.diagnosis.classes.role_words import roles_in_name, words_of
from headway.practice.diagnosis.classes.slots import Slot
from headway.practice.diagnosis.classes.widening import widened
from headway.practice.exercise import Exercise, Inputs, Role
from headway.practice.message import EMPTY, Message
from headway.practice.texts import Texts

TEXTS = Texts("diagnosis")

LAYOUTS = ("khd", "hkd", "hdk", "dkh", "dhk", "kdh")
"""Orders in which query, key and value (k), heads (h) and head_dim (d) may be nested in a fused array, outermost first."""

NESTED = {
    "khd": EMPTY,
    "hkd": TEXTS["head_by_head"],
    "hdk": TEXTS["by_element_in_a_head"],
    "dkh": TEXTS["heads_innermost"],
    "dhk": TEXTS["by_element"],
    "kdh": TEXTS["heads_innermost_in_each"],
}
"""Notes about these orders; the first is the usual one."""

ENDINGS = {"weight": "bias", ".w": ".b"}
"""Endings of the names of weights and of the biases next to them."""

MAX_ASSIGNMENTS = 24


@dataclass(frozen=True)
class Contents:
    """Contents of one array.

    roles      one weight, or several concatenated
    is_transposed  True if the array is stored as (in, out)
    has_exact_size   True if the array had exactly the size of its weights in the instance that was inspected
    layout     nesting of concatenated weights, one of LAYOUTS
    """

    roles: tuple[str, ...]
    is_transposed: bool = False
    layout: str = LAYOUTS[0]
    has_exact_size: bool = False


@dataclass(frozen=True)
class Assignment:
    """One possible assignment of weights to the arrays of an instance, by array name; `*` in a name matches every head index."""

    contents: Mapping[str, Contents]
    notes: tuple[Message, ...] = ()

    @property
    def roles(self) -> set[str]:
        """Return the weights that the instance holds."""
        return {role for content in self.contents.values() for role in content.roles}

    def exact_roles(self, slots: Sequence[Slot], inputs: Inputs) -> set[str]:
        """Return the weights whose arrays have exactly their size for these inputs."""
        inputs = widened(slots, inputs)
        found: set[str] = set()
        for name, content in self.contents.items():
            given = [inputs[role] for role in content.roles if inputs.get(role) is not None]
            size = sum(math.prod(slot.shape) for slot in _slots_named(name, slots))
            found |= set(content.roles) if size == sum(map(numpy.size, given)) else set()
        return found

    def has_capacity(self, slots: Sequence[Slot], inputs: Inputs) -> bool:
        """Return True if every array that had exactly the size of its weights still has it for these inputs."""
        inputs = widened(slots, inputs)
        for name, content in self.contents.items():
            given = [inputs[role] for role in content.roles if inputs.get(role) is not None]
            if content.has_exact_size and len(given) == len(content.roles):
                size = sum(math.prod(slot.shape) for slot in _slots_named(name, slots))
                if size != sum(numpy.size(array) for array in given):
                    return False
        return True

    def write(self, slots: Sequence[Slot], inputs: Inputs) -> None:
        """Write the weights into the arrays; biases that the inputs do not have become zero."""
        inputs = widened(slots, inputs)
        for name, content in self.contents.items():
            arrays = [inputs.get(role) for role in content.roles]
            members = _slots_named(name, slots)
            given = [array for array in arrays if array is not None]
            if not given:
                for slot in members:
                    slot.write(numpy.zeros(slot.shape))
                continue
            values = _concatenated(given, content.layout, int(inputs.get("num_heads", 1))) if len(given) > 1 else given[0]
            for slot, part in zip(members, numpy.split(values, len(members)) if len(members) > 1 else [values], strict=True):
                slot.write(_reshaped(part, slot.shape, content))


def _slots_named(name: str, slots: Sequence[Slot]) -> list[Slot]:
    return [slot for slot in slots if name == slot.name or ("*" in name and name == wildcard_name(slot.name))]


def wildcard_name(name: str) -> str:
    """Return an array name with `*` in place of numbers."""
    return ".".join("*" if part.isdigit() else part for part in name.split("."))


OF_SEGMENTS = r"(?i)seg|type"
"""Pattern of the names of tables of segments."""


def _without_segments(exercise: Exercise, slots: Sequence[Slot]) -> Exercise:
    """Return an exercise whose table of segments is optional without it, unless an array has a name of such a table."""
    if any(re.search(OF_SEGMENTS, slot.name) for slot in slots):
        return exercise
    return replace(exercise, roles=tuple(role for role in exercise.roles if not (role.name == "segment_table" and role.is_optional)))


def assignments(slots: Sequence[Slot], inputs: Inputs, exercise: Exercise) -> list[Assignment]:
    """Return every assignment that names and shapes allow, most likely first."""
    exercise = _without_segments(exercise, slots)
    roles = [role for role in exercise.roles if role.is_weight]
    slots, inputs = without_norms(slots, inputs, roles), widened(slots, inputs)
    groups = _grouped(slots, inputs, roles)
    named = {
        name: held
        for name, held in _named_groups(groups, inputs, roles)
        if _has_shape(groups[name], held, inputs) or not any(_has_shape(groups[name], fused, inputs) for fused in exercise.fused)
    }
    found = list(_assignments(groups, named, inputs, exercise))
    needed = {role.name for role in roles if not role.is_optional and inputs.get(role.name) is not None}
    if named and not any(assignment.roles & needed for assignment in found):  # a single `proj` need not be the output projection
        found += _assignments(groups, {}, inputs, exercise)
    shaped = {name: held for name, held in named.items() if _has_shape(groups[name], held, inputs)}
    if shaped != named:  # next to `w12`, `w3` is the projection back
        found += [each for each in _assignments(groups, shaped, inputs, exercise) if needed <= each.roles]
    return list({repr(assignment.contents): assignment for assignment in reversed(found)}.values())[::-1][:MAX_ASSIGNMENTS]


def without_norms(slots: Sequence[Slot], inputs: Inputs, roles: Sequence[Role]) -> list[Slot]:
    """Return the slots without those of norms inside a module of matrices; their gain is a vector of ones, which no bias is."""
    if all(numpy.ndim(inputs.get(role.name, 0)) < 2 for role in roles):
        return list(slots)
    owners: dict[tuple[str | int, ...], list[Slot]] = {}
    for slot in slots:
        owners.setdefault(slot.path[:-1], []).append(slot)
    norms = [
        members for members in owners.values() if all(len(slot.shape) == 1 for slot in members) and any(_is_gain(slot) for slot in members)
    ]
    left_out = {id(slot) for members in norms for slot in members}
    return [slot for slot in slots if id(slot) not in left_out and not _is_gain(slot)]


def _is_gain(slot: Slot) -> bool:
    return len(slot.shape) == 1 and slot.shape[0] > 1 and bool((as_numbers(slot.array) == 1).all())


def _assignments(
    groups: Mapping[str, list[Slot]], named: Mapping[str, tuple[str, ...]], inputs: Inputs, exercise: Exercise
) -> Iterator[Assignment]:
    """Yield the assignments in which the named groups hold what their names say."""
    roles = [role for role in exercise.roles if role.is_weight]
    for rest in _by_shape(groups, named, inputs, exercise):
        known = {**named, **rest}
        holders = {name: known[name] for name in groups if name in known}
        holders |= _biases(groups, holders, roles)
        for fused, is_square_transposed in itertools.product(_fusings(holders), (True, False)):
            contents = {
                name: Contents(fused.get(name, (each, ""))[0], layout=fused.get(name, (each, LAYOUTS[0]))[1])
                for name, each in holders.items()
            }
            contents = {
                name: replace(
                    content,
                    is_transposed=_is_transposed(groups[name], content.roles, inputs, is_square_transposed),
                    has_exact_size=all(inputs.get(role) is not None for role in content.roles)
                    and _has_shape(groups[name], content.roles, inputs),
                )
                for name, content in contents.items()
            }
            yield Assignment(contents, tuple(_note(content) for content in contents.values() if _is_unusual(content)))


def _grouped(slots: Sequence[Slot], inputs: Inputs, roles: Sequence[Role]) -> dict[str, list[Slot]]:
    """Group slots by name; arrays that exist once per head form one group, with `*` for the head index."""
    alike: dict[str, list[Slot]] = {}
    for slot in slots:
        alike.setdefault(wildcard_name(slot.name), []).append(slot)
    groups = {}
    for name, members in alike.items():
        if "*" in name and len({slot.shape for slot in members}) == 1 and _are_heads(members, inputs, roles):
            groups[name] = members
        else:
            groups |= {slot.name: [slot] for slot in members}
    return groups


def _are_heads(members: Sequence[Slot], inputs: Inputs, roles: Sequence[Role]) -> bool:
    shape = members[0].shape
    if len(shape) == 1:
        lengths = {len(inputs[role.name]) for role in roles if numpy.ndim(inputs.get(role.name, 0)) == 2}
        return len(members) == inputs.get("num_heads", 1) and shape[0] * len(members) in lengths
    wholes = {numpy.shape(inputs[role.name]) for role in roles if numpy.ndim(inputs.get(role.name, 0)) == 2}
    return any((each[0] * len(members), each[1]) in wholes for each in (shape, shape[::-1]))


def _named_groups(groups: Mapping[str, list[Slot]], inputs: Inputs, roles: Sequence[Role]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the groups whose names identify their contents, with the roles they name: names with words first, as w_gate before w1."""
    taken: set[str] = set()
    for name, members in sorted(groups.items(), key=lambda group: not words_of(group[0])):
        fitting = [role for role in roles if _is_alike(role, members[0], inputs)]
        roles_found = tuple(role.name for role in roles_in_name(name, fitting) if role.name not in taken)
        if len(roles_found) > 1 and not _has_shape(members, roles_found, inputs):
            roles_found = _of_place(name, [role.name for role in roles_in_name(name, fitting)], groups)
        if roles_found and not _fits_another_better(name, roles_found, groups, inputs, roles):
            taken |= set(roles_found)
            yield name, roles_found


def _of_place(name: str, roles_found: Sequence[str], groups: Mapping[str, list[Slot]]) -> tuple[str, ...]:
    """Return the role of one of several arrays whose list is named after all of them: the second of `qkv` is the key."""
    alike = [other for other in groups if wildcard_name(other) == wildcard_name(name)]
    return (roles_found[alike.index(name)],) if "*" in wildcard_name(name) and len(alike) == len(roles_found) else ()


def _fits_another_better(
    name: str, roles_found: tuple[str, ...], groups: Mapping[str, list[Slot]], inputs: Inputs, roles: Sequence[Role]
) -> bool:
    """Return True if an array's shape contradicts its name and another array fits: w2 and w3 have no fixed meaning."""
    if len(roles_found) > 1 or numpy.ndim(inputs.get(roles_found[0], 0)) != 2 or _has_shape(groups[name], roles_found, inputs):
        return False
    others = [other for other in groups if other != name and _has_shape(groups[other], roles_found, inputs)]
    return any(_agreed_role(other, groups[other], inputs, roles) in (None, roles_found[0]) for other in others)


def _agreed_role(name: str, members: list[Slot], inputs: Inputs, roles: Sequence[Role]) -> str | None:
    """Return the role that both the name and the shape indicate, or None."""
    roles_found = roles_in_name(name, [role for role in roles if _is_alike(role, members[0], inputs) and inputs.get(role.name) is not None])
    return roles_found[0].name if len(roles_found) == 1 and _has_shape(members, (roles_found[0].name,), inputs) else None


def _is_alike(role: Role, slot: Slot, inputs: Inputs) -> bool:
    """Return True if a slot has as many axes as the role's array, not counting the head axis."""
    rank = len([size for size in slot.shape if size > 1]) or 1
    if inputs.get(role.name) is None:
        return role.name.endswith("bias") and rank == 1
    expected = numpy.ndim(inputs[role.name])
    if expected == 1 and rank == 2:  # one bias per head
        return math.prod(slot.shape) == len(inputs[role.name])
    return rank == expected or (rank == 3 and expected == 2)


def _by_shape(
    groups: Mapping[str, list[Slot]], named: Mapping[str, tuple[str, ...]], inputs: Inputs, exercise: Exercise
) -> Iterator[dict[str, tuple[str, ...]]]:
    """Yield every way to assign the remaining weights to the arrays that no name identified, by shape."""
    taken = {role for roles in named.values() for role in roles}
    biases = {_bias_next_to(name) for name in groups}
    names = [name for name in groups if name not in named and name not in biases]
    single = [(role.name,) for role in exercise.roles if role.is_weight and role.name not in taken and inputs.get(role.name) is not None]
    choices = [
        *single,
        *(fused for fused in exercise.fused if not set(fused) & taken and all(inputs.get(role) is not None for role in fused)),
    ]
    options = {name: [roles for roles in choices if _has_shape(groups[name], roles, inputs)] for name in names}
    yield from itertools.islice(_chosen(names, options, frozenset()), MAX_ASSIGNMENTS)


def _chosen(
    names: Sequence[str], options: Mapping[str, list[tuple[str, ...]]], taken: frozenset[str]
) -> Iterator[dict[str, tuple[str, ...]]]:
    """Yield every way to give each name one of its options, none used twice; a name gets none only if no option is left."""
    place = next((place for place, name in enumerate(names) if any(not taken & set(roles) for roles in options[name])), None)
    if place is None:
        yield {}
        return
    for roles in options[names[place]]:
        if not taken & set(roles):
            for others in _chosen(names[place + 1 :], options, taken | set(roles)):
                yield {names[place]: roles, **others}


def _has_shape(members: Sequence[Slot], roles: tuple[str, ...], inputs: Inputs) -> bool:
    if any(inputs.get(role) is None for role in roles):
        return False
    arrays = [numpy.asarray(inputs[role]) for role in roles]
    whole = (sum(len(array) for array in arrays), *arrays[0].shape[1:])
    shape = members[0].shape if len(members[0].shape) <= 3 else _without_ones(members[0].shape)
    parts = len(members)
    if not shape:  # a single number, as of a gate for each of one head
        return False
    if len(whole) == 1 and len(shape) == 2:
        return math.prod(shape) * parts == whole[0]
    if _is_output_by_head(roles, shape):
        return (shape[2], shape[0] * shape[1]) == whole or (shape[1], shape[0] * shape[2]) == whole
    shapes = [(shape[0] * parts, *shape[1:])] + ([] if members[0].is_out_first else [(shape[-1] * parts, *shape[:-1])])
    if len(shape) == 3:
        shapes += [(shape[0] * shape[1], shape[2]), (shape[0] * shape[2], shape[1]), (shape[1] * shape[2], shape[0])]
    return whole in shapes


def _is_output_by_head(roles: Sequence[str], shape: Sequence[int]) -> bool:
    """Return True for an output projection with an axis for the heads, which are on its input side."""
    return len(shape) == 3 and 1 not in shape and len(roles) == 1 and roles[0].endswith("output_weight")


def _is_input_first(shape: Sequence[int], whole: tuple[int, ...]) -> bool:
    """Return True for the shape (in, heads, head_dim) of a weight (out, in), and no other shape by heads."""
    by_head = {(shape[0] * shape[1], shape[2]), (shape[0] * shape[2], shape[1])}
    return whole == (shape[1] * shape[2], shape[0]) and whole not in by_head


def _biases(groups: Mapping[str, list[Slot]], holders: Mapping[str, tuple[str, ...]], roles: Sequence[Role]) -> dict[str, tuple[str, ...]]:
    """Return the biases that belong to the weights already assigned."""
    known, found = {role.name for role in roles}, {}
    for name, members in holders.items():
        wanted = _bias_next_to(name)
        alike = [other for other in groups if wildcard_name(other) == wildcard_name(wanted)]  # of the only layer of a tree
        bias_name = alike[0] if len(alike) == 1 else wanted
        biases = tuple(role.removesuffix("weight") + "bias" for role in members)
        if bias_name in groups and set(biases) <= known:
            found[bias_name] = biases
    return found


def _bias_next_to(name: str) -> str:
    """Return the name that the bias next to a weight has: `fc.bias` for `fc.weight`, `fc.b` for `fc.w`; an empty one for other arrays."""
    ending = next((each for each in ENDINGS if name.endswith(each)), None)
    return "" if ending is None else name.removesuffix(ending) + ENDINGS[ending]


def _fusings(holders: Mapping[str, tuple[str, ...]]) -> Iterator[dict[str, tuple[tuple[str, ...], str]]]:
    """Yield orders and layouts of the fused arrays; all arrays of a class use the same one."""
    fused = {name: roles for name, roles in holders.items() if len(roles) > 1}
    if not fused:
        yield {}
        return
    longest = max(fused.values(), key=len)
    size = len(longest)
    usual = tuple(sorted(range(size), key=lambda place: _usual(longest[place])))
    likely = [*dict.fromkeys((tuple(range(size)), usual))]
    ways = [(order, layout) for order in likely for layout in LAYOUTS]
    ways += [(order, LAYOUTS[0]) for order in itertools.permutations(range(size)) if order not in likely]
    for order, layout in ways:
        yield {name: (tuple(roles[i] for i in order if i < len(roles)), layout) for name, roles in fused.items()}


def _is_unusual(content: Contents) -> bool:
    return (
        len(content.roles) > 1
        and (content.layout != LAYOUTS[0] or list(content.roles) != sorted(content.roles, key=_usual))
        and content.roles[0].endswith("weight")
    )


def _usual(role: str) -> int:
    return ("query", "key", "value").index(role.partition("_")[0]) if role.partition("_")[0] in ("query", "key", "value") else 0


def _note(content: Contents) -> Message:
    order = ", ".join(role.partition("_")[0] for role in content.roles)
    return TEXTS["fused_order"].format(order=order, nested=NESTED[content.layout])


def _is_transposed(members: Sequence[Slot], roles: tuple[str, ...], inputs: Inputs, is_square_transposed: bool) -> bool:
    """Return True if an array is stored as (in, out), known from its layer or shape; for a square array outside a layer, return `is_square_transposed`."""
    shape, parts = _without_ones(members[0].shape), len(members)
    given = [numpy.asarray(inputs[role]) for role in roles if inputs.get(role) is not None]
    if members[0].is_out_first or not given or given[0].ndim != 2 or len(shape) < 2:
        return False
    rows, columns = sum(map(len, given)), given[0].shape[1]
    if len(shape) == 3:
        straight, turned = (shape[0] * shape[1], shape[2]) == (rows, columns), (shape[0] * shape[2], shape[1]) == (rows, columns)
    else:
        straight, turned = (shape[0] * parts, shape[1]) == (rows, columns), (shape[1] * parts, shape[0]) == (rows, columns)
    if not (straight or turned) and len(shape) == 2 and roles[0].endswith("output_weight") and (shape[0] == rows) != (shape[1] == rows):
        return shape[1] == rows  # of the width of one head
    if not (straight or turned) and len(shape) == 2 and (shape[0] == columns) != (shape[1] == columns):
        return shape[0] == columns  # only as many rows are used as there are
    return is_square_transposed if straight == turned else turned


def _without_ones(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return a shape of three axes or more without those of size 1."""
    return tuple(size for size in shape if size != 1) if len(shape) > 2 else shape


def _concatenated(arrays: Sequence[Any], layout: str, num_heads: int) -> Any:
    """Concatenate weights of shape (out, in) in the given nesting."""
    if layout == LAYOUTS[0]:
        return numpy.concatenate(arrays)
    stacked = numpy.stack([array.reshape(num_heads, -1, *array.shape[1:]) for array in arrays])
    axes = ["khd".index(axis) for axis in layout]
    return stacked.transpose(*axes, *range(3, stacked.ndim)).reshape(-1, *arrays[0].shape[1:])


def _reshaped(values: Any, shape: tuple[int, ...], content: Contents) -> Any:
    """Reshape a weight (out, in) to the shape of a slot; if the slot is too small, keep only the first rows and columns."""
    is_transposed = content.is_transposed
    if len(shape) > 3:  # an axis of size 1 for the batch
        return _reshaped(values, _without_ones(shape), content).reshape(shape)
    if _is_output_by_head(content.roles, shape) and values.ndim == 2:
        by_head = values.reshape(len(values), shape[0], -1)
        return by_head.transpose(1, 2, 0) if shape[2] == len(values) else by_head.swapaxes(0, 1)
    if len(shape) == 3 and values.ndim == 2 and 1 not in shape:
        if _is_input_first(shape, values.shape):
            return values.T.reshape(shape)
        rows = shape[2] if is_transposed else shape[1]
        heads = values.reshape(shape[0], rows, -1)
        return heads.swapaxes(1, 2) if is_transposed else heads
    values = values.T if is_transposed and values.ndim == 2 else values
    if values.size == numpy.prod(shape):
        return values.reshape(shape)
    if len(_without_ones(shape)) == values.ndim < len(shape):
        cropped = values[tuple(slice(size) for size in _without_ones(shape))]
        return numpy.expand_dims(cropped, tuple(axis for axis, size in enumerate(shape) if size == 1))
    return values[tuple(slice(size) for size in shape)] if values.ndim == len(shape) else values
