"""Weight trees: frozen dataclasses and tuples whose leaves are arrays or None. Fields declared as `static` are not leaves.

The path of a leaf is its field names and tuple indices joined by dots, such as `layers.3.attention.query.weight`.
"""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

Tree = TypeVar("Tree")


def static(default: Any) -> Any:
    """Return a dataclass field with a default that trees copy and do not treat as a leaf, such as a number or a name."""
    return dataclasses.field(default=default, metadata={"static": True})


def map_tree(function: Callable[..., Any], tree: Tree, *others: Any) -> Tree:
    """Return the tree with every leaf replaced by `function(leaf, *other_leaves)`; None stays None."""
    if tree is None:
        return tree
    if isinstance(tree, tuple):
        return tuple(map_tree(function, *nodes) for nodes in zip(tree, *others, strict=True))  # type: ignore[return-value]
    if dataclasses.is_dataclass(tree) and not isinstance(tree, type):
        names = [field.name for field in dataclasses.fields(tree) if not field.metadata.get("static")]
        mapped = {n: map_tree(function, getattr(tree, n), *(getattr(other, n) for other in others)) for n in names}
        return dataclasses.replace(tree, **mapped)
    return function(tree, *others)


def leaves(tree: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield (path, leaf) for every leaf in field order; None is skipped."""
    if tree is None:
        return
    if isinstance(tree, tuple):
        for index, node in enumerate(tree):
            yield from leaves(node, f"{path}.{index}" if path else str(index))
    elif dataclasses.is_dataclass(tree):
        for field in dataclasses.fields(tree):
            if field.metadata.get("static"):
                continue
            yield from leaves(getattr(tree, field.name), f"{path}.{field.name}" if path else field.name)
    else:
        yield path, tree


def replace_leaves(function: Callable[[str, Any], Any], tree: Any, path: str = "") -> Any:
    """Return the tree with every leaf replaced by `function(path, leaf)`, which may be a tree itself; None stays None."""
    start = f"{path}." if path else ""
    if tree is None:
        return None
    if isinstance(tree, tuple):
        return tuple(replace_leaves(function, node, f"{start}{index}") for index, node in enumerate(tree))
    if dataclasses.is_dataclass(tree) and not isinstance(tree, type):
        names = [field.name for field in dataclasses.fields(tree) if not field.metadata.get("static")]
        return dataclasses.replace(tree, **{name: replace_leaves(function, getattr(tree, name), f"{start}{name}") for name in names})
    return function(path, tree)


def tree_from_leaves(kind: Any, arrays: Mapping[str, Any]) -> Any:
    """Build a tree of the dataclass `kind` from its leaves by path; a field without a leaf gets its default."""
    nested: dict[str, Any] = {}
    for path, array in arrays.items():
        *parents, last = path.split(".")
        node = nested
        for parent in parents:
            node = node.setdefault(parent, {})
        node[last] = array
    return _build(kind, nested)


def _build(kind: Any, node: Any) -> Any:
    options = [option for option in typing.get_args(kind) if option is not type(None)]
    if typing.get_origin(kind) is tuple:
        return tuple(_build(options[0], node[str(index)]) for index in range(len(node)))
    if options:  # X | None, or X | Y of which one has the fields
        return _build(next(option for option in options if _fits(option, node)), node)
    if not dataclasses.is_dataclass(kind):
        return node
    hints = typing.get_type_hints(kind)
    fields = {name: _build(hints[name], child) for name, child in node.items()}
    return kind(**fields)  # type: ignore[operator]


def _fits(kind: Any, node: Any) -> bool:
    """Return True if the dataclass has a field for each of the node's names; a class that is no dataclass fits any node."""
    return not dataclasses.is_dataclass(kind) or set(node) <= {field.name for field in dataclasses.fields(kind)}
