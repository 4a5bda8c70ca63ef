"""Calls of stacks of layers and of whole encoder–decoders, as classes, with simple layers in the places of their own."""

from __future__ import annotations

import ast
import inspect
import itertools
import re
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, TypeGuard, cast

import numpy

from headway.practice.diagnosis.calls.binding import Binding, fits_name
from headway.practice.diagnosis.calls.calling import Call, function_calls
from headway.practice.diagnosis.calls.compare import as_numbers
from headway.practice.diagnosis.calls.wording import snake
from headway.practice.diagnosis.classes.assignment import Assignment
from headway.practice.diagnosis.classes.children import method_of
from headway.practice.diagnosis.classes.class_binding import class_binding
from headway.practice.diagnosis.classes.configs import NoSuchSizeError
from headway.practice.diagnosis.classes.constructing import Construction, constructions
from headway.practice.diagnosis.classes.given_sides import GIVEN, of_given_sides
from headway.practice.diagnosis.classes.instances import InstanceCall
from headway.practice.diagnosis.classes.made import as_made, of_own_layers
from headway.practice.diagnosis.classes.method_binding import call_parameters
from headway.practice.diagnosis.classes.slots import Slot, module_library, slots_of
from headway.practice.diagnosis.classes.standing_in import BATCH, Event, Stack, stack_of, together
from headway.practice.diagnosis.classes.submodules import LIBRARIES, is_part
from headway.practice.diagnosis.reading.subject import Subject, parsed
from headway.practice.exercise import Exercise, Inputs, Role
from headway.practice.message import Message
from headway.practice.recipes import stacks
from headway.practice.recipes.encoding import first_given
from headway.practice.texts import Texts

TEXTS = Texts("shared/stacks")

SEQUENCES = ("x", "source", "target", "memory")
OUTPUTS = ("logits", "output", "outputs", "probs", "probabilities", "predictions")
"""Keys of the output in a dict of several."""

OF_SOURCE, OF_TARGET = r"enc|src|source", r"dec|tgt|trg|target|out|gen|proj|head|fc|linear"
PADS = r"\A(?=[\s\S]*mask)(?=[\s\S]*(pad|!= *0|== *0|eq\(0|ne\(0))"
"""Pattern of the source of a class that hides padding."""

TEXT = r""""{3}[\s\S]*?"{3}|'{3}[\s\S]*?'{3}"""
"""Pattern of a docstring."""

PLACED = r"pos|(?<![a-z])pe(?![a-z])|(?<!a)sin\("
"""Pattern of the source of a class that adds positions."""

SEGMENTS = r"seg(ment)?s?(_|$|\.)|type"
"""Pattern of the names of tables of segments, of which the first adds nothing."""

OF_KEYS, OF_QUERIES = ("b11k", "b1k", "bk", "b1qk", "bqk"), ("1qk", "b1qk", "qk", "bqk", "bk")
KINDS = ("visible", "ones", "hidden", "added", "ones_hidden")
MAX_CONSTRUCTIONS = 12
MOST_REFUSED = 2
"""Readings of a constructor, and kinds of masks after which shapes that raise are not tried any more."""

MAX_CALLS = 300
"""Calls of a stack in the forms of masks, under all readings of its constructor; right ones need at most 151."""


@dataclass(frozen=True)
class Form:
    """Form of a call: ids or vectors, one sequence at a time or a batch, the order of the axes, the kind of the masks and their shapes."""

    has_vectors: bool = False
    is_single: bool = False
    is_batch_first: bool = True
    kind: str = "visible"
    of_keys: str = "b11k"
    of_target: str = "1qk"

    def encode(self, visible: numpy.ndarray, shape: str) -> numpy.ndarray:
        """Return a mask in this form.

        visible   mask (batch, query, key) with True = visible
        """
        rows = visible if "b" in shape else visible[0]
        rows = rows if "q" in shape else rows[..., -1, :] if shape == "bk" else rows[..., -1:, :]
        rows = rows[:, None] if shape in ("b11k", "b1qk") else rows[None] if shape == "1qk" else rows
        values = {"visible": rows, "hidden": ~rows, "added": numpy.where(rows, 0.0, -1e9)}
        return values[self.kind] if self.kind in values else (rows if self.kind == "ones" else ~rows).astype(numpy.int64)


@dataclass
class StackCall(InstanceCall):
    """A class whose layers, norms and position encodings are replaced.

    given   inputs of the call
    form    the form of the call
    built   the replaced parts by the id of the instance
    """

    given: Inputs = field(default_factory=dict)
    form: Form = field(default_factory=Form)
    built: dict[int, Stack] = field(default_factory=dict)

    def __call__(self, inputs: Inputs) -> Any:
        """Return the output, as in InstanceCall; only sequences and masks are passed."""
        self.given = inputs
        return super().__call__(self._operands(inputs))

    def _operands(self, inputs: Inputs) -> Inputs:
        """Return what the class is given: sequences, masks, sizes."""
        sizes = {role.name: inputs[role.name] for role in self.construction.roles if role.is_size and role.name in inputs}
        sequences = {name: inputs[name] for name in SEQUENCES if name in inputs}
        if self.form.has_vectors:
            vectors = inputs["table"][inputs["x"]]
            sequences["x"] = vectors if self.is_placed else vectors + inputs["positions"][: vectors.shape[1]]
        elif self.binding.takes("segment_ids"):
            sequences["segment_ids"] = numpy.zeros_like(inputs["x"])
        order = sequences if self.form.is_batch_first else {name: each.swapaxes(0, 1) for name, each in sequences.items()}
        return sizes | order | {name: self.form.encode(*each) for name, each in self._masks(inputs).items()}

    def _masks(self, inputs: Inputs) -> dict[str, tuple[numpy.ndarray, str]]:
        """Return the masks that the class takes, with their shapes."""
        keys = inputs.get("source", inputs.get("memory", inputs.get("x")))
        queries = inputs.get("target", inputs.get("x"))
        assert keys is not None
        assert queries is not None
        kept = inputs.get("mask")
        columns = (numpy.ones(keys.shape[:2], bool) if kept is None else kept)[:, None]
        length = queries.shape[1]
        of_keys = numpy.repeat(columns, length if "memory" in inputs else keys.shape[1], 1)
        earlier = numpy.tril(numpy.ones((BATCH, length, length), bool))
        masks = {
            "mask": (of_keys, self.form.of_keys),
            "source_mask": (of_keys, self.form.of_keys),
            "memory_mask": (numpy.repeat(columns, length, 1), self.form.of_keys),
            "target_mask": (earlier, self.form.of_target),
        }
        for name, (visible, _) in [*masks.items()]:
            if name == "target_mask":
                masks[f"padding_of_{name}"] = (numpy.ones_like(visible), "bk")
            elif self.binding.takes(f"padding_of_{name}"):
                masks[f"padding_of_{name}"], masks[name] = masks[name], (numpy.ones_like(visible), "qk")
        return {name: each for name, each in masks.items() if self.binding.takes(name)}

    @property
    def is_placed(self) -> bool:
        """Return True if the class adds positions."""
        return bool(re.search(PLACED, self._code, re.IGNORECASE))

    @property
    def hides_padding(self) -> bool:
        """Return True if the class takes a mask of keys, or makes one of the ids."""
        takes = any(self.binding.takes(name) for name in ("mask", "source_mask", "memory_mask"))
        return takes or bool(re.search(PADS, self._code, re.IGNORECASE))

    @cached_property
    def counts_from_one(self) -> bool:
        """True for a class whose positions are 1, 2, …: the first row of their table is that of padding."""
        nodes = [*ast.walk(parsed(self.subject.used_source))]
        added = [each.left for each in nodes if isinstance(each, ast.BinOp) and isinstance(each.op, ast.Add) and _is_one(each.right)]
        ranges = [each for each in nodes if _is_range(each) and len(each.args) > 1 and _is_one(each.args[0])]
        return bool(ranges) or any(_is_range(inner) for each in added for inner in ast.walk(each))

    @property
    def _code(self) -> str:
        """The class's source without comments and docstrings."""
        return re.sub(TEXT, "", self.subject.code)

    def fits(self, inputs: Inputs) -> bool:
        """Return True if an instance for these inputs can be constructed, and holds as many layers and tables."""
        if "mask" in inputs and not self.hides_padding:
            return False
        own = self._operands(inputs)
        if any(role.name not in own for name, role in self.binding.role_of.items() if self._is_required(name) and role.is_size):
            return False
        if not all(self.binding.takes(name) for name in own if name in SEQUENCES):
            return False
        try:
            self.given = inputs
            self.instance_for(self.arguments(own))
        except (ValueError, NoSuchSizeError):
            return False
        except Exception:  # the call itself will report it
            return True
        return True

    def instance_for(self, arguments: Mapping[str, Any]) -> Any:
        """Return a cached or new instance, with all its weights set."""
        instance = self.wired(arguments)
        stack = self.built[id(instance)]
        if not stack.is_settled:
            stack.settle(self.forward(instance, arguments))
            self._write(instance, stack)
        return instance

    def wired(self, arguments: Mapping[str, Any]) -> Any:
        """Return a cached or new instance whose parts are replaced, with all its weights set.

        Errors   ValueError if it has other parts
        """
        instance = self.made_for(arguments)
        if id(instance) not in self.built:
            self.built[id(instance)] = stack_of(instance, stacks.WIDTH, self.library)
        self._write(instance, self.built[id(instance)])
        return instance

    def _write(self, instance: Any, stack: Stack) -> None:
        """Set the weights of the layers, norms and tables.

        Errors   ValueError if they do not fit
        """
        inputs = self.given
        layers = [inputs[name] for name in ("layers", "source_layers", "target_layers") if name in inputs]
        stack.write(layers, inputs["norm"], inputs["positions"])
        tables = [inputs[name] for name in ("table", "source_table", "target_table") if name in inputs]
        held = [slot for slot in slots_of(instance, self.subject.value.__module__) if slot.owner not in stack.norms]
        of_tables = [slot for slot in held if _is_table(slot, tables)]
        if len(tables) == 2 and tables[0] is not tables[1] and len([each for each in of_tables if _is_embedding(each)]) < 2:
            raise ValueError("got a single table, expected two")
        if len(tables) == 2 and len(tables[0]) == len(tables[1]):
            is_source = _of_source(of_tables)
        else:
            is_source = [tuple(slot.shape) == tables[0].shape for slot in of_tables]
        for slot, is_first in zip(of_tables, is_source, strict=True):
            table = tables[0] if is_first else tables[-1]
            slot.write(table if tuple(slot.shape) == table.shape else table.T)
        for slot in held:
            if slot in of_tables:
                continue
            shape = [size for size in slot.shape if size > 1]
            if len(shape) == 2 and shape[1] == stacks.WIDTH and shape[0] >= stacks.MOST_POSITIONS:
                rows, start = numpy.zeros(shape), int(self.counts_from_one and shape[0] > stacks.MOST_POSITIONS)
                rows[start : start + stacks.MOST_POSITIONS] = inputs["positions"]
                slot.write(rows.reshape(slot.shape))
            elif len(shape) == 2 and re.search(SEGMENTS, snake(slot.name)):
                slot.write(numpy.arange(shape[0])[:, None] * numpy.ones(shape))
            elif len(shape) == 1:  # a single number is a scale
                slot.write(numpy.zeros(slot.shape))

    def forward(self, instance: Any, arguments: Mapping[str, Any]) -> Any:
        """Return the first output with the batch first, and zeros at the padding."""
        stack = self.built.get(id(instance))
        length = self.given.get("target", self.given.get("x")).shape[1]  # type: ignore[union-attr]
        answer = self._one_by_one(instance, arguments, stack) if self.form.is_single else self._pass(instance, arguments, stack)
        if isinstance(answer, numpy.ndarray):
            if answer.ndim == 2 and len(answer) == BATCH * length:
                answer = answer.reshape(*((BATCH, length) if self.form.is_batch_first else (length, BATCH)), -1)
            answer = answer if self.form.is_batch_first or answer.ndim != 3 else answer.swapaxes(0, 1)
            answer = answer if stack is None else stack.closed(answer)
            if "x" in self.given and "mask" in self.given and "memory" not in self.given and answer.ndim == 3:
                answer = numpy.where(self.given["mask"][..., None], answer, answer.dtype.type(0))
        return answer

    def read(self, answer: Any) -> Any:
        """Return of an object of outputs the logits, and any other output as in InstanceCall."""
        return super().read(getattr(answer, "logits", answer))

    def _pass(self, instance: Any, arguments: Mapping[str, Any], stack: Stack | None) -> Any:
        """Return the first output, of a dict of outputs the logits."""
        if stack is not None:
            stack.events.clear()
        answer = super().forward(instance, arguments)
        while isinstance(answer, tuple | list) and answer:
            answer = first_given(answer)
        named = answer if isinstance(answer, dict) else {}
        return as_numbers(next((named[name] for name in OUTPUTS if name in named), answer))

    def _one_by_one(self, instance: Any, arguments: Mapping[str, Any], stack: Stack | None) -> numpy.ndarray:
        """Return the outputs of the sequences, each passed alone; the events of the stack are then those of all passes."""
        outputs, passes = [], []
        for row in range(BATCH):
            own = {name: value[row] if numpy.shape(value)[:1] == (BATCH,) else value for name, value in arguments.items()}
            outputs.append(self._pass(instance, own, stack))
            passes.append([] if stack is None else list(stack.events))
        if stack is not None:
            stack.events[:] = [together(events) for events in zip(*passes, strict=True)]
        return numpy.stack(outputs)

    @property
    def notes(self) -> tuple[Message, ...]:
        """Return the note that the layers were replaced."""
        vectors = TEXTS["takes_vectors"] if self.is_placed else TEXTS["takes_positioned_vectors"]
        single = [TEXTS["one_sequence"]] if self.form.is_single else []
        order = [TEXTS["constructed_batch_first"]] if self.construction.fixed.get(BATCH_FIRST) is True else []
        return (*([vectors] if self.form.has_vectors else []), *single, *order, TEXTS["layers_replaced"])


def _is_one(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 1


def _is_range(node: ast.AST) -> TypeGuard[ast.Call]:
    """Return True for a call that counts in an array: `torch.arange(1, length + 1)`."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "arange"


def _is_table(slot: Slot, tables: Sequence[numpy.ndarray]) -> bool:
    return any(tuple(slot.shape) in (each.shape, each.shape[::-1]) for each in tables)


def _is_embedding(slot: Slot) -> bool:
    return type(slot.owner).__name__ == "Embedding" or "emb" in slot.name.lower()


def _of_source(slots: Sequence[Slot]) -> list[bool]:
    """Return which of some tables are the source's: by name, else the first."""
    names = [slot.name.lower() for slot in slots]
    by_name = [bool(re.search(OF_SOURCE, name)) and not re.search(OF_TARGET, name.rpartition(".")[0]) for name in names]
    return by_name if any(by_name) else [place == 0 for place in range(len(names))]


def stack_calls(subject: Subject, exercise: Exercise, library: str) -> list[Call]:
    """Return the call of a stack: as a function of its weights, or as a class whose layers are replaced."""
    if not inspect.isclass(subject.value):
        return function_calls(subject, exercise, library)
    if module_library(subject.value) not in (library, None) or library not in LIBRARIES:
        return []
    of_two = (["source_table", "target_table"], ["source_layers", "target_layers"])
    tables, layers = of_two if any(role.name == "source" for role in exercise.roles) else (["table"], ["layers"])
    operands = [role for role in exercise.roles if role.name in SEQUENCES]
    is_encoder = [role.name for role in operands] == ["x"]
    masks = [role for name, role in stacks.MASKS.items() if (name == "mask") == is_encoder]
    masks = [*_paddings(subject, masks), *masks]
    segments = [role for role in exercise.roles if role.name == "segment_ids"]
    own = replace(exercise, roles=(*operands, *masks, *segments, *stacks.sizes(tables, layers)))
    budget = iter(range(MAX_CALLS))
    takes_parts = any(each.default is each.empty and is_part(each.name, subject, is_called=True) for each in subject.parameters)
    sides = of_given_sides(subject) if exercise.name == "encoder_decoder" else ()
    makers = [*as_made(subject), *of_own_layers(subject, "encoder_layer" if is_encoder else "decoder_layer"), *sides]
    for each in sorted(makers, key=lambda each: takes_parts and each.value.__init__ is subject.value.__init__):
        for construction in itertools.islice(constructions(each, own), MAX_CONSTRUCTIONS):
            binding = class_binding(construction, Assignment({}))
            if _leaves_mask_out(each, construction, binding):
                continue
            if not is_encoder and _takes_masks_as_keywords(each, construction.method):
                continue
            found = _in_form(StackCall(each, binding, library, construction=construction), own, budget)
            if found is not None:
                found = [*found, *_batch_first(found[:1], own, budget)]
                has_positions = hasattr(each.value, GIVEN) or re.search(rf"{PLACED}|{stacks.ROTARY}", each.used_source, re.IGNORECASE)
                return [] if any(not call.form.has_vectors for call in found) and not has_positions else [*found]
    return []


BATCH_FIRST = "batch_first"
"""Parameter of a constructor that chooses the order of the axes: positions may be added along the right one for one of its values only."""


def _batch_first(calls: Sequence[StackCall], exercise: Exercise, budget: Iterator[int]) -> list[StackCall]:
    """Return the calls of the class with the batch first, if its constructor takes the order of the axes and has another default."""
    found: list[StackCall] = []
    for call in calls:
        if any(each.name == BATCH_FIRST and each.default is False for each in call.subject.parameters):
            construction = replace(call.construction, fixed={**call.construction.fixed, BATCH_FIRST: True})
            found += _in_form(StackCall(call.subject, call.binding, call.library, construction=construction), exercise, budget) or []
    return found


OF_PADDING = r"(^|_)(key_)?pad(ding)?(?=_)"
"""Pattern of the words in the name of a mask of padding that the name of a mask of pairs of positions has not."""


def _paddings(subject: Subject, masks: Sequence[Role]) -> Iterator[Role]:
    """Yield the roles of masks of padding for a class that takes them next to masks of pairs of positions."""
    method = method_of(cast("type", subject.value))
    names = [each.name for each in call_parameters(subject, method)] if method is not None else []
    for padding in (name for name in names if re.search(OF_PADDING, name) and len(re.findall(rf"\b{name}\b", subject.code)) > 1):
        of_pairs = [name for name in names if not re.search(OF_PADDING, name) and _without_kind(name) == _without_kind(padding)]
        for role in [each for each in masks if any(fits_name(name, each) for name in of_pairs)][:1]:
            yield Role(f"padding_of_{role.name}", (padding,), neutral=None)


def _without_kind(name: str) -> str:
    """Return the name of a mask without the words for its kind."""
    return re.sub(rf"{OF_PADDING}|(^|_)att(entio)?n(?=_)", "", name).strip("_")


def _leaves_mask_out(subject: Subject, construction: Construction, binding: Binding) -> bool:
    """Return True if the method takes a mask of unknown meaning, other than one in place of which the class makes its own."""
    makes_own = re.search(r"def \w*mask|[!=]= *self\.\w*pad", subject.own_source) is not None
    parameters = [each for each in call_parameters(subject, construction.method) if type(each.default) is not int]  # a pad id
    unknown = binding.left_out(each for each in parameters if not (makes_own and each.default is None))
    return any(re.search("mask|len|pad|bias", name.lower()) for name in unknown)


def _takes_masks_as_keywords(subject: Subject, method: str) -> bool:
    """Return True for a method whose caller may hand masks to its layers, `forward(self, src, tgt, **kwargs)`, and which makes none itself."""
    kinds = {each.kind: each.name for each in inspect.signature(getattr(subject.value, method)).parameters.values()}
    name = kinds.get(inspect.Parameter.VAR_KEYWORD)
    rest = re.sub(rf"[^\n]*\b{name}(\.get\(|\[)[^\n]*|\*\*{name}\b", "", subject.code)
    return name is not None and len(re.findall(rf"\b{name}\b", subject.code)) > 1 and "mask" not in rest


def _in_form(call: StackCall, exercise: Exercise, budget: Iterator[int]) -> list[StackCall] | None:
    """Return the call in the first form in which the layers see what they should; None if it does not run.

    budget   an item for each call of the stack that may be made

    If no mask has an effect in any form, return it in the first form that runs; none if masks have another effect.
    """
    for probe in sorted(exercise.kept_probes, key=lambda probe: ("mask" in probe.inputs) != call.hides_padding):
        inputs = probe.inputs | call.sizes(probe.inputs)
        call.given = inputs
        try:
            with warnings.catch_warnings():  # sizes of 0
                warnings.simplefilter("ignore")
                instance = call.wired(call.arguments(call._operands(inputs)))
        except Exception:  # other sizes may work
            continue
        for has_vectors, is_single in itertools.product((False, True) if "x" in inputs else (False,), (False, True)):
            ran: list[tuple[StackCall, tuple[bool | None, ...]]] = []
            refused: Counter[tuple[bool, str, str]] = Counter()
            for form in _forms(call, has_vectors=has_vectors, is_single=is_single):
                shapes = (form.is_batch_first, form.of_keys, form.of_target)
                if refused[shapes] >= MOST_REFUSED or next(budget, None) is None:
                    continue
                formed = replace(call, form=form)
                seen = _seen(formed, instance, inputs)
                if seen is None:
                    refused[shapes] += 1
                    continue
                if all(each is True for each in seen):
                    return [_fresh(formed)]
                ran.append((formed, seen))
            if ran:
                return _ignoring(ran)
    return None


def _fresh(call: StackCall) -> StackCall:
    return StackCall(
        **{each.name: getattr(call, each.name) for each in fields(call) if each.name not in ("made", "unmade", "built", "slots")}
    )


def _forms(call: StackCall, *, has_vectors: bool, is_single: bool) -> Iterator[Form]:
    """Yield the forms of the masks that a class takes."""
    takes_keys = any(call.binding.takes(name) for name in ("mask", "source_mask", "memory_mask"))
    of_keys = OF_KEYS if takes_keys else OF_KEYS[:1]
    of_target = OF_QUERIES if call.binding.takes("target_mask") else OF_QUERIES[:1]
    kinds = KINDS if takes_keys or call.binding.takes("target_mask") else KINDS[:1]
    orders = (True,) if is_single else (True, False)
    for is_batch_first, kind, keys, target in itertools.product(orders, kinds, of_keys, of_target):
        yield Form(has_vectors, is_single, is_batch_first, kind, keys, target)


def _seen(call: StackCall, instance: Any, inputs: Inputs) -> tuple[bool | None, ...] | None:
    """Return for each kind of attention of the first layers: True if it sees what it should, None if it sees all, False otherwise.

    None if the class does not run in this form
    """
    stack = call.built[id(instance)]
    stack.asks_first = True
    try:
        call.forward(instance, call.arguments(call._operands(inputs)))
    except Exception:  # another form may run
        return None
    finally:
        stack.asks_first = False
    if not all(any(event.part in group for event in stack.events) for group in stack.groups):
        return None
    firsts = [next(event for event in stack.events if event.part in group) for group in stack.groups]
    keys = inputs.get("mask")
    of_keys = None if keys is None else keys[:, None]
    every, found = numpy.ones((BATCH, 1), bool), []
    for place, event in enumerate(firsts):
        if place == 0 and "memory" not in inputs:
            found.append(_compared(event, of_keys, every if keys is None else keys))
            continue
        assert event.visible is not None
        found.append(_compared(event, numpy.tril(numpy.ones(event.visible.shape[1:], bool))[None], every))
        if event.recalled is not None:
            found.append(_compared(Event(None, event.recalled), of_keys, every))
    return tuple(found)


def _compared(event: Event, wanted: numpy.ndarray | None, rows: numpy.ndarray) -> bool | None:
    """Compare what a layer sees in some rows with what it should see; None for all positions."""
    seen = event.visible
    assert seen is not None
    if rows.shape[1] not in (1, seen.shape[1]):  # it is given the other sequence
        return False
    is_row = numpy.broadcast_to(rows[..., None], seen.shape)
    every = numpy.ones_like(seen) if wanted is None else numpy.broadcast_to(wanted, seen.shape)
    if (seen == every)[is_row].all():
        return True
    return None if seen[is_row].all() else False


def _ignoring(ran: Sequence[tuple[StackCall, tuple[bool | None, ...]]]) -> list[StackCall]:
    """Return the first call in which each attention is right or sees all positions in every form; the first of all without masks."""
    ran = [each for each in ran if each[0].form.is_batch_first] or ran
    if len({call.form.kind for call, _ in ran}) == 1:
        return [_fresh(ran[0][0])]
    for call, seen in ran:
        if all(each is True or all(other[place] is None for _, other in ran) for place, each in enumerate(seen)):
            return [_fresh(call)]
    return []
