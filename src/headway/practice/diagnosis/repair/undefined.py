"""Assignments to a name, or an attribute of self, that a program uses and does not define."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator, Sequence

from headway.practice.diagnosis.explain.undefined import UNSET
from headway.practice.diagnosis.reading.trees import is_of_self, names_in, parameters_in, stored_in
from headway.practice.diagnosis.repair.context import Context
from headway.practice.diagnosis.repair.expressions import EPSILONS, MAX_SIZES, literal
from headway.practice.diagnosis.repair.parallels import renamed
from headway.practice.diagnosis.repair.program import Change
from headway.practice.diagnosis.repair.templates import parsed, table
from headway.practice.outputs import Raised

METHODS = ("std", "var", "mean", "max", "min", "sum")
"""Reductions after which people name their results."""


def undefined_name(answer: object) -> str | None:
    """Return the name for which an output is a NameError; None for anything else."""
    if not isinstance(answer, Raised) or not isinstance(answer.error, NameError):
        return None
    found = re.search(r"'(\w+)'", str(answer.error))
    return found[1] if found else None


BONUS = 1.6
"""Cost that an assignment to a missing attribute saves: it is likelier than code without the attribute."""


def unset_attribute(answer: object) -> tuple[str, str] | None:
    """Return the class and its attribute for which an output is an AttributeError; None for anything else."""
    if not isinstance(answer, Raised) or not isinstance(answer.error, AttributeError):
        return None
    found = re.match(UNSET, str(answer.error))
    return (found[1], found[2]) if found else None


def settings(index: int, constructor: ast.FunctionDef, name: str, context: Context) -> Iterator[Change]:
    """Yield assignments to an attribute of self in a constructor: the parameter of its name, what similar ones have, other parameters, sizes."""
    body = constructor.body
    siblings = [(place, node) for place, node in enumerate(body) if isinstance(node, ast.Assign) and _attribute_of(node.targets[0])]
    first = next((place for place, node in enumerate(body) if _reads_attribute(node, name)), len(body))
    last = min(max((place for place, _ in siblings), default=len(body) - 1) + 1, first)
    parameters = parameters_in(constructor)[1:]

    def change(cost: float, value: ast.expr, place: int = last) -> Change:
        assigned = ast.Assign([ast.Attribute(ast.Name("self", ast.Load()), name, ast.Store())], value)
        if place:
            return Change(cost - BONUS, index, constructor, "body", place - 1, [body[place - 1]], [body[place - 1], assigned])
        return Change(cost - BONUS, index, constructor, "body", 0, [body[0]], [assigned, body[0]])

    if name in parameters:
        yield change(0.1, ast.Name(name, ast.Load()), min(_place_of_copy(body, parameters[: parameters.index(name)]), first))
    for rank, (place, node) in enumerate(reversed(siblings)):
        other = _attribute_of(node.targets[0]) or ""
        copied = renamed(node.value, other, name)
        yield change(0.2 + 0.02 * rank, copied, min(place + 1, first))
        for value in _with_other_sizes(copied, parameters):
            yield change(0.4 + 0.02 * rank, value, min(place + 1, first))
    sizes = [each for each, seen in context.names.variables.items() if seen.kind == "int"] or parameters
    for each in parameters:
        yield change(0.6, ast.Name(each, ast.Load()))
    for text in table()["attributes"]:
        if not any(word in name.lower() for word in text["words"]):
            continue
        for one, other in itertools.product(sizes, sizes) if "M" in text["value"] else ((each, "") for each in sizes or ["1"]):
            if one != other:
                yield change(0.6, parsed(text["value"], {"N": ast.Name(one, ast.Load()), "M": ast.Name(other, ast.Load())}))
    for one, other in itertools.permutations(sizes, 2):
        yield change(0.8, parsed(f"{one} // {other}", {}))
    yield from (change(0.9, value) for value in context.made)
    yield from (change(1.0, ast.Constant(value)) for value in (None, *EPSILONS, 0, 1, True, False))


def _place_of_copy(body: Sequence[ast.stmt], earlier: Sequence[str]) -> int:
    """Return the place of a copy of a parameter to an attribute: after those of earlier parameters, or after the call of the base constructor."""
    copies = [place for place, node in enumerate(body) if isinstance(node, ast.Assign) and getattr(node.value, "id", "") in earlier]
    calls = [place for place, node in enumerate(body) if isinstance(node, ast.Expr) and "super()" in ast.unparse(node)]
    return max([*copies, *calls], default=-1) + 1


def _attribute_of(node: ast.expr) -> str | None:
    """Return the name of an attribute of self; None for another expression."""
    return node.attr if is_of_self(node) else None


def _reads_attribute(node: ast.AST, name: str) -> bool:
    return any(
        isinstance(each, ast.expr) and isinstance(getattr(each, "ctx", None), ast.Load) and _attribute_of(each) == name
        for each in ast.walk(node)
    )


def _with_other_sizes(value: ast.expr, parameters: Sequence[str]) -> Iterator[ast.expr]:
    """Yield a call with its first operands exchanged, and with parameters in place of each of them."""
    if not isinstance(value, ast.Call) or not value.args:
        return
    rest = value.args[2:]
    if len(value.args) > 1:
        yield ast.Call(value.func, [value.args[1], value.args[0], *rest], value.keywords)
    names = [ast.Name(each, ast.Load()) for each in parameters[:MAX_SIZES]]
    for place, name in itertools.product(range(min(len(value.args), 2)), names):
        yield ast.Call(value.func, [*value.args[:place], name, *value.args[place + 1 :]], value.keywords)


def definitions(index: int, body: Sequence[ast.stmt], parent: ast.AST, name: str, context: Context) -> Iterator[Change]:
    """Yield assignments to a name: after similar ones, or before the first statement of a body that uses it."""
    uses = [place for place, node in enumerate(body) if _reads(node, name)]
    if not uses:
        return
    node = body[uses[0]]
    for place, sibling in enumerate(body):
        for value in _similar(sibling, context):
            after = min(place + 1, uses[0])
            yield Change(0.1, index, parent, "body", after, [body[after]], [_assign(name, value), body[after]])
    for cost, assigned in _assignments(name, body[uses[0] :], context):
        yield Change(cost, index, parent, "body", uses[0], [node], [assigned, node])
    if isinstance(node, ast.For | ast.If | ast.With):
        yield from definitions(index, node.body, node, name, context)


def _assignments(name: str, after: Sequence[ast.stmt], context: Context) -> Iterator[tuple[float, ast.stmt]]:
    method = next((each for each in METHODS if each in name.lower()), None)
    for variable, seen in context.names.variables.items():
        if not seen.is_array:
            continue
        source = ast.Name(variable, ast.Load())
        if method is not None:
            keeps = "keepdim" if context.library == "torch" else "keepdims"
            yield 1.0, _assign(name, parsed(f"E.{method}(-1, {keeps}=True)", {"E": source}))
        for each in context.lacking:
            if seen.digest == each.around:
                yield 1.1, _assign(name, each.made(source))
        shape = ast.Attribute(source, "shape", ast.Load())
        names = _undefined(name, after, context)
        if len(seen.shape) >= len(names) > 1:
            padded = [ast.Name(each, ast.Store()) for each in [*names, *["_"] * (len(seen.shape) - len(names))]]
            yield 1.0, ast.Assign([ast.Tuple(padded, ast.Store())], shape)  # type: ignore[arg-type]
        axes = (-2, -1, *range(len(seen.shape) - 2)) if len(seen.shape) > 1 else (0,)  # the last two are the same without a batch
        for axis in axes:
            yield 1.1, _assign(name, ast.Subscript(shape, literal(axis), ast.Load()))
    yield from ((1.1, _assign(name, value)) for value in context.made)
    yield from ((1.3, _assign(name, value)) for value in _ranges(context))
    for attribute in context.held:
        yield 1.4, _assign(name, ast.Attribute(ast.Name("self", ast.Load()), attribute, ast.Load()))
    for variable in context.names.variables:
        yield 1.5, _assign(name, ast.Name(variable, ast.Load()))
    for empty in (ast.List([], ast.Load()), ast.Dict([], []), ast.Constant(0), ast.Constant(None)):
        yield 1.5, _assign(name, empty)


def _ranges(context: Context) -> Iterator[ast.expr]:
    """Yield the whole numbers up to each size in scope, as a row and as a column."""
    for size in [name for name, seen in context.names.variables.items() if seen.kind == "int"][:MAX_SIZES]:
        for text in ("A.arange(S)", "A.arange(S)[:, None]"):
            yield parsed(text.replace("A.", f"{context.alias}.").replace("S", size), {})


def _similar(node: ast.stmt, context: Context) -> list[ast.expr]:
    """Return the value of an assignment to a name, also with attributes of self that the function does not use in place of the first."""
    if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
        return []
    unused = [parsed(each, {}) for each in sorted(context.unused) if each.startswith("self.")]
    copies = [(other, ast.parse(ast.unparse(node.value), mode="eval").body) for other in unused]
    changed = [_Replacing(other).visit(copied) for other, copied in copies]
    return [*(each for each in changed if ast.dump(each) != ast.dump(node.value)), node.value]


class _Replacing(ast.NodeTransformer):
    """Replacement of the first attribute of self."""

    def __init__(self, other: ast.expr) -> None:
        self.other: ast.expr | None = other

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if is_of_self(node) and self.other is not None:
            other, self.other = self.other, None
            return other
        self.generic_visit(node)
        return node


def _undefined(name: str, after: Sequence[ast.stmt], context: Context) -> list[str]:
    """Return a name and the others without a value that the statements read, in the order of their first use."""
    known = {*context.names.variables, *context.globals, *context.module, "self", *stored_in(*after)}
    ordered = sorted(names_in(ast.Load, *after), key=lambda each: (each.lineno, each.col_offset))
    return list(dict.fromkeys(each.id for each in ordered if each.id == name or each.id not in known))


def _reads(node: ast.AST, name: str) -> bool:
    return any(isinstance(each, ast.Name) and each.id == name and isinstance(each.ctx, ast.Load) for each in ast.walk(node))


def _assign(name: str, value: ast.expr) -> ast.stmt:
    return ast.Assign([ast.Name(name, ast.Store())], value)
