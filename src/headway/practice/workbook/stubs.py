"""A part's file before anyone has written in it: the definition's signature and docstring, and no body."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable
from typing import Any

from headway.practice.exercises import exercise
from headway.practice.message import Message
from headway.practice.workbook.parts import NAMES, Part

IMPORTS = {"numpy": "import numpy as np", "torch": "import torch", "mlx": "import mlx.core as mx", "jax": "import jax.numpy as jnp"}
"""How a file begins, by array library."""

BODY = "    raise NotImplementedError\n"

HEADER = Message(
    "# {number} of {total}: {title}. Replace the last line and save; `headway practice` checks it, `headway practice hint {name}` helps.",
    "# {number}/{total}：{title}。改写最后一行并保存；`headway practice` 会检查，`headway practice hint {name}` 给提示。",
)

LEFT_OUT = ("Errors", "Source", ">>>")
"""How paragraphs of a definition's docstring begin that say nothing of what is to be written; an example is put in by itself."""


def stub(part: Part, array: str, language: str) -> str:
    """The whole file, in the array library and with its first line in the language."""
    header = HEADER.format(number=NAMES.index(part.name) + 1, total=len(NAMES), title=part.title, name=part.name).text(language)
    imports = [f"from {name} import {name}" for name in sorted(part.uses)]
    return "\n".join([header, IMPORTS[array], *([""] if imports else []), *imports, "", "", heading(part, array) + BODY])


def heading(part: Part, array: str) -> str:
    """The function's first line and its docstring."""
    paragraphs = _described(part) if part.shapes else _documented(part)
    if array == "numpy" and part.parameters is None:
        paragraphs += _example(part)
    text = "\n\n".join(paragraphs) + "\n"
    docstring = textwrap.indent(f'"""{text}"""', "    ", lambda line: bool(line.strip()))
    return f"def {part.name}({part.parameters or _parameters(part)}):\n{docstring}\n"


def _parameters(part: Part) -> str:
    """The definition's own, without type hints, and without those that the exercise never asks for."""
    roles = {role.name for role in exercise(part.name).roles}
    parameters = inspect.signature(_definition(part)).parameters
    kept = [each.replace(annotation=each.empty) for name, each in parameters.items() if name in roles]
    return str(inspect.Signature(kept))[1:-1].replace("e-0", "e-")


def _documented(part: Part) -> list[str]:
    """The definition's docstring: what it is, the equation, the shapes, the parameters."""
    kept = [each for each in part.paragraphs if not each.lstrip().startswith(LEFT_OUT)]
    texts = ["\n".join(line for line in each.split("\n") if not line.startswith("Computed in")) for each in kept]
    return [text for text in texts if text]


def _described(part: Part) -> list[str]:
    """The same for a part that takes less than the definition, or weights as GPT-2's checkpoint has them."""
    first = part.paragraphs[0] if part.definition else part.says
    return [
        first,
        f"    {part.equation}",
        "Shapes\n" + "\n".join(f"    {line}" for line in part.shapes),
        *([part.note] if part.note else []),
    ]


def _example(part: Part) -> list[str]:
    """The definition's own example, where it has one."""
    name = _definition(part).__name__
    return [each.replace(f"{name}(", f"{part.name}(") for each in part.paragraphs if each.startswith(">>>")]


def _definition(part: Part) -> Callable[..., Any]:
    assert part.definition is not None
    return part.definition
