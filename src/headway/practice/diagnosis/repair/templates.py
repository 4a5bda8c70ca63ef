"""Expressions with holes, and neighbours.toml, which lists what learners confuse and forget."""

from __future__ import annotations

import ast
import functools
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

ALIASES = {"numpy": "np", "torch": "torch", "jax": "jnp", "mlx": "mx"}
"""Names of the libraries in neighbours.toml."""


@functools.cache
def table() -> dict[str, Any]:
    """Return the content of neighbours.toml."""
    return tomllib.loads((Path(__file__).parent / "neighbours.toml").read_text(encoding="utf-8"))


def parsed(text: str, holes: Mapping[str, ast.expr]) -> ast.expr:
    """Return an expression with the names in `holes` replaced."""
    return _builder(text, frozenset(holes))(holes)


@functools.cache
def _builder(text: str, holes: frozenset[str]) -> Callable[[Mapping[str, ast.expr]], ast.expr]:
    """Return the function that makes an expression of the nodes for its holes: thousands are made for each program."""
    values: list[Any] = []

    def made(node: Any) -> str:
        if isinstance(node, ast.Name) and node.id in holes:
            return f"holes[{node.id!r}]"
        if isinstance(node, list):
            return f"[{', '.join(map(made, node))}]"
        if isinstance(node, ast.AST):
            return f"ast.{type(node).__name__}({', '.join(f'{name}={made(value)}' for name, value in ast.iter_fields(node))})"
        values.append(node)
        return f"values[{len(values) - 1}]"

    function: Callable[[Mapping[str, ast.expr]], ast.expr] = eval(
        f"lambda holes: {made(ast.parse(text, mode='eval').body)}", {"ast": ast, "values": values}
    )
    return function


def filled(node: Any, holes: Mapping[str, ast.expr]) -> Any:
    """Return a copy of a tree with the holes filled."""
    if isinstance(node, ast.Name) and node.id in holes:
        return holes[node.id]
    if isinstance(node, list):
        return [filled(each, holes) for each in node]
    if not isinstance(node, ast.AST):
        return node
    return type(node)(**{name: filled(value, holes) for name, value in ast.iter_fields(node)})
