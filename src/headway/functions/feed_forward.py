"""The part of a layer that works on every position alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from headway import functions
from headway.arrays import Array, Operations
from headway.functions.activations import relu, silu
from headway.functions.linear import LinearWeights


@dataclass(frozen=True)
class FeedForwardWeights:
    """The weights of a plain feed-forward.

    Shapes
        up    LinearWeights(out_features=intermediate_size, in_features=hidden_size)
        down  LinearWeights(out_features=hidden_size, in_features=intermediate_size)
    """

    up: LinearWeights
    down: LinearWeights


@dataclass(frozen=True)
class GatedFeedForwardWeights:
    """The weights of a gated feed-forward.

    Shapes
        gate  LinearWeights(out_features=intermediate_size, in_features=hidden_size)
        up    LinearWeights(out_features=intermediate_size, in_features=hidden_size)
        down  LinearWeights(out_features=hidden_size, in_features=intermediate_size)
    """

    gate: LinearWeights
    up: LinearWeights
    down: LinearWeights


def feed_forward(
    x: Array, weights: FeedForwardWeights, *, activation: Callable[[Array], Array] = relu, ops: Operations = functions
) -> Array:
    """Widen, bend, and narrow again.

        activation(x @ upᵀ) @ downᵀ

    Shapes
        x        (..., hidden_size)
        weights  FeedForwardWeights
        return   (..., hidden_size)

    activation   relu by default
    ops          the namespace whose linear is called; these definitions by default

    Source   Vaswani et al. 2017, equation 2
    """
    hidden = activation(ops.linear(x, weights.up.weight, weights.up.bias))
    return ops.linear(hidden, weights.down.weight, weights.down.bias)


def gated_feed_forward(
    x: Array, weights: GatedFeedForwardWeights, *, activation: Callable[[Array], Array] = silu, ops: Operations = functions
) -> Array:
    """Widen twice, let one decide how much of the other passes, and narrow again.

        (activation(x @ gateᵀ) · (x @ upᵀ)) @ downᵀ

    Shapes
        x        (..., hidden_size)
        weights  GatedFeedForwardWeights
        return   (..., hidden_size)

    activation   silu by default ("SwiGLU")
    ops          the namespace whose linear is called; these definitions by default

    Source   Shazeer 2020, equation 6
    """
    gate = activation(ops.linear(x, weights.gate.weight, weights.gate.bias))
    hidden = gate * ops.linear(x, weights.up.weight, weights.up.bias)
    return ops.linear(hidden, weights.down.weight, weights.down.bias)
