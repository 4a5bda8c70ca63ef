"""The part of a layer that works on every position alone."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from headway.arrays import Operations
from headway.errors import OptionError
from headway.functions import FeedForwardWeights, GatedFeedForwardWeights
from headway.nn.dropout import DropoutRates
from headway.nn.module import Module, linear_weights
from headway.nn.shapes import check_width

ACTIVATIONS = ("relu", "gelu", "gelu_tanh", "silu", "sigmoid")


class FeedForward(Module):
    """Widen, bend, and narrow again: functions.feed_forward.

    activation   one of relu, gelu, gelu_tanh, silu, sigmoid; relu by default
    has_bias     whether both maps have a bias; they do by default
    dropout      the rate for what comes back; 0 by default

    Errors   OptionError for an unknown activation.

    >>> import torch
    >>> FeedForward(12, 48)(torch.ones(2, 5, 12)).shape
    torch.Size([2, 5, 12])
    """

    def __init__(
        self,
        hidden_size: int,
        intermediate_size: int,
        *,
        activation: str = "relu",
        has_bias: bool = True,
        dropout: float | DropoutRates = 0.0,
    ) -> None:
        super().__init__(dropout)
        self.activation = check_activation(activation)
        self.up = torch.nn.Linear(hidden_size, intermediate_size, bias=has_bias)
        self.down = torch.nn.Linear(intermediate_size, hidden_size, bias=has_bias)

    def weights(self) -> FeedForwardWeights:
        """The parameters as the tree that functions.feed_forward takes."""
        return FeedForwardWeights(linear_weights(self.up), linear_weights(self.down))

    def forward(self, x: Tensor) -> Tensor:
        """(..., hidden_size) to the same."""
        check_width("x", x, self.up.in_features)
        return self.ops.feed_forward(x, self.weights(), activation=activation_of(self.ops, self.activation), ops=self.ops)


class GatedFeedForward(Module):
    """Widen twice, let one decide how much of the other passes, and narrow again: functions.gated_feed_forward.

    activation   of the gate, one of relu, gelu, gelu_tanh, silu, sigmoid; silu by default ("SwiGLU")
    has_bias     whether the three maps have a bias; they do not by default
    dropout      the rate for what comes back; 0 by default

    Errors   OptionError for an unknown activation.

    >>> import torch
    >>> GatedFeedForward(12, 32)(torch.ones(2, 5, 12)).shape
    torch.Size([2, 5, 12])
    """

    def __init__(
        self,
        hidden_size: int,
        intermediate_size: int,
        *,
        activation: str = "silu",
        has_bias: bool = False,
        dropout: float | DropoutRates = 0.0,
    ) -> None:
        super().__init__(dropout)
        self.activation = check_activation(activation)
        self.gate = torch.nn.Linear(hidden_size, intermediate_size, bias=has_bias)
        self.up = torch.nn.Linear(hidden_size, intermediate_size, bias=has_bias)
        self.down = torch.nn.Linear(intermediate_size, hidden_size, bias=has_bias)

    def weights(self) -> GatedFeedForwardWeights:
        """The parameters as the tree that functions.gated_feed_forward takes."""
        return GatedFeedForwardWeights(linear_weights(self.gate), linear_weights(self.up), linear_weights(self.down))

    def forward(self, x: Tensor) -> Tensor:
        """(..., hidden_size) to the same."""
        check_width("x", x, self.up.in_features)
        return self.ops.gated_feed_forward(x, self.weights(), activation=activation_of(self.ops, self.activation), ops=self.ops)


def check_activation(name: str) -> str:
    """The name, or OptionError where there is no such activation."""
    if name not in ACTIVATIONS:
        raise OptionError(f"came: activation={name!r}; expected one of {', '.join(ACTIVATIONS)}")
    return name


def activation_of(ops: Operations, name: str) -> Callable[[Tensor], Tensor]:
    """The activation of that name among these operations."""
    return getattr(ops, name)
