"""The decoder of the original Transformer, and the full encoder–decoder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from headway import functions
from headway.arrays import ArrayT, Operations
from headway.functions.activations import relu
from headway.functions.encoder import EncoderWeights, residual
from headway.functions.feed_forward import FeedForwardWeights
from headway.functions.multi_head_attention import MultiHeadAttentionWeights
from headway.functions.norms import NormWeights


@dataclass(frozen=True)
class DecoderLayerWeights:
    """Weights of one decoder layer.

    Shapes
        self_attention        MultiHeadAttentionWeights(query_width=hidden_size, key_width=hidden_size, value_width=hidden_size, output_width=hidden_size)
        self_attention_norm   NormWeights
        cross_attention       MultiHeadAttentionWeights(query_width=hidden_size, key_width=encoder_width, value_width=encoder_width, output_width=hidden_size)
        cross_attention_norm  NormWeights
        feed_forward          FeedForwardWeights
        feed_forward_norm     NormWeights
    """

    self_attention: MultiHeadAttentionWeights
    self_attention_norm: NormWeights
    cross_attention: MultiHeadAttentionWeights
    cross_attention_norm: NormWeights
    feed_forward: FeedForwardWeights
    feed_forward_norm: NormWeights


@dataclass(frozen=True)
class DecoderWeights:
    """Weights of a stack of decoder layers; `norm` is the final norm of a pre-norm stack.

    Shapes
        layers  num_layers * DecoderLayerWeights
        norm    NormWeights optional
    """

    layers: tuple[DecoderLayerWeights, ...]
    norm: NormWeights | None = None


@dataclass(frozen=True)
class TransformerWeights:
    """Weights of an encoder and a decoder.

    Shapes
        encoder  EncoderWeights
        decoder  DecoderWeights(encoder_width=hidden_size)
    """

    encoder: EncoderWeights
    decoder: DecoderWeights


def decoder_layer(
    x: ArrayT,
    encoder_output: ArrayT,
    weights: DecoderLayerWeights,
    *,
    num_heads: int,
    mask: ArrayT | None = None,
    encoder_mask: ArrayT | None = None,
    is_pre_norm: bool = False,
    activation: Callable[[ArrayT], ArrayT] = relu,
    eps: float = 1e-5,
    ops: Operations = functions,
) -> ArrayT:
    """Transformer decoder layer: causal self-attention, cross-attention, feed-forward, each with a residual connection and a layer norm.

        for sublayer in (causal self-attention, cross-attention, feed-forward):
            post-norm   x ← norm(x + sublayer(x))
            pre-norm    x ← x + sublayer(norm(x))

    Shapes
        x               (..., seq_len, hidden_size)
        encoder_output  (..., source_len, encoder_width)
        weights         DecoderLayerWeights
        mask            (seq_len, seq_len) boolean optional
        encoder_mask    (seq_len, source_len) boolean optional
        return          (..., seq_len, hidden_size)
        where           num_heads = num_kv_heads * group_size

    mask          mask of the self-attention, in addition to the causal mask
    encoder_mask  mask of the cross-attention, usually the padding mask of encoder_output
    is_pre_norm, activation, eps, ops     as in encoder_layer

    Source   Vaswani et al. 2017, section 3.1; pre-norm: Xiong et al. 2020
    """

    def attend_to_self(x: ArrayT) -> ArrayT:
        return ops.multi_head_attention(x, x, x, weights.self_attention, num_heads=num_heads, mask=mask, is_causal=True, ops=ops)

    def attend_to_encoder(x: ArrayT) -> ArrayT:
        return ops.multi_head_attention(
            x, encoder_output, encoder_output, weights.cross_attention, num_heads=num_heads, mask=encoder_mask, ops=ops
        )

    def feed_forward(x: ArrayT) -> ArrayT:
        return ops.feed_forward(x, weights.feed_forward, activation=activation, ops=ops)

    x = residual(x, attend_to_self, weights.self_attention_norm, is_pre_norm=is_pre_norm, eps=eps, ops=ops)
    x = residual(x, attend_to_encoder, weights.cross_attention_norm, is_pre_norm=is_pre_norm, eps=eps, ops=ops)
    return residual(x, feed_forward, weights.feed_forward_norm, is_pre_norm=is_pre_norm, eps=eps, ops=ops)


def decoder(
    x: ArrayT,
    encoder_output: ArrayT,
    weights: DecoderWeights,
    *,
    num_heads: int,
    mask: ArrayT | None = None,
    encoder_mask: ArrayT | None = None,
    is_pre_norm: bool = False,
    activation: Callable[[ArrayT], ArrayT] = relu,
    eps: float = 1e-5,
    ops: Operations = functions,
) -> ArrayT:
    """Transformer decoder: a stack of decoder layers, and the final norm if the weights have one.

    Shapes
        x               (..., seq_len, hidden_size)
        encoder_output  (..., source_len, encoder_width)
        weights         DecoderWeights
        mask            (seq_len, seq_len) boolean optional
        encoder_mask    (seq_len, source_len) boolean optional
        return          (..., seq_len, hidden_size)
        where           num_heads = num_kv_heads * group_size

    mask, encoder_mask, is_pre_norm, activation, eps, ops     as in decoder_layer

    Source   Vaswani et al. 2017, section 3.1
    """
    for layer in weights.layers:
        x = ops.decoder_layer(
            x,
            encoder_output,
            layer,
            num_heads=num_heads,
            mask=mask,
            encoder_mask=encoder_mask,
            is_pre_norm=is_pre_norm,
            activation=activation,
            eps=eps,
            ops=ops,
        )
    return x if weights.norm is None else ops.layer_norm(x, weights.norm.weight, weights.norm.bias, eps=eps)


def transformer(
    source: ArrayT,
    target: ArrayT,
    weights: TransformerWeights,
    *,
    num_heads: int,
    source_mask: ArrayT | None = None,
    target_mask: ArrayT | None = None,
    is_pre_norm: bool = False,
    activation: Callable[[ArrayT], ArrayT] = relu,
    eps: float = 1e-5,
    ops: Operations = functions,
) -> ArrayT:
    """Encoder–decoder Transformer: encode the source, then decode the target with cross-attention to the encoded source.

        decoder(target, encoder(source))

    Shapes
        source       (..., source_len, hidden_size)
        target       (..., seq_len, hidden_size)
        weights      TransformerWeights
        source_mask  (1, source_len) boolean optional
        target_mask  (seq_len, seq_len) boolean optional
        return       (..., seq_len, hidden_size)
        where        num_heads = num_kv_heads * group_size

    source_mask  padding mask of the source (see padding_mask), for the encoder and for the cross-attention
    target_mask  mask of the decoder's self-attention, in addition to the causal mask
    is_pre_norm, activation, eps, ops     as in encoder_layer

    The embeddings and the output projection are not included.

    Source   Vaswani et al. 2017, figure 1
    """
    encoder_output = ops.encoder(
        source, weights.encoder, num_heads=num_heads, mask=source_mask, is_pre_norm=is_pre_norm, activation=activation, eps=eps, ops=ops
    )
    return ops.decoder(
        target,
        encoder_output,
        weights.decoder,
        num_heads=num_heads,
        mask=target_mask,
        encoder_mask=source_mask,
        is_pre_norm=is_pre_norm,
        activation=activation,
        eps=eps,
        ops=ops,
    )
