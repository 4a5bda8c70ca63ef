"""Changes of one expression: constants, operators, names, calls and slices."""

from __future__ import annotations

import ast
import builtins
import functools
import itertools
import re
from collections.abc import Iterator, Sequence

from headway.practice.diagnosis.reading.trees import is_of_self, last_name
from headway.practice.diagnosis.repair.context import Context, Variant, is_module, literal, widths_of
from headway.practice.diagnosis.repair.nesting import (
    attending_elsewhere,
    interleaved,
    moved_inside,
    moved_outside,
    power_of_a_term,
    turned_inside_out,
    unstepped,
)
from headway.practice.diagnosis.repair.observation import Seen
from headway.practice.diagnosis.repair.templates import ALIASES, parsed, table
from headway.practice.names import fitting

COMPARISONS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)
MAX_SIZES = 5
"""Numbers in scope that are tried in place of a literal one."""
MAX_ORDERS = 15
"""Pairs of axes that are exchanged on one side of a pattern of einops."""
MAX_OPERANDS = 8
"""Operands that a call may lack."""
EPSILONS = (1e-5, 1e-6, 1e-8, 1e-12, 1e-3)


def variants(node: ast.expr, context: Context) -> Iterator[Variant]:
    """Yield the changes of an expression itself, not of those inside it."""
    seen = context.expressions.get(id(node))
    if isinstance(node, ast.Name | ast.Tuple | ast.List) and (seen is None or not seen.is_array):
        yield from ((1.6, each) for each in context.made)
    if seen is not None and seen.is_array:
        yield from _of_the_same_shape(node, seen, context)
        if id(node) in context.raising:  # its size was meant
            yield from ((1.2, parsed(text, {"E": node})) for text in table()["wraps"]["raising"])
    if isinstance(node, ast.Name | ast.Attribute | ast.Constant) and (larger := context.larger.get(ast.unparse(node))):
        cost = 1.4 if (seen is not None and seen.kind == "int") or isinstance(node, ast.Constant) else 1.6
        yield from ((cost, each) for each in larger if not any(inner is node for inner in ast.walk(each)))
    number = number_of(node)
    if number is not None:
        yield from _numbers(number)
        yield from _sizes(number, context)
        return
    if isinstance(node, ast.Constant):
        yield from _constants(node)
    elif isinstance(node, ast.Name):
        yield from _names(node, context)
    elif isinstance(node, ast.Attribute):
        yield from _attributes(node, context)
    elif isinstance(node, ast.UnaryOp):
        yield 1.2, node.operand
    elif isinstance(node, ast.BinOp):
        yield from _operations(node, context.expressions.get(id(node)))
        yield from ((OF_ROOT, ast.BinOp(each, node.op, node.right)) for each in _widths_under_root(node, context))
        yield from moved_inside(node, context)
        yield from power_of_a_term(node)
    elif isinstance(node, ast.Compare):
        yield from _comparisons(node)
    elif isinstance(node, ast.BoolOp):
        other: ast.boolop = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield 1.2, ast.BoolOp(other, node.values)
        for index in range(len(node.values)):
            rest = node.values[:index] + node.values[index + 1 :]
            yield 1.6, rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest)
    elif isinstance(node, ast.IfExp):
        yield 1.3, ast.IfExp(node.test, node.orelse, node.body)
        yield 1.6, node.body
        yield 1.6, node.orelse
    elif isinstance(node, ast.Subscript):
        yield from _subscripts(node)
    elif isinstance(node, ast.Slice):
        yield from _slices(node)
    elif isinstance(node, ast.Tuple | ast.List):
        yield from _sequences(node)
    elif isinstance(node, ast.Call):
        yield from _calls(node, context)
        yield from ((OF_ROOT, ast.Call(node.func, [each], node.keywords)) for each in _widths_under_root(node, context))


OF_ROOT = 1.0
"""Cost of the width of another array under the root of a scale."""


def _widths_under_root(node: ast.BinOp | ast.Call, context: Context) -> Iterator[ast.expr]:
    """Yield the widths of the arrays in scope, one array of each, for the size under a root: a scale may take the width of the input for a head's."""
    match node:
        case ast.BinOp(size, ast.Pow(), power) if number_of(power) in (0.5, -0.5):
            pass
        case ast.Call(ast.Name(id="sqrt" | "rsqrt") | ast.Attribute(attr="sqrt" | "rsqrt"), [size]):
            pass
        case _:
            return
    seen = context.expressions.get(id(size))
    if seen is None or seen.kind != "int":
        return
    yield from (each for name in widths_of(context).values() if ast.unparse(each := parsed(f"{name}.shape[-1]", {})) != ast.unparse(size))


def _of_the_same_shape(node: ast.expr, seen: Seen, context: Context) -> Iterator[Variant]:
    """Yield the variables, and the elements and fields that the program reads, with arrays of the same kind and shape in place of one of these."""
    if not isinstance(node, ast.Name | ast.Attribute | ast.Subscript):
        return
    text = ast.unparse(node)
    names = (
        []
        if isinstance(node, ast.Name)
        else [ast.Name(name, ast.Load()) for name, each in context.names.variables.items() if _is_alike(each, seen)]
    )
    read = [each for each in context.own if isinstance(each, ast.Subscript | ast.Attribute)]
    read = [each for each in read if _is_alike(context.expressions.get(id(each)), seen)]
    yield from ((1.5, each) for each in names)
    yield from ((1.6, each) for each in read if ast.unparse(each) != text and not any(inner is node for inner in ast.walk(each)))


def _is_alike(one: Seen | None, other: Seen) -> bool:
    return one is not None and (one.kind, one.shape) == (other.kind, other.shape)


LEAST_HIDING = 100
"""Size from which a negative number, or its fourth power from which a positive one, hides positions from a softmax."""


def number_of(node: ast.AST) -> float | int | None:
    """Return the value of a number, with its sign; None for anything else, and for True and False."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = number_of(node.operand)
        return None if inner is None else -inner
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return node.value  # type: ignore[return-value]
    return None


def _numbers(number: float) -> Iterator[Variant]:
    if type(number) is int:
        nearest = [-number, number + 1, number - 1] if number >= 0 else [number + 1, number - 1, -number]  # an axis keeps its sign
        usual = [*nearest, *sorted(range(-3, 4), key=lambda each: (each < 0) != (number < 0))]
        values: list[float] = [each for each in usual if abs(number) < 5 or abs(each - number) <= 1 or each in (0, 1, 2)]
        values += [0.5, 4] if number in (0, 1, 2) else [number // 2, number * 2, 4]
    else:
        exact = [-number, number * 2, number / 2, 1 / number if number else 1.0, 10 * number, number / 10, 1 + number, 1 - number]
        values = [float(f"{value:.12g}") for value in exact]
        values += EPSILONS if 0 < abs(number) < 0.1 else []
        values += [0.0, 1.0, 0.5, 2.0, 10000.0, 0.044715]
    is_hiding = number < -LEAST_HIDING or number > LEAST_HIDING**4  # a smaller one would disable the mask
    for place, value in enumerate(dict.fromkeys(values)):
        if value != number and not (is_hiding and abs(value) < LEAST_HIDING):
            yield 1.0 + 0.02 * place, literal(value)
    if number == 1:
        yield 1.6, ast.Constant(None)
    if number in (0, 1, -1):  # the start of a search for the smallest or the largest
        yield from ((1.7, parsed(text, {})) for text in ("float('inf')", "-float('inf')"))
    if number in (-1, -2):
        yield 1.5, ast.Tuple([literal(-2), literal(-1)], ast.Load())


def _sizes(number: float, context: Context) -> Iterator[Variant]:
    """Yield the numbers in scope in place of a literal one, their halves and multiples, and squares of arrays."""
    known = context.known
    if number == 1:
        yield from ((1.7, parsed(f"1 - {name}", {})) for name in [name for name, seen in known.items() if seen.kind == "float"][:MAX_SIZES])
    for name in [name for name, seen in known.items() if seen.kind == type(number).__name__][:MAX_SIZES]:
        yield 1.7, parsed(name, {})
        if type(number) is int:
            yield 1.8, ast.BinOp(literal(number), ast.Mult(), parsed(name, {}))
            yield 1.9, parsed(f"{name} // 2", {})
    if number == 2:
        yield from ((1.7, parsed(f"{name} ** 2", {})) for name, seen in context.names.variables.items() if seen.kind == "float array")


def _constants(node: ast.Constant) -> Iterator[Variant]:
    if isinstance(node.value, bool):
        yield 0.9, ast.Constant(not node.value)
    elif node.value is None:
        for value in (1, -1, 0, True):
            yield 1.6, literal(value)
    elif isinstance(node.value, str):
        yield from ((1.2, ast.Constant(text)) for text in _texts(node.value))


def _texts(text: str) -> Iterator[str]:
    """Yield subscripts of einsum and patterns of einops with two axes exchanged on one side, and infinities with the other sign."""
    if text.strip("+-") in ("inf", "Inf", "infinity"):
        yield text.strip("-") if text.startswith("-") else f"-{text}"
    if "->" in text and "," in text:
        parts = text.replace("->", ",->,").split(",")
        for index, part in enumerate(parts):
            for one, other in itertools.combinations([place for place, letter in enumerate(part) if letter.isalpha()], 2):
                letters = list(part)
                letters[one], letters[other] = letters[other], letters[one]
                yield ",".join([*parts[:index], "".join(letters), *parts[index + 1 :]]).replace(",->,", "->")
    elif "->" in text:
        sides = text.split("->")
        for index, side in reversed([*enumerate(sides)]):
            axes = list(re.finditer(r"\w+", side))
            for left, right in itertools.islice(itertools.combinations(axes, 2), MAX_ORDERS):
                turned = side[: left.start()] + right[0] + side[left.end() : right.start()] + left[0] + side[right.end() :]
                yield "->".join([*sides[:index], turned, *sides[index + 1 :]])
    if text in ("sum", "mean", "none"):
        yield from ({"sum", "mean", "none"} - {text})


def _names(node: ast.Name, context: Context) -> Iterator[Variant]:
    known = context.names.variables
    own = context.expressions.get(id(node)) or known.get(node.id)
    for name, seen in known.items():
        if name != node.id:
            is_kin = own is None or id(node) in context.raising or seen.kind == own.kind or {seen.kind, own.kind} <= {"int", "float"}
            is_near = node.id == context.undefined or (own is not None and seen.shape == own.shape)
            if id(node) in context.misreturned:
                is_kin = is_near = seen.is_array
            doubt = 0.3 * (not is_near) + 0.4 * (not is_kin)  # a name that nothing reads was meant, whatever its kind
            yield 1.1 + 0.4 * doubt if name in context.unused else 1.5 + doubt, ast.Name(name, ast.Load())
    if own is not None and own.kind == "int":
        for name in [name for name, seen in context.held.items() if seen.kind == "int"][:MAX_SIZES]:
            yield 1.4 if f"self.{name}" in context.unused else 1.6, parsed(f"self.{name}", {})
    others = context.globals
    if node.id == context.undefined:
        yield from ((1.0, ast.Name(name, ast.Load())) for name in context.functions)
        yield 1.0, parsed(f"{context.alias}.{node.id}", {})
        others = [name for name in others if not _are_apart(name, node.id)]
    yield from ((2.0, ast.Name(name, ast.Load())) for name in others if name != node.id and name not in known)


def _are_apart(one: str, other: str) -> bool:
    """Return True for the names of two different parts: neither was meant by the other."""
    parts = [{each for group in fitting(name) for each in group} for name in (one, other)]
    return all(parts) and not parts[0] & parts[1]


def _attributes(node: ast.Attribute, context: Context) -> Iterator[Variant]:
    if isinstance(node.value, ast.Name) and node.value.id == "self":
        own = context.held.get(node.attr)
        for name, seen in context.held.items():
            if name != node.attr:
                is_kin = own is None or id(node) in context.raising or seen.kind == own.kind
                cost = (0.9 if is_kin else 1.2) if f"self.{name}" in context.unused else 1.4
                yield cost + 0.2 * (own is None or seen.shape != own.shape) + 0.4 * (not is_kin), ast.Attribute(node.value, name, node.ctx)
        return
    own = context.settings.get(ast.unparse(node)) if context.settings else None
    if own is not None:
        yield from (
            (1.4, parsed(text, {})) for text, seen in context.settings.items() if seen.kind == own.kind and text != ast.unparse(node)
        )
    for name in neighbours(node.attr):
        yield 1.25, ast.Attribute(node.value, name, node.ctx)
    if node.attr in ("T", "mT", "H"):
        yield 1.2, node.value
    elif node.attr == "inf":
        yield 1.1, ast.UnaryOp(ast.USub(), node)
    elif node.attr in ("shape", "dtype", "device", "ndim"):
        if node.attr == "shape":
            yield 1.5, ast.Subscript(node, ast.Slice(None, literal(-1)), ast.Load())
        for name, seen in context.names.variables.items():
            if seen.is_array and not (isinstance(node.value, ast.Name) and node.value.id == name):
                yield 1.6, ast.Attribute(ast.Name(name, ast.Load()), node.attr, node.ctx)


@functools.cache
def neighbours(name: str) -> tuple[str, ...]:
    """Return the functions that are confused with one."""
    return tuple(dict.fromkeys(other for group in table()["groups"] if name in group for other in group if other != name))


def _operations(node: ast.BinOp, own: Seen | None) -> Iterator[Variant]:
    usual: dict[type[ast.operator], list[type[ast.operator]]] = {
        ast.Add: [ast.Sub, ast.Mult, ast.Div],
        ast.Sub: [ast.Add, ast.Mult, ast.Div],
        ast.Mult: [ast.Div, ast.Add, ast.FloorDiv, ast.MatMult, ast.Pow, ast.Sub],
        ast.Div: [ast.Mult, ast.FloorDiv, ast.Add, ast.Sub],
        ast.MatMult: [ast.Mult],
        ast.FloorDiv: [ast.Div, ast.Mod, ast.Mult],
        ast.Pow: [ast.Mult, ast.Div, ast.Add],
        ast.Mod: [ast.FloorDiv],
    }
    match node:
        case ast.BinOp(
            ast.BinOp(a, ast.Mult(), b), ast.Add() | ast.Sub(), ast.BinOp(c, ast.Mult(), d)
        ):  # a rotation with sine and cosine exchanged
            yield 1.25, ast.BinOp(ast.BinOp(a, ast.Mult(), d), node.op, ast.BinOp(c, ast.Mult(), b))
        case ast.BinOp(ast.BinOp(a, ast.Div(), ast.Call(root, [b], [])), ast.Add(), c):  # an eps after the parenthesis of the root
            yield 1.25, ast.BinOp(a, ast.Div(), ast.Call(root, [ast.BinOp(b, ast.Add(), c)], []))
        case ast.BinOp(ast.List([ast.Call() | ast.BinOp(ast.List(), ast.Mult()) | ast.List() as made]), ast.Mult(), number):
            # the same layer, or the same row, in every place
            of_range = ast.comprehension(ast.Name("_", ast.Store()), parsed("range(N)", {"N": number}), [], 0)
            yield 0.5, ast.ListComp(made, [of_range])
    is_whole = own is not None and own.kind == "int"
    for operator in usual.get(type(node.op), []):
        if is_whole and operator is ast.Pow:  # a size: the array would be too large
            continue
        yield 1.2, ast.BinOp(node.left, operator(), node.right)
    if not isinstance(node.op, ast.Add | ast.Mult) or (own is not None and own.kind in ("tuple", "list", "str", "bytes")):
        yield 1.2, ast.BinOp(node.right, node.op, node.left)
    elif isinstance(node.op, ast.Add):
        yield 1.8, ast.BinOp(node.right, ast.Sub(), node.left)
    added = number_of(node.right)
    is_sum = isinstance(node.op, ast.Add | ast.Sub)
    is_tiny = is_sum and added is not None and abs(added) < 0.1
    if not _is_masking(node.right):  # without its mask a program follows another convention
        yield 0.95 if is_tiny else 1.03 if is_sum and added == 1 else 1.5, node.left  # 1.04 is the cost of 0 in place of 1
    if not _is_masking(node.left):
        yield 1.6, node.right
    if isinstance(node.op, ast.MatMult):
        for left, right in ((".T", ""), ("", ".T"), (".swapaxes(-1, -2)", ""), ("", ".swapaxes(-1, -2)")):
            yield 1.4, parsed(f"L{left} @ R{right}", {"L": node.left, "R": node.right})
    # (a + b) / c written as a + b / c, and a / b * c written as a / (b * c)
    if isinstance(node.right, ast.BinOp):
        yield 1.5, ast.BinOp(ast.BinOp(node.left, node.op, node.right.left), node.right.op, node.right.right)
    if isinstance(node.left, ast.BinOp):
        yield 1.5, ast.BinOp(node.left.left, node.left.op, ast.BinOp(node.left.right, node.op, node.right))


def _is_masking(term: ast.expr) -> bool:
    names = [each.id if isinstance(each, ast.Name) else each.attr for each in ast.walk(term) if isinstance(each, ast.Name | ast.Attribute)]
    return any(re.search("mask|causal|tri[lu]", name.lower()) for name in names)


def _comparisons(node: ast.Compare) -> Iterator[Variant]:
    if len(node.ops) != 1:
        return
    for operator in COMPARISONS:
        if isinstance(node.ops[0], COMPARISONS) and not isinstance(node.ops[0], operator):
            yield 1.1, ast.Compare(node.left, [operator()], node.comparators)
    opposite: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In}
    if type(node.ops[0]) in opposite:
        yield 1.1, ast.Compare(node.left, [opposite[type(node.ops[0])]()], node.comparators)


def _subscripts(node: ast.Subscript) -> Iterator[Variant]:
    """Yield the whole in place of an element, and all elements before an index: `table[:n]` for `table[n]` and for `table[n - 1]`."""
    yield 1.8, node.value
    match node.slice:
        case ast.BinOp(number, ast.Sub(), ast.Constant(1)) | (ast.Name() | ast.Call() | ast.Attribute() | ast.Subscript() as number):
            if isinstance(node.ctx, ast.Load):
                yield 1.6, ast.Subscript(node.value, ast.Slice(None, number), ast.Load())


def _slices(node: ast.Slice) -> Iterator[Variant]:
    lower, upper, step = node.lower, node.upper, node.step
    if lower is not None or upper is not None:
        yield 1.2, ast.Slice(upper, lower, step)
        if lower is not None and upper is not None:  # the part after this one
            yield 1.25, ast.Slice(upper, None, step)
        yield 1.4, ast.Slice(None, upper, step)
        yield 1.4, ast.Slice(lower, None, step)
    if lower is None:
        yield 1.3, ast.Slice(ast.Constant(1), upper, step)
    if upper is None:
        yield 1.3, ast.Slice(lower, literal(-1), step)
    for bound, is_lower in ((lower, True), (upper, False)):
        if bound is None or number_of(bound) is not None:
            continue
        for operator in (ast.Add(), ast.Sub()):
            moved = ast.BinOp(bound, operator, ast.Constant(1))
            yield 1.4, ast.Slice(moved, upper, step) if is_lower else ast.Slice(lower, moved, step)
        yield (
            1.5,
            ast.Slice(ast.UnaryOp(ast.USub(), bound), upper, step) if is_lower else ast.Slice(lower, ast.UnaryOp(ast.USub(), bound), step),
        )
    if isinstance(lower, ast.UnaryOp) and isinstance(lower.op, ast.USub) and upper is None:  # the last n in place of the first n
        yield 1.3, ast.Slice(None, lower.operand, step)
    if lower is None and upper is not None:
        yield 1.5, ast.Slice(ast.UnaryOp(ast.USub(), upper), None, step)
    if step is None:
        yield 1.6, ast.Slice(lower, upper, ast.Constant(2))
        yield 1.6, ast.Slice(lower, upper, literal(-1))
    else:
        yield 1.4, ast.Slice(lower, upper, None)


def _sequences(node: ast.Tuple | ast.List) -> Iterator[Variant]:
    items = node.elts
    orders = (
        itertools.permutations(items)
        if len(items) <= 4
        else (_swapped(items, *pair) for pair in itertools.combinations(range(len(items)), 2))
    )
    for order in itertools.islice(orders, 24):
        if list(order) != items:
            yield 1.4, type(node)(list(order), node.ctx)
    if isinstance(node, ast.Tuple) and len(items) > 1 and all(isinstance(number_of(each), int) for each in items):
        yield from ((1.35, each) for each in items)  # one axis instead of several


def _calls(node: ast.Call, context: Context) -> Iterator[Variant]:
    arguments, keywords = node.args, node.keywords
    name = last_name(node.func)
    if isinstance(node.func, ast.Name):
        for other in neighbours(node.func.id):
            if other in context.globals or hasattr(builtins, other):
                yield 1.25, ast.Call(ast.Name(other, ast.Load()), arguments, keywords)
    if name == "sqrt" and len(arguments) == 1 and id(node) not in context.expressions:  # of a number where it takes an array
        yield 0.9, ast.BinOp(arguments[0], ast.Pow(), ast.Constant(0.5))
    if name in ("max", "min") and len(arguments) == 1 and not keywords and isinstance(arguments[0], ast.Name | ast.Attribute):
        of_counts = ast.keyword("key", ast.Attribute(arguments[0], "get", ast.Load()))
        yield 1.3, ast.Call(node.func, arguments, [of_counts])
    orders = itertools.permutations(arguments) if 2 <= len(arguments) <= 4 else ()
    for order in orders:
        if list(order) != arguments:
            is_swap = sum(one is not other for one, other in zip(order, arguments, strict=True)) == 2
            yield 1.3 if is_swap else 1.7, ast.Call(node.func, list(order), keywords)
    if len(arguments) > 4 and all(isinstance(number_of(each), int) for each in arguments):  # the axes of a permutation
        for first, second in itertools.combinations(range(len(arguments)), 2):
            yield 1.3, ast.Call(node.func, [*_swapped(arguments, first, second)], keywords)
    if name in ("transpose", "swapaxes") and len(arguments) == 2:
        for pair in ((-2, -1), (1, 2), (0, 1), (2, 3), (0, 2), (1, 3)):
            yield 1.3, ast.Call(node.func, [literal(pair[0]), literal(pair[1])], keywords)
    if name in ("tril", "triu") and context.alias and arguments and not isinstance(arguments[0], ast.Call):
        ones = parsed(f"{context.alias}.ones_like(E)", {"E": arguments[0]})
        yield 1.2, ast.Call(node.func, [ones, *arguments[1:]], keywords)  # where the values themselves may be 0
    yield from _wrapped(node, context)
    yield from moved_outside(node, context)
    yield from turned_inside_out(node, context)
    yield from ((1.25, each) for each in interleaved(node, context.alias))
    yield from ((1.3, each) for each in (*attending_elsewhere(node, context), *unstepped(node)))
    for index, keyword in enumerate(keywords):
        yield 1.2 if keyword.arg == "dtype" else 1.4, ast.Call(node.func, arguments, keywords[:index] + keywords[index + 1 :])
    for index in range(1, len(arguments)):
        yield 1.6, ast.Call(node.func, arguments[:index] + arguments[index + 1 :], keywords)
    if name in ("reshape", "view") and not any(number_of(each) == -1 for each in arguments):
        for index in range(len(arguments), -1, -1):
            yield 1.4, ast.Call(node.func, [*arguments[:index], literal(-1), *arguments[index:]], keywords)
            if id(node) not in context.expressions and len(arguments) > 1:  # it raised: a size is wrong
                yield 1.3, ast.Call(node.func, [*arguments[:index], literal(-1), *arguments[index + 1 :]], keywords)
    if name in ("reshape", "view") and len(arguments) == 4:  # heads that are split off in front of the positions
        split = ast.Call(node.func, [arguments[0], arguments[2], arguments[1], arguments[3]], keywords)
        moved = parsed("E.transpose(1, 2)" if context.library == "torch" else "E.swapaxes(1, 2)", {"E": split})
        yield 1.2, moved
    if name in ("reshape", "view"):
        base = (
            node.func.value
            if isinstance(node.func, ast.Attribute) and not is_module(node.func.value, context)
            else (arguments or [node])[0]
        )
        seen = context.expressions.get(id(base))
        if name == "view" and seen is not None and len(seen.shape) > 3:  # heads that are merged without moving their axis
            moved = parsed("E.transpose(1, 2).reshape", {"E": base})
            yield 1.15, ast.Call(moved, arguments, keywords)
        for text in table()["transposes"].get(context.library, ()):
            yield 1.5, parsed(text.replace(f"{ALIASES[context.library]}.", f"{context.alias}."), {"E": base})
    if id(node) not in context.expressions:
        yield from _with_operand(node, context)
    for cost, added in _missing_keywords(name, {keyword.arg for keyword in keywords}, context):
        yield cost, ast.Call(node.func, arguments, [*keywords, *added])
    if arguments and not isinstance(arguments[0], ast.Starred):
        yield 1.5, arguments[0]  # f(x) → x
    if isinstance(node.func, ast.Attribute) and not is_module(node.func.value, context):
        yield 1.4, node.func.value  # x.f() → x
    if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Attribute) and id(node) not in context.expressions:
        yield 1.2, ast.Call(ast.Attribute(ast.Call(node.func.value, [], []), node.func.attr, ast.Load()), arguments, keywords)  # x.f.g()


def _wrapped(node: ast.Call, context: Context) -> Iterator[Variant]:
    """Yield a call of a part as the operand of what the program passes its other parts to, in the next place of a list."""
    if len(node.args) != 1 or node.keywords or not is_of_self(node.func):
        return
    wrappers = {ast.unparse(each.func): each.func for each in context.wrappers}
    for function in wrappers.values():
        if not isinstance(function, ast.Subscript) or not isinstance(function.slice, ast.Constant):
            yield 1.2, ast.Call(function, [node.args[0], node.func], [])
            continue
        used = [number_of(each.slice) for each in wrappers.values() if isinstance(each, ast.Subscript)]
        following = max((int(number) for number in used if number is not None), default=-1) + 1
        yield 1.2, ast.Call(ast.Subscript(function.value, literal(following), ast.Load()), [node.args[0], node.func], [])
        return


def _with_operand(node: ast.Call, context: Context) -> Iterator[Variant]:
    """Yield a call that raised with one operand more: a part of its own operands, or an array in scope."""
    own = [part for each in node.args for part in ast.walk(each) if isinstance(part, ast.Name | ast.Attribute)]
    arrays = [ast.Name(name, ast.Load()) for name, seen in context.names.variables.items() if seen.is_array]
    operands = {ast.unparse(each): each for each in (*own, *arrays)}
    for index in range(len(node.args), -1, -1):
        for place, each in enumerate(itertools.islice(operands.values(), MAX_OPERANDS)):
            yield 1.5 + 0.02 * place, ast.Call(node.func, [*node.args[:index], each, *node.args[index:]], node.keywords)


def _missing_keywords(name: str, present: set[str | None], context: Context) -> Iterator[tuple[float, list[ast.keyword]]]:
    """Yield the keywords that learners forget, those of variables of the same name first, and unused variables under their own names."""
    usual = [[each for each in _keywords(text) if each.arg not in present] for text in table()["keywords"].get(name, ())]
    forgotten = {ast.unparse(ast.Call(ast.Name("f"), [], added)): added for added in usual if added}
    single = {str(added[0].arg) for added in forgotten.values()} & set(context.names.variables)
    for other in sorted(single | {each for each in context.unused if "." not in each and each not in present}):
        yield 1.35, [ast.keyword(other, ast.Name(other, ast.Load()))]
    yield from ((1.4, added) for added in forgotten.values())


@functools.cache
def _keywords(text: str) -> list[ast.keyword]:
    call = ast.parse(f"f({text})", mode="eval").body
    assert isinstance(call, ast.Call)
    return call.keywords


def _swapped(items: Sequence[ast.expr], one: int, other: int) -> tuple[ast.expr, ...]:
    order = list(items)
    order[one], order[other] = order[other], order[one]
    return tuple(order)
