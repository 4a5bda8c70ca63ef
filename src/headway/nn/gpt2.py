"""GPT-2: learned positions, pre-norm, a GELU feed-forward, and a head tied to the embedding.

Source   Radford et al. 2019
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from headway import functions
from headway.errors import ShapeError
from headway.functions import EncoderLayerWeights, NormWeights
from headway.nn.dropout import DropoutRates
from headway.nn.feed_forward import FeedForward
from headway.nn.masks import combined
from headway.nn.module import Module, norm_weights
from headway.nn.self_attention import CausalSelfAttention


@dataclass(frozen=True)
class GPT2Weights:
    """The weights of headway.models.gpt2, under the same names: a tree of one is a tree of the other."""

    token_embedding: Tensor
    position_embedding: Tensor
    layers: tuple[EncoderLayerWeights, ...]
    norm: NormWeights
    output_head: Tensor


class GPT2Layer(Module):
    """Look at earlier positions, then think alone; the norm before each part."""

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
        """The parameters, under the names that an encoder's layer has."""
        return EncoderLayerWeights(
            self.attention.weights(), norm_weights(self.attention_norm), self.feed_forward.weights(), norm_weights(self.feed_forward_norm)
        )

    def forward(self, x: Tensor, *, mask: Tensor | None = None) -> Tensor:
        """(batch_size, seq_len, hidden_size) to the same."""

        def attend(x: Tensor) -> Tensor:
            return self.attention(x, mask=mask)

        ops, eps = self.ops, self.eps
        x = functions.residual(x, attend, norm_weights(self.attention_norm), is_pre_norm=True, eps=eps, ops=ops)
        return functions.residual(x, self.feed_forward, norm_weights(self.feed_forward_norm), is_pre_norm=True, eps=eps, ops=ops)


class GPT2(Module):
    """Token ids to a score for every token that may come next.

    max_seq_len         how many positions there are
    intermediate_size   of the feed-forward; 4 · hidden_size by default
    activation          of the feed-forward; gelu_tanh by default
    dropout             one rate for the sum of embeddings and positions, the attention weights, and what both parts of a layer
                        return, or DropoutRates; 0.1 by default, as GPT-2 was trained
    eps                 of the layer norms; 1e-5 by default
    is_tied             whether the output head is the token embedding; it is by default

    Matrices start normal with deviation 0.02, those that write into the residual stream divided by √(2 · num_layers).
    The tree of a checkpoint, as headway.checkpoints reads it, goes in by load_weights.

    Errors   ShapeError where hidden_size does not divide by num_heads; OptionError for a rate outside [0, 1), or an unknown activation.

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
        inner = 4 * hidden_size if intermediate_size is None else intermediate_size
        self.eps = eps
        self.token_embedding = torch.nn.Parameter(torch.empty(vocab_size, hidden_size))
        self.position_embedding = torch.nn.Parameter(torch.empty(max_seq_len, hidden_size))
        self.layers: Any = torch.nn.ModuleList(
            GPT2Layer(hidden_size, num_heads, inner, activation=activation, dropout=dropout, eps=eps) for _ in range(num_layers)
        )
        self.norm = torch.nn.LayerNorm(hidden_size, eps)
        self.output_head = self.token_embedding if is_tied else torch.nn.Parameter(torch.empty(vocab_size, hidden_size))
        self._initialize()

    def weights(self) -> GPT2Weights:
        """The parameters as the tree that headway.models.gpt2 takes."""
        layers = tuple(layer.weights() for layer in self.layers)
        return GPT2Weights(self.token_embedding, self.position_embedding, layers, norm_weights(self.norm), self.output_head)

    def forward(self, token_ids: Tensor, *, attention_mask: Tensor | None = None) -> Tensor:
        """(batch_size, seq_len) whole numbers to logits (batch_size, seq_len, vocab_size).

        attention_mask   (batch_size, seq_len), 1 for a token and 0 for padding, on either side; positions count from the first token

        Errors   ShapeError for a sequence longer than max_seq_len; TokenIdError for an id that the vocabulary does not have.
        """
        seq_len, max_seq_len = token_ids.shape[-1], self.position_embedding.shape[0]
        if seq_len > max_seq_len:
            raise ShapeError(
                f"came: {seq_len} tokens; expected: at most {max_seq_len}, the rows of the position table; shorten the sequence"
            )
        embedded = self.ops.embed(token_ids, self.token_embedding)
        mask, places = None, self.position_embedding[:seq_len]
        if attention_mask is not None:
            scores = (*token_ids.shape[:-1], self.layers[0].attention.num_heads, seq_len, seq_len)
            mask = combined(None, attention_mask, scores=scores, key=embedded)
            numbers = (attention_mask != 0).long().cumsum(-1) - 1
            places = self.ops.learned_positions(numbers.clamp(min=0), self.position_embedding)
        x = F.dropout(embedded + places, self.dropout.embedding, self.training)
        for layer in self.layers:
            x = layer(x, mask=mask)
        return self.ops.unembed(self.ops.layer_norm(x, self.norm.weight, self.norm.bias, eps=self.eps), self.output_head)

    def _initialize(self) -> None:
        deviation = 0.02
        for path, parameter in self.named_parameters():
            if path.endswith("bias"):
                torch.nn.init.zeros_(parameter)
            elif parameter.ndim > 1:
                writes_to_residual = path.endswith(("output.weight", "down.weight"))
                torch.nn.init.normal_(parameter, std=deviation / math.sqrt(2 * len(self.layers)) if writes_to_residual else deviation)
