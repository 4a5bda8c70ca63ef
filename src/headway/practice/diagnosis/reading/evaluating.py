"""Values of a file's expressions: numbers, settings, and the shapes of the arrays that its examples create. No array is created."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from headway.practice.diagnosis.reading.trees import last_name


@dataclass(frozen=True)
class Shape:
    """An array that an example creates, of which only the shape is known; `kind` is "f", "i" or "b"."""

    shape: tuple[int, ...]
    kind: str = "f"


class UnknownValueError(Exception):
    """An expression whose value does not follow from constants, settings and shapes."""


class NeedsSizesError(UnknownValueError):
    """A layer, which is made only for the sizes of a probe."""


OPERATORS: Mapping[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Not: operator.not_,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}

PLAIN_CALLS: Mapping[str, Callable[..., Any]] = {
    each.__name__: each for each in (int, float, bool, str, max, min, len, round, abs, dict, list, tuple, range, SimpleNamespace)
} | {"Namespace": SimpleNamespace, "sqrt": math.sqrt}

LARGEST = 10_000_000
"""Number above which a power, a product or a range is not computed."""

OF_SIZES = ("randn", "rand", "zeros", "ones", "empty", "eye", "standard_normal", "random_sample", "random")
OF_KEYWORD = ("normal", "uniform", "randint", "integers")
OF_ARRAY = ("tril", "triu", "zeros_like", "ones_like", "randn_like", "rand_like", "full_like", "asarray", "Variable", "from_numpy")
UNCHANGED = ("to", "float", "half", "double", "contiguous", "cuda", "cpu", "clone", "detach", "astype", "requires_grad_", "type", "copy")
INTEGERS = ("long", "int")


class Evaluator:
    """Evaluation of expressions of one place.

    named   name → value; raises UnknownValueError for a name whose value is not known
    call    (function's name, call) → value of a call of something that the file defines
    scale   replaced numbers: the sizes of an example → those of a probe
    """

    def __init__(
        self, named: Callable[[ast.expr], Any], call: Callable[[ast.Call, Evaluator], Any], scale: Mapping[int, int] | None = None
    ) -> None:
        self.named, self.call, self.scale = named, call, scale

    def value(self, node: ast.expr) -> Any:
        """Return the value of an expression.

        Errors   UnknownValueError
        """
        try:
            return self._value(node)
        except UnknownValueError:
            raise
        except Exception as error:  # an operation that does not suit these values
            raise UnknownValueError(ast.unparse(node)) from error

    def _value(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant():
                return self.scaled(node.value)
            case ast.Name() | ast.Attribute():
                return self.scaled(self.named(node))
            case ast.Tuple() | ast.List():
                made = [self.value(each) for each in node.elts]
                return tuple(made) if isinstance(node, ast.Tuple) else made
            case ast.Dict():
                keys = [self.value(key) for key in node.keys if key is not None]
                return dict(zip(keys, [self.value(each) for each in node.values], strict=True))
            case ast.UnaryOp() if type(node.op) in OPERATORS:
                return OPERATORS[type(node.op)](self.value(node.operand))
            case ast.BinOp():
                return self._of_two(
                    node.op, *(each.value if isinstance(each, ast.Constant) else self.value(each) for each in (node.left, node.right))
                )
            case ast.Compare(ops=[op]):
                left, right = self.value(node.left), self.value(node.comparators[0])
                shape = next((each for each in (left, right) if isinstance(each, Shape)), None)
                return OPERATORS[type(op)](left, right) if shape is None else Shape(shape.shape, "b")
            case ast.IfExp():
                return self.value(node.body if self.value(node.test) else node.orelse)
            case ast.Subscript():
                return self._item(self.value(node.value), node.slice)
            case ast.Call():
                return self._called(node)
        raise UnknownValueError(ast.unparse(node))

    def scaled(self, value: Any) -> Any:
        """Return the probe's size for a size of the example; other values stay."""
        return self.scale.get(value, value) if self.scale and type(value) is int else value

    def _of_two(self, op: ast.operator, left: Any, right: Any) -> Any:
        shapes = [each for each in (left, right) if isinstance(each, Shape)]
        if shapes:
            return max(shapes, key=lambda each: len(each.shape))
        if isinstance(op, ast.Pow) and abs(left) < LARGEST and abs(right) < 64:
            return left**right
        if isinstance(op, ast.Mult) and not all(isinstance(each, int | float) for each in (left, right)):
            raise UnknownValueError("a repeated sequence")
        return OPERATORS[type(op)](left, right)

    def _item(self, value: Any, index: ast.expr) -> Any:
        if not isinstance(value, Shape):
            return (
                value[slice(*map(self._bound, (index.lower, index.upper, index.step)))]
                if isinstance(index, ast.Slice)
                else value[self.value(index)]
            )
        rest, found = list(value.shape), []
        for each in index.elts if isinstance(index, ast.Tuple) else [index]:
            if isinstance(each, ast.Constant) and each.value is None:
                found.append(1)
            elif isinstance(each, ast.Slice):
                found.append(len(range(rest.pop(0))[slice(*map(self._bound, (each.lower, each.upper, each.step)))]))
            elif isinstance(each, ast.Constant) and each.value is Ellipsis:
                raise UnknownValueError("an ellipsis")
            elif isinstance(self.value(each), int):
                rest.pop(0)
            else:
                raise UnknownValueError("an index")
        return Shape((*found, *rest), value.kind)

    def _bound(self, node: ast.expr | None) -> Any:
        return None if node is None else self.value(node)

    def _called(self, node: ast.Call) -> Any:
        name = last_name(node.func)
        if isinstance(node.func, ast.Attribute):
            try:
                owner = self.value(node.func.value)
            except UnknownValueError:
                owner = None
            if isinstance(owner, Shape):
                return self._method(owner, name, [self.value(each) for each in node.args])
            if name == "get" and isinstance(owner, dict):
                return owner.get(*(self.value(each) for each in node.args))
        if isinstance(node.func, ast.Name) and name in PLAIN_CALLS:
            return PLAIN_CALLS[name](*(self.value(each) for each in node.args), **self._keywords(node))
        made = self._created(name, node)
        return self.call(node, self) if made is None else made

    def _keywords(self, node: ast.Call) -> dict[str, Any]:
        return {each.arg: self.value(each.value) for each in node.keywords if each.arg is not None}

    def _created(self, name: str, node: ast.Call) -> Shape | None:
        """Return the array that a function of an array library creates; None for another function."""
        if isinstance(node.func, ast.Name) and name not in ("randn", "rand", "zeros", "ones", "Variable"):
            return None
        given = {each.arg: each.value for each in node.keywords if each.arg is not None}
        kind = (
            "i"
            if "int" in ast.dump(given.get("dtype", ast.Constant(""))) or "long" in ast.dump(given.get("dtype", ast.Constant("")))
            else "f"
        )
        kind = "b" if "bool" in ast.dump(given.get("dtype", ast.Constant(""))) else kind
        named = given.get("size", given.get("shape"))
        if name in OF_ARRAY:
            made = self.value(node.args[0])
            return made if isinstance(made, Shape) else None
        if name in OF_KEYWORD or (name in OF_SIZES and named is not None):
            sizes = (
                named if named is not None else next((each for each in reversed(node.args) if isinstance(each, ast.Tuple | ast.List)), None)
            )
            return None if sizes is None else Shape(_as_tuple(self.value(sizes)), "i" if "int" in name else kind)
        if name in OF_SIZES:
            found = [self.value(each) for each in node.args if not _is_key(each)]
            return Shape(_as_tuple(found[0] if len(found) == 1 else found) * (2 if name == "eye" else 1), kind)
        if name == "full":
            return Shape(_as_tuple(self.value(node.args[0])), kind)
        if name == "arange":
            return Shape((len(range(*(self.value(each) for each in node.args))),), "i")
        if name in ("tensor", "array"):
            return _shape_of(self.value(node.args[0]))
        return None

    def _method(self, owner: Shape, name: str, given: Sequence[Any]) -> Any:
        """Return the result of an array's method."""
        sizes = list(owner.shape)
        if name in UNCHANGED:
            return owner
        if name in INTEGERS:
            return Shape(owner.shape, "i")
        if name == "bool":
            return Shape(owner.shape, "b")
        if name == "size":
            return sizes[given[0]] if given else tuple(sizes)
        if name == "unsqueeze":
            sizes.insert(given[0] if given[0] >= 0 else len(sizes) + 1 + given[0], 1)
        elif name in ("view", "reshape", "expand"):
            wanted = _as_tuple(given[0] if len(given) == 1 else list(given))
            known = math.prod(each for each in wanted if each != -1)
            sizes = [math.prod(sizes) // known if each == -1 and name != "expand" else each for each in wanted]
        elif name in ("transpose", "swapaxes") and len(given) == 2:
            sizes[given[0]], sizes[given[1]] = sizes[given[1]], sizes[given[0]]
        elif name == "permute":
            sizes = [sizes[each] for each in _as_tuple(given[0] if len(given) == 1 else list(given))]
        else:
            raise UnknownValueError(name)
        return Shape(tuple(sizes), owner.kind)


def _is_key(node: ast.expr) -> bool:
    """Return True for a random key, which JAX's functions take first."""
    return isinstance(node, ast.Name) and node.id.endswith(("key", "rng"))


def _as_tuple(sizes: Any) -> tuple[int, ...]:
    found = (sizes,) if isinstance(sizes, int) else tuple(sizes)
    if not all(isinstance(each, int) for each in found):
        raise UnknownValueError("a shape")
    return found


def _shape_of(value: Any) -> Shape:
    """Return the shape of nested lists of numbers."""
    sizes: list[int] = []
    while isinstance(value, list | tuple) and value:
        sizes.append(len(value))
        value = value[0]
    return Shape(tuple(sizes), "b" if isinstance(value, bool) else "i" if isinstance(value, int) else "f")
