"""Position-wise feed-forward networks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from headway import functions
from headway.arrays import ArrayT, Operations
from headway.functions.activations import relu, silu
from headway.functions.linear import LinearWeights


@dataclass(frozen=True)
class FeedForwardWeights:
    """Weights of a feed-forward network without a gate.

    Shapes
        up    LinearWeights(out_features=intermediate_size, in_features=hidden_size)
        down  LinearWeights(out_features=hidden_size, in_features=intermediate_size)
    """

    up: LinearWeights
    down: LinearWeights


@dataclass(frozen=True)
class GatedFeedForwardWeights:
    """Weights of a gated feed-forward network.

    Shapes
        gate  LinearWeights(out_features=intermediate_size, in_features=hidden_size)
        up    LinearWeights(out_features=intermediate_size, in_features=hidden_size)
        down  LinearWeights(out_features=hidden_size, in_features=intermediate_size)
    """

    gate: LinearWeights
    up: LinearWeights
    down: LinearWeights


def feed_forward(
    x: ArrayT, weights: FeedForwardWeights, *, activation: Callable[[ArrayT], ArrayT] = relu, ops: Operations = functions
) -> ArrayT:
    """Feed-forward network: up-projection, activation, down-projection.

        activation(x @ upᵀ) @ downᵀ

    Shapes
        x        (..., hidden_size)
        weights  FeedForwardWeights
        return   (..., hidden_size)

    activation   relu by default
    ops          namespace with the function linear; headway.functions by default

    Source   Vaswani et al. 2017, equation 2
    """
    hidden = activation(ops.linear(x, weights.up.weight, weights.up.bias))
    return ops.linear(hidden, weights.down.weight, weights.down.bias)


def gated_feed_forward(
    x: ArrayT,
    weights: GatedFeedForwardWeights,
    *,
    activation: Callable[[ArrayT], ArrayT] = silu,
    combine: Callable[[ArrayT, ArrayT], ArrayT] | None = None,
    ops: Operations = functions,
) -> ArrayT:
    """Gated feed-forward network: the activated gate projection times the up-projection, then the down-projection.

        (activation(x @ gateᵀ) · (x @ upᵀ)) @ downᵀ

    Shapes
        x        (..., hidden_size)
        weights  GatedFeedForwardWeights
        return   (..., hidden_size)

    activation   activation of the gate; silu by default ("SwiGLU")
    combine      function of gate and up projection, such as clamped_swiglu; None (default) for activation(gate) · up
    ops          namespace with the function linear; headway.functions by default

    Source   Shazeer 2020, equation 6
    """
    gate = ops.linear(x, weights.gate.weight, weights.gate.bias)
    up = ops.linear(x, weights.up.weight, weights.up.bias)
    hidden = activation(gate) * up if combine is None else combine(gate, up)
    return ops.linear(hidden, weights.down.weight, weights.down.bias)
