"""A number with gradients, in place of the class of numbers that a file imports from a missing file of its author: `from .autograd import Value`."""

from __future__ import annotations

import math


class Value:
    """A number that records how it was computed, as in micrograd.

    data     the number
    grad     the gradient of what `backward` was called on
    """

    def __init__(self, data: float, children: tuple[Value, ...] = (), slopes: tuple[float, ...] = ()) -> None:
        self.data = float(data)
        self.grad = 0.0
        self._children = children
        self._slopes = slopes

    def __add__(self, other: Value | float) -> Value:
        other = _value(other)
        return Value(self.data + other.data, (self, other), (1.0, 1.0))

    def __mul__(self, other: Value | float) -> Value:
        other = _value(other)
        return Value(self.data * other.data, (self, other), (other.data, self.data))

    def __pow__(self, power: float) -> Value:
        return Value(self.data**power, (self,), (power * self.data ** (power - 1),))

    def __truediv__(self, other: Value | float) -> Value:
        return self * _value(other) ** -1

    def __rtruediv__(self, other: Value | float) -> Value:
        return _value(other) / self

    def __neg__(self) -> Value:
        return self * -1

    def __sub__(self, other: Value | float) -> Value:
        return self + -_value(other)

    def __rsub__(self, other: Value | float) -> Value:
        return _value(other) - self

    __radd__, __rmul__ = __add__, __mul__

    def __lt__(self, other: Value | float) -> bool:
        return self.data < _value(other).data

    def __gt__(self, other: Value | float) -> bool:
        return self.data > _value(other).data

    def exp(self) -> Value:
        """Return e to the power of this."""
        result = math.exp(self.data)
        return Value(result, (self,), (result,))

    def log(self) -> Value:
        """Return the natural logarithm."""
        return Value(math.log(self.data), (self,), (1 / self.data,))

    def tanh(self) -> Value:
        """Return the hyperbolic tangent."""
        result = math.tanh(self.data)
        return Value(result, (self,), (1 - result**2,))

    def relu(self) -> Value:
        """Return this if it is positive, otherwise 0."""
        return Value(max(self.data, 0.0), (self,), (float(self.data > 0),))

    def backward(self) -> None:
        """Add the gradient of this to the gradients of all values from which it was computed."""
        self.grad = 1.0
        for each in reversed(self._in_order()):
            for child, slope in zip(each._children, each._slopes, strict=True):
                child.grad += slope * each.grad

    def _in_order(self) -> list[Value]:
        """Return this and the values from which it was computed, each after its children."""
        found: dict[int, Value] = {}
        waiting = [(self, False)]
        while waiting:
            each, is_done = waiting.pop()
            if is_done:
                found.setdefault(id(each), each)
            elif id(each) not in found:
                waiting += [(each, True), *((child, False) for child in each._children)]
        return [*found.values()]


def _value(value: Value | float) -> Value:
    return value if isinstance(value, Value) else Value(value)
