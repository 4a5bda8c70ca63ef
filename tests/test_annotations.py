"""Types are real: few annotations are Any."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import headway

SOURCE = Path(headway.__file__).parent
EXEMPT = ("practice", "kernels")
"""Packages that handle learners' objects and Numba's."""


def annotations(path: Path) -> Iterator[ast.expr]:
    """The annotations of parameters, results, attributes and variables in a file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            arguments = node.args
            every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg)
            yield from (each.annotation for each in every if each is not None and each.annotation is not None)
            if node.returns is not None:
                yield node.returns
        elif isinstance(node, ast.AnnAssign):
            yield node.annotation


def has_any(annotation: ast.expr) -> bool:
    """True if Any occurs in an annotation."""
    return any(isinstance(node, ast.Name) and node.id == "Any" for node in ast.walk(annotation))


def test_at_most_5_percent_of_annotations_contain_any():
    count: dict[str, list[int]] = {}
    for path in SOURCE.rglob("*.py"):
        package = path.relative_to(SOURCE).parts[0]
        if package not in EXEMPT:
            found = [has_any(each) for each in annotations(path)]
            total = count.setdefault(package, [0, 0])
            total[0] += sum(found)
            total[1] += len(found)
    share = sum(found for found, _ in count.values()) / sum(total for _, total in count.values())
    assert share <= 0.05, {package: f"{found}/{total}" for package, (found, total) in sorted(count.items())}
