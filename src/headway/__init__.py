"""Headway: the transformer, from softmax to generated text, each part defined once.

    headway.load(name_or_folder)   a model that generates: see LanguageModel
    headway.check(my_function)     which mistake a function of your own makes: see headway.practice
    headway.functions              the definitions
    headway.errors                 what can go wrong

Importing this imports no array library.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headway import errors, functions
    from headway.language_model import Chunk, Completion, LanguageModel, load
    from headway.practice import check

__version__ = "0.1.0"
__all__ = ["Chunk", "Completion", "LanguageModel", "__version__", "check", "errors", "functions", "load"]

_HOMES = dict.fromkeys(("Completion", "LanguageModel", "Chunk", "load"), "headway.language_model") | {"check": "headway.practice"}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in ("errors", "functions"):
        return import_module(f"headway.{name}")
    raise AttributeError(f"module 'headway' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
