"""The decoder: token ids to logits, for every architecture that a DecoderSpec describes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy

from headway import functions
from headway.arrays import Array, Operations, asarray_like, cast
from headway.functions import (
    FeedForwardWeights,
    GatedFeedForwardWeights,
    KVCache,
    MixtureOfExpertsWeights,
    MultiHeadAttentionWeights,
    NormWeights,
)
from headway.models.past import KVCaches, positions, visible
from headway.models.rope import rotary_tables
from headway.models.spec import DecoderSpec, FeedForwardSpec, NormSpec
from headway.models.stack import Stack, stack_of


@dataclass(frozen=True, kw_only=True)
class LayerWeights:
    """The weights of one layer, with the fields of LayerSpec."""

    attention_norm: NormWeights | None = None
    attention: MultiHeadAttentionWeights
    attention_output_norm: NormWeights | None = None
    feed_forward_norm: NormWeights | None = None
    feed_forward: FeedForwardWeights | GatedFeedForwardWeights | MixtureOfExpertsWeights
    feed_forward_output_norm: NormWeights | None = None


@dataclass(frozen=True, kw_only=True)
class Weights:
    """The weights of a decoder.

    token_embedding     (vocab_size, hidden_size)
    position_embedding  (num_positions, hidden_size), if the spec has learned positions
    output_head         (vocab_size, hidden_size), the token embedding itself if the two are tied
    """

    token_embedding: Array
    position_embedding: Array | None = None
    layers: tuple[LayerWeights, ...]
    norm: NormWeights
    output_head: Array


def hidden_states(
    token_ids: Array, weights: Any, spec: DecoderSpec, *, kv_cache: KVCaches, padding: Array | None, ops: Operations
) -> Array:
    """Compute the hidden states, which `logits` takes, from token ids; the arguments are those of an architecture's hidden_states."""
    current = positions(token_ids, kv_cache, padding)
    x = ops.embed(token_ids, weights.token_embedding)
    if spec.embedding_scale is not None:
        x = x * cast(asarray_like(numpy.array([spec.embedding_scale], numpy.float32), x), x.dtype)
    if spec.num_positions is not None:
        x = x + ops.learned_positions(current, weights.position_embedding)
    attentions = [layer.attention for layer in spec.layers]
    masks = {window: visible(token_ids, kv_cache, padding, window=window) for window in {each.window for each in attentions}}
    rotary = {each: rotary_tables(current, each.dim, each.parameters, like=x) for each in {each.rotary for each in attentions} if each}
    for index, (layer, layer_weights) in enumerate(zip(spec.layers, weights.layers, strict=True)):
        normed = x if layer.attention_norm is None else _norm(x, layer_weights.attention_norm, layer.attention_norm, ops)
        attended = ops.multi_head_attention(
            normed,
            normed,
            normed,
            layer_weights.attention,
            num_heads=layer.attention.num_heads,
            mask=masks[layer.attention.window],
            is_causal=masks[layer.attention.window] is None,
            scale=layer.attention.scale,
            soft_cap=layer.attention.soft_cap,
            rotary=rotary[layer.attention.rotary] if layer.attention.rotary else None,
            kv_cache=kv_cache[index] if kv_cache else None,
            eps=layer.attention.query_key_norm.eps if layer.attention.query_key_norm else 0.0,
            ops=ops,
        )
        if layer.attention_output_norm is not None:
            attended = _norm(attended, layer_weights.attention_output_norm, layer.attention_output_norm, ops)
        x = x + _scaled(attended, layer.residual_scale)
        normed = x if layer.feed_forward_norm is None else _norm(x, layer_weights.feed_forward_norm, layer.feed_forward_norm, ops)
        transformed = _feed_forward(normed, layer_weights.feed_forward, layer.feed_forward, ops)
        if layer.feed_forward_output_norm is not None:
            transformed = _norm(transformed, layer_weights.feed_forward_output_norm, layer.feed_forward_output_norm, ops)
        x = x + _scaled(transformed, layer.residual_scale)
    return _norm(x, weights.norm, spec.norm, ops)


def logits(hidden: Array, weights: Any, spec: DecoderSpec, *, ops: Operations) -> Array:
    """Compute the logits (..., vocab_size) from hidden states (..., hidden_size)."""
    scores = _scaled(ops.unembed(hidden, weights.output_head), spec.logit_scale)
    return scores if spec.logit_soft_cap is None else ops.soft_cap(scores, spec.logit_soft_cap)


def _norm(x: Array, weights: Any, spec: NormSpec, ops: Operations) -> Array:
    if spec.kind == "layer_norm":
        return ops.layer_norm(x, weights.weight, weights.bias, eps=spec.eps)
    return ops.rms_norm(x, weights.weight, eps=spec.eps)


def _feed_forward(x: Array, weights: Any, spec: FeedForwardSpec, ops: Operations) -> Array:
    activation = getattr(ops, spec.activation)
    if spec.experts is not None:
        top_k, is_normalized = spec.experts.top_k, spec.experts.is_normalized
        return ops.mixture_of_experts(x, weights, top_k=top_k, is_normalized=is_normalized, activation=activation, ops=ops)
    if spec.is_gated:
        return ops.gated_feed_forward(x, weights, activation=activation, ops=ops)
    return ops.feed_forward(x, weights, activation=activation, ops=ops)


def _scaled(x: Array, scale: float | None) -> Array:
    return x if scale is None else cast(x * scale, x.dtype)  # NumPy returns float32 for bfloat16 times a number


class DecoderFunctions(NamedTuple):
    """The functions of an architecture's module: see headway.models."""

    stack: Callable[[Any], Stack]
    new_kv_cache: Callable[[Any, int, int, Array], list[KVCache]]
    hidden_states: Callable[..., Array]
    logits: Callable[..., Array]
    forward: Callable[..., Array]


def decoder_functions(spec: Callable[[Any], DecoderSpec]) -> DecoderFunctions:
    """Return the functions of an architecture, which take its config, from the function that returns the spec of a config."""

    def architecture_stack(config: Any) -> Stack:
        """Return the description that a compiled decoder needs.

        Errors   UnsupportedError for a decoder that the kernels do not support.
        """
        return stack_of(spec(config))

    def new_kv_cache(config: Any, batch_size: int, max_seq_len: int, like: Array) -> list[KVCache]:
        """Return an empty KV cache for batch_size sequences of up to max_seq_len tokens, one entry per layer."""
        sizes = [(layer.attention.num_kv_heads, max_seq_len, layer.attention.head_dim) for layer in spec(config).layers]
        return [KVCache.empty((batch_size, *size), like) for size in sizes]

    def architecture_hidden_states(
        token_ids: Array,
        weights: Any,
        config: Any,
        *,
        kv_cache: KVCaches = None,
        padding: Array | None = None,
        ops: Operations = functions,
    ) -> Array:
        """Compute the hidden states, which `logits` takes, from token ids.

        Shapes
            token_ids  (batch_size, seq_len) integer
            padding    (batch_size,) integer optional
            return     (batch_size, seq_len, hidden_size)

        kv_cache   the caches of the layers, which hold the tokens before token_ids and to which these are appended
        padding    number of padding tokens on the left of each sequence; none by default
        ops        the namespace of operations; headway.functions by default
        """
        return hidden_states(token_ids, weights, spec(config), kv_cache=kv_cache, padding=padding, ops=ops)

    def architecture_logits(hidden: Array, weights: Any, config: Any, *, ops: Operations = functions) -> Array:
        """Compute the logits (..., vocab_size) from hidden states (..., hidden_size)."""
        return logits(hidden, weights, spec(config), ops=ops)

    def forward(
        token_ids: Array,
        weights: Any,
        config: Any,
        *,
        kv_cache: KVCaches = None,
        padding: Array | None = None,
        ops: Operations = functions,
    ) -> Array:
        """Compute the logits (batch_size, seq_len, vocab_size) of token ids (batch_size, seq_len); arguments as in hidden_states."""
        hidden = architecture_hidden_states(token_ids, weights, config, kv_cache=kv_cache, padding=padding, ops=ops)
        return architecture_logits(hidden, weights, config, ops=ops)

    return DecoderFunctions(architecture_stack, new_kv_cache, architecture_hidden_states, architecture_logits, forward)
