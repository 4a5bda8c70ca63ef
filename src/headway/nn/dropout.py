"""Dropout inside headway.functions, by replacing some of their operations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import partial
from types import ModuleType, SimpleNamespace

import torch.nn.functional as F
from torch import Tensor

from headway import functions
from headway.arrays import Operations
from headway.functions.dropout import check_rate
from headway.nn.masks import check_mask, combine

SUBLAYERS = ("multi_head_attention", "stacked_heads_attention", "cross_attention", "feed_forward", "gated_feed_forward")
"""Functions whose results are added to the residual stream."""

EMBEDDINGS = ("embed", "learned_positions")


@dataclass(frozen=True)
class DropoutRates:
    """Dropout rates by place; all 0 by default.

    attention   rate for the attention weights
    output      rate for the output of each sublayer, before it is added to the residual stream
    embedding   rate for the sum of token and position embeddings

    Errors   OptionError for a rate outside [0, 1).
    """

    attention: float = 0.0
    output: float = 0.0
    embedding: float = 0.0

    def __post_init__(self) -> None:
        for field in fields(self):
            check_rate(field.name, getattr(self, field.name))

    @classmethod
    def of(cls, dropout: float | DropoutRates) -> DropoutRates:
        """Return the rates; a number is the rate for all places."""
        return dropout if isinstance(dropout, DropoutRates) else cls(dropout, dropout, dropout)


def with_dropout(ops: Operations, *, attention: float = 0.0, output: float = 0.0, embedding: float = 0.0) -> SimpleNamespace:
    """Return the operations with dropout applied to their results, for training.

    attention   rate for the attention weights inside scaled_dot_product_attention; 0 by default
    output      rate for the results of multi-head attention, feed_forward and gated_feed_forward; 0 by default
    embedding   rate for the results of embed and learned_positions, separately; 0 by default

    Elements that are kept are scaled by 1 / (1 - rate). The random numbers are torch's, so torch.manual_seed makes them
    reproducible. For inference, pass `ops` itself to the model.

    Errors   OptionError for a rate outside [0, 1).
    """
    rates = DropoutRates(attention, output, embedding)
    names = functions.__all__ if isinstance(ops, ModuleType) else vars(ops)
    replaced = {name: getattr(ops, name) for name in names}
    if rates.attention:
        replaced["scaled_dot_product_attention"] = partial(attention_with_dropout, rate=rates.attention)
    for wrapped, rate in ((SUBLAYERS, rates.output), (EMBEDDINGS, rates.embedding)):
        if rate:
            replaced |= {name: partial(_followed_by_dropout, replaced[name], rate) for name in wrapped}
    return SimpleNamespace(**replaced)


def _followed_by_dropout(function: Callable[..., Tensor], rate: float, /, *operands: object, **options: object) -> Tensor:
    return F.dropout(function(*operands, **options), rate)


def attention_with_dropout(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    *,
    is_causal: bool = False,
    scale: float | None = None,
    soft_cap: float | None = None,
    rate: float = 0.0,
) -> Tensor:
    """Scaled dot-product attention with dropout of the attention weights; a fused torch kernel if possible.

    rate     dropout rate of the attention weights; 0 by default
    mask, is_causal, scale, soft_cap     as in scaled_dot_product_attention
    """
    check_mask(mask)
    if soft_cap is not None or query.ndim < 3:
        weights = functions.attention_weights(query, key, mask, is_causal=is_causal, scale=scale, soft_cap=soft_cap)
        heads_per_value = query.shape[-3] // value.shape[-3] if query.ndim > 2 else 1
        return F.dropout(weights, rate) @ (value if heads_per_value == 1 else value.repeat_interleave(heads_per_value, dim=-3))
    query_len, key_len, is_square_causal = query.shape[-2], key.shape[-2], False
    if is_causal and query_len > 1:
        if mask is None and query_len == key_len:  # torch aligns is_causal top-left, and does not combine it with a mask
            is_square_causal = True
        else:
            mask = combine(mask, functions.causal_mask(query_len, key_len, like=query))
    is_grouped = query.shape[-3] != key.shape[-3]
    return F.scaled_dot_product_attention(
        query, key, value, mask, dropout_p=rate, is_causal=is_square_causal, scale=scale, enable_gqa=is_grouped
    )
