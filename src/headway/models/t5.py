"""T5, T5 1.1, Flan-T5 and mT5: relative position biases in buckets, pre-norm with RMS norms, no other biases, unscaled attention.

Source   Raffel et al. 2020; the keys and tensor names are those of Hugging Face's T5ForConditionalGeneration
"""

from __future__ import annotations

from dataclasses import dataclass

from headway import functions
from headway.arrays import Array, Operations, array_namespace, cast
from headway.functions import FeedForwardWeights, GatedFeedForwardWeights, KVCache, MultiHeadAttentionWeights, NormWeights
from headway.models.config import expect_num_layers, expect_number, expect_one_of, expect_positive
from headway.models.past import KVCaches, visible
from headway.models.source import Source
from headway.models.stored import Stored, stored_linear, stored_norm, tie

KIND = "encoder-decoder"
PREFIX = ""
# A position bias that no version of T5 uses, and the shared embedding, which is unused if encoder, decoder and head have their own.
IGNORED_TENSORS = r"decoder\.block\.0\.layer\.1\.EncDecAttention\.relative_attention_bias\.weight|shared\.weight"
WITHOUT_EFFECT = tuple(
    """
    classifier_dropout dense_act_fn dropout_rate initializer_factor is_encoder_decoder is_gated_act n_positions num_hidden_layers
    output_past tokenizer_class
    """.split()
)
FEED_FORWARDS = {"relu": "relu", "gelu": "gelu", "gated-gelu": "gelu_tanh", "gated-silu": "silu", "gated-relu": "relu"}


@dataclass(frozen=True)
class Config:
    """The keys of config.json that affect the result."""

    vocab_size: int
    d_model: int
    d_kv: int
    d_ff: int
    num_layers: int
    num_heads: int
    num_decoder_layers: int = None  # type: ignore[assignment]  # num_layers
    relative_attention_num_buckets: int = 32
    relative_attention_max_distance: int = 128
    layer_norm_epsilon: float = 1e-6
    feed_forward_proj: str = "relu"
    tie_word_embeddings: bool = True
    scale_decoder_outputs: bool = None  # type: ignore[assignment]  # tie_word_embeddings; False in mT5
    model_type: str = "t5"

    def __post_init__(self) -> None:
        if self.num_decoder_layers is None:
            object.__setattr__(self, "num_decoder_layers", self.num_layers)
        if self.scale_decoder_outputs is None:
            object.__setattr__(self, "scale_decoder_outputs", self.tie_word_embeddings and self.model_type == "t5")
        expect_positive(self, "vocab_size", "d_model", "d_kv", "d_ff", "num_heads")
        expect_num_layers(self, "num_layers", "num_decoder_layers")
        expect_positive(self, "relative_attention_num_buckets", "relative_attention_max_distance")
        expect_one_of("feed_forward_proj", self.feed_forward_proj, FEED_FORWARDS)
        expect_number("layer_norm_epsilon", self.layer_norm_epsilon, may_be_zero=True)

    @property
    def max_seq_len(self) -> None:
        """None: any length is possible, because distances from relative_attention_max_distance on share a bucket."""
        return

    @property
    def decoder_vocab_size(self) -> int:
        """The vocabulary is the same for source and target."""
        return self.vocab_size


@dataclass(frozen=True)
class EncoderLayerWeights:
    """The weights of one encoder layer."""

    attention_norm: NormWeights
    attention: MultiHeadAttentionWeights
    feed_forward_norm: NormWeights
    feed_forward: FeedForwardWeights | GatedFeedForwardWeights


@dataclass(frozen=True)
class DecoderLayerWeights:
    """The weights of one decoder layer."""

    attention_norm: NormWeights
    attention: MultiHeadAttentionWeights
    cross_attention_norm: NormWeights
    cross_attention: MultiHeadAttentionWeights
    feed_forward_norm: NormWeights
    feed_forward: FeedForwardWeights | GatedFeedForwardWeights


@dataclass(frozen=True)
class EncoderWeights:
    """position_bias (num_buckets, num_heads) is shared by all layers."""

    position_bias: Array
    layers: tuple[EncoderLayerWeights, ...]
    norm: NormWeights


@dataclass(frozen=True)
class DecoderWeights:
    """position_bias (num_buckets, num_heads) is shared by all layers."""

    position_bias: Array
    layers: tuple[DecoderLayerWeights, ...]
    norm: NormWeights


@dataclass(frozen=True)
class Weights:
    """token_embedding of the source, target_embedding and output_head, (vocab_size, d_model) each, usually tied."""

    token_embedding: Array
    target_embedding: Array
    encoder: EncoderWeights
    decoder: DecoderWeights
    output_head: Array


def stored_weights(config: Config) -> dict[str, Stored]:
    """Return the place of each leaf.

    As in transformers, source embedding, target embedding and output head are tied unless the checkpoint has different tensors for
    them. tie_word_embeddings is not read here: T5 1.1 has its own output head.
    """
    width, inner, attention_width = config.d_model, config.d_ff, config.num_heads * config.d_kv

    def attention(path: str, name: str) -> dict[str, Stored]:
        table = stored_linear(f"{path}.output", f"{name}.o", width, attention_width, has_bias=False)
        for part in ("query", "key", "value"):
            table |= stored_linear(f"{path}.{part}", f"{name}.{part[0]}", attention_width, width, has_bias=False)
        return table

    def feed_forward(path: str, name: str) -> dict[str, Stored]:
        table = stored_norm(f"{path}.feed_forward_norm", f"{name}.layer_norm", width)
        ups = {"gate": "wi_0", "up": "wi_1"} if config.feed_forward_proj.startswith("gated") else {"up": "wi"}
        for part, stored in ups.items():
            table |= stored_linear(f"{path}.feed_forward.{part}", f"{name}.DenseReluDense.{stored}", inner, width, has_bias=False)
        return table | stored_linear(f"{path}.feed_forward.down", f"{name}.DenseReluDense.wo", width, inner, has_bias=False)

    names = ("shared.weight", "encoder.embed_tokens.weight", "decoder.embed_tokens.weight", "lm_head.weight")
    source, target, head = tie(*(Stored(name, (config.vocab_size, width)) for name in names))
    table = {"token_embedding": source, "target_embedding": target, "output_head": head}
    for stack, num_layers in (("encoder", config.num_layers), ("decoder", config.num_decoder_layers)):
        first = f"{stack}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
        table[f"{stack}.position_bias"] = Stored(first, (config.relative_attention_num_buckets, config.num_heads))
        for index in range(num_layers):
            path, name = f"{stack}.layers.{index}", f"{stack}.block.{index}.layer"
            table |= stored_norm(f"{path}.attention_norm", f"{name}.0.layer_norm", width)
            table |= attention(f"{path}.attention", f"{name}.0.SelfAttention")
            if stack == "decoder":
                table |= stored_norm(f"{path}.cross_attention_norm", f"{name}.1.layer_norm", width)
                table |= attention(f"{path}.cross_attention", f"{name}.1.EncDecAttention")
            table |= feed_forward(path, f"{name}.{2 if stack == 'decoder' else 1}")
        table |= stored_norm(f"{stack}.norm", f"{stack}.final_layer_norm", width)
    return table


def encode(token_ids: Array, weights: Weights, config: Config, *, lengths: Array | None = None, ops: Operations = functions) -> Array:
    """Compute the encoder's output from source token ids.

    Shapes
        token_ids  (batch_size, source_len) integer
        lengths    (batch_size,) integer optional
        return     (batch_size, source_len, d_model)

    lengths    number of real tokens of each sequence, before the padding on the right; all by default
    ops        the namespace of operations; headway.functions by default
    """
    seq_len, stack = token_ids.shape[-1], weights.encoder
    bias = ops.relative_position_bias(stack.position_bias, seq_len, seq_len, max_distance=config.relative_attention_max_distance)
    if lengths is not None:
        bias = _masked(bias, functions.padding_mask(lengths, seq_len))
    x = ops.embed(token_ids, weights.token_embedding)
    for layer in stack.layers:
        normed = ops.rms_norm(x, layer.attention_norm.weight, eps=config.layer_norm_epsilon)
        x = x + ops.multi_head_attention(normed, normed, normed, layer.attention, num_heads=config.num_heads, mask=bias, scale=1.0, ops=ops)
        x = x + _feed_forward(x, layer, config, ops)
    return ops.rms_norm(x, stack.norm.weight, eps=config.layer_norm_epsilon)


def read(token_ids: Array, weights: Weights, config: Config, *, lengths: Array | None = None, ops: Operations = functions) -> Source:
    """Encode the source and project it to the cross-attention's keys and values of each layer; arguments as in encode."""
    encoded = encode(token_ids, weights, config, lengths=lengths, ops=ops)
    layers = tuple(
        ops.project_keys_and_values(encoded, encoded, layer.cross_attention, num_heads=config.num_heads, ops=ops)
        for layer in weights.decoder.layers
    )
    return Source(layers, None if lengths is None else functions.padding_mask(lengths, token_ids.shape[-1]))


def new_kv_cache(config: Config, batch_size: int, max_seq_len: int, like: Array) -> list[KVCache]:
    """Return an empty KV cache for batch_size targets of up to max_seq_len tokens, one entry per decoder layer."""
    shape = (batch_size, config.num_heads, max_seq_len, config.d_kv)
    return [KVCache.empty(shape, like) for _ in range(config.num_decoder_layers)]


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
    stack = weights.decoder
    bias = _causal_bias(token_ids, stack.position_bias, kv_cache, config, ops)
    x = ops.embed(token_ids, weights.target_embedding)
    for index, (layer, (keys, values)) in enumerate(zip(stack.layers, source.layers, strict=True)):
        normed = ops.rms_norm(x, layer.attention_norm.weight, eps=config.layer_norm_epsilon)
        x = x + ops.multi_head_attention(
            normed,
            normed,
            normed,
            layer.attention,
            num_heads=config.num_heads,
            mask=bias,
            scale=1.0,
            kv_cache=kv_cache[index] if kv_cache else None,
            ops=ops,
        )
        normed = ops.rms_norm(x, layer.cross_attention_norm.weight, eps=config.layer_norm_epsilon)
        x = x + ops.cross_attention(
            normed, keys, values, layer.cross_attention, num_heads=config.num_heads, mask=source.mask, scale=1.0, ops=ops
        )
        x = x + _feed_forward(x, layer, config, ops)
    return ops.rms_norm(x, stack.norm.weight, eps=config.layer_norm_epsilon)


def logits(hidden: Array, weights: Weights, config: Config, *, ops: Operations = functions) -> Array:
    """Compute the logits (..., vocab_size) from hidden states (..., d_model)."""
    if config.scale_decoder_outputs:
        hidden = cast(hidden * config.d_model**-0.5, hidden.dtype)
    return ops.unembed(hidden, weights.output_head)


def forward(
    source_ids: Array, token_ids: Array, weights: Weights, config: Config, *, lengths: Array | None = None, ops: Operations = functions
) -> Array:
    """Compute the logits (batch_size, seq_len, vocab_size) of a source (batch_size, source_len) and a target (batch_size, seq_len).

    The target begins with the start token; lengths are those of the source, as in encode.
    """
    source = read(source_ids, weights, config, lengths=lengths, ops=ops)
    return logits(hidden_states(token_ids, weights, config, source=source, ops=ops), weights, config, ops=ops)


def _feed_forward(x: Array, layer: EncoderLayerWeights | DecoderLayerWeights, config: Config, ops: Operations) -> Array:
    normed = ops.rms_norm(x, layer.feed_forward_norm.weight, eps=config.layer_norm_epsilon)
    activation = getattr(ops, FEED_FORWARDS[config.feed_forward_proj])
    part = ops.gated_feed_forward if isinstance(layer.feed_forward, GatedFeedForwardWeights) else ops.feed_forward
    return part(normed, layer.feed_forward, activation=activation, ops=ops)


def _causal_bias(token_ids: Array, table: Array, kv_cache: KVCaches, config: Config, ops: Operations) -> Array:
    """Return the position bias (num_heads, query_len, key_len) of the target, with -inf at later positions."""
    query_len = token_ids.shape[-1]
    offset = kv_cache[0].length if kv_cache else 0
    key_len = kv_cache[0].key_len(query_len) if kv_cache else query_len
    bias = ops.relative_position_bias(
        table, query_len, key_len, max_distance=config.relative_attention_max_distance, is_bidirectional=False, offset=offset
    )
    mask = visible(token_ids, kv_cache, None)
    return _masked(bias, functions.causal_mask(query_len, key_len, offset=offset, like=token_ids) if mask is None else mask)


def _masked(bias: Array, mask: Array) -> Array:
    """Return the bias (num_heads, query_len, key_len) with -inf where the mask is False, in the shape that both broadcast to."""
    xp = array_namespace(bias, mask)
    return xp.where(mask, bias, xp.full_like(bias, -float("inf")))
