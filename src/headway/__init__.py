"""Headway: the transformer, from softmax to generated text, each part defined once.

    headway.load(name_or_folder)   load a model: see LanguageModel
    headway.check(my_function)     find the mistake in a function that you wrote: see headway.practice
    headway.look(my_function, x)   see each line with the arrays that it made: see headway.look
    headway.functions              the definitions
    headway.errors                 the exceptions

Importing this module imports no array library.
"""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headway import errors, functions, look
    from headway.language_model import Chunk, Completion, LanguageModel, load
    from headway.practice import check

__version__ = "0.1.0"
__all__ = ["Chunk", "Completion", "LanguageModel", "__version__", "check", "errors", "functions", "load", "look"]

_MODULES = dict.fromkeys(("Completion", "LanguageModel", "Chunk", "load"), "headway.language_model") | {"check": "headway.practice"}
_MODULES["load_ipython_extension"] = "headway.practice.notebook"  # %load_ext headway


def __getattr__(name: str) -> object:
    if name == "Piece":
        warnings.warn("headway.Piece is deprecated, use headway.Chunk", DeprecationWarning, stacklevel=2)
        name = "Chunk"
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    if name in ("errors", "functions", "look"):
        return import_module(f"headway.{name}")
    raise AttributeError(f"module 'headway' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
