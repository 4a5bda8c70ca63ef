"""The option --array."""

from __future__ import annotations

from enum import StrEnum


class ArrayLibrary(StrEnum):
    """The array libraries that a model can run on."""

    numpy = "numpy"
    torch = "torch"
    jax = "jax"
    mlx = "mlx"
