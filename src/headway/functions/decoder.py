"""The decoder of the original Transformer, and the two halves together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from headway import functions
from headway.arrays import Array, Operations
from headway.functions.activations import relu
from headway.functions.encoder import EncoderWeights, residual
from headway.functions.feed_forward import FeedForwardWeights
from headway.functions.multi_head_attention import MultiHeadAttentionWeights
from headway.functions.norms import NormWeights


@dataclass(frozen=True)
class DecoderLayerWeights:
    """The weights of one decoder layer.

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
    """The weights of a stack of decoder layers, with the last norm that pre-norm stacks need.

    Shapes
        layers  num_layers * DecoderLayerWeights
        norm    NormWeights optional
    """

    layers: tuple[DecoderLayerWeights, ...]
    norm: NormWeights | None = None


@dataclass(frozen=True)
class TransformerWeights:
    """The weights of an encoder and a decoder.

    Shapes
        encoder  EncoderWeights
        decoder  DecoderWeights(encoder_width=hidden_size)
    """

    encoder: EncoderWeights
    decoder: DecoderWeights


def decoder_layer(
    x: Array,
    encoder_output: Array,
    weights: DecoderLayerWeights,
    *,
    num_heads: int,
    mask: Array | None = None,
    encoder_mask: Array | None = None,
    is_pre_norm: bool = False,
    activation: Callable[[Array], Array] = relu,
    eps: float = 1e-5,
    ops: Operations = functions,
) -> Array:
    """Look at what was written so far, then at what the encoder read, then think alone.

        post-norm   x ← norm(x + part(x))      for causal self-attention, cross-attention, feed_forward in turn
        pre-norm    x ← x + part(norm(x))

    Shapes
        x               (..., seq_len, hidden_size)
        encoder_output  (..., source_len, encoder_width)
        weights         DecoderLayerWeights
        mask            (seq_len, seq_len) boolean optional
        encoder_mask    (seq_len, source_len) boolean optional
        return          (..., seq_len, hidden_size)
        where           num_heads = num_kv_heads * group_size

    mask          hides positions of x, besides the later ones, which are always hidden
    encoder_mask  hides positions of encoder_output: its padding
    is_pre_norm, activation, eps, ops     as in encoder_layer

    Source   Vaswani et al. 2017, section 3.1; pre-norm: Xiong et al. 2020
    """

    def attend_to_self(x: Array) -> Array:
        return ops.multi_head_attention(x, x, x, weights.self_attention, num_heads=num_heads, mask=mask, is_causal=True, ops=ops)

    def attend_to_encoder(x: Array) -> Array:
        return ops.multi_head_attention(
            x, encoder_output, encoder_output, weights.cross_attention, num_heads=num_heads, mask=encoder_mask, ops=ops
        )

    def think(x: Array) -> Array:
        return ops.feed_forward(x, weights.feed_forward, activation=activation, ops=ops)

    x = residual(x, attend_to_self, weights.self_attention_norm, is_pre_norm=is_pre_norm, eps=eps, ops=ops)
    x = residual(x, attend_to_encoder, weights.cross_attention_norm, is_pre_norm=is_pre_norm, eps=eps, ops=ops)
    return residual(x, think, weights.feed_forward_norm, is_pre_norm=is_pre_norm, eps=eps, ops=ops)


def decoder(
    x: Array,
    encoder_output: Array,
    weights: DecoderWeights,
    *,
    num_heads: int,
    mask: Array | None = None,
    encoder_mask: Array | None = None,
    is_pre_norm: bool = False,
    activation: Callable[[Array], Array] = relu,
    eps: float = 1e-5,
    ops: Operations = functions,
) -> Array:
    """A stack of decoder layers, each fed by the one below and all by the encoder, and a last norm where there is one.

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
    source: Array,
    target: Array,
    weights: TransformerWeights,
    *,
    num_heads: int,
    source_mask: Array | None = None,
    target_mask: Array | None = None,
    is_pre_norm: bool = False,
    activation: Callable[[Array], Array] = relu,
    eps: float = 1e-5,
    ops: Operations = functions,
) -> Array:
    """Read the source once, and from it turn every target position into what should come next.

        decoder(target, encoder(source))

    Shapes
        source       (..., source_len, hidden_size)
        target       (..., seq_len, hidden_size)
        weights      TransformerWeights
        source_mask  (1, source_len) boolean optional
        target_mask  (seq_len, seq_len) boolean optional
        return       (..., seq_len, hidden_size)
        where        num_heads = num_kv_heads * group_size

    source_mask  hides padding of the source, from the encoder and from the decoder alike (padding_mask)
    target_mask  hides positions of the target, besides the later ones, which are always hidden
    is_pre_norm, activation, eps, ops     as in encoder_layer

    Source   Vaswani et al. 2017, figure 1, from above the embeddings to below the output's linear map
    """
    read = ops.encoder(
        source, weights.encoder, num_heads=num_heads, mask=source_mask, is_pre_norm=is_pre_norm, activation=activation, eps=eps, ops=ops
    )
    return ops.decoder(
        target,
        read,
        weights.decoder,
        num_heads=num_heads,
        mask=target_mask,
        encoder_mask=source_mask,
        is_pre_norm=is_pre_norm,
        activation=activation,
        eps=eps,
        ops=ops,
    )
