"""Multi-head attention: parameters, and the ways to call it."""

from __future__ import annotations

import torch
from torch import Tensor

from headway.errors import ShapeError
from headway.functions import MultiHeadAttentionWeights
from headway.nn.dropout import DropoutRates
from headway.nn.masks import combined
from headway.nn.module import Module, linear_weights
from headway.nn.shapes import check_attention


class Attention(Module):
    """The parameters of one multi-head attention; what attends to what is said by the classes made from it.

    hidden_size    the width of the query, and of what comes back
    num_heads      how many heads share that width
    num_kv_heads   how many heads key and value have; num_heads by default
    key_width      the width of the key; hidden_size by default
    value_width    the width of the value; that of the key by default
    has_bias       whether the four projections have a bias; they do by default
    dropout        one rate for the attention weights and for what comes back, or DropoutRates; 0 by default

    Errors   ShapeError where hidden_size does not divide by num_heads, or num_heads not by num_kv_heads.
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
        """The parameters as the tree that functions.multi_head_attention takes."""
        query, key, value, output = map(linear_weights, (self.query, self.key, self.value, self.output))
        return MultiHeadAttentionWeights(query, key, value, output)

    def extra_repr(self) -> str:
        """What print shows beside the parameters."""
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
        mask = combined(mask, attention_mask, scores=scores, key=key)
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
    """Attend several times at once, each head in its own projection, and mix the results: functions.multi_head_attention.

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
        """(..., query_len, hidden_size), (..., key_len, key_width), (..., key_len, value_width) to (..., query_len, hidden_size).

        mask             boolean (True = may attend) or floating (added), anything that broadcasts to (..., num_heads, query_len, key_len)
        attention_mask   (batch_size, key_len), 1 for a token and 0 for padding, as tokenizers make it
        is_causal        also hide later positions; the newest query sits at the newest key
        rotary           (cos, sin) from functions.rotary_cos_sin; off by default

        Errors   ShapeError for another width, another number of values than keys, or a mask that does not fit; DtypeError for a `mask`
                 of whole numbers or a floating `attention_mask`.
        """
        return self._attend(query, key, value, mask=mask, attention_mask=attention_mask, is_causal=is_causal, rotary=rotary)


def check_heads(hidden_size: int, num_heads: int, num_kv_heads: int) -> None:
    """Raise ShapeError unless the width divides into heads, and the heads into groups."""
    if num_heads < 1 or hidden_size % num_heads:
        raise ShapeError(f"came: hidden_size={hidden_size} and num_heads={num_heads}; expected: a width that is a multiple of num_heads")
    if num_kv_heads < 1 or num_heads % num_kv_heads:
        raise ShapeError(f"came: num_heads={num_heads} and num_kv_heads={num_kv_heads}; expected: num_heads a multiple of num_kv_heads")
