"""Multi-head attention: all heads in one projection each of query, key and value."""

from __future__ import annotations

from dataclasses import dataclass

from einops import rearrange

from headway import functions
from headway.arrays import Array, Operations
from headway.errors import ShapeError
from headway.functions.kv_cache import KVCache
from headway.functions.linear import LinearWeights
from headway.functions.norms import NormWeights


@dataclass(frozen=True)
class MultiHeadAttentionWeights:
    """The weights of one multi-head attention; value heads are as wide as key heads.

    Shapes
        query       LinearWeights(out_features=num_heads * head_dim, in_features=query_width)
        key         LinearWeights(out_features=num_kv_heads * head_dim, in_features=key_width)
        value       LinearWeights(out_features=num_kv_heads * head_dim, in_features=value_width)
        output      LinearWeights(out_features=output_width, in_features=num_heads * head_dim)
        query_norm  NormWeights(hidden_size=head_dim) optional
        key_norm    NormWeights(hidden_size=head_dim) optional
    """

    query: LinearWeights
    key: LinearWeights
    value: LinearWeights
    output: LinearWeights
    query_norm: NormWeights | None = None
    key_norm: NormWeights | None = None


def split_heads(x: Array, num_heads: int) -> Array:
    """Cut the last axis into heads, and put the heads before the positions.

        x[..., position, head · head_dim + i] → out[..., head, position, i]

    Shapes
        x       (..., seq_len, num_heads * head_dim)
        return  (..., num_heads, seq_len, head_dim)

    Errors   ShapeError where the width does not divide by num_heads.

    >>> import numpy as np
    >>> split_heads(np.array([[1, 2, 3, 4]]), 2).tolist()
    [[[1, 2]], [[3, 4]]]

    Source   Vaswani et al. 2017, section 3.2.2
    """
    if num_heads < 1 or x.shape[-1] % num_heads:
        raise ShapeError(f"came: x {tuple(x.shape)} and num_heads={num_heads}; expected: a width that is a multiple of num_heads")
    return rearrange(x, "... seq (heads dim) -> ... heads seq dim", heads=num_heads)


def merge_heads(x: Array) -> Array:
    """Put the heads side by side again: the inverse of split_heads.

        x[..., head, position, i] → out[..., position, head · head_dim + i]

    Shapes
        x       (..., num_heads, seq_len, head_dim)
        return  (..., seq_len, num_heads * head_dim)

    >>> import numpy as np
    >>> merge_heads(np.array([[[1, 2]], [[3, 4]]])).tolist()
    [[1, 2, 3, 4]]

    Source   Vaswani et al. 2017, section 3.2.2 (their Concat)
    """
    return rearrange(x, "... heads seq dim -> ... seq (heads dim)")


def multi_head_attention(
    query: Array,
    key: Array,
    value: Array,
    weights: MultiHeadAttentionWeights,
    *,
    num_heads: int,
    mask: Array | None = None,
    is_causal: bool = False,
    scale: float | None = None,
    soft_cap: float | None = None,
    rotary: tuple[Array, Array] | None = None,
    kv_cache: KVCache | None = None,
    eps: float = 1e-6,
    ops: Operations = functions,
) -> Array:
    """Attend several times at once, each head in its own projection, and mix the results.

        split(query @ Wqᵀ), split(key @ Wkᵀ), split(value @ Wvᵀ) → attention → merge → @ Woᵀ

    Shapes
        query    (..., query_len, query_width)
        key      (..., key_len, key_width)
        value    (..., key_len, value_width)
        weights  MultiHeadAttentionWeights
        mask     (query_len, key_len) boolean optional
        return   (..., query_len, output_width)
        where    num_heads = num_kv_heads * group_size

    Self-attention is query = key = value; cross-attention takes key and value from another sequence.
    head_dim is the query projection's height over num_heads, and num_kv_heads the key projection's over head_dim.

    mask, is_causal, scale, soft_cap     as in scaled_dot_product_attention
    rotary    (cos, sin) from rotary_cos_sin: turns queries and keys by their positions; off by default
    kv_cache  earlier keys and values of this layer, put before the given ones and extended by them; off by default
    eps       of query_norm and key_norm (RMS norms per head, where the weights have them); 1e-6 by default
    ops       the namespace whose linear, rms_norm, rotary and attention are called; these definitions by default

    Errors   ShapeError where widths or heads do not fit.

    Source   Vaswani et al. 2017, section 3.2.2; query and key norm: Henry et al. 2020, Dehghani et al. 2023
    """
    q = _project_query(query, weights, num_heads, eps, ops)
    k, v = ops.project_keys_and_values(key, value, weights, num_heads=num_heads, eps=eps, ops=ops)
    if rotary is not None:
        q, k = ops.rotary(q, *rotary), ops.rotary(k, *rotary)
    if kv_cache is not None:
        k, v = kv_cache.append(k, v)
    attended = ops.scaled_dot_product_attention(q, k, v, mask, is_causal=is_causal, scale=scale, soft_cap=soft_cap)
    return ops.linear(ops.merge_heads(attended), weights.output.weight, weights.output.bias)


def project_keys_and_values(
    key: Array, value: Array, weights: MultiHeadAttentionWeights, *, num_heads: int, eps: float = 1e-6, ops: Operations = functions
) -> tuple[Array, Array]:
    """The keys and values of all heads: the half of multi_head_attention that does not look at the query.

        split(key @ Wkᵀ), split(value @ Wvᵀ)

    Shapes
        key      (..., key_len, key_width)
        value    (..., key_len, value_width)
        weights  MultiHeadAttentionWeights
        return   (..., num_kv_heads, key_len, head_dim), (..., num_kv_heads, key_len, head_dim)
        where    num_heads = num_kv_heads * group_size

    A decoder projects its encoder's output once, and attends to the result at every step, by cross_attention.

    eps       of key_norm, where the weights have one; 1e-6 by default
    ops       the namespace whose linear, split_heads and rms_norm are called; these definitions by default

    Errors   ShapeError where widths or heads do not fit.

    Source   Vaswani et al. 2017, section 3.2.2
    """
    if num_heads < 1 or weights.query.weight.shape[0] % num_heads:
        raise ShapeError(
            f"came: query weight {tuple(weights.query.weight.shape)} and num_heads={num_heads}; expected: rows that divide by num_heads"
        )
    num_kv_heads = num_kv_heads_of(weights, head_dim=weights.query.weight.shape[0] // num_heads)
    k = ops.split_heads(ops.linear(key, weights.key.weight, weights.key.bias), num_kv_heads)
    v = ops.split_heads(ops.linear(value, weights.value.weight, weights.value.bias), num_kv_heads)
    if weights.key_norm is not None:
        k = ops.rms_norm(k, weights.key_norm.weight, eps=eps)
    return k, v


def cross_attention(
    query: Array,
    keys: Array,
    values: Array,
    weights: MultiHeadAttentionWeights,
    *,
    num_heads: int,
    mask: Array | None = None,
    scale: float | None = None,
    eps: float = 1e-6,
    ops: Operations = functions,
) -> Array:
    """Multi-head attention to keys and values that project_keys_and_values made before.

        split(query @ Wqᵀ) → attention to keys and values → merge → @ Woᵀ

    Shapes
        query    (..., query_len, query_width)
        keys     (..., num_kv_heads, key_len, head_dim)
        values   (..., num_kv_heads, key_len, head_dim)
        weights  MultiHeadAttentionWeights
        mask     (query_len, key_len) boolean optional
        return   (..., query_len, output_width)
        where    num_heads = num_kv_heads * group_size

    mask, scale     as in scaled_dot_product_attention
    eps       of query_norm, where the weights have one; 1e-6 by default
    ops       the namespace whose linear, rms_norm and attention are called; these definitions by default

    Errors   ShapeError where widths or heads do not fit.

    Source   Vaswani et al. 2017, section 3.2.3, "encoder-decoder attention"
    """
    q = _project_query(query, weights, num_heads, eps, ops)
    attended = ops.scaled_dot_product_attention(q, keys, values, mask, scale=scale)
    return ops.linear(ops.merge_heads(attended), weights.output.weight, weights.output.bias)


def num_kv_heads_of(weights: MultiHeadAttentionWeights, head_dim: int) -> int:
    """How many key heads the key projection's height makes.

    Errors   ShapeError where it is no multiple of head_dim.
    """
    height = weights.key.weight.shape[0]
    if height % head_dim:
        raise ShapeError(
            f"came: key weight {tuple(weights.key.weight.shape)} with head_dim {head_dim} (query rows / num_heads); "
            "expected: key rows that are a multiple of head_dim; check num_heads"
        )
    return height // head_dim


def _project_query(query: Array, weights: MultiHeadAttentionWeights, num_heads: int, eps: float, ops: Operations) -> Array:
    q = ops.split_heads(ops.linear(query, weights.query.weight, weights.query.bias), num_heads)
    return q if weights.query_norm is None else ops.rms_norm(q, weights.query_norm.weight, eps=eps)
