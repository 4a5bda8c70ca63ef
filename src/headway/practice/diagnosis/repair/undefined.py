"""Assignments to a name that a program uses and does not define."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from headway.practice.diagnosis.repair.expressions import MAX_SIZES, Context, literal
from headway.practice.diagnosis.repair.program import Change
from headway.practice.diagnosis.repair.templates import parsed
from headway.practice.outputs import Raised

METHODS = ("std", "var", "mean", "max", "min", "sum")
"""Reductions after which people name their results."""


def undefined_name(answer: object) -> str | None:
    """Return the name for which an output is a NameError; None for anything else."""
    if not isinstance(answer, Raised) or not isinstance(answer.error, NameError):
        return None
    found = re.search(r"'(\w+)'", str(answer.error))
    return found[1] if found else None


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
        if isinstance(node.value, ast.Name) and node.value.id == "self" and self.other is not None:
            other, self.other = self.other, None
            return other
        self.generic_visit(node)
        return node


def _undefined(name: str, after: Sequence[ast.stmt], context: Context) -> list[str]:
    """Return a name and the others without a value that the statements read, in the order of their first use."""
    read = [each for node in after for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)]
    stored = {each.id for node in after for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    known = {*context.names.variables, *context.globals, *context.module, "self"} | stored
    ordered = sorted(read, key=lambda each: (each.lineno, each.col_offset))
    return list(dict.fromkeys(each.id for each in ordered if each.id == name or each.id not in known))


def _reads(node: ast.AST, name: str) -> bool:
    return any(isinstance(each, ast.Name) and each.id == name and isinstance(each.ctx, ast.Load) for each in ast.walk(node))


def _assign(name: str, value: ast.expr) -> ast.stmt:
    return ast.Assign([ast.Name(name, ast.Store())], value)
