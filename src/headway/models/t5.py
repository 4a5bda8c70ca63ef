"""T5 and its kin (T5 1.1, Flan-T5, mT5): relative position buckets, RMS norms before each part, no biases, no scale.

Source   Raffel et al. 2020; the keys and tensor names are those of Hugging Face's T5ForConditionalGeneration
"""

from __future__ import annotations

from dataclasses import dataclass

from headway import functions
from headway.arrays import Array, Operations, array_namespace, cast
from headway.functions import FeedForwardWeights, GatedFeedForwardWeights, KVCache, MultiHeadAttentionWeights, NormWeights
from headway.models.config import expect_number, expect_one_of, expect_positive
from headway.models.past import KVCaches, visible
from headway.models.source import Source
from headway.models.stored import Stored, stored_linear, stored_norm

KIND = "encoder-decoder"
PREFIX = ""
IGNORED_TENSORS = r"(encoder|decoder)\.embed_tokens\.weight|decoder\.block\.0\.layer\.1\.EncDecAttention\.relative_attention_bias\.weight"
WITHOUT_EFFECT = tuple(
    """
    classifier_dropout dense_act_fn dropout_rate initializer_factor is_encoder_decoder is_gated_act n_positions num_hidden_layers
    output_past tokenizer_class
    """.split()
)
FEED_FORWARDS = {"relu": "relu", "gelu": "gelu", "gated-gelu": "gelu_tanh", "gated-silu": "silu", "gated-relu": "relu"}


@dataclass(frozen=True)
class Config:
    """The keys of config.json that change the result."""

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
    scale_decoder_outputs: bool = None  # type: ignore[assignment]  # tie_word_embeddings, but never in mT5
    model_type: str = "t5"

    def __post_init__(self) -> None:
        if self.num_decoder_layers is None:
            object.__setattr__(self, "num_decoder_layers", self.num_layers)
        if self.scale_decoder_outputs is None:
            object.__setattr__(self, "scale_decoder_outputs", self.tie_word_embeddings and self.model_type == "t5")
        expect_positive(self, "vocab_size", "d_model", "d_kv", "d_ff", "num_layers", "num_heads", "num_decoder_layers")
        expect_positive(self, "relative_attention_num_buckets", "relative_attention_max_distance")
        expect_one_of("feed_forward_proj", self.feed_forward_proj, FEED_FORWARDS)
        expect_number("layer_norm_epsilon", self.layer_norm_epsilon, may_be_zero=True)

    @property
    def max_seq_len(self) -> None:
        """No table bounds the length: distances beyond relative_attention_max_distance are one."""
        return

    @property
    def decoder_vocab_size(self) -> int:
        """One vocabulary serves source and target."""
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
    """position_bias (num_buckets, num_heads) serves all layers."""

    position_bias: Array
    layers: tuple[EncoderLayerWeights, ...]
    norm: NormWeights


@dataclass(frozen=True)
class DecoderWeights:
    """position_bias (num_buckets, num_heads) serves all layers."""

    position_bias: Array
    layers: tuple[DecoderLayerWeights, ...]
    norm: NormWeights


@dataclass(frozen=True)
class Weights:
    """token_embedding and output_head (vocab_size, d_model); None is a head tied to the embedding."""

    token_embedding: Array
    encoder: EncoderWeights
    decoder: DecoderWeights
    output_head: Array | None = None


def stored_weights(config: Config) -> dict[str, Stored]:
    """Where each leaf lies. The head is a tensor of its own in T5 1.1, whatever tie_word_embeddings says of it."""
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

    table = {"token_embedding": Stored("shared.weight", (config.vocab_size, width))}
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
    return table | {"output_head": Stored("lm_head.weight", (config.vocab_size, width), part="lm_head")}


def encode(token_ids: Array, weights: Weights, config: Config, *, lengths: Array | None = None, ops: Operations = functions) -> Array:
    """Source token ids to the encoder's vectors.

    Shapes
        token_ids  (batch_size, source_len) integer
        lengths    (batch_size,) integer optional
        return     (batch_size, source_len, d_model)

    lengths    how many tokens of each sequence are real, the rest being padding on the right; all by default
    ops        the namespace whose parts are called; the definitions by default
    """
    seq_len, stack = token_ids.shape[-1], weights.encoder
    bias = ops.relative_position_bias(stack.position_bias, seq_len, seq_len, max_distance=config.relative_attention_max_distance)
    if lengths is not None:
        bias = _hidden_from(bias, functions.padding_mask(lengths, seq_len))
    x = ops.embed(token_ids, weights.token_embedding)
    for layer in stack.layers:
        normed = ops.rms_norm(x, layer.attention_norm.weight, eps=config.layer_norm_epsilon)
        x = x + ops.multi_head_attention(normed, normed, normed, layer.attention, num_heads=config.num_heads, mask=bias, scale=1.0, ops=ops)
        x = x + _feed_forward(x, layer, config, ops)
    return ops.rms_norm(x, stack.norm.weight, eps=config.layer_norm_epsilon)


def read(token_ids: Array, weights: Weights, config: Config, *, lengths: Array | None = None, ops: Operations = functions) -> Source:
    """Source token ids to what every decoder layer attends to; arguments as in encode."""
    encoded = encode(token_ids, weights, config, lengths=lengths, ops=ops)
    layers = tuple(
        ops.project_keys_and_values(encoded, encoded, layer.cross_attention, num_heads=config.num_heads, ops=ops)
        for layer in weights.decoder.layers
    )
    return Source(layers, None if lengths is None else functions.padding_mask(lengths, token_ids.shape[-1]))


def new_kv_cache(config: Config, batch_size: int, max_seq_len: int, like: Array) -> list[KVCache]:
    """An empty cache for batch_size targets of up to max_seq_len tokens, one entry per decoder layer."""
    shape = (batch_size, config.num_heads, max_seq_len, config.d_kv)
    return [KVCache.empty(shape, like) for _ in range(config.num_decoder_layers)]


def hidden_states(
    token_ids: Array, weights: Weights, config: Config, *, source: Source, kv_cache: KVCaches = None, ops: Operations = functions
) -> Array:
    """Target token ids to the vectors below the output head.

    Shapes
        token_ids  (batch_size, seq_len) integer
        return     (batch_size, seq_len, d_model)

    source     what read made of the source
    kv_cache   the layers' caches: token_ids follow what they hold; none by default
    ops        the namespace whose parts are called; the definitions by default
    """
    stack = weights.decoder
    bias = _causal_bias(token_ids, stack.position_bias, kv_cache, config, ops)
    x = ops.embed(token_ids, weights.token_embedding)
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
    """A score for every token: (..., d_model) to (..., vocab_size)."""
    if config.scale_decoder_outputs:
        hidden = cast(hidden * config.d_model**-0.5, hidden.dtype)
    return ops.unembed(hidden, weights.token_embedding if weights.output_head is None else weights.output_head)


def forward(
    source_ids: Array, token_ids: Array, weights: Weights, config: Config, *, lengths: Array | None = None, ops: Operations = functions
) -> Array:
    """Source (batch_size, source_len) and target token ids (batch_size, seq_len) to logits (batch_size, seq_len, vocab_size).

    The target begins with the start token; lengths are the source's, as in encode.
    """
    source = read(source_ids, weights, config, lengths=lengths, ops=ops)
    return logits(hidden_states(token_ids, weights, config, source=source, ops=ops), weights, config, ops=ops)


def _feed_forward(x: Array, layer: EncoderLayerWeights | DecoderLayerWeights, config: Config, ops: Operations) -> Array:
    normed = ops.rms_norm(x, layer.feed_forward_norm.weight, eps=config.layer_norm_epsilon)
    activation = getattr(ops, FEED_FORWARDS[config.feed_forward_proj])
    part = ops.gated_feed_forward if isinstance(layer.feed_forward, GatedFeedForwardWeights) else ops.feed_forward
    return part(normed, layer.feed_forward, activation=activation, ops=ops)


def _causal_bias(token_ids: Array, table: Array, kv_cache: KVCaches, config: Config, ops: Operations) -> Array:
    """The bias (num_heads, query_len, key_len) of the target's own positions, and -inf where a later one stands."""
    query_len = token_ids.shape[-1]
    offset = kv_cache[0].length if kv_cache else 0
    key_len = kv_cache[0].key_len(query_len) if kv_cache else query_len
    bias = ops.relative_position_bias(
        table, query_len, key_len, max_distance=config.relative_attention_max_distance, is_bidirectional=False, offset=offset
    )
    mask = visible(token_ids, kv_cache, None)
    return _hidden_from(bias, functions.causal_mask(query_len, key_len, offset=offset, like=token_ids) if mask is None else mask)


def _hidden_from(bias: Array, mask: Array) -> Array:
    """The bias (num_heads, query_len, key_len) where the mask allows, -inf elsewhere, in the shape that both broadcast to."""
    xp = array_namespace(bias, mask)
    return xp.where(mask, bias, xp.full_like(bias, -float("inf")))
