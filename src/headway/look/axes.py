"""Names of axes: the `Shapes` block of a docstring, bound to the sizes of a call's arrays."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

SIZE_ONE = 1


@dataclass(frozen=True)
class Shapes:
    """The `Shapes` block of a docstring.

    arrays     axes of each array by name, as expressions such as "head_dim" and "num_heads * head_dim"; "..." for leading axes
    kinds      weight class of each tree by name, as written: "LinearWeights(out_features=pairs)"
    marks      "integer", "boolean" and "optional" by name
    equations  sizes that others determine: {"num_heads": "num_kv_heads * group_size"}
    """

    arrays: Mapping[str, tuple[str, ...]]
    kinds: Mapping[str, str] = field(default_factory=dict)
    marks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    equations: Mapping[str, str] = field(default_factory=dict)


MARKS = ("integer", "boolean", "optional")


def parse_shapes(docstring: str | None) -> Shapes | None:
    """Return the `Shapes` block of a docstring (cleaned of its indentation); None without one."""
    lines = (docstring or "").splitlines()
    start = next((number for number, line in enumerate(lines) if line.strip() == "Shapes"), None)
    if start is None:
        return None
    arrays, kinds, marks, equations = {}, {}, {}, {}
    for text in itertools.takewhile(lambda line: line.startswith("    ") and line.strip(), lines[start + 1 :]):
        name, _, rest = text.strip().partition(" ")
        if name == "where":
            derived, _, expression = rest.partition(" = ")
            equations[derived.strip()] = expression.strip()
            continue
        words = rest.split()
        found = [words.pop() for _ in range(len(MARKS)) if words and words[-1] in MARKS]
        what = ast.parse(" ".join(words), mode="eval").body
        marks[name] = tuple(found)
        if _is_one_array(what):
            elements = what.elts if isinstance(what, ast.Tuple) else [what]
            arrays[name] = tuple("..." if isinstance(each, ast.Constant) and each.value is ... else ast.unparse(each) for each in elements)
        else:
            kinds[name] = ast.unparse(what)
    return Shapes(arrays, kinds, marks, equations)


def _is_one_array(what: ast.expr) -> bool:
    if isinstance(what, ast.Tuple):
        return not any(isinstance(each, ast.Tuple) for each in what.elts)
    return isinstance(what, ast.Constant) and what.value is ...


def evaluate(expression: str, sizes: Mapping[str, int]) -> int | None:
    """Return the value of an expression of sizes; None if one of them is not known."""
    try:
        return int(eval(compile(expression, "<shapes>", "eval"), {"__builtins__": {}}, dict(sizes)))
    except (NameError, SyntaxError, TypeError, ZeroDivisionError):
        return None


def bind(shapes: Shapes, arguments: Mapping[str, object]) -> dict[str, int]:
    """Return the sizes of the names in a block, from the shapes of arrays and from integers under these names."""
    texts = " ".join((*expressions_of(shapes), *shapes.equations, *shapes.equations.values()))
    names = set(re.findall(r"[A-Za-z_]\w*", texts))
    sizes: dict[str, int] = {name: value for name, value in arguments.items() if type(value) is int and name in names}
    for name, axes in shapes.arrays.items():
        shape = getattr(arguments.get(name), "shape", None)
        if shape is None:
            continue
        known = [axis for axis in axes if axis != "..."]
        if "..." in axes:
            sizes |= _leading(tuple(shape)[: max(len(shape) - len(known), 0)], sizes)
        for axis, size in zip(reversed(known), reversed(tuple(shape)), strict=False):
            if axis.isidentifier() and (size != SIZE_ONE or axis not in sizes):
                sizes[axis] = int(size)
    for name, expression in shapes.equations.items():
        value = evaluate(expression, sizes)
        if value is not None:
            sizes.setdefault(name, value)
    return sizes


def _leading(shape: tuple[int, ...], sizes: Mapping[str, int]) -> dict[str, int]:
    """Return names for leading axes: "batch" for a single one."""
    names = ["batch"] if len(shape) == 1 else [f"batch{number}" for number in range(len(shape))]
    return {name: int(size) for name, size in zip(names, shape, strict=True) if name not in sizes}


class AxisNames:
    """Names of sizes in a call. A size with several names has none, unless the docstring gives it for the array.

    sizes   size of each name
    """

    def __init__(self, sizes: Mapping[str, int], expressions: tuple[str, ...] = (), given: Mapping[str, tuple[str, ...]] | None = None):
        self.sizes = dict(sizes)
        self.given = dict(given or {})
        self._by_size: dict[int, str] = {}
        self._ambiguous: set[int] = set()
        for name, size in sizes.items():
            self._add(name, size)
        for expression in expressions:
            value = None if expression.isidentifier() else evaluate(expression, sizes)
            if value is not None and value not in self._by_size:
                self._add(expression.replace(" * ", "·"), value)

    def _add(self, name: str, size: int) -> None:
        if size in self._by_size and self._by_size[size] != name:
            self._ambiguous.add(size)
        self._by_size.setdefault(size, name)

    def inner(self, shapes: Shapes | None, arguments: Mapping[str, object]) -> AxisNames:
        """Return the names in a call of a function with this block: these, and its own for sizes that have no name here."""
        if shapes is None:
            return AxisNames(self.sizes)
        own = bind(shapes, arguments)
        known = set(self.sizes.values())
        sizes = self.sizes | {name: size for name, size in own.items() if size not in known and name not in self.sizes}
        return AxisNames(sizes, expressions_of(shapes), shapes.arrays if not self.sizes else None)

    def of(self, name: str, shape: tuple[int, ...]) -> tuple[str, ...]:
        """Return a name for each axis of an array: those that the docstring gives for it, else those of its sizes."""
        by_size = tuple("" if size == SIZE_ONE or size in self._ambiguous else self._by_size.get(size, "") for size in shape)
        axes = self.given.get(name)
        if axes is None:
            return by_size
        known = [axis.replace(" * ", "·") for axis in axes if axis != "..."]
        if len(known) > len(shape) or ("..." not in axes and len(known) != len(shape)):
            return by_size
        return (*by_size[: len(shape) - len(known)], *known)


def expressions_of(shapes: Shapes) -> tuple[str, ...]:
    """Return all expressions of sizes in a block."""
    return tuple(dict.fromkeys(axis for axes in shapes.arrays.values() for axis in axes if axis != "..."))


def names_for(shapes: Shapes | None, arguments: Mapping[str, object]) -> AxisNames:
    """Return the names of axes in the outermost call."""
    return AxisNames({}).inner(shapes, arguments)
