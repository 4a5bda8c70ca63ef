"""Functions that make a layer of PyTorch, as classes: `def FeedForward(dim): return nn.Sequential(…)`."""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from dataclasses import replace
from typing import Any

from headway.practice.diagnosis.reading.subject import Subject, parsed

CONTAINER = "Sequential"
"""Name of the class of what such a function returns."""


def as_layer(subject: Subject, library: str) -> Subject | None:
    """Return a function as the class of the layer that it makes; None for a class, and for a function that may return anything else."""
    torch: Any = sys.modules.get("torch")
    if torch is None or library != "torch" or not inspect.isfunction(subject.value) or not _makes_layer(subject):
        return None
    function: Any = subject.value

    class Made(torch.nn.Module):
        def __init__(self, **settings: Any) -> None:
            super().__init__()
            self.net = function(**settings)

        def forward(self, x: Any) -> Any:
            return self.net(x)

    made: Any = Made
    made.__signature__ = inspect.signature(function)
    made.__module__, made.__name__, made.__qualname__ = function.__module__, function.__name__, function.__qualname__
    return replace(subject, value=made)


def _makes_layer(subject: Subject) -> bool:
    """Return True if a function only returns containers that it constructs."""
    functions = [node for node in parsed(textwrap.dedent(subject.own_source)).body if isinstance(node, ast.FunctionDef)]
    returned = [node.value for each in functions[:1] for node in ast.walk(each) if isinstance(node, ast.Return)]
    return bool(returned) and all(
        isinstance(each, ast.Call) and ast.unparse(each.func).rpartition(".")[2] == CONTAINER for each in returned
    )
