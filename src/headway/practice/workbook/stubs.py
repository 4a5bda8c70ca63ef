"""Stub of a part's file: the definition's signature and docstring without a body."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable
from typing import Any

from headway.practice.exercises import exercise
from headway.practice.texts import Texts
from headway.practice.workbook.parts import NAMES, Part

TEXTS = Texts("workbook")

IMPORTS = {"numpy": "import numpy as np", "torch": "import torch", "mlx": "import mlx.core as mx", "jax": "import jax.numpy as jnp"}
"""Import line by array library."""

BODY = "    raise NotImplementedError\n"


LEFT_OUT = ("Errors", "Source", ">>>")
"""First words of docstring paragraphs that the stub omits; the example is added separately."""


def stub(part: Part, array: str, language: str) -> str:
    """Return the file's text for an array library, with its first line in the given language."""
    header = TEXTS["header_2"].format(number=NAMES.index(part.name) + 1, total=len(NAMES), title=part.title, name=part.name).text(language)
    imports = [f"from {name} import {name}" for name in sorted(part.uses)]
    return "\n".join([header, IMPORTS[array], *([""] if imports else []), *imports, "", "", heading(part, array) + BODY])


def heading(part: Part, array: str) -> str:
    """Return the function's signature and docstring."""
    paragraphs = _described(part) if part.shapes else _documented(part)
    if array == "numpy" and part.parameters is None:
        paragraphs += _example(part)
    text = "\n\n".join(paragraphs) + "\n"
    docstring = textwrap.indent(f'"""{text}"""', "    ", lambda line: bool(line.strip()))
    return f"def {part.name}({part.parameters or _parameters(part)}):\n{docstring}\n"


def _parameters(part: Part) -> str:
    """Return the definition's parameters without annotations, and without those that the exercise never uses."""
    roles = {role.name for role in exercise(part.name).roles}
    parameters = inspect.signature(_definition(part)).parameters
    kept = [each.replace(annotation=each.empty) for name, each in parameters.items() if name in roles]
    return str(inspect.Signature(kept))[1:-1].replace("e-0", "e-")


def _documented(part: Part) -> list[str]:
    """Return the definition's docstring paragraphs that describe the function, its equation, shapes and parameters."""
    kept = [each for each in part.paragraphs if not each.lstrip().startswith(LEFT_OUT)]
    texts = ["\n".join(line for line in each.split("\n") if not line.startswith("Computed in")) for each in kept]
    return [text for text in texts if text]


def _described(part: Part) -> list[str]:
    """Return the docstring paragraphs for a part with GPT-2's weights, or with fewer parameters than its definition."""
    first = part.paragraphs[0] if part.definition else part.summary
    return [
        first,
        f"    {part.equation}",
        "Shapes\n" + "\n".join(f"    {line}" for line in part.shapes),
        *([part.note] if part.note else []),
    ]


def _example(part: Part) -> list[str]:
    """Return the definition's example, if it has one."""
    name = _definition(part).__name__
    return [each.replace(f"{name}(", f"{part.name}(") for each in part.paragraphs if each.startswith(">>>")]


def _definition(part: Part) -> Callable[..., Any]:
    assert part.definition is not None
    return part.definition
