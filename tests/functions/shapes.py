"""Parser of the `Shapes` blocks in docstrings, which draws a prime per name, builds the arguments and compares the result.

A line is `name  what  marks`, where `what` is one of

    (..., seq_len, 2 * pairs)          an array; `...` means any leading axes, the same for every argument
    (...), (..., seq_len)              several arrays, for a return only
    LinearWeights(out_features=pairs)  a weight tree by the block of that class, with some of its names set; `bias=None`: without that field
    num_layers * EncoderLayerWeights   a tuple of weight trees

and the marks are `integer`, `boolean` and `optional`. `where  a = b * c` says that a is not free.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from headway import functions
from headway.arrays import is_boolean, is_floating, is_integer
from headway.look.examples import NUMBERS
from headway.trees import leaves, map_tree

# Possible sizes by the first matching prefix of a name. The pools do not overlap, so two names never get the same size. Counts are
# multiplied by each other and are small; capacities are large enough for their contents.
POOLS = {
    "num_experts": (5,),
    "num_layers": (5,),
    "num_": (2, 13),
    "group_": (3,),
    "max_": (43, 47),
    "": (17, 19, 23, 29, 31, 37, 41),
}
LEADING = (7, 11)
MARKS = ("integer", "boolean", "optional")


@dataclasses.dataclass(frozen=True)
class Line:
    """One line of a block."""

    name: str
    what: ast.expr
    marks: tuple[str, ...]

    @property
    def is_optional(self) -> bool:
        return "optional" in self.marks


@dataclasses.dataclass(frozen=True)
class Block:
    """A block: the arguments or fields, the result, and the names that equations determine."""

    arguments: tuple[Line, ...]
    returned: Line | None
    equations: dict[str, ast.expr]

    @property
    def texts(self) -> Iterator[ast.expr]:
        yield from (line.what for line in self.arguments)
        if self.returned is not None:
            yield self.returned.what
        yield from self.equations.values()


def parse(documented: Any) -> Block | None:
    """Return the block of a function, method or class, or None."""
    lines = (inspect.getdoc(documented) or "").splitlines()
    start = next((number for number, line in enumerate(lines) if line.strip() == "Shapes"), None)
    if start is None:
        return None
    body = itertools.takewhile(lambda line: line.startswith(" " * 4) and line.strip(), (line for line in lines[start + 1 :]))
    arguments, returned, equations = [], None, {}
    for text in body:
        name, what = text.split(maxsplit=1)
        if name == "where":
            derived, expression = what.split(" = ")
            equations[derived.strip()] = _expression(expression)
        elif name == "return":
            returned = _line(name, what)
        else:
            arguments.append(_line(name, what))
    return Block(tuple(arguments), returned, equations)


def _line(name: str, text: str) -> Line:
    words = text.split()
    marks: list[str] = []
    while words and words[-1] in MARKS:
        marks.insert(0, words.pop())
    return Line(name, _expression(" ".join(words)), tuple(marks))


def _expression(text: str) -> ast.expr:
    return ast.parse(text.strip(), mode="eval").body


class Dimensions(dict):
    """Sizes by name, drawn on first use."""

    def __init__(self, given: Mapping[str, int], draw: Callable[[str], int]):
        super().__init__(given)
        self._draw = draw

    def __missing__(self, name: str) -> int:
        self[name] = self._draw(name)
        return self[name]

    def value(self, expression: ast.expr) -> int:
        return eval(compile(ast.Expression(expression), "<shapes>", "eval"), {"__builtins__": {}}, self)

    def inside(self, call: ast.expr) -> Dimensions:
        """Return the sizes for a weight class: those set by name, then these."""
        return Dimensions({name: self.value(value) for name, value in _keywords(call).items() if not _is_none(value)}, self.__getitem__)


def draw_dimensions(block: Block, seed: int, given: Mapping[str, int] | None = None) -> Dimensions:
    """Draw a different prime for every free name, or a multiple of one if the block divides the name."""
    random = np.random.default_rng(seed)
    pools = {prefix: iter(pool if prefix else random.permutation(pool).tolist()) for prefix, pool in POOLS.items()}
    divisors = _divisors(block)

    def draw(name: str) -> int:
        if name in block.equations:
            return dimensions.value(block.equations[name])
        prefix = next(prefix for prefix in POOLS if name.startswith(prefix))
        return next(pools[prefix]) * divisors.get(name, 1)

    dimensions = Dimensions(given or {}, draw)
    return dimensions


def _divisors(block: Block) -> dict[str, int]:
    divisions = [
        node for text in block.texts for node in ast.walk(text) if isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv)
    ]
    return {
        node.left.id: node.right.value for node in divisions if isinstance(node.left, ast.Name) and isinstance(node.right, ast.Constant)
    }


@dataclasses.dataclass(frozen=True)
class Builder:
    """Builder of arrays and weight trees from the right-hand side of a line.

    has_optional   True to include the optional leaves of weight trees
    """

    dimensions: Dimensions
    leading: tuple[int, ...]
    random: np.random.Generator
    has_optional: bool = True

    def shape(self, what: ast.expr) -> tuple[int, ...]:
        if isinstance(what, ast.Constant) and what.value is ...:  # "(...)" parses as a bare ellipsis
            return self.leading
        assert isinstance(what, ast.Tuple), f"not a shape: {ast.unparse(what)}"
        sizes = (self.leading if _is_ellipsis(axis) else (self.dimensions.value(axis),) for axis in what.elts)
        return tuple(itertools.chain.from_iterable(sizes))

    def build(self, line: Line) -> Any:
        return self._build(line.what, line.marks, line.name)

    def _build(self, what: ast.expr, marks: tuple[str, ...], name: str) -> Any:
        if _is_array(what):
            return self._array(self.shape(what), marks, name)
        if isinstance(what, ast.BinOp):
            return tuple(self._build(what.right, marks, name) for _ in range(self.dimensions.value(what.left)))
        kind = weight_class(what)
        inside = dataclasses.replace(self, dimensions=self.dimensions.inside(what))
        left_out = {name for name, value in _keywords(what).items() if _is_none(value)}
        lines = [line for line in parse(kind).arguments if line.name not in left_out and (self.has_optional or not line.is_optional)]
        return kind(**{line.name: inside.build(line) for line in lines})

    def _array(self, shape: tuple[int, ...], marks: tuple[str, ...], name: str) -> np.ndarray:
        if "integer" in marks:
            return self.random.integers(0, 2, shape)  # 0 and 1 are valid token ids, positions, lengths and counts
        if "boolean" in marks:
            return self.random.random(shape) < 0.7
        if name == "random":
            return self.random.random(shape)
        scale = shape[-1] ** -0.5 if name == "weight" and len(shape) == 2 else 0.5  # a linear map that preserves the scale of its input
        return np.asarray(self.random.standard_normal(shape) * scale)

    def compare(self, where: str, line: Line, actual: Any) -> None:
        """Assert that the result has the documented shapes and kinds of dtype."""
        if _is_several_arrays(line.what):
            assert isinstance(actual, tuple), f"{where} returns {type(actual)}; documented: a tuple"
            assert len(actual) == len(line.what.elts), f"{where} returns {len(actual)} arrays; documented: {len(line.what.elts)}"
            for part, array in zip(line.what.elts, actual, strict=True):
                self._compare_array(where, part, line.marks, array)
        elif _is_array(line.what):
            self._compare_array(where, line.what, line.marks, actual)
        else:
            documented = map_tree(lambda leaf: tuple(leaf.shape), self.build(line))
            assert type(actual) is type(documented), f"{where} returns {type(actual)}; documented: {ast.unparse(line.what)}"
            assert _leaf_shapes(actual) == _leaf_shapes(self.build(line)), f"{where}: documented {ast.unparse(line.what)}"

    def _compare_array(self, where: str, what: ast.expr, marks: tuple[str, ...], actual: Any) -> None:
        documented = self.shape(what)
        assert tuple(actual.shape) == documented, f"{where} returns {tuple(actual.shape)}; documented: {ast.unparse(what)} = {documented}"
        is_kind = is_integer if "integer" in marks else is_boolean if "boolean" in marks else is_floating
        assert is_kind(actual), f"{where} returns dtype {actual.dtype}; documented: {' '.join(marks) or 'floating'}"


def weight_class(what: ast.expr) -> type:
    """Return the class named by an expression such as `NormWeights` or `NormWeights(hidden_size=head_dim)`."""
    name = what.func if isinstance(what, ast.Call) else what
    assert isinstance(name, ast.Name), f"not a weight class: {ast.unparse(what)}"
    return getattr(functions, name.id)


def _is_ellipsis(axis: ast.expr) -> bool:
    return isinstance(axis, ast.Constant) and axis.value is ...


def _is_none(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is None


def _keywords(what: ast.expr) -> dict[str, ast.expr]:
    return {str(keyword.arg): keyword.value for keyword in what.keywords} if isinstance(what, ast.Call) else {}


def _is_several_arrays(what: ast.expr) -> bool:
    return (
        isinstance(what, ast.Tuple)
        and len(what.elts) > 1
        and (all(map(_is_ellipsis, what.elts)) or any(isinstance(e, ast.Tuple) for e in what.elts))
    )


def _is_array(what: ast.expr) -> bool:
    return isinstance(what, ast.Tuple) or _is_ellipsis(what)


def _leaf_shapes(tree: Any) -> dict[str, tuple[int, ...]]:
    return {path: tuple(leaf.shape) for path, leaf in leaves(tree)}


@dataclasses.dataclass(frozen=True)
class Call:
    """A function with arguments built from its docstring, and its documented result."""

    function: Callable[..., Any]
    arguments: dict[str, Any]
    builder: Builder
    block: Block

    def run(self) -> Any:
        return self.function(**self.arguments)

    def check(self) -> None:
        """Call the function, and assert that the result is as documented."""
        actual = self.run()
        if self.block.returned is not None:
            shapes = {name: value.shape for name, value in self.arguments.items() if hasattr(value, "shape")}
            self.builder.compare(f"{self.function.__qualname__}({shapes})", self.block.returned, actual)


def call_by_docstring(
    function: Callable[..., Any],
    *,
    leading: tuple[int, ...] = (),
    absent: frozenset[str] = frozenset(),
    has_optional: bool = True,
    seed: int = 0,
    given: Mapping[str, int] | None = None,
) -> Call:
    """Return the arguments for a call: documented arrays and trees, scalars that are dimensions, NUMBERS for other required ones."""
    block = parse(function)
    assert block is not None, f"{function.__qualname__} has no Shapes block"
    builder = Builder(draw_dimensions(block, seed, given), leading, np.random.default_rng(seed), has_optional)
    documented = {line.name: line for line in block.arguments}
    parameters = inspect.signature(function).parameters
    unknown = documented.keys() - parameters.keys()
    assert not unknown, f"{function.__qualname__} documents {sorted(unknown)}, which it does not take"
    arguments = {name: builder.build(line) for name, line in documented.items() if name not in absent}
    names = dimension_names(block)
    for name, parameter in parameters.items():
        is_required = parameter.default is inspect.Parameter.empty
        if name in documented or name == "self":
            continue
        if name in names:
            arguments[name] = builder.dimensions[name]
        elif is_required:
            assert name in NUMBERS, f"{function.__qualname__} takes {name}: document it in Shapes, or give it a value in NUMBERS"
            arguments[name] = NUMBERS[name]
    return Call(function, arguments, builder, block)


def dimension_names(block: Block) -> set[str]:
    """Return every size name in the block, except weight classes."""
    names = {node.id for text in block.texts for node in ast.walk(text) if isinstance(node, ast.Name)}
    return {name for name in names | block.equations.keys() if name[0].islower()}


def optional_names(function: Callable[..., Any]) -> list[frozenset[str]]:
    """Return every combination of optional arguments to omit."""
    block = parse(function)
    optional = [line.name for line in block.arguments if line.is_optional] if block else []
    return [frozenset(chosen) for number in range(len(optional) + 1) for chosen in itertools.combinations(optional, number)]
