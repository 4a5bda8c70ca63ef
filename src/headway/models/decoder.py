"""The decoder: token ids to logits, for every architecture that a DecoderSpec describes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from headway import functions
from headway.arrays import Array, Operations
from headway.functions import (
    FeedForwardWeights,
    GatedFeedForwardWeights,
    KVCache,
    MixtureOfExpertsWeights,
    MultiHeadAttentionWeights,
    NormWeights,
)
from headway.models.parts import normalized, once_per_config, scaled, scaled_embedding, transformed
from headway.models.past import KVCaches, positions, visible
from headway.models.rope import rotary_tables
from headway.models.spec import DecoderSpec, RotarySpec


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
    x = scaled_embedding(ops.embed(token_ids, weights.token_embedding), spec.embedding_scale)
    if spec.num_positions is not None:
        x = x + ops.learned_positions(current, weights.position_embedding)
    windows = {layer.attention.window for layer in spec.layers}
    masks = {window: visible(token_ids, kv_cache, padding, window=window) for window in windows}
    rotary = {each: rotary_tables(current, each.dim, each.parameters, like=x) for each in spec.rotary_specs}
    return run_layers(x, weights, spec, masks=masks, rotary=rotary, kv_cache=kv_cache, ops=ops)


def run_layers(
    x: Array,
    weights: Any,
    spec: DecoderSpec,
    *,
    masks: Mapping[int | None, Array | None],
    rotary: Mapping[RotarySpec, tuple[Array, Array]],
    kv_cache: Sequence[Any] | None,
    ops: Operations,
) -> Array:
    """Compute the hidden states from the embeddings, both (batch_size, seq_len, hidden_size).

    masks     the mask of each window; None for the causal mask
    rotary    the cosines and sines of each RotarySpec
    kv_cache  the caches of the layers, or objects with the same method append
    """
    for index, (layer, each) in enumerate(zip(spec.layers, weights.layers, strict=True)):
        attention, mask = layer.attention, masks[layer.attention.window]
        normed = normalized(x, each, layer, "attention_norm", ops)
        attended = ops.multi_head_attention(
            normed,
            normed,
            normed,
            each.attention,
            num_heads=attention.num_heads,
            mask=mask,
            is_causal=mask is None,
            scale=attention.scale,
            soft_cap=attention.soft_cap,
            rotary=rotary[attention.rotary] if attention.rotary else None,
            kv_cache=kv_cache[index] if kv_cache else None,
            eps=attention.query_key_norm.eps if attention.query_key_norm else 0.0,
            ops=ops,
        )
        x = x + scaled(normalized(attended, each, layer, "attention_output_norm", ops), layer.residual_scale)
        normed = normalized(x, each, layer, "feed_forward_norm", ops)
        output = transformed(normed, each.feed_forward, layer.feed_forward, ops)
        x = x + scaled(normalized(output, each, layer, "feed_forward_output_norm", ops), layer.residual_scale)
    return normalized(x, weights, spec, "norm", ops)


def logits(hidden: Array, weights: Any, spec: DecoderSpec, *, ops: Operations) -> Array:
    """Compute the logits (..., vocab_size) from hidden states (..., hidden_size)."""
    scores = scaled(ops.unembed(hidden, weights.output_head), spec.logit_scale)
    return scores if spec.logit_soft_cap is None else ops.soft_cap(scores, spec.logit_soft_cap)


class DecoderFunctions(NamedTuple):
    """The functions of an architecture's module: see headway.models."""

    new_kv_cache: Callable[[Any, int, int, Array], list[KVCache]]
    hidden_states: Callable[..., Array]
    logits: Callable[..., Array]
    forward: Callable[..., Array]


def decoder_functions(spec: Callable[[Any], DecoderSpec]) -> DecoderFunctions:
    """Return the functions of an architecture, which take its config, from the function that returns the spec of a config."""

    spec = once_per_config(spec)

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

    return DecoderFunctions(new_kv_cache, architecture_hidden_states, architecture_logits, forward)
