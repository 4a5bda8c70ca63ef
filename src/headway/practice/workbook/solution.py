"""A part solved, as a whole file: its stub with a body."""

from __future__ import annotations

import ast
from functools import lru_cache
from importlib import resources

from headway.practice.workbook.parts import Part
from headway.practice.workbook.stubs import BODY, stub

SPELLED = {"numpy": "np.", "jax": "jnp.", "mlx": "mx."}
"""How a call into the library begins; NumPy's text serves all three."""


def solution(part: Part, array: str, language: str) -> str:
    """The file as it could be."""
    return stub(part, array, language).replace(BODY, body(part.name, array))


def body(name: str, array: str) -> str:
    """What stands under a function's first line, in an array library."""
    text = function_source(name, array).split("\n", 1)[1]
    return text.replace("np.", SPELLED.get(array, "np."))


def function_source(name: str, array: str) -> str:
    """One function of the solutions, with a newline at its end; for JAX and MLX still in NumPy's words."""
    return _functions("in_torch.py" if array == "torch" else "in_numpy.py")[name]


def numpy_functions() -> dict[str, str]:
    """All there are in NumPy, by name: the workbook's, and those beyond it."""
    return {**_functions("in_numpy.py"), **_functions("beyond.py")}


@lru_cache
def _functions(file: str) -> dict[str, str]:
    text = (resources.files("headway.practice.workbook.solutions") / file).read_text(encoding="utf-8")
    lines, nodes = text.splitlines(), [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
    return {node.name: "\n".join(lines[node.lineno - 1 : node.end_lineno]) + "\n" for node in nodes}
