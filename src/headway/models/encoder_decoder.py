"""The encoder–decoder: source and target token ids to logits, for every architecture that an EncoderDecoderSpec describes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from headway import functions
from headway.arrays import Array, Operations, cast
from headway.errors import ShapeError, UnsupportedError
from headway.functions import KVCache, MultiHeadAttentionWeights, NormWeights
from headway.models import encoder
from headway.models.encoder import masked_bias
from headway.models.encoder_decoder_spec import BucketSpec, EncoderDecoderSpec
from headway.models.parts import normalized, once_per_config, scaled, transformed
from headway.models.past import KVCaches, visible
from headway.models.source import Source


@dataclass(frozen=True, kw_only=True)
class CrossLayerWeights(encoder.LayerWeights):
    """The weights of one layer of the decoder, with the fields of CrossLayerSpec."""

    cross_attention_norm: NormWeights | None = None
    cross_attention: MultiHeadAttentionWeights
    cross_attention_sum_norm: NormWeights | None = None


@dataclass(frozen=True, kw_only=True)
class EncoderWeights:
    """The layers, their position_bias (num_buckets, num_heads) if the spec has buckets, and the final norm if it has one."""

    position_bias: Array | None = None
    layers: tuple[encoder.LayerWeights, ...]
    norm: NormWeights | None = None


@dataclass(frozen=True, kw_only=True)
class DecoderWeights:
    """The same of the decoder."""

    position_bias: Array | None = None
    layers: tuple[CrossLayerWeights, ...]
    norm: NormWeights | None = None


@dataclass(frozen=True, kw_only=True)
class Weights:
    """The weights of an encoder–decoder; of some checkpoints, those of its encoder only. The embeddings and the head are often one array.

    token_embedding   (vocab_size, hidden_size), of the source
    target_embedding  (decoder_vocab_size, hidden_size)
    output_head       (decoder_vocab_size, hidden_size)
    logit_bias        (1, decoder_vocab_size), if the checkpoint has one
    """

    token_embedding: Array
    target_embedding: Array | None = None
    encoder: EncoderWeights
    decoder: DecoderWeights | None = None
    output_head: Array | None = None
    logit_bias: Array | None = None


def encode(token_ids: Array, weights: Any, spec: EncoderDecoderSpec, *, lengths: Array | None, ops: Operations) -> Array:
    """Compute the encoder's output; the arguments are those of an architecture's encode."""
    stack, seq_len = weights.encoder, token_ids.shape[-1]
    mask = None if lengths is None else functions.padding_mask(lengths, seq_len)
    if spec.buckets is not None:
        bias = ops.relative_position_bias(stack.position_bias, seq_len, seq_len, max_distance=spec.buckets.max_distance)
        mask = masked_bias(bias, mask)
    x = _embedded(token_ids, weights.token_embedding, spec, 0, ops)
    x = encoder.run_layers(x, stack.layers, spec.encoder, masks={None: mask}, rotary={}, ops=ops)
    return normalized(x, stack, spec, "norm", ops)


def read(token_ids: Array, weights: Any, spec: EncoderDecoderSpec, *, lengths: Array | None, ops: Operations) -> Source:
    """Encode the source and project it to the keys and values of each layer's cross-attention; arguments as in encode.

    Errors   UnsupportedError for weights without a decoder.
    """
    if weights.decoder is None:
        raise UnsupportedError("got the weights of an encoder, expected those of an encoder–decoder", hint="compute embeddings with them")
    encoded = encode(token_ids, weights, spec, lengths=lengths, ops=ops)
    layers = tuple(
        ops.project_keys_and_values(encoded, encoded, each.cross_attention, num_heads=layer.cross_attention.num_heads, ops=ops)
        for layer, each in zip(spec.decoder, weights.decoder.layers, strict=True)
    )
    return Source(layers, None if lengths is None else functions.padding_mask(lengths, token_ids.shape[-1]))


def hidden_states(
    token_ids: Array, weights: Any, spec: EncoderDecoderSpec, *, source: Source, kv_cache: KVCaches, ops: Operations
) -> Array:
    """Compute the decoder's hidden states; the arguments are those of an architecture's hidden_states."""
    stack = weights.decoder
    mask = visible(token_ids, kv_cache, None)
    if spec.buckets is not None:
        mask = _causal_bias(token_ids, stack.position_bias, kv_cache, mask, spec.buckets, ops)
    x = _embedded(token_ids, weights.target_embedding, spec, kv_cache[0].length if kv_cache else 0, ops)
    for index, (layer, each, (keys, values)) in enumerate(zip(spec.decoder, stack.layers, source.layers, strict=True)):
        normed = normalized(x, each, layer, "attention_norm", ops)
        x = x + ops.multi_head_attention(
            normed,
            normed,
            normed,
            each.attention,
            num_heads=layer.attention.num_heads,
            mask=mask,
            is_causal=mask is None,
            scale=layer.attention.scale,
            kv_cache=kv_cache[index] if kv_cache else None,
            ops=ops,
        )
        x = normalized(x, each, layer, "attention_sum_norm", ops)
        normed, cross = normalized(x, each, layer, "cross_attention_norm", ops), layer.cross_attention
        x = x + ops.cross_attention(
            normed, keys, values, each.cross_attention, num_heads=cross.num_heads, mask=source.mask, scale=cross.scale, ops=ops
        )
        x = normalized(x, each, layer, "cross_attention_sum_norm", ops)
        normed = normalized(x, each, layer, "feed_forward_norm", ops)
        x = x + transformed(normed, each.feed_forward, layer.feed_forward, ops)
        x = normalized(x, each, layer, "feed_forward_sum_norm", ops)
    return normalized(x, stack, spec, "norm", ops)


def logits(hidden: Array, weights: Any, spec: EncoderDecoderSpec, *, ops: Operations) -> Array:
    """Compute the logits (..., decoder_vocab_size) from hidden states (..., hidden_size)."""
    scores = ops.unembed(scaled(hidden, spec.hidden_scale), weights.output_head)
    return scores if weights.logit_bias is None else scores + weights.logit_bias[0]


def _embedded(token_ids: Array, table: Array, spec: EncoderDecoderSpec, offset: int, ops: Operations) -> Array:
    seq_len = token_ids.shape[-1]
    if spec.num_sinusoids is not None and offset + seq_len > spec.num_sinusoids:
        raise ShapeError(
            f"got {offset + seq_len} tokens, expected at most max_position_embeddings={spec.num_sinusoids}", hint="shorten the text"
        )
    x = scaled(ops.embed(token_ids, table), spec.embedding_scale)
    if spec.num_sinusoids is None:
        return x
    return x + cast(ops.sinusoidal_positions(seq_len, spec.hidden_size, offset=offset, interleaved=False, like=x), x.dtype)


def _causal_bias(token_ids: Array, table: Array, kv_cache: KVCaches, mask: Array | None, buckets: BucketSpec, ops: Operations) -> Any:
    """Return the position bias (num_heads, query_len, key_len) of the target, with -inf where the mask hides keys."""
    query_len = token_ids.shape[-1]
    offset = kv_cache[0].length if kv_cache else 0
    key_len = kv_cache[0].key_len(query_len) if kv_cache else query_len
    bias = ops.relative_position_bias(table, query_len, key_len, max_distance=buckets.max_distance, is_bidirectional=False, offset=offset)
    return masked_bias(bias, functions.causal_mask(query_len, key_len, offset=offset, like=token_ids) if mask is None else mask)


class EncoderDecoderFunctions(NamedTuple):
    """The functions of an architecture's module: see headway.models."""

    encode: Callable[..., Array]
    read: Callable[..., Source]
    new_kv_cache: Callable[[Any, int, int, Array], list[KVCache]]
    hidden_states: Callable[..., Array]
    logits: Callable[..., Array]
    forward: Callable[..., Array]


def encoder_decoder_functions(spec: Callable[[Any], EncoderDecoderSpec]) -> EncoderDecoderFunctions:
    """Return the functions of an architecture, which take its config, from the function that returns the spec of a config."""
    spec = once_per_config(spec)

    def architecture_encode(
        token_ids: Array, weights: Any, config: Any, *, lengths: Array | None = None, ops: Operations = functions
    ) -> Array:
        """Compute the encoder's output from source token ids.

        Shapes
            token_ids  (batch_size, source_len) integer
            lengths    (batch_size,) integer optional
            return     (batch_size, source_len, hidden_size)

        lengths    number of real tokens of each sequence, before the padding on the right; all by default
        ops        the namespace of operations; headway.functions by default
        """
        return encode(token_ids, weights, spec(config), lengths=lengths, ops=ops)

    def architecture_read(
        token_ids: Array, weights: Any, config: Any, *, lengths: Array | None = None, ops: Operations = functions
    ) -> Source:
        """Encode the source and project it to the keys and values of each layer's cross-attention; arguments as in encode."""
        return read(token_ids, weights, spec(config), lengths=lengths, ops=ops)

    def new_kv_cache(config: Any, batch_size: int, max_seq_len: int, like: Array) -> list[KVCache]:
        """Return an empty KV cache for batch_size targets of up to max_seq_len tokens, one entry per decoder layer."""
        sizes = [(layer.attention.num_kv_heads, max_seq_len, layer.attention.head_dim) for layer in spec(config).decoder]
        return [KVCache.empty((batch_size, *size), like) for size in sizes]

    def architecture_hidden_states(
        token_ids: Array, weights: Any, config: Any, *, source: Source, kv_cache: KVCaches = None, ops: Operations = functions
    ) -> Array:
        """Compute the decoder's hidden states, which `logits` takes, from target token ids.

        Shapes
            token_ids  (batch_size, seq_len) integer
            return     (batch_size, seq_len, hidden_size)

        source     the result of read
        kv_cache   the caches of the layers, which hold the tokens before token_ids and to which these are appended
        ops        the namespace of operations; headway.functions by default
        """
        return hidden_states(token_ids, weights, spec(config), source=source, kv_cache=kv_cache, ops=ops)

    def architecture_logits(hidden: Array, weights: Any, config: Any, *, ops: Operations = functions) -> Array:
        """Compute the logits (..., decoder_vocab_size) from hidden states (..., hidden_size)."""
        return logits(hidden, weights, spec(config), ops=ops)

    def forward(
        source_ids: Array, token_ids: Array, weights: Any, config: Any, *, lengths: Array | None = None, ops: Operations = functions
    ) -> Array:
        """Compute the logits (batch_size, seq_len, decoder_vocab_size) of a source (batch_size, source_len) and a target (batch_size, seq_len).

        The target begins with the start token; lengths are those of the source, as in encode.
        """
        source = architecture_read(source_ids, weights, config, lengths=lengths, ops=ops)
        hidden = architecture_hidden_states(token_ids, weights, config, source=source, ops=ops)
        return architecture_logits(hidden, weights, config, ops=ops)

    return EncoderDecoderFunctions(
        architecture_encode, architecture_read, new_kv_cache, architecture_hidden_states, architecture_logits, forward
    )
