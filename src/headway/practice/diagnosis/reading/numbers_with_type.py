"""The random numbers of NumPy with the parameter `dtype` that those of CuPy take: `cp.random.randn(2, 3, dtype=cp.float32)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

WITH_TYPE = ("exponential", "normal", "rand", "randn", "random", "random_sample", "standard_normal", "uniform")
"""Functions whose results CuPy converts to a type."""


def __getattr__(name: str) -> Any:
    """Return a function or class of numpy.random.

    Errors   AttributeError
    """
    found = getattr(numpy.random, name)
    return _with_type(found) if name in WITH_TYPE else found


def _with_type(draw: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that converts what another one draws to the type that it is given."""

    def drawn(*arguments: Any, dtype: Any = None, **named: Any) -> Any:
        numbers = draw(*arguments, **named)
        return numbers if dtype is None else numpy.asarray(numbers, dtype=dtype)

    return drawn
