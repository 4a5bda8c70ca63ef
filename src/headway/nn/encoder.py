"""The encoder of the original Transformer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor

from headway.functions import EncoderLayerWeights, EncoderWeights
from headway.nn.dropout import DropoutRates
from headway.nn.feed_forward import FeedForward, activation_of
from headway.nn.masks import combined_mask
from headway.nn.module import Module, norm_weights
from headway.nn.self_attention import SelfAttention
from headway.nn.shapes import check_width


class EncoderLayer(Module):
    """Transformer encoder layer: functions.encoder_layer.

    is_pre_norm   True to normalize the input of each sublayer instead of the sum; False by default, as in the paper
    activation    activation of the feed-forward: relu, gelu, gelu_tanh, silu or sigmoid; relu by default
    dropout       one rate for the attention weights and the outputs of both sublayers, or DropoutRates; 0 by default
    eps           eps of the layer norms; 1e-5 by default
    has_bias      False to omit the biases of linear layers and norms; True by default

    Errors   ShapeError if hidden_size is not a multiple of num_heads; OptionError for a rate outside [0, 1), or an unknown activation.

    >>> import torch
    >>> EncoderLayer(12, 3, 48)(torch.ones(2, 5, 12)).shape
    torch.Size([2, 5, 12])
    """

    def __init__(
        self,
        hidden_size: int,
        num_heads: int,
        intermediate_size: int,
        *,
        is_pre_norm: bool = False,
        activation: str = "relu",
        dropout: float | DropoutRates = 0.0,
        eps: float = 1e-5,
        has_bias: bool = True,
    ) -> None:
        super().__init__(dropout)
        self.is_pre_norm, self.eps = is_pre_norm, eps
        self.attention = SelfAttention(hidden_size, num_heads, has_bias=has_bias, dropout=dropout)
        self.attention_norm = torch.nn.LayerNorm(hidden_size, eps, bias=has_bias)
        self.feed_forward = FeedForward(hidden_size, intermediate_size, activation=activation, has_bias=has_bias, dropout=dropout)
        self.feed_forward_norm = torch.nn.LayerNorm(hidden_size, eps, bias=has_bias)

    def weights(self) -> EncoderLayerWeights:
        """Return the parameters as the weight tree for functions.encoder_layer."""
        return EncoderLayerWeights(
            self.attention.weights(), norm_weights(self.attention_norm), self.feed_forward.weights(), norm_weights(self.feed_forward_norm)
        )

    def forward(self, x: Tensor, *, mask: Tensor | None = None, attention_mask: Tensor | None = None) -> Tensor:
        """Map x (..., seq_len, hidden_size) to the same shape; masks as in MultiHeadAttention."""
        check_width("x", x, self.attention.query.in_features)
        num_heads = self.attention.num_heads
        scores = (*x.shape[:-2], num_heads, x.shape[-2], x.shape[-2])
        return self.ops.encoder_layer(
            x,
            self.weights(),
            num_heads=num_heads,
            mask=combined_mask(mask, attention_mask, scores=scores, key=x),
            is_pre_norm=self.is_pre_norm,
            activation=activation_of(self.ops, self.feed_forward.activation),
            eps=self.eps,
            ops=self.ops,
        )


class Encoder(Module):
    """Transformer encoder: a stack of encoder layers and an optional final norm (functions.encoder).

    has_last_norm   True for a final norm; the value of is_pre_norm by default
    is_pre_norm, activation, dropout, eps, has_bias     as in EncoderLayer

    >>> import torch
    >>> Encoder(12, 3, 48, num_layers=2, is_pre_norm=True)(torch.ones(2, 5, 12)).shape
    torch.Size([2, 5, 12])
    """

    def __init__(
        self,
        hidden_size: int,
        num_heads: int,
        intermediate_size: int,
        num_layers: int,
        *,
        is_pre_norm: bool = False,
        activation: str = "relu",
        dropout: float | DropoutRates = 0.0,
        eps: float = 1e-5,
        has_bias: bool = True,
        has_last_norm: bool | None = None,
    ) -> None:
        super().__init__(dropout)
        self.eps = eps
        layers = torch.nn.ModuleList(
            EncoderLayer(
                hidden_size,
                num_heads,
                intermediate_size,
                is_pre_norm=is_pre_norm,
                activation=activation,
                dropout=dropout,
                eps=eps,
                has_bias=has_bias,
            )
            for _ in range(num_layers)
        )
        self.layers = cast("Sequence[EncoderLayer]", layers)
        has_last_norm = is_pre_norm if has_last_norm is None else has_last_norm
        self.norm = torch.nn.LayerNorm(hidden_size, eps, bias=has_bias) if has_last_norm else None

    def weights(self) -> EncoderWeights:
        """Return the parameters as the weight tree for functions.encoder."""
        return EncoderWeights(tuple(layer.weights() for layer in self.layers), None if self.norm is None else norm_weights(self.norm))

    def forward(self, x: Tensor, *, mask: Tensor | None = None, attention_mask: Tensor | None = None) -> Tensor:
        """Map x (..., seq_len, hidden_size) to the same shape; masks as in MultiHeadAttention."""
        for layer in self.layers:
            x = layer(x, mask=mask, attention_mask=attention_mask)
        return x if self.norm is None else self.ops.layer_norm(x, self.norm.weight, self.norm.bias, eps=self.eps)
