"""Assignment of weights to the arrays of a transformer layer: norms, feed-forward and attention, by shape, position and name."""

from __future__ import annotations

import inspect
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from headway.practice.diagnosis.calls.calling import Call, function_calls
from headway.practice.diagnosis.classes.assignment import MAX_ASSIGNMENTS, Assignment, Contents, assignments
from headway.practice.diagnosis.classes.instance_calls import instance_calls
from headway.practice.diagnosis.classes.instances import InstanceCall
from headway.practice.diagnosis.classes.params import as_class
from headway.practice.diagnosis.classes.slots import Slot, slots_of
from headway.practice.diagnosis.classes.submodules import LIBRARIES, Submodule, submodule_roles
from headway.practice.diagnosis.classes.widening import widened
from headway.practice.diagnosis.reading.missing import absent_parts, is_published
from headway.practice.diagnosis.reading.subject import Subject
from headway.practice.exercise import Exercise, Inputs
from headway.practice.recipes.rotation import SOURCE as ROTARY_SOURCE

CROSS = r"cross|enc|src|memory|inter|context|dec_enc"
FEED_FORWARD = r"ff|mlp|feed|intermediate|final|out|think"
NORM_NAMES = {2: (r"", rf"{FEED_FORWARD}|post_att"), 3: (r"", rf"{CROSS}|post_att", FEED_FORWARD)}
"""Name patterns of the norm of each sublayer, by number of sublayers; the last pattern that matches decides."""

GROUPED = r"kv_?heads|key_value_heads"
"""Pattern of the source of a layer with grouped-query attention."""

BIASED = r"pos(ition)?_?bias|alibi"
"""Pattern of the source of a layer whose attention adds a bias of the positions to its scores, as in T5; that of a decoder may hide later positions."""

NORM = r"norm|ln|gamma|beta|scale|shift|alpha"
SHIFT = r"bias|beta|shift|offset|^b|_b$"


def layer_calls(subject: Subject, exercise: Exercise, library: str) -> Sequence[Call]:
    """Return the ways to call a layer: as a function of its weights, or as a class that holds them."""
    subject = as_class(subject, library) or subject
    if not inspect.isclass(subject.value):
        return function_calls(subject, exercise, library)
    is_block = exercise.name == "transformer_block"
    exercise = replace(exercise, roles=(*exercise.roles, *submodule_roles(_prefixes(exercise), subject, is_block=is_block)))
    calls = instance_calls(subject, exercise, library, layer_assignments)
    held = {role for call in calls for role in call.assignment.roles}
    without_norms = _with_optional(exercise, "^norm")
    absent = [] if any(role.startswith("norm") for role in held) else ["^norm"]
    if any(role.endswith("query_weight") for role in held) and not any(role.endswith("output_weight") for role in held):
        absent.append("output_weight$")
    if absent:
        calls = instance_calls(subject, _with_optional(exercise, "|".join(absent)), library, layer_assignments)
    if subject.has_wrong_parts:
        return _wired_calls(subject, without_norms, library)
    if absent_parts(subject):
        return _wired_calls(subject, without_norms, library) or calls
    other = rf"{ROTARY_SOURCE}|{GROUPED}|{BIASED}" if exercise.name == "encoder_layer" else rf"{ROTARY_SOURCE}|{GROUPED}"
    has_other_attention = re.search(other, subject.used_source, re.IGNORECASE)
    if _makes_imported(subject):
        return [*calls, *_wired_calls(subject, without_norms, library)]
    if not has_other_attention and any(_holds_only_weights(call, exercise) for call in calls):
        return calls
    return [*_wired_calls(subject, without_norms, library), *calls]


def _makes_imported(subject: Subject) -> bool:
    """Return True for a class that makes parts of another file of its author, where they are judged by themselves."""
    made = (getattr(subject.module, name, None) for name in re.findall(r"= *([A-Z]\w*)\(", subject.own_source))
    own = getattr(subject.module, "__name__", "")
    return any(inspect.isclass(each) and each.__module__ != own and not is_published(each.__module__) for each in made)


def _with_optional(exercise: Exercise, pattern: str) -> Exercise:
    """Return an exercise in which the weights whose names match are optional."""
    roles = (replace(role, is_optional=True) if role.is_weight and re.search(pattern, role.name) else role for role in exercise.roles)
    return replace(exercise, roles=tuple(roles))


def _holds_only_weights(call: InstanceCall, exercise: Exercise) -> bool:
    """Return True if a class can be constructed for any number of heads and each of its arrays is a weight of the layer."""
    if not call.binding.takes("num_heads"):  # its attention has a number of its own
        return False
    _, instance = call.sample(exercise)
    return instance is not None and len(call.weight_slots(instance)) == len(slots_of(instance, call.subject.value.__module__))


def _wired_calls(subject: Subject, exercise: Exercise, library: str) -> list[InstanceCall]:
    """Return the calls of a class with ready-made parts in place of its own; none if it has no such parts."""
    if library not in LIBRARIES:
        return []
    spec = Submodule(0, 1, is_causal=exercise.name == "transformer_block")
    spec = replace(spec, activation="gelu_tanh") if spec.is_causal else spec
    has_unset = library == "jax" or "Lazy" in subject.used_source  # arrays whose shapes depend on what the parts return
    found: list[InstanceCall] = []
    for count in _nums_unpacked(subject) or (1, 2, 3):
        calls = instance_calls(subject, exercise, library, layer_assignments, replace(spec, num_returned=count))
        found += [call for call in calls if call.assignment.roles]
        if not (found or has_unset):  # it has no parts to replace
            break
    return found or _around_calls(subject, exercise, library, spec)


OWN_ATTENTION = r"softmax\(|scaled_dot_product_attention\("
"""Pattern of the source of a layer that computes its attention itself."""


def _around_calls(subject: Subject, exercise: Exercise, library: str, spec: Submodule) -> list[InstanceCall]:
    """Return the calls of a layer that computes its attention itself, with ready-made norms and feed-forward, and without rotary positions."""
    if re.search(OWN_ATTENTION, subject.own_source) is None:
        return []
    around, is_unrotated = replace(spec, is_around=True), re.search(ROTARY_SOURCE, subject.own_source, re.IGNORECASE) is not None
    calls = instance_calls(subject, exercise, library, layer_assignments, around, is_unrotated=is_unrotated)
    return [call for call in calls if any(role.endswith("query_weight") for role in call.assignment.roles)]


UNPACKED = r"(?m)^ *\(?(\w+(?: *, *\w+)+)\)? *= *self\.\w*(?:att|mha)\w*\("
"""Pattern of source code that takes several values from an attention."""


def _nums_unpacked(subject: Subject) -> list[int]:
    """Return the numbers of values that a layer unpacks from its attentions: a batch of two would be unpacked like two values."""
    return sorted({names.count(",") + 1 for names in re.findall(UNPACKED, subject.code)})


def _prefixes(exercise: Exercise) -> list[str]:
    """Return the name prefix of each attention's weights."""
    return [role.name.removesuffix("query_weight") for role in exercise.roles if role.name.endswith("query_weight")]


def layer_assignments(slots: Sequence[Slot], inputs: Inputs, exercise: Exercise) -> list[Assignment]:
    """Return every assignment for a layer that names, shapes and positions allow."""
    inputs = widened(slots, inputs)
    norms = list(_norms(slots, inputs))
    contents = _norm_contents(norms, inputs)
    left = [slot for slot in slots if not any(slot in unit for unit in norms)]
    inner = [slot for slot in left if _rank(slot) == 2 and _is_inner(slot, inputs)]
    contents |= _feed_forward_contents(inner, left, inputs)
    attending = [slot for slot in left if slot.name not in contents and slot not in inner]
    found = []
    for attention in _attention_assignments(attending, inputs, exercise):
        assignment = Assignment({**contents, **attention.contents}, attention.notes)
        if assignment.contents and assignment not in found:
            found.append(assignment)
    return found[:MAX_ASSIGNMENTS]


def _rank(slot: Slot) -> int:
    return len([size for size in slot.shape if size > 1]) or 1


def _width(inputs: Inputs) -> int:
    return int(inputs["down_weight"].shape[0])


def _is_inner(slot: Slot, inputs: Inputs) -> bool:
    """Return True if an array has the shape of a feed-forward weight."""
    return sorted(size for size in slot.shape if size > 1) == sorted(inputs["up_weight"].shape)


def _norms(slots: Sequence[Slot], inputs: Inputs) -> Iterator[list[Slot]]:
    """Yield the arrays of each norm: vectors stored without a matrix next to them, or with a norm's name."""
    owners: dict[Any, list[Slot]] = {}
    for slot in slots:
        owners.setdefault(slot.path[:-1], []).append(slot)
    for path, members in owners.items():
        vectors = [slot for slot in members if _rank(slot) == 1 and _size(slot) == _width(inputs)]
        if len(vectors) < len(members):
            by_number: dict[Any, list[Slot]] = {}
            for slot in vectors:
                if re.search(NORM, str(slot.path[-1]), re.IGNORECASE):
                    by_number.setdefault(_number(str(slot.path[-1])), []).append(slot)
            yield from by_number.values()
        elif path and len(vectors) <= 2:
            yield vectors
        else:
            yield from (list(each) for _, each in itertools.groupby(vectors, lambda slot: _number(str(slot.path[-1]))))


def _size(slot: Slot) -> int:
    size = 1
    for each in slot.shape:
        size *= each
    return size


def _number(name: str) -> int | None:
    """Return the last number in a name, which groups a_2 with b_2."""
    numbers = re.findall(r"\d+", name)
    return int(numbers[-1]) if numbers else None


def _norm_contents(norms: Sequence[list[Slot]], inputs: Inputs) -> dict[str, Contents]:
    """Assign the norms to sublayers: by name, else by the number in the name, else in order of creation."""
    count = sum(f"norm_{place}_weight" in inputs for place in (1, 2, 3)) or 2
    names = [".".join(map(str, unit[0].path[:-1] or unit[0].path)).lower() for unit in norms]
    contents = {}
    for unit, part in zip(norms, _parts_of(names, count), strict=True):
        if part is None:
            continue
        shifts = [slot for slot in unit if re.search(SHIFT, str(slot.path[-1]).lower())]
        for slot in unit:
            is_shift = slot in shifts if len(shifts) < len(unit) else slot is not unit[0]
            contents[slot.name] = Contents((f"norm_{part + 1}_{'bias' if is_shift else 'weight'}",))
    return contents


def _parts_of(names: Sequence[str], count: int) -> list[int | None]:
    by_name = [max(part for part, pattern in enumerate(NORM_NAMES[count]) if re.search(pattern, name)) for name in names]
    if len(set(by_name)) == len(names):
        return list(by_name)
    numbers = [_number(name) for name in names]
    numbered = [place for place, number in enumerate(numbers) if number is not None]
    if len(names) > count == len(numbered):  # norms without a number belong to other sublayers
        numbered.sort(key=lambda place: numbers[place] or 0)
        return [numbered.index(place) if place in numbered else None for place in range(len(names))]
    order = sorted(range(len(names)), key=lambda place: (numbers[place] or 0) if None not in numbers else place)
    place_of = {name: place for place, name in enumerate(order)}
    return [place_of[place] if place_of[place] < count else None for place in range(len(names))]


def _feed_forward_contents(inner: Sequence[Slot], slots: Sequence[Slot], inputs: Inputs) -> dict[str, Contents]:
    """Assign the two matrices of the feed-forward, and their biases."""
    if len(inner) < 2:
        return {}
    width = _width(inputs)
    is_known = inner[0].is_out_first or inner[0].shape[-1] == 1
    first, second = inner[:2]
    if is_known and first.shape[0] == width:
        first, second = second, first
    is_transposed = not is_known and next(size for size in first.shape if size > 1) == width  # GPT-2's: (1, in, out)
    contents = {first.name: Contents(("up_weight",), is_transposed), second.name: Contents(("down_weight",), is_transposed)}
    owners = {first.path[:-1], second.path[:-1]}
    for slot in slots:
        if _rank(slot) > 1 or slot.path[:-1] not in owners:
            continue
        if _size(slot) == inputs["up_weight"].shape[0]:
            contents[slot.name] = Contents(("up_bias",))
        elif slot.path[:-1] == second.path[:-1] and (len(owners) == 2 or re.search(r"2|down|out|proj", str(slot.path[-1]))):
            contents[slot.name] = Contents(("down_bias",))
    return contents


def _attention_assignments(slots: Sequence[Slot], inputs: Inputs, exercise: Exercise) -> list[Assignment]:
    """Return the assignments for one or two attentions."""
    prefixes = _prefixes(exercise)
    whole = sum(_size(slot) for slot in slots if _rank(slot) > 1)
    is_one = whole < 6 * _width(inputs) ** 2  # one attention has four square matrices
    units = _units(slots, 1 if is_one else len(prefixes))
    ways = [_of_one(unit, prefix, inputs, exercise) for unit, prefix in zip(units, prefixes, strict=False)]
    if len(ways) == 2 and len(ways[0]) == len(ways[1]):  # two attentions of the same class use the same layout
        together = list(zip(*ways, strict=True))
    else:
        together = list(itertools.islice(itertools.product(*ways), MAX_ASSIGNMENTS))
    return [
        Assignment({name: content for assignment in each for name, content in assignment.contents.items()}, each[0].notes if each else ())
        for each in together
    ]


def _units(slots: Sequence[Slot], count: int) -> list[list[Slot]]:
    """Split the arrays into attentions by path; for two, cross-attention comes last."""
    if count == 1:
        return [list(slots)]
    groups: dict[Any, list[Slot]] = {}
    depth = 2 if len({slot.path[0] for slot in slots}) == 1 else 1
    for slot in slots:
        groups.setdefault(slot.path[:depth], []).append(slot)
    if len(groups) == count:
        units = list(groups.values())
        is_cross = [bool(re.search(CROSS, ".".join(map(str, path)).lower())) for path in groups]
        return units[::-1] if is_cross == [True, False] else units
    cross = [slot for slot in slots if re.search(CROSS, slot.name.lower())]
    if cross:
        return [[slot for slot in slots if slot not in cross], cross]
    return [list(slots)] if len(groups) == 1 else [list(slots[: len(slots) // 2]), list(slots[len(slots) // 2 :])]


def _of_one(slots: Sequence[Slot], prefix: str, inputs: Inputs, exercise: Exercise) -> list[Assignment]:
    """Return the assignments for one attention, as for an exercise of its own."""
    own = [role for role in exercise.roles if role.is_weight and role.name.startswith(prefix) and _is_attention(role.name)]
    roles = tuple(replace(role, name=role.name.removeprefix(prefix)) for role in own)
    given = {name.removeprefix(prefix): value for name, value in inputs.items() if name.startswith(prefix) and _is_attention(name)}
    shared = _shared([slot.path for slot in slots])
    trimmed = [replace(slot, path=slot.path[shared:]) for slot in slots]
    start = "".join(f"{part}." for part in slots[0].path[:shared]) if slots else ""
    found = assignments(trimmed, given | {"num_heads": inputs.get("num_heads", 1)}, replace(exercise, roles=roles))
    return [replace(assignment, contents=_full(assignment.contents, start, prefix)) for assignment in found] or [Assignment({})]


def _is_attention(name: str) -> bool:
    return bool(re.search(r"(query|key|value|output)_(weight|bias)$", name))


def _shared(paths: Sequence[tuple[Any, ...]]) -> int:
    """Return the number of leading path components that all paths share, excluding the last component."""
    depth = 0
    while paths and all(len(path) > depth + 1 and path[depth] == paths[0][depth] for path in paths):
        depth += 1
    return depth


def _full(contents: Mapping[str, Contents], start: str, prefix: str) -> dict[str, Contents]:
    return {start + name: replace(content, roles=tuple(prefix + role for role in content.roles)) for name, content in contents.items()}
