"""Marian: the original Transformer, post-norm, with sinusoidal positions; used by translation models.

Source   Vaswani et al. 2017; Junczys-Dowmunt et al. 2018; the keys and tensor names are those of Hugging Face's MarianMTModel
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy

from headway import functions
from headway.arrays import Array, Operations, cast, to_numpy
from headway.errors import CheckpointError, ShapeError
from headway.functions import DecoderLayerWeights, EncoderLayerWeights, KVCache
from headway.models.config import expect_multiple, expect_num_layers, expect_one_of, expect_positive
from headway.models.past import KVCaches, visible
from headway.models.source import Source
from headway.models.stored import Stored, stored_linear, stored_norm, tie

KIND = "encoder-decoder"
PREFIX = "model."
# The shared embedding, which is unused if encoder, decoder and output head have their own.
IGNORED_TENSORS = r"shared\.weight"
WITHOUT_EFFECT = tuple(
    """
    activation_dropout add_bias_logits add_final_layer_norm classif_dropout classifier_dropout decoder_layerdrop dropout
    encoder_layerdrop extra_pos_embeddings init_std is_encoder_decoder normalize_before normalize_embedding num_hidden_layers
    static_position_embeddings
    """.split()
)
ACTIVATIONS = {"swish": "silu", "silu": "silu", "relu": "relu", "gelu": "gelu"}


@dataclass(frozen=True)
class Config:
    """The keys of config.json that affect the result."""

    vocab_size: int
    d_model: int
    encoder_layers: int
    decoder_layers: int
    encoder_attention_heads: int
    decoder_attention_heads: int
    encoder_ffn_dim: int
    decoder_ffn_dim: int
    decoder_vocab_size: int = None  # type: ignore[assignment]  # vocab_size
    max_position_embeddings: int = 1024
    activation_function: str = "gelu"
    scale_embedding: bool = False
    share_encoder_decoder_embeddings: bool = True
    tie_word_embeddings: bool = True

    def __post_init__(self) -> None:
        if self.decoder_vocab_size is None:
            object.__setattr__(self, "decoder_vocab_size", self.vocab_size)
        expect_positive(self, "vocab_size", "d_model", "max_position_embeddings", "decoder_vocab_size")
        expect_num_layers(self, "encoder_layers", "decoder_layers")
        for part in ("encoder", "decoder"):
            expect_positive(self, f"{part}_attention_heads", f"{part}_ffn_dim")
            expect_multiple(self, "d_model", f"{part}_attention_heads")
        expect_one_of("activation_function", self.activation_function, ACTIVATIONS)
        if self.share_encoder_decoder_embeddings and self.decoder_vocab_size != self.vocab_size:
            raise CheckpointError(
                f"got config.json with decoder_vocab_size={self.decoder_vocab_size}, vocab_size={self.vocab_size} and "
                "share_encoder_decoder_embeddings=true, expected equal sizes"
            )

    @property
    def max_seq_len(self) -> int:
        """Longest sequence that the positions support, for source and target alike."""
        return self.max_position_embeddings


@dataclass(frozen=True)
class Weights:
    """token_embedding (vocab_size, d_model); target_embedding, output_head (decoder_vocab_size, d_model), logits_bias (1, decoder_vocab_size)."""

    token_embedding: Array
    target_embedding: Array
    encoder: tuple[EncoderLayerWeights, ...]
    decoder: tuple[DecoderLayerWeights, ...]
    output_head: Array
    logits_bias: Array | None = None


def stored_weights(config: Config) -> dict[str, Stored]:
    """Return the place of each leaf.

    Source embedding, target embedding and output head are tied as transformers ties them:

        share_encoder_decoder_embeddings  tie_word_embeddings   tied
        true                              true                  all three, to model.shared
        false                             true                  target embedding and output head
        any                               false                 none
    """
    width = config.d_model

    def attention(path: str, name: str) -> dict[str, Stored]:
        parts = (("query", "q_proj"), ("key", "k_proj"), ("value", "v_proj"), ("output", "out_proj"))
        return {
            path_of: stored
            for part, stored_part in parts
            for path_of, stored in stored_linear(f"{path}.{part}", f"{name}.{stored_part}", width, width, has_bias=True).items()
        }

    def norm(path: str, name: str) -> dict[str, Stored]:
        return stored_norm(path, name, width, has_bias=True)

    def feed_forward(path: str, name: str, inner: int) -> dict[str, Stored]:
        up = stored_linear(f"{path}.feed_forward.up", f"{name}.fc1", inner, width, has_bias=True)
        down = stored_linear(f"{path}.feed_forward.down", f"{name}.fc2", width, inner, has_bias=True)
        return up | down | norm(f"{path}.feed_forward_norm", f"{name}.final_layer_norm")

    # Without a tied head, transformers 4 wrote the shared embedding only once.
    others = (f"{PREFIX}shared.weight",) if config.share_encoder_decoder_embeddings else ()
    source = Stored(f"{PREFIX}encoder.embed_tokens.weight", (config.vocab_size, width), other_names=others)
    target = Stored(f"{PREFIX}decoder.embed_tokens.weight", (config.decoder_vocab_size, width), other_names=others)
    head = Stored("lm_head.weight", (config.decoder_vocab_size, width))
    if config.tie_word_embeddings and config.share_encoder_decoder_embeddings:
        shared = Stored(f"{PREFIX}shared.weight", (config.vocab_size, width))
        head, target, source = tie(shared, head, target, source)
    elif config.tie_word_embeddings:
        target, head = tie(target, target, head)
    table = {"token_embedding": source, "target_embedding": target}
    for index in range(config.encoder_layers):
        path, name = f"encoder.{index}", f"{PREFIX}encoder.layers.{index}"
        table |= attention(f"{path}.attention", f"{name}.self_attn")
        table |= norm(f"{path}.attention_norm", f"{name}.self_attn_layer_norm")
        table |= feed_forward(path, name, config.encoder_ffn_dim)
    for index in range(config.decoder_layers):
        path, name = f"decoder.{index}", f"{PREFIX}decoder.layers.{index}"
        table |= attention(f"{path}.self_attention", f"{name}.self_attn")
        table |= norm(f"{path}.self_attention_norm", f"{name}.self_attn_layer_norm")
        table |= attention(f"{path}.cross_attention", f"{name}.encoder_attn")
        table |= norm(f"{path}.cross_attention_norm", f"{name}.encoder_attn_layer_norm")
        table |= feed_forward(path, name, config.decoder_ffn_dim)
    bias = Stored("final_logits_bias", (1, config.decoder_vocab_size), part="final_logits_bias")
    return table | {"output_head": head, "logits_bias": bias}


def redundant_tensor(name: str, shape: tuple[int, ...], config: Config) -> numpy.ndarray | None:
    """Return the sinusoidal positions for a tensor that must be equal to them, and None for any other tensor."""
    is_positions = name.removeprefix(PREFIX) in ("encoder.embed_positions.weight", "decoder.embed_positions.weight")
    if not is_positions or shape != (config.max_position_embeddings, config.d_model):
        return None
    return to_numpy(functions.sinusoidal_positions(*shape, interleaved=False))


def encode(token_ids: Array, weights: Weights, config: Config, *, lengths: Array | None = None, ops: Operations = functions) -> Array:
    """Compute the encoder's output from source token ids.

    Shapes
        token_ids  (batch_size, source_len) integer
        lengths    (batch_size,) integer optional
        return     (batch_size, source_len, d_model)

    lengths    number of real tokens of each sequence, before the padding on the right; all by default
    ops        the namespace of operations; headway.functions by default
    """
    mask = None if lengths is None else functions.padding_mask(lengths, token_ids.shape[-1])
    x = _embedded(token_ids, weights.token_embedding, config, 0, ops)
    activation = getattr(ops, ACTIVATIONS[config.activation_function])
    for layer in weights.encoder:
        x = ops.encoder_layer(x, layer, num_heads=config.encoder_attention_heads, mask=mask, activation=activation, ops=ops)
    return x


def read(token_ids: Array, weights: Weights, config: Config, *, lengths: Array | None = None, ops: Operations = functions) -> Source:
    """Encode the source and project it to the cross-attention's keys and values of each layer; arguments as in encode."""
    encoded = encode(token_ids, weights, config, lengths=lengths, ops=ops)
    layers = tuple(
        ops.project_keys_and_values(encoded, encoded, layer.cross_attention, num_heads=config.decoder_attention_heads, ops=ops)
        for layer in weights.decoder
    )
    return Source(layers, None if lengths is None else functions.padding_mask(lengths, token_ids.shape[-1]))


def new_kv_cache(config: Config, batch_size: int, max_seq_len: int, like: Array) -> list[KVCache]:
    """Return an empty KV cache for batch_size targets of up to max_seq_len tokens, one entry per decoder layer."""
    shape = (batch_size, config.decoder_attention_heads, max_seq_len, config.d_model // config.decoder_attention_heads)
    return [KVCache.empty(shape, like) for _ in range(config.decoder_layers)]


def hidden_states(
    token_ids: Array, weights: Weights, config: Config, *, source: Source, kv_cache: KVCaches = None, ops: Operations = functions
) -> Array:
    """Compute the decoder's hidden states, which `logits` takes, from target token ids.

    Shapes
        token_ids  (batch_size, seq_len) integer
        return     (batch_size, seq_len, d_model)

    source     the result of read
    kv_cache   the caches of the layers, which hold the tokens before token_ids and to which these are appended
    ops        the namespace of operations; headway.functions by default
    """
    mask = visible(token_ids, kv_cache, None)
    x = _embedded(token_ids, weights.target_embedding, config, kv_cache[0].length if kv_cache else 0, ops)
    activation = getattr(ops, ACTIVATIONS[config.activation_function])
    num_heads = config.decoder_attention_heads
    for index, (layer, (keys, values)) in enumerate(zip(weights.decoder, source.layers, strict=True)):
        attended = ops.multi_head_attention(
            x,
            x,
            x,
            layer.self_attention,
            num_heads=num_heads,
            mask=mask,
            is_causal=mask is None,
            kv_cache=kv_cache[index] if kv_cache else None,
            ops=ops,
        )
        x = ops.layer_norm(x + attended, layer.self_attention_norm.weight, layer.self_attention_norm.bias)
        attended = ops.cross_attention(x, keys, values, layer.cross_attention, num_heads=num_heads, mask=source.mask, ops=ops)
        x = ops.layer_norm(x + attended, layer.cross_attention_norm.weight, layer.cross_attention_norm.bias)
        transformed = ops.feed_forward(x, layer.feed_forward, activation=activation, ops=ops)
        x = ops.layer_norm(x + transformed, layer.feed_forward_norm.weight, layer.feed_forward_norm.bias)
    return x


def logits(hidden: Array, weights: Weights, config: Config, *, ops: Operations = functions) -> Array:
    """Compute the logits (..., decoder_vocab_size) from hidden states (..., d_model)."""
    result = ops.unembed(hidden, weights.output_head)
    return result if weights.logits_bias is None else result + weights.logits_bias[0]


def forward(
    source_ids: Array, token_ids: Array, weights: Weights, config: Config, *, lengths: Array | None = None, ops: Operations = functions
) -> Array:
    """Compute the logits (batch_size, seq_len, decoder_vocab_size) of a source (batch_size, source_len) and a target (batch_size, seq_len).

    The target begins with the start token; lengths are those of the source, as in encode.
    """
    source = read(source_ids, weights, config, lengths=lengths, ops=ops)
    return logits(hidden_states(token_ids, weights, config, source=source, ops=ops), weights, config, ops=ops)


def _embedded(token_ids: Array, table: Array, config: Config, offset: int, ops: Operations) -> Array:
    end = offset + token_ids.shape[-1]
    if end > config.max_position_embeddings:
        raise ShapeError(
            f"got {end} tokens, expected at most max_position_embeddings={config.max_position_embeddings}", hint="shorten the text"
        )
    x = ops.embed(token_ids, table)
    if config.scale_embedding:
        x = cast(x * math.sqrt(config.d_model), x.dtype)
    positions = ops.sinusoidal_positions(token_ids.shape[-1], config.d_model, offset=offset, interleaved=False, like=x)
    return x + cast(positions, x.dtype)
