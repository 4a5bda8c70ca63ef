"""Heads before positions for query, key and value together: an attention over arrays of four axes that nothing has transposed."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence

from headway.practice.diagnosis.reading.trees import read_in, stored_in
from headway.practice.diagnosis.repair.context import EXCHANGES
from headway.practice.diagnosis.repair.observation import Seen

COST = 0.6
NUM_AXES = 4
OF_OPERANDS = (
    r"_?(x?q|quer(y|ies))\d*(_?(heads?|states?|h))?",
    r"_?(x?k|keys?)\d*(_?(heads?|states?|h))?",
    r"_?(x?v|values?)\d*(_?(heads?|states?|h))?",
)
"""Patterns of the names of query, key and value."""


def moved_heads(
    body: Sequence[ast.stmt], place: int, variables: Mapping[str, Seen], library: str
) -> Iterator[tuple[float, list[ast.stmt], list[ast.stmt]]]:
    """Yield the first statement that reads query and key at once, after one that exchanges the middle axes of both and of the value.

    A program that exchanges axes before it has these in a wrong order, which is mended there.
    """
    node = body[place]
    if any(isinstance(each, ast.Attribute) and each.attr in EXCHANGES for before in body[:place] for each in ast.walk(before)):
        return
    names = [_named(pattern, variables) for pattern in OF_OPERANDS]
    if not all(names) or not _meet(node, names) or any(_meet(each, names) for each in body[:place]):
        return
    if not {*names} <= {name for each in body[:place] for name in stored_in(each)}:
        return
    method = "transpose" if library == "torch" else "swapaxes"
    moved: list[ast.expr] = [
        ast.Call(ast.Attribute(ast.Name(name, ast.Load()), method, ast.Load()), [ast.Constant(1), ast.Constant(2)], []) for name in names
    ]
    targets: list[ast.expr] = [ast.Name(name, ast.Store()) for name in names]
    yield COST, [node], [ast.Assign([ast.Tuple(targets, ast.Store())], ast.Tuple(moved, ast.Load())), node]


def _named(pattern: str, variables: Mapping[str, Seen]) -> str:
    """Return the only variable of a name with a batch, heads, positions and coordinates; an empty text if there is none."""
    found = [name for name, seen in variables.items() if re.fullmatch(pattern, name) and seen.is_array and len(seen.shape) == NUM_AXES]
    return found[0] if len(found) == 1 else ""


def _meet(statement: ast.stmt, names: Sequence[str]) -> bool:
    """Return True for a statement that computes with query and key, and assigns neither."""
    return {*names[:2]} <= read_in(statement) and not {*names} & {*stored_in(statement)}
