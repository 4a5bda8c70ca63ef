"""Multi-head attention as it is first told, a list of single heads, and the way from one form to the other."""

from __future__ import annotations

from dataclasses import dataclass

from headway import functions
from headway.arrays import Array, Operations, array_namespace
from headway.errors import OptionError, ShapeError
from headway.functions.linear import LinearWeights
from headway.functions.multi_head_attention import MultiHeadAttentionWeights, num_kv_heads_of


@dataclass(frozen=True)
class HeadWeights:
    """The three projections of one single head.

    Shapes
        query  LinearWeights(out_features=head_dim, in_features=query_width)
        key    LinearWeights(out_features=head_dim, in_features=key_width)
        value  LinearWeights(out_features=head_dim, in_features=value_width)
    """

    query: LinearWeights
    key: LinearWeights
    value: LinearWeights


def stacked_heads_attention(
    query: Array,
    key: Array,
    value: Array,
    heads: tuple[HeadWeights, ...],
    output: LinearWeights,
    *,
    mask: Array | None = None,
    is_causal: bool = False,
    ops: Operations = functions,
) -> Array:
    """Multi-head attention as it is first told: a list of single heads, concatenated, then mixed.

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
    ops                 the namespace whose linear and attention are called; these definitions by default

    Equal to multi_head_attention with the weights that stack_heads makes of these.

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
    """The weights of one multi-head attention from a list of single heads: their rows, one head below the other.

    Shapes
        heads   num_heads * HeadWeights
        output  LinearWeights(out_features=output_width, in_features=num_heads * head_dim)
        return  MultiHeadAttentionWeights(num_kv_heads=num_heads, query_norm=None, key_norm=None)

    Errors   ShapeError where only some of the heads have a bias.
    """
    return MultiHeadAttentionWeights(
        query=_stack([head.query for head in heads]),
        key=_stack([head.key for head in heads]),
        value=_stack([head.value for head in heads]),
        output=output,
    )


def unstack_heads(weights: MultiHeadAttentionWeights, num_heads: int) -> tuple[HeadWeights, ...]:
    """The list of single heads from the weights of one multi-head attention: the inverse of stack_heads.

    Grouped heads share a key and a value; each single head gets them all the same.

    Shapes
        weights  MultiHeadAttentionWeights(query_norm=None, key_norm=None)
        return   num_heads * HeadWeights
        where    num_heads = num_kv_heads * group_size

    Errors   ShapeError where the weights do not divide into num_heads heads; OptionError where they hold a query or key
             norm, which a list of plain heads cannot say.
    """
    if weights.query_norm is not None or weights.key_norm is not None:
        raise OptionError("came: weights with query_norm or key_norm; expected: none; a list of single heads has no place for them")
    if num_heads < 1 or weights.query.weight.shape[0] % num_heads:
        raise ShapeError(
            f"came: query weight {tuple(weights.query.weight.shape)} and num_heads={num_heads}; expected: rows that divide by num_heads"
        )
    head_dim = weights.query.weight.shape[0] // num_heads
    num_kv_heads = num_kv_heads_of(weights, head_dim)
    if num_heads % num_kv_heads:
        raise ShapeError(
            f"came: {num_heads} query heads and {num_kv_heads} key heads of {head_dim}; expected: num_heads a multiple of num_kv_heads"
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
    return LinearWeights(weights.weight[rows], None if weights.bias is None else weights.bias[rows])


def _stack(parts: list[LinearWeights]) -> LinearWeights:
    xp = array_namespace(parts[0].weight)
    biases = [part.bias for part in parts if part.bias is not None]
    if biases and len(biases) < len(parts):
        raise ShapeError(f"came: {len(biases)} of {len(parts)} heads with a bias; expected: all or none")
    return LinearWeights(xp.concat([part.weight for part in parts], axis=0), xp.concat(biases, axis=0) if biases else None)
