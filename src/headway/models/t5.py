"""T5, T5 1.1, Flan-T5 and mT5: relative position biases in buckets, pre-norm with RMS norms, no other biases, unscaled attention.

Source   Raffel et al. 2020; the keys and tensor names are those of Hugging Face's T5ForConditionalGeneration
"""

from __future__ import annotations

from dataclasses import dataclass

from headway.models import encoder_decoder
from headway.models.config import expect_num_layers, expect_number, expect_one_of, expect_positive
from headway.models.encoder_decoder_names import StackNames, stored_stacks, with_optional_decoder
from headway.models.encoder_decoder_spec import BucketSpec, CrossLayerSpec, EncoderDecoderSpec
from headway.models.encoder_spec import EncoderLayerSpec
from headway.models.spec import AttentionSpec, FeedForwardSpec, NormSpec
from headway.models.stored import Stored, tie

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
Weights = encoder_decoder.Weights
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


def spec(config: Config) -> EncoderDecoderSpec:
    """Return the description of both stacks."""
    norm = NormSpec("rms_norm", config.layer_norm_epsilon)
    attention = AttentionSpec(config.num_heads, config.num_heads, config.d_kv, scale=1.0)
    is_gated = config.feed_forward_proj.startswith("gated")
    feed_forward = FeedForwardSpec(config.d_ff, FEED_FORWARDS[config.feed_forward_proj], is_gated=is_gated)
    layer = EncoderLayerSpec(attention, feed_forward, attention_norm=norm, feed_forward_norm=norm)
    cross_layer = CrossLayerSpec(
        attention, feed_forward, attention_norm=norm, feed_forward_norm=norm, cross_attention=attention, cross_attention_norm=norm
    )
    return EncoderDecoderSpec(
        config.vocab_size,
        config.vocab_size,
        config.d_model,
        (layer,) * config.num_layers,
        (cross_layer,) * config.num_decoder_layers,
        norm,
        buckets=BucketSpec(config.relative_attention_num_buckets, config.relative_attention_max_distance),
        hidden_scale=config.d_model**-0.5 if config.scale_decoder_outputs else None,
    )


def _names(stack: str, config: Config) -> StackNames:
    attentions = {"attention": "layer.0.SelfAttention", "cross_attention": "layer.1.EncDecAttention"}
    parts = {
        f"{part}.{matrix}": f"{name}.{matrix[0]}" for part, name in attentions.items() for matrix in ("query", "key", "value", "output")
    }
    last = 2 if stack == "decoder" else 1
    ups = {"gate": "wi_0", "up": "wi_1"} if config.feed_forward_proj.startswith("gated") else {"up": "wi"}
    parts |= {f"feed_forward.{part}": f"layer.{last}.DenseReluDense.{name}" for part, name in (ups | {"down": "wo"}).items()}
    norms = {"attention_norm": 0, "cross_attention_norm": 1, "feed_forward_norm": last}
    parts |= {part: f"layer.{index}.layer_norm" for part, index in norms.items()}
    bias = f"{stack}.block.0.layer.0.SelfAttention.relative_attention_bias"
    return StackNames(f"{stack}.block.{{}}", parts, f"{stack}.final_layer_norm", bias)


def stored_weights(config: Config) -> dict[str, Stored]:
    """Return the place of each leaf.

    As in transformers, source embedding, target embedding and output head are tied unless the checkpoint has different tensors for
    them. tie_word_embeddings is not read here: T5 1.1 has its own output head. A checkpoint of T5EncoderModel has no decoder.
    """
    names = ("shared.weight", "encoder.embed_tokens.weight", "decoder.embed_tokens.weight", "lm_head.weight")
    source, target, head = tie(*(Stored(name, (config.vocab_size, config.d_model)) for name in names))
    table = {"token_embedding": source, "target_embedding": target, "output_head": head}
    return with_optional_decoder(table | stored_stacks(spec(config), _names("encoder", config), _names("decoder", config)))


encode, read, new_kv_cache, hidden_states, logits, forward = encoder_decoder.encoder_decoder_functions(spec)
