"""Models as modules of torch, for functions that refuse what is none."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

from headway.practice.diagnosis.reading.subject import Subject
from headway.practice.recipes.toy_model import ToyModel
from headway.practice.recipes.toy_translator import FixedModel

NEEDS_MODULE = r"isinstance\(\w+, *[\w.]*Module\)"
"""Pattern of the source of a function that refuses what is no module."""


def needs_module(subject: Subject, library: str) -> bool:
    """Return True for a function of torch that asks if its model is a module."""
    return library == "torch" and re.search(NEEDS_MODULE, subject.used_source) is not None


def as_modules(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments with a module in place of each model."""
    return {name: _as_module(value) if isinstance(value, ToyModel | FixedModel) else value for name, value in arguments.items()}


def _as_module(model: ToyModel | FixedModel) -> Any:
    """Return a model as a module of torch that passes everything on."""
    torch = import_module("torch")

    class Module(torch.nn.Module):  # type: ignore[name-defined]
        def forward(self, *operands: Any, **named: Any) -> Any:
            return model(*operands, **named)

        def parameters(self, recurse: bool = True) -> Iterator[Any]:
            return model.parameters()

        def __getattr__(self, name: str) -> Any:
            return getattr(model, name)

    return Module()
