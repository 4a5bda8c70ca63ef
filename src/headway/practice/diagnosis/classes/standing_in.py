"""A stack of layers whose layers, norms and position encodings are replaced by simple ones, so that only their connection is judged.

A simple layer asks the layer that it replaces which positions have an effect on which, under the very arguments of the call. It
therefore needs to know neither the form of a mask nor the order of the arguments.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import numpy

from headway.arrays import is_floating, to_numpy
from headway.practice.diagnosis.calls.wording import snake
from headway.practice.diagnosis.classes.submodules import kind_of
from headway.practice.diagnosis.classes.wiring import is_block
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
    """A call of a part while the stack runs, and for a layer, the positions (batch, query, key) that it sees, of its input and of the memory."""

    part: Any
    visible: numpy.ndarray | None = None
    recalled: numpy.ndarray | None = None


@dataclass
class Stack:
    """The parts of an instance that stand in for its own.

    groups   the layers of each list of layers
    events       the calls of the parts in the last pass
    asks_first   True to ask only the first layer of each group what it sees
    is_settled   True once the norms are settled
    closing      a layer that applies the final norm to the output of a stack without one
    """

    width: int
    groups: list[list[Any]] = field(default_factory=list)
    norms: list[Any] = field(default_factory=list)
    encodings: list[Any] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    asks_first: bool = False
    is_settled: bool = False
    closing: Any = None

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
        has_idle = any(norm not in parts for norm in self.norms) and not all(group[-1].is_bounded for group in self.groups)
        for group in self.groups:
            called = [index for index, part in enumerate(parts) if part in group]
            for index in range(start, called[0]):
                parts[index].is_left_out = is_norm[index]
            last = called[-1]
            end = next((index for index in range(last + 1, len(parts)) if not is_norm[index]), len(parts))
            start = min(last + 2, end)
            if end == last + 1 and not has_idle and len(self.groups) == 1 and answer.shape[-1] == self.width:
                self.closing = group[0]
            elif end == last + 1 and not has_idle:
                parts[last].closes_after = parts.count(parts[last])

    def closed(self, answer: Any) -> Any:
        """Return the output of a single stack after a final norm, if it has none of its own."""
        return answer if self.closing is None else self.closing.close(answer)


def stack_of(instance: Any, width: int) -> Stack:
    """Replace the layers, norms and position encodings of an instance of torch's Module.

    Errors   ValueError if it has no layers
    """
    stack, made = Stack(width), dict[int, Any]()
    for owner in _owners(instance):
        group = []
        for name, child in owner._modules.items():
            if child is None or not is_layer(child):
                continue
            if id(child) not in made:
                made[id(child)] = _classes().Layer(child, stack)
            group.append((name, made[id(child)]))
        for name, layer in group:
            owner._modules[name] = layer
        stack.groups.append([layer for _, layer in group])
    if not stack.groups:
        raise ValueError("got no layers")
    _replace_others(instance, stack)
    return stack


LAYERS_OF_TORCH = ("TransformerEncoderLayer", "TransformerDecoderLayer")


def is_layer(module: Any) -> bool:
    """Return True for a layer: a module with attention and a feed-forward that holds no other such module."""
    if type(module).__name__ in LAYERS_OF_TORCH:
        return True
    return is_block(module) and not any(is_block(each) for each in module.modules() if each is not module)


def _owners(module: Any) -> Iterator[Any]:
    """Yield the outermost modules that hold layers, in order."""
    children = [child for child in module._modules.values() if child is not None]
    if any(is_layer(child) for child in children):
        yield module
        return
    for child in children:
        yield from _owners(child)


def _replace_others(module: Any, stack: Stack) -> None:
    """Replace the norms and position encodings outside of layers."""
    for name, child in module._modules.items():
        if child is None or isinstance(child, _classes().Layer):
            continue
        own = type(child).__name__
        if kind_of(name) == "norm" or kind_of(own) == "norm":
            module._modules[name] = _classes().Norm(stack)
            stack.norms.append(module._modules[name])
        elif re.search(POSITIONS, snake(name)) or re.search(POSITIONS, snake(own)):
            if own != "Embedding" and not any(type(each).__name__ == "Embedding" for each in child.modules()):
                module._modules[name] = _classes().Encoding(child, stack)
                stack.encodings.append(module._modules[name])
            elif own != "Embedding":
                _replace_others(child, stack)
        else:
            _replace_others(child, stack)


def _fill(module: Any) -> None:
    """Set the parameters of a module to small random numbers."""
    import torch

    random = torch.Generator().manual_seed(11)
    for each in module.parameters():
        each.data.copy_(torch.randn(each.shape, generator=random) * 0.2 + (each.ndim == 1))


@lru_cache
def _classes() -> SimpleNamespace:
    import torch
    from torch.nn import Module

    class Layer(Module):
        """A simple layer in the place of another."""

        def __init__(self, original: Any, stack: Stack) -> None:
            super().__init__()
            _fill(original)
            object.__setattr__(self, "_original", original)
            object.__setattr__(self, "_stack", stack)
            object.__setattr__(self, "_closing", Norm(stack))
            self.place: Any = None
            self.closes_after = 0
            self.is_bounded = False

        def __getattr__(self, name: str) -> Any:
            try:
                return super().__getattr__(name)
            except AttributeError:
                return getattr(self._original, name)

        def write(self, weights: Inputs, norm: Mapping[str, numpy.ndarray]) -> None:
            """Set the matrices, and the final norm that the last layer may apply."""
            self._closing.write(norm)
            object.__setattr__(self, "_matrices", {name: torch.tensor(value, dtype=torch.float32) for name, value in weights.items()})

        def close(self, x: Any) -> Any:
            """Return the final norm of x."""
            return self._closing.plain(x)

        def forward(self, *others: Any, **named: Any) -> Any:
            given: dict[Any, Any] = {**dict(enumerate(others)), **named}
            with torch.no_grad():
                answer = self._original(*others, **named)
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
                result = self._mixed(x, event, operands[rest[0]] if rest else None)
            return (result, *answer[1:]) if isinstance(answer, tuple | list) else result

        def _own_operand(self, operands: Mapping[Any, Any], first: Any) -> Any:
            """Return the name or place of the layer's input: it has the shape of the output, and the same place in every call."""
            fitting = [name for name, each in operands.items() if each.shape == first.shape]
            if not fitting:
                raise ValueError("got a layer whose output has another shape than its inputs")
            if len(operands) > len(fitting) or self.place is None:
                self.place = fitting[0]
            return self.place if self.place in fitting else fitting[0]

        def _mixed(self, x: Any, event: Event, memory: Any) -> Any:
            seen, recalled = (None if each is None else torch.as_tensor(each) for each in (event.visible, event.recalled))
            result = defined_layer(_rows(x), self._matrices, seen, None if memory is None else _rows(memory), recalled)
            if self.closes_after and self.closes_after == sum(each.part is self for each in self._stack.events):
                result = self.close(result)
            return result if x.shape[0] == BATCH else result.transpose(0, 1)

    class Norm(torch.nn.LayerNorm):
        """A layer norm in the place of any norm; it can be left out."""

        _stack: Stack

        def __init__(self, stack: Stack) -> None:
            super().__init__(stack.width)
            self.is_left_out = False
            object.__setattr__(self, "_stack", stack)

        def write(self, norm: Mapping[str, numpy.ndarray]) -> None:
            """Set scale and shift."""
            self.weight.data.copy_(torch.as_tensor(norm["g"]))
            self.bias.data.copy_(torch.as_tensor(norm["b"]))

        def plain(self, x: Any) -> Any:
            """Return the norm of x."""
            with torch.no_grad():
                return super().forward(x)

        def forward(self, x: Any) -> Any:
            self._stack.events.append(Event(self))
            return x if self.is_left_out else self.plain(x)

    class Encoding(Module):
        """A position encoding with other vectors; it scales and returns what the one that it replaces does."""

        def __init__(self, original: Any, stack: Stack) -> None:
            super().__init__()
            object.__setattr__(self, "_original", original)
            object.__setattr__(self, "_stack", stack)
            self.positions = numpy.zeros((0, stack.width))

        def __getattr__(self, name: str) -> Any:
            try:
                return super().__getattr__(name)
            except AttributeError:
                return getattr(self._original, name)

        def forward(self, *others: Any, **named: Any) -> Any:
            with torch.no_grad():
                answer = self._original(*others, **named)
                taken = [place for place, each in enumerate(others) if _is_sequence(each, answer, self._stack.width)]
                scale, added = 0.0, answer
                if taken:
                    x = others[taken[0]]
                    silent = [0 * each if place == taken[0] else each for place, each in enumerate(others)]
                    added = self._original(*silent, **named)
                    scale = float(((answer - added) * x).sum() / (x * x).sum().clamp_min(1e-9))
                    if not torch.allclose(answer - added, scale * x, atol=1e-4):
                        return answer
                axis = next((axis for axis in range(added.ndim - 1) if added.shape[axis] > 1 and _varies(added, axis)), None)
                others_vary = [each for each in range(added.ndim - 1) if each != axis and _varies(added, each)]
                if axis is None or others_vary:
                    return answer
                vectors = torch.zeros(added.shape[axis], self._stack.width)
                known = torch.tensor(self.positions[: len(vectors)], dtype=torch.float32)
                vectors[: len(known)] = known
                shape = [1] * added.ndim
                shape[axis], shape[-1] = added.shape[axis], self._stack.width
                new = vectors.reshape(shape).expand(added.shape)
                return new if not taken else scale * others[taken[0]] + new

    return SimpleNamespace(Layer=Layer, Norm=Norm, Encoding=Encoding)


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
        import torch

        random = torch.Generator().manual_seed(13)
        plain = {
            name: torch.randn(self.given[names[0]].shape, generator=random) * 0.5 for names in (same, rest) if names for name in names[:1]
        }
        operands = {name: plain[names[0]] for names in (same, rest) for name in names}
        before, axis = self._output(operands), 1 if self.given[asked[0]].shape[0] == BATCH else 0
        columns = []
        for place in range(self.given[asked[0]].shape[axis]):
            changed = operands[asked[0]].clone()
            changed.select(axis, place).add_(torch.randn(changed.shape[-1], generator=random) * 2)
            after = self._output(operands | dict.fromkeys(asked, changed))
            columns.append(~(numpy.abs(after - before).max(-1) <= VISIBLE * numpy.abs(before).max(initial=1.0)))
        seen = numpy.stack(columns, -1)
        return seen | numpy.eye(seen.shape[1], dtype=bool) if asked is same else seen

    def is_bounded(self, same: Sequence[Any]) -> bool:
        """Return True if large inputs give no large outputs, as with a norm at the end: a final norm is then not needed."""
        large = {name: 1e4 * self.given[name] for name in same}
        return bool(numpy.abs(self._output(large)).max() < 100 * numpy.abs(self._output({})).max())

    def _output(self, operands: Mapping[Any, Any]) -> numpy.ndarray:
        """Return the layer's output (batch, positions, width)."""
        given = {**self.given, **operands}
        answer = self.layer(
            *(given[place] for place in range(self.num_positional)), **{name: each for name, each in given.items() if isinstance(name, str)}
        )
        rows: numpy.ndarray = to_numpy(_rows(answer[0] if isinstance(answer, tuple | list) else answer))
        return rows


def _is_sequence(value: Any, like: Any, width: int) -> bool:
    return getattr(value, "ndim", 0) == 3 and is_floating(value) and value.shape[-1] == width and getattr(like, "ndim", 3) == 3


def _equal(first: Any, second: Any) -> bool:
    return first is second or (first.shape == second.shape and bool((first == second).all()))


def _rows(x: Any) -> Any:
    """Return sequences with the batch first."""
    return x if x.shape[0] == BATCH else x.transpose(0, 1)


def _varies(values: Any, axis: int) -> bool:
    return not bool((values == values.select(axis, 0).unsqueeze(axis)).all())
