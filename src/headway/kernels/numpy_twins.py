"""What NumPy does faster in another form, under the definitions' names and signatures."""

from __future__ import annotations

import math

import numpy

from headway import functions
from headway.arrays import Array, as_floating, at_least_float32

__all__ = ["keep_top_k", "keep_top_p", "linear", "unembed"]

FIRST_LOOK = 1024
"""How many of the most likely tokens keep_top_p sorts before it sorts more."""


def linear(x: Array, weight: Array, bias: Array | None = None) -> Array:
    """Twin of functions.linear: NumPy multiplies a stack of matrices one by one, and all their rows at once in half the time."""
    if x.ndim < 3:
        return functions.linear(x, weight, bias)
    rows = x.reshape(math.prod(x.shape[:-1]), x.shape[-1])
    return functions.linear(rows, weight, bias).reshape(*x.shape[:-1], weight.shape[0])


def unembed(x: Array, table: Array) -> Array:
    """Twin of functions.unembed."""
    return linear(x, table)


def keep_top_k(logits: Array, top_k: int) -> Array:
    """Twin of functions.keep_top_k: the k-th largest is found without sorting the others."""
    if not 1 <= top_k < logits.shape[-1]:
        return functions.keep_top_k(logits, top_k)
    logits = as_floating(logits)
    return _keep(logits, logits >= numpy.partition(logits, -top_k, axis=-1)[..., -top_k, None])


def keep_top_p(logits: Array, top_p: float) -> Array:
    """Twin of functions.keep_top_p: only the most likely tokens are sorted, and more of them where those do not reach top_p."""
    vocab_size = logits.shape[-1]
    if logits.ndim != 1 or not 0 < top_p < 1 or vocab_size <= FIRST_LOOK:
        return functions.keep_top_p(logits, top_p)
    logits = as_floating(logits)
    probabilities, number = functions.softmax(at_least_float32(logits)), FIRST_LOOK
    while number < vocab_size:
        descending = -numpy.sort(-numpy.partition(probabilities, -number)[-number:])
        before = numpy.cumsum(descending) - descending
        if before[-1] >= top_p:
            return _keep(logits, probabilities >= descending[before < top_p].min())
        number *= 8
    return functions.keep_top_p(logits, top_p)


def _keep(logits: Array, kept: Array) -> Array:
    return numpy.where(kept, logits, -numpy.inf).astype(logits.dtype, copy=False)
