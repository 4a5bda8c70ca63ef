"""The decoder of the original Transformer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor

from headway.functions import DecoderLayerWeights, DecoderWeights
from headway.nn.cross_attention import CrossAttention
from headway.nn.dropout import DropoutRates
from headway.nn.feed_forward import FeedForward, activation_of
from headway.nn.masks import combined_mask
from headway.nn.module import Module, norm_weights
from headway.nn.self_attention import CausalSelfAttention
from headway.nn.shapes import check_batch, check_width


class DecoderLayer(Module):
    """Transformer decoder layer: functions.decoder_layer.

    encoder_width   width of the encoder output; hidden_size by default
    is_pre_norm, activation, dropout, eps, has_bias     as in EncoderLayer

    Errors   ShapeError if hidden_size is not a multiple of num_heads; OptionError for a rate outside [0, 1), or an unknown activation.

    >>> import torch
    >>> DecoderLayer(12, 3, 48, encoder_width=8)(torch.ones(2, 5, 12), torch.ones(2, 7, 8)).shape
    torch.Size([2, 5, 12])
    """

    def __init__(
        self,
        hidden_size: int,
        num_heads: int,
        intermediate_size: int,
        *,
        encoder_width: int | None = None,
        is_pre_norm: bool = False,
        activation: str = "relu",
        dropout: float | DropoutRates = 0.0,
        eps: float = 1e-5,
        has_bias: bool = True,
    ) -> None:
        super().__init__(dropout)
        self.is_pre_norm, self.eps = is_pre_norm, eps
        self.self_attention = CausalSelfAttention(hidden_size, num_heads, has_bias=has_bias, dropout=dropout)
        self.self_attention_norm = torch.nn.LayerNorm(hidden_size, eps, bias=has_bias)
        self.cross_attention = CrossAttention(hidden_size, num_heads, source_width=encoder_width, has_bias=has_bias, dropout=dropout)
        self.cross_attention_norm = torch.nn.LayerNorm(hidden_size, eps, bias=has_bias)
        self.feed_forward = FeedForward(hidden_size, intermediate_size, activation=activation, has_bias=has_bias, dropout=dropout)
        self.feed_forward_norm = torch.nn.LayerNorm(hidden_size, eps, bias=has_bias)

    def weights(self) -> DecoderLayerWeights:
        """Return the parameters as the weight tree for functions.decoder_layer."""
        return DecoderLayerWeights(
            self.self_attention.weights(),
            norm_weights(self.self_attention_norm),
            self.cross_attention.weights(),
            norm_weights(self.cross_attention_norm),
            self.feed_forward.weights(),
            norm_weights(self.feed_forward_norm),
        )

    def forward(
        self,
        x: Tensor,
        encoder_output: Tensor,
        *,
        mask: Tensor | None = None,
        attention_mask: Tensor | None = None,
        encoder_mask: Tensor | None = None,
        encoder_attention_mask: Tensor | None = None,
    ) -> Tensor:
        """Map x (..., seq_len, hidden_size) and encoder_output (..., source_len, encoder_width) to (..., seq_len, hidden_size).

        mask, attention_mask                   masks of the self-attention, in addition to the causal mask
        encoder_mask, encoder_attention_mask   masks of the cross-attention, usually for the padding of encoder_output
        """
        check_width("x", x, self.self_attention.query.in_features)
        check_width("encoder_output", encoder_output, self.cross_attention.key.in_features)
        check_batch("x", x, "encoder_output", encoder_output)
        num_heads, (*leading, seq_len, _) = self.self_attention.num_heads, x.shape
        scores = (*leading, num_heads, seq_len, seq_len)
        cross_scores = (*leading, num_heads, seq_len, encoder_output.shape[-2])
        return self.ops.decoder_layer(
            x,
            encoder_output,
            self.weights(),
            num_heads=num_heads,
            mask=combined_mask(mask, attention_mask, scores=scores, key=x),
            encoder_mask=combined_mask(encoder_mask, encoder_attention_mask, scores=cross_scores, key=encoder_output),
            is_pre_norm=self.is_pre_norm,
            activation=activation_of(self.ops, self.feed_forward.activation),
            eps=self.eps,
            ops=self.ops,
        )


class Decoder(Module):
    """Transformer decoder: a stack of decoder layers and an optional final norm (functions.decoder).

    encoder_width   width of the encoder output; hidden_size by default
    has_last_norm   True for a final norm; the value of is_pre_norm by default
    is_pre_norm, activation, dropout, eps, has_bias     as in EncoderLayer

    >>> import torch
    >>> Decoder(12, 3, 48, num_layers=2)(torch.ones(2, 5, 12), torch.ones(2, 7, 12)).shape
    torch.Size([2, 5, 12])
    """

    def __init__(
        self,
        hidden_size: int,
        num_heads: int,
        intermediate_size: int,
        num_layers: int,
        *,
        encoder_width: int | None = None,
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
            DecoderLayer(
                hidden_size,
                num_heads,
                intermediate_size,
                encoder_width=encoder_width,
                is_pre_norm=is_pre_norm,
                activation=activation,
                dropout=dropout,
                eps=eps,
                has_bias=has_bias,
            )
            for _ in range(num_layers)
        )
        self.layers = cast("Sequence[DecoderLayer]", layers)
        has_last_norm = is_pre_norm if has_last_norm is None else has_last_norm
        self.norm = torch.nn.LayerNorm(hidden_size, eps, bias=has_bias) if has_last_norm else None

    def weights(self) -> DecoderWeights:
        """Return the parameters as the weight tree for functions.decoder."""
        return DecoderWeights(tuple(layer.weights() for layer in self.layers), None if self.norm is None else norm_weights(self.norm))

    def forward(
        self,
        x: Tensor,
        encoder_output: Tensor,
        *,
        mask: Tensor | None = None,
        attention_mask: Tensor | None = None,
        encoder_mask: Tensor | None = None,
        encoder_attention_mask: Tensor | None = None,
    ) -> Tensor:
        """Map x (..., seq_len, hidden_size) to the same shape; encoder_output and masks as in DecoderLayer."""
        for layer in self.layers:
            x = layer(
                x,
                encoder_output,
                mask=mask,
                attention_mask=attention_mask,
                encoder_mask=encoder_mask,
                encoder_attention_mask=encoder_attention_mask,
            )
        return x if self.norm is None else self.ops.layer_norm(x, self.norm.weight, self.norm.bias, eps=self.eps)
