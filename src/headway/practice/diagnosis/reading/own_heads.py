"""A number of heads that a constructor fixes, `self.heads = 8`, as the default of a parameter: the widths of probes need not be divisible by it."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection

from headway.practice.diagnosis.reading.trees import constructor_in, is_of_self, names_in

OF_HEADS = r"(?!.*(kv|group))((num|n|nb|number_of|no_of)_?)?(attention_|attn_|q_|query_)?heads?|h|nhead"
"""Pattern of the names of attributes for the number of heads of queries."""


def with_heads_as_parameters(tree: ast.Module, classes: Collection[str] | None = None) -> ast.Module:
    """Return a file's tree, in which constructors that fix a number of heads take it as a keyword with this default. The tree is changed.

    classes   names of the classes that fix one; None to look in the tree
    """
    names = classes_with_own_heads(tree.body) if classes is None else classes
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name in names:
            _take_heads(node)
    return tree


def classes_with_own_heads(body: Collection[ast.stmt]) -> set[str]:
    """Return the names of the classes that fix a number of heads, which they write once or divide by."""
    found = ((each, _fixed_heads(each)) for each in body if isinstance(each, ast.ClassDef))
    return {each.name for each, fixed in found if fixed is not None and _is_single(each, fixed)}


def _fixed_heads(node: ast.ClassDef) -> ast.Assign | None:
    """Return the statement of a constructor that sets an attribute for a number of heads to a number above 1; None without one."""
    constructor = constructor_in(node)
    for each in [] if constructor is None else constructor.body:
        if isinstance(each, ast.Assign) and len(each.targets) == 1 and _is_heads(each.targets[0]) and isinstance(each.value, ast.Constant):
            return each if type(each.value.value) is int and each.value.value > 1 else None
    return None


def _is_heads(target: ast.expr) -> bool:
    return is_of_self(target) and re.fullmatch(OF_HEADS, target.attr) is not None


def _is_single(node: ast.ClassDef, fixed: ast.Assign) -> bool:
    """Return True if a class has the number nowhere else but as a divisor, and no parameter or variable under the attribute's name."""
    assert isinstance(fixed.value, ast.Constant)
    assert isinstance(fixed.targets[0], ast.Attribute)
    numbers = [each for each in ast.walk(node) if isinstance(each, ast.Constant) and each.value == fixed.value.value]
    constructor = constructor_in(node)
    if constructor is None or constructor.args.kwarg is not None or len(numbers) != 1 + len(_divisions(constructor, fixed.value.value)):
        return False
    taken = {each.arg for each in ast.walk(node) if isinstance(each, ast.arg)} | {each.id for each in names_in(ast.Store, node)}
    return fixed.targets[0].attr not in taken


def _divisions(constructor: ast.FunctionDef, number: object) -> list[ast.BinOp]:
    """Return the divisions of a constructor by a number."""
    divided = [
        each for each in ast.walk(constructor) if isinstance(each, ast.BinOp) and isinstance(each.op, ast.FloorDiv | ast.Mod | ast.Div)
    ]
    return [each for each in divided if isinstance(each.right, ast.Constant) and each.right.value == number]


def _take_heads(node: ast.ClassDef) -> None:
    """Let a constructor take the number of heads that it fixes."""
    constructor, fixed = constructor_in(node), _fixed_heads(node)
    if constructor is None or fixed is None or not (isinstance(fixed.targets[0], ast.Attribute) and isinstance(fixed.value, ast.Constant)):
        return
    name, number = fixed.targets[0].attr, fixed.value
    constructor.args.kwonlyargs.append(ast.copy_location(ast.arg(name), fixed))
    constructor.args.kw_defaults.append(number)
    for division in _divisions(constructor, number.value):
        division.right = ast.copy_location(ast.Name(name, ast.Load()), division.right)
    fixed.value = ast.copy_location(ast.Name(name, ast.Load()), number)
