"""Solutions: a part's stub with its body filled in."""

from __future__ import annotations

import ast
from functools import lru_cache
from importlib import resources

from headway.practice.workbook.parts import Part
from headway.practice.workbook.stubs import BODY, stub

SPELLED = {"numpy": "np.", "torch": "torch.", "jax": "jnp.", "mlx": "mx."}
"""Prefix of library calls; the NumPy solutions are converted to other libraries by replacing it."""


def solution(part: Part, array: str, language: str) -> str:
    """Return the solved file."""
    return stub(part, array, language).replace(BODY, body(part.name, array))


def body(name: str, array: str) -> str:
    """Return a function's body in an array library."""
    text = function_source(name, array).split("\n", 1)[1]
    return text.replace("np.", SPELLED[array])


def function_source(name: str, array: str) -> str:
    """Return the source of one solution, ending with a newline; it is the NumPy source unless the library has one of its own."""
    own = _functions("in_torch.py") if array == "torch" else {}
    return own.get(name) or _functions("in_numpy.py")[name]


def numpy_functions() -> dict[str, str]:
    """Return the source of all NumPy solutions by name, including parts outside the workbook."""
    return {**_functions("in_numpy.py"), **_functions("beyond.py")}


@lru_cache
def _functions(file: str) -> dict[str, str]:
    text = (resources.files("headway.practice.workbook.solutions") / file).read_text(encoding="utf-8")
    lines, nodes = text.splitlines(), [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    return {node.name: "\n".join(lines[node.lineno - 1 : node.end_lineno]) + "\n" for node in nodes}
