"""The places of a syntax tree at which code runs."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

_DECLARATIONS = frozenset({"annotation", "returns", "decorator_list", "type_comment", "type_params", "bases"})


@dataclass(frozen=True)
class Place:
    """A node in the field of another one, at `index` if the field is a list."""

    parent: ast.AST
    field: str
    index: int | None
    node: ast.AST

    @property
    def is_read(self) -> bool:
        """Return True for an expression that is evaluated, not assigned to."""
        return isinstance(self.node, ast.expr) and not isinstance(getattr(self.node, "ctx", None), ast.Store | ast.Del)


def places(parent: ast.AST) -> Iterator[Place]:
    """Yield the nodes that a node holds directly, without annotations, decorators, base classes and the parts of formatted text."""
    if isinstance(parent, ast.JoinedStr):
        return
    for field, value in ast.iter_fields(parent):
        if field in _DECLARATIONS:
            continue
        for index, each in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if isinstance(each, ast.AST):
                yield Place(parent, field, index, each)
