"""Widths of a constructor that are those of its inputs, as torch's `kdim` and `vdim`, or of all heads, whatever their names mean otherwise."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Sequence
from functools import cache

from headway.practice.diagnosis.reading.subject import parsed

IN_FEATURES = "in_features"
"""Keyword of a linear layer's first argument."""


OF_TORCH = ("kdim", "vdim")
"""Names of torch for the widths of the inputs of keys and values, by default that of the queries."""


def input_widths(parameters: Sequence[inspect.Parameter], source: str) -> list[str]:
    """Return the parameters that are input widths by their use, or by torch's names for those that need not be given."""
    return [each.name for each in parameters if (each.default is None and each.name in OF_TORCH) or is_input_width(each.name, source)]


@cache
def is_input_width(name: str, source: str) -> bool:
    """Return True for a parameter that a class uses as the input width of linear layers, and for nothing else."""
    nodes = [*ast.walk(parsed(textwrap.dedent(source)))]
    stored = [
        node.value for node in nodes if isinstance(node, ast.Assign) and all(isinstance(each, ast.Attribute) for each in node.targets)
    ]
    uses = {id(node) for node in nodes if _reads(node, name)} - {id(value) for value in stored}
    widths = {id(width) for node in nodes if (width := _input_width(node)) is not None}
    return bool(uses) and uses <= widths


SPLITS_WIDTH = r"\((h|heads?|n_?heads?|num_heads) \w+\) *->"
"""Pattern of the source of an attention that splits a width into heads: `rearrange(x, "... n (h d) -> ... h n d")`."""


def is_width_of_all_heads(name: str, source: str) -> bool:
    """Return True for a parameter that is a whole argument wherever a class uses it, in a class that splits its projections into heads."""
    uses = len(re.findall(rf"\b{re.escape(name)}\b(?! *[:=])", source))
    whole = len(re.findall(rf"[(,=] *{re.escape(name)} *[,)]", source))
    is_split = re.search(SPLITS_WIDTH, source) is not None
    return is_split and 0 < uses == whole


def _reads(node: ast.AST, name: str) -> bool:
    """Return True for a parameter, or the attribute of the same name that holds it, where it is read."""
    is_read = isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load)
    return is_read and ast.unparse(node) in (name, f"self.{name}")


def _input_width(node: ast.AST) -> ast.expr | None:
    """Return the width of the input of a linear layer; None for other nodes."""
    match node:
        case ast.Call(ast.Name("Linear") | ast.Attribute(attr="Linear"), [first, *_]):
            return first
        case ast.Call(ast.Name("Linear") | ast.Attribute(attr="Linear"), [], keywords):
            return next((each.value for each in keywords if each.arg == IN_FEATURES), None)
    return None
