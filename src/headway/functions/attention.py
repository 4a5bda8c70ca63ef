"""Scaled dot-product attention."""

from __future__ import annotations

import math

from einops import rearrange

from headway.arrays import Array, ArrayT, array_namespace, as_floating, at_least_float32, cast
from headway.errors import ShapeError
from headway.functions import activations
from headway.functions.masks import apply_mask, causal_mask
from headway.functions.softmax import softmax


def attention_weights(
    query: ArrayT,
    key: ArrayT,
    mask: ArrayT | None = None,
    *,
    is_causal: bool = False,
    scale: float | None = None,
    soft_cap: float | None = None,
) -> ArrayT:
    """Attention weights: softmax of the scaled and masked scores over the keys.

        softmax(query @ keyᵀ · scale + mask)

    Shapes
        query   (..., num_heads, query_len, head_dim)
        key     (..., num_kv_heads, key_len, head_dim)
        mask    (query_len, key_len) boolean optional
        return  (..., num_heads, query_len, key_len)
        where   num_heads = num_kv_heads * group_size

    mask       boolean (True = may attend) or floating-point (added to the scores), broadcastable to the scores; None by default.
               In the equation, a boolean mask is 0 where it is True and -inf where it is False
    is_causal  True to also hide later positions, with the last query aligned with the last key; False by default
    scale      factor of the scores; 1/√head_dim by default
    soft_cap   limits the scores to ±soft_cap with soft_cap · tanh(scores / soft_cap), before the mask; None (no limit) by default

    A query that may attend to no key gets zeros. With grouped heads, query head h uses key head h // group_size.
    float16 and bfloat16 are computed in float32.

    Errors   ShapeError if head_dim differs or num_heads is not a multiple of num_kv_heads; DtypeError for an integer mask.

    >>> import numpy as np
    >>> attention_weights(np.zeros((2, 4)), np.ones((2, 4)), is_causal=True).tolist()
    [[1.0, 0.0], [0.5, 0.5]]

    Source   Vaswani et al. 2017, equation 1 (their d_k is head_dim here); grouped heads: Ainslie et al. 2023;
             soft cap: Gemma Team 2024, section 2
    """
    xp = array_namespace(query, key, mask)
    _check_operands(query, key)
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = _grouped_matmul(at_least_float32(query) * scale, xp.matrix_transpose(at_least_float32(key)))
    if soft_cap is not None:
        scores = activations.soft_cap(scores, soft_cap)
    if mask is not None:
        scores = apply_mask(scores, mask)
    if is_causal and query.shape[-2] > 1:  # a single query is the last one and may attend to every key
        scores = apply_mask(scores, causal_mask(query.shape[-2], key.shape[-2], like=query))
    return cast(softmax(scores), as_floating(query).dtype)


def scaled_dot_product_attention(
    query: ArrayT,
    key: ArrayT,
    value: ArrayT,
    mask: ArrayT | None = None,
    *,
    is_causal: bool = False,
    scale: float | None = None,
    soft_cap: float | None = None,
) -> ArrayT:
    """Scaled dot-product attention.

        softmax(query @ keyᵀ · scale + mask) @ value

    Shapes
        query   (..., num_heads, query_len, head_dim)
        key     (..., num_kv_heads, key_len, head_dim)
        value   (..., num_kv_heads, key_len, value_dim)
        mask    (query_len, key_len) boolean optional
        return  (..., num_heads, query_len, value_dim)
        where   num_heads = num_kv_heads * group_size

    mask, is_causal, scale, soft_cap     as in attention_weights

    A query that may attend to no key gets zeros, never NaN.

    Errors   ShapeError if head_dim or key_len differs, or num_heads is not a multiple of num_kv_heads; DtypeError for an integer mask.

    >>> import numpy as np
    >>> scaled_dot_product_attention(np.zeros((1, 2)), np.ones((2, 2)), np.array([[2.0], [4.0]])).tolist()
    [[3.0]]

    Source   Vaswani et al. 2017, equation 1 (their d_k is head_dim here)
    """
    array_namespace(query, key, value)
    if key.shape[:-1] != value.shape[:-1]:
        raise ShapeError(
            f"got key {tuple(key.shape)} and value {tuple(value.shape)}, expected equal shapes except for the last axis",
            hint="pass one value for each key",
        )
    weights = attention_weights(at_least_float32(query), at_least_float32(key), mask, is_causal=is_causal, scale=scale, soft_cap=soft_cap)
    return cast(_grouped_matmul(weights, at_least_float32(value)), as_floating(query).dtype)


def _grouped_matmul(left: ArrayT, right: ArrayT) -> ArrayT:
    """Multiply (..., num_heads, n, k) by (..., num_kv_heads, k, m); the heads of a group become rows of one product."""
    if left.ndim < 3 or right.ndim < 3 or left.shape[-3] == right.shape[-3]:
        return left @ right
    groups = rearrange(left, "... (kv group) n k -> ... kv (group n) k", kv=right.shape[-3])
    return rearrange(groups @ right, "... kv (group n) m -> ... (kv group) n m", n=left.shape[-2])


def _check_operands(query: Array, key: Array) -> None:
    if query.ndim < 2 or key.ndim < 2 or query.shape[-1] != key.shape[-1]:
        raise ShapeError(
            f"got query {tuple(query.shape)} and key {tuple(key.shape)}, expected (..., seq_len, head_dim) with the same head_dim"
        )
    if query.ndim > 2 and key.ndim > 2 and query.shape[-3] % key.shape[-3]:
        raise ShapeError(
            f"got query {tuple(query.shape)} with {query.shape[-3]} heads and key {tuple(key.shape)} with {key.shape[-3]}, "
            "expected num_heads to be a multiple of num_kv_heads",
            hint="the axes are (..., num_heads, seq_len, head_dim); split_heads makes them",
        )
