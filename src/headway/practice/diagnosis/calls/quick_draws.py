"""Random numbers of JAX drawn with NumPy, for initial weights, which are replaced anyway: JAX draws each array with dozens of primitives."""

from __future__ import annotations

import inspect
import itertools
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache, wraps
from typing import Any

import numpy

from headway.practice.diagnosis.calls.jax_on_numpy import jax_array
from headway.practice.diagnosis.calls.replacing import replaced

FILLED = 0.1
"""Number of weights that are not drawn; not zero, which would hide a layer that is added to something."""
MOST_DRAWN = 100_000
"""Size up to which initial values are drawn: a vocabulary or a width that no probe gives may have its own large default."""

_open: list[None] = []
"""One element while a context of `quick_draws` is open."""


@contextmanager
def quick_draws(most: int = MOST_DRAWN) -> Iterator[None]:
    """Let NumPy draw what jax.random and JAX's initializers draw, and fill arrays of more than this many numbers with one number.

    Keys are numbered instead of derived. Inside another such context it has no effect.
    """
    places = [place for name in ("jax.random", "jax._src.random") if (place := sys.modules.get(name)) is not None]
    if _open or not places:
        yield
        return
    numbers, count = numpy.random.default_rng(0), itertools.count(1)
    _open.append(None)
    try:
        with ExitStack() as stack:
            for place in places:
                made = {name: _drawn(name, getattr(place, name), most, numbers) for name in DRAWS if hasattr(place, name)}
                stack.enter_context(replaced(place, {**made, "split": _split(place.split, count)}))
            yield
    finally:
        _open.pop()


DRAWS = ("normal", "uniform", "truncated_normal")


_signature = cache(inspect.signature)


def _drawn(name: str, function: Callable[..., Any], most: int, numbers: numpy.random.Generator) -> Callable[..., Any]:
    signature = _signature(function)

    @wraps(function)  # it may be wrapped again inside the context
    def draw(*operands: Any, **named: Any) -> Any:
        given = signature.bind(*operands, **named)
        given.apply_defaults()
        values = given.arguments
        shape = values["shape"]
        shape = () if shape is None else (shape,) if isinstance(shape, int) else tuple(shape)
        dtype = "float32" if values["dtype"] in (None, float) else values["dtype"]
        if math.prod(shape) > most:
            return jax_array(numpy.full(shape, FILLED), dtype)
        if name == "uniform":
            return jax_array(numbers.uniform(values["minval"], values["maxval"], shape), dtype)
        found = numbers.standard_normal(shape)
        return jax_array(found if name == "normal" else found.clip(values["lower"], values["upper"]), dtype)

    return draw


def _split(function: Callable[..., Any], count: Iterator[int]) -> Callable[..., Any]:
    """Return a function that numbers keys of two integers; other keys are derived."""

    def split(key: Any, num: Any = 2) -> Any:
        if getattr(key, "shape", None) != (2,) or not isinstance(num, int):
            return function(key, num)
        return numpy.array([[0, next(count)] for _ in range(num)], numpy.uint32)

    return split
