"""The encoder: token ids to a vector for each token, for every architecture that an EncoderSpec describes, and its heads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from headway import functions
from headway.arrays import Array, Operations, array_namespace, asarray_like, at_least_float32, cast
from headway.errors import PromptError, UnsupportedError
from headway.functions import FeedForwardWeights, GatedFeedForwardWeights, LinearWeights, MultiHeadAttentionWeights, NormWeights
from headway.models.encoder_spec import EncoderLayerSpec, EncoderSpec
from headway.models.parts import normalized, once_per_config, transformed
from headway.models.rope import rotary_tables
from headway.models.spec import RotarySpec


@dataclass(frozen=True, kw_only=True)
class LayerWeights:
    """The weights of one layer, with the fields of EncoderLayerSpec."""

    attention_norm: NormWeights | None = None
    attention: MultiHeadAttentionWeights
    attention_sum_norm: NormWeights | None = None
    feed_forward_norm: NormWeights | None = None
    feed_forward: FeedForwardWeights | GatedFeedForwardWeights
    feed_forward_sum_norm: NormWeights | None = None


@dataclass(frozen=True)
class MaskedTokenHeadWeights:
    """output_head (vocab_size, hidden_size), the token embedding itself if the two are tied; bias (vocab_size,)."""

    dense: LinearWeights
    norm: NormWeights
    output_head: Array
    bias: Array | None = None


@dataclass(frozen=True, kw_only=True)
class ClassifierWeights:
    """The hidden layer, unless the pooler takes its place, and the output (num_labels, hidden_size)."""

    dense: LinearWeights | None = None
    norm: NormWeights | None = None
    output: LinearWeights


@dataclass(frozen=True, kw_only=True)
class Weights:
    """The weights of an encoder, and the heads that the checkpoint has.

    token_embedding       (vocab_size, hidden_size)
    position_embedding    (num_positions, hidden_size), if the spec has learned positions
    token_type_embedding  (num_token_types, hidden_size), if the spec has token types
    position_bias         (num_position_buckets, num_heads), if the spec has a relative position bias
    """

    token_embedding: Array
    position_embedding: Array | None = None
    token_type_embedding: Array | None = None
    position_bias: Array | None = None
    embedding_norm: NormWeights
    layers: tuple[LayerWeights, ...]
    norm: NormWeights | None = None
    pooler: LinearWeights | None = None
    masked_token_head: MaskedTokenHeadWeights | None = None
    classifier: ClassifierWeights | None = None


def encode(
    token_ids: Array, weights: Any, spec: EncoderSpec, *, lengths: Array | None, token_types: Array | None, ops: Operations
) -> Array:
    """Compute a vector for each token of a text; the arguments are those of an architecture's encode."""
    seq_len = token_ids.shape[-1]
    positions = asarray_like(range(seq_len), token_ids)
    x = ops.embed(token_ids, weights.token_embedding)
    if spec.num_positions is not None:
        x = x + ops.learned_positions(positions + spec.first_position, weights.position_embedding)
    if spec.num_token_types is not None:
        types = array_namespace(token_ids).zeros_like(token_ids) if token_types is None else token_types
        x = x + ops.embed(types, weights.token_type_embedding)
    x = normalized(x, weights, spec, "embedding_norm", ops)
    bias = None if spec.num_position_buckets is None else ops.relative_position_bias(weights.position_bias, seq_len, seq_len)
    attentions = [layer.attention for layer in spec.layers]
    masks = {window: _mask(token_ids, lengths, bias, window) for window in {each.window for each in attentions}}
    rotary = {
        each: rotary_tables(positions[None, :], each.dim, each.parameters, like=x) for each in {each.rotary for each in attentions} if each
    }
    return normalized(run_layers(x, weights.layers, spec.layers, masks=masks, rotary=rotary, ops=ops), weights, spec, "norm", ops)


def run_layers(
    x: Array,
    weights: Sequence[Any],
    layers: Sequence[EncoderLayerSpec],
    *,
    masks: Mapping[int | None, Array | None],
    rotary: Mapping[RotarySpec, tuple[Array, Array]],
    ops: Operations,
) -> Array:
    """Compute the output of the last layer from the embeddings, with the mask of each window and the angles of each RotarySpec."""
    for layer, each in zip(layers, weights, strict=True):
        attention = layer.attention
        normed = normalized(x, each, layer, "attention_norm", ops)
        x = x + ops.multi_head_attention(
            normed,
            normed,
            normed,
            each.attention,
            num_heads=attention.num_heads,
            mask=masks[attention.window],
            scale=attention.scale,
            rotary=rotary[attention.rotary] if attention.rotary else None,
            ops=ops,
        )
        x = normalized(x, each, layer, "attention_sum_norm", ops)
        normed = normalized(x, each, layer, "feed_forward_norm", ops)
        x = x + transformed(normed, each.feed_forward, layer.feed_forward, ops)
        x = normalized(x, each, layer, "feed_forward_sum_norm", ops)
    return x


def pooled(hidden: Array, weights: Any, *, ops: Operations = functions) -> Array:
    """Pool by the first token, with the layer that BERT was trained with for next-sentence prediction.

        tanh(hidden[first] @ pooler.weightᵀ + pooler.bias)

    Shapes
        hidden  (batch_size, seq_len, hidden_size)
        return  (batch_size, hidden_size)

    Errors   UnsupportedError if the checkpoint has no pooler.
    """
    if weights.pooler is None:
        raise UnsupportedError(
            "got a checkpoint without a pooler, expected one with pooler.dense", hint="use another pooling, such as mean"
        )
    return _activated("tanh", ops.linear(hidden[:, 0, :], weights.pooler.weight, weights.pooler.bias), ops)


def masked_token_logits(hidden: Array, weights: Any, spec: EncoderSpec, *, ops: Operations) -> Array:
    """Compute the logits (..., vocab_size) of the masked-token head from hidden states (..., hidden_size).

    Errors   UnsupportedError if the checkpoint has no such head.
    """
    head = weights.masked_token_head
    if head is None:
        raise UnsupportedError(
            "got a checkpoint without a masked-token head, expected one that fills masks",
            hint="use a checkpoint saved from a class such as BertForMaskedLM",
        )
    x = _activated(spec.masked_token_head.activation, ops.linear(hidden, head.dense.weight, head.dense.bias), ops)
    x = normalized(x, head, spec.masked_token_head, "norm", ops)
    return ops.linear(x, head.output_head, head.bias)


def class_logits(hidden: Array, weights: Any, spec: EncoderSpec, *, lengths: Array | None, ops: Operations) -> Array:
    """Compute the logits of the classes (batch_size, num_labels) from hidden states (batch_size, seq_len, hidden_size).

    Errors   UnsupportedError if the checkpoint has no classifier.
    """
    head, hidden_layer = weights.classifier, spec.classifier.hidden
    if head is None:
        raise UnsupportedError(
            "got a checkpoint without a classifier, expected one that classifies texts",
            hint="use a checkpoint saved from a class such as BertForSequenceClassification",
        )
    if hidden_layer is None:
        return ops.linear(pooled(hidden, weights, ops=ops), head.output.weight, head.output.bias)
    mask = None if lengths is None else functions.padding_mask(lengths, hidden.shape[1])[:, 0, 0, :]
    x = ops.mean_pool(hidden, mask) if spec.classifier.takes_mean else hidden[:, 0, :]
    x = _activated(hidden_layer.activation, ops.linear(x, head.dense.weight, head.dense.bias), ops)
    x = normalized(x, head, hidden_layer, "norm", ops)
    return ops.linear(x, head.output.weight, head.output.bias)


def _activated(name: str, x: Array, ops: Operations) -> Array:
    if name == "tanh":
        return cast(array_namespace(x).tanh(at_least_float32(x)), x.dtype)
    return getattr(ops, name)(x)


def _mask(token_ids: Array, lengths: Array | None, bias: Array | None, window: int | None) -> Array | None:
    """Return the mask of a layer, which hides padding and positions outside of the window, or the bias that replaces it."""
    seq_len = token_ids.shape[-1]
    mask: Any = None if lengths is None else functions.padding_mask(lengths, seq_len)
    if window is not None and window < seq_len:
        near = functions.sliding_window_mask(seq_len, window=window, is_bidirectional=True, like=token_ids)
        mask = near if mask is None else mask & near
    return masked_bias(bias, mask)


def masked_bias(bias: Array | None, mask: Array | None) -> Array | None:
    """Return the bias with -inf where the mask is False, or the one of the two that there is."""
    if bias is None or mask is None:
        return mask if bias is None else bias
    xp = array_namespace(bias, mask)
    return xp.where(mask, bias, xp.full_like(bias, -float("inf")))


class EncoderFunctions(NamedTuple):
    """The functions of an architecture's module: see headway.models."""

    encode: Callable[..., Array]
    pooled: Callable[..., Array]
    masked_token_logits: Callable[..., Array]
    class_logits: Callable[..., Array]


def encoder_functions(spec: Callable[[Any], EncoderSpec]) -> EncoderFunctions:
    """Return the functions of an architecture, which take its config, from the function that returns the spec of a config."""

    spec = once_per_config(spec)

    def architecture_encode(
        token_ids: Array,
        weights: Any,
        config: Any,
        *,
        lengths: Array | None = None,
        token_types: Array | None = None,
        ops: Operations = functions,
    ) -> Array:
        """Compute a vector for each token of a text, depending on all of its tokens.

        Shapes
            token_ids    (batch_size, seq_len) integer
            lengths      (batch_size,) integer optional
            token_types  (batch_size, seq_len) integer optional
            return       (batch_size, seq_len, hidden_size)

        lengths      number of real tokens of each sequence, before the padding on the right; all by default
        token_types  0 for the tokens of a first text, 1 for those of a second; all 0 by default
        ops          the namespace of operations; headway.functions by default

        Errors   PromptError for more tokens than the model has positions.
        """
        seq_len = token_ids.shape[-1]
        if seq_len > config.max_seq_len:
            raise PromptError(f"got a text of {seq_len} tokens, expected at most {config.max_seq_len}", hint="shorten the text")
        return encode(token_ids, weights, spec(config), lengths=lengths, token_types=token_types, ops=ops)

    def architecture_pooled(hidden: Array, weights: Any, config: Any, *, ops: Operations = functions) -> Array:
        """Pool by the first token, with the checkpoint's pooler: see headway.models.encoder.pooled."""
        return pooled(hidden, weights, ops=ops)

    def architecture_masked_token_logits(hidden: Array, weights: Any, config: Any, *, ops: Operations = functions) -> Array:
        """Compute the logits (..., vocab_size) of the masked-token head from hidden states (..., hidden_size).

        Errors   UnsupportedError if the checkpoint has no such head.
        """
        return masked_token_logits(hidden, weights, spec(config), ops=ops)

    def architecture_class_logits(
        hidden: Array, weights: Any, config: Any, *, lengths: Array | None = None, ops: Operations = functions
    ) -> Array:
        """Compute the logits of the classes (batch_size, num_labels) from hidden states (batch_size, seq_len, hidden_size).

        Errors   UnsupportedError if the checkpoint has no classifier.
        """
        return class_logits(hidden, weights, spec(config), lengths=lengths, ops=ops)

    return EncoderFunctions(architecture_encode, architecture_pooled, architecture_masked_token_logits, architecture_class_logits)
