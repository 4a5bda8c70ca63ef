"""Fields of a config that are numbers under names of the author's own: the number of cities of a tour, the rows of a block."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from typing import Any

from headway.practice.diagnosis.calls.wording import NOTHING, is_dropout, neutral_value
from headway.practice.diagnosis.reading.subject import parsed
from headway.practice.diagnosis.reading.trees import last_name

LENGTH = 64
"""Value of a field from which a length is computed; longer than the sequences of all probes."""

STEP = 2
"""Value of a field that is the step of a loop, so that a sequence has several blocks."""


@cache
def unknown_sizes(code: str, config: str) -> Mapping[str, int]:
    """Return values for the fields of a config that code counts with, as the operands of sums and products or as steps of loops.

    A field that only divides, or is raised to a power, may be a scale, and is none of them.
    """
    nodes = [*ast.walk(parsed(textwrap.dedent(code)))]
    counted = {name for node in nodes if _counts(node) for name in _fields(node, config)}
    steps = _with_sources({name for node in nodes for name in _step_of(node)}, nodes)
    stepped = {name for node in nodes if isinstance(node, ast.Attribute) for name in _field(node, config) if name in steps}
    found = {**dict.fromkeys(counted, LENGTH), **dict.fromkeys(stepped, STEP)}
    return {name: value for name, value in found.items() if neutral_value(name) is NOTHING and not is_dropout(name) and not _is_scale(name)}


def _is_scale(name: str) -> bool:
    return re.search(r"scal|temp|factor|alpha|beta|gamma|std|eps|prob|rate", name.lower()) is not None


def _counts(node: ast.AST) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub | ast.Mult)


def _fields(node: ast.AST, config: str) -> Iterator[str]:
    """Yield the fields that are operands of a sum or a product."""
    for operand in (node.left, node.right) if isinstance(node, ast.BinOp) else ():
        yield from _field(operand, config)


def _field(node: ast.AST, config: str) -> Iterator[str]:
    """Yield the name of the field if a node is one: `config.rows` or `self.config.rows`."""
    if isinstance(node, ast.Attribute) and ast.unparse(node.value) in (config, f"self.{config}"):
        yield node.attr


def _step_of(node: ast.AST) -> Iterator[str]:
    """Yield the name of the step of a range."""
    match node:
        case ast.Call(func=ast.Name(id="range"), args=[_, _, ast.Name() | ast.Attribute() as step]):
            yield last_name(step)


def _with_sources(names: set[str], nodes: list[ast.AST]) -> set[str]:
    """Return names with those from which they are assigned: `rows = self.rows`."""
    plain = (ast.Name, ast.Attribute)
    assigned = [node for node in nodes if isinstance(node, ast.Assign) and isinstance(node.value, plain)]
    pairs = [(last_name(target), last_name(node.value)) for node in assigned for target in node.targets if isinstance(target, plain)]
    found = set(names)
    while (more := found | {source for target, source in pairs if target in found}) != found:
        found = more
    return found


def with_unknown(config: Any, sizes: Mapping[str, int]) -> Any:
    """Return a config whose fields without a value have these."""
    for name, value in sizes.items():
        if getattr(config, name, value) is None:
            with suppress(AttributeError, TypeError):  # a property
                object.__setattr__(config, name, value)
    return config
