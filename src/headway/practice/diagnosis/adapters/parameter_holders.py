"""Objects that hold parameters and their gradients, as optimizers of small libraries take them: parameters with names, layers, models."""

from __future__ import annotations

import re
from collections.abc import Iterator, MutableMapping, Sequence
from typing import Any

import numpy

DATA = ("value", "values", "val", "array", "tensor", "param", "params", "weight", "weights")
GRAD = ("gradient", "gradients", "grads", "g", "derivative")
"""Other names for the array and the gradient of a parameter."""

ARRAYS = (r"w|weights?|kernel", r"b|bias|biases")
"""Patterns of the names of a layer's arrays."""


class Parameter:
    """An array with its gradient and a name, as small autograd libraries pass it."""

    xp = numpy
    requires_grad = trainable = True

    def __init__(self, data: Any, name: str = "p0") -> None:
        self.data = data
        self.name = name
        self.grad: Any = None

    def __getattr__(self, name: str) -> Any:
        if name in DATA:
            return self.data
        if name in GRAD:
            return self.grad
        raise AttributeError(f"a parameter has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__("data" if name in DATA else "grad" if name in GRAD else name, value)

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the array's shape."""
        return tuple(self.data.shape)

    @property
    def size(self) -> int:
        """Return the array's number of elements."""
        return int(self.data.size)

    @property
    def ndim(self) -> int:
        """Return the array's number of axes."""
        return int(self.data.ndim)

    def zero_grad(self) -> None:
        """Clear the gradient."""
        self.grad = None

    def __isub__(self, change: Any) -> Parameter:
        self.data = self.data - change
        return self

    def __iadd__(self, change: Any) -> Parameter:
        self.data = self.data + change
        return self


class _Arrays(MutableMapping[str, Any]):
    """Arrays of parameters by name, or their gradients; a key may have a prefix such as d or grad_."""

    def __init__(self, held: dict[str, Any], attribute: str) -> None:
        self.held, self.attribute = held, attribute

    def _of(self, key: str) -> Any:
        plain = re.sub(r"^(d_?|grad_?)(?=.)", "", key) if self.attribute == "grad" and key not in self.held else key
        return self.held[plain]

    def __getitem__(self, key: str) -> Any:
        return getattr(self._of(key), self.attribute)

    def __setitem__(self, key: str, value: Any) -> None:
        setattr(self._of(key), self.attribute, value)

    def __delitem__(self, key: str) -> None:
        raise TypeError("the parameters of a layer cannot be removed")

    def __iter__(self) -> Iterator[str]:
        return iter(self.held)

    def __len__(self) -> int:
        return len(self.held)

    def __call__(self) -> list[Any]:
        return list(self.held.values())


class Layer:
    """A layer with a weight and a bias; an array that it lacks is a bias of zeros without gradient."""

    def __init__(self, held: Sequence[Any], name: str = "layer0") -> None:
        pair = [*held, _nothing()][:2]
        vars(self).update(name=name, pair=pair, named={"W": pair[0], "b": pair[1]})

    def parameters(self) -> list[Any]:
        """Return the parameters."""
        return list(self.pair)

    @property
    def params(self) -> _Arrays:
        """Return the arrays by name."""
        return _Arrays(self.named, "data")

    @property
    def grads(self) -> _Arrays:
        """Return the gradients by the arrays' names."""
        return _Arrays(self.named, "grad")

    def __getattr__(self, name: str) -> Any:
        found = _place(name)
        if found is None:
            raise AttributeError(f"a layer has no attribute {name!r}")
        return getattr(self.pair[found[0]], found[1])

    def __setattr__(self, name: str, value: Any) -> None:
        found = _place(name)
        if found is None:
            super().__setattr__(name, value)
        else:
            setattr(self.pair[found[0]], found[1], value)


def _nothing() -> Parameter:
    made = Parameter(numpy.zeros(1), "nothing")
    made.grad = numpy.zeros(1)
    return made


def _place(name: str) -> tuple[int, str] | None:
    """Return which array of a layer a name means, and whether its data or its gradient."""
    for place, pattern in enumerate(ARRAYS):
        if re.fullmatch(pattern, name, re.IGNORECASE):
            return place, "data"
        if re.fullmatch(rf"(d_?|dl_?d_?|grad(ient)?s?_?)({pattern})|({pattern})_?grad(ient)?s?", name, re.IGNORECASE):
            return place, "grad"
    return None


class Layers(list[Layer]):
    """The layers of a model; `layers[::2]` are all of them, as if an activation without parameters followed each."""

    def __getitem__(self, place: Any) -> Any:
        return list(self) if place == slice(None, None, 2) else super().__getitem__(place)


class Model:
    """A model with all parameters, in layers of two."""

    def __init__(self, held: Sequence[Any]) -> None:
        self.held = list(held)
        self.layers = Layers(layers_of(held))
        self.trainable_layers = self.layers

    def parameters(self) -> list[Any]:
        """Return all parameters."""
        return list(self.held)

    def named_parameters(self) -> list[tuple[str, Any]]:
        """Return all parameters with their names."""
        return [(f"p{place}", each) for place, each in enumerate(self.held)]

    @property
    def params(self) -> _Arrays:
        """Return the arrays by name."""
        return _Arrays(dict(self.named_parameters()), "data")

    @property
    def grads(self) -> _Arrays:
        """Return the gradients by the arrays' names."""
        return _Arrays(dict(self.named_parameters()), "grad")


def layers_of(held: Sequence[Any]) -> list[Layer]:
    """Return layers of two parameters each, in order."""
    return [Layer(held[place : place + 2], f"layer{place // 2}") for place in range(0, len(held), 2)]
