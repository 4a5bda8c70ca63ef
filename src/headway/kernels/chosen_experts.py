"""A mixture of experts that computes each expert for the tokens that use it, on NumPy and PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headway import functions
from headway.arrays import ArrayT, Operations, array_namespace, as_floating, at_least_float32, cast
from headway.functions import MixtureOfExpertsWeights, silu


def mixture_of_experts(
    x: ArrayT,
    weights: MixtureOfExpertsWeights,
    *,
    top_k: int,
    is_normalized: bool = True,
    activation: Callable[[ArrayT], ArrayT] = silu,
    combine: Callable[[ArrayT, ArrayT], ArrayT] | None = None,
    ops: Operations = functions,
) -> ArrayT:
    """Twin of functions.mixture_of_experts."""
    xp = array_namespace(x)
    shares = at_least_float32(ops.route_top_k(x, weights.router, top_k=top_k, is_normalized=is_normalized, ops=ops))
    rows, row_shares = xp.reshape(x, (-1, x.shape[-1])), xp.reshape(shares, (-1, shares.shape[-1]))
    mixed: Any = xp.zeros_like(at_least_float32(rows))
    for index, expert in enumerate(weights.experts):
        (chosen,) = xp.nonzero(row_shares[:, index])
        if len(chosen):
            output = at_least_float32(ops.gated_feed_forward(rows[chosen], expert, activation=activation, combine=combine, ops=ops))
            mixed[chosen] += row_shares[chosen, index, None] * output
    return cast(xp.reshape(mixed, x.shape), as_floating(x).dtype)
