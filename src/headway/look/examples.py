"""Example inputs for a definition: small arrays of the shapes in its docstring, with a different size for every axis."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy

from headway import functions
from headway.errors import OptionError
from headway.look.axes import Shapes, evaluate, parse_shapes

SIZES = {
    "query_len": 5,
    "key_len": 7,
    "seq_len": 6,
    "num_kv_heads": 2,
    "group_size": 2,
    "num_heads": 4,
    "head_dim": 8,
    "value_dim": 3,
    "vocab_size": 12,
    "size": 5,
    "num_layers": 2,
    "max_seq_len": 16,
}
"""Sizes of common names; they differ, so that a size identifies its axis."""

NO_AXES = ("group_size", "num_layers")
OTHERS = (9, 10, 11, 13, 14, 15, 17, 18, 19, 20, 21, 22, 23)
LEADING = 3
NUMBERS: Mapping[str, object] = {
    "temperature": 0.7,
    "top_k": 3,
    "top_p": 0.8,
    "min_p": 0.1,
    "typical_p": 0.7,
    "penalty": 1.3,
    "rate": 0.3,
    "bias": {1: -2.0},
    "forbidden": (2, 5),
    "forced": (3,),
    "ngram_size": 3,
    "window": 3,
    "limit": 2.0,
    "factor": 4.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_seq_len": 8192,
    "learning_rate": 0.1,
    "step": 3,
    "is_pre_norm": False,
    "is_causal": True,
    "gradient": lambda x: 2 * x,
    "sublayer": lambda x: x,
}
"""Arguments that are neither arrays nor sizes."""


def example_inputs(function: Callable[..., object], *, seed: int = 0) -> dict[str, Any]:
    """Return arguments for a function with a `Shapes` block. Optional arrays and trees are left out.

    Errors   OptionError for a function without such a block, or with a parameter that needs a value of its own.
    """
    shapes = parse_shapes(inspect.getdoc(function))
    name = getattr(function, "__name__", "function")
    if shapes is None:
        raise OptionError(f"got {name} without a Shapes block in its docstring, expected example inputs", hint="give inputs with --input")
    builder = _Builder(shapes, seed)
    parameters = inspect.signature(function).parameters
    given: dict[str, object] = {}
    for parameter in parameters.values():
        if parameter.name in shapes.arrays or parameter.name in shapes.kinds:
            if "optional" not in shapes.marks.get(parameter.name, ()):
                given[parameter.name] = builder.value(parameter.name)
        elif parameter.default is parameter.empty or parameter.name == "is_causal":
            given[parameter.name] = builder.scalar(parameter.name)
    return given


class _Builder:
    """Arrays and trees with the sizes drawn so far."""

    def __init__(self, shapes: Shapes, seed: int, sizes: dict[str, int] | None = None) -> None:
        self.shapes = shapes
        self.random = numpy.random.default_rng(seed)
        self.sizes = {} if sizes is None else sizes
        named = max((sum(axis != "..." for axis in axes) for name, axes in shapes.arrays.items() if name != "return"), default=0)
        self.leading = (LEADING,) if named < 2 else ()

    def scalar(self, name: str) -> object:
        """Return the value of a parameter that is no array."""
        if name in NUMBERS:
            return NUMBERS[name]
        texts = [axis for axes in self.shapes.arrays.values() for axis in axes] + list(self.shapes.kinds.values())
        if any(name in text for text in (*texts, *self.shapes.equations, *self.shapes.equations.values())):
            return self.size(name)
        raise OptionError(f"got no example for the parameter {name}", hint="give inputs with --input")

    def size(self, expression: str) -> int:
        """Return the value of an expression of sizes, with a size drawn for each name in it."""
        for node in ast.walk(ast.parse(expression, mode="eval")):
            if isinstance(node, ast.Name) and node.id not in self.sizes:
                equation = self.shapes.equations.get(node.id)
                self.sizes[node.id] = self.size(equation) if equation else self._draw(node.id)
        value = evaluate(expression, self.sizes)
        assert value is not None
        return value

    def _draw(self, name: str) -> int:
        wanted = SIZES.get(name)
        used = {size for other, size in self.sizes.items() if other not in NO_AXES}
        if wanted is not None and (wanted not in used or name in NO_AXES):
            return wanted
        return next(size for size in OTHERS if size not in used)

    def value(self, name: str) -> object:
        """Return the array or the tree of a line of the block."""
        if name in self.shapes.arrays:
            return self._array(name, self.shapes.arrays[name], self.shapes.marks.get(name, ()))
        return self._tree(ast.parse(self.shapes.kinds[name], mode="eval").body, self.shapes)

    def _array(self, name: str, axes: tuple[str, ...], marks: tuple[str, ...]) -> numpy.ndarray:
        shape = tuple(size for axis in axes for size in (self.leading if axis == "..." else (self.size(axis),)))
        if "integer" in marks:
            return self.random.integers(0, self.sizes.get("vocab_size", 2), shape)
        if "boolean" in marks:
            return self.random.random(shape) < 0.7
        if name == "random":
            return self.random.random(shape)
        scale = shape[-1] ** -0.5 if name == "weight" and len(shape) == 2 else 1.0
        return numpy.asarray(self.random.standard_normal(shape) * scale).round(3)

    def _tree(self, what: ast.expr, outer: Shapes) -> object:
        """Return the tree for `Kind(name=expression)`, or a tuple of trees for `count * Kind(…)`."""
        if isinstance(what, ast.BinOp):
            count = self.size(ast.unparse(what.left))
            return tuple(self._tree(what.right, outer) for _ in range(count))
        call = what if isinstance(what, ast.Call) else None
        kind = getattr(functions, ast.unparse(call.func if call else what))
        block = parse_shapes(inspect.getdoc(kind))
        assert block is not None
        keywords = {str(each.arg): each.value for each in call.keywords} if call else {}
        absent = {name for name, value in keywords.items() if isinstance(value, ast.Constant) and value.value is None}
        own = {name: self.size(ast.unparse(value)) for name, value in keywords.items() if name not in absent}
        own |= {name: size for name, size in self.sizes.items() if name not in own}
        inner = _Builder(block, int(self.random.integers(2**31)), own)
        fields = {}
        for name in (*block.arrays, *block.kinds):
            is_left_out = name in absent or "optional" in block.marks.get(name, ())
            fields[name] = None if is_left_out else inner.value(name)
        self.sizes |= {name: size for name, size in inner.sizes.items() if name not in self.sizes and name not in keywords}
        return kind(**fields)
