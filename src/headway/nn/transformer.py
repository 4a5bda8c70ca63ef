"""The encoder–decoder of the original Transformer."""

from __future__ import annotations

import torch
from torch import Tensor

from headway.functions import TransformerWeights
from headway.nn.decoder import Decoder
from headway.nn.dropout import DropoutRates
from headway.nn.encoder import Encoder
from headway.nn.module import Module


class Transformer(Module):
    """Encoder–decoder Transformer: functions.transformer.

    The embeddings and the output projection are not included. Add SinusoidalPositions with the same dropout to the embeddings.

    num_layers           number of layers of the encoder, and of the decoder
    num_decoder_layers   number of layers of the decoder; num_layers by default
    has_last_norm        True for a final norm of each stack; the value of is_pre_norm by default
    is_pre_norm, activation, dropout, eps, has_bias     as in EncoderLayer

    Initial matrices are uniform as in Glorot and Bengio 2010.

    >>> import torch
    >>> Transformer(12, 3, 48, 2)(torch.ones(2, 7, 12), torch.ones(2, 5, 12)).shape
    torch.Size([2, 5, 12])

    Source   Vaswani et al. 2017, figure 1; pre-norm: Xiong et al. 2020
    """

    def __init__(
        self,
        hidden_size: int,
        num_heads: int,
        intermediate_size: int,
        num_layers: int,
        *,
        num_decoder_layers: int | None = None,
        is_pre_norm: bool = False,
        activation: str = "relu",
        dropout: float | DropoutRates = 0.0,
        eps: float = 1e-5,
        has_bias: bool = True,
        has_last_norm: bool | None = None,
    ) -> None:
        super().__init__(dropout)
        self.encoder = Encoder(
            hidden_size,
            num_heads,
            intermediate_size,
            num_layers,
            is_pre_norm=is_pre_norm,
            activation=activation,
            dropout=dropout,
            eps=eps,
            has_bias=has_bias,
            has_last_norm=has_last_norm,
        )
        self.decoder = Decoder(
            hidden_size,
            num_heads,
            intermediate_size,
            num_layers if num_decoder_layers is None else num_decoder_layers,
            is_pre_norm=is_pre_norm,
            activation=activation,
            dropout=dropout,
            eps=eps,
            has_bias=has_bias,
            has_last_norm=has_last_norm,
        )
        for parameter in self.parameters():
            if parameter.ndim > 1:
                torch.nn.init.xavier_uniform_(parameter)

    def weights(self) -> TransformerWeights:
        """Return the parameters as the weight tree for functions.transformer."""
        return TransformerWeights(self.encoder.weights(), self.decoder.weights())

    def forward(
        self,
        source: Tensor,
        target: Tensor,
        *,
        source_mask: Tensor | None = None,
        target_mask: Tensor | None = None,
        source_attention_mask: Tensor | None = None,
        target_attention_mask: Tensor | None = None,
    ) -> Tensor:
        """Map source (..., source_len, hidden_size) and target (..., seq_len, hidden_size) to (..., seq_len, hidden_size).

        source_attention_mask   (batch_size, source_len): 1 for tokens of the source, 0 for padding
        target_attention_mask   (batch_size, seq_len): the same for the target
        source_mask             mask of the source, for the encoder and for the cross-attention
        target_mask             mask of the decoder's self-attention, in addition to the causal mask

        source_mask and target_mask are boolean (True = may attend) or floating-point (added).
        """
        encoder_output = self.encoder(source, mask=source_mask, attention_mask=source_attention_mask)
        return self.decoder(
            target,
            encoder_output,
            mask=target_mask,
            attention_mask=target_attention_mask,
            encoder_mask=source_mask,
            encoder_attention_mask=source_attention_mask,
        )
