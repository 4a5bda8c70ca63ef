"""Writes practice/diagnosis/repair/donors.toml: right programs from which the search for repairs takes what a learner's program lacks.

    python tools/donors.py

They are the functions and classes named right_… of tests/practice/learners, each with the definitions of its file that it uses.
"""

from __future__ import annotations

import ast
from pathlib import Path

from headway.practice.exercises import exercise

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "src/headway/practice/diagnosis/repair/donors.toml"
MOST = 4
"""Programs of one exercise in one array library: the first, which is the plain one, and the longest ones, which take the most operands."""


def donors() -> dict[str, list[str]]:
    """Return the programs by `exercise.library`, each with the imports of its file."""
    found: dict[str, list[str]] = {}
    for path in sorted((ROOT / "tests/practice/learners").glob("*.py")):
        parts = path.stem.split("__")
        if exercise(parts[0]).calls == "stack":  # no repair of a stack is searched
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        imports = [ast.unparse(node) for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
        library = parts[-1] if parts[-1] in ("torch", "jax", "mlx") else "numpy"
        named = {name: node for node in tree.body for name in _names(node)}
        programs = []
        for name in [each for each in named if each.lower().startswith("right")]:
            used = _used(name, named)
            programs.append("\n".join([*imports, *(ast.unparse(node) for node in tree.body if set(_names(node)) & used)]))
        if programs:
            found.setdefault(f"{parts[0]}.{library}", []).extend(programs)
    return {name: [first, *sorted(others, key=len, reverse=True)[: MOST - 1]] for name, (first, *others) in found.items()}


def _names(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    return [each.id for each in getattr(node, "targets", []) if isinstance(each, ast.Name)]


def _used(name: str, named: dict[str, ast.stmt]) -> set[str]:
    """Return a name, and those of the file's definitions that it uses, directly or through others."""
    used, waiting = {name}, [name]
    while waiting:
        inner = {each.id for each in ast.walk(named[waiting.pop()]) if isinstance(each, ast.Name)}
        waiting += sorted((inner & set(named)) - used)
        used |= inner & set(named)
    return used


def written() -> str:
    """Return the content of the file."""
    lines = ["# Right programs by exercise and array library. Written by tools/donors.py."]
    for name, programs in donors().items():
        assert not any("'''" in program for program in programs)
        lines.append(f"\n[{name}]\nprograms = [")
        lines += [f"'''\n{program}\n'''," for program in programs]
        lines.append("]")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    TARGET.write_text(written(), encoding="utf-8")
