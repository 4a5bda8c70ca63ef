"""Calls and operations in another order: a sum inside the call instead of around it, copies next to each other instead of one after another."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Sequence

from headway.practice.diagnosis.reading.trees import last_name
from headway.practice.diagnosis.repair.context import Context, Variant, is_module, literal
from headway.practice.diagnosis.repair.program import Change

MAX_UNUSED = 4
"""Names that nothing reads and that a call may lack."""


def moved_inside(node: ast.BinOp, context: Context) -> Iterator[Variant]:
    """Yield an operation with the result of a call as one with the call's operand: √var + eps as √(var + eps), x + norm(y) as norm(x + y)."""
    if not isinstance(node.op, ast.Add | ast.Sub):
        return
    if isinstance(node.left, ast.BinOp) and isinstance(node.left.op, ast.Pow):
        yield 1.3, ast.BinOp(ast.BinOp(node.left.left, node.op, node.right), node.left.op, node.left.right)
    elif (operand := _operand_of(node.left, context)) is not None:
        yield 1.3, _called_with(node.left, ast.BinOp(operand, node.op, node.right), context)
    if (operand := _operand_of(node.right, context)) is not None:
        yield 1.3, _called_with(node.right, ast.BinOp(node.left, node.op, operand), context)
        if (inner := _operand_of(operand, context)) is not None:  # x + dropout(norm(y)) as norm(x + dropout(y))
            yield 1.35, _called_with(operand, ast.BinOp(node.left, node.op, _called_with(node.right, inner, context)), context)


def moved_outside(node: ast.Call, context: Context) -> Iterator[Variant]:
    """Yield a call of a sum or product as one with the call of an operand: norm(x + y) as x + norm(y), power(x + a * x) as x + a * power(x).

    The call may also be that of the operand of a call, as in a layer with its norm before it: norm(x + layer(x)) as x + layer(norm(x)).
    """
    operand = _operand_of(node, context)
    if not isinstance(operand, ast.BinOp) or not isinstance(operand.op, ast.Add | ast.Sub | ast.Mult | ast.Div):
        return
    yield 1.5, ast.BinOp(operand.left, operand.op, _called_with(node, operand.right, context))
    yield 1.5, ast.BinOp(_called_with(node, operand.left, context), operand.op, operand.right)
    last = operand.right
    if isinstance(operand.op, ast.Add) and (inner := _operand_of(last, context)) is not None:
        yield 1.4, ast.BinOp(operand.left, operand.op, _called_with(last, _called_with(node, inner, context), context))
    if isinstance(last, ast.BinOp) and isinstance(last.op, ast.Mult):
        yield 1.6, ast.BinOp(operand.left, operand.op, ast.BinOp(last.left, last.op, _called_with(node, last.right, context)))


def power_of_a_term(node: ast.BinOp) -> Iterator[Variant]:
    """Yield a power of a sum as a sum with the power of its last operand: (x + a * x) ** 3 as x + a * x ** 3."""
    total = node.left
    if not isinstance(node.op, ast.Pow) or not isinstance(total, ast.BinOp) or not isinstance(total.op, ast.Add | ast.Sub):
        return
    last = total.right
    if isinstance(last, ast.BinOp) and isinstance(last.op, ast.Mult):
        yield 1.3, ast.BinOp(total.left, total.op, ast.BinOp(last.left, last.op, ast.BinOp(last.right, node.op, node.right)))
    yield 1.4, ast.BinOp(total.left, total.op, ast.BinOp(last, node.op, node.right))


def turned_inside_out(node: ast.Call, context: Context) -> Iterator[Variant]:
    """Yield a call of a call with the two exchanged: norm(layer(x)) as layer(norm(x)), square(mean(x)) as mean(square(x))."""
    inner = _operand_of(node, context)
    operand = None if inner is None else _operand_of(inner, context)
    if inner is not None and operand is not None:
        yield 1.35, _called_with(inner, _called_with(node, operand, context), context)
    each = node.args[0] if node.args else None
    if isinstance(each, ast.GeneratorExp | ast.ListComp):
        yield from _of_all(node, each, context)


def _of_all(node: ast.Call, each: ast.GeneratorExp | ast.ListComp, context: Context) -> Iterator[Variant]:
    """Yield a call of what is computed of each element as the same computed once, of its result: sum(sqrt(x) for x in xs) as sqrt(sum(x for x in xs))."""

    def whole(element: ast.expr) -> ast.expr:
        return ast.Call(node.func, [type(each)(element, each.generators), *node.args[1:]], node.keywords)

    if (operand := _operand_of(each.elt, context)) is not None:
        yield 0.9, _called_with(each.elt, whole(operand), context)
    if isinstance(each.elt, ast.BinOp) and isinstance(each.elt.op, ast.Pow):
        yield 0.9, ast.BinOp(whole(each.elt.left), each.elt.op, each.elt.right)


def is_reordered(change: Change) -> bool:
    """Return True for a change that moves a term into a call, or out of one."""
    match change.old, change.new:
        case (ast.BinOp() as whole, ast.Call() as call) | (ast.Call() as call, ast.BinOp() as whole):
            return any(isinstance(each, ast.Call) and each.func is call.func for each in (whole.left, whole.right))
    return False


def _operand_of(node: ast.expr, context: Context) -> ast.expr | None:
    """Return the receiver of a method, or the first operand of a function."""
    if not isinstance(node, ast.Call):
        return None
    if isinstance(node.func, ast.Attribute) and not is_module(node.func.value, context):
        return node.func.value
    return node.args[0] if node.args and not isinstance(node.args[0], ast.Starred) else None


def _called_with(node: ast.expr, operand: ast.expr, context: Context) -> ast.expr:
    """Return a call with another operand of this kind."""
    assert isinstance(node, ast.Call)
    if isinstance(node.func, ast.Attribute) and not is_module(node.func.value, context):
        return ast.Call(ast.Attribute(operand, node.func.attr, ast.Load()), node.args, node.keywords)
    return ast.Call(node.func, [operand, *node.args[1:]], node.keywords)


def interleaved(node: ast.Call, alias: str) -> Iterator[ast.expr]:
    """Yield copies of an array along one axis as copies of each of its parts: 0, 1, 0, 1 as 0, 0, 1, 1.

    alias   name under which the file imports its array library
    """
    name = last_name(node.func)
    if not isinstance(node.func, ast.Attribute) or not node.args:
        return
    is_function = isinstance(node.func.value, ast.Name) and node.func.value.id == alias
    if name in ("cat", "concatenate", "concat") and isinstance(node.args[0], ast.BinOp):
        yield from _of_joined(node, node.args[0], alias)
        return
    if name not in ("repeat", "tile"):
        return
    source, rest = (node.args[0], node.args[1:]) if is_function else (node.func.value, node.args)
    copies = rest[0].elts if len(rest) == 1 and isinstance(rest[0], ast.Tuple | ast.List) else rest
    places = [place for place, each in enumerate(copies) if not (isinstance(each, ast.Constant) and each.value == 1)]
    if len(places) == 1 and len(copies) > 1:
        yield _repeated(source, copies[places[0]], literal(places[0]), alias)


def _of_joined(node: ast.Call, listed: ast.BinOp, alias: str) -> Iterator[ast.expr]:
    """Yield the repetition for `cat([x] * n, axis)`."""
    if not isinstance(listed.op, ast.Mult) or not isinstance(listed.left, ast.List | ast.Tuple) or len(listed.left.elts) != 1:
        return
    axis = next((each.value for each in node.keywords if each.arg in ("dim", "axis")), node.args[1] if len(node.args) > 1 else literal(0))
    yield _repeated(listed.left.elts[0], listed.right, axis, alias)


def _repeated(source: ast.expr, count: ast.expr, axis: ast.expr, alias: str) -> ast.expr:
    if alias == "torch":
        return ast.Call(ast.Attribute(source, "repeat_interleave", ast.Load()), [count], [ast.keyword("dim", axis)])
    return ast.Call(ast.Attribute(ast.Name(alias, ast.Load()), "repeat", ast.Load()), [source, count], [ast.keyword("axis", axis)])


def unstepped(node: ast.Call) -> Iterator[ast.expr]:
    """Yield a call without the steps of all slices among its operands: zip(x[::2], x[1::2]) as zip(x, x[1:])."""
    slices = [each.slice if isinstance(each, ast.Subscript) else None for each in node.args]
    if sum(isinstance(each, ast.Slice) and each.step is not None for each in slices) > 1:
        yield ast.Call(node.func, [_without_step(each) for each in node.args], node.keywords)


def _without_step(node: ast.expr) -> ast.expr:
    if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Slice) or node.slice.step is None:
        return node
    whole = node.slice.lower is None and node.slice.upper is None
    return node.value if whole else ast.Subscript(node.value, ast.Slice(node.slice.lower, node.slice.upper), ast.Load())


def attending_elsewhere(node: ast.Call, context: Context) -> Iterator[ast.expr]:
    """Yield a call that is given one array several times with an unused one in place of all but the first: f(x, x, x, m) as f(x, y, y, m).

    Another unused name may also take the place of one of the other operands, such as a mask.
    """
    names = [each.id if isinstance(each, ast.Name) else "" for each in node.args]
    again = [place for place, name in enumerate(names) if name and name in names[:place]]
    unused = [each for each in sorted(context.unused) if "." not in each][:MAX_UNUSED]
    if not again or not unused:
        return
    others = [place for place, name in enumerate(names) if names.count(name) == 1 and name]
    for other in unused:
        changed = _with_names(node.args, dict.fromkeys(again, other))
        yield ast.Call(node.func, changed, node.keywords)
        for place, mask in itertools.product(others, [each for each in unused if each != other]):
            yield ast.Call(node.func, _with_names(changed, {place: mask}), node.keywords)


def _with_names(operands: Sequence[ast.expr], names: dict[int, str]) -> list[ast.expr]:
    return [ast.Name(names[place], ast.Load()) if place in names else each for place, each in enumerate(operands)]
