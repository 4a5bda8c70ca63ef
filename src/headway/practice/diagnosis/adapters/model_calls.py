"""Calls of a whole GPT-2 class, whose weights are assigned block by block."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy

from headway.practice.diagnosis.adapters.block_calls import flat
from headway.practice.diagnosis.adapters.layers import SHIFT, layer_assignments
from headway.practice.diagnosis.calls.calling import Call, function_calls
from headway.practice.diagnosis.classes.assignment import Assignment
from headway.practice.diagnosis.classes.instance_calls import instance_calls
from headway.practice.diagnosis.classes.instances import InstanceCall
from headway.practice.diagnosis.classes.params import as_class
from headway.practice.diagnosis.classes.slots import Slot, slots_of
from headway.practice.diagnosis.classes.submodules import LIBRARIES, Submodule
from headway.practice.diagnosis.reading.subject import Subject
from headway.practice.exercise import Exercise, Inputs
from headway.practice.recipes import projections
from headway.practice.recipes.layers import weight_roles
from headway.practice.roles import Roles, extent

ROLES = Roles("models", "projections")
SIZES = (
    ROLES.size("vocab_size", extent("wte", 0)),
    ROLES.size("hidden_size", extent("wte", 1)),
    ROLES.size("num_heads", lambda inputs: inputs["num_heads"]),
    ROLES.size("num_layers", lambda inputs: len(inputs["blocks"])),
    ROLES.size("num_kv_heads", lambda inputs: inputs["num_heads"], is_optional=True),
    ROLES.size("head_dim", lambda inputs: inputs["wte"].shape[1] // inputs["num_heads"], is_optional=True),
    ROLES.size("context_length", extent("wpe", 0)),
    ROLES.size("intermediate_size", lambda inputs: inputs["blocks"][0]["mlp"]["c_fc"]["w"].shape[1], is_optional=True),
    ROLES.size("has_bias", lambda inputs: bool(inputs["blocks"][0]["attn"]["c_attn"]["b"].any()), is_optional=True),
    ROLES.size("device", lambda inputs: "cpu", is_optional=True),
)


@dataclass
class ModelCall(InstanceCall):
    """A class that holds a model; one block's weight assignment applies to all blocks.

    block              weight assignment of a block
    weights            inputs of the call whose weights are set
    has_fixed_depth    True if the number of blocks is the same for all sizes: those that an input has no weights for get zeros
    """

    block: Assignment = field(default_factory=lambda: Assignment({}))
    weights: Inputs = field(default_factory=dict)
    has_fixed_depth: bool = False

    def __call__(self, inputs: Inputs) -> Any:
        """Return the output, as in InstanceCall; only token ids and a mask are passed to the model."""
        self.weights = inputs
        return super().__call__(_model_inputs(inputs))

    def fits(self, inputs: Inputs) -> bool:
        """Return True if a model can be constructed with these sizes and its blocks hold the weights."""
        self.weights = inputs  # a module of Flax is called when it is made
        if not super().fits(_model_inputs(inputs)):
            return False
        try:
            instance = self.made_for(self.arguments(_model_inputs(inputs)))
        except Exception:  # the call itself will report it
            return True
        if self.construction.wired is None and not set(_flat(inputs["blocks"][0], inputs)) - {"num_heads"} <= self.block.roles:
            return False
        try:
            self._write(instance, inputs)
        except (RuntimeError, ValueError):
            return False
        return True

    def instance_for(self, arguments: Mapping[str, Any]) -> Any:
        """Return a cached or new model, with all its weights set."""
        instance = super().instance_for(arguments)
        self._write(instance, self.weights)
        return instance

    def has_same_depth(self, every: Iterable[Inputs]) -> bool:
        """Return True if a model has the same number of blocks for all inputs."""
        found = set()
        for inputs in every:
            self.weights = inputs
            try:
                instance = self.made_for(self.arguments(_model_inputs(inputs | _sizes(inputs))))
            except Exception:  # the call itself will report it
                return False
            found.add(len(_blocks(self._slots(instance))))
        return len(found) == 1

    def _write(self, instance: Any, inputs: Inputs) -> None:
        """Set all weights of a model."""
        slots = self.weight_slots(instance)
        num_surplus = len(_blocks(slots)) - len(inputs["blocks"]) if self.has_fixed_depth else 0
        without_effect = [_zeros(inputs["blocks"][0])] * num_surplus
        write(slots, inputs | {"blocks": [*inputs["blocks"], *without_effect]}, self.block)

    def forward(self, instance: Any, arguments: Mapping[str, Any]) -> Any:
        """Return the output without the logits of tokens that a probe has not."""
        answer = super().forward(instance, arguments)
        table, num_tokens = _token_table(self._slots(instance), self.weights), len(self.weights["wte"])
        if len(table) == num_tokens:
            return answer
        each = answer[0] if isinstance(answer, tuple) and answer else answer
        kept = each[..., :num_tokens] if numpy.shape(each)[-1:] == (len(table),) else each
        return (kept, *answer[1:]) if isinstance(answer, tuple) and answer else kept

    def read(self, answer: Any) -> Any:
        """Return of an object or a dict of outputs the logits, and any other output as in InstanceCall."""
        answer = answer["logits"] if isinstance(answer, dict) and "logits" in answer else getattr(answer, "logits", answer)
        return super().read(answer)

    def weight_slots(self, instance: Any) -> list[Slot]:
        """Return all arrays of an instance."""
        return self._slots(instance)


def model_calls(subject: Subject, exercise: Exercise, library: str) -> list[Call]:
    """Return the ways to call a model: as a function of its weights, or as a class that holds them."""
    subject = as_class(subject, library) or subject
    if not inspect.isclass(subject.value):
        return function_calls(subject, exercise, library)
    operands = [role for role in exercise.roles if role.name in OPERANDS]
    probes = exercise.kept_probes

    def model_probes() -> Any:
        return tuple(replace(probe, inputs=_model_inputs(probe.inputs | _sizes(probe.inputs))) for probe in probes)

    own = replace(exercise, roles=(*operands, *SIZES), probes=model_probes)
    by_depth = {len(probe.inputs["blocks"]): probe.inputs for probe in probes}
    calls: list[Call] = []
    spec = Submodule(0, 1, kind="block", activation="gelu_tanh")
    wired = instance_calls(subject, own, library, wired=spec) if library in LIBRARIES else []
    for call in [*instance_calls(subject, own, library), *wired]:
        _, instance = call.sample(own)
        slots = [] if instance is None else slots_of(instance, subject.value.__module__)
        common = {each.name: getattr(call, each.name) for each in fields(call)}
        num_blocks = len(_blocks(slots))
        is_fixed = num_blocks > max(by_depth) and ModelCall(**common).has_same_depth(by_depth.values())
        ways = max(
            (_ways(slots, probe.inputs, exercise) for probe in probes if is_fixed or num_blocks == len(probe.inputs["blocks"])),
            key=lambda ways: max((len(way.roles) for way in ways), default=0),
            default=[],
        )
        calls += [ModelCall(**common, block=way, has_fixed_depth=is_fixed) for way in ways]
    return calls


def _zeros(weights: Mapping[str, Any]) -> dict[str, Any]:
    """Return zeros in place of all weights: with them a pre-norm block returns its input."""
    return {name: _zeros(each) if isinstance(each, Mapping) else numpy.zeros_like(each) for name, each in weights.items()}


def _sizes(inputs: Inputs) -> Inputs:
    return {role.name: role.size_of(inputs) for role in SIZES if role.size_of is not None}


def _model_inputs(inputs: Inputs) -> Inputs:
    """Return the inputs that a model takes: token ids, a mask and sizes."""
    names = {*OPERANDS, *(role.name for role in SIZES)}
    return {name: value for name, value in inputs.items() if name in names}


OPERANDS = ("token_ids", "mask", "positions")
"""Operands that a model is called with."""

POSITIONS = r"pos|(?<![a-z])w?pe(?![a-z])"
"""Pattern of the names of tables of positions, which may have more rows than are needed."""


def write(slots: Sequence[Slot], inputs: Inputs, assignment: Assignment) -> None:
    """Set all weights of a model; a separate output head gets the token embedding."""
    blocks = _blocks(slots)
    for members, weights in zip(blocks.values(), inputs["blocks"], strict=True):
        assignment.write(members, _flat(weights, inputs))
    inside = {id(slot.array) for members in blocks.values() for slot in members}
    wte, wpe, last = _token_table(slots, inputs), inputs["wpe"], inputs["ln_f"]
    for slot in slots:
        shape = tuple(size for size in slot.shape if size > 1)
        if id(slot.array) in inside:
            continue
        for table in (wte, wte.T, wpe):
            if shape == table.shape:
                slot.write(table.reshape(slot.shape))
                break
        else:
            if len(shape) == 2 and shape[0] > len(wpe) and shape[1] == wpe.shape[1] and re.search(POSITIONS, slot.name, re.IGNORECASE):
                slot.write(numpy.concatenate([wpe, numpy.zeros((shape[0] - len(wpe), shape[1]))]).reshape(slot.shape))
                continue
            is_norm = shape == last["g"].shape
            is_shift = re.search(SHIFT, str(slot.path[-1]).lower())
            slot.write((last["b"] if is_shift else last["g"]) if is_norm else numpy.zeros(slot.shape))


def _token_table(slots: Sequence[Slot], inputs: Inputs) -> Any:
    """Return the token embedding, with rows of zeros for the special tokens for which a model adds to the size of its vocabulary."""
    inside = {id(slot.array) for members in _blocks(slots).values() for slot in members}
    wte = inputs["wte"]
    tables = [each for each in slots if id(each.array) not in inside and not re.search(POSITIONS, each.name, re.IGNORECASE)]
    rows = {each.shape[0] for each in tables if len(each.shape) == 2 and each.shape[1] == wte.shape[1]}
    num_special = rows.pop() - len(wte) if len(rows) == 1 else 0
    return numpy.concatenate([wte, numpy.zeros((num_special, wte.shape[1]))]) if num_special > 0 else wte


OF_BLOCK = r"\d+|[A-Z]\w*(Block|Layer|Decoder)_\d+"
"""Pattern of the step of a path that ends with a block's index: a number, or the name that a compact module of Flax gives one."""


def _blocks(slots: Sequence[Slot]) -> dict[tuple[Any, ...], list[Slot]]:
    """Group arrays by block, with paths relative to the block: the first number in a path is the block's index."""
    found: dict[tuple[Any, ...], list[Slot]] = {}
    for slot in slots:
        place = next((place for place, step in enumerate(slot.path) if re.fullmatch(OF_BLOCK, str(step))), None)
        if place is not None:
            found.setdefault(slot.path[: place + 1], []).append(replace(slot, path=slot.path[place + 1 :]))
    return {path: members for path, members in found.items() if any(len(slot.shape) > 1 for slot in members)}


def _flat(weights: Inputs, inputs: Inputs) -> Inputs:
    return flat(weights | {"num_heads": inputs["num_heads"]})


def _ways(slots: Sequence[Slot], inputs: Inputs, exercise: Exercise) -> list[Assignment]:
    """Return every possible weight assignment of a block."""
    blocks = _blocks(slots)
    block = replace(exercise, roles=weight_roles(("",)), fused=projections.FUSED)
    return layer_assignments(next(iter(blocks.values())), _flat(inputs["blocks"][0], inputs), block)
