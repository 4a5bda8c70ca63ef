"""Multi-head attention as a list of separate heads, and conversion to and from the weights of multi_head_attention."""

from __future__ import annotations

from dataclasses import dataclass

from headway import functions
from headway.arrays import ArrayT, Operations, array_namespace
from headway.errors import OptionError, ShapeError
from headway.functions.linear import LinearWeights, as_array
from headway.functions.multi_head_attention import MultiHeadAttentionWeights, num_kv_heads_of


@dataclass(frozen=True)
class HeadWeights:
    """Weights of one attention head.

    Shapes
        query  LinearWeights(out_features=head_dim, in_features=query_width)
        key    LinearWeights(out_features=head_dim, in_features=key_width)
        value  LinearWeights(out_features=head_dim, in_features=value_width)
    """

    query: LinearWeights
    key: LinearWeights
    value: LinearWeights


def stacked_heads_attention(
    query: ArrayT,
    key: ArrayT,
    value: ArrayT,
    heads: tuple[HeadWeights, ...],
    output: LinearWeights,
    *,
    mask: ArrayT | None = None,
    is_causal: bool = False,
    ops: Operations = functions,
) -> ArrayT:
    """Multi-head attention as a list of separate heads, concatenated and then projected.

        concat(head_1, …, head_n) @ Woᵀ,   head_i = attention(query @ Wq_iᵀ, key @ Wk_iᵀ, value @ Wv_iᵀ)

    Shapes
        query   (..., query_len, query_width)
        key     (..., key_len, key_width)
        value   (..., key_len, value_width)
        heads   num_heads * HeadWeights
        output  LinearWeights(out_features=output_width, in_features=num_heads * head_dim)
        mask    (query_len, key_len) boolean optional
        return  (..., query_len, output_width)

    mask, is_causal     as in scaled_dot_product_attention
    ops                 namespace with the functions to call; headway.functions by default

    The result equals multi_head_attention with the weights from stack_heads.

    Source   Vaswani et al. 2017, section 3.2.2, as written there
    """
    xp = array_namespace(query, key, value)
    attended = [
        ops.scaled_dot_product_attention(
            ops.linear(query, head.query.weight, head.query.bias),
            ops.linear(key, head.key.weight, head.key.bias),
            ops.linear(value, head.value.weight, head.value.bias),
            mask,
            is_causal=is_causal,
        )
        for head in heads
    ]
    return ops.linear(xp.concat(attended, axis=-1), output.weight, output.bias)


def stack_heads(heads: tuple[HeadWeights, ...], output: LinearWeights) -> MultiHeadAttentionWeights:
    """Concatenate the weights of separate heads into the weights of multi_head_attention.

    Shapes
        heads   num_heads * HeadWeights
        output  LinearWeights(out_features=output_width, in_features=num_heads * head_dim)
        return  MultiHeadAttentionWeights(num_kv_heads=num_heads, query_norm=None, key_norm=None, sinks=None)

    Errors   ShapeError if some of the heads have a bias and others do not.
    """
    return MultiHeadAttentionWeights(
        query=_stack([head.query for head in heads]),
        key=_stack([head.key for head in heads]),
        value=_stack([head.value for head in heads]),
        output=output,
    )


def unstack_heads(weights: MultiHeadAttentionWeights, num_heads: int) -> tuple[HeadWeights, ...]:
    """Split the weights of multi_head_attention into separate heads: the inverse of stack_heads.

    With grouped heads, each query head gets the key and value weights of its group.

    Shapes
        weights  MultiHeadAttentionWeights(query_norm=None, key_norm=None, sinks=None)
        return   num_heads * HeadWeights
        where    num_heads = num_kv_heads * group_size

    Errors   ShapeError if the weights cannot be split into num_heads heads; OptionError if they have a query norm,
             a key norm or sinks, which HeadWeights lacks.
    """
    if weights.query_norm is not None or weights.key_norm is not None or weights.sinks is not None:
        raise OptionError("got weights with query_norm, key_norm or sinks, expected weights without them, because HeadWeights has none")
    if num_heads < 1 or weights.query.weight.shape[0] % num_heads:
        raise ShapeError(
            f"got query weight {tuple(weights.query.weight.shape)} and num_heads={num_heads}, "
            "expected a number of rows that is a multiple of num_heads"
        )
    head_dim = weights.query.weight.shape[0] // num_heads
    num_kv_heads = num_kv_heads_of(weights, head_dim)
    if num_heads % num_kv_heads:
        raise ShapeError(
            f"got num_heads={num_heads} and num_kv_heads={num_kv_heads} with head_dim {head_dim}, "
            "expected num_heads to be a multiple of num_kv_heads"
        )
    group_size = num_heads // num_kv_heads
    return tuple(
        HeadWeights(
            _rows(weights.query, head, head_dim),
            _rows(weights.key, head // group_size, head_dim),
            _rows(weights.value, head // group_size, head_dim),
        )
        for head in range(num_heads)
    )


def _rows(weights: LinearWeights, head: int, head_dim: int) -> LinearWeights:
    rows = slice(head * head_dim, (head + 1) * head_dim)
    return LinearWeights(as_array(weights.weight)[rows], None if weights.bias is None else weights.bias[rows])


def _stack(parts: list[LinearWeights]) -> LinearWeights:
    matrices = [as_array(part.weight) for part in parts]
    xp = array_namespace(*matrices)
    biases = [part.bias for part in parts if part.bias is not None]
    if biases and len(biases) < len(parts):
        raise ShapeError(f"got {len(biases)} of {len(parts)} heads with a bias, expected all or none")
    return LinearWeights(xp.concat(matrices, axis=0), xp.concat(biases, axis=0) if biases else None)
