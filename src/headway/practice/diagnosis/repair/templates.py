"""Expressions with holes, and neighbours.toml, which lists what learners confuse and forget."""

from __future__ import annotations

import ast
import functools
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ALIASES = {"numpy": "np", "torch": "torch", "jax": "jnp", "mlx": "mx"}
"""Names of the libraries in neighbours.toml."""


@functools.cache
def table() -> dict[str, Any]:
    """Return the content of neighbours.toml."""
    return tomllib.loads((Path(__file__).parent / "neighbours.toml").read_text(encoding="utf-8"))


@functools.cache
def _template(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def parsed(text: str, holes: Mapping[str, ast.expr]) -> ast.expr:
    """Return an expression with the names in `holes` replaced."""
    return filled(_template(text), holes)


def filled(node: Any, holes: Mapping[str, ast.expr]) -> Any:
    """Return a copy of a tree with the holes filled."""
    if isinstance(node, ast.Name) and node.id in holes:
        return holes[node.id]
    if isinstance(node, list):
        return [filled(each, holes) for each in node]
    if not isinstance(node, ast.AST):
        return node
    return type(node)(**{name: filled(value, holes) for name, value in ast.iter_fields(node)})
