"""Multi-head attention. The query, key and value weights each hold the projections of all heads."""

from __future__ import annotations

from dataclasses import dataclass

from einops import rearrange

from headway import functions
from headway.arrays import Array, ArrayT, Operations
from headway.errors import ShapeError
from headway.functions.kv_cache import KVCache
from headway.functions.linear import LinearWeights
from headway.functions.norms import NormWeights


@dataclass(frozen=True)
class MultiHeadAttentionWeights:
    """Weights of multi-head attention; query, key and value heads have the same head_dim.

    A query_norm and a key_norm as wide as the projections normalize all heads together, as in OLMo 2. sinks are those of
    attention_with_sinks.

    Shapes
        query       LinearWeights(out_features=num_heads * head_dim, in_features=query_width)
        key         LinearWeights(out_features=num_kv_heads * head_dim, in_features=key_width)
        value       LinearWeights(out_features=num_kv_heads * head_dim, in_features=value_width)
        output      LinearWeights(out_features=output_width, in_features=num_heads * head_dim)
        query_norm  NormWeights(hidden_size=head_dim) optional
        key_norm    NormWeights(hidden_size=head_dim) optional
        sinks       (num_heads,) optional
    """

    query: LinearWeights
    key: LinearWeights
    value: LinearWeights
    output: LinearWeights
    query_norm: NormWeights | None = None
    key_norm: NormWeights | None = None
    sinks: Array | None = None


def split_heads(x: ArrayT, num_heads: int) -> ArrayT:
    """Split the last axis into heads, and move the head axis before the sequence axis.

        x[..., position, head · head_dim + i] → out[..., head, position, i]

    Shapes
        x       (..., seq_len, num_heads * head_dim)
        return  (..., num_heads, seq_len, head_dim)

    Errors   ShapeError if the last axis is not divisible by num_heads.

    >>> import numpy as np
    >>> split_heads(np.array([[1, 2, 3, 4]]), 2).tolist()
    [[[1, 2]], [[3, 4]]]

    Source   Vaswani et al. 2017, section 3.2.2
    """
    if num_heads < 1 or x.shape[-1] % num_heads:
        raise ShapeError(f"got x {tuple(x.shape)} and num_heads={num_heads}, expected a last axis that is a multiple of num_heads")
    return rearrange(x, "... seq (heads dim) -> ... heads seq dim", heads=num_heads)


def merge_heads(x: ArrayT) -> ArrayT:
    """Concatenate the heads along the last axis: the inverse of split_heads.

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
    query: ArrayT,
    key: ArrayT,
    value: ArrayT,
    weights: MultiHeadAttentionWeights,
    *,
    num_heads: int,
    mask: ArrayT | None = None,
    is_causal: bool = False,
    scale: float | None = None,
    soft_cap: float | None = None,
    rotary: tuple[ArrayT, ArrayT] | None = None,
    kv_cache: KVCache | None = None,
    eps: float = 1e-6,
    ops: Operations = functions,
) -> ArrayT:
    """Multi-head attention, with optional grouped heads, rotary embeddings and KV cache.

        split(query @ Wqᵀ), split(key @ Wkᵀ), split(value @ Wvᵀ) → attention → merge → @ Woᵀ

    Shapes
        query    (..., query_len, query_width)
        key      (..., key_len, key_width)
        value    (..., key_len, value_width)
        weights  MultiHeadAttentionWeights
        mask     (query_len, key_len) boolean optional
        return   (..., query_len, output_width)
        where    num_heads = num_kv_heads * group_size

    For self-attention pass the same array as query, key and value; for cross-attention pass key and value from another sequence.
    The head counts follow from the weights: head_dim = query rows / num_heads, and num_kv_heads = key rows / head_dim.

    mask, is_causal, scale, soft_cap     as in scaled_dot_product_attention
    rotary    (cos, sin) from rotary_cos_sin, applied to queries and keys; None (no rotary embedding) by default
    kv_cache  cache of this layer; the projected keys and values are appended, and the queries attend to the whole cache. None by default
    eps       eps of query_norm and key_norm, RMS norms of each head or of all heads (if the weights have them); 1e-6 by default
    ops       namespace with the functions to call; headway.functions by default

    Errors   ShapeError if the shapes or head counts do not match.

    Source   Vaswani et al. 2017, section 3.2.2; query and key norm: Henry et al. 2020, Dehghani et al. 2023
    """
    q = _project_query(query, weights, num_heads, eps, ops)
    k, v = ops.project_keys_and_values(key, value, weights, num_heads=num_heads, eps=eps, ops=ops)
    if rotary is not None:
        q, k = ops.rotary(q, *rotary), ops.rotary(k, *rotary)
    if kv_cache is not None:
        k, v = kv_cache.append(k, v)
    options = {"is_causal": is_causal, "scale": scale, "soft_cap": soft_cap}
    if weights.sinks is None:
        attended = ops.scaled_dot_product_attention(q, k, v, mask, **options)
    else:
        attended = ops.attention_with_sinks(q, k, v, weights.sinks, mask, **options, ops=ops)
    return ops.linear(ops.merge_heads(attended), weights.output.weight, weights.output.bias)


def project_keys_and_values(
    key: ArrayT, value: ArrayT, weights: MultiHeadAttentionWeights, *, num_heads: int, eps: float = 1e-6, ops: Operations = functions
) -> tuple[ArrayT, ArrayT]:
    """Project keys and values, and split them into heads: the part of multi_head_attention that does not depend on the query.

        split(key @ Wkᵀ), split(value @ Wvᵀ)

    Shapes
        key      (..., key_len, key_width)
        value    (..., key_len, value_width)
        weights  MultiHeadAttentionWeights
        return   (..., num_kv_heads, key_len, head_dim), (..., num_kv_heads, key_len, head_dim)
        where    num_heads = num_kv_heads * group_size

    A decoder calls this once for the encoder output, and cross_attention with the result at every decode step.

    eps       eps of key_norm, if the weights have one; 1e-6 by default
    ops       namespace with the functions to call; headway.functions by default

    Errors   ShapeError if the shapes or head counts do not match.

    Source   Vaswani et al. 2017, section 3.2.2
    """
    if num_heads < 1 or weights.query.weight.shape[0] % num_heads:
        raise ShapeError(
            f"got query weight {tuple(weights.query.weight.shape)} and num_heads={num_heads}, "
            "expected a number of rows that is a multiple of num_heads"
        )
    num_kv_heads = num_kv_heads_of(weights, head_dim=weights.query.weight.shape[0] // num_heads)
    k = _split_and_norm(ops.linear(key, weights.key.weight, weights.key.bias), num_kv_heads, weights.key_norm, eps, ops)
    return k, ops.split_heads(ops.linear(value, weights.value.weight, weights.value.bias), num_kv_heads)


def cross_attention(
    query: ArrayT,
    keys: ArrayT,
    values: ArrayT,
    weights: MultiHeadAttentionWeights,
    *,
    num_heads: int,
    mask: ArrayT | None = None,
    scale: float | None = None,
    eps: float = 1e-6,
    ops: Operations = functions,
) -> ArrayT:
    """Multi-head attention with keys and values already projected by project_keys_and_values.

        split(query @ Wqᵀ) → attention with keys and values → merge → @ Woᵀ

    Shapes
        query    (..., query_len, query_width)
        keys     (..., num_kv_heads, key_len, head_dim)
        values   (..., num_kv_heads, key_len, head_dim)
        weights  MultiHeadAttentionWeights
        mask     (query_len, key_len) boolean optional
        return   (..., query_len, output_width)
        where    num_heads = num_kv_heads * group_size

    mask, scale     as in scaled_dot_product_attention
    eps       eps of query_norm, if the weights have one; 1e-6 by default
    ops       namespace with the functions to call; headway.functions by default

    Errors   ShapeError if the shapes or head counts do not match.

    Source   Vaswani et al. 2017, section 3.2.3, "encoder-decoder attention"
    """
    q = _project_query(query, weights, num_heads, eps, ops)
    attended = ops.scaled_dot_product_attention(q, keys, values, mask, scale=scale)
    return ops.linear(ops.merge_heads(attended), weights.output.weight, weights.output.bias)


def num_kv_heads_of(weights: MultiHeadAttentionWeights, head_dim: int) -> int:
    """Return the number of key heads: the rows of the key weight divided by head_dim.

    Errors   ShapeError if the number of rows is not a multiple of head_dim.
    """
    num_rows = weights.key.weight.shape[0]
    if num_rows % head_dim:
        raise ShapeError(
            f"got key weight {tuple(weights.key.weight.shape)} with head_dim {head_dim} (rows of the query weight / num_heads), "
            "expected a number of rows that is a multiple of head_dim",
            hint="check num_heads",
        )
    return num_rows // head_dim


def _project_query(query: ArrayT, weights: MultiHeadAttentionWeights, num_heads: int, eps: float, ops: Operations) -> ArrayT:
    return _split_and_norm(ops.linear(query, weights.query.weight, weights.query.bias), num_heads, weights.query_norm, eps, ops)


def _split_and_norm(x: ArrayT, num_heads: int, norm: NormWeights | None, eps: float, ops: Operations) -> ArrayT:
    if norm is not None and norm.weight.shape[0] == x.shape[-1]:
        return ops.split_heads(ops.rms_norm(x, norm.weight, eps=eps), num_heads)
    heads = ops.split_heads(x, num_heads)
    return heads if norm is None else ops.rms_norm(heads, norm.weight, eps=eps)
