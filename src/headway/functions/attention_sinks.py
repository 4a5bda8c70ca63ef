"""Attention with a learned sink per head."""

from __future__ import annotations

from headway import functions
from headway.arrays import ArrayT, Operations, array_namespace, at_least_float32
from headway.errors import ShapeError
from headway.functions.masks import apply_mask, causal_mask


def attention_with_sinks(
    query: ArrayT,
    key: ArrayT,
    value: ArrayT,
    sinks: ArrayT,
    mask: ArrayT | None = None,
    *,
    is_causal: bool = False,
    scale: float | None = None,
    soft_cap: float | None = None,
    ops: Operations = functions,
) -> ArrayT:
    """Scaled dot-product attention in which each head has a sink: a learned score that takes a share of the weights, and adds no value.

        exp(scores) / (exp(sink) + Σ exp(scores)) @ value,   scores = query @ keyᵀ · scale + mask

    Shapes
        query   (..., num_heads, query_len, head_dim)
        key     (..., num_kv_heads, key_len, head_dim)
        value   (..., num_kv_heads, key_len, value_dim)
        sinks   (num_heads,)
        mask    (query_len, key_len) boolean optional
        return  (..., num_heads, query_len, value_dim)
        where   num_heads = num_kv_heads * group_size

    mask, is_causal, scale, soft_cap     as in scaled_dot_product_attention
    ops      namespace with the function scaled_dot_product_attention; headway.functions by default

    The sink is one more key, of zeros, whose score the added mask gives, with a value of zeros. A sink of -inf is no sink.

    Errors   ShapeError if there is not one sink per head; else as scaled_dot_product_attention.

    >>> import numpy as np
    >>> zeros = np.zeros((1, 1, 2))
    >>> attention_with_sinks(zeros, zeros, np.array([[[4.0]]]), np.array([0.0])).tolist()
    [[[2.0]]]

    Source   Xiao et al. 2023; the code of gpt-oss (OpenAI 2025)
    """
    xp = array_namespace(query, key, value, sinks)
    num_heads, query_len, key_len = query.shape[-3], query.shape[-2], key.shape[-2]
    if tuple(sinks.shape) != (num_heads,):
        raise ShapeError(f"got sinks {tuple(sinks.shape)} and query {tuple(query.shape)}, expected one sink for each of {num_heads} heads")
    column = at_least_float32(sinks)[:, None, None] + xp.zeros_like(at_least_float32(query)[..., :1])
    added = xp.zeros_like(xp.broadcast_to(column, (*column.shape[:-1], key_len)))
    added = added if mask is None else apply_mask(added, mask)
    added = apply_mask(added, causal_mask(query_len, key_len, like=query)) if is_causal else added
    keys, values = (xp.concat([each, xp.zeros_like(each[..., :1, :])], axis=-2) for each in (key, value))
    return ops.scaled_dot_product_attention(query, keys, values, xp.concat([added, column], axis=-1), scale=scale, soft_cap=soft_cap)
