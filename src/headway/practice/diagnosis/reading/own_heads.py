"""A number of heads that a constructor fixes, `self.heads = 8`, as the default of a parameter: the widths of probes need not be divisible by it."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection
from dataclasses import dataclass

from headway.practice.diagnosis.reading.trees import constructor_in, is_of_self, names_in

OF_HEADS = r"(?!.*(kv|group))((num|n|nb|number_of|no_of)_?)?(attention_|attn_|q_|query_)?heads?|h|nhead"
"""Pattern of the names of attributes for the number of heads of queries."""


def with_heads_as_parameters(tree: ast.Module, classes: Collection[str] | None = None) -> ast.Module:
    """Return a file's tree, in which constructors that fix a number of heads take it as a keyword with this default. The tree is changed.

    classes   names of the classes that fix one; None to look in the tree
    """
    names = classes_with_own_heads(tree.body) if classes is None else classes
    for node in tree.body:
        fixed = _fixed_heads(node) if isinstance(node, ast.ClassDef) and node.name in names else None
        if fixed is not None:
            _take_heads(fixed)
    return tree


def classes_with_own_heads(body: Collection[ast.stmt]) -> set[str]:
    """Return the names of the classes that fix a number of heads, which they write once or divide by."""
    found = ((each, _fixed_heads(each)) for each in body if isinstance(each, ast.ClassDef))
    return {each.name for each, fixed in found if fixed is not None and _is_single(each, fixed)}


@dataclass(frozen=True)
class _Fixed:
    """Statement of a constructor that sets an attribute for a number of heads to a number above 1."""

    constructor: ast.FunctionDef
    statement: ast.Assign
    attribute: str
    number: ast.Constant

    @property
    def divisions(self) -> list[ast.BinOp]:
        """The divisions of the constructor by the number."""
        divided = (each for each in ast.walk(self.constructor) if isinstance(each, ast.BinOp) and isinstance(each.op, DIVIDES))
        return [each for each in divided if isinstance(each.right, ast.Constant) and each.right.value == self.number.value]


DIVIDES = (ast.FloorDiv, ast.Mod, ast.Div)


def _fixed_heads(node: ast.ClassDef) -> _Fixed | None:
    """Return the number of heads that a constructor fixes; None without one."""
    constructor = constructor_in(node)
    for each in [] if constructor is None else constructor.body:
        match each:
            case ast.Assign([ast.Attribute(attr=name) as target], ast.Constant(value) as number) if _is_heads(target):
                return _Fixed(constructor, each, name, number) if constructor and type(value) is int and value > 1 else None
    return None


def _is_heads(target: ast.Attribute) -> bool:
    return is_of_self(target) and re.fullmatch(OF_HEADS, target.attr) is not None


def _is_single(node: ast.ClassDef, fixed: _Fixed) -> bool:
    """Return True if a class has the number nowhere else but as a divisor, and no parameter or variable under the attribute's name."""
    numbers = [each for each in ast.walk(node) if isinstance(each, ast.Constant) and each.value == fixed.number.value]
    if fixed.constructor.args.kwarg is not None or len(numbers) != 1 + len(fixed.divisions):
        return False
    taken = {each.arg for each in ast.walk(node) if isinstance(each, ast.arg)} | {each.id for each in names_in(ast.Store, node)}
    return fixed.attribute not in taken


def _take_heads(fixed: _Fixed) -> None:
    """Let a constructor take the number of heads that it fixes."""
    arguments, divisions = fixed.constructor.args, fixed.divisions
    arguments.kwonlyargs.append(ast.copy_location(ast.arg(fixed.attribute), fixed.statement))
    arguments.kw_defaults.append(fixed.number)
    for division in divisions:
        division.right = ast.copy_location(ast.Name(fixed.attribute, ast.Load()), division.right)
    fixed.statement.value = ast.copy_location(ast.Name(fixed.attribute, ast.Load()), fixed.number)
