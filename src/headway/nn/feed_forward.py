"""Position-wise feed-forward networks."""

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
    """Feed-forward network: functions.feed_forward.

    activation   relu, gelu, gelu_tanh, silu or sigmoid; relu by default
    has_bias     False to omit the biases; True by default
    dropout      dropout rate of the output; 0 by default

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
        """Return the parameters as the weight tree for functions.feed_forward."""
        return FeedForwardWeights(linear_weights(self.up), linear_weights(self.down))

    def forward(self, x: Tensor) -> Tensor:
        """Map x (..., hidden_size) to the same shape."""
        check_width("x", x, self.up.in_features)
        return self.ops.feed_forward(x, self.weights(), activation=activation_of(self.ops, self.activation), ops=self.ops)


class GatedFeedForward(Module):
    """Gated feed-forward network: functions.gated_feed_forward.

    activation   activation of the gate: relu, gelu, gelu_tanh, silu or sigmoid; silu by default ("SwiGLU")
    has_bias     True to add biases; False by default
    dropout      dropout rate of the output; 0 by default

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
        """Return the parameters as the weight tree for functions.gated_feed_forward."""
        return GatedFeedForwardWeights(linear_weights(self.gate), linear_weights(self.up), linear_weights(self.down))

    def forward(self, x: Tensor) -> Tensor:
        """Map x (..., hidden_size) to the same shape."""
        check_width("x", x, self.up.in_features)
        return self.ops.gated_feed_forward(x, self.weights(), activation=activation_of(self.ops, self.activation), ops=self.ops)


def check_activation(name: str) -> str:
    """Return the name; raise OptionError if there is no such activation."""
    if name not in ACTIVATIONS:
        raise OptionError(f"got activation={name!r}, expected one of {', '.join(ACTIVATIONS)}")
    return name


def activation_of(ops: Operations, name: str) -> Callable[[Tensor], Tensor]:
    """Return the activation with this name from the operations."""
    return getattr(ops, name)
