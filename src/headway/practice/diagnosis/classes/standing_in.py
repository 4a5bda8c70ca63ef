"""A stack of layers whose layers, norms and position encodings are replaced by simple ones, so that only their connection is judged.

A simple layer asks the layer that it replaces which positions have an effect on which, under the very arguments of the call. It
therefore needs to know neither the form of a mask nor the order of the arguments.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import numpy

from headway import functions
from headway.arrays import asarray_like, is_floating, to_numpy
from headway.practice.diagnosis.calls.binding import OF_SOURCE
from headway.practice.diagnosis.calls.wording import snake
from headway.practice.diagnosis.classes.children import children, every_part, is_container, method_of, put
from headway.practice.diagnosis.classes.slots import slots_of
from headway.practice.diagnosis.classes.submodules import kind_of
from headway.practice.diagnosis.classes.wiring import called, is_block, parts_of, without_gradients
from headway.practice.exercise import Inputs
from headway.practice.recipes.stacks import defined_layer

BATCH = 2
"""Size of the axis of sequences, which no other axis has."""

POSITIONS = r"(^|_)(pos(?!_?ff|.*wise|t)|pe(_|$))|sinusoid"
"""Pattern of the names of position encodings."""

VISIBLE = 1e-6
"""Smallest effect of a position that is seen, relative to the largest output."""


@dataclass
class Event:
    """A call of a part while the stack runs, and for a layer, the positions (batch, query, key) that it sees, of its input and of the memory.

    continues   False for a norm of anything but the output of the part before it
    """

    part: Any
    visible: numpy.ndarray | None = None
    recalled: numpy.ndarray | None = None
    continues: bool = True


def together(events: Sequence[Event]) -> Event:
    """Return the calls of one part with several sequences, one after another, as a call with all of them."""

    def joined(seen: Sequence[numpy.ndarray | None]) -> numpy.ndarray | None:
        known = [each for each in seen if each is not None]
        return numpy.concatenate(known) if known else None

    visible, recalled = joined([each.visible for each in events]), joined([each.recalled for each in events])
    return Event(events[0].part, visible, recalled, all(each.continues for each in events))


@dataclass
class Stack:
    """The parts of an instance that stand in for its own.

    groups   the layers of each list of layers
    events       the calls of the parts in the last pass
    asks_first   True to ask only the first layer of each group what it sees
    is_settled   True once the norms are settled
    closing      a layer that applies the final norm to the output of a stack without one
    output       what the last layer or norm that was called returned
    """

    width: int
    groups: list[list[Any]] = field(default_factory=list)
    norms: list[Any] = field(default_factory=list)
    encodings: list[Any] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    asks_first: bool = False
    is_settled: bool = False
    closing: Any = None
    output: Any = None

    def write(self, layers: Sequence[Sequence[Inputs]], norm: Mapping[str, numpy.ndarray], positions: numpy.ndarray) -> None:
        """Set the weights of all parts.

        Errors   ValueError for another number of layers
        """
        if [len(group) for group in self.groups] != [len(each) for each in layers]:
            raise ValueError(f"got {[len(group) for group in self.groups]} layers, expected {[len(each) for each in layers]}")
        for group, weights in zip(self.groups, layers, strict=True):
            for layer, each in zip(group, weights, strict=True):
                layer.write(each, norm)
        for each in self.norms:
            each.write(norm)
        for each in self.encodings:
            each.positions = positions

    def settle(self, answer: Any) -> None:
        """Leave out norms before the first layer of a group, and let its last layer apply a final norm if the stack has none.

        answer   the output, to which the final norm is applied if it is that of the layers

        Errors   ValueError if a group of layers is not called
        """
        self.is_settled = True
        parts = [event.part for event in self.events]
        if not all(any(part in group for part in parts) for group in self.groups):
            raise ValueError("got layers that are not called")
        self.groups.sort(key=lambda group: min(parts.index(layer) for layer in group if layer in parts))
        is_norm, start = [part in self.norms for part in parts], 0
        begins = [not event.continues for event in self.events]  # the side of the target, after that of the source
        has_idle = any(norm not in parts for norm in self.norms) and not all(group[-1].is_bounded for group in self.groups)
        for group in self.groups:
            called = [index for index, part in enumerate(parts) if part in group]
            for index in range(start, called[0]):
                parts[index].is_left_out = is_norm[index]
            last, is_final = called[-1], group is self.groups[-1]
            ending = (index for index in range(last + 1, len(parts)) if not is_norm[index] or (begins[index] and not is_final))
            end = next(ending, len(parts))
            start = min(last + 2, end)
            if end == last + 1 and not has_idle and len(self.groups) == 1 and answer.shape[-1] == self.width:
                self.closing = group[0]
            elif end == last + 1 and not has_idle:
                parts[last].closes_after = parts.count(parts[last])

    def closed(self, answer: Any) -> Any:
        """Return the output of a single stack after a final norm, if it has none of its own."""
        return answer if self.closing is None else self.closing.close(answer)


def stack_of(instance: Any, width: int, library: str) -> Stack:
    """Replace the layers, norms and position encodings of an instance.

    Errors   ValueError if it has no layers
    """
    stack, made = Stack(width), dict[int, Any]()
    for owner in [*_owners(instance)]:
        group = []
        for name, child in children(owner):
            if is_pair(child):
                (first, attention), (second, feed_forward) = children(child)
                layer = _classes(library).First(attention, stack)
                put(child, second, _classes(library).Second(feed_forward, stack, layer))
                group.append((child, first, layer))
            if not is_layer(child):
                continue
            if id(child) not in made:
                made[id(child)] = _classes(library).Layer(child, stack)
            group.append((owner, name, made[id(child)]))
        for holder, name, layer in group:
            put(holder, name, layer)
        stack.groups.append([layer for *_, layer in group])
    if not stack.groups:
        raise ValueError("got no layers")
    _replace_others(instance, stack, library)
    return stack


LAYERS_OF_TORCH = ("TransformerEncoderLayer", "TransformerDecoderLayer")


def is_layer(module: Any) -> bool:
    """Return True for a layer: a module with attention and a feed-forward that holds no other such module, unless it attends itself."""
    if type(module).__name__ in LAYERS_OF_TORCH:
        return True
    if not is_block(module):
        return False
    attends = any(kind_of(str(name)) == "attention" for name, _ in children(module))
    return attends or not any(is_block(each) for each in every_part(module) if each is not module)


def is_pair(module: Any) -> bool:
    """Return True for a list of an attention and a feed-forward that the stack itself connects."""
    parts = [child for _, child in children(module)] if method_of(type(module)) is None else []
    kinds = [{kind_of(type(part).__name__), *(kind for *_, kind in parts_of(part))} - {None, "norm"} for part in parts]
    return kinds == [{"attention"}, {"feed_forward"}]


def _owners(module: Any) -> Iterator[Any]:
    """Yield the outermost modules, objects and containers that hold layers, in order."""
    held = [child for _, child in children(module)]
    if any(is_layer(child) or is_pair(child) for child in held):
        yield module
        return
    for child in held:
        yield from _owners(child)


def _replace_others(module: Any, stack: Stack, library: str) -> None:
    """Replace the norms and position encodings outside of layers."""
    made = _classes(library)
    for name, child in children(module):
        if isinstance(child, made.Layer):
            continue
        own = type(child).__name__
        if not is_container(child) and "norm" in (kind_of(str(name)), kind_of(own)):
            stack.norms.append(made.Norm(child, stack))
            put(module, name, stack.norms[-1])
        elif not is_container(child) and (re.search(POSITIONS, snake(str(name))) or re.search(POSITIONS, snake(own))):
            if own != "Embedding" and not any(type(each).__name__ == "Embedding" for each in every_part(child)):
                stack.encodings.append(made.Encoding(child, stack))
                put(module, name, stack.encodings[-1])
            elif own != "Embedding":
                _replace_others(child, stack, library)
        else:
            _replace_others(child, stack, library)


def _fill(module: Any) -> None:
    """Set the parameters of a module to small random numbers."""
    random = numpy.random.default_rng(11)
    for slot in slots_of(module, type(module).__module__):
        if slot.is_parameter:
            slot.write(random.standard_normal(slot.shape) * 0.2 + (len(slot.shape) == 1))


def _base(library: str) -> Any:
    """Return the class of the library's modules; object if it has none."""
    return importlib.import_module(f"{library}.nn").Module if library in ("torch", "mlx") else object


def _holds_same(x: Any, other: Any) -> bool:
    """Return True if two arrays have the same numbers, whatever the order of their axes."""
    if x is None or other is None:
        return False
    first, second = (numpy.sort(to_numpy(each), axis=None) for each in (x, other))
    return first.shape == second.shape and numpy.allclose(first, second, atol=1e-4)


@lru_cache
def _classes(library: str) -> SimpleNamespace:
    base = _base(library)

    class Part(base):  # type: ignore[misc, valid-type]
        """A part in the place of another."""

        def __init__(self, original: Any, stack: Stack) -> None:
            super().__init__()
            object.__setattr__(self, "_original", original)
            object.__setattr__(self, "_stack", stack)

        def __getattr__(self, name: str) -> Any:
            try:
                return super().__getattr__(name)
            except AttributeError:
                return getattr(object.__getattribute__(self, "_original"), name)

    class Layer(Part):
        """A simple layer in the place of another."""

        def __init__(self, original: Any, stack: Stack) -> None:
            super().__init__(original, stack)
            _fill(original)
            object.__setattr__(self, "_closing", Norm(original, stack))
            self.place: Any = None
            self.closes_after = 0
            self.is_bounded = False

        def write(self, weights: Inputs, norm: Mapping[str, numpy.ndarray]) -> None:
            """Set the matrices, and the final norm that the last layer may apply."""
            self._closing.write(norm)
            object.__setattr__(self, "_matrices", weights)

        def close(self, x: numpy.ndarray) -> numpy.ndarray:
            """Return the final norm of x."""
            values: numpy.ndarray = self._closing.plain(x)
            return values

        def forward(self, *others: Any, **named: Any) -> Any:
            given: dict[Any, Any] = {**dict(enumerate(others)), **named}
            with without_gradients():
                answer = called(self._original, *others, **named)
                first = answer[0] if isinstance(answer, tuple | list) else answer
                operands = {name: each for name, each in given.items() if _is_sequence(each, first, self._stack.width)}
                x_name = self._own_operand(operands, first)
                x = operands[x_name]
                same = [name for name, each in operands.items() if _equal(each, x)]
                rest = [name for name in operands if name not in same]
                if any(not _equal(operands[name], operands[rest[0]]) for name in rest):
                    raise ValueError("got more sequences than one and the encoder's output")
                ask = _Asked(self._original, given, len(others))
                self.is_bounded = ask.is_bounded(same)
                if self._stack.asks_first and any(
                    event.part in group for group in self._stack.groups if self in group for event in self._stack.events
                ):
                    return answer
                event = Event(self, ask.visible(same, rest, same), ask.visible(same, rest, rest) if rest else None)
                self._stack.events.append(event)
                result = self._stack.output = self._mixed(x, event, operands[rest[0]] if rest else None)
            return (result, *answer[1:]) if isinstance(answer, tuple | list) else result

        def _own_operand(self, operands: Mapping[Any, Any], first: Any) -> Any:
            """Return the name or place of the layer's input: it has the shape of the output, and the same place in every call."""
            fitting = [name for name, each in operands.items() if each.shape == first.shape]
            if not fitting:
                raise ValueError("got a layer whose output has another shape than its inputs")
            if len(operands) > len(fitting) or self.place is None:
                self.place = next((name for name in fitting if not re.search(OF_SOURCE, _named(self._original, name))), fitting[0])
            return self.place if self.place in fitting else fitting[0]

        def _mixed(self, x: Any, event: Event, memory: Any) -> Any:
            rows = _rows(x)
            matrices = {name: each.astype(rows.dtype) for name, each in self._matrices.items()}
            result = defined_layer(rows, matrices, event.visible, None if memory is None else _rows(memory), event.recalled)
            if self.closes_after and self.closes_after == sum(each.part is self for each in self._stack.events):
                result = self.close(result)
            return asarray_like(result[0] if x.ndim == 2 else result if x.shape[0] == BATCH else result.swapaxes(0, 1), x)

    class First(Layer):
        """A simple layer in the place of an attention, without its residual and without what the feed-forward adds."""

        made: Any = None

        def forward(self, x: Any, *others: Any, **named: Any) -> Any:
            self.made = super().forward(x, *others, **named) - 1
            self.is_bounded = False
            return self.made - x

    class Second(Part):
        """A part in the place of a feed-forward that adds one to the sum of the attention before it and its residual, and nothing to all else."""

        def __init__(self, original: Any, stack: Stack, first: First) -> None:
            super().__init__(original, stack)
            object.__setattr__(self, "_first", first)

        def forward(self, x: Any) -> Any:
            made = to_numpy(self._first.made)
            return x * 0 + float(made.shape == x.shape and numpy.allclose(made, to_numpy(x), atol=1e-4))

    class Norm(Part):
        """A layer norm in the place of any norm; it can be left out."""

        def __init__(self, original: Any, stack: Stack) -> None:
            super().__init__(original, stack)
            self.is_left_out = False

        def write(self, norm: Mapping[str, numpy.ndarray]) -> None:
            """Set scale and shift."""
            object.__setattr__(self, "_norm", norm)

        def plain(self, x: numpy.ndarray) -> numpy.ndarray:
            """Return the norm of x."""
            values: numpy.ndarray = functions.layer_norm(x, *(self._norm[name].astype(x.dtype) for name in ("g", "b")))
            return values

        def forward(self, x: Any, *others: Any, **named: Any) -> Any:
            self._stack.events.append(Event(self, continues=_holds_same(x, self._stack.output)))
            self._stack.output = x if self.is_left_out else asarray_like(self.plain(to_numpy(x)), x)
            return self._stack.output

    class Encoding(Part):
        """A position encoding with other vectors; it scales and returns what the one that it replaces does."""

        def __init__(self, original: Any, stack: Stack) -> None:
            super().__init__(original, stack)
            self.positions = numpy.zeros((0, stack.width))

        def forward(self, *others: Any, **named: Any) -> Any:
            with without_gradients():
                answer = called(self._original, *others, **named)
                taken = [place for place, each in enumerate(others) if _is_sequence(each, answer, self._stack.width)]
                scale, added = 0.0, to_numpy(answer)
                if taken:
                    x = to_numpy(others[taken[0]])
                    silent = [0 * each if place == taken[0] else each for place, each in enumerate(others)]
                    both, added = added, to_numpy(called(self._original, *silent, **named))
                    scale = float(((both - added) * x).sum() / max((x * x).sum(), 1e-9))
                    if not numpy.allclose(both - added, scale * x, atol=1e-4):
                        return answer
                axis = next((axis for axis in range(added.ndim - 1) if added.shape[axis] > 1 and _varies(added, axis)), None)
                others_vary = [each for each in range(added.ndim - 1) if each != axis and _varies(added, each)]
                if axis is None or others_vary:
                    return answer
                vectors = numpy.zeros((added.shape[axis], self._stack.width), added.dtype)
                known = self.positions[: len(vectors)]
                vectors[: len(known)] = known
                shape = [1] * added.ndim
                shape[axis], shape[-1] = added.shape[axis], self._stack.width
                new = numpy.broadcast_to(vectors.reshape(shape), added.shape)
                return asarray_like(new + scale * x if taken else new.copy(), answer)

    if library != "torch":
        for each in (Layer, First, Second, Norm, Encoding):
            each.__call__ = each.forward
    return SimpleNamespace(Layer=Layer, First=First, Second=Second, Norm=Norm, Encoding=Encoding)


class _Asked:
    """A layer that is called with changed operands, to see which positions have an effect.

    given            the arguments by place or name
    num_positional   number of arguments without a name
    """

    def __init__(self, layer: Any, given: Mapping[Any, Any], num_positional: int) -> None:
        self.layer, self.given, self.num_positional = layer, given, num_positional

    def visible(self, same: Sequence[Any], rest: Sequence[Any], asked: Sequence[Any]) -> numpy.ndarray:
        """Return which positions of an operand have an effect on which outputs; each position sees itself.

        same, rest   names of the layer's input, and of the encoder's output
        """
        random = numpy.random.default_rng(13)
        plain = {name: random.standard_normal(self.given[names[0]].shape) * 0.5 for names in (same, rest) if names for name in names[:1]}
        operands = {name: plain[names[0]] for names in (same, rest) for name in names}
        before, axis = self._output(operands), 1 if self.given[asked[0]].ndim == 3 and self.given[asked[0]].shape[0] == BATCH else 0
        columns = []
        for place in range(self.given[asked[0]].shape[axis]):
            changed = operands[asked[0]].copy()
            changed.swapaxes(0, axis)[place] += random.standard_normal(changed.shape[-1]) * 2
            after = self._output(operands | dict.fromkeys(asked, changed))
            columns.append(~(numpy.abs(after - before).max(-1) <= VISIBLE * numpy.abs(before).max(initial=1.0)))
        seen = numpy.stack(columns, -1)
        return seen | numpy.eye(seen.shape[1], dtype=bool) if asked is same else seen

    def is_bounded(self, same: Sequence[Any]) -> bool:
        """Return True if large inputs give no large outputs, as with a norm at the end: a final norm is then not needed."""
        large = {name: 1e4 * to_numpy(self.given[name]) for name in same}
        return bool(numpy.abs(self._output(large)).max() < 100 * numpy.abs(self._output({})).max())

    def _output(self, operands: Mapping[Any, Any]) -> numpy.ndarray:
        """Return the layer's output (batch, positions, width)."""
        changed = {name: asarray_like(each.astype(to_numpy(self.given[name]).dtype), self.given[name]) for name, each in operands.items()}
        given = {**self.given, **changed}
        answer = called(
            self.layer,
            *(given[place] for place in range(self.num_positional)),
            **{name: each for name, each in given.items() if isinstance(name, str)},
        )
        return _rows(answer[0] if isinstance(answer, tuple | list) else answer)


def _named(layer: Any, name: Any) -> str:
    """Return the name of an operand that a layer is given by name or place; empty if it takes any number of operands."""
    method = inspect.unwrap(getattr(type(layer), method_of(type(layer)) or "__call__"))
    taken = dict(enumerate(list(inspect.signature(method).parameters)[1:]))
    return snake(name if isinstance(name, str) else taken.get(name, ""))


def _is_sequence(value: Any, like: Any, width: int) -> bool:
    num_axes = getattr(value, "ndim", 0)
    return num_axes in (2, 3) and is_floating(value) and value.shape[-1] == width and getattr(like, "ndim", num_axes) == num_axes


def _equal(first: Any, second: Any) -> bool:
    return first is second or (first.shape == second.shape and bool((first == second).all()))


def _rows(x: Any) -> numpy.ndarray:
    """Return sequences with the batch first; a single sequence as a batch of one."""
    values: numpy.ndarray = to_numpy(x)
    return values[None] if x.ndim == 2 else values if x.shape[0] == BATCH else values.swapaxes(0, 1)


def _varies(values: numpy.ndarray, axis: int) -> bool:
    return not bool((values == values.take([0], axis)).all())
