"""Multi-head attention."""

from __future__ import annotations

import torch
from torch import Tensor

from headway.errors import ShapeError
from headway.functions import MultiHeadAttentionWeights
from headway.nn.dropout import DropoutRates
from headway.nn.masks import combined_mask
from headway.nn.module import Module, linear_weights
from headway.nn.shapes import check_attention


class Attention(Module):
    """Base class of the attention modules: the parameters of multi-head attention.

    hidden_size    width of the query and of the output
    num_heads      number of query heads
    num_kv_heads   number of key and value heads; num_heads by default
    key_width      width of the key; hidden_size by default
    value_width    width of the value; key_width by default
    has_bias       False to omit the biases of the four projections; True by default
    dropout        one rate for the attention weights and for the output, or DropoutRates; 0 by default

    Errors   ShapeError if hidden_size is not a multiple of num_heads, or num_heads not a multiple of num_kv_heads.
    """

    def __init__(
        self,
        hidden_size: int,
        num_heads: int = 1,
        *,
        num_kv_heads: int | None = None,
        key_width: int | None = None,
        value_width: int | None = None,
        has_bias: bool = True,
        dropout: float | DropoutRates = 0.0,
    ) -> None:
        super().__init__(dropout)
        self.num_heads, self.num_kv_heads = num_heads, num_heads if num_kv_heads is None else num_kv_heads
        check_heads(hidden_size, self.num_heads, self.num_kv_heads)
        key_width = hidden_size if key_width is None else key_width
        kv_size = hidden_size // self.num_heads * self.num_kv_heads
        self.query = torch.nn.Linear(hidden_size, hidden_size, bias=has_bias)
        self.key = torch.nn.Linear(key_width, kv_size, bias=has_bias)
        self.value = torch.nn.Linear(key_width if value_width is None else value_width, kv_size, bias=has_bias)
        self.output = torch.nn.Linear(hidden_size, hidden_size, bias=has_bias)
        for projection in (self.query, self.key, self.value, self.output):
            torch.nn.init.xavier_uniform_(projection.weight)
            if has_bias:
                torch.nn.init.zeros_(projection.bias)

    def weights(self) -> MultiHeadAttentionWeights:
        """Return the parameters as the weight tree for functions.multi_head_attention."""
        query, key, value, output = map(linear_weights, (self.query, self.key, self.value, self.output))
        return MultiHeadAttentionWeights(query, key, value, output)

    def extra_repr(self) -> str:
        """Return the options that print shows."""
        return f"num_heads={self.num_heads}, num_kv_heads={self.num_kv_heads}, dropout={self.dropout}"

    def _attend(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        *,
        mask: Tensor | None,
        attention_mask: Tensor | None,
        is_causal: bool,
        rotary: tuple[Tensor, Tensor] | None,
    ) -> Tensor:
        check_attention(query, key, value, (self.query, self.key, self.value))
        scores = (*query.shape[:-2], self.num_heads, query.shape[-2], key.shape[-2])
        mask = combined_mask(mask, attention_mask, scores=scores, key=key)
        return self.ops.multi_head_attention(
            query,
            key,
            value,
            self.weights(),
            num_heads=self.num_heads,
            mask=mask,
            is_causal=is_causal,
            rotary=rotary,
            ops=self.ops,
        )


class MultiHeadAttention(Attention):
    """Multi-head attention: functions.multi_head_attention.

    >>> import torch
    >>> attention = MultiHeadAttention(12, 3, num_kv_heads=1)
    >>> attention(torch.ones(2, 5, 12), torch.ones(2, 7, 12), torch.ones(2, 7, 12)).shape
    torch.Size([2, 5, 12])
    """

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        *,
        mask: Tensor | None = None,
        attention_mask: Tensor | None = None,
        is_causal: bool = False,
        rotary: tuple[Tensor, Tensor] | None = None,
    ) -> Tensor:
        """Map query (..., query_len, hidden_size) to the same shape, with key (..., key_len, key_width) and value (..., key_len, value_width).

        mask             boolean (True = may attend) or floating-point (added), broadcastable to (..., num_heads, query_len, key_len)
        attention_mask   (batch_size, key_len): 1 for tokens, 0 for padding, as tokenizers return it
        is_causal        additionally hide later positions; the last query is aligned with the last key
        rotary           (cos, sin) from functions.rotary_cos_sin; None (no rotary embedding) by default

        Errors   ShapeError for a wrong width, different numbers of keys and values, or a mask of a wrong shape; DtypeError for an
                 integer `mask` or a floating-point `attention_mask`.
        """
        return self._attend(query, key, value, mask=mask, attention_mask=attention_mask, is_causal=is_causal, rotary=rotary)


def check_heads(hidden_size: int, num_heads: int, num_kv_heads: int) -> None:
    """Raise ShapeError unless hidden_size is a multiple of num_heads, and num_heads a multiple of num_kv_heads."""
    if num_heads < 1 or hidden_size % num_heads:
        raise ShapeError(f"got hidden_size={hidden_size} and num_heads={num_heads}, expected hidden_size to be a multiple of num_heads")
    if num_kv_heads < 1 or num_heads % num_kv_heads:
        raise ShapeError(f"got num_heads={num_heads} and num_kv_heads={num_kv_heads}, expected num_heads to be a multiple of num_kv_heads")
