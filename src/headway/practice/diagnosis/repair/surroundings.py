"""Expressions around an expression: what the learner may have left out."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from headway.practice.diagnosis.repair.context import PLAIN, Context, Variant, widths_of
from headway.practice.diagnosis.repair.observation import Seen
from headway.practice.diagnosis.repair.templates import ALIASES, parsed, table

MAX_OTHERS = 8
"""Names, masks and sizes that are combined with one expression."""
OF_SCORES, OF_WIDTH = r"(?i)score|\bdot|att|energ|sim|logit|matmul|einsum|@|prod", 1.3
"""Pattern of an expression that may be scores, and the cost of their division by the root of a width in scope."""
OF_PLACES = 0.5
"""Cost of the elements of an array that nothing reads at the places that a program returns, such as the tokens of ranks."""


def around(node: ast.expr, own: Seen | None, context: Context) -> Iterator[Variant]:
    """Yield expressions that contain an expression: what the learner may have left out around it.

    own   what is known of its value
    """
    alias = ALIASES.get(context.library, "np")

    def made(text: str, **parts: str) -> ast.expr:
        for hole, name in parts.items():
            text = text.replace(hole, name)
        return parsed(text.replace(f"{alias}.", f"{context.alias}."), {"E": node})

    if isinstance(node, ast.Name) and own is not None and not own.is_array and own.kind not in ("int", "float", "bool", "str"):
        yield from ((1.4, made(f"{name}(E)")) for name in context.classes[:MAX_OTHERS])  # a part that a constructor makes of its settings
    if own is not None and (len(own.shape) > 2 or own.kind not in PLAIN):
        for idiom in () if context.library != "numpy" and (own.is_array or own.kind == "callable") else context.idioms:
            assert isinstance(idiom.func, ast.Attribute)
            yield 1.6, ast.Call(ast.Attribute(node, idiom.func.attr, ast.Load()), idiom.args, [])
    if own is not None and own.kind not in ("int", "float") and not own.is_array:
        if own.kind in ("list", "tuple", "str", "dict"):
            yield 1.5, made("len(E)")
        if own.kind in ("list", "tuple", "Size"):
            yield from ((1.5, made(f"E[{index}]")) for index in (0, 1, -1, -2, 2))
        if own.kind in ("list", "tuple"):
            yield from ((1.7, made(text)) for text in table()["wraps"]["list"])
            yield from ((1.5, made(text)) for text in ("E[1:]", "E[:-1]"))
            yield from ((1.6, made(text)) for text in table()["joins"].get(context.library, ()))
        return
    for each in context.lacking:
        if own is not None and own.digest == each.around:
            new = each.made(node)
            yield 1.25, new
            optional = sorted(context.optional & (_names_of(new) - _names_of(node)))
            if optional:
                yield 1.2, parsed("N if M is not None else E", {"N": new, "M": ast.Name(optional[0], ast.Load()), "E": node})
    if own is not None and own.kind == "complex array":
        yield from ((1.4, made(text)) for text in table()["wraps"]["complex_torch" if context.library == "torch" else "complex_numpy"])
    for text in table()["wraps"]["any"]:
        yield 2.2, made(text)
    if own is not None and not own.is_array:
        if own.kind == "int" and not isinstance(node, ast.Constant):
            yield from ((1.6, made(text)) for text in ("E ** 0.5", "E ** -0.5"))
            yield from ((1.7, made(text)) for text in ("3 * E", "4 * E"))  # query, key and value in one, and a wider hidden layer
        for text in table()["wraps"]["number"]:
            yield 2.3, made(text)
        is_raising = id(node) in context.raising and own.kind == "int"
        for name, _ in [*_others(context, "number")][:MAX_OTHERS]:
            for text in table()["combinations"]["number"]:
                if "**" in text and own.kind == "int":  # a size: the array would be too large
                    continue
                is_size_of_head = text == "E // S" and own.kind == "int" and "head" in name.lower()
                yield 1.0 if is_size_of_head else 1.5 if name in context.unused or is_raising else 2.4, made(text, S=name)
        return
    if own is None or own.kind == "bool array":
        yield 1.2, ast.UnaryOp(ast.Invert(), node)
    if own is not None and own.kind == "float array" and len(own.shape) > 1 and re.search(OF_SCORES, ast.unparse(node)):
        yield from ((OF_WIDTH, made(f"E / {name}.shape[-1] ** 0.5")) for name in widths_of(context).values())
    yield from ((0.9, made(f"self.{name}(E)")) for name in context.methods[:MAX_OTHERS])
    yield from ((1.6, made(f"{name}(E)")) for name in context.functions[:MAX_OTHERS])
    for text in table()["wraps"].get(context.library, table()["wraps"]["numpy"]):
        is_transpose = own is not None and len(own.shape) > 2 and ("transpose" in text or "swapaxes" in text)  # of heads, before or after
        yield 1.7 if is_transpose else 2.3, made(text)
    for name in sorted(each for each in context.unused if context.known.get(each, Seen("")).kind == "callable"):
        yield 1.4, parsed(f"{name}(E)", {"E": node})
    for other in context.own:
        if other is not node and not _contains(node, other):
            for operator in (ast.Mult(), ast.Add(), ast.Sub(), ast.Div()):
                yield 2.6, ast.BinOp(node, operator, other)
    combinations = table()["combinations"]
    for name, seen in [*_others(context, "array")][:MAX_OTHERS]:
        is_near = own is None or seen.shape == own.shape or seen.shape == own.shape[-len(seen.shape) :]
        is_residual = own is not None and seen.shape == own.shape and len(own.shape) > 1 and "." not in name
        for text in combinations["array"]:
            usual = 1.3 if name in context.unused else 1.5 if is_residual and text == "E + A" else 2.4
            yield usual + 0.5 * (not is_near), made(text, A=name)
    for name, seen in _others(context, "array"):
        if "mask" in name.lower() or seen.kind == "bool array":
            for text in combinations.get(f"mask_{context.library}", combinations["mask_numpy"]):
                yield 1.2 if name in context.unused else 2.4, made(text, M=name)
    if own is not None and own.kind == "int array":
        for name in sorted(each for each in context.unused if context.known.get(each, Seen("")).is_array):
            yield from (
                (OF_PLACES, made(text, A=name)) for text in table()["places"][context.library if context.library == "torch" else "numpy"]
            )
    if own is not None and isinstance(node, ast.Attribute):
        yield from ((1.5, made(text.replace("S", size))) for text in _crops(own) for size in _lengths(context))
    for name, _ in [*_others(context, "size")][:MAX_OTHERS]:
        for text in combinations["size"]:
            yield 1.3 if name in context.unused else 2.5, made(text, S=name)


def _crops(own: Seen) -> list[str]:
    is_square = len(own.shape) > 1 and own.shape[-1] == own.shape[-2] and own.shape[-1] > 1
    crops: dict[str, list[str]] = table()["crops"]
    return crops["square"] if is_square else crops["any"] if len(own.shape) > 1 else []


def _lengths(context: Context) -> list[str]:
    """Return the sizes in scope that may be a number of positions."""
    known = context.names.variables.items()
    axes = [f"{name}.shape[{axis}]" for name, seen in known if seen.is_array for axis in range(len(seen.shape) - 1)]
    return [*(name for name, seen in known if seen.kind == "int"), *axes][:MAX_OTHERS]


def _names_of(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def _contains(node: ast.expr, other: ast.expr) -> bool:
    return any(each is other for each in ast.walk(node)) or any(each is node for each in ast.walk(other))


def _others(context: Context, kind: str) -> Iterator[tuple[str, Seen]]:
    """Yield names in scope, with attributes of self: arrays, numbers, or sizes: numbers and the last axis of each array."""
    ordered = sorted(context.known.items(), key=lambda each: each[0] not in context.unused)
    if kind == "array":
        yield from ((name, seen) for name, seen in ordered if seen.is_array)
        return
    yield from ((name, seen) for name, seen in ordered if seen.kind in ("int", "float"))
    if kind == "number":
        return
    yield from ((f"{name}.shape[-1]", Seen("int")) for name, seen in ordered if seen.is_array and seen.shape)
