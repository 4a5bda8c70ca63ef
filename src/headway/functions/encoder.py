"""The encoder of the original Transformer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from headway import functions
from headway.arrays import ArrayT, Operations, as_floating
from headway.functions.activations import relu
from headway.functions.feed_forward import FeedForwardWeights
from headway.functions.multi_head_attention import MultiHeadAttentionWeights
from headway.functions.norms import NormWeights


@dataclass(frozen=True)
class EncoderLayerWeights:
    """Weights of one encoder layer.

    Shapes
        attention          MultiHeadAttentionWeights(query_width=hidden_size, key_width=hidden_size, value_width=hidden_size, output_width=hidden_size)
        attention_norm     NormWeights
        feed_forward       FeedForwardWeights
        feed_forward_norm  NormWeights
    """

    attention: MultiHeadAttentionWeights
    attention_norm: NormWeights
    feed_forward: FeedForwardWeights
    feed_forward_norm: NormWeights


@dataclass(frozen=True)
class EncoderWeights:
    """Weights of a stack of encoder layers; `norm` is the final norm of a pre-norm stack.

    Shapes
        layers  num_layers * EncoderLayerWeights
        norm    NormWeights optional
    """

    layers: tuple[EncoderLayerWeights, ...]
    norm: NormWeights | None = None


def encoder_layer(
    x: ArrayT,
    weights: EncoderLayerWeights,
    *,
    num_heads: int,
    mask: ArrayT | None = None,
    is_pre_norm: bool = False,
    activation: Callable[[ArrayT], ArrayT] = relu,
    eps: float = 1e-5,
    ops: Operations = functions,
) -> ArrayT:
    """Transformer encoder layer: self-attention, then feed-forward, each with a residual connection and a layer norm.

        post-norm   x ← norm(x + attention(x)),   x ← norm(x + feed_forward(x))
        pre-norm    x ← x + attention(norm(x)),   x ← x + feed_forward(norm(x))

    Shapes
        x        (..., seq_len, hidden_size)
        weights  EncoderLayerWeights
        mask     (seq_len, seq_len) boolean optional
        return   (..., seq_len, hidden_size)
        where    num_heads = num_kv_heads * group_size

    mask         as in scaled_dot_product_attention; padding_mask makes one that hides padding
    is_pre_norm  True for pre-norm, False for post-norm; False by default, as in the paper
    activation   activation of the feed-forward; relu by default
    eps          eps of the layer norms; 1e-5 by default
    ops          namespace with the functions to call; headway.functions by default

    Source   Vaswani et al. 2017, section 3.1; pre-norm: Xiong et al. 2020
    """

    def attend(x: ArrayT) -> ArrayT:
        return ops.multi_head_attention(x, x, x, weights.attention, num_heads=num_heads, mask=mask, ops=ops)

    def feed_forward(x: ArrayT) -> ArrayT:
        return ops.feed_forward(x, weights.feed_forward, activation=activation, ops=ops)

    x = residual(x, attend, weights.attention_norm, is_pre_norm=is_pre_norm, eps=eps, ops=ops)
    return residual(x, feed_forward, weights.feed_forward_norm, is_pre_norm=is_pre_norm, eps=eps, ops=ops)


def encoder(
    x: ArrayT,
    weights: EncoderWeights,
    *,
    num_heads: int,
    mask: ArrayT | None = None,
    is_pre_norm: bool = False,
    activation: Callable[[ArrayT], ArrayT] = relu,
    eps: float = 1e-5,
    ops: Operations = functions,
) -> ArrayT:
    """Transformer encoder: a stack of encoder layers, and the final norm if the weights have one.

    Shapes
        x        (..., seq_len, hidden_size)
        weights  EncoderWeights
        mask     (seq_len, seq_len) boolean optional
        return   (..., seq_len, hidden_size)
        where    num_heads = num_kv_heads * group_size

    mask, is_pre_norm, activation, eps, ops     as in encoder_layer

    Source   Vaswani et al. 2017, section 3.1
    """
    for layer in weights.layers:
        x = ops.encoder_layer(x, layer, num_heads=num_heads, mask=mask, is_pre_norm=is_pre_norm, activation=activation, eps=eps, ops=ops)
    return x if weights.norm is None else ops.layer_norm(x, weights.norm.weight, weights.norm.bias, eps=eps)


def residual(
    x: ArrayT, sublayer: Callable[[ArrayT], ArrayT], norm: NormWeights, *, is_pre_norm: bool, eps: float = 1e-5, ops: Operations = functions
) -> ArrayT:
    """Residual connection around a sublayer, with a layer norm of the sublayer's input (pre-norm) or of the sum (post-norm).

        post-norm   norm(x + sublayer(x))
        pre-norm    x + sublayer(norm(x))

    Shapes
        x       (..., hidden_size)
        norm    NormWeights
        return  (..., hidden_size)

    Source   He et al. 2016; Vaswani et al. 2017, section 3.1; pre-norm: Xiong et al. 2020
    """
    x = as_floating(x)
    if is_pre_norm:
        return x + sublayer(ops.layer_norm(x, norm.weight, norm.bias, eps=eps))
    return ops.layer_norm(x + sublayer(x), norm.weight, norm.bias, eps=eps)
