"""Dropout for functions that know nothing of it: the same operations, some of which forget at random."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import partial
from types import ModuleType, SimpleNamespace
from typing import Any

import torch.nn.functional as F

from headway import functions
from headway.arrays import Array, Operations
from headway.functions.dropout import check_rate
from headway.nn.masks import check_mask, joined

BRANCHES = ("multi_head_attention", "stacked_heads_attention", "cross_attention", "feed_forward", "gated_feed_forward")
"""What the residual connections of the definitions lead around."""

EMBEDDINGS = ("embed", "learned_positions")


@dataclass(frozen=True)
class DropoutRates:
    """How large a share is dropped, and where; all 0 by default.

    attention   of the attention weights
    output      of what a part returns to the residual connection around it
    embedding   of the sum of embeddings and positions

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
        """One number is the rate everywhere."""
        return dropout if isinstance(dropout, DropoutRates) else cls(dropout, dropout, dropout)


def with_dropout(ops: Operations, *, attention: float = 0.0, output: float = 0.0, embedding: float = 0.0) -> SimpleNamespace:
    """The same operations for training: what they return is dropped at random, and what is kept is scaled by 1 / (1 - rate).

    attention   the rate for the attention weights inside scaled_dot_product_attention; 0 by default
    output      the rate for what attention with several heads, feed_forward and gated_feed_forward return; 0 by default
    embedding   the rate for what embed and learned_positions return, each by itself; 0 by default

    The draws are torch's own: torch.manual_seed repeats them. A model that answers takes `ops` as they are.

    Errors   OptionError for a rate outside [0, 1).
    """
    rates = DropoutRates(attention, output, embedding)
    names = functions.__all__ if isinstance(ops, ModuleType) else vars(ops)
    replaced = {name: getattr(ops, name) for name in names}
    if rates.attention:
        replaced["scaled_dot_product_attention"] = partial(attention_with_dropout, rate=rates.attention)
    for changed, rate in ((BRANCHES, rates.output), (EMBEDDINGS, rates.embedding)):
        if rate:
            replaced |= {name: partial(_followed_by_dropout, replaced[name], rate) for name in changed}
    return SimpleNamespace(**replaced)


def _followed_by_dropout(function: Callable[..., Array], rate: float, /, *operands: Any, **options: Any) -> Array:
    return F.dropout(function(*operands, **options), rate)


def attention_with_dropout(
    query: Array,
    key: Array,
    value: Array,
    mask: Array | None = None,
    *,
    is_causal: bool = False,
    scale: float | None = None,
    soft_cap: float | None = None,
    rate: float = 0.0,
) -> Array:
    """functions.scaled_dot_product_attention, its weights dropped at random; fused by torch where torch can.

    rate     the share of the attention weights to drop; 0 by default
    mask, is_causal, scale, soft_cap     as in scaled_dot_product_attention
    """
    check_mask(mask)
    if soft_cap is not None or query.ndim < 3:
        weights = functions.attention_weights(query, key, mask, is_causal=is_causal, scale=scale, soft_cap=soft_cap)
        heads_per_value = query.shape[-3] // value.shape[-3] if query.ndim > 2 else 1
        return F.dropout(weights, rate) @ (value if heads_per_value == 1 else value.repeat_interleave(heads_per_value, dim=-3))
    query_len, key_len, is_square_causal = query.shape[-2], key.shape[-2], False
    if is_causal and query_len > 1:
        if mask is None and query_len == key_len:  # torch's own is top-left, and takes no mask beside
            is_square_causal = True
        else:
            mask = joined(mask, functions.causal_mask(query_len, key_len, like=query))
    is_grouped = query.shape[-3] != key.shape[-3]
    return F.scaled_dot_product_attention(
        query, key, value, mask, dropout_p=rate, is_causal=is_square_causal, scale=scale, enable_gqa=is_grouped
    )
