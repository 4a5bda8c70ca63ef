"""GPT-2: learned positions, pre-norm layers, a GELU feed-forward, and an output head tied to the token embedding.

Source   Radford et al. 2019
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor

from headway import functions
from headway.errors import ShapeError
from headway.functions import EncoderLayerWeights, NormWeights
from headway.nn.dropout import DropoutRates
from headway.nn.feed_forward import FeedForward
from headway.nn.masks import combined_mask
from headway.nn.module import Module, norm_weights
from headway.nn.self_attention import CausalSelfAttention


@dataclass(frozen=True)
class GPT2Weights:
    """Weights of GPT-2, with the field names of headway.models.gpt2.Weights."""

    token_embedding: Tensor
    position_embedding: Tensor
    layers: tuple[EncoderLayerWeights, ...]
    norm: NormWeights
    output_head: Tensor


class GPT2Layer(Module):
    """Pre-norm layer: causal self-attention, then feed-forward."""

    def __init__(
        self, hidden_size: int, num_heads: int, intermediate_size: int, *, activation: str, dropout: float | DropoutRates, eps: float
    ) -> None:
        super().__init__(dropout)
        self.eps = eps
        self.attention_norm = torch.nn.LayerNorm(hidden_size, eps)
        self.attention = CausalSelfAttention(hidden_size, num_heads, dropout=dropout)
        self.feed_forward_norm = torch.nn.LayerNorm(hidden_size, eps)
        self.feed_forward = FeedForward(hidden_size, intermediate_size, activation=activation, dropout=dropout)

    def weights(self) -> EncoderLayerWeights:
        """Return the parameters as the weights of an encoder layer."""
        return EncoderLayerWeights(
            self.attention.weights(), norm_weights(self.attention_norm), self.feed_forward.weights(), norm_weights(self.feed_forward_norm)
        )

    def forward(self, x: Tensor, *, mask: Tensor | None = None) -> Tensor:
        """Map x (batch_size, seq_len, hidden_size) to the same shape."""

        def attend(x: Tensor) -> Tensor:
            return self.attention(x, mask=mask)

        ops, eps = self.ops, self.eps
        x = functions.residual(x, attend, norm_weights(self.attention_norm), is_pre_norm=True, eps=eps, ops=ops)
        return functions.residual(x, self.feed_forward, norm_weights(self.feed_forward_norm), is_pre_norm=True, eps=eps, ops=ops)


class GPT2(Module):
    """GPT-2 language model: token ids to logits.

    max_seq_len         maximum number of positions
    intermediate_size   width of the feed-forward; 4 · hidden_size by default
    activation          activation of the feed-forward; gelu_tanh by default
    dropout             one rate for the embeddings, the attention weights and the outputs of both sublayers, or DropoutRates;
                        0.1 by default, as in the training of GPT-2
    eps                 eps of the layer norms; 1e-5 by default
    is_tied             True if the output head is the token embedding; True by default

    Initial matrices are normal with standard deviation 0.02, divided by √(2 · num_layers) for those whose output is added to
    the residual stream. load_weights takes the weight tree of a checkpoint that headway.checkpoints has read.

    Errors   ShapeError if hidden_size is not a multiple of num_heads; OptionError for a rate outside [0, 1), or an unknown activation.

    >>> import torch
    >>> GPT2(vocab_size=20, max_seq_len=10, hidden_size=12, num_heads=3, num_layers=2)(torch.tensor([[3, 1, 4]])).shape
    torch.Size([1, 3, 20])
    """

    def __init__(
        self,
        vocab_size: int,
        max_seq_len: int,
        hidden_size: int,
        num_heads: int,
        num_layers: int,
        *,
        intermediate_size: int | None = None,
        activation: str = "gelu_tanh",
        dropout: float | DropoutRates = 0.1,
        eps: float = 1e-5,
        is_tied: bool = True,
    ) -> None:
        super().__init__(dropout)
        intermediate_size = 4 * hidden_size if intermediate_size is None else intermediate_size
        self.eps = eps
        self.token_embedding = torch.nn.Parameter(torch.empty(vocab_size, hidden_size))
        self.position_embedding = torch.nn.Parameter(torch.empty(max_seq_len, hidden_size))
        layers = torch.nn.ModuleList(
            GPT2Layer(hidden_size, num_heads, intermediate_size, activation=activation, dropout=dropout, eps=eps) for _ in range(num_layers)
        )
        self.layers = cast("Sequence[GPT2Layer]", layers)
        self.norm = torch.nn.LayerNorm(hidden_size, eps)
        self.output_head = self.token_embedding if is_tied else torch.nn.Parameter(torch.empty(vocab_size, hidden_size))
        self._initialize()

    def weights(self) -> GPT2Weights:
        """Return the parameters as the weight tree for headway.models.gpt2."""
        layers = tuple(layer.weights() for layer in self.layers)
        return GPT2Weights(self.token_embedding, self.position_embedding, layers, norm_weights(self.norm), self.output_head)

    def forward(self, token_ids: Tensor, *, attention_mask: Tensor | None = None) -> Tensor:
        """Map token ids (batch_size, seq_len) to logits (batch_size, seq_len, vocab_size).

        attention_mask   (batch_size, seq_len): 1 for tokens, 0 for padding on either side; positions count from the first token

        Errors   ShapeError for a sequence longer than max_seq_len; TokenIdError for an id outside the vocabulary.
        """
        seq_len, max_seq_len = token_ids.shape[-1], self.position_embedding.shape[0]
        if seq_len > max_seq_len:
            raise ShapeError(
                f"got {seq_len} tokens, expected at most {max_seq_len}, the number of position embeddings", hint="shorten the sequence"
            )
        embedded = self.ops.embed(token_ids, self.token_embedding)
        mask, position_embeddings = None, self.position_embedding[:seq_len]
        if attention_mask is not None:
            scores = (*token_ids.shape[:-1], self.layers[0].attention.num_heads, seq_len, seq_len)
            mask = combined_mask(None, attention_mask, scores=scores, key=embedded)
            positions = (attention_mask != 0).long().cumsum(-1) - 1
            position_embeddings = self.ops.learned_positions(positions.clamp(min=0), self.position_embedding)
        x = F.dropout(embedded + position_embeddings, self.dropout.embedding, self.training)
        for layer in self.layers:
            x = layer(x, mask=mask)
        return self.ops.unembed(self.ops.layer_norm(x, self.norm.weight, self.norm.bias, eps=self.eps), self.output_head)

    def _initialize(self) -> None:
        standard_deviation = 0.02
        for path, parameter in self.named_parameters():
            if path.endswith("bias"):
                torch.nn.init.zeros_(parameter)
            elif parameter.ndim > 1:
                is_residual = path.endswith(("output.weight", "down.weight"))
                scale = 1 / math.sqrt(2 * len(self.layers)) if is_residual else 1.0
                torch.nn.init.normal_(parameter, std=standard_deviation * scale)
