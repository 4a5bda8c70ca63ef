"""Multi-head attention as a list of separate heads, and conversion between this form and MultiHeadAttention."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor

from headway import functions
from headway.functions import HeadWeights, LinearWeights
from headway.nn.dropout import DropoutRates
from headway.nn.masks import combined_mask
from headway.nn.module import Module, linear_weights
from headway.nn.multi_head_attention import Attention, MultiHeadAttention, check_heads
from headway.nn.shapes import check_attention


@dataclass(frozen=True)
class StackedHeadsWeights:
    """Weights of separate heads and of the output projection."""

    heads: tuple[HeadWeights, ...]
    output: LinearWeights


class Head(torch.nn.Module):
    """The projections of one attention head."""

    def __init__(self, widths: tuple[int, int, int], head_dim: int, has_bias: bool) -> None:
        super().__init__()
        self.query, self.key, self.value = (torch.nn.Linear(width, head_dim, bias=has_bias) for width in widths)


class StackedHeads(Module):
    """Multi-head attention as a list of separate heads: functions.stacked_heads_attention.

    With the same parameters it computes the same as MultiHeadAttention, but slower; it is meant to be read.

    hidden_size, num_heads, key_width, value_width, has_bias, dropout     as in MultiHeadAttention

    Errors   ShapeError if hidden_size is not a multiple of num_heads; OptionError for a rate outside [0, 1).

    >>> import torch
    >>> heads = StackedHeads(12, 3)
    >>> x = torch.randn(2, 5, 12)
    >>> bool(torch.allclose(heads(x, x, x), heads.to_multi_head()(x, x, x), atol=1e-5))
    True
    """

    def __init__(
        self,
        hidden_size: int,
        num_heads: int,
        *,
        key_width: int | None = None,
        value_width: int | None = None,
        has_bias: bool = True,
        dropout: float | DropoutRates = 0.0,
    ) -> None:
        super().__init__(dropout)
        check_heads(hidden_size, num_heads, num_heads)
        key_width = hidden_size if key_width is None else key_width
        widths = (hidden_size, key_width, key_width if value_width is None else value_width)
        heads = torch.nn.ModuleList(Head(widths, hidden_size // num_heads, has_bias) for _ in range(num_heads))
        self.heads = cast("Sequence[Head]", heads)
        self.output = torch.nn.Linear(hidden_size, hidden_size, bias=has_bias)

    @classmethod
    def from_multi_head(cls, module: Attention) -> StackedHeads:
        """Convert an attention module to separate heads, with copies of its parameters; grouped heads become separate ones."""
        stacked = cls(
            module.query.in_features,
            module.num_heads,
            key_width=module.key.in_features,
            value_width=module.value.in_features,
            has_bias=module.query.bias is not None,
            dropout=module.dropout,
        )
        stacked.to(module.query.weight)
        weights = module.weights()
        stacked.load_weights(StackedHeadsWeights(functions.unstack_heads(weights, module.num_heads), weights.output))
        return stacked.train(module.training)

    def to_multi_head(self) -> MultiHeadAttention:
        """Convert to a MultiHeadAttention, with copies of the parameters."""
        head = self.heads[0]
        module = MultiHeadAttention(
            head.query.in_features,
            len(self.heads),
            key_width=head.key.in_features,
            value_width=head.value.in_features,
            has_bias=self.output.bias is not None,
            dropout=self.dropout,
        )
        module.to(self.output.weight)
        weights = self.weights()
        module.load_weights(functions.stack_heads(weights.heads, weights.output))
        return module.train(self.training)

    def weights(self) -> StackedHeadsWeights:
        """Return the parameters as the weights for functions.stacked_heads_attention."""
        heads = (HeadWeights(linear_weights(head.query), linear_weights(head.key), linear_weights(head.value)) for head in self.heads)
        return StackedHeadsWeights(tuple(heads), linear_weights(self.output))

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        *,
        mask: Tensor | None = None,
        attention_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """Compute the attention as in MultiHeadAttention; the mask has no head axis and broadcasts to (..., query_len, key_len)."""
        head = self.heads[0]
        check_attention(query, key, value, (head.query, head.key, head.value))
        scores = (*query.shape[:-1], key.shape[-2])
        mask = combined_mask(mask, attention_mask, scores=scores, key=key)
        weights = self.weights()
        return self.ops.stacked_heads_attention(
            query, key, value, weights.heads, weights.output, mask=mask, is_causal=is_causal, ops=self.ops
        )
