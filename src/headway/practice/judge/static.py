"""Facts about a file that follow from its text alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from headway.practice.diagnosis.subject import definitions

MAX_CHARS = 2_000_000
PRELOADED = ("torch", "jax")
"""Array libraries that are imported before the file is; NumPy always is."""


@dataclass(frozen=True)
class Facts:
    """Facts about a file.

    lines      first line of each public function and class at top level; for a name that is bound again later, that line
    shadowed   lines of earlier definitions of a name
    imports    top-level packages that the file imports
    optional   definitions that need no verdict: private ones, and abstract classes
    """

    lines: dict[str, int] = field(default_factory=dict)
    shadowed: dict[str, tuple[int, ...]] = field(default_factory=dict)
    imports: frozenset[str] = frozenset()
    optional: frozenset[str] = frozenset()

    @property
    def preloaded(self) -> list[str]:
        """Return the libraries to import before the file."""
        return [name for name in PRELOADED if name in self.imports]


def facts_of(text: str) -> Facts:
    """Return the facts about a file's text; none if it is not Python or too large."""
    if len(text) > MAX_CHARS:
        return Facts()
    try:
        tree = ast.parse(text)
        defined = {name: _first_line(node) for name, node in definitions(tree).items()}
        bound: dict[str, list[int]] = {}
        for name, line in _bindings(tree.body):
            bound.setdefault(name, []).append(line)
        imports = {name.partition(".")[0] for name in _imported(tree)}
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Facts()
    lines = {name: max([line, *(bound.get(name, []))]) for name, line in defined.items()}
    shadowed = {name: tuple(line for line in sorted(set(bound.get(name, []))) if line < lines[name]) for name in defined}
    optional = frozenset(name for name, node in definitions(tree).items() if name.startswith("_") or is_abstract(node))
    return Facts(lines, {name: found for name, found in shadowed.items() if found}, frozenset(imports), optional)


def is_abstract(node: ast.stmt) -> bool:
    """Return True for a class that leaves methods to its subclasses: abstract, or raising NotImplementedError."""
    if not isinstance(node, ast.ClassDef):
        return False
    names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)} | {
        each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute)
    }
    return bool(names & {"NotImplementedError", "abstractmethod"})


def _first_line(node: ast.stmt) -> int:
    return min(each.lineno for each in (node, *getattr(node, "decorator_list", ())))


def _bindings(body: list[ast.stmt]) -> Iterator[tuple[str, int]]:
    """Yield the names that statements at top level bind to functions, classes or other values, with the line."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name, _first_line(node)
        elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            is_alias = isinstance(node.value, ast.Name | ast.Attribute | ast.Lambda | ast.Call)
            yield from ((name, node.lineno) for target in targets for name in _names_in(target) if is_alias)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from ((alias.asname or alias.name, node.lineno) for alias in node.names)


def _names_in(target: ast.expr) -> list[str]:
    return [each.id for each in ast.walk(target) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)]


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
