"""Faster twins of the definitions: same names, same signatures, tested to be equal.

`operations(library)` is what a forward takes as `ops`: the twins that a library has, and the definitions for the rest.
"""

from importlib import import_module
from types import SimpleNamespace

from headway import functions

TWINS = {"numpy": "headway.kernels.numpy_twins", "torch": "headway.kernels.torch_twins"}
"""Array libraries with twins here. The definitions run as they are on the others."""


def operations(library: str) -> SimpleNamespace:
    """The functions for one array library, each in the fastest form there is here."""
    definitions = {name: getattr(functions, name) for name in functions.__all__}
    twins = import_module(TWINS[library]) if library in TWINS else None
    return SimpleNamespace(**definitions | {name: getattr(twins, name) for name in getattr(twins, "__all__", ())})
